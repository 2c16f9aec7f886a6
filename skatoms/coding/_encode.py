"""Codes of samples: each by itself, with missing values, or tied to each other.

All three come down to the one problem with a Gram matrix that rows share. Rows with missing values
share that of what is known of them. Ties change only what the rows are coded for, from one round to
the next: each round solves the problem with what is missing, and what the neighbours pull to, taken
from the codes before. A round never raises the objective; with a convex penalty momentum makes
rounds count for more.

Rounds are in float64: each is about rows that are filled in and pulled, which may be so much longer
than the rows themselves that float32 would not solve them closely enough.
"""

from dataclasses import dataclass
from functools import partial, reduce
from itertools import count

import numpy as np
from scipy.sparse import csr_array, issparse, vstack
from scipy.sparse.linalg import eigsh

from ..backend import product, run_chunks
from ._problem import CodingProblem, CodingReport, least_tolerance, report_on
from ._solvers import CHUNK_ROWS, SOLVERS, choose_solver, solve_rows

MAX_ROUNDS = 2000
MAX_PLAIN_ROUNDS = 300  # without momentum, where the penalty is not convex
# How much closer than the whole problem each round is solved: the pull of others makes the scale of
# a row larger than it is.
ROUND_TOL = 1e-3


@dataclass(frozen=True)
class Pull:
    """A term ``strength / 2 |a - towards|^2`` for each row; towards : (n_rows, n_atoms)."""

    strength: float
    towards: np.ndarray | csr_array

    def part(self, rows):
        """The term of some rows, dense."""
        towards = self.towards[rows]
        return Pull(self.strength, towards.toarray() if issparse(towards) else towards)

    def slopes(self, codes):
        """The gradient of the term."""
        return codes.dtype.type(self.strength) * (codes - self.towards)


@dataclass(frozen=True)
class Ties:
    """A term ``1/2 trace(A' laplacian A)`` between the codes of all rows.

    Attributes
    ----------
    laplacian : csr_array of shape (n_rows, n_rows)
        Symmetric, positive semi-definite.
    weights : ndarray of shape (n_rows,)
        How much the rest of the objective of each row counts, positive.
    strength : float
        The largest eigenvalue of ``laplacian / sqrt(weights weights')``, or a little more.
    """

    laplacian: csr_array
    weights: np.ndarray
    strength: float

    @classmethod
    def of(cls, laplacian, weights):
        """The Ties of a Laplacian and weights."""
        root = 1 / np.sqrt(weights)
        scaled = laplacian.multiply(root[:, None]).multiply(root).tocsr()
        # No eigenvalue is above the largest sum of a row, which is tight for a path.
        bound = float(abs(scaled).sum(axis=1).max()) if scaled.nnz else 0.0
        if len(weights) > 2 and bound > 0:
            start = np.random.default_rng(0).standard_normal(len(weights))
            largest = eigsh(scaled, 1, which="LA", v0=start, tol=1e-3, return_eigenvectors=False)
            bound = min(bound, 1.01 * float(largest[0]))
        return cls(laplacian, weights, bound)

    def slopes(self, codes):
        """The gradient of the term at the codes, by the weight of each row."""
        return (self.laplacian @ codes) / self.weights[:, None].astype(codes.dtype)

    def value(self, codes):
        """The term."""
        return 0.5 * float((codes * (self.laplacian @ codes)).sum())


def encode(
    X,
    components,
    *,
    alpha,
    penalty,
    solver="auto",
    start=None,
    max_iter=1000,
    tol=1e-6,
    output="dense",
    n_jobs=None,
    pull=None,
    gram=None,
):
    """`sparse_code` on what is known to be valid; always returns codes and report.

    gram : the products of the components, if they are known.
    """
    problem = _make_problem(components, alpha, penalty, max_iter, tol, n_jobs, pull, gram)
    atoms = components.T

    def targets(rows, out):
        np.matmul(X[rows], atoms, out=out)
        if pull is not None:
            out += problem.dtype.type(pull.strength) * pull.part(rows).towards

    return solve_rows(
        problem, targets, len(X), solver=solver, start=start, output=output, n_jobs=n_jobs
    )


def _make_problem(components, alpha, penalty, max_iter, tol, n_jobs, pull=None, gram=None):
    n_atoms, curvature = len(components), penalty.curvature(len(components))
    ridge = np.zeros(n_atoms) if curvature is None else float(alpha) * curvature
    added = ridge if pull is None else ridge + pull.strength
    gram = product(components, components.T, n_jobs) if gram is None else gram.copy()
    gram[np.diag_indices(n_atoms)] += added.astype(gram.dtype)
    rank = components.shape[1] + int(np.count_nonzero(added))
    return CodingProblem(gram, penalty, alpha, rank, max_iter, tol, ridge.astype(gram.dtype))


