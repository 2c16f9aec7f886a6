"""Scores of symbols, on codes whose value is known."""

from dataclasses import FrozenInstanceError
from itertools import permutations, product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.dummy import DummyClassifier
from sklearn.metrics import mutual_info_score
from sklearn.tree import DecisionTreeClassifier

from skatoms.metrics import (
    category_recovery,
    dci,
    factor_match_matrix,
    modularity_score,
    mutual_information_gap,
    population_code_score,
    sap_score,
    structural_permutation_score,
)

SCORES = (
    structural_permutation_score,
    population_code_score,
    mutual_information_gap,
    modularity_score,
    sap_score,
)


def all_combinations(*counts):
    """Each combination of the factors once: independent, and equally likely, exactly."""
    return np.array(list(product(*map(range, counts))))


@pytest.fixture
def factors():
    return all_combinations(6, 6, 6)


def renamed(codes, seed=0):
    """Heads in another order, each with other numbers for its units."""
    rng = np.random.default_rng(seed)
    names = [
        rng.choice(np.arange(-50, 50), size=column.max() + 1, replace=False) for column in codes.T
    ]
    columns = [name[column] for name, column in zip(names, codes.T, strict=True)]
    return np.stack(columns, axis=1)[:, rng.permutation(codes.shape[1])]


# Structural permutation score


def test_a_renamed_code_scores_one(factors):
    symbols = renamed(factors)
    assert structural_permutation_score(factors, symbols) == 1
    assert population_code_score(factors, symbols) == 1
    assert category_recovery(factors, symbols).count(0) == 18
    assert_allclose(mutual_information_gap(factors, symbols), 1, rtol=1e-12)
    assert_allclose(modularity_score(factors, symbols), 1, rtol=1e-12)
    assert_allclose(sap_score(factors, symbols), 5 / 6, rtol=1e-12)
    assert_allclose(sap_score(factors, symbols, adjusted=True), 1, rtol=1e-12)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("seed", range(3))
def test_names_do_not_matter(score, seed):
    rng = np.random.default_rng(seed)
    factors, symbols = rng.integers((3, 4, 2), size=(60, 3)), rng.integers(5, size=(60, 4))
    expected = score(factors, symbols)
    assert_allclose(score(renamed(factors, seed), renamed(symbols, seed + 10)), expected)
    assert_allclose(score(factors.astype(float), symbols.astype(np.uint8)), expected)
    assert_allclose(score(factors.tolist(), symbols[::1].tolist()), expected)


def test_an_independent_code_scores_chance():
    everything = all_combinations(4, 4, 4, 4)
    factors, symbols = everything[:, :2], everything[:, 2:]
    assert structural_permutation_score(factors, symbols) == 1 / 4
    assert population_code_score(factors, symbols) == 1 / 4
    assert_allclose(mutual_information_gap(factors, symbols), 0, atol=1e-12)
    assert sap_score(factors, symbols) == 0
    assert category_recovery(factors, symbols).count(0.5) == 0


@pytest.mark.parametrize("seed", range(5))
def test_no_other_naming_scores_higher(seed):
    rng = np.random.default_rng(seed)
    factors, symbols = rng.integers(3, size=(12, 2)), rng.integers(3, size=(12, 2))
    namings = list(permutations(range(3)))
    best = max(
        np.mean(
            [
                np.array(name)[symbols[:, head]] == factors[:, index]
                for index, (head, name) in enumerate(zip(heads, names, strict=True))
            ]
        )
        for heads in permutations(range(2))
        for names in product(namings, repeat=2)
    )
    assert_allclose(structural_permutation_score(factors, symbols), best, rtol=1e-12)


def test_one_stray_sample_costs_its_share(factors):
    symbols = factors.copy()
    symbols[0, 1] = 1
    assert_allclose(structural_permutation_score(factors, symbols), 1 - 1 / (3 * 216))


def test_merged_categories_lose_the_smaller():
    factors = np.repeat([[0], [1], [2]], [50, 30, 20], axis=0)
    symbols = np.where(factors == 2, 1, factors)
    assert structural_permutation_score(factors, symbols) == 0.8
    assert population_code_score(factors, symbols) == 0.8


