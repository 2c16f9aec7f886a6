"""Alternating minimisation: codes, their statistics, atoms; the objective never rises.

A pass goes over the samples in batches. The codes of one batch are renewed, what they contribute
to the statistics is exchanged, and the atoms move. So the first pass is online learning, and
every step lowers one objective: that of all samples with the codes that they have at the time.
"""

from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np
from scipy.sparse import csr_array

from ..backend import single_threaded_blas
from ..coding import encode
from ._atoms import redrawn, update_atoms
from ._statistics import Statistics, gather


@dataclass(frozen=True)
class BasisProblem:
    """Minimise the weighted mean of 1/2 |x - C'a|^2 + alpha R(a) over unit-norm atoms and codes."""

    penalty: object
    alpha: float
    n_jobs: int | None

    def code(self, X, atoms, start=None, output="sparse"):
        """Codes of samples for these atoms."""
        codes, _ = encode(
            X,
            atoms,
            alpha=self.alpha,
            penalty=self.penalty,
            start=start,
            output=output,
            n_jobs=self.n_jobs,
        )
        return codes

    def gather(self, codes, X, weights):
        """Statistics of samples that have these codes."""
        return gather(codes, X, weights, self.penalty, self.n_jobs)

    def errors(self, X, codes, atoms):
        """The objective of each sample."""
        rest = X - codes @ atoms
        return 0.5 * np.einsum(
            "ij,ij->i", rest, rest
        ) + self.alpha * self.penalty.value(codes)


@dataclass
class Batch:
    """Some of the samples, by their indices, and the codes that they have at the time."""

    rows: np.ndarray
    codes: csr_array


@dataclass(frozen=True)
class Iterate:
    """Where a pass over the samples has led to.

    `steps` are the objectives after each half-step, codes and atoms in turn.
    """

    atoms: np.ndarray
    statistics: Statistics
    steps: list

    @property
    def objective(self):
        """The objective at the end of the pass."""
        return self.steps[-1]


def alternate(problem, samples, atoms, batch_size):
    """Yield one Iterate after another, for as long as they are asked for.

    Codes start from zero. Atoms that no sample uses after a pass are put where samples are
    explained worst, which changes nothing until the next codes may use them.
    """
    X, weights = samples.X, samples.weights
    parts = np.array_split(samples.order, -(-len(samples.order) // batch_size))
    batches = [
        Batch(rows, csr_array((len(rows), len(atoms)), dtype=X.dtype)) for rows in parts
    ]
    statistics = reduce(
        add, (problem.gather(b.codes, X[b.rows], weights[b.rows]) for b in batches)
    )
    while True:
        steps, fresh = [], None
        with single_threaded_blas():
            for batch in batches:
                before, after = _renew(
                    problem, batch, X[batch.rows], weights[batch.rows], atoms
                )
                # At the end of a pass the sums start anew: rounding errors do not pile up.
                fresh = after if fresh is None else fresh + after
                statistics = (
                    fresh if batch is batches[-1] else statistics + (after - before)
                )
                steps.append(statistics.objective(atoms, problem.alpha))
                atoms = update_atoms(statistics, atoms)
                steps.append(statistics.objective(atoms, problem.alpha))
            if len(statistics.unused):
                errors = np.zeros(len(X))
                for batch in batches:
                    errors[batch.rows] = problem.errors(
                        X[batch.rows], batch.codes, atoms
                    )
                atoms = redrawn(
                    atoms, statistics.unused, samples, errors, problem.alpha
                )
        yield Iterate(atoms, statistics, steps)


def _renew(problem, batch, X, weights, atoms):
    """Renew the codes of a batch; return what it contributed before and what it does after."""
    before = problem.gather(batch.codes, X, weights)
    batch.codes = problem.code(X, atoms, batch.codes)
    return before, problem.gather(batch.codes, X, weights)
