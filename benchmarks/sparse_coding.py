"""Coding 19,962 patches of 8x8 on atoms drawn from them: ours, SPAMS and scikit-learn.

    python -m benchmarks.sparse_coding [--quick] [--full] [--all] [--sizes 256 1024]

All methods solve the same lasso, exactly, in the same precision and with the same number of
threads, in turns in one process. SPAMS keeps samples in columns: it gets transposed views, which
are in the order that it wants, so nothing is converted. scikit-learn's solvers take minutes on all
rows: they get the first tenth of them (the rows come in random order) and their times are scaled
up, unless `--full` is given. `lasso_cd` keeps its default of at most 1,000 sweeps, which is enough
here to agree with the others.
"""

import argparse
import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.decomposition import sparse_encode

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
    unit_rows,
)

ALPHAS = (0.1, 0.03)
WARM_UP_ROWS = 64
PART = 10  # scikit-learn gets one row of so many


@dataclass(frozen=True)
class Ours:
    """`skatoms.coding.sparse_code`."""

    solver: str = "auto"
    output: str = "dense"
    threads: int = 2

    def __call__(self, X, atoms, alpha, start=None):
        """Codes, one row a sample."""
        return sparse_code(
            X,
            atoms,
            alpha=alpha,
            solver=self.solver,
            codes_init=start,
            output=self.output,
            n_jobs=self.threads,
        )


@dataclass(frozen=True)
class Spams:
    """`spams.lasso` in its penalised form (mode 2)."""

    threads: int = 2

    def __call__(self, X, atoms, alpha):
        """Codes, one row a sample."""
        codes = spams.lasso(X.T, D=atoms.T, lambda1=alpha, mode=2, numThreads=self.threads)
        return codes.T


@dataclass(frozen=True)
class Sklearn:
    """`sklearn.decomposition.sparse_encode`; `threads` are processes."""

    algorithm: str
    threads: int

    def __call__(self, X, atoms, alpha):
        """Codes, one row a sample."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # how exact it is, the table tells
            return sparse_encode(
                X, atoms, algorithm=self.algorithm, alpha=alpha, n_jobs=self.threads
            )


def cold_methods(threads, everything):
    """Those that start from zero, by name."""
    methods = {"ours auto": Ours(threads=threads)}
    methods["ours auto, sparse output"] = Ours(output="sparse", threads=threads)
    for solver in ("active-set", "homotopy") + (("fista",) if everything else ()):
        methods[f"ours {solver}"] = Ours(solver, threads=threads)
    if spams:
        methods["SPAMS lasso"] = Spams(threads)
    for algorithm in ("lasso_cd", "lasso_lars"):
        for n_jobs in sorted({1, threads}):
            methods[f"scikit-learn {algorithm}, n_jobs={n_jobs}"] = Sklearn(algorithm, n_jobs)
    return methods


@dataclass(frozen=True)
class Outcome:
    """What a method did on some of the rows."""

    seconds: list
    n_rows: int
    losses: np.ndarray
    n_nonzero: int

    def median_for(self, n_rows):
        """Median seconds, scaled to another number of rows."""
        return np.median(self.seconds) * n_rows / self.n_rows


def compare_cold(X, atoms, alpha, options):
    """Time all methods in turns from a cold start; print their table and the ratios."""
    methods = cold_methods(options.threads, options.all)
    part = X if options.full else X[: len(X) // PART]
    data = {name: part if isinstance(methods[name], Sklearn) else X for name in methods}
    for name, method in methods.items():
        method(data[name][:WARM_UP_ROWS], atoms, alpha)
    timings = time_in_turns(
        {
            name: lambda method=method, rows=data[name]: method(rows, atoms, alpha)
            for name, method in methods.items()
        },
        options.repeats,
    )
    outcomes = {
        name: Outcome(
            timing.seconds,
            len(data[name]),
            objectives(data[name], atoms, timing.result, alpha),
            (abs(timing.result) > 0).sum(),
        )
        for name, timing in timings.items()
    }
    peaks = {
        name: peak_growth(prepare_cold, method, len(X), atoms, alpha)
        for name, method in methods.items()
        if options.memory and not isinstance(method, Sklearn)
    }
    print(f"Cold start, alpha {alpha}, {len(X)} rows, {len(atoms)} atoms, {X.dtype}")
    headers = ["method", "threads", "rows", "median s", "range s", "/ ours", "objective"]
    print_table(
        [*headers, "above best", "relative", "non-zeros", "peak MB"],
        [
            [
                name,
                methods[name].threads,
                *cells(outcome, outcomes, len(X)),
                megabytes(peaks.get(name)),
            ]
            for name, outcome in outcomes.items()
        ],
    )
    if len(part) < len(X):
        print(f"* measured on the first {len(part)} rows ('range s'), scaled up to {len(X)}\n")
    print_ratios({name: outcome.median_for(len(X)) for name, outcome in outcomes.items()})


def cells(outcome, outcomes, n_rows):
    """A line of the table; objectives are compared on the rows that all had."""
    n = outcome.n_rows
    best = min(other.losses[:n].mean() for other in outcomes.values() if other.n_rows >= n)
    above = outcome.losses.mean() - best
    seconds = outcome.median_for(n_rows)
    return [
        n,
        f"{seconds:.3f}" + (" *" if n < n_rows else ""),
        f"{min(outcome.seconds):.3f}-{max(outcome.seconds):.3f}",
        f"{seconds / outcomes['ours auto'].median_for(n_rows):.2f}",
        f"{outcome.losses.mean():.10f}",
        f"{above:.1e}",
        f"{above / best:.1e}",
        f"{outcome.n_nonzero / n:.1f}",
    ]


def print_ratios(seconds):
    """How much longer SPAMS and the fastest of scikit-learn's solvers take than ours."""
    names = [name for name in seconds if name.startswith("scikit-learn")]
    rivals = [min(names, key=seconds.get)]
    if spams:
        rivals.append("SPAMS lasso")
    for rival in rivals:
        ratio = seconds[rival] / seconds["ours auto"]
        print(f"ratio of medians, {rival} / ours auto: {ratio:.2f}")
    print()