def test_split_categories_are_right_as_a_population_code_only():
    factors = np.repeat([[0], [1]], [6, 4], axis=0)
    symbols = np.array([[0, 0, 0, 0, 1, 1, 2, 2, 2, 3]]).T
    assert structural_permutation_score(factors, symbols) == 0.7
    assert population_code_score(factors, symbols) == 1


def test_two_heads_that_mix_two_factors():
    """Sum and difference modulo 5 are independent of each factor, and determine both together."""
    factors = all_combinations(5, 5, 5)
    first, second, third = factors.T
    symbols = np.stack([(first + second) % 5, third, (first - second) % 5], axis=1)
    match = factor_match_matrix(factors, symbols)
    assert_allclose(match, [[0.2, 0.2, 0.2], [0.2, 0.2, 0.2], [0.2, 1, 0.2]])
    assert_allclose(structural_permutation_score(factors, symbols), 1.4 / 3)
    assert_allclose(population_code_score(factors, symbols), 1.4 / 3)
    assert category_recovery(factors, symbols).count() == 5
    assert_allclose(mutual_information_gap(factors, symbols), 1 / 3, atol=1e-12)
    assert_allclose(sap_score(factors, symbols, adjusted=True), 1 / 3, atol=1e-12)


def test_missing_heads_score_zero_and_further_heads_do_not_count(factors):
    assert structural_permutation_score(factors, factors[:, :2]) == 2 / 3
    more = np.column_stack([np.zeros(216, int), factors, factors[:, 0]])
    assert structural_permutation_score(factors, more) == 1


def test_a_head_serves_one_factor_only():
    factors = all_combinations(2, 2)
    both = factors @ [[2], [1]]
    assert structural_permutation_score(factors, both) == 0.25  # one factor at one half
    assert population_code_score(factors, both) == 1


# Population codes and categories


@pytest.mark.parametrize("seed", range(3))
def test_ten_units_for_six_categories(seed):
    rng = np.random.default_rng(seed)
    factors = rng.integers(6, size=(3000, 3))
    category_of_unit = np.concatenate([np.arange(6), rng.integers(6, size=4)])
    symbols = np.empty_like(factors)
    for category in range(6):
        units = np.flatnonzero(category_of_unit == category)
        mine = factors == category
        symbols[mine] = rng.choice(units, size=mine.sum())
    assert population_code_score(factors, symbols) == 1
    assert structural_permutation_score(factors, symbols) < 1
    recovery = category_recovery(factors, symbols)
    assert recovery.count(0) == 18
    for factor, category, units in zip(
        recovery.factors, recovery.categories, recovery.units, strict=True
    ):
        expected = {(factor, unit) for unit in np.flatnonzero(category_of_unit == category)}
        assert set(units) == expected


@pytest.mark.parametrize("seed", range(3))
def test_a_population_code_scores_no_less_than_one_to_one(seed):
    rng = np.random.default_rng(seed)
    factors, symbols = rng.integers(4, size=(50, 3)), rng.integers(6, size=(50, 4))
    one_to_one = factor_match_matrix(factors, symbols)
    assert (factor_match_matrix(factors, symbols, many_to_one=True) >= one_to_one).all()
    assert population_code_score(factors, symbols) >= structural_permutation_score(factors, symbols)


def test_a_category_may_be_read_from_units_of_several_heads():
    """Of four categories, the first head tells 0 and 1, the second 2, and nothing but that."""
    factors = np.repeat([[0], [1], [2], [3]], 5, axis=0)
    rest = np.arange(20) % 2 + 7
    first = np.where(factors[:, 0] < 2, factors[:, 0], rest)
    second = np.where(factors[:, 0] == 2, 2, rest)
    recovery = category_recovery(factors, np.column_stack([first, second]))
    assert_array_equal(recovery.recovered(0), [True, True, True, False])
    assert recovery.units[:3] == (((0, 0),), ((0, 1),), ((1, 2),))


def test_an_or_takes_units_of_several_heads():
    factors = np.repeat([[0], [1]], [4, 4], axis=0)
    symbols = [[1, 0], [1, 0], [0, 1], [0, 1], [0, 0], [0, 0], [0, 0], [0, 0]]
    recovery = category_recovery(factors, symbols)
    assert recovery.strays[0] == 0
    assert set(recovery.units[0]) == {(0, 1), (1, 1)}


