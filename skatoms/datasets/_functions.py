"""Signals that are sums of sines, cosines, polynomials and bumps."""

from itertools import combinations
from numbers import Integral

import numpy as np
from sklearn.utils import Bunch, check_random_state

from .._validation import check_number

FAMILIES = ("sine", "cosine", "polynomial", "bump")
TRAINING_PAIRS = (("sine", "polynomial"), ("cosine", "bump"))
ALONE = tuple((family,) for family in FAMILIES)
UNSEEN_PAIRS = tuple(pair for pair in combinations(FAMILIES, 2) if pair not in TRAINING_PAIRS)

FREQUENCIES = (1, 2, 3, 4, 5)  # half periods in a unit of x, so periods in [-1, 1]
AMPLITUDES = (0.5, 1.5)  # the sign is random
DEGREE = 3
COEFFICIENT_SCALE = 0.7  # gives a polynomial about the variance of a sine
BUMP_CENTRES = (-0.8, 0.8)  # most of a bump lies in [-1, 1]
BUMP_WIDTH = 0.1

DESCR = """\
Signals on [-1, 1] from four families: sine, cosine, cubic polynomial and Gaussian bump.
In training a signal is of one family, or a sine plus a polynomial, or a cosine plus a bump.
The test parts are new signals of that kind ("id"), sums of the four pairs of families that training
lacks ("pairs"), sums of all families ("all four") and a sine or cosine of a polynomial ("nested").
In each row some points, drawn at random, are marked as hidden. Sums of the families nearly lie in a
space of few dimensions, where linear methods fill in well: report one beside."""


def make_function_compositions(
    n_samples: int = 8000,
    n_test: int = 1000,
    n_points: int = 64,
    hidden: float = 0.5,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """Draw signals that are sums of known families, with unseen sums to test on.

    The families are functions of x, `n_points` evenly spaced points in [-1, 1]:

    - sine, `a sin(pi f x)`, and cosine, `a cos(pi f x)`, with f one of 1, 2, 3, 4 and 5;
    - polynomial of degree 3, its four coefficients normal with mean 0 and deviation 0.7;
    - bump, `a exp(-(x - c)^2 / (2 w^2))`, with c uniform in [-0.8, 0.8] and w = 0.1.

    The amplitude a is uniform in [0.5, 1.5], its sign random. A row of the training part has one
    of six combinations, equally likely: each family alone, sine + polynomial, cosine + bump.

    Parameters
    ----------
    n_samples : int, default=8000
        Number of training signals.

    n_test : int, default=1000
        Number of signals in each of the four test parts.

    n_points : int, default=64
        Number of points of a signal. At least 2.

    hidden : float, default=0.5
        Probability that a point is hidden, in [0, 1]. The signals do not depend on it.

    random_state : int, RandomState or None, default=None
        Seed. An int gives the same signals at each call.

    Returns
    -------
    signals : Bunch
        A dictionary whose entries are attributes too:

        - `data`: float64 of shape (n_samples, n_points), the complete training signals;
        - `mask`: bool of shape (n_samples, n_points), True where a point is hidden. At least one
          point a row is seen;
        - `families`: bool of shape (n_samples, 4), the families that a signal has;
        - `parts`: float64 of shape (n_samples, 4, n_points), what each family contributes: zero
          where it is absent, and `data` is the sum over axis 1;
        - `test`: dict of Bunch with the same entries and `n_test` rows: `"id"` is drawn as the
          training part, `"pairs"` has the four pairs of families that training lacks, `"all four"`
          all families, and `"nested"` (only `data` and `mask`) `a sin(pi f p(x))` or
          `a cos(pi f p(x))` of a polynomial p that is scaled to max abs(p) = 1: not a sum;
        - `points`: float64 of shape (n_points,), the x;
        - `family_names`: tuple of str, the names of the families in their order;
        - `DESCR`: str.

    Raises
    ------
    ValueError, TypeError
        If a parameter is out of its range.

    Examples
    --------
    >>> from skatoms.datasets import make_function_compositions
    >>> signals = make_function_compositions(60, 20, random_state=0)
    >>> signals.data.shape, signals.mask.shape
    ((60, 64), (60, 64))
    >>> {name: part.data.shape for name, part in signals.test.items()}
    {'id': (20, 64), 'pairs': (20, 64), 'all four': (20, 64), 'nested': (20, 64)}
    """
    check_number("n_samples", n_samples, kind=Integral, least=1)
    check_number("n_test", n_test, kind=Integral, least=1)
    check_number("n_points", n_points, kind=Integral, least=2)
    check_number("hidden", hidden, least=0, most=1)
    rng = check_random_state(random_state)
    points = np.linspace(-1, 1, n_points)
    known = ALONE + TRAINING_PAIRS
    training = _draw_sums(rng, n_samples, points, known, hidden)
    test = {
        "id": _draw_sums(rng, n_test, points, known, hidden),
        "pairs": _draw_sums(rng, n_test, points, UNSEEN_PAIRS, hidden),
        "all four": _draw_sums(rng, n_test, points, (FAMILIES,), hidden),
        "nested": _draw_nested(rng, n_test, points, hidden),
    }
    return Bunch(**training, test=test, points=points, family_names=FAMILIES, DESCR=DESCR)


def draw_mask(rng, shape, hidden):
    """True with this probability, but not in all points of a row.

    The point with the largest draw of its row is always seen: so the draws, and all that is drawn
    after them, are the same for each probability.
    """
    draws = rng.uniform(size=shape)
    return (draws < hidden) & (draws < draws.max(axis=1, keepdims=True))


def _draw_sums(rng, n, points, allowed, hidden):
    """Signals with one of the allowed combinations each, equally likely."""
    table = np.array([[family in names for family in FAMILIES] for names in allowed])
    families = table[rng.randint(len(table), size=n)]
    drawn = [
        _draw_waves(rng, n, points, np.sin),
        _draw_waves(rng, n, points, np.cos),
        _draw_polynomials(rng, n, points),
        _draw_bumps(rng, n, points),
    ]
    parts = np.where(families[:, :, None], np.stack(drawn, axis=1), 0.0)
    mask = draw_mask(rng, (n, len(points)), hidden)
    return Bunch(data=parts.sum(axis=1), mask=mask, families=families, parts=parts)


def _draw_nested(rng, n, points, hidden):
    """Sines and cosines of polynomials, each with probability one half."""
    inner = _draw_polynomials(rng, n, points)
    inner /= np.abs(inner).max(axis=1, keepdims=True)
    is_sine = rng.uniform(size=(n, 1)) < 0.5
    data = np.where(is_sine, _draw_waves(rng, n, inner, np.sin), _draw_waves(rng, n, inner, np.cos))
    return Bunch(data=data, mask=draw_mask(rng, data.shape, hidden))


def _draw_waves(rng, n, x, wave):
    frequencies = rng.choice(FREQUENCIES, size=(n, 1))
    return _draw_amplitudes(rng, n) * wave(np.pi * frequencies * x)


def _draw_polynomials(rng, n, x):
    coefficients = rng.normal(scale=COEFFICIENT_SCALE, size=(n, DEGREE + 1))
    return coefficients @ np.vander(x, DEGREE + 1, increasing=True).T


def _draw_bumps(rng, n, x):
    centres = rng.uniform(*BUMP_CENTRES, size=(n, 1))
    return _draw_amplitudes(rng, n) * np.exp(-(((x - centres) / BUMP_WIDTH) ** 2) / 2)


def _draw_amplitudes(rng, n):
    return rng.uniform(*AMPLITUDES, size=(n, 1)) * rng.choice((-1, 1), size=(n, 1))