def prepare_cold(method, n_rows, atoms, alpha):
    """For `peak_growth`: a warmed-up call."""
    X = patches()[:n_rows]
    method(X[:WARM_UP_ROWS], atoms, alpha)
    return lambda: method(X, atoms, alpha)


def compare_warm(X, atoms, alpha, options):
    """Ours from the solution, and from that of a dictionary 2 % away."""
    noise = unit_rows(np.random.default_rng(1).standard_normal(atoms.shape))
    moved = unit_rows(atoms + 0.02 * noise)
    ours = Ours(threads=options.threads)
    starts = {"from zero": None, "from the solution": atoms, "from atoms 2 % away": moved}
    starts = {name: None if near is None else ours(X, near, alpha) for name, near in starts.items()}
    timings = time_in_turns(
        {name: lambda start=start: ours(X, atoms, alpha, start) for name, start in starts.items()},
        options.repeats,
    )
    losses = {
        name: objectives(X, atoms, timing.result, alpha).mean() for name, timing in timings.items()
    }
    best = min(losses.values())
    print(f"Warm start, ours auto, alpha {alpha}, {len(X)} rows, {len(atoms)} atoms, {X.dtype}")
    print_table(
        ["start", "median s", "/ cold", "objective", "relative"],
        [
            [
                name,
                f"{timing.median:.3f}",
                f"{timing.median / timings['from zero'].median:.2f}",
                f"{losses[name]:.10f}",
                f"{losses[name] / best - 1:.1e}",
            ]
            for name, timing in timings.items()
        ],
    )


def compare_single_precision(X, atoms, alpha, options):
    """Ours and SPAMS in float32, judged in float64 against ours in float64."""
    methods = {"ours auto": Ours(threads=options.threads)}
    if spams:
        methods["SPAMS lasso"] = Spams(options.threads)
    runs = {"ours auto, float64": lambda: methods["ours auto"](X, atoms, alpha)}
    X32, atoms32 = X.astype(np.float32), atoms.astype(np.float32)
    for name, method in methods.items():
        method(X32[:WARM_UP_ROWS], atoms32, alpha)
        runs[f"{name}, float32"] = lambda method=method: method(X32, atoms32, alpha)
    timings = time_in_turns(runs, options.repeats)
    losses = {
        name: objectives(X, atoms, timing.result, alpha).mean() for name, timing in timings.items()
    }
    exact = losses["ours auto, float64"]
    print(f"Single precision, alpha {alpha}, {len(X)} rows, {len(atoms)} atoms")
    print_table(
        ["method", "median s", "/ float64", "objective", "relative"],
        [
            [
                name,
                f"{timing.median:.3f}",
                f"{timing.median / timings['ours auto, float64'].median:.2f}",
                f"{losses[name]:.10f}",
                f"{losses[name] / exact - 1:.1e}",
            ]
            for name, timing in timings.items()
        ],
    )


def parse_options():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small data, one run: a check")
    parser.add_argument("--full", action="store_true", help="scikit-learn on all rows: minutes")
    parser.add_argument("--all", action="store_true", help="also fista")
    parser.add_argument("--sizes", type=int, nargs="+", default=[256], help="numbers of atoms")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--no-memory", dest="memory", action="store_false")
    options = parser.parse_args()
    if options.quick:
        options.sizes, options.repeats, options.memory = [64], 1, False
    return options


def main():
    """Print all tables."""
    options = parse_options()
    print_environment("Sparse coding: ours beside SPAMS and scikit-learn")
    X = patches()[:1000] if options.quick else patches()
    first = seconds_of(lambda: Ours()(X[:WARM_UP_ROWS], atoms_from(X, 64), ALPHAS[0]))
    print(f"ours, first call in this process: {first:.2f} s (kernels compiled or loaded)\n")
    for n_atoms in options.sizes:
        atoms = atoms_from(X, n_atoms)
        for alpha in ALPHAS:
            compare_cold(X, atoms, alpha, options)
            compare_warm(X, atoms, alpha, options)
            compare_single_precision(X, atoms, alpha, options)


if __name__ == "__main__":
    main()
