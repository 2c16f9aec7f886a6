"""Measures of atoms and codes, against what can be known without them."""

from dataclasses import FrozenInstanceError
from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import hadamard
from scipy.optimize import linprog
from scipy.sparse import coo_array, csc_array, csr_array, csr_matrix
from sklearn.metrics import f1_score

from skatoms.coding import sparse_code
from skatoms.metrics import (
    atom_recovery,
    exact_recovery,
    mutual_coherence,
    support_f1,
    welch_bound,
)

# Four atoms in space whose cosines are all -1/3: the corners of a tetrahedron.
TETRAHEDRON = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], dtype=float)


def random_atoms(n_atoms, n_features, seed=0):
    return np.random.default_rng(seed).standard_normal((n_atoms, n_features))


def cosine(a, b):
    return a @ b / np.sqrt((a @ a) * (b @ b))


# Matching


def test_shuffled_scaled_and_flipped_atoms_are_all_found():
    true = random_atoms(12, 8)
    order = np.random.default_rng(1).permutation(12)
    signs = np.where(np.arange(12) % 3 == 0, -1, 1)
    learned = (true * (signs * np.linspace(0.01, 100, 12))[:, None])[order]
    recovery = atom_recovery(true, learned)
    assert_allclose(recovery.cosines, 1, rtol=1e-14)
    assert_array_equal(order[recovery.assignment], np.arange(12))
    assert_array_equal(recovery.signs, signs)
    assert recovery.fraction() == 1


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_no_other_matching_has_a_larger_sum(signed, seed):
    true, learned = random_atoms(4, 3, seed), random_atoms(6, 3, seed + 100)
    sums = []
    for matches in permutations(range(6), 4):
        cosines = [cosine(true[j], learned[k]) for j, k in enumerate(matches)]
        sums.append(sum(cosines if signed else np.abs(cosines)))
    recovery = atom_recovery(true, learned, signed=signed)
    assert_allclose(recovery.cosines.sum(), max(sums), rtol=1e-13)


@pytest.mark.parametrize("signed", [False, True])
def test_cosines_and_signs_are_those_of_the_match(signed):
    true, learned = random_atoms(5, 3), random_atoms(9, 3, 1)
    recovery = atom_recovery(true, learned, signed=signed)
    matches = learned[recovery.assignment]
    expected = np.array([cosine(a, b) for a, b in zip(true, matches, strict=True)])
    assert_allclose(recovery.cosines, expected if signed else np.abs(expected), rtol=1e-13)
    assert_array_equal(recovery.signs, np.sign(expected))


def test_a_learned_atom_stands_for_one_true_atom_only():
    true = [[1, 0], [1, 0.1]]
    recovery = atom_recovery(true, [[1, 0.05], [0, 1]])
    assert sorted(recovery.assignment) == [0, 1]


def test_true_atoms_without_a_partner_have_no_match():
    recovery = atom_recovery(np.eye(3), [[0, -1, 0]])
    assert_array_equal(recovery.cosines, [0, 1, 0])
    assert_array_equal(recovery.assignment, [-1, 0, -1])
    assert_array_equal(recovery.signs, [0, -1, 0])
    assert recovery.fraction() == 1 / 3


def test_zero_atoms_have_cosine_zero_with_all():
    recovery = atom_recovery([[0, 0], [0, 1]], [[0, 0], [0, 2]])
    assert_array_equal(recovery.cosines, [0, 1])
    assert_array_equal(recovery.signs, [0, 1])


def test_with_signs_an_opposite_atom_is_another_atom():
    recovery = atom_recovery([[1, 0]], [[-1, 0], [1, 1]], signed=True)
    assert recovery.assignment == [1]
    assert_array_equal(atom_recovery([[1, 0]], [[-1, 0]], signed=True).cosines, [-1])


def test_a_cosine_at_the_threshold_is_not_above_it():
    recovery = atom_recovery([[1, 0], [0, 1]], [[1, 0], [3, 4]])
    assert_array_equal(recovery.cosines, [1, 0.8])
    assert recovery.fraction(0.8) == 0.5
    assert recovery.fraction(0.79) == 1


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
def test_the_scale_of_atoms_does_not_matter(scale):
    true = random_atoms(4, 3)
    assert_allclose(atom_recovery(true, scale * true).cosines, 1, rtol=1e-14)
    assert_allclose(mutual_coherence(scale * true), mutual_coherence(true), rtol=1e-14)


def test_a_recovery_can_not_be_reassigned():
    recovery = atom_recovery([[1, 0]], [[1, 0]])
    with pytest.raises(FrozenInstanceError):
        recovery.cosines = np.zeros(1)