def test_strays_are_a_share_of_the_category():
    factors = np.repeat([[3], [8]], [100, 50], axis=0)
    symbols = factors.copy()
    symbols[0] = 8
    recovery = category_recovery(factors, symbols)
    assert_array_equal(recovery.factors, [0, 0])
    assert_array_equal(recovery.categories, [3, 8])
    assert_allclose(recovery.strays, [1 / 100, 1 / 50])
    assert recovery.count(0.02) == 2
    assert recovery.count(0.01) == 1
    assert recovery.count() == recovery.count(0) == 0
    with pytest.raises(FrozenInstanceError):
        recovery.strays = np.zeros(2)


@pytest.mark.parametrize("seed", range(3))
def test_strays_are_those_of_the_units_that_are_named(seed):
    rng = np.random.default_rng(seed)
    factors, symbols = rng.integers(3, size=(40, 2)), rng.integers(9, size=(40, 3))
    recovery = category_recovery(factors, symbols)
    for factor, category, strays, units in zip(
        recovery.factors, recovery.categories, recovery.strays, recovery.units, strict=True
    ):
        found = np.zeros(40, dtype=bool)
        for head, unit in units:
            found |= symbols[:, head] == unit
        mine = factors[:, factor] == category
        assert_allclose(strays, (found != mine).sum() / mine.sum())
        assert strays <= 1


# Mutual information gap, SAP, modularity


def test_the_information_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    factors, symbols = rng.integers(3, size=(50, 2)), rng.integers(4, size=(50, 3))
    information = np.array(
        [[mutual_info_score(factor, head) for head in symbols.T] for factor in factors.T]
    )
    entropies = [mutual_info_score(factor, factor) for factor in factors.T]
    ordered = np.sort(information, axis=1)
    gap = np.mean((ordered[:, -1] - ordered[:, -2]) / entropies)
    assert_allclose(mutual_information_gap(factors, symbols), gap, rtol=1e-10)
    most = information.max(axis=0)
    modularity = np.mean(1 - (information.min(axis=0) / most) ** 2)
    assert_allclose(modularity_score(factors, symbols), modularity, rtol=1e-10)


@pytest.mark.parametrize("score", [mutual_information_gap, sap_score])
def test_two_heads_that_know_the_same_leave_no_gap(score, factors):
    assert_allclose(score(factors, np.hstack([factors, renamed(factors)])), 0, atol=1e-12)


def test_a_single_head_is_compared_with_none():
    factors = all_combinations(2, 2)
    assert_allclose(mutual_information_gap(factors, factors[:, :1]), 0.5)
    assert_allclose(sap_score(factors, factors[:, :1]), 0.25)
    assert_allclose(sap_score(factors, factors[:, :1], adjusted=True), 0.5)


def test_sap_of_unequal_categories():
    factors = np.repeat([[0], [1]], [7, 3], axis=0)
    assert_allclose(sap_score(factors, factors), 0.3)
    assert_allclose(sap_score(factors, factors, adjusted=True), 1)


@pytest.mark.parametrize("n_factors", [2, 3, 4])
def test_a_head_that_knows_all_factors_is_not_modular(n_factors):
    factors = all_combinations(*[3] * n_factors)
    everything = factors @ 3 ** np.arange(n_factors)[:, None]
    assert_allclose(modularity_score(factors, everything), 0, atol=1e-12)
    two = factors[:, :2] @ [[3], [1]]
    assert_allclose(modularity_score(factors, two), 1 - 1 / (n_factors - 1), atol=1e-12)


def test_heads_without_information_do_not_count(factors):
    constant = np.zeros((216, 2), dtype=int)
    assert_allclose(modularity_score(factors, np.hstack([factors, constant])), 1, rtol=1e-12)
    assert modularity_score(factors, constant) == 0


@pytest.mark.parametrize("score", [mutual_information_gap, sap_score])
def test_constant_factors_are_refused(score, factors):
    factors[:, 1] = 3
    with pytest.raises(ValueError, match=r"same category in all samples in columns \[1\]"):
        score(factors, factors)


def test_modularity_needs_two_factors():
    with pytest.raises(ValueError, match="factors must have at least two columns, got one"):
        modularity_score([[0], [1]], [[0], [1]])


# DCI


