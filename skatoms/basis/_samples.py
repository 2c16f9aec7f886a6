"""The samples to learn from, in a random order that only their values and a seed decide."""

from dataclasses import dataclass

import numpy as np

from ..backend import kernel


@dataclass(frozen=True)
class Samples:
    """Samples with weights.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
    weights : ndarray of shape (n_samples,), float64
    order : ndarray of shape (n_samples,), int
        A random order of the samples. It depends on the seed and on their values alone: not on
        how they came, and not on whether one is repeated or weighted.
    distinct : ndarray of shape (n_samples,), bool
        Whether a sample has weight, is not all zero, and is the first of its kind in this order.
    """

    X: np.ndarray
    weights: np.ndarray
    order: np.ndarray
    distinct: np.ndarray


def shuffled(X, weights, random_state):
    """The Samples of X; those without weight are left out."""
    multipliers = random_state.randint(0, 2**63, size=X.shape[1] + 1, dtype=np.int64)
    keys = hash_rows(X, multipliers.astype(np.uint64))
    order = np.argsort(keys, kind="stable")
    order = order[weights[order] > 0]
    sorted_keys = keys[order]
    distinct = np.zeros(len(X), bool)
    distinct[order] = np.concatenate([[True], sorted_keys[1:] != sorted_keys[:-1]])
    distinct &= X.any(axis=1)
    return Samples(X, weights, order, distinct)


@kernel
def hash_rows(X, multipliers):
    """A 64-bit number for each row, equal for equal rows and as good as random for others."""
    keys = np.empty(X.shape[0], np.uint64)
    bits = np.empty(1, np.float64)
    for i in range(X.shape[0]):
        key = multipliers[X.shape[1]]
        for f in range(X.shape[1]):
            bits[0] = X[i, f] + 0.0  # the same bits for 0.0 and -0.0
            key = (key ^ bits.view(np.uint64)[0]) * (multipliers[f] | np.uint64(1))
            key ^= key >> np.uint64(29)
        keys[i] = key
    return keys