def test_atoms_that_can_not_be_compared_are_refused():
    with pytest.raises(ValueError, match="components has 3 features and components_true has 2"):
        atom_recovery(np.eye(2), np.eye(3))
    with pytest.raises(ValueError, match="Input components_true contains NaN"):
        atom_recovery([[np.nan, 1]], np.eye(2))
    with pytest.raises(ValueError, match="Input components contains infinity"):
        atom_recovery(np.eye(2), [[np.inf, 1]])


def test_a_threshold_that_is_no_cosine_is_refused():
    recovery = atom_recovery([[1, 0]], [[1, 0]])
    with pytest.raises(ValueError, match="threshold must be between -1 and 1, got 99"):
        recovery.fraction(99)
    with pytest.raises(ValueError, match=r"threshold must be .* got nan"):
        recovery.fraction(np.nan)
    with pytest.raises(TypeError, match=r"threshold must be a number of type Real, got '0.9'"):
        recovery.fraction("0.9")


# Supports


def random_codes(seed, shape=(30, 7)):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(shape) * (rng.random(shape) < 0.3)


def test_f1_is_that_of_scikit_learn_over_all_entries():
    true, codes = random_codes(0), random_codes(1)
    expected = f1_score((true != 0).ravel(), (codes != 0).ravel())
    assert_allclose(support_f1(true, codes), expected, rtol=1e-15)


@pytest.mark.parametrize("form", [csr_array, csr_matrix, csc_array, coo_array])
def test_sparse_and_dense_codes_have_the_same_f1(form):
    true, codes = random_codes(0), random_codes(1)
    expected = support_f1(true, codes)
    assert support_f1(form(true), codes) == expected
    assert support_f1(form(true), form(codes)) == expected


def test_stored_zeros_of_sparse_codes_are_zeros():
    true = csr_array(np.eye(3))
    codes = csr_array(np.eye(3) + np.eye(3, k=1))
    codes.data[codes.indices != np.repeat(np.arange(3), np.diff(codes.indptr))] = 0
    assert codes.nnz == 5
    assert support_f1(true, codes) == 1
    assert codes.nnz == 5, "the codes given are left as they are"


def test_small_codes_count_as_zero():
    assert support_f1([[1, 0]], [[1, -0.1]], tol=0.1) == 1
    assert support_f1([[1, 0]], [[1, -0.1]], tol=0.09) == pytest.approx(2 / 3)


def test_a_recovery_puts_the_atoms_in_order():
    atoms, codes = random_atoms(7, 5), random_codes(0)
    order = np.random.default_rng(2).permutation(7)
    recovery = atom_recovery(atoms, -atoms[order])
    assert support_f1(codes, -codes[:, order], recovery=recovery) == 1


def test_codes_of_atoms_that_stand_for_none_are_wrong():
    recovery = atom_recovery([[1, 0, 0]], np.eye(3))
    assert support_f1([[1.0]], [[1, 1, 1]], recovery=recovery) == 2 * 1 / (1 + 3)


def test_codes_of_true_atoms_without_a_match_are_missed():
    recovery = atom_recovery(np.eye(3), [[0, 1, 0]])
    assert support_f1([[1, 1, 1]], [[1.0]], recovery=recovery) == 2 * 1 / (3 + 1)


def test_nothing_found_where_there_is_nothing_is_right():
    assert support_f1(np.zeros((2, 3)), np.zeros((2, 3))) == 1
    assert support_f1(np.zeros((1, 2)), [[0, 1]]) == 0


def test_codes_that_do_not_go_together_are_refused():
    recovery = atom_recovery(np.eye(2), np.eye(2))
    with pytest.raises(ValueError, match="codes has 2 samples and codes_true has 1"):
        support_f1([[1, 0]], np.eye(2))
    with pytest.raises(ValueError, match="codes has 2 atoms and codes_true has 3: say with recov"):
        support_f1([[1, 0, 0]], [[1, 0]])
    with pytest.raises(ValueError, match="recovery is about 2 true atoms"):
        support_f1([[1, 0, 0]], [[1, 0]], recovery=recovery)
    with pytest.raises(ValueError, match=r"recovery is about 2 .* codes has 1"):
        support_f1([[1, 0]], [[1.0]], recovery=recovery)
    with pytest.raises(ValueError, match=r"tol must be between 0 and inf, got -0.1"):
        support_f1([[1]], [[1]], tol=-0.1)


# Coherence


def test_coherence_is_the_largest_cosine_of_a_pair():
    atoms = random_atoms(6, 4)
    pairs = [abs(cosine(atoms[j], atoms[k])) for j in range(6) for k in range(j)]
    assert_allclose(mutual_coherence(atoms), max(pairs), rtol=1e-14)


def test_equal_or_opposite_atoms_have_coherence_one():
    atom = random_atoms(1, 5)
    assert mutual_coherence(np.vstack([atom, -3 * atom])) == pytest.approx(1)
    assert mutual_coherence(np.vstack([atom, -3 * atom])) <= 1


