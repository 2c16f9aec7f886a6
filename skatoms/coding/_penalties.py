"""Penalties on codes: one small class each."""

from abc import ABC, abstractmethod
from numbers import Integral

import numpy as np


class Penalty(ABC):
    """What a penalty R on the codes of a row has to offer.

    Attributes
    ----------
    solvers : tuple of str
        The solvers that can deal with it, the best one first.
    """

    solvers: tuple[str, ...]

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

    def check(self, n_atoms: int) -> None:
        """Raise a ValueError or TypeError if it can not be used with so many atoms."""


class L1(Penalty):
    """The sum of absolute values, ``R(a) = |a|_1``.

    Parameters
    ----------
    positive : bool, default=False
        Whether codes must not be negative.
    """

    solvers = ("active-set", "homotopy", "fista")

    def __init__(self, positive: bool = False):
        self.positive = positive

    def __repr__(self):
        return f"L1(positive={self.positive})"

    def value(self, codes):
        """R of each row; codes : (n_rows, n_atoms)."""
        return np.abs(codes).sum(axis=1)

    def prox(self, values, weight):
        """Soft thresholding, a new array."""
        if self.positive:
            return np.maximum(values - weight, 0)
        return values - np.clip(values, -weight, weight)

    def residual(self, codes, left, alpha):
        """Distance of each entry of `left` to the subdifferential of alpha * R."""
        outside = np.maximum((left if self.positive else np.abs(left)) - alpha, 0)
        return np.where(codes == 0, outside, np.abs(left - alpha * np.sign(codes)))


class TopK(Penalty):
    """At most so many non-zeros: R(a) = 0 if a has them, infinite otherwise.

    Parameters
    ----------
    n_nonzero : int
        The largest number of non-zeros of a row.
    """

    solvers = ("omp",)

    def __init__(self, n_nonzero: int):
        self.n_nonzero = n_nonzero

    def __repr__(self):
        return f"TopK(n_nonzero={self.n_nonzero})"

    def value(self, codes):
        """R of each row; codes : (n_rows, n_atoms)."""
        return np.where((codes != 0).sum(axis=1) <= self.n_nonzero, 0.0, np.inf)

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


def as_penalty(penalty, positive=False, n_nonzero=None):
    """The penalty that a name and its settings stand for; an object stands for itself."""
    if not isinstance(positive, (bool, np.bool_)):
        raise TypeError(f"positive must be True or False, got {positive!r}.")
    if penalty == "l1":
        _refuse("n_nonzero", n_nonzero is not None, penalty)
        return L1(positive=bool(positive))
    if penalty == "top_k":
        _refuse("positive", positive, penalty)
        if n_nonzero is None:
            raise ValueError("penalty='top_k' needs n_nonzero, the number of non-zeros a row.")
        return TopK(n_nonzero)
    if not isinstance(penalty, Penalty):
        raise ValueError(
            f"penalty must be 'l1', 'top_k' or a penalty object such as L1(), got {penalty!r}."
        )
    _refuse("n_nonzero", n_nonzero is not None, penalty)
    _refuse("positive", positive, penalty)
    return penalty


def _refuse(name, given, penalty):
    if given:
        raise ValueError(f"{name} does not go with penalty={penalty!r}: leave it out.")
