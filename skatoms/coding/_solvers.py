"""Choose a solver, run it on all rows, report."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import pinvh
from scipy.sparse import issparse

from ..backend import run_chunks
from ._active_set import active_set_rows
from ._block_descent import block_descent_rows
from ._fista import fista_rows
from ._homotopy import homotopy_rows
from ._omp import omp_rows
from ._penalties import L0, ElasticNet, GroupL1, Penalty, TopK
from ._problem import report_on
from ._rows import pack_rows, stack_rows, unpack_rows

# Rows that one thread takes at a time: enough to hide what starting them costs, few enough to
# share small batches. It is fixed, so that results do not depend on the number of threads.
CHUNK_ROWS = 128


def _by_rows(rows_kernel, capacity):
    """A solver from a kernel over rows; capacity(problem) bounds the support of a code."""

    def solve(problem, targets, codes):
        n_iter = np.empty(len(codes), np.int64)
        residuals = np.empty(len(codes), problem.dtype)
        room = capacity(problem)
        rows_kernel(problem.gram, targets, codes, problem.rules, room, n_iter, residuals)
        return n_iter, residuals

    return solve


def _rescued(solve, other, name):
    """A solver that hands rows it does not solve to another one, which fails on other rows."""

    def solve_and_rescue(problem, targets, codes):
        n_iter, residuals = solve(problem, targets, codes)
        rows = np.flatnonzero(~(residuals <= problem.tolerance))
        if len(rows) and name in problem.penalty.solvers:
            again = codes[rows] if SOLVERS[name].warm else np.zeros_like(codes[rows])
            steps, residuals_again = other(problem, targets[rows], again)
            better = residuals_again < residuals[rows]
            codes[rows[better]] = again[better]
            residuals[rows[better]] = residuals_again[better]
            n_iter[rows] += steps
        return n_iter, residuals

    return solve_and_rescue


def _rank(problem):
    return min(len(problem.gram), problem.rank)


def _direct(problem, targets, codes):
    """Ridge codes by the inverse of G, which has the squares of the penalty in it."""
    codes[:] = targets @ problem.prepared(_inverse)
    for _ in range(2):  # the second time mends the rounding errors of the first
        left = targets - codes @ problem.gram
        codes += left @ problem.prepared(_inverse)
    left = targets - codes @ problem.gram
    return np.ones(len(codes), np.int64), problem.relative_residuals(targets, codes, left)


def _inverse(problem):
    # What is below the rounding errors of the Gram matrix says nothing.
    rounding = len(problem.gram) * np.finfo(problem.dtype).eps
    inverse = pinvh(problem.gram.astype(np.float64), rtol=rounding)
    return np.ascontiguousarray(inverse.astype(problem.dtype))


@dataclass(frozen=True)
class Solver:
    """A way to solve a problem.

    Attributes
    ----------
    run : callable
        Function of (problem, targets, codes) that starts from `codes`, writes the solution into it
        and returns n_iter and the relative KKT residual of each row.
    penalty : type or tuple of types
        What it can solve.
    warm : bool
        Whether it makes use of codes to start from.
    """

    run: Callable
    penalty: type | tuple
    warm: bool


_active_set = _by_rows(active_set_rows, _rank)
_homotopy = _by_rows(homotopy_rows, _rank)
_omp = _by_rows(omp_rows, lambda problem: problem.penalty.n_nonzero)

SOLVERS = {
    "active-set": Solver(_rescued(_active_set, _homotopy, "homotopy"), ElasticNet, warm=True),
    "homotopy": Solver(_homotopy, ElasticNet, warm=False),
    "fista": Solver(fista_rows, Penalty, warm=True),
    "block-descent": Solver(
        _rescued(block_descent_rows, fista_rows, "fista"), (GroupL1, L0), warm=True
    ),
    "direct": Solver(_direct, ElasticNet, warm=False),
    "omp": Solver(_omp, TopK, warm=True),
}


def choose_solver(name, penalty):
    """The name of the solver to run; "auto" takes the penalty's best one."""
    able = [
        known
        for known in penalty.solvers
        if known in SOLVERS and isinstance(penalty, SOLVERS[known].penalty)
    ]
    if not able:
        raise ValueError(
            f"None of the solvers that {penalty!r} names, {penalty.solvers}, can solve it: any "
            "penalty with a prox can be solved by 'fista'."
        )
    if name == "auto":
        return able[0]
    if not isinstance(name, str) or name not in SOLVERS:
        raise ValueError(f"solver must be 'auto' or one of {sorted(SOLVERS)}, got {name!r}.")
    if name not in able:
        raise ValueError(
            f"solver={name!r} can not solve {penalty!r}: use 'auto' or one of {sorted(able)}."
        )
    return name


def solve_rows(problem, targets, n_rows, *, solver="auto", start=None, output="dense", n_jobs=None):
    """Solve the problem for all rows, chunk by chunk in threads.

    Parameters
    ----------
    problem : CodingProblem
    targets : callable
        ``targets(slice, out)`` writes b of these rows into `out`, (n, n_atoms).
    n_rows : int
    solver : str
    start : ndarray or CSR of shape (n_rows, n_atoms), default=None
        Codes to start from; zero if None.
    output : {"dense", "sparse"}
    n_jobs : int or None

    Returns
    -------
    codes : ndarray or csr_array of shape (n_rows, n_atoms)
    report : CodingReport
    """
    name = choose_solver(solver, problem.penalty)
    solve, n_atoms = SOLVERS[name].run, len(problem.gram)
    dense = np.empty((n_rows, n_atoms), problem.dtype) if output == "dense" else None

    # Each thread writes over its own two blocks: fresh memory for every chunk would cost more.
    scratch = threading.local()

    def chunk(first, stop):
        rows, n = slice(first, stop), stop - first
        if not hasattr(scratch, "blocks"):
            scratch.blocks = np.empty((2, min(CHUNK_ROWS, n_rows), n_atoms), problem.dtype)
        block = scratch.blocks[0, :n]
        codes = scratch.blocks[1, :n] if dense is None else dense[rows]
        if start is None:
            codes[:] = 0
        elif issparse(start):
            unpack_rows(start.data, start.indices, start.indptr, first, stop, codes)
        else:
            codes[:] = start[rows]
        targets(rows, block)
        n_iter, residuals = solve(problem, block, codes)
        return n_iter, residuals, None if output == "dense" else pack_rows(codes)

    n_iter, residuals, packed = zip(*run_chunks(chunk, n_rows, CHUNK_ROWS, n_jobs), strict=True)
    codes = dense if output == "dense" else stack_rows(packed, n_atoms, problem.dtype)
    n_iter, residuals = np.concatenate(n_iter), np.concatenate(residuals)
    return codes, report_on(problem, name, n_iter.max(), residuals)
