"""Learning with other penalties, constraints and couplings, and at scale: ours beside what can.

    python -m benchmarks.basis_variants [part ...] [--quick] [--full] [--rows N]

The parts, all of them if none is named:

group
    256 atoms in groups of 4. SPAMS learns the same objective by `structTrainDL`, with a tree of one
    level.
non-negative
    256 atoms and codes, none of them negative, from patches that keep their mean. SPAMS and
    scikit-learn have the same objective. (NMF is another one: it has no unit norm.)
graph
    Codes tied to those of neighbours. No peer: beside the same fit without coupling.
rows
    `partial_fit` on slices of a file that is larger than what it may need in memory.
atoms
    A pass of `fit` against the number of atoms.

The first two compare the time of whole calls to an equal objective, as in
`benchmarks.basis_learning`: of ours, the shortest call whose result is no worse than the peer's.
Where others are at work on the machine, set OMP_WAIT_POLICY=passive: the threads of SPAMS wait for
each other by spinning, which can cost it twenty times its time.
"""

import argparse
import os
import shutil
import tempfile
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import perf_counter

import numpy as np
from scipy.sparse import csc_array, csr_array
from sklearn.datasets import load_sample_image
from sklearn.decomposition import MiniBatchDictionaryLearning
from sklearn.feature_extraction.image import extract_patches_2d

from skatoms import VariationalBasisLearner
from skatoms.basis import GraphLaplacian
from skatoms.coding import L1, GroupL1, Penalty, sparse_code

from ._common import (
    FLAT,
    N_DRAWN,
    PATCH_SHAPE,
    atoms_from,
    megabytes,
    patches,
    peak_growth,
    print_environment,
    print_table,
    spams,
    time_in_turns,
    unit_rows,
)
from .basis_learning import fewest

BATCH = 1024  # of the peers, and of ours in `partial_fit`
MOST_PASSES = 32
GROUP_SIZE = 4
GRAPH_WEIGHTS = (0.01, 0.1)
GRAPH_PASSES = 2

# The planted model of the part about rows.
N_FEATURES, N_PLANTED, N_USED, NOISE = 64, 128, 5, 0.05
SLICE, CHUNK = 8192, 65_536
ROWS_ALPHA = 0.2


@cache
def bright_patches():
    """The patches of `patches` with their mean: grey levels, divided by the norm of each patch."""
    grey = load_sample_image("china.jpg").mean(axis=2) / 255
    drawn = extract_patches_2d(grey, PATCH_SHAPE, max_patches=N_DRAWN, random_state=0)
    drawn = drawn.reshape(len(drawn), -1)
    return unit_rows(drawn[drawn.std(axis=1) > FLAT])


@dataclass(frozen=True, eq=False)
class Task:
    """What is learned, from where, and on what it is judged."""

    X: np.ndarray
    held_out: np.ndarray
    start: np.ndarray
    alpha: float
    penalty: Penalty
    constraint: str
    threads: int

    @classmethod
    def on(cls, data, size, alpha, penalty, constraint, threads):
        """The first rows to learn from and start at, the last ones to judge by."""
        n_samples, n_held_out, n_atoms = size
        X = data[:n_samples]
        start = atoms_from(X, n_atoms)
        return cls(X, data[-n_held_out:], start, alpha, penalty, constraint, threads)

    def learner(self, **settings):
        """Ours."""
        return VariationalBasisLearner(
            len(self.start),
            alpha=self.alpha,
            penalty=self.penalty,
            constraint=self.constraint,
            init=self.start,
            n_jobs=self.threads,
            random_state=0,
            **settings,
        )

    def objective(self, atoms):
        """Mean objective of the held-out rows with their best codes."""
        codes = sparse_code(
            self.held_out,
            np.ascontiguousarray(atoms),
            alpha=self.alpha,
            penalty=self.penalty,
            tol=1e-8,
            n_jobs=self.threads,
        )
        errors = 0.5 * ((self.held_out - codes @ atoms) ** 2).sum(axis=1)
        return (errors + self.alpha * self.penalty.value(codes)).mean()


# Methods: called with a task, they return atoms.


