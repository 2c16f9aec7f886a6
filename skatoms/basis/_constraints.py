"""Constraints on the atoms: sets that every atom is in, at every step."""

from abc import ABC
from functools import lru_cache
from numbers import Integral, Real

import numpy as np
from scipy.linalg import svd
from scipy.sparse import issparse
from sklearn.base import BaseEstimator

from .._validation import real_array
from ..metrics import welch_bound

NORMS = ("unit_norm", "unit_ball")
# What a multiplier rises by for an excess of 1, and how far inside the bound pairs are pushed.
COHERENCE_STEP = 0.3
COHERENCE_MARGIN = 1e-9
COHERENCE_ROUNDS = 200


class Constraint(ABC, BaseEstimator):
    """A norm of 1, or of at most 1, and a cone that the atoms lie in.

    A cone holds with an atom all its positive multiples. The nearest point of the cone, brought to
    a norm of 1, is then the nearest point of both.
    """

    norm = "unit_norm"
    # Whether it ties atoms to each other, so that none can move without looking at the others.
    joint = False

    def cone(self, values, shape):
        """The nearest points of the cone, row by row. shape : `feature_shape`."""
        return values

    def project(self, values, shape):
        """The nearest points that meet the constraint; NaN where all are as near."""
        values = self.cone(values, shape)
        with np.errstate(divide="ignore", invalid="ignore"):
            # Scaled first, so that neither tiny nor huge values are lost.
            largest = np.abs(values).max(axis=1, keepdims=True)
            scaled = values / largest
            lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
            unit = scaled / lengths
        if self.norm == "unit_norm":
            return unit
        return np.where(largest * np.nan_to_num(lengths) > 1, unit, values)

    def check(self, shape):
        """Raise a ValueError or TypeError if it can not be used with such features."""
        if self.norm not in NORMS:
            raise ValueError(f"norm must be one of {NORMS}, got {self.norm!r}.")

    def check_size(self, n_components, n_features):
        """Raise a ValueError if there can not be so many atoms of so many features."""

    def goes_with(self, regularizer):
        """Whether the prox of a regulariser may come before `project`."""
        return not regularizer.has_prox


class UnitNorm(Constraint):
    """Atoms of norm 1."""

    def goes_with(self, regularizer):
        """Any regulariser."""
        return True


class UnitBall(UnitNorm):
    """Atoms of norm 1 at most: an atom may shrink, which the penalty on its codes opposes."""

    norm = "unit_ball"


class NonNegative(UnitNorm):
    """Atoms without negative entries.

    Parameters
    ----------
    norm : {"unit_norm", "unit_ball"}, default="unit_norm"
        Whether the norm of each atom is 1 or at most 1.
    """

    def __init__(self, norm: str = "unit_norm"):
        self.norm = norm

    def cone(self, values, shape):
        """Negative entries become zero."""
        return np.maximum(values, 0)


class LinearAdmissible(Constraint):
    """Atoms that satisfy ``matrix @ atom = 0``: zero mean, a symmetry, a conservation law.

    Parameters
    ----------
    matrix : array-like or sparse matrix of shape (n_conditions, n_features), or callable
        One condition a row; they may depend on each other. Or a function of the number of features
        that returns them.

    norm : {"unit_norm", "unit_ball"}, default="unit_norm"
        Whether the norm of each atom is 1 or at most 1.
    """

    def __init__(self, matrix, norm: str = "unit_norm"):
        self.matrix = matrix
        self.norm = norm

    def cone(self, values, shape):
        """Without the part in the span of the conditions; twice, for the last digits."""
        basis = self._span(values.shape[1])
        for _ in range(2):
            values = values - (values @ basis.T) @ basis
        return values

    def _span(self, n_features):
        matrix = self._conditions(n_features)
        return spanned(matrix.tobytes(), matrix.shape)

    def _conditions(self, n_features):
        matrix = self.matrix(n_features) if callable(self.matrix) else self.matrix
        matrix = matrix.toarray() if issparse(matrix) else matrix
        return real_array("matrix of LinearAdmissible", matrix)

    def check(self, shape):
        """Raise if it can not be used with such features."""
        super().check(shape)
        n_features = int(np.prod(shape))
        matrix = self._conditions(n_features)
        if matrix.ndim != 2 or matrix.shape[1] != n_features or len(matrix) == 0:
            raise ValueError(
                f"matrix of LinearAdmissible has shape {matrix.shape}, but it needs a row for each "
                f"condition, at least one, and a column for each of the {n_features} features."
            )
        rank = len(self._span(n_features))
        if rank == n_features:
            raise ValueError(
                f"matrix of LinearAdmissible has full column rank {rank} with "
                f"n_features={n_features}, so that only the zero atom would be admissible: leave "
                "conditions out."
            )


