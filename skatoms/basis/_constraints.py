"""Constraints on the atoms: sets that every atom is in, at every step."""

from abc import ABC
from numbers import Integral

import numpy as np
from scipy.linalg import svd
from scipy.sparse import issparse
from sklearn.base import BaseEstimator

NORMS = ("unit_norm", "unit_ball")


class Constraint(ABC, BaseEstimator):
    """A norm of 1, or of at most 1, and a cone that the atoms lie in.

    A cone holds with an atom all its positive multiples. The nearest point of the cone, brought to
    a norm of 1, is then the nearest point of both.
    """

    norm = "unit_norm"

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
    matrix : array-like or sparse matrix of shape (n_conditions, n_features)
        One condition a row; they may depend on each other.

    norm : {"unit_norm", "unit_ball"}, default="unit_norm"
        Whether the norm of each atom is 1 or at most 1.
    """

    def __init__(self, matrix, norm: str = "unit_norm"):
        self.matrix = matrix
        self.norm = norm

    def cone(self, values, shape):
        """Without the part in the span of the conditions; twice, for the last digits."""
        basis = self._span()
        for _ in range(2):
            values = values - (values @ basis.T) @ basis
        return values

    def _span(self):
        """Orthonormal rows that span the conditions; kept as long as `matrix` is the same."""
        known, basis = self.__dict__.get("_known_span", (None, None))
        if known is not self.matrix:
            matrix = self.matrix.toarray() if issparse(self.matrix) else self.matrix
            matrix = np.asarray(matrix, dtype=np.float64)
            _, sizes, rows = svd(matrix, full_matrices=False)
            basis = rows[sizes > sizes.max() * max(matrix.shape) * np.finfo(float).eps]
            self._known_span = (self.matrix, basis)
        return basis

    def check(self, shape):
        """Raise if it can not be used with such features."""
        super().check(shape)
        n_features = int(np.prod(shape))
        matrix = self.matrix if issparse(self.matrix) else np.asarray(self.matrix, dtype=float)
        if matrix.ndim != 2 or matrix.shape[1] != n_features:
            raise ValueError(
                f"matrix of LinearAdmissible has shape {matrix.shape}, but it needs a column for "
                f"each of the {n_features} features."
            )
        if not np.isfinite(matrix.data if issparse(matrix) else matrix).all():
            raise ValueError("matrix of LinearAdmissible has values that are not finite.")
        rank = len(self._span())
        if rank == n_features:
            raise ValueError(
                f"matrix of LinearAdmissible has full column rank {rank}: only the zero atom would "
                "be admissible. Leave conditions out."
            )


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


CONSTRAINTS = {
    "unit_norm": UnitNorm,
    "unit_ball": UnitBall,
    "non_negative": NonNegative,
    "separable": Separable,
}
