"""Regularisers of the atoms: what a basis should be like beside explaining the samples."""

from abc import ABC
from functools import lru_cache
from math import prod
from numbers import Integral, Real

import numpy as np
from scipy.sparse import csr_array, eye_array, kron
from sklearn.base import BaseEstimator

from ..backend import kernel


class Regularizer(ABC, BaseEstimator):
    """Omega, a function of all atoms C, (n_components, n_features), to be kept small.

    It is the sum of a smooth part, known by `gradient` and `curvature`, and of another one known by
    `prox`; a class overrides what its Omega has. The latter has to grow in proportion with the
    atom, as norms do: then its prox and a constraint can be applied one after the other.
    """

    # Whether it has a part that only `prox` knows.
    has_prox = False

    def value(self, atoms, shape):
        """Omega. shape : `feature_shape`."""
        raise NotImplementedError

    def gradient(self, atoms, shape):
        """The gradient of the smooth part."""
        return np.zeros_like(atoms)

    def curvature(self, atoms, shape):
        """A bound on the second derivatives of the smooth part in all directions, near `atoms`."""
        return 0.0

    def prox(self, values, weights, shape):
        """The minimisers of ``1/2 |c - v|^2 + weight * (the other part)(c)``, row by row.

        values : (n_components, n_features); weights : (n_components,).
        """
        return values

    def check(self, shape):
        """Raise a ValueError or TypeError if it can not be used with such features."""


class Energy(Regularizer):
    """Half the sum of squares of all atoms; with `constraint="unit_ball"`, or it is constant."""

    def value(self, atoms, shape):
        """Omega."""
        return 0.5 * np.vdot(atoms, atoms)

    def gradient(self, atoms, shape):
        """Its gradient."""
        return atoms

    def curvature(self, atoms, shape):
        """Its second derivative."""
        return 1.0


class Smoothness(Regularizer):
    """Half the sum of squared differences of neighbouring entries of all atoms.

    Neighbours are entries that follow each other, or along every axis of `feature_shape`.

    Parameters
    ----------
    order : {1, 2}, default=2
        First differences favour constant atoms, second differences straight ones.
    """

    def __init__(self, order: int = 2):
        self.order = order

    def value(self, atoms, shape):
        """Omega."""
        return 0.5 * sum(np.vdot(steps, steps) for _, steps in self._differences(atoms, shape))

    def gradient(self, atoms, shape):
        """Its gradient."""
        total = np.zeros_like(atoms)
        for operator, steps in self._differences(atoms, shape):
            total += steps @ operator
        return total

    def curvature(self, atoms, shape):
        """A bound on its second derivative."""
        return float(len(shape) * 4**self.order)

    def _differences(self, atoms, shape):
        for operator in differences(shape, self.order):
            yield operator, atoms @ operator.T

    def check(self, shape):
        """Raise if it can not be used with such features."""
        if not isinstance(self.order, Integral) or self.order not in (1, 2):
            raise ValueError(f"order must be 1 or 2, got {self.order!r}.")
        if min(shape) <= self.order:
            raise ValueError(
                f"Smoothness(order={self.order}) needs more than {self.order} entries along every "
                f"axis, but feature_shape is {shape} (n_features = {prod(shape)})."
            )


class TotalVariation(Regularizer):
    """The sum of absolute differences of neighbouring entries: atoms constant by pieces.

    Neighbours are entries that follow each other, or along every axis of `feature_shape`
    (anisotropic total variation).
    """

    has_prox = True

    def value(self, atoms, shape):
        """Omega."""
        return float(sum(np.abs(atoms @ step.T).sum() for step in differences(shape, 1)))

    def prox(self, values, weights, shape):
        """One axis after the other by taut strings, repeated (Dykstra) where there are several."""
        grid = values.reshape(len(values), *shape)
        corrections = [np.zeros_like(grid) for _ in shape]
        for _ in range(DYKSTRA_ROUNDS if len(shape) > 1 else 1):
            before = grid
            for axis in range(len(shape)):
                wanted = grid + corrections[axis]
                lines = np.ascontiguousarray(np.moveaxis(wanted, axis + 1, -1))
                smooth = np.empty_like(lines)
                flat = lines.reshape(len(values), -1, shape[axis])
                taut_strings(flat, np.asarray(weights), smooth.reshape(flat.shape))
                grid = np.moveaxis(smooth, -1, axis + 1)
                corrections[axis] = wanted - grid
            if np.abs(grid - before).max() <= DYKSTRA_TOL * np.abs(values).max():
                break
        return np.ascontiguousarray(grid).reshape(values.shape)


DYKSTRA_ROUNDS = 200
DYKSTRA_TOL = 1e-12


class AbsoluteValues(Regularizer):
    """The sum of absolute values of all atoms: atoms with many zeros."""

    has_prox = True

    def value(self, atoms, shape):
        """Omega."""
        return float(np.abs(atoms).sum())

    def prox(self, values, weights, shape):
        """Soft thresholding."""
        weights = np.asarray(weights)[:, None]
        return values - np.clip(values, -weights, weights)


