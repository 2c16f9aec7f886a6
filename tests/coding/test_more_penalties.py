"""Elastic net, ridge, groups, l0, weights and warm top-k against independent answers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.sparse import csr_array
from sklearn.linear_model import ElasticNet as SklearnElasticNet

from skatoms.coding import L0, L1, ElasticNet, GroupL1, Ridge, TopK, sparse_code

DTYPES = [np.float32, np.float64]
ALPHA = 0.3
WEIGHTS = np.array([0.5, 1, 1.5, 2, 0.1, 1, 3, 0.7])
CONVEX = [
    ElasticNet(0.5),
    ElasticNet(0.2, positive=True),
    ElasticNet(0.5, weights=WEIGHTS),
    Ridge(),
    Ridge(positive=True, weights=WEIGHTS),
    L1(weights=WEIGHTS),
    GroupL1(2),
    GroupL1([0, 1, 2, 0, 1, 2, 0, 1], positive=True),
    GroupL1(4, l1_ratio=0.5, weights=[1.0, 2.0]),
    GroupL1(2, l1_ratio=0.3, positive=True),
]


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    atoms = rng.standard_normal((8, 6)) * rng.uniform(0.5, 2, (8, 1))
    return rng.standard_normal((20, 6)), atoms


def objectives(X, atoms, codes, penalty):
    codes = np.asarray(codes, dtype=np.float64)
    return 0.5 * ((X - codes @ atoms) ** 2).sum(axis=1) + ALPHA * penalty.value(codes)


@pytest.mark.parametrize("penalty", CONVEX, ids=str)
def test_no_code_near_or_far_is_better_than_that_of_a_convex_penalty(problem, penalty):
    X, atoms = problem
    codes = sparse_code(X, atoms, alpha=ALPHA, penalty=penalty, tol=1e-9)
    best = objectives(X, atoms, codes, penalty)
    rng = np.random.default_rng(1)
    for scale in (1e-4, 1e-2, 1.0):
        for _ in range(200):
            others = codes + scale * rng.standard_normal(codes.shape) * (rng.random(8) < 0.4)
            others = np.maximum(others, 0) if penalty.positive else others
            assert np.all(objectives(X, atoms, others, penalty) >= best - 1e-12)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("penalty", CONVEX, ids=str)
def test_all_solvers_of_a_penalty_agree_in_both_precisions(problem, penalty, dtype):
    X, atoms = (part.astype(dtype) for part in problem)
    answers = []
    for solver in penalty.solvers:
        codes, report = sparse_code(
            X, atoms, alpha=ALPHA, penalty=penalty, solver=solver, return_report=True
        )
        assert report.n_unconverged == 0
        assert codes.dtype == dtype
        answers.append(codes)
    assert len(answers) > 1
    for codes in answers[1:]:
        assert_allclose(codes, answers[0], atol=2e-3 if dtype == np.float32 else 1e-4)


@pytest.mark.parametrize("penalty", CONVEX, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_value_is_the_same_for_sparse_codes_and_zero_at_zero(penalty, dtype):
    codes = np.random.default_rng(0).standard_normal((5, 8)).astype(dtype)
    codes[:, 3] = codes[4] = 0
    value = penalty.value(codes)
    assert value.shape == (5,)
    assert value[4] == 0
    assert_allclose(penalty.value(csr_array(codes)), value, rtol=1e-5)


@pytest.mark.parametrize("penalty", CONVEX, ids=str)
def test_the_prox_minimises_and_the_residual_vanishes_there_alone(penalty):
    values = 2 * np.random.default_rng(0).standard_normal((4, 8))
    found = penalty.prox(values, 0.4)
    # Solvers have the quadratic part in the Gram matrix; the prox is about the rest.
    curvature = penalty.curvature(8)

    def rest(code):
        extra = 0 if curvature is None else (curvature * code**2).sum() / 2
        return float(penalty.value(code[None])[0] - extra)

    for value, code in zip(values, found, strict=True):

        def objective(code, value=value):
            code = np.maximum(code, 0) if penalty.positive else code
            return 0.5 * ((code - value) ** 2).sum() + 0.4 * rest(code)

        best = minimize(objective, code + 0.01, method="Nelder-Mead", options={"maxfev": 4000}).fun
        assert objective(code) <= best + 1e-12
    assert_allclose(penalty.residual(found, values - found, 0.4), 0, atol=1e-12)
    if not (isinstance(penalty, Ridge)):
        moved = found + 0.1 * (np.arange(8) == 0)
        assert penalty.residual(moved, values - moved, 0.4).max() > 0.01


@pytest.mark.parametrize("positive", [False, True])
def test_the_elastic_net_is_that_of_scikit_learn(problem, positive):
    X, atoms = problem
    codes = sparse_code(X, atoms, alpha=ALPHA, penalty=ElasticNet(0.5, positive), tol=1e-9)
    peer = SklearnElasticNet(
        ALPHA / 6, l1_ratio=0.5, positive=positive, fit_intercept=False, tol=1e-12, max_iter=10**5
    )
    expected = [peer.fit(atoms.T, x).coef_ for x in X]
    assert_allclose(codes, expected, atol=1e-6)


def test_ridge_has_its_closed_form(problem):
    X, atoms = problem
    codes = sparse_code(X, atoms, alpha=ALPHA, penalty=Ridge(weights=WEIGHTS))
    expected = np.linalg.solve(atoms @ atoms.T + ALPHA * np.diag(WEIGHTS), atoms @ X.T).T
    assert_allclose(codes, expected, atol=1e-10)


def test_weights_are_atoms_of_other_lengths(problem):
    X, atoms = problem
    codes = sparse_code(X, atoms, alpha=ALPHA, penalty=L1(weights=WEIGHTS))
    rescaled = sparse_code(X, atoms / WEIGHTS[:, None], alpha=ALPHA)
    assert_allclose(codes * WEIGHTS, rescaled, atol=1e-6)


def test_an_atom_of_weight_zero_is_free(problem):
    X, atoms = problem
    weights = np.where(np.arange(8) == 2, 0.0, 1e6)
    codes = sparse_code(X, atoms, alpha=ALPHA, penalty=L1(weights=weights))
    expected = X @ atoms[2] / (atoms[2] @ atoms[2])
    assert_allclose(codes[:, 2], expected, atol=1e-6)
    assert not np.delete(codes, 2, axis=1).any()


def test_groups_of_one_atom_are_the_lasso(problem):
    X, atoms = problem
    for penalty in (GroupL1(1), GroupL1(3, l1_ratio=1.0)):
        codes = sparse_code(X, atoms, alpha=ALPHA, penalty=penalty, tol=1e-9)
        assert_allclose(codes, sparse_code(X, atoms, alpha=ALPHA), atol=1e-6)


@pytest.mark.parametrize("positive", [False, True])
def test_no_single_code_can_lower_the_l0_objective(problem, positive):
    X, atoms = problem
    penalty = L0(positive)
    codes = sparse_code(X, atoms, alpha=ALPHA, penalty=penalty, tol=1e-9)
    reached = objectives(X, atoms, codes, penalty)
    for k in range(8):
        without = codes.copy()
        without[:, k] = 0
        best = (X - without @ atoms) @ atoms[k] / (atoms[k] @ atoms[k])
        for value in (0, np.maximum(best, 0) if positive else best):
            other = without.copy()
            other[:, k] = value
            assert np.all(reached <= objectives(X, atoms, other, penalty) + 1e-10)


def test_l0_is_never_worse_than_its_start(problem):
    X, atoms = problem
    start = np.random.default_rng(3).standard_normal((20, 8))
    codes = sparse_code(X, atoms, alpha=ALPHA, penalty="l0", codes_init=start, max_iter=50_000)
    assert np.all(objectives(X, atoms, codes, L0()) <= objectives(X, atoms, start, L0()))


def test_top_k_never_explains_less_than_its_start_and_keeps_a_better_one(problem):
    X, atoms = problem
    rng = np.random.default_rng(0)
    cold = sparse_code(X, atoms, penalty="top_k", n_nonzero=3)
    kept = 0
    for _ in range(20):
        start = np.zeros((20, 8))
        for row in start:
            row[rng.choice(8, 3, replace=False)] = 1.0
        warm = sparse_code(X, atoms, penalty="top_k", n_nonzero=3, codes_init=start)
        errors = [((X - codes @ atoms) ** 2).sum(axis=1) for codes in (warm, cold)]
        assert np.all(errors[0] <= errors[1] + 1e-12)
        assert np.all((warm != 0).sum(axis=1) <= 3)
        for x, code, row in zip(X, warm, start, strict=True):
            support = np.flatnonzero(row)
            fit = np.linalg.lstsq(atoms[support].T, x)[0] @ atoms[support]
            assert ((x - code @ atoms) ** 2).sum() <= ((x - fit) ** 2).sum() + 1e-12
        kept += int((errors[0] < errors[1] - 1e-6).sum())
    assert kept > 0


def test_what_does_not_start_warm_says_so(problem):
    X, atoms = problem
    with pytest.raises(ValueError, match="codes_init does not go with solver"):
        sparse_code(X, atoms, penalty="ridge", codes_init=np.zeros((20, 8)))
    with pytest.raises(ValueError, match="solver='homotopy' can not solve"):
        sparse_code(X, atoms, penalty=L1(weights=WEIGHTS), solver="homotopy")


@pytest.mark.parametrize("penalty", [*CONVEX, L0(), TopK(3)], ids=str)
def test_results_do_not_depend_on_n_jobs(penalty):
    rng = np.random.default_rng(0)
    X, atoms = rng.standard_normal((300, 6)), rng.standard_normal((8, 6))
    one, two = (sparse_code(X, atoms, alpha=ALPHA, penalty=penalty, n_jobs=n) for n in (1, 2))
    assert_array_equal(one, two)
