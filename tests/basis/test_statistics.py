"""Sufficient statistics, the atom step, and the order of the samples."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.sparse import csr_array, random_array

from skatoms.basis import UnitNorm
from skatoms.basis._alternation import BasisProblem, Stream, learn
from skatoms.basis._atoms import AtomRules, normalised, random_atoms, update_atoms
from skatoms.basis._samples import shuffled
from skatoms.basis._statistics import gather
from skatoms.coding import L1

PLAIN = AtomRules(shape=None, constraint=UnitNorm())


def basis_problem(alpha, positive=False):
    return BasisProblem(L1(positive), alpha, PLAIN, coupling=None, n_jobs=None)


@pytest.fixture(params=[np.float32, np.float64])
def problem(request):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((70, 6)).astype(request.param)
    codes = random_array((70, 9), density=0.3, rng=rng, format="csr", dtype=np.float64)
    weights = rng.uniform(size=70)
    return codes.astype(request.param), X, weights


def test_statistics_are_the_weighted_sums(problem):
    codes, X, weights = problem
    found = gather(codes, X, weights, 1.5, n_jobs=None)
    a, x = codes.toarray().astype(float), X.astype(float)
    assert_allclose(found.codes_codes, a.T @ (weights[:, None] * a), rtol=1e-6, atol=1e-7)
    assert_allclose(found.codes_data, a.T @ (weights[:, None] * x), rtol=1e-6, atol=1e-6)
    assert_allclose(found.data_energy, weights @ (x**2).sum(axis=1))
    assert found.penalty == 1.5
    assert_allclose(found.weight, weights.sum())
    assert_array_equal(found.unused(), np.flatnonzero(~a.any(axis=0)))
    use = (weights[:, None] * a**2).sum(axis=0)
    assert_array_equal(found.unused(0.5), np.flatnonzero(use <= 0.5 * use.max()))


def test_the_objective_from_statistics_is_the_objective_from_samples(problem):
    codes, X, weights = problem
    atoms = normalised(np.random.default_rng(1).standard_normal((9, 6)))
    a, x = codes.toarray().astype(float), X.astype(float)
    each = 0.5 * ((x - a @ atoms) ** 2).sum(axis=1) + 0.2 * np.abs(a).sum(axis=1)
    problem = basis_problem(0.2)
    found = problem.objective(problem.gather(codes, X, weights), atoms)
    assert_allclose(found, np.average(each, weights=weights), rtol=1e-6)


def test_statistics_add_over_parts_and_can_be_taken_back(problem):
    codes, X, weights = problem
    whole = gather(codes, X, weights, 0.0, n_jobs=2)
    part = gather(codes[:40], X[:40], weights[:40], 0.0, n_jobs=1)
    rest = gather(codes[40:], X[40:], weights[40:], 0.0, n_jobs=1)
    for name in ("codes_codes", "codes_data", "data_energy", "penalty", "weight"):
        assert_allclose(getattr(part + rest, name), getattr(whole, name), rtol=1e-5)
        assert_allclose(getattr(whole - part, name), getattr(rest, name), rtol=1e-4, atol=1e-5)


def test_the_atom_step_is_the_best_unit_vector_for_a_single_atom():
    rng = np.random.default_rng(0)
    X, codes = rng.standard_normal((30, 4)), rng.standard_normal((30, 1))
    statistics = gather(csr_array(codes), X, np.ones(30), 0.0, n_jobs=None)
    found = update_atoms(statistics, normalised(np.ones((1, 4))), PLAIN)

    def error(direction):
        return ((X - codes * direction / np.linalg.norm(direction)) ** 2).sum()

    best = minimize(error, np.ones(4), tol=1e-12).x
    assert_allclose(found[0], best / np.linalg.norm(best), atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("batch_size", [10, 33, 200])
@pytest.mark.parametrize("positive", [False, True])
def test_no_half_step_raises_the_objective(dtype, batch_size, positive):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 12)).astype(dtype)
    samples = shuffled(X, rng.uniform(size=200), np.random.RandomState(0))
    atoms = random_atoms(samples, 20, np.random.RandomState(0), PLAIN)
    problem, parts = basis_problem(0.4, positive), samples.batches(batch_size)
    passes = learn(problem, samples, parts, atoms, forgetting=0.0, n_online=0)
    steps = np.concatenate([next(passes).steps for _ in range(30)])
    slack = 1e-5 if dtype == np.float32 else 1e-10
    assert np.all(np.diff(steps) <= slack * steps[:-1])
    assert steps[-1] < 0.9 * steps[0]


@pytest.mark.parametrize("n_online", [1, 2, 3])
def test_no_half_step_raises_the_objective_after_the_online_passes(n_online):
    X = np.random.default_rng(0).standard_normal((300, 12))
    samples = shuffled(X, np.ones(300), np.random.RandomState(0))
    atoms = random_atoms(samples, 20, np.random.RandomState(0), PLAIN)
    passes = learn(basis_problem(0.4), samples, samples.batches(50), atoms, 5.0, n_online)
    online = [next(passes).objective for _ in range(n_online)]
    steps = np.concatenate([online[-1:]] + [next(passes).steps for _ in range(20)])
    assert np.all(np.diff(steps) <= 1e-10 * steps[:-1])
    assert np.all(np.diff(online) < 0)


@pytest.mark.parametrize("forgetting", [0.0, 1.0, 5.0])
def test_older_steps_count_less_by_the_power_of_their_age(problem, forgetting):
    newest = gather(*problem, 0.0, n_jobs=None)
    stream = Stream(forgetting)
    for _ in range(5):
        statistics = stream.advance(newest)
    expected = sum((step / 5) ** forgetting for step in range(1, 6))
    assert_allclose(statistics.weight, expected * newest.weight)
    assert_allclose(statistics.codes_codes, expected * newest.codes_codes)


def test_the_random_order_belongs_to_the_values_and_not_to_the_places():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 3))
    samples = shuffled(X, weights := rng.uniform(size=50), np.random.RandomState(3))
    turned = shuffled(X[::-1], weights[::-1], np.random.RandomState(3))
    assert_array_equal(X[samples.rows], X[::-1][turned.rows])
    assert_array_equal(samples.weights, turned.weights)
    other = shuffled(X, weights, np.random.RandomState(4))
    assert not np.array_equal(samples.rows, other.rows)


def test_the_random_order_is_the_same_in_both_precisions_and_for_both_zeros():
    X = np.random.default_rng(0).integers(-3, 4, (40, 5)).astype(float)
    orders = [
        shuffled(data, np.ones(40), np.random.RandomState(0)).rows
        for data in (X, X.astype(np.float32), np.where(X == 0, -0.0, X))
    ]
    assert_array_equal(orders[0], orders[1])
    assert_array_equal(orders[0], orders[2])


def test_equal_rows_become_one_sample_with_the_sum_of_their_weights():
    X = np.random.default_rng(0).standard_normal((6, 3))
    X[1] = X[4] = X[2]
    samples = shuffled(X, np.array([1.0, 2, 3, 0, 5, 6]), np.random.RandomState(0))
    assert sorted(samples.rows) == [0, 1, 5]
    assert samples.weights[samples.rows == 1] == 10


def test_atoms_start_on_samples_as_long_as_there_are_any():
    X = np.concatenate([np.zeros((1, 4)), np.eye(4)])
    for seed in range(10):
        rng = np.random.RandomState(seed)
        atoms = random_atoms(shuffled(X, np.ones(5), rng), 4, rng, PLAIN)
        assert_array_equal(np.sort(atoms @ np.eye(4), axis=0)[-1], np.ones(4))


@pytest.mark.parametrize("size", [1, 3, 7, 10, 99])
def test_batches_are_about_equal_and_cover_all_samples(size):
    samples = shuffled(np.eye(10), np.ones(10), np.random.RandomState(0))
    batches = samples.batches(size)
    assert_array_equal(np.concatenate([np.arange(10)[part] for part in batches]), np.arange(10))
    lengths = [part.stop - part.start for part in batches]
    assert max(lengths) <= size
    assert max(lengths) - min(lengths) <= 1
