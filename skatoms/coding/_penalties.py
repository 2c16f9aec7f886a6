"""Penalties on codes: one small class each."""

from abc import ABC, abstractmethod
from numbers import Integral, Real

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator

from .._validation import real_array


class Penalty(ABC, BaseEstimator):
    """What a penalty R on the codes of a row has to offer.

    Like an estimator it keeps its parameters as they were given and can be cloned; they are checked
    when it is used.

    Attributes
    ----------
    solvers : tuple of str
        The solvers that can deal with it, the best one first.

    convex : bool
        Whether R is convex.
    """

    solvers: tuple[str, ...]
    convex = True

    @abstractmethod
    def value(self, codes):
        """R of each row; codes : (n_rows, n_atoms), dense or CSR."""

    @abstractmethod
    def prox(self, values: np.ndarray, weight: float) -> np.ndarray:
        """The minimiser of ``1/2 |a - values|^2 + weight * R(a)``, row by row, as a new array."""

    @abstractmethod
    def residual(self, codes: np.ndarray, left: np.ndarray, alpha: float) -> np.ndarray:
        """How far each entry is from optimal.

        The distance of each entry of `left`, the negative gradient of the smooth part, to alpha
        times the subdifferential of R at the codes: an array of the shape of `codes`.
        """

    def curvature(self, n_atoms: int) -> np.ndarray | None:
        """Second derivatives of the quadratic part of R, (n_atoms,), or None if it has none.

        Solvers take that part into G; `prox` and `residual` are then about the rest of R.
        """
        return None

    def check(self, n_atoms: int) -> None:
        """Raise a ValueError or TypeError if it can not be used with so many atoms."""


class ElasticNet(Penalty):
    """The elastic net, ``R(a) = sum_k weights_k (l1_ratio |a_k| + (1 - l1_ratio) / 2 a_k^2)``.

    Parameters
    ----------
    l1_ratio : float, default=0.5
        The part of the absolute values, from 0 to 1; the rest goes to the squares.

    positive : bool, default=False
        Whether codes must not be negative.

    weights : array-like of shape (n_atoms,), default=None
        How much each atom's code is penalised, not negative. None is 1 for all.
    """

    def __init__(self, l1_ratio: float = 0.5, positive: bool = False, weights=None):
        self.l1_ratio = l1_ratio
        self.positive = positive
        self.weights = weights

    @property
    def solvers(self):
        """Closed form for plain squares; the path only if all atoms are penalised alike."""
        if self._ratio == 0 and not self.positive:
            return ("direct", "active-set", "fista")
        if self.weights is not None:
            return ("active-set", "fista")
        return ("active-set", "homotopy", "fista")

    @property
    def _ratio(self):
        return self.l1_ratio

    def slopes(self, n_atoms):
        """The weights of the absolute values in R, (n_atoms,)."""
        return self._ratio * _weights_or_ones(self.weights, n_atoms)

    def curvature(self, n_atoms):
        """The weights of the squares in R, (n_atoms,), or None."""
        if self._ratio == 1:
            return None
        return (1 - self._ratio) * _weights_or_ones(self.weights, n_atoms)

    def value(self, codes):
        """R of each row; codes : (n_rows, n_atoms)."""
        n_atoms = codes.shape[1]
        dtype = _real_type(codes)
        value = abs(codes) @ self.slopes(n_atoms).astype(dtype)
        if self._ratio < 1:
            value = value + _squares(codes) @ self.curvature(n_atoms).astype(dtype) / 2
        return value

    def prox(self, values, weight):
        """Soft thresholding, a new array."""
        thresholds = self._thresholds(values, weight)
        if self.positive:
            return np.maximum(values - thresholds, 0)
        return values - np.clip(values, -thresholds, thresholds)

    def residual(self, codes, left, alpha):
        """Distance of each entry of `left` to alpha times the subdifferential."""
        thresholds = self._thresholds(codes, alpha)
        outside = np.maximum((left if self.positive else np.abs(left)) - thresholds, 0)
        return np.where(codes == 0, outside, np.abs(left - thresholds * np.sign(codes)))

    def _thresholds(self, values, weight):
        if self.weights is None:
            return values.dtype.type(weight * self._ratio)
        return (weight * self.slopes(values.shape[1])).astype(values.dtype)

    def check(self, n_atoms):
        """Raise if it can not be used with so many atoms."""
        _check_fraction("l1_ratio", self._ratio)
        _check_flag("positive", self.positive)
        _check_weights(self.weights, n_atoms, "atoms")


class L1(ElasticNet):
    """The sum of absolute values, ``R(a) = sum_k weights_k |a_k|``.

    Parameters
    ----------
    positive : bool, default=False
        Whether codes must not be negative.

    weights : array-like of shape (n_atoms,), default=None
        How much each atom's code is penalised, not negative. None is 1 for all.
    """

    _ratio = 1.0

    def __init__(self, positive: bool = False, weights=None):
        self.positive = positive
        self.weights = weights