def test_a_single_atom_has_coherence_zero():
    assert mutual_coherence([[3, 4]]) == 0


def test_zero_atoms_are_named():
    with pytest.raises(ValueError, match=r"components has atoms that are zero, at \[1, 3\]"):
        mutual_coherence([[1, 0], [0, 0], [0, 1], [0, 0]])


@pytest.mark.parametrize(("n_components", "n_features"), [(4, 2), (9, 3), (20, 8)])
def test_no_atoms_are_less_coherent_than_the_bound(n_components, n_features):
    for seed in range(20):
        atoms = random_atoms(n_components, n_features, seed)
        assert mutual_coherence(atoms) >= welch_bound(n_components, n_features)


def test_equiangular_atoms_reach_the_bound():
    assert_allclose(mutual_coherence(TETRAHEDRON), welch_bound(4, 3), rtol=1e-14)
    golden = (1 + np.sqrt(5)) / 2  # six diagonals of the icosahedron
    corners = [(0, 1, golden), (0, 1, -golden)]
    diagonals = np.array([np.roll(corner, shift) for corner in corners for shift in range(3)])
    assert_allclose(mutual_coherence(diagonals), welch_bound(6, 3), rtol=1e-14)


def test_the_bound_is_zero_where_atoms_can_be_orthogonal():
    assert welch_bound(1, 1) == welch_bound(3, 5) == welch_bound(5, 5) == 0
    assert welch_bound(6, 5) > 0


def test_a_bound_for_no_atoms_is_refused():
    with pytest.raises(ValueError, match="n_components must be between 1 and inf, got 0"):
        welch_bound(0, 3)
    with pytest.raises(TypeError, match=r"n_features must be a number of type Integral, got 2.5"):
        welch_bound(3, 2.5)


# Guarantees


def spikes_and_waves(n_features):
    return np.vstack([np.eye(n_features), hadamard(n_features) / np.sqrt(n_features)])


def test_the_promise_is_kept_by_matching_pursuit_and_by_the_least_l1_norm():
    atoms = spikes_and_waves(64)
    guarantee = exact_recovery(atoms, 4)
    assert guarantee.coherence == 1 / 8
    assert guarantee.largest_n_nonzero == 4  # the largest below (1 + 8) / 2
    assert guarantee.guaranteed
    rng = np.random.default_rng(0)
    true = np.zeros((20, 128))
    for row in true:
        row[rng.choice(128, 4, replace=False)] = rng.choice([-1, 1], 4) * rng.uniform(0.1, 9, 4)
    X = true @ atoms
    assert_allclose(sparse_code(X, atoms, penalty="top_k", n_nonzero=4), true, atol=1e-10)
    for x, code in zip(X[:5], true, strict=False):
        # Least sum of a+ and a- with a+ - a- explaining x.
        least = linprog(np.ones(256), A_eq=np.hstack([atoms.T, -atoms.T]), b_eq=x).x
        assert_allclose(least[:128] - least[128:], code, atol=1e-7)


def test_beyond_the_limit_a_sample_can_have_two_codes():
    # A comb of four spikes is a comb of four waves.
    atoms = spikes_and_waves(16)
    comb = np.zeros(32)
    comb[[0, 4, 8, 12]] = 1
    other = np.linalg.lstsq(atoms[16:].T, comb @ atoms, rcond=None)[0]
    assert np.count_nonzero(np.abs(other) > 1e-12) == 4
    assert exact_recovery(atoms, 4).largest_n_nonzero == 2  # below (1 + 4) / 2
    assert not exact_recovery(atoms, 4).guaranteed


def test_a_limit_that_is_met_exactly_is_not_below_itself():
    # Coherence 1/3 means fewer than 2; rounding errors must not make it 2.
    for scale in (1, 1 / np.sqrt(3), 0.1, 7):
        assert exact_recovery(scale * TETRAHEDRON, 2).largest_n_nonzero == 1
    assert not exact_recovery(TETRAHEDRON, 2).guaranteed


def test_orthogonal_atoms_promise_everything():
    assert exact_recovery(np.eye(5), 5).largest_n_nonzero == 5
    rotation = np.linalg.qr(random_atoms(5, 5))[0]
    assert exact_recovery(rotation, 5).guaranteed
    assert exact_recovery([[2.0, 1.0]], 1).largest_n_nonzero == 1


def test_equal_atoms_promise_nothing():
    guarantee = exact_recovery([[1, 2], [1, 2], [1, 0]], 1)
    assert guarantee.largest_n_nonzero == 0
    assert not guarantee.guaranteed


def test_a_number_of_nonzeros_below_one_is_refused():
    with pytest.raises(ValueError, match="n_nonzero must be between 1 and inf, got 0"):
        exact_recovery(np.eye(2), 0)
