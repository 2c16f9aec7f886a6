"""Codes of rows with missing values, and of rows that are tied to each other."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize, nnls
from scipy.sparse import csr_array
from sklearn.linear_model import Lasso

from skatoms.basis._couplings import graph_laplacian
from skatoms.coding import L0, L1, ElasticNet, GroupL1, Ridge, TopK, sparse_code
from skatoms.coding._encode import Pull, Ties, encode, encode_masked, encode_tied

ALPHA = 0.2


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X, atoms = rng.standard_normal((6, 8)), rng.standard_normal((5, 8))
    affinity = np.triu(rng.random((6, 6)) * (rng.random((6, 6)) < 0.6), 1)
    laplacian = graph_laplacian(affinity + affinity.T)
    return X, atoms, laplacian


@pytest.mark.parametrize(
    "penalty", [L1(), L1(positive=True), ElasticNet(0.5), Ridge(), GroupL1(2)], ids=str
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_missing_entries_are_as_if_they_had_never_been(problem, penalty, dtype):
    X, atoms = (part.astype(dtype) for part in problem[:2])
    X[np.random.default_rng(1).random(X.shape) < 0.3] = np.nan
    codes, report = encode_masked(X, atoms, alpha=ALPHA, penalty=penalty)
    assert report.n_unconverged == 0
    assert codes.dtype == dtype
    for x, code in zip(X, codes, strict=True):
        seen = ~np.isnan(x)
        expected = sparse_code(x[None, seen], atoms[:, seen], alpha=ALPHA, penalty=penalty)[0]
        assert_allclose(code, expected, atol=1e-4 if dtype == np.float32 else 1e-5)


def test_a_row_of_which_nothing_is_known_has_code_zero(problem):
    X = np.full((1, 8), np.nan)
    codes, report = encode_masked(X, problem[1], alpha=ALPHA, penalty=L1())
    assert not codes.any()
    assert report.n_unconverged == 0


def joint_objective(X, atoms, laplacian, weights, codes, l1=ALPHA, l2=0.0):
    rest = X - codes @ atoms
    each = 0.5 * (rest**2).sum(axis=1) + (l1 * np.abs(codes) + l2 / 2 * codes**2).sum(axis=1)
    return weights @ each + 0.5 * np.vdot(codes, laplacian @ codes)


@pytest.mark.parametrize("weighted", [False, True])
def test_tied_codes_minimise_the_joint_objective(problem, weighted):
    X, atoms, laplacian = problem
    weights = np.arange(1.0, 7.0) if weighted else np.ones(6)
    ties = Ties.of(laplacian, weights)
    codes, report = encode_tied(X, atoms, ties, alpha=ALPHA, penalty=L1())
    assert report.n_unconverged == 0

    def parts(both):  # the positive and the negative part of the codes
        return both.reshape(2, 6, 5)[0] - both.reshape(2, 6, 5)[1]

    def objective(both):
        smooth = joint_objective(X, atoms, laplacian, weights, parts(both), l1=0)
        return smooth + ALPHA * (weights[:, None] * both.reshape(2, 6, 5)).sum()

    start = np.full(60, 0.1)
    best = minimize(
        objective, start, bounds=[(0, None)] * 60, options={"maxiter": 10_000, "maxfun": 10**7}
    )
    reached = joint_objective(X, atoms, laplacian, weights, codes)
    assert reached <= best.fun + 1e-9 * abs(best.fun)
    assert_allclose(codes, parts(best.x), atol=2e-3)


def test_tied_ridge_codes_solve_the_joint_linear_system(problem):
    X, atoms, laplacian = problem
    codes, _ = encode_tied(X, atoms, Ties.of(laplacian, np.ones(6)), alpha=ALPHA, penalty=Ridge())
    gram = atoms @ atoms.T + ALPHA * np.eye(5)
    system = np.kron(np.eye(6), gram) + np.kron(laplacian.toarray(), np.eye(5))
    expected = np.linalg.solve(system, (X @ atoms.T).ravel()).reshape(6, 5)
    assert_allclose(codes, expected, atol=1e-5)


def test_tied_non_negative_codes_are_those_of_the_stacked_least_squares(problem):
    X, atoms, laplacian = problem
    ties = Ties.of(laplacian, np.ones(6))
    codes, _ = encode_tied(X, atoms, ties, alpha=0.0, penalty=L1(positive=True))
    values, vectors = np.linalg.eigh(laplacian.toarray())
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    stacked = np.vstack([np.kron(np.eye(6), atoms.T), np.kron(root, np.eye(5))])
    expected = nnls(stacked, np.concatenate([X.ravel(), np.zeros(30)]))[0].reshape(6, 5)
    assert_allclose(codes, expected, atol=1e-5)


def test_ties_and_missing_entries_go_together(problem):
    X, atoms, laplacian = problem
    X[0, :3] = X[4, 5] = np.nan
    codes, _ = encode_tied(X, atoms, Ties.of(laplacian, np.ones(6)), alpha=ALPHA, penalty=Ridge())
    system = np.kron(laplacian.toarray(), np.eye(5)) + ALPHA * np.eye(30)
    for i, x in enumerate(X):
        seen, block = ~np.isnan(x), slice(5 * i, 5 * i + 5)
        system[block, block] += atoms[:, seen] @ atoms[:, seen].T
    targets = np.nan_to_num(X) @ atoms.T
    expected = np.linalg.solve(system, targets.ravel()).reshape(6, 5)
    assert_allclose(codes, expected, atol=1e-5)


@pytest.mark.parametrize("penalty", [L1(), Ridge(), GroupL1(2)], ids=str)
def test_a_pull_is_like_a_stacked_row_of_what_is_pulled_to(problem, penalty):
    X, atoms, _ = problem
    towards = np.random.default_rng(2).standard_normal((6, 5))
    codes, _ = encode(X, atoms, alpha=ALPHA, penalty=penalty, pull=Pull(4.0, towards))
    stacked = np.hstack([X, 2 * towards])
    expected = sparse_code(stacked, np.hstack([atoms, 2 * np.eye(5)]), alpha=ALPHA, penalty=penalty)
    assert_allclose(codes, expected, atol=1e-5)


@pytest.fixture
def gaps(problem):
    """The rows of the problem, some entries of each missing, but for the last row."""
    X = problem[0].copy()
    missing = np.random.default_rng(1).random(X.shape) < 0.3
    missing[:5, 0], missing[5] = True, False
    return np.where(missing, np.nan, X)


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_codes_of_rows_with_gaps_are_a_lasso_on_what_is_known(problem, gaps, positive, dtype):
    atoms = problem[1]
    codes, _ = encode_masked(
        gaps.astype(dtype), atoms.astype(dtype), alpha=ALPHA, penalty=L1(positive)
    )
    for x, code in zip(gaps, codes, strict=True):
        seen = ~np.isnan(x)
        peer = Lasso(ALPHA / seen.sum(), positive=positive, fit_intercept=False, tol=1e-14)
        expected = peer.fit(atoms[:, seen].T, x[seen]).coef_
        assert_allclose(code, expected, atol=1e-3 if dtype == np.float32 else 1e-5)


def test_a_row_without_gaps_has_the_code_it_has_among_others(problem, gaps):
    X, atoms, _ = problem
    codes, _ = encode_masked(gaps, atoms, alpha=ALPHA, penalty=L1())
    alone = sparse_code(X[5:], atoms, alpha=ALPHA)
    assert_allclose(codes[5], alone[0], atol=1e-5)


@pytest.mark.parametrize("start", ["sparse", "dense", "far"])
@pytest.mark.parametrize("penalty", [L1(), GroupL1(2), Ridge()], ids=str)
def test_the_start_does_not_change_codes_of_rows_with_gaps(problem, gaps, start, penalty):
    settings = {"alpha": ALPHA, "penalty": penalty}
    expected, _ = encode_masked(gaps, problem[1], **settings)
    noise = np.random.default_rng(2).standard_normal((6, 5))
    start = {"sparse": csr_array(expected), "dense": expected + noise, "far": 30 * noise}[start]
    codes, report = encode_masked(gaps, problem[1], start=start, **settings)
    assert report.n_unconverged == 0
    assert_allclose(codes, expected, atol=1e-5)


def test_sparse_codes_of_rows_with_gaps_and_ties_are_the_dense_ones(problem, gaps):
    _, atoms, laplacian = problem
    settings = {"alpha": ALPHA, "penalty": L1()}
    ties = Ties.of(laplacian, np.ones(6))
    for found in (
        lambda output: encode_masked(gaps, atoms, output=output, **settings)[0],
        lambda output: encode_tied(gaps, atoms, ties, output=output, **settings)[0],
    ):
        assert_allclose(found("sparse").toarray(), found("dense"), rtol=0, atol=0)


def test_a_pull_on_rows_with_gaps_is_one_more_thing_to_explain(problem, gaps):
    towards = np.random.default_rng(2).standard_normal((6, 5))
    codes, _ = encode_masked(
        gaps, problem[1], alpha=ALPHA, penalty=Ridge(), pull=Pull(4.0, csr_array(towards))
    )
    for x, code, pulled_to in zip(gaps, codes, towards, strict=True):
        seen = problem[1][:, ~np.isnan(x)]
        system = seen @ seen.T + (ALPHA + 4) * np.eye(5)
        expected = np.linalg.solve(system, seen @ x[~np.isnan(x)] + 4 * pulled_to)
        assert_allclose(code, expected, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_weighted_ties_with_gaps_solve_the_joint_linear_system(problem, gaps, dtype):
    _, atoms, laplacian = problem
    weights = np.arange(1.0, 7.0)
    codes, _ = encode_tied(
        gaps.astype(dtype),
        atoms.astype(dtype),
        Ties.of(laplacian, weights),
        alpha=ALPHA,
        penalty=Ridge(),
    )
    system, targets = np.kron(laplacian.toarray(), np.eye(5)), np.empty(30)
    for i, (x, weight) in enumerate(zip(gaps, weights, strict=True)):
        seen, block = ~np.isnan(x), slice(5 * i, 5 * i + 5)
        gram = atoms[:, seen] @ atoms[:, seen].T + ALPHA * np.eye(5)
        system[block, block] += weight * gram
        targets[block] = weight * atoms[:, seen] @ x[seen]
    expected = np.linalg.solve(system, targets).reshape(6, 5)
    assert_allclose(codes, expected, atol=1e-3 if dtype == np.float32 else 1e-5)


def test_weighted_non_negative_ties_are_a_stacked_least_squares(problem):
    X, atoms, laplacian = problem
    weights = np.arange(1.0, 7.0)
    ties = Ties.of(laplacian, weights)
    codes, _ = encode_tied(X, atoms, ties, alpha=0.0, penalty=L1(positive=True))
    values, vectors = np.linalg.eigh(laplacian.toarray())
    root = np.sqrt(np.maximum(values, 0))[:, None] * vectors.T
    rows = np.sqrt(weights)
    stacked = np.vstack([np.kron(np.diag(rows), atoms.T), np.kron(root, np.eye(5))])
    targets = np.concatenate([(rows[:, None] * X).ravel(), np.zeros(30)])
    assert_allclose(codes, nnls(stacked, targets)[0].reshape(6, 5), atol=1e-5)


def test_tied_group_codes_are_the_end_of_a_long_proximal_descent(problem):
    X, atoms, laplacian = problem
    ties = Ties.of(laplacian, np.ones(6))
    codes, _ = encode_tied(X, atoms, ties, alpha=ALPHA, penalty=GroupL1(2))
    expected, dense = np.zeros((6, 5)), laplacian.toarray()
    step = 1 / (np.linalg.norm(atoms, 2) ** 2 + np.linalg.norm(dense, 2))
    for _ in range(5000):
        gradient = (expected @ atoms - X) @ atoms.T + dense @ expected
        expected = expected - step * gradient
        for members in ([0, 1], [2, 3], [4]):
            lengths = np.linalg.norm(expected[:, members], axis=1, keepdims=True)
            expected[:, members] *= np.maximum(1 - step * ALPHA / lengths, 0)
    assert_allclose(codes, expected, atol=1e-5)


def test_ties_of_no_strength_leave_rows_to_themselves(problem):
    X, atoms, _ = problem
    codes, _ = encode_tied(
        X, atoms, Ties.of(csr_array((6, 6)), np.ones(6)), alpha=ALPHA, penalty=L1()
    )
    assert_allclose(codes, sparse_code(X, atoms, alpha=ALPHA), atol=1e-5)


@pytest.mark.parametrize("n", [1, 2, 3, 40])
def test_the_strength_of_ties_is_just_above_their_largest_eigenvalue(n):
    rng = np.random.default_rng(0)
    affinity, weights = np.triu(rng.random((n, n)), 1), rng.uniform(0.1, 3, n)
    laplacian = graph_laplacian(affinity + affinity.T)
    scaled = laplacian.toarray() / np.sqrt(np.outer(weights, weights))
    largest = np.linalg.eigvalsh(scaled)[-1]
    assert largest * (1 - 1e-12) <= Ties.of(laplacian, weights).strength <= 2 * largest + 1e-12


@pytest.mark.parametrize("penalty", [TopK(2), L0()], ids=str)
def test_what_counts_non_zeros_codes_rows_with_gaps(problem, gaps, penalty):
    atoms = problem[1]
    codes, _ = encode_masked(gaps, atoms, alpha=ALPHA, penalty=penalty)
    # What a single atom explains at least, wherever the missing values may be.
    gains = 0.5 * (np.nan_to_num(gaps) @ atoms.T) ** 2 / (atoms**2).sum(axis=1)
    worth = gains.max(axis=1) > (ALPHA if isinstance(penalty, L0) else 0)
    assert worth.sum() >= 3
    assert (codes[worth] != 0).any(axis=1).all()


@pytest.mark.parametrize("penalty", [TopK(2), L0()], ids=str)
def test_what_counts_non_zeros_codes_rows_that_are_hardly_tied(problem, penalty):
    X, atoms, laplacian = problem
    ties = Ties.of(1e-9 * laplacian, np.ones(6))
    codes, _ = encode_tied(X, atoms, ties, alpha=ALPHA, penalty=penalty)
    assert_allclose(codes, sparse_code(X, atoms, alpha=ALPHA, penalty=penalty), atol=1e-4)


@pytest.mark.parametrize("penalty", [TopK(2), L0()], ids=str)
def test_what_counts_non_zeros_never_gets_worse_from_a_start_with_gaps(problem, gaps, penalty):
    atoms = problem[1]
    rng = np.random.default_rng(3)
    start = rng.standard_normal((6, 5)) * (np.arange(5) < 2)

    def objectives(codes):
        errors = 0.5 * np.nansum((gaps - codes @ atoms) ** 2, axis=1)
        return errors + ALPHA * (codes != 0).sum(axis=1) * isinstance(penalty, L0)

    codes, _ = encode_masked(gaps, atoms, start=start, alpha=ALPHA, penalty=penalty)
    assert np.all(objectives(codes) <= objectives(start))


@pytest.mark.parametrize("kind", ["gaps", "ties"])
def test_usual_problems_in_single_precision_converge(kind):
    rng = np.random.default_rng(0)
    X, atoms = rng.standard_normal((200, 12)), rng.standard_normal((16, 12))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    single, settings = atoms.astype(np.float32), {"alpha": 0.1, "penalty": L1()}
    if kind == "gaps":
        X[rng.random(X.shape) < 0.3] = np.nan
        _, report = encode_masked(X.astype(np.float32), single, **settings)
    else:
        ties = Ties.of(
            graph_laplacian(np.diag(np.full(199, 0.5), 1) + np.diag([0.5] * 199, -1)), np.ones(200)
        )
        _, report = encode_tied(X.astype(np.float32), single, ties, **settings)
    assert report.n_unconverged == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_patterns", [1, 4, 300])
def test_rows_with_gaps_are_solved_where_the_penalty_is_weak(dtype, n_patterns):
    rng = np.random.default_rng(0)
    atoms = rng.standard_normal((60, 24))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    X = (rng.standard_normal((300, 60)) * (rng.random((300, 60)) < 0.05)) @ atoms
    X += 0.02 * rng.standard_normal(X.shape)
    gaps = rng.random((n_patterns, 24)) < np.linspace(0.1, 0.9, n_patterns)[:, None]
    X[gaps[np.arange(300) % n_patterns]] = np.nan
    settings = {"alpha": 1e-4, "penalty": L1()}
    codes, report = encode_masked(X.astype(dtype), atoms.astype(dtype), **settings)
    assert report.n_unconverged == 0
    assert codes.dtype == dtype
    rest = np.nan_to_num(X - codes @ atoms)
    left = rest @ atoms.T
    # The conditions of the lasso, from what is known: no slope is above alpha, those of non-zeros
    # are there.
    rounding = 1e-5 if dtype == np.float64 else 2e-4
    assert np.abs(left).max() <= 1e-4 + rounding
    assert_allclose(left[codes != 0], 1e-4 * np.sign(codes[codes != 0]), atol=rounding)
