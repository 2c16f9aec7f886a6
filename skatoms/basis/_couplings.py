"""Couplings: terms that tie the codes of samples to each other."""

from abc import ABC, abstractmethod
from numbers import Integral, Real

import numpy as np
from scipy.sparse import coo_array, csr_array, issparse
from sklearn.base import BaseEstimator
from sklearn.neighbors import NearestNeighbors

from .._validation import real_array
from ..coding._encode import Pull


class Coupling(ABC, BaseEstimator):
    """``weight / 2 * trace(A' L A)`` for the codes A of all samples and a graph's Laplacian L."""

    # Whether the order of the samples matters, so that equal ones may not be taken together.
    ordered = True
    # Whether it ties samples within sequences, which new samples have too.
    sequential = False

    @abstractmethod
    def laplacian(self, X, sequences):
        """L of the samples X, (n_samples, n_samples); sequences : a label for each, or None."""

    def pull(self, X, known):
        """The Pull on new samples X by `known` = (samples, codes) of a fit; None if undefined."""
        return None

    def check(self):
        """Raise a ValueError or TypeError if a parameter is out of its range."""
        if not isinstance(self.weight, Real) or not 0 <= self.weight < np.inf:
            raise ValueError(
                f"weight of {type(self).__name__} must be finite and not negative, got "
                f"{self.weight!r}."
            )


class Temporal(Coupling):
    """Codes of samples that follow each other shall be alike; rows are in the order of time.

    ``weight / 2 * sum_t |a_t - a_(t-1)|^2``, within each sequence.

    Parameters
    ----------
    weight : float, default=1.0
        How much it counts, not negative.
    """

    sequential = True

    def __init__(self, weight: float = 1.0):
        self.weight = weight

    def laplacian(self, X, sequences):
        """That of a path along each sequence."""
        n = len(X)
        together = np.ones(n - 1) if sequences is None else sequences[1:] == sequences[:-1]
        first = np.flatnonzero(together)
        return self.weight * graph_laplacian(_graph(first, first + 1, np.ones(len(first)), n))


