"""Penalties against their definitions."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar, nnls
from scipy.sparse import csr_array
from sklearn.linear_model import ElasticNet as SklearnElasticNet
from sklearn.linear_model import Lasso

from skatoms.coding import L0, L1, ElasticNet, GroupL1, Ridge, TopK, sparse_code


@pytest.mark.parametrize("positive", [False, True])
def test_the_prox_of_l1_minimises_what_it_should(positive):
    penalty = L1(positive=positive)
    for value in (-2.0, -0.3, 0.0, 0.2, 1.7):
        best = minimize_scalar(
            lambda a, value=value: 0.5 * (a - value) ** 2 + 0.5 * abs(a),
            bounds=(0 if positive else -5, 5),
            method="bounded",
            options={"xatol": 1e-10},
        )
        assert_allclose(penalty.prox(np.array([[value]]), 0.5), [[best.x]], atol=1e-7)


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_residual_of_l1_is_zero_at_a_prox_and_not_beside_it(positive, dtype):
    values = np.random.default_rng(0).standard_normal((50, 4)).astype(dtype)
    penalty = L1(positive=positive)
    codes = penalty.prox(values, 0.5)
    assert codes.dtype == dtype
    # A prox is the optimum for a Gram matrix of one, where what is left is values - codes.
    residual = penalty.residual(codes, values - codes, 0.5)
    assert residual.dtype == dtype
    assert_allclose(residual, 0, atol=4 * np.finfo(dtype).eps)
    moved = codes + np.array([0.1, 0, 0, 0], dtype)
    assert np.all(penalty.residual(moved, values - moved, 0.5).max(axis=1) > 0.05)


def test_the_value_of_l1_is_the_sum_of_absolute_values():
    codes = np.array([[1.0, -2, 0], [0, 0, 0]])
    assert_array_equal(L1().value(codes), [3, 0])
    assert_array_equal(L1().value(csr_array(codes)), [3, 0])


def test_top_k_keeps_the_largest_absolute_values():
    values = np.array([[3.0, -5, 1, 0], [0, 0, 2, -1]])
    assert_array_equal(TopK(2).prox(values, 1.0), [[3, -5, 0, 0], [0, 0, 2, -1]])
    assert_array_equal(TopK(4).prox(values, 1.0), values)
    assert_array_equal(values[0], [3, -5, 1, 0])


def test_the_value_of_top_k_tells_who_keeps_to_it():
    codes = np.array([[1.0, 2, 0], [1, 2, 3]])
    assert_array_equal(TopK(2).value(codes), [0, np.inf])
    assert_array_equal(TopK(2).value(csr_array(codes)), [0, np.inf])


def test_the_residual_of_top_k_is_about_its_support():
    codes, left = np.array([[1.0, 0, 2]]), np.array([[0.1, 9.0, -0.3]])
    assert_array_equal(TopK(2).residual(codes, left, 1.0), [[0.1, 0, 0.3]])


DTYPES = [np.float32, np.float64]
ALPHA = 0.3
WEIGHTS = np.array([0.5, 1, 1.5, 2, 0.1, 1, 3, 0.7])
GROUPS = np.array([0, 1, 2, 0, 1, 2, 0, 1])


def make(dtype=np.float64):
    rng = np.random.default_rng(4)
    atoms = rng.standard_normal((8, 10)) * rng.uniform(0.5, 2, (8, 1))
    return rng.standard_normal((12, 10)).astype(dtype), atoms.astype(dtype)


def tolerance(dtype):
    """Codes are as far off as the KKT residual, at most 6e-6, over the least curvature."""
    return 2e-4 if dtype == np.float32 else 2e-6


def coded(dtype, penalty, **settings):
    return sparse_code(*make(dtype), alpha=ALPHA, penalty=penalty, tol=1e-8, **settings)


def long_descent(X, atoms, prox, n_steps=6000):
    """Plain proximal gradient descent from zero."""
    codes, step = np.zeros((len(X), len(atoms))), 1 / np.linalg.norm(atoms, 2) ** 2
    for _ in range(n_steps):
        codes = prox(codes + step * (X - codes @ atoms) @ atoms.T, step * ALPHA)
    return codes


def shrunk_groups(values, weights):
    """Each group of a row brought nearer to zero by its weight; groups as above."""
    result = np.zeros_like(values)
    for g, weight in enumerate(weights):
        members = np.flatnonzero(g == GROUPS)
        for i, row in enumerate(values[:, members]):
            length = np.sqrt((row**2).sum())
            if length > weight:
                result[i, members] = (1 - weight / length) * row
    return result


def shrunk(values, weight):
    return np.sign(values) * np.clip(np.abs(values) - weight, 0, None)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("l1_ratio", [0.1, 0.9])
def test_elastic_net_codes_are_those_of_scikit_learn(dtype, positive, l1_ratio):
    X, atoms = make()
    peer = SklearnElasticNet(
        ALPHA / 10, l1_ratio=l1_ratio, positive=positive, fit_intercept=False, tol=1e-14
    )
    expected = [peer.fit(atoms.T, x).coef_ for x in X]
    found = coded(dtype, ElasticNet(l1_ratio, positive))
    assert_allclose(found, expected, atol=tolerance(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("positive", [False, True])
def test_a_weighted_elastic_net_is_a_lasso_of_longer_rescaled_atoms(dtype, positive):
    X, atoms = make()
    # The squares are rows of zeros to explain; then atoms are rescaled until all cost the same.
    longer = np.hstack([atoms, np.diag(np.sqrt(ALPHA * 0.4 * WEIGHTS))]) / WEIGHTS[:, None]
    peer = Lasso(
        ALPHA * 0.6 / 18, positive=positive, fit_intercept=False, tol=1e-14, max_iter=10**5
    )
    rows = np.hstack([X, np.zeros((12, 8))])
    expected = np.array([peer.fit(longer.T, x).coef_ for x in rows]) / WEIGHTS
    found = coded(dtype, ElasticNet(0.6, positive, weights=WEIGHTS))
    assert_allclose(found, expected, atol=tolerance(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("positive", [False, True])
def test_weighted_l1_codes_are_a_lasso_of_rescaled_atoms(dtype, positive):
    X, atoms = make()
    peer = Lasso(ALPHA / 10, positive=positive, fit_intercept=False, tol=1e-14, max_iter=10**5)
    expected = [peer.fit(atoms.T / WEIGHTS, x).coef_ / WEIGHTS for x in X]
    found = coded(dtype, L1(positive, WEIGHTS))
    assert_allclose(found, expected, atol=tolerance(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_atoms_of_weight_zero_are_not_penalised(dtype):
    X, atoms = make()
    codes = coded(dtype, L1(weights=np.where(np.arange(8) < 3, 0.0, 1.0)))
    left = (X - codes @ atoms) @ atoms.T
    scale = np.abs(X @ atoms.T).max()
    assert np.abs(left[:, :3]).max() < tolerance(dtype) * scale
    assert np.abs(left[:, 3:]).max() < ALPHA + tolerance(dtype) * scale


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_ridge_codes_have_a_closed_form(dtype, weights):
    X, atoms = make()
    diagonal = np.diag(np.ones(8) if weights is None else weights)
    expected = np.linalg.solve(atoms @ atoms.T + ALPHA * diagonal, atoms @ X.T).T
    assert_allclose(coded(dtype, Ridge(weights=weights)), expected, atol=tolerance(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_non_negative_ridge_codes_are_a_stacked_least_squares(dtype):
    X, atoms = make()
    stacked = np.vstack([atoms.T, np.diag(np.sqrt(ALPHA * WEIGHTS))])
    expected = [nnls(stacked, np.concatenate([x, np.zeros(8)]))[0] for x in X]
    found = coded(dtype, Ridge(positive=True, weights=WEIGHTS))
    assert_allclose(found, expected, atol=tolerance(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("l1_ratio", [0.0, 0.4])
@pytest.mark.parametrize("positive", [False, True])
def test_group_codes_are_the_end_of_a_long_proximal_descent(dtype, l1_ratio, positive):
    weights = np.array([1.0, 0.5, 2.0])

    def prox(values, weight):
        values = np.clip(values, 0, None) if positive else values
        values = shrunk(values, weight * l1_ratio)
        return shrunk_groups(values, weight * (1 - l1_ratio) * weights)

    expected = long_descent(*make(), prox)
    for solver in ("block-descent", "fista"):
        found = coded(
            dtype, GroupL1(GROUPS, l1_ratio, positive, weights), solver=solver, max_iter=10**5
        )
        assert_allclose(found, expected, atol=5 * tolerance(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("positive", [False, True])
def test_l0_codes_of_orthogonal_atoms_are_the_best_of_all_supports(dtype, positive):
    rng = np.random.default_rng(0)
    atoms = np.linalg.qr(rng.standard_normal((6, 6)))[0][:4] * [[0.5], [1], [2], [1]]
    X = rng.standard_normal((10, 6))
    codes = sparse_code(
        X.astype(dtype), atoms.astype(dtype), alpha=ALPHA, penalty="l0", positive=positive
    )
    for x, code in zip(X, codes, strict=True):
        values = [0.5 * x @ x]
        for size in range(1, 5):
            for support in map(list, combinations(range(4), size)):
                best = np.linalg.lstsq(atoms[support].T, x)[0]
                if not positive or (best >= 0).all():
                    values.append(0.5 * ((x - best @ atoms[support]) ** 2).sum() + ALPHA * size)
        reached = 0.5 * ((x - code @ atoms) ** 2).sum() + ALPHA * np.count_nonzero(code)
        assert reached <= min(values) + 10 * np.finfo(dtype).eps * (x @ x)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("positive", [False, True])
def test_l0_is_never_above_its_start_after_any_number_of_rounds(dtype, positive):
    X, atoms = make()
    start = np.abs(np.random.default_rng(1).standard_normal((12, 8))).astype(dtype)

    def objectives(codes):
        return 0.5 * ((X - codes @ atoms) ** 2).sum(axis=1) + ALPHA * (codes != 0).sum(axis=1)

    for max_iter in (1, 2, 5):
        with pytest.warns(match="did not converge"):
            codes = coded(dtype, L0(positive), codes_init=start, max_iter=max_iter)
        assert np.all(objectives(codes) <= objectives(start) * (1 + 1e-5))


@pytest.mark.parametrize("positive", [False, True])
def test_the_prox_of_l0_is_the_best_of_zero_and_the_value_itself(positive):
    values = np.linspace(-2, 2, 81)[:, None]
    found = L0(positive).prox(values, 0.5)

    def cost(code):
        return 0.5 * (code - values) ** 2 + 0.5 * (code != 0)

    kept = np.maximum(values, 0) if positive else values
    assert_allclose(cost(found), np.minimum(cost(0 * values), cost(kept)))
    assert not (positive and (found < 0).any())


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_prox_of_top_k_is_the_nearest_of_all_supports(dtype):
    values = np.random.default_rng(0).standard_normal((20, 5)).astype(dtype)
    found = TopK(2).prox(values, 1.0)
    assert found.dtype == dtype
    for value, code in zip(values, found, strict=True):
        lost = [np.delete(value, support) for support in map(list, combinations(range(5), 2))]
        assert ((code - value) ** 2).sum() <= min((rest**2).sum() for rest in lost) + 1e-6


@pytest.mark.parametrize("dtype", DTYPES)
def test_top_k_never_explains_less_than_the_support_it_starts_from(dtype):
    X, atoms = make()
    rng = np.random.default_rng(2)
    for _ in range(10):
        support = np.sort(rng.choice(8, 3, replace=False))
        start = np.zeros((12, 8), dtype)
        start[:, support] = 1
        codes = coded(dtype, TopK(3), codes_init=start)
        fitted = X - X @ np.linalg.pinv(atoms[support]) @ atoms[support]
        slack = 20 * np.finfo(dtype).eps * (X**2).sum(axis=1)
        assert np.all(((X - codes @ atoms) ** 2).sum(axis=1) <= (fitted**2).sum(axis=1) + slack)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("penalty", "expected"),
    [
        (L1(weights=[1, 2, 3, 0]), 4.0 * 1 + 3 * 2 + 1 * 3),
        (ElasticNet(0.25), 0.25 * 10 + 0.75 * 30 / 2),
        (ElasticNet(0.25, weights=[2, 0, 0, 1]), 0.25 * (8 + 2) + 0.75 * (32 + 4) / 2),
        (Ridge(), 15.0),
        (GroupL1(2), 5 + np.sqrt(5)),
        (GroupL1(3, weights=[2, 1]), 2 * np.sqrt(26) + 2),
        (GroupL1(["b", "a", "a", "b"], weights=[1, 0]), np.sqrt(10)),
        (GroupL1(2, l1_ratio=0.5), 0.5 * (5 + np.sqrt(5)) + 0.5 * 10),
        (L0(), 4.0),
    ],
    ids=str,
)
def test_values_are_those_of_the_definitions(dtype, penalty, expected):
    codes = np.array([[4, -3, 1, -2], [0, 0, 0, 0]], dtype)
    assert_allclose(penalty.value(codes), [expected, 0], rtol=4 * np.finfo(dtype).eps)
    assert_allclose(penalty.value(csr_array(codes)), [expected, 0], rtol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize(
    ("penalty", "expected"),
    [(ElasticNet(0.5), 9.75), (L1(weights=[0.5, 0.5]), 3.5), (GroupL1(2, weights=[0.5]), 2.5)],
    ids=str,
)
def test_the_value_of_whole_numbers_is_that_of_the_same_real_numbers(penalty, expected):
    assert penalty.value(np.array([[3, 4]]))[0] == pytest.approx(expected)


REFUSED = [
    (GroupL1([0, 1]), r"a label for each of the 8 atoms"),
    (GroupL1(2.5), r"the size of all groups, an integer, or a label"),
    (GroupL1(-1), "groups must be at least 1"),
    (GroupL1(2, l1_ratio=1.5), "l1_ratio must be a number from 0 to 1, got 1.5"),
    (GroupL1(2, weights=[1.0]), r"weights has shape \(1,\), but there are 4 groups"),
    (GroupL1(2, weights=[1, 1, 1, -1]), "weights must be finite and not negative"),
    (GroupL1(2, positive=1), "positive must be True or False"),
    (ElasticNet(-0.1), "l1_ratio must be a number from 0 to 1, got -0.1"),
    (ElasticNet("half"), "l1_ratio must be a number from 0 to 1, got 'half'"),
    (ElasticNet(np.nan), "l1_ratio must be a number from 0 to 1"),
    (ElasticNet(weights=np.ones(3)), r"weights has shape \(3,\), but there are 8 atoms"),
    (Ridge(weights=-WEIGHTS), "weights must be finite and not negative"),
    (L1(weights=WEIGHTS * np.inf), "weights must be finite"),
    (L1(weights=WEIGHTS * np.nan), "weights must be finite"),
    (L0(positive="yes"), "positive must be True or False"),
    (TopK(9), "n_nonzero=9 must be at least 1 and at most the number of atoms, 8"),
    (TopK(True), "n_nonzero must be an integer"),
]


@pytest.mark.parametrize(("penalty", "message"), REFUSED)
def test_bad_parameters_of_penalties_are_named(penalty, message):
    with pytest.raises((ValueError, TypeError), match=message):
        sparse_code(*make(), penalty=penalty)


@pytest.mark.parametrize("penalty", ["elastic_net", "ridge", "l0"])
@pytest.mark.parametrize("positive", [False, True])
def test_names_stand_for_the_usual_objects(penalty, positive):
    kinds = {"elastic_net": ElasticNet, "ridge": Ridge, "l0": L0}
    expected = coded(np.float64, kinds[penalty](positive=positive))
    assert_array_equal(coded(np.float64, penalty, positive=positive), expected)


@pytest.mark.filterwarnings("ignore:.*did not converge")
@pytest.mark.parametrize("alpha", [0.0, 1e-6])
def test_nearly_free_ridge_codes_of_many_atoms_explain_in_single_precision(alpha):
    rng = np.random.default_rng(0)
    X, atoms = (rng.standard_normal((n, 6)).astype(np.float32) for n in (30, 40))
    _, report = sparse_code(X, atoms, alpha=alpha, penalty="ridge", return_report=True)
    assert report.n_unconverged == 0
