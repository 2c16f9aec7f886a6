"""Alternating minimisation: codes, their statistics, atoms.

A pass goes over the samples in batches: the codes of one batch are renewed, then the atoms move.
In an exact pass, what the batch contributes to the statistics of all samples is exchanged, so that
every step lowers one objective: that of all samples with the codes that they have at the time. In
an online pass the atoms follow the statistics of a stream, which forgets.
"""

from dataclasses import dataclass
from functools import reduce
from itertools import count
from operator import add
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array

from ..backend import single_threaded_blas
from ..coding import CodingReport, Penalty
from ..coding._encode import Ties, encode, encode_masked, encode_tied
from ._atoms import AtomRules, redrawn, update_atoms
from ._couplings import Coupling
from ._statistics import Statistics, gather

# Passes of a fit that learn online before the others refine: soon good, but not to the end.
ONLINE_PASSES = 2


def usual_batch(n_atoms):
    """Samples of a batch, if no number is given: small ones make most of the first passes."""
    return max(512, 2 * n_atoms)


def row_errors(X, codes, atoms):
    """Half the squared error of each sample; missing values are left out."""
    rest = X - codes @ atoms
    rest = np.where(np.isnan(rest), 0, rest)
    return 0.5 * np.einsum("ij,ij->i", rest, rest)


@dataclass(frozen=True)
class BasisProblem:
    """Minimise the weighted mean of 1/2 |x - C'a|^2 + alpha R(a), and what rules and coupling add.

    Attributes
    ----------
    penalty : Penalty
        R.
    alpha : float
    rules : AtomRules
    coupling : Coupling or None
    n_jobs : int or None
    """

    penalty: Penalty
    alpha: float
    rules: AtomRules
    coupling: Coupling | None
    n_jobs: int | None

    # A stream forgets: an atom whose use has faded to this part of the largest one is unused and
    # put elsewhere; None if atoms of a stream stay where they are.
    faded: ClassVar[float | None] = 1e-6

    def code(self, X, atoms, start=None, output="sparse", ties=None, pull=None):
        """Codes of samples for these atoms, and the report on them."""
        how = {
            "alpha": self.alpha,
            "penalty": self.penalty,
            "start": start,
            "output": output,
            "n_jobs": self.n_jobs,
        }
        if ties is not None:
            return encode_tied(X, atoms, ties, **how)
        if np.isnan(X).any():
            return encode_masked(X, atoms, pull=pull, **how)
        return encode(X, atoms, pull=pull, **how)

    def gather(self, codes, X, weights, ties=None):
        """Statistics of samples that have these codes."""
        cost = self.alpha * float(weights @ self.penalty.value(codes))
        if ties is not None:
            cost += ties.value(codes.astype(np.float64))
        return gather(codes, X, weights, cost, self.n_jobs)

    def errors(self, X, codes, atoms):
        """The objective of each sample by itself; missing values are left out."""
        return row_errors(X, codes, atoms) + self.alpha * self.penalty.value(codes)

    def objective(self, statistics, atoms):
        """The whole objective."""
        return statistics.objective(atoms) + self.rules.cost(atoms)

    def update(self, statistics, atoms):
        """Better atoms."""
        return update_atoms(statistics, atoms, self.rules)

    def follow(self, stream, newest, atoms):
        """Atoms that follow a stream which the newest statistics have joined."""
        return self.update(stream.advance(newest), atoms)

    def redrawn(self, atoms, unused, samples, errors):
        """Atoms with unused ones put elsewhere."""
        return redrawn(atoms, unused, samples, errors, self.rules)


@dataclass(frozen=True)
class Iterate:
    """Where a pass over the samples has led to.

    `steps` are the objectives after its half-steps, codes and atoms in turn; after an online pass,
    which is not about one objective, there is only the one at its end. `report` is on the codes;
    `codes` are those of the last batch.
    """

    atoms: np.ndarray
    statistics: Statistics
    steps: list
    report: CodingReport
    codes: csr_array

    @property
    def objective(self):
        """The objective of all samples with the codes that the pass has found."""
        return self.steps[-1]


def learn(problem, samples, parts, atoms, forgetting, n_online):
    """Yield one Iterate after another, a pass over the samples each, for as long as asked for.

    `parts` are the slices of the samples that are a batch. The first `n_online` passes are online,
    the others exact. Atoms that no sample uses after a pass are put where samples are explained
    worst, which changes nothing until codes may use them.
    """
    batches = [Batch(samples, part) for part in parts]
    stream = Stream(forgetting)
    if n_online == 0:  # atoms that are good already must not follow the first batch alone
        with single_threaded_blas():
            statistics = reduce(add, [batch.renew(problem, atoms) for batch in batches])
    for n_passes in count():
        with single_threaded_blas():
            exact = n_passes >= n_online
            if not exact:
                atoms, statistics, steps = online_pass(problem, batches, atoms, stream)
            else:
                atoms, statistics, steps = exact_pass(problem, batches, atoms, statistics)
            if problem.rules.redraws(exact):
                atoms = without_unused(problem, samples, batches, atoms, statistics.unused())
        report = reduce(CodingReport.merged, (batch.report for batch in batches))
        yield Iterate(atoms, statistics, steps, report, batches[-1].codes)


