"""Codes of rows with missing values, and of rows that are tied to each other."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize, nnls

from skatoms.basis._couplings import graph_laplacian
from skatoms.coding import L1, ElasticNet, GroupL1, Ridge, sparse_code
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