@lru_cache(maxsize=8)
def spanned(content, shape):
    """Orthonormal rows that span those of a matrix, given as its bytes, float64."""
    _, sizes, rows = svd(np.frombuffer(content).reshape(shape), full_matrices=False)
    return rows[sizes > sizes.max() * max(shape) * np.finfo(float).eps]


class Separable(Constraint):
    """Atoms that are, as matrices of `feature_shape`, sums of few outer products.

    Parameters
    ----------
    rank : int, default=1
        The largest rank of an atom.

    norm : {"unit_norm", "unit_ball"}, default="unit_norm"
        Whether the norm of each atom is 1 or at most 1.
    """

    def __init__(self, rank: int = 1, norm: str = "unit_norm"):
        self.rank = rank
        self.norm = norm

    def cone(self, values, shape):
        """The nearest matrices of the rank."""
        left, sizes, right = np.linalg.svd(values.reshape(-1, *shape), full_matrices=False)
        r = self.rank
        nearest = (left[:, :, :r] * sizes[:, None, :r]) @ right[:, :r]
        return nearest.reshape(values.shape)

    def check(self, shape):
        """Raise if it can not be used with such features."""
        super().check(shape)
        if len(shape) != 2:
            raise ValueError(
                f"Separable needs feature_shape=(height, width), got feature_shape={shape}."
            )
        if not isinstance(self.rank, Integral) or not 1 <= self.rank <= min(shape):
            raise ValueError(
                f"rank of Separable must be an integer from 1 to {min(shape)}, got {self.rank!r}."
            )


class MaxCoherence(Constraint):
    """Atoms of norm 1, no two of which have an absolute cosine above a bound.

    Parameters
    ----------
    bound : float
        The largest absolute cosine, below 1. Where there are more atoms than features it can not be
        below the Welch bound, and near that hardly any set of atoms satisfies it.
    """

    joint = True

    def __init__(self, bound: float):
        self.bound = bound

    def project(self, values, shape):
        """Atoms near the values that keep to the bound, all NaN if none are found.

        Pairs of atoms above the bound are pushed apart until none is: first by multipliers, which
        rise with the excess and lead to the nearest atoms, then, where these do not settle, by the
        excess alone. Cost: n_components ** 2 * n_features a round.
        """
        start = super().project(values, shape)
        atoms, pushes = start, np.zeros((len(start), len(start)))
        for _ in range(COHERENCE_ROUNDS):
            size, signs = _inner_products(atoms)
            if size.max() <= self.bound:
                return atoms
            excess = COHERENCE_STEP * (size - self.bound + COHERENCE_MARGIN)
            pushes = signs * np.maximum(pushes * signs + excess, 0)
            atoms = super().project(start - pushes @ atoms, shape)
        return self._pushed_apart(values, shape)

    def _pushed_apart(self, values, shape):
        """Atoms that keep to the bound, but are not the nearest ones; all NaN if none are found."""
        atoms = super().project(values, shape)
        for _ in range(COHERENCE_ROUNDS):
            size, signs = _inner_products(atoms)
            if size.max() <= self.bound:
                return atoms
            # Somewhat below the bound, which is reached then and not only approached.
            excess = np.maximum(size - 0.95 * self.bound, 0)
            # No atom is pushed beyond where it was by many at once.
            excess /= np.maximum(1, 2 * excess.sum(axis=1, keepdims=True))
            atoms = super().project(atoms - (excess * signs) @ atoms, shape)
        return np.full_like(values, np.nan)

    def check_size(self, n_components, n_features):
        """Raise if no such atoms can be that incoherent."""
        least = welch_bound(n_components, n_features)
        if self.bound < least:
            raise ValueError(
                f"bound={self.bound} of MaxCoherence is below the Welch bound {least:.4f}: no "
                f"{n_components} atoms of {n_features} features are that incoherent. Raise bound "
                "or take fewer atoms."
            )

    def check(self, shape):
        """Raise if it can not be used."""
        if not isinstance(self.bound, Real) or not 0 < self.bound < 1:
            raise ValueError(f"bound of MaxCoherence must be between 0 and 1, got {self.bound!r}.")


def _inner_products(atoms):
    """Absolute values and signs of the inner products of different atoms, zero for the others."""
    inner = atoms @ atoms.T
    np.fill_diagonal(inner, 0)
    return np.abs(inner), np.sign(inner)


CONSTRAINTS = {
    "unit_norm": UnitNorm,
    "unit_ball": UnitBall,
    "non_negative": NonNegative,
    "separable": Separable,
}
