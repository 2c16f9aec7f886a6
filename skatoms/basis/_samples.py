"""The samples to learn from, in a random order that only their values and a seed decide."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..backend import kernel


@dataclass(frozen=True)
class Samples:
    """Distinct samples in random order, with weights.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_features)
        Data; not copied.
    rows : ndarray of int
        Where the samples stand in X. Of rows that are equal only one is here, and none without
        weight. The order depends on the seed and on the values alone.
    weights : ndarray of float64
        The weight of each sample: the sum over the rows that are equal to it.
    sequences : ndarray or None
        A label for each sample, for couplings that need to know where sequences end. The samples
        are then the rows of X as they stand.
    """

    X: np.ndarray
    rows: np.ndarray
    weights: np.ndarray
    sequences: np.ndarray | None = None

    def __len__(self):
        return len(self.rows)

    def batches(self, size):
        """Slices of about equal length, of at most so many samples."""
        bounds = np.linspace(0, len(self), -(-len(self) // size) + 1).astype(int)
        return [slice(*ends) for ends in pairwise(bounds)]


def shuffled(X, weights, random_state):
    """The Samples of X."""
    multipliers = random_state.randint(0, 2**63, size=X.shape[1] + 1, dtype=np.int64)
    keys = hash_rows(X, multipliers.astype(np.uint64))
    weighed = np.flatnonzero(weights)
    _, first, kinds = np.unique(keys[weighed], return_index=True, return_inverse=True)
    return Samples(X, weighed[first], np.bincount(kinds, weights[weighed], len(first)))


def in_order(X, weights, sequences):
    """The Samples of X as they stand, each by itself."""
    return Samples(X, np.arange(len(X)), weights, sequences)


@kernel
def hash_rows(X, multipliers):
    """A 64-bit number for each row, equal for equal rows and as good as random for others."""
    keys = np.empty(X.shape[0], np.uint64)
    value = np.empty(1, np.float64)
    for i in range(X.shape[0]):
        key = multipliers[X.shape[1]]
        for f in range(X.shape[1]):
            value[0] = X[i, f]
            bits = np.uint64(0) if value[0] == 0 else value.view(np.uint64)[0]  # 0.0 is -0.0
            key = (key ^ bits) * (multipliers[f] | np.uint64(1))
            key ^= key >> np.uint64(29)
        keys[i] = key
    return keys
