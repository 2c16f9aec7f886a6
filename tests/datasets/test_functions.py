"""Signals that are sums of families of functions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skatoms.datasets import make_function_compositions

FAMILIES = ("sine", "cosine", "polynomial", "bump")
PAIRS = {
    ("sine", "cosine"),
    ("sine", "bump"),
    ("cosine", "polynomial"),
    ("polynomial", "bump"),
}
SUMS = ("id", "pairs", "all four")


@pytest.fixture(scope="module")
def signals():
    return make_function_compositions(600, 200, n_points=40, random_state=0)


def combinations(part):
    return {
        tuple(name for name, has in zip(FAMILIES, row, strict=True) if has) for row in part.families
    }


def basis(family, x):
    """Functions whose span holds the signals of a family."""
    if family == "polynomial":
        return np.vander(x, 4)
    wave = {"sine": np.sin, "cosine": np.cos}[family]
    return wave(np.pi * np.outer(x, [1, 2, 3, 4, 5]))


def residual(columns, rows):
    """The largest deviation of any row from the span of the columns."""
    solution = np.linalg.lstsq(columns, rows.T, rcond=None)[0]
    return np.abs(columns @ solution - rows.T).max()


def test_parts_have_their_shapes(signals):
    assert list(signals.test) == ["id", "pairs", "all four", "nested"]
    assert signals.family_names == FAMILIES
    assert_allclose(signals.points, np.linspace(-1, 1, 40))
    for n, part in [(600, signals), *((200, part) for part in signals.test.values())]:
        assert part.data.shape == part.mask.shape == (n, 40)
        assert part.data.dtype == np.float64
        assert part.mask.dtype == bool
    for name in SUMS:
        assert signals.test[name].families.shape == (200, 4)
        assert signals.test[name].parts.shape == (200, 4, 40)


def test_pairs_of_the_tests_are_not_in_training(signals):
    known = {(family,) for family in FAMILIES} | {("sine", "polynomial"), ("cosine", "bump")}
    assert combinations(signals) == combinations(signals.test["id"]) == known
    assert combinations(signals.test["pairs"]) == PAIRS
    assert combinations(signals.test["all four"]) == {FAMILIES}


def test_signals_are_sums_of_their_families(signals):
    for part in (signals, *(signals.test[name] for name in SUMS)):
        assert_allclose(part.data, part.parts.sum(axis=1))
        assert_array_equal(np.abs(part.parts).max(axis=2) > 0, part.families)


@pytest.mark.parametrize("family", ["sine", "cosine", "polynomial"])
def test_a_family_is_in_the_span_of_its_functions(signals, family):
    columns = basis(family, signals.points)
    assert residual(columns, signals.parts[:, FAMILIES.index(family)]) < 1e-10
    other = signals.parts[:, (FAMILIES.index(family) + 1) % 4]
    assert residual(columns, other) > 0.1


def test_a_bump_is_a_parabola_in_its_logarithm(signals):
    bumps = signals.parts[signals.families[:, 3], 3]
    logarithms = np.log(np.abs(bumps))
    curvature = np.diff(logarithms, 2, axis=1) / (2 / 39) ** 2
    assert_allclose(curvature, -1 / 0.1**2, rtol=1e-8)


def test_waves_have_one_frequency(signals):
    waves = signals.parts[signals.families[:, 0], 0]
    weights = np.linalg.lstsq(basis("sine", signals.points), waves.T, rcond=None)[0]
    assert_array_equal((np.abs(weights) > 1e-10).sum(axis=0), 1)
    assert (np.abs(weights) > 1e-10).any(axis=1).all()
    largest = np.abs(weights).max(axis=0)
    assert largest.min() >= 0.5
    assert largest.max() <= 1.5


def test_nested_signals_are_no_sums(signals):
    span = [basis(family, signals.points) for family in FAMILIES[:3]]
    nested = signals.test["nested"].data
    assert np.abs(nested).max() <= 1.5
    assert residual(np.column_stack(span), nested) > 0.1


def test_half_of_the_points_are_hidden(signals):
    # Standard deviation of the mean of 24,000 coins: 0.003.
    assert abs(signals.mask.mean() - 0.5) < 0.02
    assert len(np.unique(signals.mask, axis=0)) == 600


@pytest.mark.parametrize(("hidden", "n_hidden"), [(0, 0), (1, 7)])
def test_a_point_of_each_row_is_seen_at_least(hidden, n_hidden):
    signals = make_function_compositions(30, 10, n_points=8, hidden=hidden, random_state=0)
    for part in (signals, *signals.test.values()):
        assert_array_equal(part.mask.sum(axis=1), n_hidden)


def test_signals_do_not_depend_on_what_is_hidden():
    few, many = (
        make_function_compositions(30, 10, hidden=hidden, random_state=0) for hidden in (0.1, 0.9)
    )
    assert_array_equal(few.data, many.data)
    assert_array_equal(few.test["nested"].data, many.test["nested"].data)
    assert not (few.mask & ~many.mask).any()


def test_the_seed_decides(signals):
    again = make_function_compositions(600, 200, n_points=40, random_state=0)
    other = make_function_compositions(600, 200, n_points=40, random_state=1)
    assert_array_equal(again.data, signals.data)
    assert_array_equal(again.mask, signals.mask)
    for name, part in signals.test.items():
        assert_array_equal(again.test[name].data, part.data)
        assert_array_equal(again.test[name].mask, part.mask)
        assert (other.test[name].data != part.data).any(axis=1).all()
    assert (other.data != signals.data).any(axis=1).all()


@pytest.mark.parametrize(
    ("parameter", "value", "error"),
    [
        ("n_samples", 0, ValueError),
        ("n_test", 1.5, TypeError),
        ("n_points", 1, ValueError),
        ("hidden", 1.1, ValueError),
        ("hidden", float("nan"), ValueError),
        ("hidden", "half", TypeError),
    ],
)
def test_bad_parameters_are_named(parameter, value, error):
    with pytest.raises(error, match=f"^{parameter} must be"):
        make_function_compositions(**{parameter: value})
