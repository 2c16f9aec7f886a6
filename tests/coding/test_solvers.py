"""Every solver against answers that come from elsewhere."""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize, nnls
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso, LassoLars, orthogonal_mp, orthogonal_mp_gram

from skatoms.coding import L1, sparse_code

from .problems import (
    TWISTS,
    allowed_violations,
    duality_gaps,
    kkt_violations,
    make_problem,
    norms,
    objectives,
    problems,
    weights,
)

L1_SOLVERS = L1().solvers
EXACT = [solver for solver in L1_SOLVERS if solver != "fista"]


def largest_correlation(X, atoms):
    return np.abs(X.astype(np.float64) @ atoms.T.astype(np.float64)).max()


@pytest.mark.parametrize("solver", EXACT)
@given(problem=problems, weight=weights, positive=st.booleans())
def test_exact_solvers_meet_the_kkt_conditions(solver, problem, weight, positive):
    X, atoms = problem
    alpha = weight * largest_correlation(X, atoms)
    codes = sparse_code(X, atoms, alpha=alpha, positive=positive, solver=solver)
    assert codes.dtype == X.dtype
    assert np.isfinite(codes).all()
    assert not (positive and (codes < 0).any())
    violations = kkt_violations(X, atoms, codes, alpha, positive)
    assert np.all(violations <= 1.5 * allowed_violations(X, atoms, codes))


@given(problem=problems, weight=weights.filter(lambda w: w >= 0.1), positive=st.booleans())
def test_fista_meets_the_kkt_conditions(problem, weight, positive):
    X, atoms = problem
    alpha = weight * largest_correlation(X, atoms)
    codes = sparse_code(X, atoms, alpha=alpha, positive=positive, solver="fista", max_iter=100_000)
    violations = kkt_violations(X, atoms, codes, alpha, positive)
    assert np.all(violations <= 1.5 * allowed_violations(X, atoms, codes))


@given(
    problem=problems,
    weight=weights,
    positive=st.booleans(),
    seed=st.integers(0, 1000),
    density=st.sampled_from([0.1, 0.5, 1.0]),
    size=st.sampled_from([1e-3, 1.0, 1e3]),
)
def test_any_start_leads_to_the_kkt_conditions(problem, weight, positive, seed, density, size):
    X, atoms = problem
    alpha = weight * largest_correlation(X, atoms)
    rng, shape = np.random.default_rng(seed), (len(X), len(atoms))
    start = size * np.abs(X).max() * rng.standard_normal(shape) * (rng.random(shape) < density)
    codes = sparse_code(X, atoms, alpha=alpha, positive=positive, codes_init=start)
    assert np.isfinite(codes).all()
    assert not (positive and (codes < 0).any())
    violations = kkt_violations(X, atoms, codes, alpha, positive)
    assert np.all(violations <= 1.5 * allowed_violations(X, atoms, codes))


@pytest.mark.parametrize("solver", EXACT)
@given(problem=problems, weight=weights.filter(lambda w: w >= 0.01), positive=st.booleans())
def test_exact_solvers_close_the_duality_gap_to_the_precision(solver, problem, weight, positive):
    X, atoms = problem
    alpha = weight * largest_correlation(X, atoms)
    assume(alpha > 0)
    codes = sparse_code(X, atoms, alpha=alpha, positive=positive, solver=solver, tol=0)
    gaps = duality_gaps(X, atoms, codes, alpha, positive)
    # With violations v of the KKT conditions a gap is at most v / alpha * |x|^2, where v < alpha.
    part = 2 * allowed_violations(X, atoms, codes, tol=0) / alpha
    squares = (X.astype(np.float64) ** 2).sum(axis=1)
    assert np.all(gaps <= (part + 50 * np.finfo(X.dtype).eps) * squares)


def test_fista_takes_a_third_of_the_steps_that_its_gradient_steps_alone_would_take():
    X, atoms = make_problem(0, 20, 30, 20)
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    alpha = 0.01 * largest_correlation(X, atoms)
    _, report = sparse_code(X, atoms, alpha=alpha, solver="fista", tol=1e-8, return_report=True)
    codes, curvature = np.zeros((20, 20)), np.linalg.norm(atoms, 2) ** 2
    for _ in range(3 * report.n_iter):
        moved = codes + (X - codes @ atoms) @ atoms.T / curvature
        codes = moved - np.clip(moved, -alpha / curvature, alpha / curvature)
    violations = kkt_violations(X, atoms, codes, alpha, positive=False)
    assert (violations / np.abs(X @ atoms.T).max(axis=1)).max() > 1e-8


