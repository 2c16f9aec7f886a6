"""Fading counts of the tokens that were read: topics and names come again."""

from dataclasses import dataclass

import numpy as np

from ..backend import kernel

SMALLEST = 1e-100  # of a common factor, before it is multiplied out


@dataclass(frozen=True)
class Cache:
    """Leaky states in token space: z <- a z + (1 - a) e(x), each a distribution.

    decays : (n_scales,) float64
        a, of each state.
    prior : (n_tokens,) float64
        Where nothing was read.
    """

    decays: np.ndarray
    prior: np.ndarray

    @property
    def n_columns(self):
        """How many distributions there are."""
        return len(self.decays)

    def start(self):
        """States, each to be multiplied by a factor of its own."""
        return np.tile(self.prior, (len(self.decays), 1)), np.ones(len(self.decays))

    def read(self, ids, memory, n_jobs=None):
        """Probabilities of tokens in turn, (n, n_scales); `memory` moves on."""
        out = np.empty((len(ids), len(self.decays)))
        read_fading(ids, *memory, self.decays, out)
        return out

    def distribution(self, memory):
        """Probabilities of all tokens, (n_scales, n_tokens)."""
        states, factors = memory
        return states * factors[:, None]

    def ready(self):
        """The same."""
        return self

    def learning(self):
        """The same: it learns nothing but what it has in memory."""
        return self


@kernel
def read_fading(ids, states, factors, decays, out):
    """Read off, fade, add. Cost: n_scales a token."""
    for t in range(ids.shape[0]):
        for s in range(decays.shape[0]):
            out[t, s] = states[s, ids[t]] * factors[s]
            factors[s] *= decays[s]
            states[s, ids[t]] += (1 - decays[s]) / factors[s]
            if factors[s] < SMALLEST:
                states[s] *= factors[s]
                factors[s] = 1.0
