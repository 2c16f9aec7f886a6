"""Factors that a random network entangles, and linear tasks on them."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from scipy.stats import chi2_contingency, chisquare
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import OneHotEncoder

from skatoms._one_hot import one_hot
from skatoms.datasets import make_entangled_factors, make_linear_tasks
from skatoms.datasets._entangled import SLOPE, _draw_network


@pytest.fixture(scope="module")
def rows():
    return make_entangled_factors(4000, 1000, random_state=0)


# Entangled factors


def test_parts_have_their_shapes():
    counts = (2, 3, 4)
    rows = make_entangled_factors(30, 20, 3, counts, 40, n_distractors=2, random_state=0)
    assert list(rows.test) == ["id"]
    assert rows.n_categories == counts
    assert "withheld" not in rows
    for n, part in [(30, rows), (20, rows.test["id"])]:
        assert part.data.shape == (n, 40)
        assert part.data.dtype == np.float32
        assert part.factors.shape == (n, 3)
        assert part.distractors.shape == (n, 2)
        assert part.factors.dtype == part.distractors.dtype == np.int64


def test_categories_are_equally_likely_and_factors_independent(rows):
    for index, factor in enumerate(rows.factors.T):
        assert chisquare(np.bincount(factor, minlength=6)).pvalue > 1e-3
        for other in rows.factors.T[:index]:
            table = np.bincount(6 * factor + other, minlength=36).reshape(6, 6)
            assert chi2_contingency(table).pvalue > 1e-3


def test_each_factor_has_its_number_of_categories():
    counts = (2, 7, 3)
    rows = make_entangled_factors(500, 10, 3, counts, n_distractors=1, random_state=0)
    assert_array_equal(rows.factors.max(axis=0) + 1, counts)
    assert rows.distractors.max() == 6


@pytest.mark.parametrize("n_hidden_layers", [0, 1, 2, 5])
def test_different_factors_give_different_rows(n_hidden_layers):
    counts = (3, 4, 5)
    rng = np.random.RandomState(0)
    network = _draw_network(rng, counts, sum(counts), n_hidden_layers)
    everything = np.array(list(product(*map(range, counts))))
    rows = network.entangle(one_hot(everything, counts))
    distances = np.linalg.norm(rows[:, None] - rows, axis=2)
    assert distances[~np.eye(len(rows), dtype=bool)].min() > 0.1
    for weights in network.weights:
        assert np.linalg.matrix_rank(weights) == len(weights)


def test_the_network_can_be_undone():
    counts = (3, 4, 5)
    network = _draw_network(np.random.RandomState(0), counts, 15, 3)
    codes = one_hot(np.array(list(product(*map(range, counts)))), counts)
    values = network.entangle(codes)
    for weights, bias in reversed(list(zip(network.weights, network.biases, strict=True))):
        values = (values - bias) @ np.linalg.pinv(weights)
        if weights is not network.weights[0]:
            values = np.where(values < 0, values / SLOPE, values)
    assert_allclose(values, codes, atol=1e-8)


def test_features_have_mean_zero_and_variance_one(rows):
    assert_allclose(rows.data.mean(axis=0), 0, atol=0.15)
    assert_allclose(rows.data.std(axis=0), 1, atol=0.1)


def test_factors_can_be_told_from_rows_but_not_from_single_features(rows):
    test = rows.test["id"]
    near = KNeighborsClassifier(5).fit(rows.data, rows.factors)
    assert (near.predict(test.data) == test.factors).mean(axis=0).min() > 0.7
    for feature in (0, 1):
        single = KNeighborsClassifier(50).fit(rows.data[:, [feature]], rows.factors)
        assert (single.predict(test.data[:, [feature]]) == test.factors).mean(axis=0).max() < 0.5


def test_the_network_is_the_same_for_other_numbers_of_rows():
    many = make_entangled_factors(300, 10, 2, 3, 20, random_state=1)
    few = make_entangled_factors(5, 200, 2, 3, 20, random_state=1)
    for part in (few, few.test["id"], many.test["id"]):
        for data, factors in zip(part.data, part.factors, strict=True):
            same = many.data[(many.factors == factors).all(axis=1)]
            assert_array_equal(same, np.tile(data, (len(same), 1)))


def test_distractors_change_rows_but_are_no_factors():
    rows = make_entangled_factors(500, 10, 1, 3, n_distractors=1, random_state=0)
    first = rows.factors[:, 0] == 0
    assert len(np.unique(rows.data[first], axis=0)) == 3
    assert_array_equal(np.unique(rows.distractors), [0, 1, 2])


def test_noise_has_its_deviation_and_changes_nothing_else(rows):
    noisy = make_entangled_factors(4000, 1000, noise=0.3, random_state=0)
    for part, clean in [(noisy, rows), (noisy.test["id"], rows.test["id"])]:
        assert_array_equal(part.factors, clean.factors)
        assert_allclose((part.data - clean.data).std(), 0.3, rtol=0.02)


def test_unseen_pairs_are_in_their_test_part_only():
    counts = (3, 5, 2)
    rows = make_entangled_factors(
        2000, 500, 3, counts, unseen_pairs=0.5, n_distractors=1, random_state=0
    )
    assert list(rows.test) == ["id", "unseen"]
    assert rows.withheld.shape == (3, 5)
    assert rows.withheld.sum() == 8  # of 15
    for part in (rows, rows.test["id"]):
        pairs = {tuple(pair) for pair in part.factors[:, :2]}
        assert pairs == {tuple(pair) for pair in np.argwhere(~rows.withheld)}
    pairs = {tuple(pair) for pair in rows.test["unseen"].factors[:, :2]}
    assert pairs == {tuple(pair) for pair in np.argwhere(rows.withheld)}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("counts", [(4, 4), (2, 7), (7, 2)])
def test_each_category_stays_in_training_however_many_pairs_are_unseen(seed, counts):
    most = 1 - max(counts) / np.prod(counts)
    rows = make_entangled_factors(300, 1, 2, counts, unseen_pairs=most, random_state=seed)
    assert (~rows.withheld).sum() == max(counts)
    for factor, count in zip(rows.factors.T, counts, strict=True):
        assert_array_equal(np.unique(factor), np.arange(count))


def test_a_share_that_rounds_to_no_pair_withholds_none():
    rows = make_entangled_factors(50, 5, unseen_pairs=0.001, random_state=0)
    assert list(rows.test) == ["id"]


def test_the_seed_decides(rows):
    again = make_entangled_factors(4000, 1000, random_state=0)
    other = make_entangled_factors(4000, 1000, random_state=1)
    for name in ("data", "factors"):
        assert_array_equal(again[name], rows[name])
        assert_array_equal(again.test["id"][name], rows.test["id"][name])
    assert (other.data != rows.data).any(axis=1).all()
    assert (rows.factors[:1000] != rows.test["id"].factors).any(axis=1).mean() > 0.99


@pytest.mark.parametrize(
    ("parameter", "value", "error"),
    [
        ("n_samples", 0, ValueError),
        ("n_test", 1.5, TypeError),
        ("n_factors", 0, ValueError),
        ("n_categories", 1, ValueError),
        ("n_categories", (2, 3, 2.5, 2, 2), TypeError),
        ("n_categories", "6", TypeError),
        ("n_features", 29, ValueError),
        ("n_distractors", -1, ValueError),
        ("n_hidden_layers", -1, ValueError),
        ("noise", -0.1, ValueError),
        ("noise", float("inf"), ValueError),
        ("unseen_pairs", 1.1, ValueError),
        ("unseen_pairs", float("nan"), ValueError),
    ],
)
def test_bad_parameters_are_named(parameter, value, error):
    with pytest.raises(error, match=f"^{parameter} must be"):
        make_entangled_factors(**{parameter: value})


def test_parameters_that_do_not_go_together_are_named():
    with pytest.raises(ValueError, match="n_categories has 2 entries for 5 factors"):
        make_entangled_factors(n_categories=(2, 3))
    with pytest.raises(ValueError, match="n_features must be at least 42"):
        make_entangled_factors(n_features=41, n_distractors=2)
    with pytest.raises(ValueError, match=r"unseen_pairs=0.9 .* at most 0.833 can be unseen"):
        make_entangled_factors(unseen_pairs=0.9)
    with pytest.raises(ValueError, match=r"unseen_pairs=0.2 needs at least two factors"):
        make_entangled_factors(n_factors=1, unseen_pairs=0.2)


# Linear tasks

COUNTS = (3, 4, 2)


@pytest.fixture
def factors():
    return np.random.default_rng(0).integers(COUNTS, size=(500, 3))


def test_targets_are_linear_in_the_one_hot_code(factors):
    tasks = make_linear_tasks(factors, 15, random_state=0)
    codes = OneHotEncoder(sparse_output=False).fit_transform(factors)
    expected = expit(codes @ tasks.weights + tasks.intercept)
    assert_allclose(tasks.target, expected, rtol=1e-12)
    assert_array_equal(tasks.probabilities, tasks.target)
    assert tasks.target.dtype == np.float64
    assert tasks.n_categories == COUNTS
    assert tasks.test == {}


def test_weights_sum_to_zero_in_each_factor(factors):
    weights = make_linear_tasks(factors, 15, random_state=0).weights
    assert_allclose(np.add.reduceat(weights, [0, 3, 7]), 0, atol=1e-14)


@pytest.mark.parametrize(
    ("n_tasks", "rank", "ignore", "expected"),
    [
        (15, None, (), 6),
        (4, None, (), 4),
        (15, 3, (), 3),
        (15, 1, (), 1),
        (15, 6, (), 6),
        (15, None, [1], 3),
        (15, 2, [1], 2),
        (15, None, (0, 1), 1),
    ],
)
def test_weights_have_their_rank(factors, n_tasks, rank, ignore, expected):
    tasks = make_linear_tasks(factors, n_tasks, rank=rank, ignore=ignore, random_state=0)
    assert tasks.rank == expected
    assert np.linalg.matrix_rank(tasks.weights) == expected


def test_tasks_do_not_depend_on_ignored_factors(factors):
    tasks = make_linear_tasks(factors, 15, ignore=[1], random_state=0)
    assert_array_equal(tasks.weights[3:7], 0)
    assert (tasks.weights[[0, 1, 2, 7, 8]] != 0).all()
    changed = factors.copy()
    changed[:, 1] = (changed[:, 1] + 1) % 4
    again = make_linear_tasks(changed, 15, ignore=[1], random_state=0)
    assert_array_equal(again.target, tasks.target)


@pytest.mark.parametrize("rank", [None, 20])
def test_weights_have_their_scale(rank):
    factors = np.zeros((1, 5), dtype=int)
    tasks = make_linear_tasks(factors, 2000, 10, rank=rank, scale=3.0, random_state=0)
    assert_allclose(tasks.weights.std(), 3 * np.sqrt(0.9), rtol=0.1)
    assert_allclose(tasks.intercept.std(), 3, rtol=0.1)


@pytest.mark.parametrize("hard", [False, True])
def test_tasks_do_not_depend_on_the_samples(factors, hard):
    tasks = make_linear_tasks(factors, 15, COUNTS, hard=hard, random_state=0)
    few = make_linear_tasks(factors[:2], 15, COUNTS, hard=not hard, random_state=0)
    assert_array_equal(few.weights, tasks.weights)
    assert_array_equal(few.intercept, tasks.intercept)
    assert_allclose(few.probabilities, tasks.probabilities[:2], rtol=1e-12)


@pytest.mark.parametrize("hard", [False, True])
def test_test_parts_have_the_same_tasks(factors, hard):
    parts = {"id": factors[:50], "unseen": factors[50:70]}
    tasks = make_linear_tasks(factors, 15, hard=hard, test=parts, random_state=0)
    assert list(tasks.test) == ["id", "unseen"]
    assert tasks.test["unseen"].target.shape == (20, 15)
    assert_allclose(tasks.test["id"].probabilities, tasks.probabilities[:50], rtol=1e-12)
    assert hard == (tasks.test["id"].target != tasks.target[:50]).any()


def test_hard_labels_are_drawn_with_their_probabilities():
    tasks = make_linear_tasks(np.zeros((5000, 2), int), 10, 3, hard=True, random_state=0)
    assert_array_equal(np.unique(tasks.target), [0, 1])
    assert tasks.target.dtype == np.int64
    probability = tasks.probabilities[0]
    deviation = np.sqrt(probability * (1 - probability) / 5000)
    assert (np.abs(tasks.target.mean(axis=0) - probability) < 4 * deviation).all()


def test_the_seed_decides_tasks(factors):
    first, again, other = (
        make_linear_tasks(factors, 15, hard=True, random_state=seed) for seed in (0, 0, 1)
    )
    assert_array_equal(first.target, again.target)
    assert (first.weights != other.weights).all()


@pytest.mark.parametrize(
    ("parameter", "value", "error"),
    [
        ("factors", [[0.5, 1]], ValueError),
        ("n_tasks", 0, ValueError),
        ("n_categories", 1, ValueError),
        ("rank", 0, ValueError),
        ("rank", 7, ValueError),
        ("rank", 2.0, TypeError),
        ("ignore", [3], ValueError),
        ("ignore", [-1], ValueError),
        ("ignore", 1, TypeError),
        ("scale", 0, ValueError),
        ("test", [[0, 0, 0]], TypeError),
    ],
)
def test_bad_parameters_of_tasks_are_named(factors, parameter, value, error):
    with pytest.raises(error, match=f"^{parameter} must be"):
        make_linear_tasks(**{"factors": factors, parameter: value})


def test_factors_that_do_not_fit_are_named(factors):
    with pytest.raises(ValueError, match=r"column 1 of factors must have categories 0 to 2, got 3"):
        make_linear_tasks(factors, n_categories=(3, 3, 2))
    with pytest.raises(ValueError, match=r"column 0 of factors must have categories .* got -1"):
        make_linear_tasks(factors - [1, 0, 0])
    with pytest.raises(ValueError, match=r"column 2 of test\['id'\] must have categories 0 to 1"):
        make_linear_tasks(factors, test={"id": factors + [0, 0, 2]})
    with pytest.raises(ValueError, match=r"test\['id'\] has 2 columns and n_categories has 3"):
        make_linear_tasks(factors, test={"id": factors[:, :2]})
    with pytest.raises(ValueError, match="Input factors contains NaN"):
        make_linear_tasks([[np.nan, 0]])
    with pytest.raises(ValueError, match="ignore names all 3 factors"):
        make_linear_tasks(factors, ignore=(0, 1, 2))