def test_dci_of_a_renamed_code_is_one():
    factors = np.random.default_rng(0).integers(6, size=(1500, 4))
    scores = dci(factors, renamed(factors), random_state=0)
    assert_allclose(scores.disentanglement, 1, atol=1e-6)
    assert_allclose(scores.completeness, 1, atol=1e-6)
    assert scores.informativeness == 1
    assert_allclose(np.sort(scores.importances, axis=1), [[0, 0, 0, 1]] * 4, atol=1e-6)


def test_dci_of_a_head_that_knows_two_factors():
    """Its importance is 1 for both: an entropy of log 2 of at most log 2."""
    factors = all_combinations(*[2] * 3)[np.arange(400) % 8]
    symbols = np.column_stack([factors[:, :2] @ [2, 1], factors[:, 2]])
    scores = dci(factors, symbols, random_state=0)
    assert_allclose(scores.importances, [[1, 0], [1, 0], [0, 1]], atol=1e-12)
    entropy = np.log(2) / np.log(3)
    assert_allclose(scores.disentanglement, (2 * (1 - entropy) + 1) / 3)
    assert_allclose(scores.completeness, 1)


def test_dci_of_a_factor_that_needs_two_heads():
    """Of four categories one bit takes a Gini impurity of 3/4 to 1/2, the other 1/2 to 0."""
    bits = all_combinations(2, 2)[np.random.default_rng(0).integers(4, size=5000)]
    scores = dci(bits @ [[2], [1]], bits, classifier=DecisionTreeClassifier(), random_state=0)
    assert_allclose(np.sort(scores.importances), [[1 / 3, 2 / 3]], atol=0.01)
    entropy = np.log(3) - 2 / 3 * np.log(2)
    assert_allclose(scores.completeness, 1 - entropy / np.log(2), atol=0.01)
    assert scores.disentanglement == scores.informativeness == 1


def test_dci_of_a_code_that_says_nothing():
    factors = np.random.default_rng(0).integers(4, size=(2000, 2))
    scores = dci(factors, np.zeros((2000, 3), dtype=int), random_state=0)
    assert scores.disentanglement == scores.completeness == 0
    assert_array_equal(scores.importances, 0)
    assert abs(scores.informativeness - 0.25) < 0.06


def test_dci_of_one_factor_and_one_head():
    factors = np.random.default_rng(0).integers(4, size=(200, 1))
    scores = dci(factors, factors, random_state=0)
    assert scores.disentanglement == scores.completeness == scores.informativeness == 1


def test_the_seed_decides_dci():
    rng = np.random.default_rng(0)
    factors, symbols = rng.integers(3, size=(300, 2)), rng.integers(4, size=(300, 3))
    first, again = (dci(factors, symbols, random_state=0) for _ in range(2))
    assert_array_equal(first.importances, again.importances)
    assert first.informativeness == again.informativeness


def test_bad_parameters_of_dci_are_named(factors):
    with pytest.raises(TypeError, match="classifier must have feature_importances_"):
        dci(factors, factors, classifier=DummyClassifier())
    with pytest.raises(ValueError, match="test_size must be between 0 and 1, got 2"):
        dci(factors, factors, test_size=2)
    with pytest.raises(ValueError, match=r"test_size=0.001 of 216 samples leaves none"):
        dci(factors, factors, test_size=0.001)


# Bad tables


@pytest.mark.parametrize("score", [*SCORES, factor_match_matrix, category_recovery, dci])
def test_tables_that_are_no_codes_are_named(score, factors):
    with pytest.raises(ValueError, match=r"symbols must be whole numbers, got 0.5: put a code"):
        score(factors, factors + 0.5)
    with pytest.raises(ValueError, match="symbols has 215 samples and factors has 216"):
        score(factors, factors[1:])
    with pytest.raises(ValueError, match="Input factors contains NaN"):
        score(np.where(factors == 0, np.nan, factors), factors)
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        score(factors, factors[:, 0])


def test_a_tolerance_that_is_no_share_is_refused(factors):
    recovery = category_recovery(factors, factors)
    with pytest.raises(ValueError, match="tolerance must be between 0 and"):
        recovery.count(1)
    with pytest.raises(TypeError, match=r"tolerance must be a number .* got '0'"):
        recovery.recovered("0")
