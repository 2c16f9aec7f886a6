"""Categories read off logits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skatoms.backend import single_threaded_blas
from skatoms.datasets import make_linear_tasks
from skatoms.metrics import structural_permutation_score
from skatoms.symbols._moments import find_categories


def draw(sizes, n=4000, seed=0, shares=None):
    """Independent factors, and logits that are sums of one random vector for each category."""
    rng = np.random.default_rng(seed)
    shares = shares or [np.full(size, 1 / size) for size in sizes]
    factors = np.transpose([rng.choice(len(p), n, p=p) for p in shares])
    tasks = make_linear_tasks(factors, 12 + 2 * sum(sizes), n_categories=sizes, random_state=seed)
    p = tasks.probabilities
    return factors, np.log(p / (1 - p))


def found(logits, weights=None, most=None, largest=None, seed=0):
    weights = np.ones(len(logits)) if weights is None else weights
    most = logits.shape[1] if most is None else most
    largest = most + 1 if largest is None else largest
    with single_threaded_blas():  # as in a fit
        return find_categories(logits, weights, most, largest, np.random.RandomState(seed))


def symbols_of(categories, logits):
    indicators = logits @ categories.directions + categories.offsets
    return np.transpose([indicators[:, factor].argmax(axis=1) for factor in categories.factors])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "sizes", [(3,), (2, 2), (2, 2, 2, 2), (2, 3, 5), (4, 4, 4), (8, 2, 6), (6, 6, 6, 6, 6), (8, 8)]
)
def test_factors_are_found_exactly(sizes, seed):
    factors, logits = draw(sizes, n=20_000 if len(sizes) == 5 else 4000, seed=seed)
    categories = found(logits, seed=seed)
    assert [len(factor) for factor in categories.factors] == sorted(sizes)[::-1]
    assert structural_permutation_score(factors, symbols_of(categories, logits)) == 1


@pytest.mark.parametrize(
    "shares",
    [
        [(0.7, 0.3), (0.2, 0.8)],
        [(0.5, 0.3, 0.2), (0.1, 0.2, 0.3, 0.4)],
        [(0.6, 0.2, 0.1, 0.1), (0.5, 0.5), (0.9, 0.1)],
    ],
)
def test_factors_of_unequal_shares_are_found(shares):
    factors, logits = draw(tuple(map(len, shares)), n=8000, shares=shares)
    categories = found(logits)
    assert structural_permutation_score(factors, symbols_of(categories, logits)) == 1
    expected = np.concatenate([np.bincount(factor) for factor in factors.T]) / len(factors)
    assert_allclose(np.sort(categories.shares), np.sort(expected), atol=0.03)


def test_indicators_are_about_zero_and_one():
    _, logits = draw((3, 4))
    categories = found(logits)
    indicators = logits @ categories.directions + categories.offsets
    assert_allclose(indicators, np.round(indicators), atol=0.1)
    assert set(np.round(indicators).ravel()) == {0, 1}


def test_noise_blurs_factors_only_a_little():
    factors, logits = draw((4, 4, 3))
    logits = logits + 0.3 * np.random.default_rng(1).standard_normal(logits.shape)
    categories = found(logits, most=8, largest=4)
    assert structural_permutation_score(factors, symbols_of(categories, logits)) > 0.99


def test_the_largest_size_separates_factors():
    _, logits = draw((4, 4))
    assert all(len(factor) <= 5 for factor in found(logits, largest=4).factors)


def test_a_weight_is_as_many_repetitions():
    _, logits = draw((3, 4), n=600)
    times = np.random.default_rng(1).integers(4, size=600)
    weighted = found(logits, times.astype(float))
    repeated = found(np.repeat(logits, times, axis=0))
    order = np.lexsort(np.round(weighted.directions, 6))
    other = np.lexsort(np.round(repeated.directions, 6))
    assert_allclose(weighted.directions[:, order], repeated.directions[:, other], atol=1e-6)
    assert_allclose(weighted.shares[order], repeated.shares[other], atol=1e-6)


@pytest.mark.parametrize("n_tasks", [1, 5, 10])
def test_noise_has_no_categories(n_tasks):
    logits = np.random.default_rng(0).standard_normal((3000, n_tasks))
    assert found(logits).factors == []


def test_one_task_of_two_values_has_one_factor():
    factors, logits = draw((2,))
    categories = found(logits[:, :1])
    assert_array_equal([len(factor) for factor in categories.factors], [2])
    assert structural_permutation_score(factors, symbols_of(categories, logits[:, :1])) == 1


@pytest.mark.parametrize(
    "logits",
    [np.zeros((50, 4)), np.full((50, 1), 3.0), np.full((50, 4), 0.1), np.ones((1, 3))],
    ids=["zero", "one task", "rounding", "one sample"],
)
@pytest.mark.filterwarnings("error")
def test_constant_logits_have_no_categories(logits):
    categories = found(logits)
    assert categories.factors == []
    assert categories.directions.shape == (logits.shape[1], 0)


@pytest.mark.filterwarnings("error")
def test_logits_of_low_rank_do_no_harm():
    _, logits = draw((3, 4))
    low = logits[:, :2] @ np.ones((2, 6))
    categories = found(low)
    assert np.isfinite(categories.directions).all()
    repeated = np.hstack([logits, logits])
    assert [len(factor) for factor in found(repeated).factors] == [4, 3]
