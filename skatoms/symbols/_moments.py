"""Categories read off task logits: directions along which logits take two values.

If logits are a sum of one vector for the category of each factor, and factors are independent, then
whitened logits have the factors in orthogonal subspaces, and along the direction of a category they
take two values: one where it holds and one elsewhere. With a constant added, the third moment of
whitened logits is a sum of cubes of orthonormal vectors, one for each category, so that power
iterations climb to the categories. Factors of two equally frequent categories have no third moment;
independent component analysis finds them in what is left. Categories of one factor exclude each
other and those of different factors are independent, which tells the factors apart.
"""

from dataclasses import dataclass

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

SAMPLES = 10_000  # are enough to find directions by
CLIMBS = 200  # steps of a power iteration
SETTLED = 1e-6  # step at which iterations end
ARRIVED = 1e-3  # step below which a direction is at a maximum
SAME = 0.9  # cosine of two directions that count as one
LEAST_SKEW = 0.3  # of a direction; that of a category has less if its probability is .43 to .57
MOST_SPREAD = 0.7  # fourth moment above the least for the skew: 0 for two values, 2 for a normal
EXCLUSIVE = (0.5, 0.7, 0.8, 0.9, 0.95)  # of one factor, where 0 is independent: the first that fits
REMAINDER = 0.03  # a factor has one more category if those found leave so much probability
FLOOR = 1e-9  # of the leading variance, below which there is nothing
ROUNDING = 1e-24  # the same, of the square of the mean
GAP = 5.0  # ratio of variances that tells signal from noise
TO_NOTHING = 7.0  # what a fall to nothing counts: few samples leave nothing below their noise


@dataclass(frozen=True)
class Categories:
    """Estimates ``logits @ directions + offsets`` of indicators of categories.

    directions : (n_tasks, n_categories)
    offsets, shares : (n_categories,)
        Shares are the probabilities of the categories.
    factors : one array of columns for each factor, the largest factors first
    """

    directions: np.ndarray
    offsets: np.ndarray
    shares: np.ndarray
    factors: list


def find_categories(logits, weights, most, largest, rng):
    """Categories that explain logits; there are none where no direction takes two values.

    Parameters
    ----------
    logits : ndarray of shape (n_samples, n_tasks)
    weights : ndarray of shape (n_samples,)
        Of the samples.
    most : int
        The largest rank to look for: what heads can express.
    largest : int
        How many categories a factor has at most.
    rng : RandomState

    Returns
    -------
    Categories
    """
    if len(logits) > SAMPLES:
        rows = rng.choice(len(logits), SAMPLES, replace=False)
        logits, weights = logits[rows], weights[rows]
    logits, weights = logits.astype(np.float64), weights / weights.sum()
    mean = weights @ logits
    centred = logits - mean
    whiten = _whitening(centred, mean, weights, most)
    white = centred @ whiten
    units = _two_valued(white, weights, rng)
    skew = _moment(white @ units, weights, 3)
    shares = _shares(skew)
    deviations = np.sqrt(shares * (1 - shares))
    directions, factors = units * deviations, []
    for members in _factors(units, shares / deviations, largest):
        rest = 1 - shares[members].sum()
        if rest > REMAINDER:
            directions = np.column_stack([directions, -directions[:, members].sum(axis=1)])
            shares = np.append(shares, rest)
            members = np.append(members, len(shares) - 1)
        factors.append(members)
    directions = whiten @ directions
    factors = sorted(factors, key=len)[::-1]
    return Categories(directions, shares - mean @ directions, shares, factors)


def _whitening(centred, mean, weights, most):
    """A map to unit covariance, of the rank at which variances fall most, if they do fall."""
    values, vectors = np.linalg.eigh((centred.T * weights) @ centred)
    values, vectors = values[::-1], vectors[:, ::-1]
    nothing = max(FLOOR * values[0], ROUNDING * (mean @ mean), np.finfo(float).tiny)
    rank = min(most, int((values > nothing).sum()))
    values, below = values[: rank + 1], values[1 : rank + 1]
    falls = np.where(below > nothing, values[:-1] / np.maximum(below, nothing), TO_NOTHING)
    if len(falls) and falls.max() > GAP:
        rank = 1 + int(np.argmax(falls))
    return vectors[:, :rank] / np.sqrt(values[:rank])