class _Likeness(Regularizer):
    """A sum over pairs of atoms of a function of their inner product."""

    def value(self, atoms, shape):
        """Omega."""
        return 0.25 * float((self._slopes(atoms @ atoms.T) ** 2).sum())

    def _slopes(self, inner):
        """The derivative of the sum by each inner product, (n_components, n_components)."""
        raise NotImplementedError

    def gradient(self, atoms, shape):
        """Its gradient."""
        return self._slopes(atoms @ atoms.T) @ atoms

    def curvature(self, atoms, shape):
        """A bound on its second derivative near these atoms."""
        smaller = atoms.T @ atoms if atoms.shape[1] < len(atoms) else atoms @ atoms.T
        norm = np.linalg.eigvalsh(smaller)[-1]
        return 2 * norm + float(np.abs(self._slopes(atoms @ atoms.T)).sum(axis=1).max())


class Orthogonality(_Likeness):
    """A quarter of the sum of squares of ``C C' - I``: small if atoms are orthonormal."""

    def _slopes(self, inner):
        return inner - np.eye(len(inner))


class Coherence(_Likeness):
    """Half the sum over pairs of atoms of the squared excess of ``|c_i'c_j|`` above a bound.

    Parameters
    ----------
    bound : float, default=0.0
        Inner products up to this one cost nothing; from 0 to 1.
    """

    def __init__(self, bound: float = 0.0):
        self.bound = bound

    def _slopes(self, inner):
        excess = inner - np.clip(inner, -self.bound, self.bound)
        np.fill_diagonal(excess, 0)
        return excess

    def check(self, shape):
        """Raise if it can not be used."""
        if not isinstance(self.bound, Real) or not 0 <= self.bound < 1:
            raise ValueError(f"bound of Coherence must be from 0 to below 1, got {self.bound!r}.")


REGULARIZERS = {
    "energy": Energy,
    "smooth": Smoothness,
    "tv": TotalVariation,
    "l1": AbsoluteValues,
    "orthogonal": Orthogonality,
    "coherence": Coherence,
}


@lru_cache(maxsize=16)
def differences(shape, order):
    """For each axis of a grid the sparse matrix of its differences, (n_differences, n_features)."""
    operators = []
    for axis, n in enumerate(shape):
        step = csr_array(eye_array(n, format="csr"))
        for _ in range(order):
            step = step[1:] - step[:-1]
        before, after = eye_array(prod(shape[:axis])), eye_array(prod(shape[axis + 1 :]))
        operators.append(csr_array(kron(kron(before, step), after)))
    return operators


@kernel
def taut_strings(lines, weights, out):
    """Minimise 1/2 |u - line|^2 + weight * sum of |u_(i+1) - u_i|, line by line; exact.

    lines, out : (n_atoms, n_lines, n); weights : (n_atoms,). Condat's algorithm (2013): the string
    is followed with its lowest and highest possible value until one of them has to bend.
    """
    for a in range(lines.shape[0]):
        for b in range(lines.shape[1]):
            taut_string(lines[a, b], weights[a], out[a, b])


@kernel
def taut_string(line, weight, out):
    """One line of `taut_strings`. Cost: n, n ** 2 at worst."""
    last = line.shape[0] - 1
    if last == 0 or weight == 0:
        out[:] = line
        return
    k = start = low_at = high_at = 0
    low, high = line[0] - weight, line[0] + weight
    low_sum, high_sum = weight, -weight
    while True:
        if k == last:
            if low_sum < 0:
                out[start : low_at + 1] = low
                k = start = low_at = low_at + 1
                low, low_sum = line[k], weight
                high_sum = line[k] + weight - high
            elif high_sum > 0:
                out[start : high_at + 1] = high
                k = start = high_at = high_at + 1
                high, high_sum = line[k], -weight
                low_sum = line[k] - weight - low
            else:
                out[start:] = low + low_sum / (k - start + 1)
                return
            continue
        value = line[k + 1]
        if value + low_sum < low - weight:
            out[start : low_at + 1] = low
            k = start = low_at = high_at = low_at + 1
            low, high = line[k], line[k] + 2 * weight
            low_sum, high_sum = weight, -weight
        elif value + high_sum > high + weight:
            out[start : high_at + 1] = high
            k = start = low_at = high_at = high_at + 1
            low, high = line[k] - 2 * weight, line[k]
            low_sum, high_sum = weight, -weight
        else:
            k += 1
            low_sum += value - low
            high_sum += value - high
            if low_sum >= weight:
                low += (low_sum - weight) / (k - start + 1)
                low_sum, low_at = weight, k
            if high_sum <= -weight:
                high += (high_sum + weight) / (k - start + 1)
                high_sum, high_at = -weight, k
