"""Networks in float32: a plain one to tasks, and one whose samples pass winner-take-all heads.

All parameters of a network are one array, so that an optimiser, a copy and a comparison are one
operation; layers are views of it.
"""

from itertools import pairwise

import numpy as np
from scipy.special import expit

from .._one_hot import one_hot
from ._choice import choose, choose_softly, softmax_gradient


class Perceptron:
    """Linear maps with rectifiers between them.

    Parameters
    ----------
    sizes : sequence of int
        Numbers of inputs, of hidden units and of outputs.
    values : ndarray of shape (n_parameters,), default=None
        Where parameters are, float32. None makes a place for them.
    """

    def __init__(self, sizes, values=None):
        self.sizes = tuple(sizes)
        self.values = np.zeros(count_of(sizes), np.float32) if values is None else values
        self.maps = []
        first = 0
        for inputs, outputs in pairwise(sizes):
            last = first + inputs * outputs
            weights = self.values[first:last].reshape(inputs, outputs)
            first = last + outputs
            self.maps.append((weights, self.values[last:first]))

    def draw(self, rng):
        """Random parameters."""
        for weights, offsets in self.maps:
            draw_map(weights, offsets, rng)
        return self

    def forward(self, x):
        """What comes out of each layer, x first."""
        passed = [x]
        for layer, (weights, offsets) in enumerate(self.maps, start=1):
            x = x @ weights
            x += offsets
            if layer < len(self.maps):
                np.maximum(x, 0, out=x)
            passed.append(x)
        return passed

    def backward(self, passed, slopes, gradient):
        """Write the gradient for parameters, from slopes of the loss for outputs."""
        into = Perceptron(self.sizes, gradient)
        for layer in range(len(self.maps) - 1, -1, -1):
            weights, offsets = into.maps[layer]
            np.matmul(passed[layer].T, slopes, out=weights)
            slopes.sum(axis=0, out=offsets)
            if layer:
                slopes = slopes @ self.maps[layer][0].T
                slopes *= passed[layer] > 0

    def logits(self, x):
        """Task logits."""
        return self.forward(x)[-1]

    def gradient(self, x, targets, weights, rng, out):
        """Write the gradient of the weighted cross-entropy of tasks."""
        passed = self.forward(x)
        self.backward(passed, cross_entropy_slopes(passed[-1], targets, weights), out)


class SymbolNetwork:
    """A perceptron whose outputs are units of winner-take-all heads, and a linear read-out of them.

    Parameters
    ----------
    sizes : sequence of int
        Numbers of inputs and of hidden units.
    head_sizes : sequence of int
    n_tasks : int
    temperature : float
        Of the softmax that stands for choices in gradients.
    """

    def __init__(self, sizes, head_sizes, n_tasks, temperature):
        self.made_of = sizes, head_sizes, n_tasks, temperature
        self.starts = np.append(0, np.cumsum(head_sizes))
        self.temperature = np.float32(temperature)
        n_units = int(self.starts[-1])
        outer, inner = (*sizes, n_units), (n_units, n_tasks)
        self.split = count_of(outer)
        self.values = np.zeros(self.split + count_of(inner), np.float32)
        self.encoder = Perceptron(outer, self.values[: self.split])
        self.readout = Perceptron(inner, self.values[self.split :])

    def __getstate__(self):
        return self.made_of, self.values

    def __setstate__(self, state):
        """Layers of a copy are views of its own parameters."""
        made_of, values = state
        self.__init__(*made_of)
        self.values[:] = values

    @property
    def head_sizes(self):
        """Units of each head."""
        return np.diff(self.starts)

    def symbols(self, x):
        """The unit that wins in each head."""
        chosen = np.empty((len(x), len(self.starts) - 1), np.intp)
        choose(self.encoder.logits(x), self.starts, chosen)
        return chosen

    def logits(self, x):
        """Task logits."""
        return self.readout.logits(one_hot(self.symbols(x), self.head_sizes, np.float32))

    def gradient(self, x, targets, weights, rng, out):
        """Write the straight-through gradient of the weighted cross-entropy of tasks.

        Scores get Gumbel noise, so that units win with probabilities; the choice is passed on, but
        its slope is that of the softmax at the temperature.
        """
        passed = self.encoder.forward(x)
        waits = rng.standard_exponential(passed[-1].shape, np.float32)
        scores = passed[-1] - np.log(np.maximum(waits, np.finfo(np.float32).tiny))
        hard, soft = np.empty_like(scores), np.empty_like(scores)
        choose_softly(scores, self.starts, self.temperature, hard, soft)
        slopes = cross_entropy_slopes(self.readout.logits(hard), targets, weights)
        self.readout.backward([hard], slopes, out[self.split :])
        slopes = slopes @ self.readout.maps[0][0].T
        softmax_gradient(soft, self.starts, self.temperature, slopes)
        self.encoder.backward(passed, slopes, out[: self.split])


def draw_map(weights, offsets, rng):
    """Random weights that keep the variance of what passes, and no offsets."""
    weights[:] = rng.standard_normal(weights.shape) * np.sqrt(2 / len(weights))
    offsets[:] = 0


def count_of(sizes):
    """How many parameters a perceptron of these sizes has."""
    return sum((a + 1) * b for a, b in pairwise(sizes))


def cross_entropy_slopes(logits, targets, weights):
    """Slopes of the weighted cross-entropy for logits."""
    slopes = (expit(logits) - targets) * weights[:, None]
    return slopes.astype(logits.dtype, copy=False)


def cross_entropy(logits, targets, weights):
    """The weighted mean cross-entropy of tasks, in nats, for targets in [0, 1]."""
    errors = np.logaddexp(0, logits, dtype=np.float64) - targets * logits
    return float(weights @ errors.mean(axis=1) / weights.sum())
