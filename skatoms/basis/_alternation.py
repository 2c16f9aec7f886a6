"""Alternating minimisation: codes, their statistics, atoms; the objective never rises.

A pass goes over the samples in batches. The codes of one batch are renewed, what they contribute
to the statistics is exchanged, and the atoms move. So the first pass is online learning, and
every step lowers one objective: that of all samples with the codes that they have at the time.
"""

from dataclasses import dataclass
from functools import reduce
from itertools import count
from operator import add

import numpy as np
from scipy.sparse import csr_array

from ..backend import single_threaded_blas
from ..coding._sparse_code import encode
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


def learn(problem, samples, atoms, batch_size, forgetting, n_online):
    """Yield one Iterate after another, a pass over the samples each, for as long as asked for.

    The first `n_online` passes forget what the atoms of earlier batches were learned from, as
    online learning does; the following ones never raise the objective. Atoms that no sample uses
    after a pass are put where samples are explained worst, which changes nothing until the next
    codes may use them.
    """
    batches = [Batch(samples, part, len(atoms)) for part in samples.batches(batch_size)]
    statistics = reduce(add, (batch.contribution(problem) for batch in batches))
    recent, n_steps = None, 0
    for n_passes in count():
        steps, fresh = [], None
        with single_threaded_blas():
            for batch in batches:
                before = batch.contribution(problem)
                batch.codes = problem.code(batch.X, atoms, batch.codes)
                after = batch.contribution(problem)
                # At the end of a pass the sums start anew: rounding errors do not pile up.
                fresh = after if fresh is None else fresh + after
                statistics = (
                    fresh if batch is batches[-1] else statistics + (after - before)
                )
                steps.append(statistics.objective(atoms, problem.alpha))
                if n_passes < n_online:
                    n_steps += 1
                    recent = with_newer(recent, after, n_steps, forgetting)
                atoms = update_atoms(
                    recent if n_passes < n_online else statistics, atoms
                )
                steps.append(statistics.objective(atoms, problem.alpha))
            if len(statistics.unused):
                errors = [
                    problem.errors(batch.X, batch.codes, atoms) for batch in batches
                ]
                atoms = redrawn(
                    atoms,
                    statistics.unused,
                    samples,
                    np.concatenate(errors),
                    problem.alpha,
                )
        yield Iterate(atoms, statistics, steps)


def with_newer(older, newest, n_steps, forgetting):
    """The statistics of a stream after its step `n_steps`, in which it got the newest ones."""
    if older is None:
        return newest
    return older.scaled((1 - 1 / n_steps) ** forgetting) + newest


class Batch:
    """A part of the samples, and the codes that they have at the time: zero to begin with."""

    def __init__(self, samples, part, n_components):
        self._samples = samples
        self._part = part
        n_rows = part.stop - part.start
        self.codes = csr_array((n_rows, n_components), dtype=samples.X.dtype)

    @property
    def X(self):
        """The samples; copied out of the data at each use, so that these are not held twice."""
        return self._samples.X[self._samples.rows[self._part]]

    def contribution(self, problem):
        """What these samples, with their codes, contribute to the statistics."""
        return problem.gather(self.codes, self.X, self._samples.weights[self._part])
