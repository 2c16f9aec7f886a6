"""Threads: the same results for any number, safe beside other threads, processes and BLAS."""

import os
import signal
import subprocess
import sys
import threading
import time

import joblib
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import issparse
from threadpoolctl import threadpool_info, threadpool_limits

from skatoms.backend import product, run_chunks, single_threaded_blas
from skatoms.coding import L1, sparse_code


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    return rng.standard_normal((700, 20)), rng.standard_normal((40, 20))


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 5, -1])
def test_chunks_cover_everything_and_come_back_in_order(n_jobs):
    found = run_chunks(lambda start, stop: (start, stop), 10, 4, n_jobs)
    assert found == [(0, 4), (4, 8), (8, 10)]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_errors_of_a_chunk_come_out(n_jobs):
    def fail(start, stop):
        if start == 3:
            raise RuntimeError("chunk 3")

    with pytest.raises(RuntimeError, match="chunk 3"):
        run_chunks(fail, 10, 1, n_jobs)


def test_chunks_inside_chunks_run_in_the_thread_they_are_in():
    def inner(start, stop):
        return threading.get_ident()

    def outer(start, stop):
        return {threading.get_ident()} | set(run_chunks(inner, 4, 1, 2))

    assert all(len(threads) == 1 for threads in run_chunks(outer, 4, 1, 2))


def test_n_jobs_follows_joblib():
    def n_threads(n_jobs):
        barrier = threading.Barrier(3)

        def meet(start, stop):
            try:
                barrier.wait(timeout=0.5)
            except threading.BrokenBarrierError:
                return False
            return True

        return all(run_chunks(meet, 3, 1, n_jobs))

    assert n_threads(3)
    assert not n_threads(None)
    with joblib.parallel_config("threading", n_jobs=3):
        assert n_threads(None)


def test_products_are_the_same_for_any_number_of_threads():
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((1000, 30)), rng.standard_normal((30, 50))
    one = product(left, right, 1)
    assert_array_equal(one, product(left, right, 2))
    np.testing.assert_allclose(one, left @ right)