@dataclass(frozen=True)
class Fit:
    """`VariationalBasisLearner.fit` with so many passes."""

    passes: int

    def __str__(self):
        return f"ours, fit, max_iter={self.passes}"

    def __call__(self, task):
        """Atoms learned."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it could go on is the point
            return task.learner(max_iter=self.passes, tol=0).fit(task.X).components_


@dataclass(frozen=True)
class PartialFit:
    """`VariationalBasisLearner.partial_fit` on so many mini-batches, each new."""

    batches: int

    def __str__(self):
        return f"ours, partial_fit, {self.batches} x {BATCH} rows"

    def __call__(self, task):
        """Atoms learned."""
        learner = task.learner()
        for first in range(0, self.batches * BATCH, BATCH):
            learner.partial_fit(task.X[first : first + BATCH])
        return learner.components_


@dataclass(frozen=True)
class SpamsGroups:
    """`spams.structTrainDL` with so many mini-batches."""

    iterations: int

    def __str__(self):
        return f"SPAMS structTrainDL, {self.iterations} x {BATCH} rows"

    def __call__(self, task):
        """Atoms learned; the groups are leaves below a root that has no atoms and costs nothing."""
        n_groups = len(task.start) // GROUP_SIZE
        sizes = np.full(n_groups + 1, GROUP_SIZE, dtype=np.int32)
        sizes[0] = 0
        below = csc_array(
            (np.ones(n_groups, bool), (np.arange(1, n_groups + 1), np.zeros(n_groups, int))),
            shape=(n_groups + 1, n_groups + 1),
        )
        # SPAMS takes no other integers, and does not look.
        below.indices, below.indptr = below.indices.astype(np.int32), below.indptr.astype(np.int32)
        tree = {
            "eta_g": (sizes > 0).astype(np.float64),
            "groups": below,
            "own_variables": np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int32),
            "N_own_variables": sizes,
        }
        return spams.structTrainDL(
            task.X.T,
            D=task.start.T,
            lambda1=task.alpha,
            regul="tree-l2",
            tree=tree,
            batchsize=BATCH,
            iter=self.iterations,
            numThreads=task.threads,
            verbose=False,
        ).T


@dataclass(frozen=True)
class SpamsNonNegative:
    """`spams.trainDL` with so many mini-batches, codes and atoms not negative."""

    iterations: int

    def __str__(self):
        return f"SPAMS trainDL, {self.iterations} x {BATCH} rows"

    def __call__(self, task):
        """Atoms learned."""
        return spams.trainDL(
            task.X.T,
            D=task.start.T,
            lambda1=task.alpha,
            mode=2,
            posAlpha=True,
            posD=True,
            batchsize=BATCH,
            iter=self.iterations,
            numThreads=task.threads,
            verbose=False,
        ).T


@dataclass(frozen=True)
class SklearnNonNegative:
    """One epoch of `MiniBatchDictionaryLearning`, codes and atoms not negative."""

    n_jobs: int

    def __str__(self):
        return f"scikit-learn, one epoch, cd, n_jobs={self.n_jobs}"

    def __call__(self, task):
        """Atoms learned."""
        learner = MiniBatchDictionaryLearning(
            len(task.start),
            alpha=task.alpha,
            batch_size=BATCH,
            max_iter=1,
            fit_algorithm="cd",
            positive_code=True,
            positive_dict=True,
            dict_init=task.start,
            tol=0,
            max_no_improvement=None,
            n_jobs=self.n_jobs,
            random_state=0,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return learner.fit(task.X).components_


# Parts


def compare_groups(options):
    """Group penalty."""
    size = (2_000, 200, 64) if options.quick else (16_000, 2_000, 256)
    groups = np.arange(size[2]) // GROUP_SIZE
    task = Task.on(patches(), size, 0.2, GroupL1(groups), "unit_norm", options.threads)
    counts = (2, 4) if options.quick else (20, 60)
    compare("Group penalty", task, [SpamsGroups(count) for count in counts if spams], options)


def compare_non_negative(options):
    """Codes and atoms that are not negative."""
    size = (2_000, 200, 64) if options.quick else (16_000, 2_000, 256)
    task = Task.on(bright_patches(), size, 0.1, L1(positive=True), "non_negative", options.threads)
    counts = (2, 4) if options.quick else (20, 120)
    rivals = [SpamsNonNegative(count) for count in counts if spams]
    workers = {1, options.threads} if options.full else {options.threads}
    rivals += [SklearnNonNegative(n_jobs) for n_jobs in sorted(workers)]
    compare("Codes and atoms not negative", task, rivals, options)


def compare(title, task, rivals, options):
    """Time all methods in turns; print time and objective of each, then the ratios."""
    for method in (Fit(1), PartialFit(1)):
        method(task)  # kernels compiled or loaded

    @cache
    def reached(method):
        return task.objective(method(task))

    matches = {rival: as_good_as(reached(rival), task, reached) for rival in rivals}
    ours = {Fit(1), Fit(2)} | {method for found in matches.values() for method in found}
    ours = sorted(ours, key=lambda method: (type(method).__name__, *vars(method).values()))
    timings = time_in_turns(
        {method: lambda method=method: method(task) for method in (*ours, *rivals)},
        options.repeats,
    )
    print(
        f"{title}: {len(task.start)} atoms from {len(task.X)} rows of {task.X.dtype}, "
        f"alpha {task.alpha}; the objective of the start is {task.objective(task.start):.5f}"
    )
    print_table(
        ["method", "median s", "range s", "objective"],
        [
            [
                method,
                f"{timing.median:.2f}",
                f"{min(timing.seconds):.2f}-{max(timing.seconds):.2f}",
                f"{reached(method):.5f}",
            ]
            for method, timing in timings.items()
        ],
    )
    if not rivals:
        print("no peer\n")
        return
    rows = []
    for rival, found in matches.items():
        for method in found:
            own, other = timings[method], timings[rival]
            quickest = min(other.seconds) / min(own.seconds)
            ratio = f"{other.median / own.median:.1f}"
            gain = f"{reached(rival) - reached(method):.1e}"
            rows.append([rival, method, ratio, f"{quickest:.1f}", gain])
        if not found:
            rows.append([rival, "not reached", "-", "-", "-"])
    print("Time to an objective no worse than that of a peer: medians, and the quickest of each")
    print_table(["peer", "ours", "peer / ours", "quickest", "better by"], rows)


def as_good_as(target, task, reached):
    """The shortest calls of ours whose result is no worse than the target."""
    found = []
    for kind, most in ((Fit, MOST_PASSES), (PartialFit, len(task.X) // BATCH)):
        count = fewest(lambda count, kind=kind: reached(kind(count)) <= target, most)
        if count is not None:
            found.append(kind(count))
    return found


def report_graph(options):
    """Codes tied to those of neighbours."""
    n_samples, n_atoms = (300, 32) if options.quick else (2_000, 256)
    X = patches()[:n_samples]
    start = atoms_from(X, n_atoms)

    def learn(coupling, n_passes=GRAPH_PASSES):
        learner = VariationalBasisLearner(
            n_atoms,
            alpha=0.1,
            coupling=coupling,
            init=start,
            batch_size=n_samples,
            max_iter=n_passes,
            tol=0,
            n_jobs=options.threads,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return learner.fit(X)

    couplings = {"none": None}
    couplings |= {f"graph, weight {w}": GraphLaplacian(weight=w) for w in GRAPH_WEIGHTS}
    for coupling in couplings.values():
        learn(coupling, n_passes=1)
    timings = time_in_turns(
        {name: lambda tie=coupling: learn(tie) for name, coupling in couplings.items()},
        options.repeats,
    )
    print(f"Coupling: {n_atoms} atoms from {n_samples} rows, {GRAPH_PASSES} passes; no peer")
    print_table(
        ["coupling", "s a pass", "/ none", "non-zeros a code"],
        [
            [
                name,
                f"{timing.median / GRAPH_PASSES:.3f}",
                f"{timing.median / timings['none'].median:.1f}",
                f"{(timing.result.transform(X[:200]) != 0).sum(axis=1).mean():.1f}",
            ]
            for name, timing in timings.items()
        ],
    )


def report_rows(options):
    """A file, slice by slice."""
    size = options.rows * N_FEATURES * np.dtype(np.float32).itemsize
    with tempfile.TemporaryDirectory() as folder:
        free = shutil.disk_usage(folder).free
        if free < 2 * size:
            print(f"Rows: skipped, {megabytes(size)} MB are needed, {megabytes(free)} are free\n")
            return
        path, seconds_path = Path(folder) / "rows.f32", Path(folder) / "seconds.npy"
        plant_rows(path, options.rows)
        growth = peak_growth(prepare_stream, path, seconds_path, options.rows, options.threads)
        if growth is None:  # this system does not tell
            prepare_stream(path, seconds_path, options.rows, options.threads)()
        seconds = np.load(seconds_path)
    print(
        f"Rows: {N_PLANTED} atoms from {options.rows} x {N_FEATURES} of float32 in a file of "
        f"{megabytes(size)} MB, `partial_fit` of {SLICE} rows a time"
    )
    print(f"peak growth of the process, with the slice: {megabytes(growth)} MB")
    print(f"all of it: {seconds.sum():.1f} s")
    counts = np.minimum(SLICE, options.rows - SLICE * np.arange(len(seconds)))
    rows, window = [], max(1, len(seconds) // 100)
    for part in (0.01, 0.1, 1):
        stop = max(window, round(part * len(seconds)))
        last = np.median((seconds / counts)[stop - window : stop])
        rows.append([f"{part:.0%}", counts[:stop].sum(), f"{1e6 * last:.2f}"])
    print_table(["up to", "rows", "microseconds a row there"], rows)


def plant_rows(path, n_rows):
    """Write rows that are combinations of few planted atoms, with noise, chunk by chunk."""
    rng = np.random.default_rng(0)
    atoms = unit_rows(rng.standard_normal((N_PLANTED, N_FEATURES), dtype=np.float32))
    with path.open("wb") as file:
        for first in range(0, n_rows, CHUNK):
            n = min(CHUNK, n_rows - first)
            used = rng.integers(0, N_PLANTED, n * N_USED)
            values = rng.standard_normal(n * N_USED, dtype=np.float32)
            codes = csr_array((values, used, np.arange(n + 1) * N_USED), shape=(n, N_PLANTED))
            noise = NOISE * rng.standard_normal((n, N_FEATURES), dtype=np.float32)
            (codes @ atoms + noise).astype(np.float32).tofile(file)


def prepare_stream(path, seconds_path, n_rows, threads):
    """For `peak_growth`: learning from the file; the seconds of each slice go to another one."""

    def rows(first):
        # Mapped slice by slice, or pages that are only the system's cache would count as memory.
        n = min(SLICE, n_rows - first)
        offset = first * N_FEATURES * np.dtype(np.float32).itemsize
        return np.memmap(path, np.float32, "r", offset, (n, N_FEATURES))

    def learner():
        return VariationalBasisLearner(N_PLANTED, alpha=ROWS_ALPHA, n_jobs=threads, random_state=0)

    def run():
        stream, seconds = learner(), []
        for first in range(0, n_rows, SLICE):
            start = perf_counter()
            stream.partial_fit(rows(first))
            seconds.append(perf_counter() - start)
        np.save(seconds_path, seconds)
        return stream

    learner().partial_fit(rows(0)[:512])
    return run


def report_atoms(options):
    """A pass of `fit` against the number of atoms."""
    counts = (16, 64, 256) if options.quick else (16, 64, 256, 1024, 4096)
    X = patches()[:2_000] if options.quick else patches()

    def learn(n_atoms):
        learner = VariationalBasisLearner(
            n_atoms, alpha=0.1, max_iter=1, tol=0, n_jobs=options.threads, random_state=0
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            learner.fit(X)

    learn(counts[0])
    timings = time_in_turns(
        {n_atoms: lambda n_atoms=n_atoms: learn(n_atoms) for n_atoms in counts}, options.repeats
    )
    medians = [timing.median for timing in timings.values()]
    slopes = np.diff(np.log(medians)) / np.diff(np.log(counts))
    print(f"Atoms: a pass of `fit` over {len(X)} rows")
    print_table(
        ["n_components", "s", "slope from the one before"],
        [
            [n_atoms, f"{seconds:.3f}", slope]
            for n_atoms, seconds, slope in zip(
                counts, medians, ["-", *(f"{slope:.2f}" for slope in slopes)], strict=True
            )
        ],
    )
    slope = np.polyfit(np.log(counts), np.log(medians), 1)[0]
    print(f"seconds grow with the power {slope:.2f} of n_components, fitted to all of them\n")


PARTS = {
    "group": compare_groups,
    "non-negative": compare_non_negative,
    "graph": report_graph,
    "rows": report_rows,
    "atoms": report_atoms,
}


def parse_options():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="part", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--quick", action="store_true", help="small data, one run: a check")
    parser.add_argument("--full", action="store_true", help="scikit-learn with n_jobs=1 too")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rows", type=int, help="of the part about rows; 5,000,000 by default")
    options = parser.parse_args()
    unknown = set(options.parts) - set(PARTS)
    if unknown:
        parser.error(f"unknown parts {sorted(unknown)}: take some of {list(PARTS)}")
    if options.rows is None:
        options.rows = 100_000 if options.quick else 5_000_000
    if options.quick:
        options.repeats = 1
    return options


def main():
    """Print all tables."""
    options = parse_options()
    print_environment("Basis learning, variants: ours beside what can do the same")
    waiting = os.environ.get("OMP_WAIT_POLICY", "not set")
    print(f"{options.threads} threads each; OMP_WAIT_POLICY: {waiting}\n")
    for part in options.parts or PARTS:
        PARTS[part](options)


if __name__ == "__main__":
    main()
