"""The steps of a fit: samples, a network without heads, and what is read off one with heads."""

from dataclasses import dataclass
from numbers import Integral

import numpy as np

from ..basis._samples import shuffled
from ._networks import Perceptron, cross_entropy
from ._readout import fit_readout, joined_units
from ._starts import Search
from ._training import Samples, Schedule, train

BATCHES = 16  # of an epoch, at least, but for small data
LEAST_BATCH, MOST_BATCH = 16, 256
FARTHEST = 1e6  # deviations from the mean: what is farther counts as this far


@dataclass(frozen=True)
class Scaling:
    """Features with mean zero and variance one, in float32, of finite size whatever comes."""

    center: np.ndarray
    scale: np.ndarray

    @classmethod
    def of(cls, X, weights):
        """What brings X there; constant features stay constant."""
        center = np.average(X, axis=0, weights=weights)
        centred = X - center
        largest = np.maximum(np.abs(centred).max(axis=0), np.finfo(float).tiny)
        scale = largest * np.sqrt(np.average((centred / largest) ** 2, axis=0, weights=weights))
        constant = scale <= 10 * np.finfo(X.dtype).eps * np.abs(center)
        return cls(center, np.where(constant, 1.0, scale))

    def __call__(self, X):
        scaled = (X - self.center) / self.scale
        return np.clip(scaled, -FARTHEST, FARTHEST).astype(np.float32)


def prepared(X, tasks, weights, rng):
    """Distinct samples in random order, scaled, and the scaling.

    Equal samples are one of more weight: weights and repetitions mean the same.
    """
    distinct = shuffled(np.column_stack([X, tasks]), weights, rng)
    X, tasks, weights = X[distinct.rows], tasks[distinct.rows], distinct.weights
    scaling = Scaling.of(X, weights)
    return Samples(scaling(X), tasks, weights), scaling


def parts_of(samples, fraction):
    """Samples to learn from and samples held out, or twice all if a part would be empty.

    Of each so many repetitions one is held out, so that a sample that is frequent is in both parts,
    as it would be if samples were held out before equal ones became one.
    """
    counts = samples.weights / min(1.0, samples.weights.mean())
    held_out = np.diff(np.floor(fraction * np.cumsum(counts)), prepend=0)
    whole = (held_out > 0) & (counts < 2)
    held_out[whole] = counts[whole]
    rest = counts - held_out
    if not held_out.any() or not rest.any():
        return samples.weighted(counts), samples.weighted(counts)
    return samples.weighted(rest), samples.weighted(held_out)


def sizes_of(name, value, least):
    """A tuple of whole numbers; the error names the parameter."""
    sizes = tuple(np.atleast_1d(np.asarray(value, dtype=object)))
    if not all(isinstance(size, Integral) and size >= least for size in sizes):
        raise ValueError(f"{name} must be whole numbers of at least {least}, got {value!r}.")
    return tuple(int(size) for size in sizes)


def batch_size_of(estimator, n_samples):
    """The batch size that was given, or one that leaves small data enough batches."""
    usual = int(np.clip(n_samples // BATCHES, LEAST_BATCH, MOST_BATCH))
    return estimator.batch_size or usual


def search_of(estimator, samples, rng, progress):
    """A search for heads, and the training of the network without heads that it begins with."""
    heads = estimator.head_sizes
    heads = None if isinstance(heads, str) else sizes_of("head_sizes", heads, least=2)
    if heads == ():
        raise ValueError("head_sizes=() has no head: give at least one size, or 'auto'.")
    hidden = sizes_of("hidden_layer_sizes", estimator.hidden_layer_sizes, least=1)
    rest, held_out = parts_of(samples, estimator.validation_fraction)
    schedule = Schedule(
        estimator.learning_rate,
        batch_size_of(estimator, len(rest)),
        estimator.max_iter,
        estimator.tol,
        estimator.n_iter_no_change,
    )
    dense = Perceptron((samples.x.shape[1], *hidden, samples.targets.shape[1]))
    generator = np.random.default_rng(rng.randint(2**31))
    epochs = progress.network("network without heads", dense)
    training = train(dense.draw(generator), rest, held_out, schedule, generator, epochs)
    epochs.close()
    losses = constant_loss(rest, held_out), training.loss
    search = Search(
        rest, held_out, dense, losses, heads, estimator.temperature, schedule, estimator.n_jobs
    )
    return search, training


def constant_loss(samples, held_out):
    """The held-out loss of the mean targets."""
    means = np.average(samples.targets, axis=0, weights=samples.weights)
    means = np.clip(means, 1e-6, 1 - 1e-6)
    logits = np.broadcast_to(np.log(means / (1 - means)), held_out.targets.shape)
    return cross_entropy(logits, held_out.targets, held_out.weights)


def read_out(network, samples, alpha, merge):
    """Fitted attributes: which symbol each unit stands for, and the read-out of symbols."""
    symbols, starts = network.symbols(samples.x), network.starts
    weights, intercept = fit_readout(symbols, starts, samples.targets, samples.weights, alpha)
    usage = usage_of(symbols, starts, samples.weights)
    labels = np.arange(starts[-1]) - np.repeat(starts[:-1], network.head_sizes)
    if merge:
        labels = joined_units(weights, starts, usage)
    sizes = np.maximum.reduceat(labels, starts[:-1]) + 1
    if merge:
        symbols, starts = relabelled(symbols, network.starts, labels), np.append(0, sizes.cumsum())
        weights, intercept = fit_readout(symbols, starts, samples.targets, samples.weights, alpha)
        usage = usage_of(symbols, starts, samples.weights)
    return {
        "head_sizes_": tuple(int(size) for size in sizes),
        "task_weights_": weights,
        "task_intercept_": intercept,
        "usage_": usage,
        "_labels": labels,
    }


def columns_of(labels, starts, sizes):
    """For each unit the column of its symbol."""
    return labels + np.repeat(np.append(0, np.cumsum(sizes)[:-1]), np.diff(starts))


def relabelled(symbols, starts, labels):
    """Symbols of the units that won."""
    return labels[symbols + starts[:-1]]


def usage_of(symbols, starts, weights):
    """The share of the samples that have each symbol."""
    heads = zip(symbols.T, np.diff(starts), strict=True)
    sums = [np.bincount(chosen, weights, size) for chosen, size in heads]
    return np.concatenate(sums) / weights.sum()


def symbols_to_units(network, found):
    """Let the network's own read-out be that of the fitted attributes."""
    weights, intercept = network.readout.maps[0]
    columns = columns_of(found["_labels"], network.starts, found["head_sizes_"])
    weights[:], intercept[:] = found["task_weights_"][columns], found["task_intercept_"]


def units_to_symbols(network, labels, sizes):
    """Weights of symbols and an intercept: the mean of the network's read-out of their units."""
    columns = columns_of(labels, network.starts, sizes)
    weights, intercept = network.readout.maps[0]
    sums = np.zeros((sum(sizes), weights.shape[1]))
    np.add.at(sums, columns, weights)
    return sums / np.bincount(columns)[:, None], intercept.astype(np.float64)
