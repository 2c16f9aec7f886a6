"""Learning again from what many labels say of each sample.

Labels are noisy where probabilities are not 0 or 1, and a network learns some of the noise. Once
heads are right, all labels of a sample together say more about its symbols than its features do to
the network. So the symbols of samples are found anew, and the probabilities that follow from them
are targets without noise.
"""

from dataclasses import replace

import numpy as np
from scipy.special import expit

from ._readout import fit_readout

MANY = 2  # labels for each unit, at least, or they do not say enough
SWEEPS = 3  # over heads
ROWS = 4096  # at a time
RIDGE = 1e-6  # price of squared weights of the read-out


def labels_tell(model, targets):
    """Whether targets are labels, and enough of them to tell symbols by."""
    many = targets.shape[1] >= MANY * model.starts[-1]
    return many and bool(((targets == 0) | (targets == 1)).all())


def relearning(model, *parts):
    """Parts of the samples with probabilities in place of labels; the read-out is of the first."""
    first, starts = parts[0], model.starts
    symbols = model.symbols(first.x)
    readout = fit_readout(symbols, starts, first.targets, first.weights, RIDGE)
    return [replace(part, targets=_probabilities(model, part, readout)) for part in parts]


def _probabilities(model, samples, readout):
    probabilities = np.empty_like(samples.targets)
    for first in range(0, len(samples), ROWS):
        few = samples[first : first + ROWS]
        symbols, scores = model.symbols(few.x), model.encoder.logits(few.x)
        found = likely_symbols(symbols, scores, model.starts, few.targets, *readout)
        probabilities[first : first + ROWS] = expit(_logits(found, model.starts, *readout))
    return probabilities


def likely_symbols(symbols, scores, starts, labels, weights, intercept):
    """The symbols that labels and scores together make most probable, head after head.

    Scores are log-odds of symbols, up to a constant for each head. Cost: (number of units) *
    n_samples * n_tasks a sweep.
    """
    symbols, logits = symbols.copy(), _logits(symbols, starts, weights, intercept)
    for _ in range(SWEEPS):
        before = symbols.copy()
        for head in range(symbols.shape[1]):
            units = range(starts[head], starts[head + 1])
            others = logits - weights[symbols[:, head] + starts[head]]
            likelihoods = np.column_stack([_fits(others + weights[k], labels) for k in units])
            likelihoods += scores[:, starts[head] : starts[head + 1]]
            symbols[:, head] = likelihoods.argmax(axis=1)
            logits = others + weights[symbols[:, head] + starts[head]]
        if np.array_equal(symbols, before):
            break
    return symbols


def _fits(logits, labels):
    """The log-likelihood of the labels of each sample."""
    return -np.logaddexp(0, np.where(labels == 1, -logits, logits)).sum(axis=1)


def _logits(symbols, starts, weights, intercept):
    return weights[symbols + starts[:-1]].sum(axis=1) + intercept