def learn_more(problem, samples, atoms, stream):
    """One step of a stream: new samples; returns the Iterate it leads to."""
    batch = Batch(samples, slice(0, len(samples)))
    with single_threaded_blas():
        atoms, fresh, steps = online_pass(problem, [batch], atoms, stream)
        if problem.faded is not None and problem.rules.redraws(exact=False):
            faded = stream.statistics.unused(problem.faded)
            atoms = without_unused(problem, samples, [batch], atoms, faded)
    return Iterate(atoms, fresh, steps, batch.report, batch.codes)


def exact_pass(problem, batches, atoms, statistics):
    """Lower the objective of all samples, from the statistics of the codes that they have."""
    steps, fresh = [], None
    for batch in batches:
        # Taken anew: to keep it for each batch could need more memory than the data.
        before = batch.contribution(problem)
        after = batch.renew(problem, atoms)
        # At the end of a pass the sums start anew: rounding errors do not pile up.
        fresh = after if fresh is None else fresh + after
        statistics = fresh if batch is batches[-1] else statistics + (after - before)
        steps.append(problem.objective(statistics, atoms))
        atoms = problem.update(statistics, atoms)
        steps.append(problem.objective(statistics, atoms))
    return atoms, statistics, steps


def online_pass(problem, batches, atoms, stream):
    """Let the atoms follow the stream of batches."""
    fresh = None
    for batch in batches:
        after = batch.renew(problem, atoms)
        fresh = after if fresh is None else fresh + after
        atoms = problem.follow(stream, after, atoms)
    return atoms, fresh, [problem.objective(fresh, atoms)]


def without_unused(problem, samples, batches, atoms, unused):
    """Atoms with the unused ones put on samples that are explained worst."""
    if len(unused) == 0:
        return atoms
    errors = np.concatenate([batch.errors(problem, atoms) for batch in batches])
    return problem.redrawn(atoms, unused, samples, errors)


@dataclass
class Stream:
    """Statistics of a stream that forgets.

    What was seen before is multiplied by the power `forgetting` of its part in all that was ever
    seen, by weight: (1 - 1 / t) ** forgetting at step t if all steps weigh the same.
    """

    forgetting: float
    statistics: Statistics | None = None
    seen: float = 0.0

    def advance(self, newest):
        """Take in the newest statistics; return those of the stream."""
        before, self.seen = self.seen, self.seen + newest.weight
        if self.statistics is not None:
            newest += self.statistics.scaled((before / self.seen) ** self.forgetting)
        self.statistics = newest
        return newest


class Batch:
    """A part of the samples, and the codes that they have at the time: none to begin with."""

    def __init__(self, samples, part):
        self._samples = samples
        self._part = part
        self.codes = self.report = None
        self._ties = self._filled = None

    def _raw(self):
        return self._samples.X[self._samples.rows[self._part]]

    def copy_X(self):
        """The samples; copied out of the data at each use, so that these are not held twice.

        Missing values are filled with what the codes made of them when they were found. The error
        of this is never below that without them, and equal to it at that time: what lowers the one
        lowers the other.
        """
        X = self._raw()
        missing = np.isnan(X)
        if missing.any():
            X[missing] = 0 if self._filled is None else self._filled
        return X

    @property
    def _weights(self):
        return self._samples.weights[self._part]

    def _tied(self, problem):
        """What ties these samples to each other, and to no others."""
        if problem.coupling is not None and self._ties is None:
            sequences = self._samples.sequences
            labels = None if sequences is None else sequences[self._part]
            laplacian = problem.coupling.laplacian(self.copy_X(), labels)
            self._ties = Ties.of(laplacian, self._weights)
        return self._ties

    def contribution(self, problem):
        """What these samples, with their codes, contribute to the statistics."""
        return problem.gather(self.codes, self.copy_X(), self._weights, self._tied(problem))

    def renew(self, problem, atoms):
        """Fit the codes to the atoms; return what the samples contribute now."""
        X, ties = self._raw(), self._tied(problem)
        self.codes, self.report = problem.code(X, atoms, self.codes, ties=ties)
        missing = np.isnan(X)
        if missing.any():
            self._filled = (self.codes @ atoms)[missing]
            X[missing] = self._filled
        return problem.gather(self.codes, X, self._weights, ties)

    def errors(self, problem, atoms):
        """The objective of each sample."""
        return problem.errors(self._raw(), self.codes, atoms)