@pytest.mark.parametrize("solver", L1_SOLVERS)
@given(problem=problems, weight=st.sampled_from([0.3, 0.99, 1.001]), positive=st.booleans())
def test_a_row_is_zero_if_its_largest_correlation_is_at_most_alpha_and_only_then(
    solver, problem, weight, positive
):
    X, atoms = problem
    correlations = X.astype(np.float64) @ atoms.T.astype(np.float64)
    tops = (correlations if positive else np.abs(correlations)).max(axis=1)
    assume(tops.max() > 1e-3 * np.linalg.norm(X) * np.linalg.norm(atoms))
    alpha = weight * tops.max()
    codes = sparse_code(X, atoms, alpha=alpha, positive=positive, solver=solver, max_iter=10**5)
    assert not codes[tops < 0.9999 * alpha].any()
    assert codes[tops > 1.0001 * alpha].any(axis=1).all()


@pytest.mark.parametrize("solver", L1_SOLVERS)
def test_at_its_largest_correlation_a_row_is_zero(solver):
    X = np.array([[0.3, -0.7], [0.1, 0.2]])
    assert not sparse_code(X, np.eye(2), alpha=0.7, solver=solver).any()


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("solver", L1_SOLVERS)
@pytest.mark.parametrize("twist", ["none", "duplicate atoms", "similar atoms"])
def test_objective_is_that_of_scikit_learns_coordinate_descent(solver, twist, positive):
    X, atoms = make_problem(0, 20, 10, 25, twist=twist)
    alpha = 0.1 * largest_correlation(X, atoms)
    reference = Lasso(alpha / 10, fit_intercept=False, positive=positive, tol=1e-12, max_iter=10**6)
    expected = objectives(X, atoms, reference.fit(atoms.T, X.T).coef_, alpha)
    found = sparse_code(
        X, atoms, alpha=alpha, positive=positive, solver=solver, tol=1e-9, max_iter=10**5
    )
    assert_allclose(objectives(X, atoms, found, alpha), expected, rtol=1e-9)