def _two_valued(white, weights, rng):
    """Directions along which white data take two values, the rarer one being the larger."""
    found, free = np.empty((white.shape[1], 0)), np.eye(white.shape[1])
    for search in (_most_skewed, _independent):
        while free.shape[1]:
            units = search(white, weights, free, rng)
            along = white @ units
            spread = _moment(along, weights, 4) - _moment(along, weights, 3) ** 2 - 1
            new = (spread < MOST_SPREAD) & (units.T @ found < SAME).all(axis=1)
            if not new.any():
                break
            found = np.concatenate([found, units[:, new]], axis=1)
            left, sizes, _ = np.linalg.svd(found)
            free = left[:, (sizes > 1 - SAME).sum() :]
    return found


def _most_skewed(white, weights, free, rng):
    """Directions of locally largest third moment, each once, from random ones in a free space.

    The shift of the power iteration cancels what other categories of the same factor contribute to
    first order; without it factors of three categories would make iterations go round in circles.
    """
    rank = free.shape[1]
    units = free @ rng.standard_normal((rank, 50 + 10 * rank))
    units /= np.linalg.norm(units, axis=0)
    weighted = white.T * weights
    for climb in range(CLIMBS):
        climbed = weighted @ np.square(white @ units)
        shares = _shares((units * climbed).sum(axis=0))
        before, units = units, climbed + 2 * np.sqrt(shares / (1 - shares)) * units
        units /= np.linalg.norm(units, axis=0)
        moved = np.abs(units - before).max(axis=0)
        if moved.max() < SETTLED:
            break
        if climb % 5 == 4:  # most have climbed to the same few by then
            kept = _apart(units, _moment(white @ units, weights, 3))
            units, moved = units[:, kept], moved[kept]
    units = units[:, moved < ARRIVED]
    skew = _moment(white @ units, weights, 3)
    kept = _apart(units, skew)
    return units[:, kept[skew[kept] > LEAST_SKEW]]


def _independent(white, weights, free, rng):
    """Independent components of a free space, the rarer of two values being the larger.

    By fixed-point iterations on all fourth moments at once.
    """
    within = white @ free
    weighted = within.T * weights
    units = np.linalg.qr(rng.standard_normal(2 * free.shape[1:]))[0]
    for _ in range(CLIMBS):
        before, along = units, within @ units
        left, _, right = np.linalg.svd(weighted @ (along * along * along) - 3 * units)
        units = left @ right
        if np.abs((before * units).sum(axis=0)).min() > 1 - SETTLED:
            break
    units = free @ units
    return np.where(_moment(white @ units, weights, 3) < 0, -units, units)


def _shares(skew):
    """The probability of the larger of two values, by the third moment."""
    return (1 - skew / np.sqrt(4 + skew**2)) / 2


def _apart(units, values):
    """Which units to keep so that no two are the same, those of larger values first."""
    order, kept = np.argsort(-values), []
    same = units.T @ units > SAME
    for unit in order:
        if not same[unit, kept].any():
            kept.append(unit)
    return np.array(kept, int)


def _moment(along, weights, power):
    return weights @ np.prod(power * [along], axis=0)


def _factors(units, odds, largest):
    """Columns of each factor: clusters of categories that exclude each other."""
    if units.shape[1] < 2:
        return [np.arange(units.shape[1])] * units.shape[1]
    exclusive = np.clip(-(units.T @ units) / np.outer(odds, odds), 0, 1)
    np.fill_diagonal(exclusive, 1)
    tree = linkage(squareform(1 - exclusive, checks=False), "average")
    for limit in EXCLUSIVE:
        labels = fcluster(tree, 1 - limit, "distance")
        if np.bincount(labels).max() <= largest:
            break
    return [np.flatnonzero(labels == label) for label in np.unique(labels)]