def encode_masked(X, components, *, start=None, output="dense", n_jobs=None, pull=None, **settings):
    """Codes that explain the entries of X that are not NaN; returns codes and report.

    settings : alpha, penalty and tol, as in `encode`.
    """
    gram = product(components, components.T, n_jobs)
    lacking = np.packbits(np.isnan(X), axis=1)
    kind = np.unique(lacking, axis=0, return_inverse=True)[1].reshape(-1)
    order = np.argsort(kind, kind="stable")
    cuts = np.flatnonzero(np.diff(kind[order])) + 1

    def alike(rows):
        before = None if start is None else start[rows]
        tie = None if pull is None else pull.part(rows)
        how = {"start": before, "pull": tie, "output": output, "n_jobs": 1, **settings}
        return _encode_alike(X[rows], components, gram, **how)

    def chunk(first, stop):
        inside = cuts[(cuts > first) & (cuts < stop)] - first
        parts, reports = zip(*map(alike, np.split(order[first:stop], inside)), strict=True)
        return stack(parts), reduce(CodingReport.merged, reports)

    stack = np.concatenate if output == "dense" else partial(vstack, format="csr")
    parts, reports = zip(*run_chunks(chunk, len(X), CHUNK_ROWS, n_jobs), strict=True)
    return stack(parts)[np.argsort(order)], reduce(CodingReport.merged, reports)


def _encode_alike(X, components, gram, **how):
    """Codes of rows that lack the same entries, by what their atoms have in the others."""
    lacking = np.isnan(X[0])
    if 2 * np.count_nonzero(lacking) < len(lacking):
        lost = components[:, lacking]
        gram = gram - lost @ lost.T
    else:
        gram = None
    return encode(X[:, ~lacking], components[:, ~lacking], gram=gram, **how)


def encode_tied(
    X, components, ties, *, alpha, penalty, tol=1e-6, start=None, output="dense", n_jobs=None
):
    """Codes of rows that are tied to each other; NaN is not explained. Codes and report."""
    dtype, tol = X.dtype, max(tol, least_tolerance(X.dtype))
    X, components = (part.astype(np.float64, copy=False) for part in (X, components))
    gram = product(components, components.T, n_jobs)
    problem = _make_problem(components, alpha, penalty, 1, tol, n_jobs, gram=gram)
    name = choose_solver("auto", penalty)
    seen = ~np.isnan(X)
    known = np.where(seen, X, 0)
    aims = product(known, components.T, n_jobs)

    def residuals(codes):
        rest = np.where(seen, known - product(codes, components, n_jobs), 0)
        left = product(rest, components.T, n_jobs) - problem.ridge * codes - ties.slopes(codes)
        return problem.relative_residuals(aims, codes, left)

    def step(ahead, codes, alone=False):
        filled, pull = known, None
        if not seen.all():
            filled = np.where(seen, known, product(ahead, components, n_jobs))
        if ties.strength > 0 and not alone:
            pull = Pull(ties.strength, ahead - ties.slopes(ahead) / ties.strength)
        return encode(
            filled,
            components,
            alpha=alpha,
            penalty=penalty,
            start=codes if SOLVERS[name].warm else None,
            tol=tol * ROUND_TOL,
            n_jobs=n_jobs,
            pull=pull,
            gram=gram,
        )[0]

    codes = np.zeros((len(X), len(components)))
    if start is not None:
        codes += start
    elif not penalty.convex:  # rounds would not leave zero where the pull to it is strong
        codes = step(codes, codes, alone=True)
    codes, done, worst = _rounds(step, residuals, codes, problem.tolerance, penalty.convex)
    codes = codes.astype(dtype, copy=False)
    report = report_on(problem, name, done, worst)
    return (codes if output == "dense" else csr_array(codes)), report


def _rounds(step, residuals, codes, tolerance, convex):
    """Repeat ``codes = step(ahead, codes)`` until the residuals are small.

    Returns the codes, the number of rounds, and the residuals.
    """
    before, speed = codes, 1.0
    for done in count():
        worst = residuals(codes)
        # At code zero there is nothing left to explain for what counts non-zeros: that is no end.
        if done == (MAX_ROUNDS if convex else MAX_PLAIN_ROUNDS) or (
            np.all(worst <= tolerance) and (convex or done > 0)
        ):
            break
        faster = (1 + np.sqrt(1 + 4 * speed**2)) / 2
        momentum = (speed - 1) / faster if convex else 0.0
        ahead = codes + momentum * (codes - before)
        before, codes = codes, step(ahead, codes)
        uphill = np.vdot(ahead - codes, codes - before) > 0
        speed = 1.0 if uphill else faster
    return codes, done, worst
