"""Learning 256 atoms from 16,000 patches at alpha 0.1: ours, SPAMS and scikit-learn.

    python -m benchmarks.basis_learning [--quick] [--full]

All learn in the same precision, with the same number of threads and from the same atoms, and are
judged by the mean objective of 2,000 other patches, coded exactly on what they learned. "Time to
reach" an objective is the median time of a whole call from the start: the number of passes of
`fit` (with tol=0), or of mini-batches of `partial_fit`, is sought beforehand as the smallest one
whose result is at least as good; then that call is timed, in turns with the peers. scikit-learn
learns with processes (n_jobs), which is faster here than without; `--full` shows both.
"""

import argparse
import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.decomposition import MiniBatchDictionaryLearning

from skatoms import VariationalBasisLearner
from skatoms.coding import sparse_code

from ._common import (
    atoms_from,
    megabytes,
    objectives,
    patches,
    peak_growth,
    print_environment,
    print_table,
    seconds_of,
    spams,
    time_in_turns,
)

ALPHA = 0.1
BATCH = 1024  # of the peers; ours keeps its default in `fit` and gets as many in `partial_fit`
CURVE = (1, 2, 4, 8, 16)
MOST_PASSES = 256


@dataclass(frozen=True)
class Fit:
    """`VariationalBasisLearner.fit` with so many passes."""

    passes: int
    threads: int

    def __str__(self):
        return f"ours, fit, max_iter={self.passes}"

    def __call__(self, X, start):
        """Atoms learned from X."""
        learner = VariationalBasisLearner(
            len(start),
            alpha=ALPHA,
            init=start,
            max_iter=self.passes,
            tol=0,
            n_jobs=self.threads,
            random_state=0,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it could go on is the point
            return learner.fit(X).components_


@dataclass(frozen=True)
class PartialFit:
    """`VariationalBasisLearner.partial_fit` on so many mini-batches, each new."""

    batches: int
    threads: int

    def __str__(self):
        return f"ours, partial_fit, {self.batches} x {BATCH} rows"

    def __call__(self, X, start):
        """Atoms learned from the first rows of X."""
        learner = VariationalBasisLearner(
            len(start), alpha=ALPHA, init=start, n_jobs=self.threads, random_state=0
        )
        for first in range(0, self.batches * BATCH, BATCH):
            learner.partial_fit(X[first : first + BATCH])
        return learner.components_


@dataclass(frozen=True)
class Spams:
    """`spams.trainDL` with so many mini-batches."""

    iterations: int
    threads: int

    def __str__(self):
        return f"SPAMS trainDL, {self.iterations} x {BATCH} rows"

    def __call__(self, X, start):
        """Atoms learned from X."""
        return spams.trainDL(
            X.T,
            D=start.T,
            lambda1=ALPHA,
            mode=2,
            batchsize=BATCH,
            iter=self.iterations,
            numThreads=self.threads,
            verbose=False,
        ).T


@dataclass(frozen=True)
class Sklearn:
    """One epoch of `MiniBatchDictionaryLearning`."""

    algorithm: str
    threads: int

    def __str__(self):
        return f"scikit-learn, one epoch, {self.algorithm}, n_jobs={self.threads}"

    def __call__(self, X, start):
        """Atoms learned from X."""
        learner = MiniBatchDictionaryLearning(
            len(start),
            alpha=ALPHA,
            batch_size=BATCH,
            max_iter=1,
            fit_algorithm=self.algorithm,
            dict_init=start,
            tol=0,
            max_no_improvement=None,
            n_jobs=self.threads,
            random_state=0,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return learner.fit(X).components_


@dataclass(frozen=True)
class Task:
    """What is learned from, from where, and on what it is judged."""

    X: np.ndarray
    held_out: np.ndarray
    start: np.ndarray

    @classmethod
    def of_size(cls, n_samples, n_held_out, n_atoms):
        """The first patches to learn from and start at, the last ones to judge by."""
        X = patches()[:n_samples]
        return cls(X, patches()[-n_held_out:], atoms_from(X, n_atoms))

    def learn(self, method):
        """Atoms that a method learns."""
        return method(self.X, self.start)

    def objective(self, atoms):
        """Mean objective of the held-out patches with their best codes."""
        codes = sparse_code(self.held_out, atoms, alpha=ALPHA, tol=1e-10)
        return objectives(self.held_out, atoms, codes, ALPHA).mean()


def peers(options):
    """SPAMS and scikit-learn as far as they are there."""
    methods = [Spams(count, options.threads) for count in options.iterations] if spams else []
    for algorithm in ("lars", "cd"):
        for n_jobs in {1, options.threads} if options.full else {options.threads}:
            methods.append(Sklearn(algorithm, n_jobs))
    return methods


def fewest(reaches, most):
    """The smallest count up to `most` that reaches, if any; what a count reaches, more do."""
    low, high = 0, 1
    while not reaches(high):
        if high == most:
            return None
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return high


def as_good_as(target, task, threads):
    """The shortest calls of ours whose result is no worse than the target."""
    most_batches = len(task.X) // BATCH
    found = []
    for kind, most in ((Fit, MOST_PASSES), (PartialFit, most_batches)):
        count = fewest(
            lambda count, kind=kind: task.objective(task.learn(kind(count, threads))) <= target,
            most,
        )
        if count is not None:
            found.append(kind(count, threads))
    return found


def compare(task, options):
    """Time all methods in turns; print time and objective of each, then the ratios."""
    rivals = peers(options)
    targets = {rival: task.objective(task.learn(rival)) for rival in rivals}
    matches = {rival: as_good_as(targets[rival], task, options.threads) for rival in rivals}
    ours = {Fit(passes, options.threads) for passes in options.curve}
    ours |= {method for found in matches.values() for method in found}
    ours = sorted(ours, key=lambda method: (type(method).__name__, *vars(method).values()))
    timings = time_in_turns(
        {method: lambda method=method: task.learn(method) for method in (*ours, *rivals)},
        options.repeats,
    )
    reached = {method: task.objective(timing.result) for method, timing in timings.items()}
    print(f"Time and objective (of the start: {task.objective(task.start):.5f})")
    print_table(
        ["method", "median s", "range s", "objective"],
        [
            [
                method,
                f"{timing.median:.2f}",
                f"{min(timing.seconds):.2f}-{max(timing.seconds):.2f}",
                f"{reached[method]:.5f}",
            ]
            for method, timing in timings.items()
        ],
    )
    print("Time of ours to an objective no worse than that of a peer")
    rows = []
    for rival in rivals:
        for method in matches[rival]:
            own, other = timings[method].median, timings[rival].median
            gain = reached[rival] - reached[method]
            rows.append(
                [rival, method, f"{100 * own / other:.1f} %", f"{other / own:.1f}", f"{gain:.1e}"]
            )
        if not matches[rival]:
            rows.append([rival, "not reached", "-", "-", "-"])
    print_table(["peer", "ours", "ours / peer", "peer / ours", "better by"], rows)


def report_memory(task, options):
    """Peak memory of learning, against the data and the codes."""
    n_samples, n_atoms = len(task.X), len(task.start)
    codes = sparse_code(task.X, task.start, alpha=ALPHA, n_jobs=options.threads, output="sparse")
    dense = task.X.nbytes + codes.dtype.itemsize * n_samples * n_atoms
    sparse = task.X.nbytes + sum(part.nbytes for part in (codes.data, codes.indices, codes.indptr))
    print("Peak memory of learning: the growth of a fresh process, and X, which was there before")
    print(
        f"X: {megabytes(task.X.nbytes)} MB; X + codes: dense {megabytes(dense)} MB, "
        f"as CSR {megabytes(sparse)} MB"
    )
    methods = [Fit(options.curve[1], options.threads), PartialFit(2, options.threads)]
    methods += [Spams(options.iterations[0], options.threads)] if spams else []
    methods.append(Sklearn("cd", 1))
    rows = []
    for method in methods:
        growth = peak_growth(prepare_fit, method, n_samples, n_atoms)
        if growth is None:
            print("not measured: this system does not tell\n")
            return
        peak = growth + task.X.nbytes
        rows.append(
            [
                method,
                megabytes(growth),
                megabytes(peak),
                f"{peak / dense:.2f}",
                f"{peak / sparse:.2f}",
            ]
        )
    print_table(["method", "growth MB", "peak MB", "/ dense", "/ CSR"], rows)


def prepare_fit(method, n_samples, n_atoms):
    """For `peak_growth`: a warmed-up call."""
    X = patches()[:n_samples]
    start = atoms_from(X, n_atoms)
    method(X[: 2 * BATCH], start)
    return lambda: method(X, start)


def parse_options():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small data, one run: a check")
    parser.add_argument("--full", action="store_true", help="scikit-learn with n_jobs=1 too")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--no-memory", dest="memory", action="store_false")
    options = parser.parse_args()
    options.iterations, options.curve = (20, 60, 240), CURVE
    if options.quick:
        options.iterations, options.curve, options.repeats = (2, 4), CURVE[:3], 1
    return options


def main():
    """Print all tables."""
    options = parse_options()
    print_environment("Basis learning: ours beside SPAMS and scikit-learn")
    task = Task.of_size(2100, 200, 64) if options.quick else Task.of_size(16_000, 2_000, 256)
    few = Task(task.X[:256], task.held_out, task.start[:32])
    first = seconds_of(lambda: few.learn(Fit(1, options.threads)))
    print(f"ours, first call in this process: {first:.2f} s (kernels compiled or loaded)")
    print(
        f"{len(task.start)} atoms from {len(task.X)} rows of {task.X.dtype} at alpha {ALPHA}, "
        f"judged on {len(task.held_out)} others; {options.threads} threads each\n"
    )
    few.learn(PartialFit(1, options.threads))
    compare(task, options)
    if options.memory:
        report_memory(task, options)


if __name__ == "__main__":
    main()
