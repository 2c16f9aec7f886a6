"""The linear read-out of symbols, and units that mean the same to it."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from skatoms._one_hot import one_hot
from skatoms.symbols._readout import fit_readout, joined_units

SIZES = (4, 2, 3)
STARTS = np.append(0, np.cumsum(SIZES))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def draw(rng, n=300):
    symbols = np.transpose([rng.integers(size, size=n) for size in SIZES])
    logits = one_hot(symbols, SIZES) @ rng.standard_normal((STARTS[-1], 5))
    return symbols, expit(logits), rng.random(n) * (rng.random(n) < 0.8)


def objective_of(symbols, targets, weights, alpha):
    codes = np.column_stack([one_hot(symbols, SIZES), np.ones(len(symbols))])

    def objective(coefficients):
        logits = codes @ coefficients
        losses = np.logaddexp(0, logits) - targets * logits
        slopes = codes.T @ (weights * (expit(logits) - targets)) / weights.sum()
        slopes[:-1] += alpha * coefficients[:-1]
        value = weights @ losses / weights.sum() + alpha / 2 * (coefficients[:-1] ** 2).sum()
        return value, slopes

    return objective


@pytest.mark.parametrize("alpha", [1e-3, 0.1])
def test_it_is_logistic_regression_on_one_hot_codes(rng, alpha):
    symbols, probabilities, weights = draw(rng)
    labels = (rng.random(probabilities.shape) < probabilities).astype(int)
    found, intercept = fit_readout(symbols, STARTS, labels, weights, alpha)
    for task, y in enumerate(labels.T):
        model = LogisticRegression(C=1 / (alpha * weights.sum()), tol=1e-10, max_iter=10_000)
        model.fit(one_hot(symbols, SIZES), y, sample_weight=weights)
        assert_allclose(found[:, task], model.coef_[0], atol=1e-4)
        assert intercept[task] == pytest.approx(model.intercept_[0], abs=1e-4)


@pytest.mark.parametrize("alpha", [1e-9, 1e-3])
def test_soft_targets_are_met_where_the_objective_is_least(rng, alpha):
    symbols, targets, weights = draw(rng)
    targets = np.clip(targets + 0.1 * rng.standard_normal(targets.shape), 0, 1)
    found, intercept = fit_readout(symbols, STARTS, targets, weights, alpha)
    for task in range(targets.shape[1]):
        objective = objective_of(symbols, targets[:, task], weights, alpha)
        coefficients = np.append(found[:, task], intercept[task])
        value, slopes = objective(coefficients)
        assert np.abs(slopes).max() < 1e-9  # stationary, and the objective is convex
        other = minimize(objective, np.zeros(STARTS[-1] + 1), jac=True, method="L-BFGS-B")
        assert value <= other.fun + 1e-12


def test_probabilities_that_symbols_explain_are_fitted_to_the_last_digits(rng):
    symbols, targets, _ = draw(rng)
    weights, intercept = fit_readout(symbols, STARTS, targets, np.ones(300), 1e-9)
    assert_allclose(expit(one_hot(symbols, SIZES) @ weights + intercept), targets, atol=1e-6)
    for first, last in pairwise(STARTS):
        assert_allclose(weights[first:last].sum(axis=0), 0, atol=1e-6)


@pytest.mark.parametrize("alpha", [1e-12, 1e-9, 1e-6])
def test_tasks_without_error_have_finite_weights(rng, alpha):
    symbols, _, weights = draw(rng)
    targets = np.column_stack(
        [symbols[:, 0] == 2, symbols[:, 1], np.zeros(300), np.ones(300), symbols[:, 0] % 2]
    )
    found, intercept = fit_readout(symbols, STARTS, targets, weights, alpha)
    assert np.isfinite(found).all()
    assert np.isfinite(intercept).all()
    logits = one_hot(symbols, SIZES) @ found + intercept
    assert_array_equal(logits > 0, targets > 0.5)


def test_tasks_that_never_vary_get_the_odds_of_half_a_sample(rng):
    symbols, _, _ = draw(rng)
    targets = np.tile([0, 1], (300, 1))
    found, intercept = fit_readout(symbols, STARTS, targets, np.ones(300), 1e-9)
    assert not found.any()
    assert_allclose(expit(intercept), [0.5 / 301, 300.5 / 301])


def test_units_that_never_win_have_no_weight(rng):
    symbols, targets, weights = draw(rng)
    symbols[:, 0] = np.minimum(symbols[:, 0], 2)
    found, _ = fit_readout(symbols, STARTS, targets, weights, 1e-6)
    assert_allclose(found[3], 0, atol=1e-12)


def test_a_weight_is_as_many_repetitions(rng):
    symbols, targets, _ = draw(rng)
    times = rng.integers(4, size=300)
    weighted = fit_readout(symbols, STARTS, targets, times, 1e-6)
    repeated = fit_readout(
        np.repeat(symbols, times, axis=0),
        STARTS,
        np.repeat(targets, times, axis=0),
        np.ones(times.sum()),
        1e-6,
    )
    for one, other in zip(weighted, repeated, strict=True):
        assert_allclose(one, other, atol=1e-8)


# Units that are joined

A, B, C = np.eye(3)


def test_units_of_equal_readout_are_joined():
    weights = np.array([A, B, A, C, B + 1e-3, A - 1e-3])
    joined = joined_units(weights, np.array([0, 6]), np.full(6, 1 / 6))
    assert_array_equal(joined, [0, 1, 0, 2, 1, 0])


def test_units_are_joined_within_heads_only():
    weights = np.array([A, B, A, B, C])
    joined = joined_units(weights, np.array([0, 2, 5]), np.array([0.5, 0.5, 0.2, 0.3, 0.5]))
    assert_array_equal(joined, [0, 1, 0, 1, 2])


def test_unused_units_join_the_nearest_one():
    weights = np.array([A, 0.9 * B + 0.1 * A, B, 0 * A])
    joined = joined_units(weights, np.array([0, 4]), np.array([0.5, 0.0, 0.5, 0.0]))
    assert_array_equal(joined[:3], [0, 1, 1])
    assert joined[3] in (0, 1)


@pytest.mark.parametrize("usage", [np.zeros(3), np.array([0, 1.0, 0])])
def test_a_head_of_which_at_most_one_unit_wins_is_one_symbol(usage):
    assert_array_equal(joined_units(np.array([A, B, C]), np.array([0, 3]), usage), 0)


def test_a_head_that_no_task_needs_is_one_symbol():
    weights = 1e-12 * np.array([A, B, C])
    weights = np.concatenate([weights, [A, B]])
    usage = np.array([0.3, 0.3, 0.4, 0.5, 0.5])
    assert_array_equal(joined_units(weights, np.array([0, 3, 5]), usage), [0, 0, 0, 0, 1])
