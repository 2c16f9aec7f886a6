"""Kernels of winner-take-all heads: the choice of one unit of each, and its surrogate gradient."""

import numpy as np

from ..backend import kernel

FAINTEST = -30.0  # exponents below are cut off: subnormal numbers are slow, and nothing to learn by


@kernel
def choose(scores, starts, chosen):
    """chosen[i, h] = the unit of head h with the largest score, counted within the head.

    scores : (n_samples, n_units); head h has the units starts[h] to starts[h + 1]
    chosen : (n_samples, n_heads) int. Cost: one pass.
    """
    for i in range(scores.shape[0]):
        for h in range(starts.shape[0] - 1):
            best = starts[h]
            for u in range(starts[h] + 1, starts[h + 1]):
                if scores[i, u] > scores[i, best]:
                    best = u
            chosen[i, h] = best - starts[h]


@kernel
def choose_softly(scores, starts, temperature, hard, soft):
    """hard = one-hot choices of each head, soft = the softmax of scores / temperature.

    scores, hard, soft : (n_samples, n_units). Cost: one pass with an exponential for each unit.
    """
    for i in range(scores.shape[0]):
        for h in range(starts.shape[0] - 1):
            first, last = starts[h], starts[h + 1]
            best = first
            for u in range(first + 1, last):
                if scores[i, u] > scores[i, best]:
                    best = u
            total = scores.dtype.type(0)
            for u in range(first, last):
                exponent = (scores[i, u] - scores[i, best]) / temperature
                soft[i, u] = np.exp(max(exponent, scores.dtype.type(FAINTEST)))
                hard[i, u] = 0
                total += soft[i, u]
            hard[i, best] = 1
            for u in range(first, last):
                soft[i, u] /= total


@kernel
def softmax_gradient(soft, starts, temperature, slopes):
    """Turn slopes with respect to choices, in place, into those with respect to scores.

    Choices are taken for the softmax, whose Jacobian is (diag(s) - s s') / temperature.
    soft, slopes : (n_samples, n_units). Cost: one pass.
    """
    for i in range(soft.shape[0]):
        for h in range(starts.shape[0] - 1):
            mean = soft.dtype.type(0)
            for u in range(starts[h], starts[h + 1]):
                mean += soft[i, u] * slopes[i, u]
            for u in range(starts[h], starts[h + 1]):
                slopes[i, u] = soft[i, u] * (slopes[i, u] - mean) / temperature
