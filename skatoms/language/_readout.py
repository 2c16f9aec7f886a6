"""The read-out of states: a log-bilinear softmax, in one step or, for rare tokens, in two."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..backend import kernel, run_chunks

ROWS = 128  # states that one thread works on at a time
HEAD = 1000  # frequent tokens that are chosen in one step
CLUSTERS = 8  # groups of the others


@dataclass(frozen=True)
class Readout:
    """log P(x) = w_x' B z + b_x - log of the sum of such exponentials.

    Tokens are numbered by their frequency. The first ones and one entry for each cluster of the
    others are the head: a token of a cluster has the probability of its cluster times its own
    within the cluster.

    inputs : (n_features, rank) float32
        B, which brings states down to few dimensions.
    outputs : (n_clusters + n_tokens, rank) float32
        w, of clusters first.
    bias : (n_clusters + n_tokens,) float32
    edges : (n_clusters + 1,) int64
        Where clusters begin and end, as numbers of tokens; only [n_tokens] if there are none.
    """

    inputs: np.ndarray
    outputs: np.ndarray
    bias: np.ndarray
    edges: np.ndarray

    @classmethod
    def start(cls, n_features, rank, counts, kind, rng):
        """Small random inputs, no outputs, and biases that give tokens' frequencies."""
        edges = edges_of(len(counts), kind)
        mass = counts + 0.5
        clusters = [mass[a:b].sum() for a, b in pairwise(edges)]
        bias = np.log(np.concatenate([clusters, mass]) / mass.sum())
        inputs = rng.standard_normal((n_features, rank)) / np.sqrt(rank)
        outputs = np.zeros((len(bias), rank), np.float32)
        return cls(inputs.astype(np.float32), outputs, bias.astype(np.float32), edges)

    @property
    def weights(self):
        """All that is learned."""
        return self.inputs, self.outputs, self.bias

    def copy(self):
        """One with weights of its own."""
        return Readout(*(values.copy() for values in self.weights), self.edges)

    @property
    def n_clusters(self):
        """How many clusters there are."""
        return len(self.edges) - 1

    @property
    def n_head(self):
        """Clusters and tokens in the head."""
        return self.n_clusters + int(self.edges[0])

    def log_probabilities(self, hidden, targets, n_jobs=None):
        """log P of each target after B z, float64."""
        out = np.empty(len(targets))

        def part(start, stop):
            rows = hidden[start:stop]
            for _, at, aim, log in self._steps(rows, targets[start:stop]):
                chosen = log[np.arange(len(aim)), aim]
                if at is None:
                    out[start:stop] = chosen
                else:
                    out[start + at] += chosen

        run_chunks(part, len(targets), ROWS, n_jobs)
        return out

    def distribution(self, hidden):
        """P of all tokens after B z, (n_tokens,) float64."""
        logits = (self.outputs @ hidden + self.bias).astype(np.float64)
        n, first = self.n_clusters, self.edges[0]
        head = _softmax(logits[: self.n_head])
        parts = [head[n:]]
        tokens = logits[n:]
        for k in range(n):
            parts.append(head[k] * _softmax(tokens[self.edges[k] : self.edges[k + 1]]))
        out = np.concatenate(parts) if first < len(tokens) else parts[0]
        return out / out.sum()

    def contrast(self, token):
        """The outputs of a token less the mean of those it is chosen among."""
        n = self.n_clusters
        k = int(np.searchsorted(self.edges, token, side="right")) - 1
        among = slice(n, self.n_head) if k < 0 else slice(n + self.edges[k], n + self.edges[k + 1])
        return self.outputs[n + token] - self.outputs[among].mean(axis=0)

    def gradient(self, states, targets, n_jobs=None):
        """Gradients of the mean of -log P, for each of `weights`, and that mean.

        Threads share the states in chunks of a fixed size, whose gradients are added in their
        order: results do not depend on the number of threads.
        """
        n = len(targets)

        def part(start, stop):
            rows, aims = states[start:stop], targets[start:stop]
            hidden = rows @ self.inputs
            back = np.zeros_like(hidden)
            found, loss = [], 0.0
            for piece, at, aim, log in self._steps(hidden, aims):
                lines = np.arange(len(aim))
                loss -= log[lines, aim].sum(dtype=np.float64)
                error = np.exp(log, out=log)
                error[lines, aim] -= 1
                error /= n
                some = hidden if at is None else hidden[at]
                found.append((piece, error.T @ some, error.sum(axis=0)))
                if at is None:
                    back += error @ self.outputs[piece]
                else:
                    back[at] += error @ self.outputs[piece]
            return rows.T @ back, found, loss

        inputs = np.zeros_like(self.inputs)
        outputs, bias = np.zeros_like(self.outputs), np.zeros_like(self.bias)
        total = 0.0
        for to_inputs, found, loss in run_chunks(part, n, ROWS, n_jobs):
            inputs += to_inputs
            total += loss
            for piece, to_outputs, to_bias in found:
                outputs[piece] += to_outputs
                bias[piece] += to_bias
        return (inputs, outputs, bias), total / n

    def _steps(self, hidden, targets):
        """The choices that lead to targets: which outputs, of which states, which one, log P."""
        n = self.n_clusters
        cluster = np.searchsorted(self.edges, targets, side="right") - 1
        head = np.where(cluster < 0, targets + n, cluster)
        yield slice(0, self.n_head), None, head, self._log_softmax(hidden, slice(0, self.n_head))
        for k in np.unique(cluster[cluster >= 0]):
            at = np.flatnonzero(cluster == k)
            piece = slice(n + self.edges[k], n + self.edges[k + 1])
            yield piece, at, targets[at] - self.edges[k], self._log_softmax(hidden[at], piece)

    def _log_softmax(self, hidden, piece):
        logits = hidden @ self.outputs[piece].T
        logits += self.bias[piece]
        logits -= logits.max(axis=1, keepdims=True)
        logits -= np.log(np.exp(logits).sum(axis=1, keepdims=True))
        return logits


def edges_of(n_tokens, kind):
    """Where clusters of rare tokens begin and end."""
    if kind == "full" or n_tokens <= 2 * HEAD:
        return np.array([n_tokens])
    return np.linspace(HEAD, n_tokens, CLUSTERS + 1).astype(np.int64)


def _softmax(logits):
    values = np.exp(logits - logits.max())
    return values / values.sum()


class Adam:
    """Steps along means of gradients over roots of means of their squares."""

    def __init__(self, weights, fading=(0.9, 0.999)):
        self.weights, self.fading, self.n_steps = weights, fading, 0
        self.means = [np.zeros_like(w) for w in weights]
        self.squares = [np.zeros_like(w) for w in weights]

    def step(self, gradients, rate):
        """Move the weights in place."""
        self.n_steps += 1
        one, two = (1 - fade**self.n_steps for fade in self.fading)
        rate = np.float32(rate * np.sqrt(two) / one)
        for parts in zip(self.weights, gradients, self.means, self.squares, strict=True):
            adam_step(*(part.reshape(-1) for part in parts), *self.fading, rate)


@kernel
def adam_step(values, gradient, mean, square, fading, fading_squares, rate):
    """values -= rate * mean / sqrt(square), after both means moved. Cost: one pass."""
    number = values.dtype.type
    keep, keep_square, small = number(fading), number(fading_squares), number(1e-8)
    for k in range(values.shape[0]):
        mean[k] += (number(1) - keep) * (gradient[k] - mean[k])
        square[k] += (number(1) - keep_square) * (gradient[k] * gradient[k] - square[k])
        values[k] -= rate * mean[k] / (np.sqrt(square[k]) + small)