class GraphLaplacian(Coupling):
    """Codes of samples that are neighbours in a graph shall be alike.

    ``weight / 4 * sum_ij affinity_ij |a_i - a_j|^2``; with a normalised Laplacian, codes are
    divided by the square root of the degree of their sample first.

    Parameters
    ----------
    affinity : array-like or sparse matrix of shape (n_samples, n_samples), default=None
        How near the samples of a fit are to each other: symmetric, not negative, its diagonal is
        not used. None links each sample to its nearest neighbours, with affinity 1. Only then are
        new samples, in `transform`, linked to samples of the fit.

    weight : float, default=1.0
        How much it counts, not negative.

    n_neighbors : int, default=5
        Neighbours that a sample is linked to, if there is no affinity.

    normalized : bool, default=False
        Whether the Laplacian is the normalised one.
    """

    def __init__(
        self, affinity=None, weight: float = 1.0, n_neighbors: int = 5, normalized: bool = False
    ):
        self.affinity = affinity
        self.weight = weight
        self.n_neighbors = n_neighbors
        self.normalized = normalized

    @property
    def ordered(self):
        """A given affinity belongs to the rows as they stand."""
        return self.affinity is not None

    def laplacian(self, X, sequences):
        """That of the affinity, or of the nearest neighbours among X."""
        if self.affinity is None:
            affinity = self._neighbours_of(X)
        else:
            affinity = self._checked_affinity(len(X))
        return self.weight * graph_laplacian(affinity, self.normalized)

    def pull(self, X, known):
        """Links of new samples to their nearest neighbours among those of the fit."""
        if self.affinity is not None:
            return None
        samples, codes = np.nan_to_num(known[0]), known[1]
        k = min(self.n_neighbors, len(samples))
        search = NearestNeighbors(n_neighbors=k).fit(samples)
        links = search.kneighbors_graph(np.nan_to_num(X))
        if self.normalized:
            degrees = np.sqrt(self._neighbours_of(samples).sum(axis=1))
            links = links.multiply(1 / np.maximum(degrees, 1e-300)[None, :] / np.sqrt(k)).tocsr()
            return Pull(self.weight, csr_array(links).astype(codes.dtype) @ codes)
        return Pull(self.weight * k, csr_array(links).astype(codes.dtype) @ codes / k)

    def _neighbours_of(self, X):
        k = min(self.n_neighbors, len(X) - 1)
        if k < 1:
            return csr_array((len(X), len(X)))
        links = csr_array(NearestNeighbors(n_neighbors=k).fit(X).kneighbors_graph())
        return links.maximum(links.T)

    def _checked_affinity(self, n):
        given = self.affinity
        affinity = given if issparse(given) else np.atleast_2d(real_array("affinity", given))
        if affinity.ndim == 2:
            affinity = csr_array(affinity)
            affinity.setdiag(0)
        if affinity.shape != (n, n):
            raise ValueError(
                f"affinity has shape {affinity.shape}, but there are {n} samples: it needs a row "
                "and a column for each."
            )
        if abs(affinity - affinity.T).max() > 1e-10 * abs(affinity).max():
            raise ValueError("affinity is not symmetric: take for instance (A + A.T) / 2.")
        if affinity.nnz and not 0 <= affinity.min() <= affinity.max() < np.inf:
            raise ValueError(
                f"affinity must be finite and not negative, got {affinity.min()} to "
                f"{affinity.max()}."
            )
        return affinity.astype(np.float64)

    def check(self):
        """Raise if a parameter is out of its range."""
        super().check()
        if not isinstance(self.normalized, (bool, np.bool_)):
            raise TypeError(f"normalized must be True or False, got {self.normalized!r}.")
        if not isinstance(self.n_neighbors, Integral) or self.n_neighbors < 1:
            raise ValueError(
                f"n_neighbors must be an integer of at least 1, got {self.n_neighbors!r}."
            )


COUPLINGS = {"temporal": Temporal, "graph": GraphLaplacian}


def graph_laplacian(affinity, normalized=False):
    """D - S for a symmetric affinity S with degrees D, or D^(-1/2) (D - S) D^(-1/2)."""
    affinity = csr_array(affinity)
    affinity.setdiag(0)
    degrees = np.asarray(affinity.sum(axis=1)).ravel()
    if normalized:
        root = np.where(degrees > 0, 1 / np.sqrt(np.where(degrees > 0, degrees, 1)), 0)
        affinity = affinity.multiply(root[:, None]).multiply(root).tocsr()
        degrees = (degrees > 0).astype(float)
    everyone = np.arange(len(degrees))
    return csr_array(coo_array((degrees, (everyone, everyone)), affinity.shape) - affinity)


def sequence_labels(n_samples, groups, lengths):
    """A label for each sample that says which sequence it belongs to; None for a single one."""
    if groups is not None and lengths is not None:
        raise ValueError("groups and lengths both say where sequences end: give one of them.")
    if lengths is not None:
        lengths = np.asarray(lengths)
        if lengths.ndim != 1 or lengths.dtype.kind not in "iu" or (lengths < 1).any():
            raise ValueError(f"lengths must be positive integers, got {lengths!r}.")
        if lengths.sum() != n_samples:
            raise ValueError(f"lengths adds up to {lengths.sum()}, but X has {n_samples} samples.")
        return np.repeat(np.arange(len(lengths)), lengths)
    if groups is not None:
        groups = np.asarray(groups)
        if groups.shape != (n_samples,):
            raise ValueError(
                f"groups has shape {groups.shape}, but X has {n_samples} samples: it needs a label "
                "for each."
            )
        return groups
    return None


def _graph(first, second, values, n):
    half = coo_array((values, (first, second)), (n, n))
    return csr_array(half + half.T)