class Ridge(ElasticNet):
    """Half the sum of squares, ``R(a) = 1/2 sum_k weights_k a_k^2``: small codes, but not sparse.

    Parameters
    ----------
    positive : bool, default=False
        Whether codes must not be negative.

    weights : array-like of shape (n_atoms,), default=None
        How much each atom's code is penalised, not negative. None is 1 for all.
    """

    _ratio = 0.0

    def __init__(self, positive: bool = False, weights=None):
        self.positive = positive
        self.weights = weights


class GroupL1(Penalty):
    """Norms of groups of codes: a sample uses few groups, and of these all atoms.

    ``R(a) = sum_g weights_g (1 - l1_ratio) |a_g|_2 + l1_ratio |a|_1``; with an `l1_ratio` above 0,
    known as the sparse group lasso, codes are sparse within groups too.

    Parameters
    ----------
    groups : int or array-like of shape (n_atoms,)
        A label for each atom; atoms of one label are a group. A number stands for groups of so many
        atoms that follow each other; the last one may be smaller.

    l1_ratio : float, default=0.0
        The part of the absolute values, from 0 to 1.

    positive : bool, default=False
        Whether codes must not be negative.

    weights : array-like of shape (n_groups,), default=None
        How much each group is penalised, not negative, in the order of the sorted labels. None is
        1 for all; the square roots of the sizes are usual where groups differ in size.
    """

    solvers = ("block-descent", "fista")

    def __init__(self, groups, l1_ratio: float = 0.0, positive: bool = False, weights=None):
        self.groups = groups
        self.l1_ratio = l1_ratio
        self.positive = positive
        self.weights = weights

    def labels(self, n_atoms):
        """The number of the group of each atom, from 0."""
        if isinstance(self.groups, Integral):
            return np.arange(n_atoms) // self.groups
        return np.unique(np.asarray(self.groups), return_inverse=True)[1].ravel()

    def slopes(self, n_atoms):
        """The weights of the norms in R, (n_groups,)."""
        n_groups = self.labels(n_atoms).max() + 1
        return (1 - self.l1_ratio) * _weights_or_ones(self.weights, n_groups)

    def value(self, codes):
        """R of each row; codes : (n_rows, n_atoms)."""
        norms = np.sqrt(_squares(codes) @ self._members(codes))
        absolute = np.asarray(abs(codes).sum(axis=1)).ravel()
        slopes = self.slopes(codes.shape[1]).astype(_real_type(codes))
        return norms @ slopes + self.l1_ratio * absolute

    def prox(self, values, weight):
        """Soft thresholding, of entries and then of the norms of groups, a new array."""
        return self._shrunk(values, weight)

    def residual(self, codes, left, alpha):
        """Distance of each entry of `left` to alpha times the subdifferential."""
        labels, dtype = self.labels(codes.shape[1]), codes.dtype
        norms = np.sqrt(_squares(codes) @ self._members(codes))[:, labels]
        slopes = (alpha * self.slopes(codes.shape[1])).astype(dtype)[labels]
        slope = dtype.type(alpha * self.l1_ratio)
        pull = left - slopes * codes / np.where(norms > 0, norms, 1)
        outside = np.maximum((pull if self.positive else np.abs(pull)) - slope, 0)
        in_use = np.where(codes == 0, outside, np.abs(pull - slope * np.sign(codes)))
        return np.where(norms > 0, in_use, np.abs(self._shrunk(left, alpha)))

    def _shrunk(self, values, weight):
        labels, dtype = self.labels(values.shape[1]), values.dtype
        slope = dtype.type(weight * self.l1_ratio)
        if self.positive:
            values = np.maximum(values - slope, 0)
        else:
            values = values - np.clip(values, -slope, slope)
        norms = np.sqrt(_squares(values) @ self._members(values))
        slopes = (weight * self.slopes(values.shape[1])).astype(dtype)
        left = np.maximum(norms - slopes, 0) / np.where(norms > 0, norms, 1)
        return values * left[:, labels]

    def _members(self, codes):
        labels = self.labels(codes.shape[1])
        return np.equal.outer(labels, np.arange(labels.max() + 1)).astype(codes.dtype)

    def check(self, n_atoms):
        """Raise if it can not be used with so many atoms."""
        if isinstance(self.groups, Integral) and not isinstance(self.groups, bool):
            if self.groups < 1:
                raise ValueError(f"groups must be at least 1 or labels, got {self.groups}.")
        elif np.shape(self.groups) != (n_atoms,):
            raise ValueError(
                f"groups of GroupL1 must be the size of all groups, an integer, or a label for "
                f"each of the {n_atoms} atoms, got {self.groups!r}."
            )
        _check_fraction("l1_ratio", self.l1_ratio)
        _check_flag("positive", self.positive)
        _check_weights(self.weights, self.labels(n_atoms).max() + 1, "groups")