@pytest.mark.parametrize("solver", L1_SOLVERS)
@pytest.mark.parametrize("shape", [(12, 6), (10, 25), (1, 5), (6, 1)])
def test_codes_are_those_of_scikit_learns_lars(solver, shape):
    n_features, n_atoms = shape
    X, atoms = make_problem(6, 10, n_features, n_atoms)
    alpha = 0.1 * largest_correlation(X, atoms)
    reference = LassoLars(alpha / n_features, fit_intercept=False)
    expected = np.reshape(reference.fit(atoms.T, X.T).coef_, (10, n_atoms))
    found = sparse_code(X, atoms, alpha=alpha, solver=solver, tol=1e-11, max_iter=10**5)
    assert_allclose(found, expected, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("solver", L1_SOLVERS)
def test_objective_is_that_of_a_general_optimiser(solver, positive):
    X, atoms = make_problem(1, 3, 4, 5)
    alpha = 0.4
    found = sparse_code(X, atoms, alpha=alpha, positive=positive, solver=solver, tol=1e-10)

    def split_objective(parts, x):  # a = up - down with up, down >= 0 makes it smooth
        up, down = parts[:5], parts[5:]
        rest = (up - down) @ atoms - x
        gradient = atoms @ rest
        value = 0.5 * rest @ rest + alpha * parts.sum()
        return value, np.concatenate([gradient + alpha, alpha - gradient])

    bounds = [(0, None)] * 5 + [(0, 0 if positive else None)] * 5
    for x, value in zip(X, objectives(X, atoms, found, alpha), strict=True):
        best = minimize(
            split_objective,
            np.zeros(10),
            (x,),
            jac=True,
            bounds=bounds,
            options={"ftol": 1e-15, "gtol": 1e-12},
        )
        assert value == pytest.approx(best.fun, rel=1e-8)


@pytest.mark.parametrize("solver", L1_SOLVERS)
def test_without_a_penalty_it_is_least_squares(solver):
    X, atoms = make_problem(2, 6, 9, 4)
    codes = sparse_code(X, atoms, alpha=0.0, solver=solver, tol=1e-10, max_iter=10**5)
    assert_allclose(codes, np.linalg.lstsq(atoms.T, X.T)[0].T, rtol=1e-6)


@pytest.mark.parametrize("solver", L1_SOLVERS)
def test_positive_codes_without_a_penalty_are_non_negative_least_squares(solver):
    X, atoms = make_problem(7, 10, 9, 6)
    codes = sparse_code(X, atoms, alpha=0, positive=True, solver=solver, tol=1e-10, max_iter=10**5)
    assert_allclose(codes, [nnls(atoms.T, x)[0] for x in X], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_omp_takes_the_atoms_that_scikit_learn_takes(dtype):
    X, atoms = make_problem(3, 30, 12, 40)
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)  # scikit-learn's needs unit atoms
    X, atoms = X.astype(dtype), atoms.astype(dtype)
    for n_nonzero in (1, 3, 8):
        codes = sparse_code(X, atoms, penalty="top_k", n_nonzero=n_nonzero)
        expected = orthogonal_mp(atoms.T, X.T, n_nonzero_coefs=n_nonzero).T
        assert_allclose(codes, expected, atol=2e3 * np.finfo(dtype).eps)
        gram, targets = atoms @ atoms.T, atoms @ X.T
        expected = orthogonal_mp_gram(gram, targets, n_nonzero_coefs=n_nonzero).T
        assert_allclose(codes, expected, atol=2e3 * np.finfo(dtype).eps)


def test_omp_does_not_prefer_long_atoms():
    X, atoms = make_problem(4, 20, 8, 12)
    lengths = 10.0 ** np.random.default_rng(0).integers(-2, 3, (12, 1))
    unit, any_norm = (
        sparse_code(X, a, penalty="top_k", n_nonzero=3) for a in (atoms, lengths * atoms)
    )
    assert_allclose(any_norm * lengths.T, unit, rtol=1e-6)


@given(problem=problems, n_nonzero=st.integers(1, 20))
def test_omp_keeps_to_its_number_and_fits_its_support(problem, n_nonzero):
    X, atoms = problem
    assume(n_nonzero <= len(atoms))
    codes = sparse_code(X, atoms, penalty="top_k", n_nonzero=n_nonzero)
    assert ((codes != 0).sum(axis=1) <= n_nonzero).all()
    rest = X.astype(np.float64) - codes.astype(np.float64) @ atoms
    on_support = np.where(codes != 0, np.abs(rest @ atoms.T) / norms(atoms), 0).max(axis=1)
    assert np.all(on_support <= 2 * allowed_violations(X, atoms, codes))


def test_omp_ends_early_where_nothing_is_left():
    atoms = np.eye(4)
    codes = sparse_code(2 * atoms[:2], atoms, penalty="top_k", n_nonzero=3)
    assert_array_equal(codes, 2 * atoms[:2])


@pytest.mark.parametrize("solver", EXACT)
def test_atoms_that_differ_by_rounding_errors_do_not_send_it_round_in_circles(solver):
    s, h = 0.5**0.5, 1e-8
    atoms = [[s, -0.8 * h, -s], [s, 2 * h, s], [0.6 * h, 0.5 * h, -1], [-0.8 * h, -s, s]]
    codes = sparse_code([[0, 0, 2.0]], atoms, alpha=0.1, solver=solver)
    assert_allclose(codes, [[0, 0, -1.9, 0]], atol=1e-6)


@pytest.mark.parametrize("solver", EXACT)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_short_atoms_are_not_lost_beside_long_ones(solver, dtype):
    for seed in range(60):
        rng = np.random.default_rng(seed)
        atoms = rng.standard_normal((20, 10)) * 10.0 ** rng.integers(-2, 3, (20, 1))
        X, atoms = rng.standard_normal((3, 10)).astype(dtype), atoms.astype(dtype)
        codes, report = sparse_code(
            X, atoms, alpha=0.0, positive=True, solver=solver, return_report=True
        )
        assert report.n_unconverged == 0
        best = [nnls(atoms.T.astype(np.float64), x.astype(np.float64))[1] ** 2 / 2 for x in X]
        energy = (X.astype(np.float64) ** 2).sum(axis=1) / 2
        assert np.all(objectives(X, atoms, codes, 0.0) - best <= 1e-6 * energy)


def test_a_thousand_atoms_in_few_dimensions_are_no_trouble():
    X, atoms = make_problem(5, 40, 30, 1000)
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    for solver in EXACT:
        codes = sparse_code(X, atoms, alpha=1e-3, solver=solver)
        violations = kkt_violations(X, atoms, codes, 1e-3, positive=False)
        assert np.all(violations <= allowed_violations(X, atoms, codes))
        assert (codes != 0).sum(axis=1).max() <= 30


@pytest.mark.slow
@pytest.mark.parametrize("solver", EXACT)
@settings(max_examples=2000)
@given(
    seed=st.integers(0, 10**6),
    shape=st.tuples(st.integers(1, 6), st.integers(1, 40), st.integers(1, 100)),
    twist=st.sampled_from(TWISTS),
    scale=st.sampled_from([1e-6, 1.0, 1e6]),
    dtype=st.sampled_from([np.float32, np.float64]),
    weight=weights,
    positive=st.booleans(),
)
def test_exact_solvers_meet_the_kkt_conditions_on_larger_problems_or_say_so(
    solver, seed, shape, twist, scale, dtype, weight, positive
):
    X, atoms = make_problem(seed, *shape, twist=twist, scale=scale, dtype=dtype)
    alpha = weight * largest_correlation(X, atoms)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        codes, report = sparse_code(
            X, atoms, alpha=alpha, positive=positive, solver=solver, return_report=True
        )
    violations = kkt_violations(X, atoms, codes, alpha, positive)
    unsolved = np.count_nonzero(violations > 1.5 * allowed_violations(X, atoms, codes))
    assert unsolved <= report.n_unconverged
    # A Gram matrix in float32 can not tell atoms that hardly differ apart, which only matters
    # where the penalty leaves that to the data.
    assert (dtype == np.float32 and weight < 0.01) or report.n_unconverged == 0
