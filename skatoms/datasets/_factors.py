"""Categorical factors: how they are drawn, and pairs of categories that training lacks."""

from collections.abc import Sequence
from numbers import Integral

import numpy as np

from .._validation import check_number, whole_numbers

NUMBER_THEM = "number the categories of each factor from 0."


def check_categories(n_categories, n_factors):
    """The number of categories of each factor, a tuple of length n_factors."""
    if isinstance(n_categories, Sequence | np.ndarray) and not isinstance(n_categories, str):
        counts = tuple(n_categories)
        if len(counts) != n_factors:
            raise ValueError(
                f"n_categories has {len(counts)} entries for {n_factors} factors: give one number "
                "a factor, or one number for all."
            )
    else:
        counts = (n_categories,) * n_factors
    for count in counts:
        check_number("n_categories", count, kind=Integral, least=2)
    return tuple(int(count) for count in counts)


def check_factors(name, factors, n_categories):
    """Factors as an integer array whose columns have these numbers of categories."""
    factors = whole_numbers(name, factors, hint=NUMBER_THEM)
    if factors.shape[1] != len(n_categories):
        raise ValueError(
            f"{name} has {factors.shape[1]} columns and n_categories has {len(n_categories)} "
            "entries: there must be as many of both."
        )
    outside = (factors < 0) | (factors >= n_categories)
    if outside.any():
        worst = int(np.flatnonzero(outside.any(axis=0))[0])
        raise ValueError(
            f"column {worst} of {name} must have categories 0 to {n_categories[worst] - 1}, got "
            f"{factors[outside[:, worst], worst][0]}: number the categories from 0 and give "
            "n_categories."
        )
    return factors


def draw_factors(rng, n, n_categories):
    """Independent factors, each with equally likely categories."""
    return np.stack([rng.randint(count, size=n) for count in n_categories], axis=1)


def draw_withheld_pairs(rng, share, n_categories):
    """Which pairs of categories of the first two factors training lacks, as a boolean table.

    Each category is left with at least one partner.
    """
    rows, columns = n_categories[:2]
    n_kept = max(rows, columns)
    n_withheld = round(share * rows * columns)
    if n_withheld > rows * columns - n_kept:
        raise ValueError(
            f"unseen_pairs={share} withholds {n_withheld} of {rows * columns} pairs, but "
            f"{n_kept} are needed for each category to occur in training: at most "
            f"{1 - n_kept / (rows * columns):.3f} can be unseen."
        )
    withheld = np.zeros((rows, columns), dtype=bool)
    # These pairs stay: a broken diagonal in a random order has each row and each column.
    diagonal = np.arange(n_kept)
    kept = np.zeros_like(withheld)
    kept[rng.permutation(rows)[diagonal % rows], rng.permutation(columns)[diagonal % columns]] = 1
    others = rng.permutation(np.flatnonzero(~kept))
    withheld.flat[others[:n_withheld]] = True
    return withheld


def draw_with_pairs(rng, n, n_categories, allowed):
    """As :func:`draw_factors`, but only with allowed pairs in the first two factors."""
    factors = draw_factors(rng, n, n_categories)
    pairs = np.argwhere(allowed)
    factors[:, :2] = pairs[rng.randint(len(pairs), size=n)]
    return factors