class L0(Penalty):
    """The number of non-zeros, ``R(a) = |a|_0``: codes are not shrunk, but minima are local.

    An atom of unit norm stays in use only where it lowers the squared error by at least 2 alpha.

    Parameters
    ----------
    positive : bool, default=False
        Whether codes must not be negative.
    """

    solvers = ("block-descent",)
    convex = False

    def __init__(self, positive: bool = False):
        self.positive = positive

    def value(self, codes):
        """R of each row; codes : (n_rows, n_atoms)."""
        return np.asarray((codes != 0).sum(axis=1)).ravel().astype(codes.dtype)

    def prox(self, values, weight):
        """Hard thresholding at ``sqrt(2 * weight)``, a new array."""
        large = (values if self.positive else np.abs(values)) > np.sqrt(2 * weight)
        return np.where(large, values, 0)

    def residual(self, codes, left, alpha):
        """The gradient of each entry on the row's own support."""
        return np.where(codes == 0, 0, np.abs(left))

    def check(self, n_atoms):
        """Raise if it can not be used with so many atoms."""
        _check_flag("positive", self.positive)


class TopK(Penalty):
    """At most so many non-zeros: R(a) = 0 if a has them, infinite otherwise.

    Parameters
    ----------
    n_nonzero : int
        The largest number of non-zeros of a row.
    """

    solvers = ("omp",)
    convex = False

    def __init__(self, n_nonzero: int):
        self.n_nonzero = n_nonzero

    def value(self, codes):
        """R of each row; codes : (n_rows, n_atoms)."""
        counts = np.asarray((codes != 0).sum(axis=1)).ravel()
        return np.where(counts <= self.n_nonzero, 0.0, np.inf)

    def prox(self, values, weight):
        """Keep the n_nonzero largest absolute values of each row, a new array."""
        n_small = values.shape[1] - self.n_nonzero
        kept = values.copy()
        if n_small > 0:
            small = np.argpartition(np.abs(values), n_small - 1, axis=1)[:, :n_small]
            np.put_along_axis(kept, small, 0, axis=1)
        return kept

    def residual(self, codes, left, alpha):
        """The gradient of each entry on the row's own support."""
        return np.where(codes == 0, 0, np.abs(left))

    def check(self, n_atoms):
        """Raise if it can not be used with so many atoms."""
        k = self.n_nonzero
        if not isinstance(k, Integral) or isinstance(k, bool):
            raise TypeError(f"n_nonzero must be an integer, got {k!r}.")
        if not 1 <= k <= n_atoms:
            raise ValueError(
                f"n_nonzero={k} must be at least 1 and at most the number of atoms, {n_atoms}."
            )


PENALTIES = {"l1": L1, "elastic_net": ElasticNet, "ridge": Ridge, "l0": L0}


def as_penalty(penalty, positive=False, n_nonzero=None):
    """The penalty that a name and its settings stand for; an object stands for itself."""
    _check_flag("positive", positive)
    if isinstance(penalty, str) and penalty == "top_k":
        _refuse("positive", positive, penalty)
        if n_nonzero is None:
            raise ValueError("penalty='top_k' needs n_nonzero, the number of non-zeros a row.")
        return TopK(n_nonzero)
    _refuse("n_nonzero", n_nonzero is not None, penalty)
    if isinstance(penalty, str) and penalty in PENALTIES:
        return PENALTIES[penalty](positive=bool(positive))
    if not isinstance(penalty, Penalty):
        raise ValueError(
            f"penalty must be one of {[*PENALTIES, 'top_k']} or a penalty object such as L1(), got "
            f"{penalty!r}."
        )
    _refuse("positive", positive, penalty)
    return penalty


def _refuse(name, given, penalty):
    if given:
        raise ValueError(f"{name} does not go with penalty={penalty!r}: leave it out.")


def _squares(codes):
    return codes.multiply(codes).tocsr() if issparse(codes) else codes * codes


def _real_type(codes):
    return codes.dtype if codes.dtype.kind == "f" else np.dtype(np.float64)


def _weights_or_ones(weights, n):
    return np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)


def _check_flag(name, value):
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False, got {value!r}.")


def _check_fraction(name, value):
    if not isinstance(value, Real) or not 0 <= value <= 1:
        raise ValueError(f"{name} must be a number from 0 to 1, got {value!r}.")


def _check_weights(weights, n, what):
    if weights is None:
        return
    weights = real_array("weights", weights)
    if weights.shape != (n,):
        raise ValueError(f"weights has shape {weights.shape}, but there are {n} {what}.")
    if not (weights >= 0).all():
        raise ValueError(f"weights must be finite and not negative, got {weights.min()} or more.")
