"""Training of networks: Adam on batches, slower when it stops getting better."""

from dataclasses import dataclass, field

import numpy as np

from ..backend import kernel
from ._networks import cross_entropy

FADING = (0.9, 0.999)  # of Adam's means of gradients and of their squares
SLOWER = 4.0  # by what the rate is divided where there is no progress
SLOWDOWNS = 3  # and how often, before training ends
STEPS = 16  # of an epoch, at least: few samples are passed several times


@dataclass(frozen=True)
class Samples:
    """Inputs in float32, targets of tasks and weights."""

    x: np.ndarray
    targets: np.ndarray
    weights: np.ndarray

    def __len__(self):
        return len(self.x)

    def __getitem__(self, rows):
        return Samples(self.x[rows], self.targets[rows], self.weights[rows])

    def weighted(self, weights):
        """The samples whose new weight is not zero; weights have mean one then."""
        kept = weights > 0
        weights = weights[kept]
        return Samples(self.x[kept], self.targets[kept], weights / weights.mean())

    def loss(self, model):
        """The mean cross-entropy of tasks in nats."""
        return cross_entropy(model.logits(self.x), self.targets, self.weights)


@dataclass(frozen=True)
class Schedule:
    """How fast and how long: see the estimator's parameters of the same names.

    to_beat : training ends where it would slow down, if the loss is still above this one
    """

    rate: float
    batch_size: int
    max_iter: int
    tol: float
    n_iter_no_change: int
    to_beat: float = np.inf


@dataclass
class Training:
    """How the loss of samples held out went; the network goes back to the least one.

    losses : the loss at the start and after each epoch
    """

    losses: list = field(default_factory=list)
    settled: bool = False

    @property
    def loss(self):
        """The least loss."""
        return min(self.losses)


def train(model, samples, held_out, schedule, rng, epochs):
    """Adam until the loss of samples held out no longer falls, at lower and lower rates.

    epochs : has ``begin()`` and ``end()``, called around each epoch; training ends if `end` returns
        True
    """
    optimizer = Adam(model.values)
    best, training = model.values.copy(), Training([held_out.loss(model)])
    rate, since, slowdowns, least = schedule.rate, 0, 0, training.losses[0]
    passes = -(-STEPS * schedule.batch_size // len(samples))
    for _ in range(schedule.max_iter):
        epochs.begin()
        for _ in range(passes):
            run_epoch(model, samples, schedule.batch_size, rate, optimizer, rng)
        loss = held_out.loss(model)
        training.losses.append(loss)
        since = 0 if loss < least - schedule.tol * abs(least) else since + 1
        if loss < least:
            least, best = loss, model.values.copy()
        if epochs.end():
            break
        if since == schedule.n_iter_no_change:
            if slowdowns == SLOWDOWNS or least > schedule.to_beat:
                training.settled = True
                break
            rate, since, slowdowns = rate / SLOWER, 0, slowdowns + 1
            model.values[:] = best
    model.values[:] = best
    return training


def run_epoch(model, samples, batch_size, rate, optimizer, rng):
    """One pass over the samples in random order."""
    order = rng.permutation(len(samples))
    gradient = np.empty_like(model.values)
    for first in range(0, len(order), batch_size):
        batch = samples[order[first : first + batch_size]]
        weights = batch.weights / np.float32(len(batch))
        model.gradient(batch.x, batch.targets, weights, rng, gradient)
        optimizer.step(model.values, gradient, rate)


class Adam:
    """Steps along means of gradients over roots of means of their squares."""

    def __init__(self, values):
        self.mean, self.square = np.zeros_like(values), np.zeros_like(values)
        self.n_steps = 0

    def step(self, values, gradient, rate):
        """Move values in place."""
        self.n_steps += 1
        fading, fading_squares = (1 - fade**self.n_steps for fade in FADING)
        rate *= np.sqrt(fading_squares) / fading
        adam_step(values, gradient, self.mean, self.square, np.float32(rate))


@kernel
def adam_step(values, gradient, mean, square, rate):
    """values -= rate * mean / sqrt(square), after both means moved. Cost: one pass."""
    number = values.dtype.type
    keep, keep_square, small = number(FADING[0]), number(FADING[1]), number(1e-8)
    for k in range(values.shape[0]):
        mean[k] += (number(1) - keep) * (gradient[k] - mean[k])
        square[k] += (number(1) - keep_square) * (gradient[k] * gradient[k] - square[k])
        values[k] -= rate * mean[k] / (np.sqrt(square[k]) + small)
