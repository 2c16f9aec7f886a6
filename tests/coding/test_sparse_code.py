"""The entry to the coding layer: starts, outputs, reports, refusals."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import coo_array, csc_array, csr_array, csr_matrix
from sklearn.exceptions import ConvergenceWarning

from skatoms.coding import L1, CodingReport, Penalty, TopK, sparse_code

from .problems import allowed_violations, kkt_violations, make_problem, objectives

ALPHA = 0.7


@pytest.fixture(scope="module")
def problem():
    return make_problem(0, 300, 12, 30)


STARTS = {
    "the solution": lambda codes, rng: codes,
    "a solution for other atoms": lambda codes, rng: codes * rng.uniform(0.8, 1.2, codes.shape),
    "wrong signs": lambda codes, rng: -codes,
    "dense noise": lambda codes, rng: 5 * rng.standard_normal(codes.shape),
    "a far too large code": lambda codes, rng: 100 * codes,
    "CSR": lambda codes, rng: csr_array(codes),
    "CSC matrix": lambda codes, rng: csc_array(codes),
    "COO with duplicates": lambda codes, rng: coo_array(
        (np.ones(4), ([0, 0, 1, 1], [2, 2, 3, 3])), codes.shape
    ),
}


@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS)
@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("solver", ["active-set", "fista"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_start_does_not_change_the_answer(problem, start, positive, solver, dtype):
    X, atoms = (part.astype(dtype) for part in problem)
    settings = {"alpha": ALPHA, "positive": positive, "solver": solver, "max_iter": 50_000}
    cold = sparse_code(X, atoms, **settings)
    warm = sparse_code(X, atoms, codes_init=start(cold, np.random.default_rng(0)), **settings)
    assert warm.dtype == dtype
    violations = kkt_violations(X, atoms, warm, ALPHA, positive)
    assert np.all(violations <= 1.5 * allowed_violations(X, atoms, warm))
    expected = objectives(X, atoms, cold, ALPHA)
    tolerance = 1e-4 if dtype == np.float32 else 1e-6
    assert_allclose(objectives(X, atoms, warm, ALPHA), expected, rtol=tolerance)


def test_a_start_at_the_solution_is_kept(problem):
    codes = sparse_code(*problem, alpha=ALPHA)
    again, report = sparse_code(*problem, alpha=ALPHA, codes_init=codes, return_report=True)
    assert_array_equal(again, codes)
    assert report.n_iter == 0


@pytest.mark.parametrize(("penalty", "n_nonzero"), [("l1", None), ("top_k", 4)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_output_is_the_dense_one(problem, penalty, n_nonzero, dtype):
    X, atoms = (part.astype(dtype) for part in problem)
    settings = {"alpha": ALPHA, "penalty": penalty, "n_nonzero": n_nonzero}
    dense = sparse_code(X, atoms, **settings)
    sparse = sparse_code(X, atoms, output="sparse", **settings)
    assert isinstance(sparse, csr_array)
    assert dense.dtype == sparse.dtype == dtype
    assert sparse.indices.dtype == sparse.indptr.dtype == np.int32
    assert sparse.has_canonical_format
    assert np.all(sparse.data != 0)
    assert_array_equal(sparse.toarray(), dense)


def test_penalties_may_be_named_or_given_as_objects(problem):
    for named, given in (
        ({"penalty": "l1"}, L1()),
        ({"penalty": "l1", "positive": True}, L1(positive=True)),
        ({"penalty": "top_k", "n_nonzero": 3}, TopK(3)),
    ):
        expected = sparse_code(*problem, alpha=ALPHA, **named)
        assert_array_equal(sparse_code(*problem, alpha=ALPHA, penalty=given), expected)


def test_a_new_penalty_is_one_class(problem):
    class Ridge(Penalty):
        solvers = ("fista",)

        def value(self, codes):
            return (codes**2).sum(axis=1) / 2

        def prox(self, values, weight):
            return values / (1 + weight)

        def residual(self, codes, left, alpha):
            return np.abs(left - alpha * codes)

    X, atoms = problem
    codes = sparse_code(X, atoms, alpha=ALPHA, penalty=Ridge(), tol=1e-10)
    expected = np.linalg.solve(atoms @ atoms.T + ALPHA * np.eye(30), atoms @ X.T).T
    assert_allclose(codes, expected, atol=1e-8)


def test_the_report_tells_how_it_went(problem):
    _, report = sparse_code(*problem, alpha=ALPHA, return_report=True)
    assert isinstance(report, CodingReport)
    assert report.solver == "active-set"
    assert 1 < report.n_iter < 30
    assert 0 <= report.residual <= 1e-6
    assert (report.n_unconverged, report.n_rows, report.tolerance) == (0, 300, 1e-6)
    single = [part.astype(np.float32) for part in problem]
    _, report = sparse_code(*single, alpha=ALPHA, return_report=True)
    assert report.tolerance == 50 * np.finfo(np.float32).eps


@pytest.mark.parametrize("solver", ["active-set", "homotopy", "fista"])
def test_one_warning_names_the_rows_that_did_not_converge_and_the_worst(problem, solver):
    X, atoms = problem
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        codes, report = sparse_code(
            X, atoms, alpha=ALPHA, solver=solver, max_iter=2, return_report=True
        )
    (warning,) = caught
    assert warning.category is ConvergenceWarning
    assert warning.filename == __file__
    scales = (np.abs(X @ atoms.T) / np.linalg.norm(atoms, axis=1)).max(axis=1)
    relative = kkt_violations(X, atoms, codes, ALPHA, False) / scales
    unconverged = int((relative > 1e-6).sum())
    assert unconverged > 0
    assert report.n_unconverged == unconverged
    assert report.residual == pytest.approx(relative.max())
    assert f"{unconverged} of 300 rows did not converge" in str(warning.message)
    assert f"residual is {relative.max():.1e}" in str(warning.message)


@pytest.mark.parametrize(("dtype", "size"), [(np.float32, 1e25), (np.float64, 1e200)])
@pytest.mark.parametrize(
    "settings",
    [{"solver": solver} for solver in L1().solvers] + [{"penalty": "top_k", "n_nonzero": 2}],
)
@pytest.mark.filterwarnings("ignore:invalid:RuntimeWarning")  # scikit-learn's finiteness check
def test_what_the_precision_can_not_hold_is_refused_by_name(problem, dtype, size, settings):
    X, atoms = (part.astype(dtype) for part in problem)
    for scale_atoms in (size, 1 / size):
        with pytest.raises(ValueError, match="components has atoms with a largest entry of"):
            sparse_code(X, dtype(scale_atoms) * atoms, alpha=ALPHA, **settings)
    largest = np.finfo(dtype).max / 4 / np.abs(X).max()
    with pytest.raises(ValueError, match="X has values up to"):
        sparse_code(largest * X, 100 * atoms, alpha=ALPHA, **settings)


def test_a_sparse_start_is_neither_changed_nor_in_need_of_being_canonical(problem):
    data, columns, starts = np.ones(4), np.array([2, 2, 3, 3]), np.array([0, 2, 4] + 298 * [4])
    for array in (data, columns, starts):
        array.flags.writeable = False
    start = csr_array((data, columns, starts), (300, 30))
    codes = sparse_code(*problem, alpha=ALPHA, codes_init=start)
    assert_array_equal(start.data, np.ones(4))
    expected = sparse_code(*problem, alpha=ALPHA, output="sparse")
    assert_allclose(codes, expected.toarray(), atol=1e-5)
    halves = csr_array(
        (np.repeat(expected.data / 2, 2), np.repeat(expected.indices, 2), 2 * expected.indptr),
        expected.shape,
    )
    _, report = sparse_code(*problem, alpha=ALPHA, codes_init=halves, return_report=True)
    assert report.n_iter == 0


def test_a_solver_refuses_a_penalty_that_it_was_not_made_for(problem):
    class Mistaken(L1):
        solvers = ("omp", "fista")

    assert sparse_code(*problem, alpha=ALPHA, penalty=Mistaken()).any()
    with pytest.raises(ValueError, match="solver='omp' can not solve"):
        sparse_code(*problem, alpha=ALPHA, penalty=Mistaken(), solver="omp")


def test_other_numbers_are_converted_to_float64(problem):
    X, atoms = (np.round(3 * part) for part in problem)
    expected = sparse_code(X, atoms, alpha=ALPHA)
    assert expected.dtype == np.float64
    for kind in (int, object, np.float16):
        assert_array_equal(sparse_code(X.astype(kind), atoms, alpha=ALPHA), expected)


def test_atoms_are_taken_in_the_precision_of_the_data(problem):
    X, atoms = problem
    codes = sparse_code(X.astype(np.float32), atoms, alpha=ALPHA)
    assert codes.dtype == np.float32
    assert_array_equal(
        codes, sparse_code(X.astype(np.float32), atoms.astype(np.float32), alpha=ALPHA)
    )


def test_memory_order_does_not_matter(problem):
    X, atoms = problem
    expected = sparse_code(X, atoms, alpha=ALPHA)
    assert_array_equal(sparse_code(np.asfortranarray(X), atoms, alpha=ALPHA), expected)
    wide = np.repeat(X, 2, axis=1)[:, ::2]
    assert_array_equal(sparse_code(wide, np.asfortranarray(atoms), alpha=ALPHA), expected)


def test_rows_are_independent_of_each_other(problem):
    X, atoms = problem
    codes = sparse_code(X, atoms, alpha=ALPHA)
    assert_allclose(sparse_code(X[123:124], atoms, alpha=ALPHA)[0], codes[123], atol=1e-12)


def test_a_broken_sparse_start_is_refused(problem):
    start = csr_array(np.ones((300, 30)))
    start.indices[0] = 10**8
    with pytest.raises(ValueError, match="indices"):
        sparse_code(*problem, codes_init=start)


GOOD = {"X": np.eye(3), "components": np.eye(3)}
REFUSED = [
    ({"X": np.zeros(3)}, "2D array"),
    ({"X": np.zeros((0, 3))}, "0 sample"),
    ({"X": np.zeros((2, 0))}, "0 feature"),
    ({"X": np.full((2, 3), np.nan)}, "X contains NaN"),
    ({"X": np.full((2, 3), np.inf)}, "X contains infinity"),
    ({"X": np.array([["a", "b", "c"]])}, "could not convert"),
    ({"X": csr_matrix(np.eye(3))}, "[Ss]parse"),
    ({"components": np.eye(2)}, "components has 2 features and X has 3"),
    ({"components": np.zeros((0, 3))}, "0 sample"),
    ({"components": np.full((2, 3), np.nan)}, "components contains NaN"),
    ({"components": csr_matrix(np.eye(3))}, "[Ss]parse"),
    ({"alpha": -0.1}, r"alpha must be finite and at least 0, got -0\.1"),
    ({"alpha": np.nan}, "alpha must be finite"),
    ({"alpha": np.inf}, "alpha must be finite"),
    ({"alpha": 10**400}, "alpha must be finite"),
    ({"positive": "no"}, "positive must be True or False, got 'no'"),
    ({"solver": ["fista"]}, "solver must be 'auto' or one of"),
    ({"alpha": "1"}, "alpha must be a number of type Real, got '1'"),
    ({"alpha": None}, "alpha must be a number"),
    ({"tol": -1}, "tol must be finite and at least 0"),
    ({"tol": True}, "tol must be a number"),
    ({"max_iter": 0}, "max_iter must be finite and at least 1, got 0"),
    ({"max_iter": 1.5}, "max_iter must be a number of type Integral"),
    ({"solver": "cd"}, "solver must be 'auto' or one of .*, got 'cd'"),
    ({"solver": "omp"}, r"solver='omp' can not solve L1\(\): use 'auto'"),
    ({"penalty": "l2"}, "penalty must be one of .* or a penalty object .*, got 'l2'"),
    ({"penalty": L1}, "penalty must be"),
    ({"penalty": "top_k"}, "needs n_nonzero"),
    ({"penalty": "top_k", "n_nonzero": 0}, "n_nonzero=0 must be at least 1"),
    ({"penalty": "top_k", "n_nonzero": 4}, "n_nonzero=4 .* at most the number of atoms, 3"),
    ({"penalty": "top_k", "n_nonzero": 1.0}, "n_nonzero must be an integer"),
    ({"penalty": "top_k", "n_nonzero": 1, "positive": True}, "positive does not go with"),
    ({"penalty": "top_k", "n_nonzero": 1, "solver": "fista"}, "solver='fista' can not solve TopK"),
    ({"n_nonzero": 2}, "n_nonzero does not go with penalty='l1'"),
    ({"penalty": L1(), "positive": True}, "positive does not go with"),
    ({"output": "csc"}, "output must be 'dense' or 'sparse', got 'csc'"),
    ({"codes_init": np.zeros((3, 2))}, r"codes_init has shape \(3, 2\), .* need \(3, 3\)"),
    ({"codes_init": np.full((3, 3), np.nan)}, "codes_init contains NaN"),
    ({"codes_init": np.zeros((3, 3)), "solver": "homotopy"}, "codes_init does not go with"),
    ({"n_jobs": 0}, "n_jobs"),
    ({"n_jobs": "two"}, "n_jobs"),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED)
def test_bad_input_is_refused_with_its_name(changes, message):
    arguments = GOOD | changes
    with pytest.raises((ValueError, TypeError), match=message):
        sparse_code(arguments.pop("X"), arguments.pop("components"), **arguments)
