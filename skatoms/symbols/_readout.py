"""The linear read-out of symbols: a convex fit, and which units mean the same to it."""

from itertools import pairwise

import numpy as np
from scipy.special import expit

from .._one_hot import one_hot

STEPS = 100  # of Newton's method
SETTLED = 1e-12  # mean squared decrement at which it ends
HALVINGS = 30
SAME = 0.1  # distance of units that count as one, over the mean distance within their head
NOT_NEEDED = 0.01  # mean distance within a head that is one symbol, over that of the largest head


def fit_readout(symbols, starts, targets, weights, alpha):
    """Weights of units and an intercept for each task, by penalised logistic regression.

    Minimises the weighted mean cross-entropy of each task plus ``alpha / 2`` times the squares of
    its weights by Newton's method, in float64. Weights of a head then sum to zero. A task that is 0
    or 1 for all samples has no least: it gets the log-odds of half a sample that is not, so that
    training can go on from it. Cost a step: (number of different rows of symbols) * n_tasks *
    n_units ** 2.

    Returns
    -------
    task_weights : ndarray of shape (n_units, n_tasks)
    intercept : ndarray of shape (n_tasks,)
    """
    codes, masses, means = _collected(symbols, starts, targets, weights)
    ridge = np.append(np.full(starts[-1], alpha), 0.0)

    def objective(coefficients, tasks):
        logits = codes @ coefficients
        losses = np.logaddexp(0, logits) - means[:, tasks] * logits
        return masses @ losses + ridge @ coefficients**2 / 2

    coefficients = np.zeros((codes.shape[1], targets.shape[1]))
    never, always = (means == 0).all(axis=0), (means == 1).all(axis=0)
    rarest = np.log(2 * max(weights.sum(), len(weights)) + 1)
    coefficients[-1] = np.where(never, -rarest, np.where(always, rarest, 0.0))
    tasks = np.flatnonzero(~(never | always))
    for _ in range(STEPS):
        found = coefficients[:, tasks]
        probabilities = expit(codes @ found)
        slopes = codes.T @ ((probabilities - means[:, tasks]) * masses[:, None])
        slopes += ridge[:, None] * found
        curvatures = probabilities * (1 - probabilities) * masses[:, None]
        steps = np.empty_like(found)
        for task in range(len(tasks)):
            curvature = codes.T @ (codes * curvatures[:, task, None])
            curvature[np.diag_indices_from(curvature)] += ridge + np.finfo(float).tiny
            steps[:, task] = np.linalg.lstsq(curvature, slopes[:, task])[0]
        coefficients[:, tasks] = _descended(found, steps, objective, tasks)
        tasks = tasks[(steps * slopes).sum(axis=0) > SETTLED]
        if not len(tasks):
            break
    return coefficients[:-1], coefficients[-1]


def _collected(symbols, starts, targets, weights):
    """Different codes with a one at their ends, their shares and their mean targets."""
    rows, place = np.unique(symbols, axis=0, return_inverse=True)
    codes = np.column_stack([one_hot(rows, np.diff(starts)), np.ones(len(rows))])
    masses = np.bincount(place, weights, len(rows))
    sums = np.zeros((len(rows), targets.shape[1]))
    np.add.at(sums, place, weights[:, None] * targets)
    return codes, masses / masses.sum(), sums / masses[:, None]


def _descended(found, steps, objective, tasks):
    """Newton's steps, those halved that would not lower the objective."""
    before, length = objective(found, tasks), np.ones(len(tasks))
    for _ in range(HALVINGS):
        moved = found - length * steps
        rises = objective(moved, tasks) > before
        if not rises.any():
            return moved
        length[rises] /= 2
    return np.where(rises, found, moved)


def joined_units(task_weights, starts, usage):
    """For each unit a number; those that the read-out does not tell apart get the same one.

    Units that are not in use join the one that is nearest. Numbers count up from 0 in each head.
    """
    numbers, heads = np.zeros(starts[-1], int), [slice(*ends) for ends in pairwise(starts)]
    used = [np.flatnonzero(usage[head]) for head in heads]
    distances = [_distances(task_weights[head]) for head in heads]
    sizes = [
        among[np.ix_(units, units)].mean() if len(units) else 0.0
        for among, units in zip(distances, used, strict=True)
    ]
    for head, among, units, size in zip(heads, distances, used, sizes, strict=True):
        leaders = []
        for unit in units[np.argsort(-usage[head][units], kind="stable")]:
            near = SAME * size if size > NOT_NEEDED * max(sizes) else np.inf
            if not leaders or among[unit, leaders].min() > near:
                leaders.append(unit)
        numbers[head] = among[:, sorted(leaders) or [0]].argmin(axis=1)
    return numbers


def _distances(rows):
    return np.linalg.norm(rows[:, None] - rows, axis=2)