@pytest.mark.parametrize("solver", ["active-set", "homotopy", "fista"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_codes_are_the_same_for_any_number_of_threads(problem, solver, dtype):
    X, atoms = (part.astype(dtype) for part in problem)
    one = sparse_code(X, atoms, alpha=2, solver=solver, n_jobs=1)
    for n_jobs in (2, 3, -1):
        assert_array_equal(sparse_code(X, atoms, alpha=2, solver=solver, n_jobs=n_jobs), one)


@pytest.mark.parametrize(
    "settings",
    [
        {"output": "sparse"},
        {"positive": True},
        {"penalty": "top_k", "n_nonzero": 5},
        {"codes_init": np.random.default_rng(1).standard_normal((700, 40))},
        {"max_iter": 2},
    ],
    ids=lambda settings: "-".join(settings),
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_codes_and_reports_are_the_same_for_any_number_of_threads(problem, settings):
    def code(n_jobs):
        codes, report = sparse_code(*problem, n_jobs=n_jobs, return_report=True, **settings)
        return codes.toarray() if issparse(codes) else codes, report

    codes, report = code(1)
    for n_jobs in (2, -1):
        same_codes, same_report = code(n_jobs)
        assert_array_equal(same_codes, codes)
        assert same_report == report


def test_codes_are_computed_in_other_threads_if_n_jobs_says_so(problem):
    class Watched(L1):
        solvers = ("fista",)

        def prox(self, values, weight):
            seen.add(threading.get_ident())
            return super().prox(values, weight)

    for n_jobs in (1, 2):
        seen = set()
        sparse_code(*problem, alpha=2, penalty=Watched(), n_jobs=n_jobs)
        assert 1 <= len(seen) <= n_jobs
        assert (threading.get_ident() in seen) == (n_jobs == 1)


def test_blas_gets_its_threads_back(problem):
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        assert before
        with single_threaded_blas(), single_threaded_blas():
            assert set(blas_threads()) == {1}
        assert blas_threads() == before
        sparse_code(*problem, alpha=1, n_jobs=2)
        assert blas_threads() == before
        with pytest.raises(TypeError):
            run_chunks(lambda: None, 3, 1, 2)
        assert blas_threads() == before


def test_codes_in_concurrent_threads_do_not_disturb_each_other(problem):
    X, atoms = problem
    expected = sparse_code(X, atoms, alpha=1)
    found = [None] * 6
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()

        def work(i):
            for _ in range(3):
                found[i] = sparse_code(X, atoms, alpha=1, n_jobs=1 + i % 3)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=60)
        assert blas_threads() == before
    for codes in found:
        assert_array_equal(codes, expected)


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_codes_in_workers_of_joblib(problem, backend):
    X, atoms = problem
    call = joblib.delayed(sparse_code)
    found = joblib.Parallel(2, backend=backend)(
        call(X, atoms, alpha=alpha, n_jobs=2) for alpha in (1, 2, 3)
    )
    for alpha, codes in zip((1, 2, 3), found, strict=True):
        assert_array_equal(codes, sparse_code(X, atoms, alpha=alpha))


def test_read_only_and_memory_mapped_arrays_are_taken(problem, tmp_path):
    X, atoms = problem
    codes = sparse_code(X, atoms, alpha=1)
    arrays = []
    for name, array in (("X", X), ("atoms", atoms), ("codes", codes)):
        np.save(tmp_path / name, array)
        arrays.append(np.load(tmp_path / f"{name}.npy", mmap_mode="r"))
    for start in (None, arrays[2]):
        found = sparse_code(*arrays[:2], alpha=1, codes_init=start, n_jobs=2)
        np.testing.assert_allclose(found, codes, atol=1e-12)


FORK = """
import multiprocessing, os, sys
import numpy as np
from skatoms.coding import sparse_code

X, atoms = np.random.default_rng(0).standard_normal((2, 400, 8))
work = lambda: sparse_code(X, atoms[:20], alpha=1, n_jobs=2)
codes = work()

def check(queue=None):
    same = np.array_equal(work(), codes)
    return queue.put(same) if queue else same

child = os.fork()
if child == 0:
    sys.exit(0 if check() else 1)  # as a process ends: pools and other hooks have their say
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

context = multiprocessing.get_context("fork")
queue = context.Queue()
process = context.Process(target=check, args=(queue,))
process.start()
assert queue.get(timeout=60)
process.join(timeout=60)
assert process.exitcode == 0
assert check()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_codes_after_a_fork():
    subprocess.run([sys.executable, "-W", "ignore", "-c", FORK], check=True, timeout=120)


INTERRUPTED = """
import sys
import numpy as np
from skatoms.coding import sparse_code

rng = np.random.default_rng(0)
atoms = rng.standard_normal((200, 100))
sparse_code(atoms[:5], atoms, alpha=1)
print("ready", flush=True)
try:
    sparse_code(rng.standard_normal((400_000, 100)), atoms, alpha=0.01, n_jobs=int(sys.argv[1]))
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent in another way there")
@pytest.mark.parametrize("n_jobs", ["1", "2"])
def test_an_interrupt_ends_the_work_soon(n_jobs):
    arguments = [sys.executable, "-c", INTERRUPTED, n_jobs]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=30)
    assert out == "interrupted\n"
    assert process.returncode == 0


IMPORT = """
import sys
import sklearn.callback
from numba.core import dispatcher

before = set(sys.modules)

compiled = []
compile_one = dispatcher.Dispatcher.compile
dispatcher.Dispatcher.compile = lambda self, *a: compiled.append(self) or compile_one(self, *a)
import skatoms, skatoms.coding, skatoms.basis, skatoms.backend, skatoms.inspection

assert not compiled
unwanted = {"matplotlib", "pandas", "polars", "rich", "torch", "dask"} & (set(sys.modules) - before)
assert not unwanted, unwanted
import numpy as np
skatoms.coding.sparse_code(np.eye(3), np.eye(3), alpha=0.1)
assert compiled  # so that the check above can fail
"""


def test_an_import_compiles_nothing_and_loads_nothing_that_is_optional():
    subprocess.run([sys.executable, "-c", IMPORT], check=True, timeout=120)


UNWRITABLE = """
import numpy as np
import numba.core.caching as caching

def nowhere(*args, **kwargs):
    return None

for locator in caching.CacheImpl._locator_classes:
    locator.from_function = classmethod(nowhere)
from skatoms.backend import kernel

@kernel
def double(x):
    return 2 * x

assert double(3) == 6
"""


def test_kernels_compile_where_no_cache_can_be_written():
    subprocess.run([sys.executable, "-c", UNWRITABLE], check=True, timeout=120)
