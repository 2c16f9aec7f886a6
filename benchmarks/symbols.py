"""Symbols by `skatoms.WTASymbolEncoder` beside clusters, bins and soft bottlenecks.

    python -m benchmarks.symbols [part ...] [--seeds N] [--peer-seeds N] [--quick]
        [--figures FOLDER]

The parts, all of them if none is named:

matched
    5 factors of 6 categories, entangled by a random network, and 100 tasks, whose probabilities are
    the targets; as many heads and units.
hard
    The same with sampled labels as targets.
mismatched
    5 heads of 10 units, and 8 heads of 6.
distractors
    Two more factors of 6 categories that no task needs; also from 100,000 samples, by hidden layers
    of 512 units.
generalisation
    New tasks, learned by one and the same perceptron from symbols and from raw samples: from few
    samples, on pairs of categories that were never seen, and where a factor does not matter.
sprites
    Pictures of 32 x 32 pixels of shapes in colours at places.

Symbols are judged on 20,000 samples that nothing was learned from. "score" is the structural
permutation score, "as OR" that of several units for a category. A category counts as found if the
best OR of units differs from it in at most 0.1 % or 1 % of as many samples as it has. "task error"
is the mean absolute error against true probabilities. Baselines get the same samples, sizes and
tasks; bottlenecks have our hidden layers, training and held-out samples, and their learning rate is
the one of least held-out loss of three with seed 0. Bins are of each feature: a head for each of
them, of which the score takes the best. Bars say what we set out to reach; whether it was is
printed, whatever it is.
"""

import argparse
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from skatoms.datasets import make_entangled_factors, make_linear_tasks
from skatoms.metrics import (
    category_recovery,
    population_code_score,
    structural_permutation_score,
)

from ._common import print_environment, print_table
from ._symbols_baselines import METHODS, RATES, TUNED, ours
from ._symbols_transfer import transfer_of_factors, transfer_of_sprites

OURS = "skatoms"
N_TASKS = 100
TOLERANCES = (1e-3, 1e-2)
MORE = {"n_samples": 100_000}
WIDER = {"hidden": (512, 512)}


@dataclass(frozen=True)
class Data:
    """Samples and targets to learn from; samples, factors and probabilities to test on."""

    x: np.ndarray
    targets: np.ndarray
    test_x: np.ndarray
    factors: np.ndarray
    probabilities: np.ndarray


def entangled(options, seed, hard=False, n_samples=20_000, **settings):
    """Samples of factors and their tasks."""
    n_samples, n_test = (1000, 1000) if options.quick else (n_samples, 20_000)
    rows = make_entangled_factors(n_samples, n_test, random_state=seed, **options.size | settings)
    test = rows.test["id"]
    parts = {"id": test.factors}
    tasks = make_linear_tasks(rows.factors, N_TASKS, hard=hard, test=parts, random_state=seed)
    probabilities = tasks.test["id"].probabilities
    return Data(rows.data, tasks.target, test.data, test.factors, probabilities)


def print_bars(rows):
    """What was to be reached, what was, and whether that is enough."""
    table = []
    for what, bar, value in rows:
        above = bar.startswith(">=")
        met = value >= float(bar[2:]) if above else value < float(bar[1:])
        table.append([what, bar, f"{value:.4g}", "met" if met else "missed"])
    print_table(["bar", "", "measured", "verdict"], table)


# How well factors are found


@dataclass(frozen=True)
class Judged:
    """What one method reached with one seed."""

    score: float
    as_or: float
    counts: tuple  # categories found, for each tolerance
    error: float
    seconds: float
    restarts: int

    @classmethod
    def of(cls, found, data):
        """Judge symbols of the test samples."""
        recovery = category_recovery(data.factors, found.symbols)
        error = np.nan
        if found.probabilities is not None:
            error = np.abs(found.probabilities - data.probabilities).mean()
        return cls(
            structural_permutation_score(data.factors, found.symbols),
            population_code_score(data.factors, found.symbols),
            tuple(recovery.count(tolerance) for tolerance in TOLERANCES),
            error,
            found.seconds,
            found.restarts,
        )


def baselines(options, data, head_sizes):
    """Methods, those with a learning rate at the best of three."""
    methods, rates = dict(METHODS), RATES[:1] if options.quick else RATES
    more = {"epochs": 5} if options.quick else {}
    for name in TUNED:
        method = partial(METHODS[name], **more)
        losses = {rate: method(data, head_sizes, 0, rate=rate).loss for rate in rates}
        rate = min(losses, key=losses.get)
        print(f"{name}: learning rate {rate}", flush=True)
        methods[name] = partial(method, rate=rate)
    return methods


def compared(options, title, draw, head_sizes, peers=True, n_seeds=None, **settings):
    """Judge all methods with each seed and print; returns what ours reached."""
    methods = {OURS: partial(ours, **settings)}
    if peers and options.peer_seeds:
        methods |= baselines(options, draw(0), head_sizes)
    judged = {name: [] for name in methods}
    for seed in range(n_seeds or options.seeds):
        data = draw(seed)
        for name, method in methods.items():
            if name == OURS or seed < options.peer_seeds:
                judged[name].append(Judged.of(method(data, head_sizes, seed), data))
    print(f"\n{title}")
    rows = []
    for name, some in judged.items():
        scores = [one.score for one in some]
        counts = np.array([one.counts for one in some])
        found = (f"{c.mean():.1f} ({c.min()})" for c in counts.T)
        error = np.median([one.error for one in some])
        rows.append(
            [
                name,
                len(some),
                f"{np.mean(scores):.4f}",
                f"{min(scores):.4f}",
                sum(score == 1 for score in scores),
                f"{np.mean([one.as_or for one in some]):.4f}",
                *found,
                "-" if np.isnan(error) else f"{error:.1e}",
                f"{np.median([one.seconds for one in some]):.1f}",
                sum(one.restarts for one in some),
            ]
        )
    tolerances = (f"of {sum(options.heads)} at {t:.1%} (least)" for t in TOLERANCES)
    headers = [
        "",
        "seeds",
        "score",
        "least",
        "exact",
        "as OR",
        *tolerances,
        "task error",
        "s",
        "restarts",
    ]
    print_table(headers, rows)
    return judged


def enough(some, n_found, tolerance):
    """In which part of the seeds so many categories are found."""
    place = TOLERANCES.index(tolerance)
    return float(np.mean([one.counts[place] >= n_found for one in some]))


def matched(options):
    """Soft targets, matched heads."""
    judged = compared(options, "Matched heads", lambda s: entangled(options, s), options.heads)
    some = judged[OURS]
    print_bars(
        [
            ("seeds with all factors exact", ">=0.9", np.mean([one.score == 1 for one in some])),
            ("largest task error", "<1e-6", max(one.error for one in some)),
            ("median seconds", "<60", np.median([one.seconds for one in some])),
        ]
    )
    return judged


def hard(options):
    """Sampled labels."""
    draw = lambda seed: entangled(options, seed, hard=True)  # noqa: E731
    judged = compared(options, "Sampled labels", draw, options.heads)
    n = sum(options.heads)
    print_bars(
        (f"mean part of categories found, at {t:.1%}", ">=0.95", shares.mean() / n)
        for t, shares in zip(
            TOLERANCES, np.array([one.counts for one in judged[OURS]]).T, strict=True
        )
    )
    return judged


def mismatched(options):
    """Too many units, too many heads."""
    bars, least = [], 28 / 30 * sum(options.heads)
    for title, sizes in options.mismatched.items():
        judged = compared(options, title, lambda s: entangled(options, s), sizes)
        bars += [
            (f"{title}: seeds at {t:.1%}", ">=0.9", enough(judged[OURS], least, t))
            for t in TOLERANCES
        ]
        draw = lambda seed: entangled(options, seed)  # noqa: E731
        n_seeds = max(1, options.peer_seeds)
        merged = compared(
            options, f"{title}, merged", draw, sizes, False, n_seeds, merge_equivalent=True
        )
        exact = np.mean([one.score == 1 for one in merged[OURS]])
        bars.append((f"{title}, merged: seeds exact", ">=0.9", exact))
    print_bars(bars)
    return judged


def distractors(options):
    """Factors that no task needs."""
    least, bars, some = 28 / 30 * sum(options.heads), [], {}
    title = "Two distractors"
    draw = lambda seed, **more: entangled(options, seed, n_distractors=2, **more)  # noqa: E731
    some[title] = judged = compared(options, title, draw, options.heads)
    title = "Two distractors, more samples and wider layers"
    draw_more = lambda seed: draw(seed, **MORE)  # noqa: E731
    some[title] = compared(
        options, title, draw_more, options.heads, False, max(1, options.peer_seeds), **WIDER
    )
    for title, one in some.items():
        bars += [
            (f"{title}: seeds at {t:.1%}", ">=0.9", enough(one[OURS], least, t)) for t in TOLERANCES
        ]
    print_bars(bars)
    return judged


# What symbols are good for


def generalisation(options):
    """New tasks."""
    print_bars(transfer_of_factors(options))


def sprites(options):
    """Pictures of shapes."""
    print_bars(transfer_of_sprites(options))


def draw_scores(options, judged):
    """A panel for each part with a dot for each seed and method."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, grid = plt.subplots(
        1, len(judged), figsize=(2 + 2.6 * len(judged), 3), layout="constrained", squeeze=False
    )
    for axes, (part, methods) in zip(grid[0], judged.items(), strict=True):
        for place, (name, some) in enumerate(methods.items()):
            color = "black" if name == OURS else f"C{place}"
            scores = [one.score for one in some]
            axes.plot(scores, np.full(len(scores), -place), "o", color=color, alpha=0.6)
        axes.set(title=part, xlim=(0, 1.03), xlabel="score")
        axes.set_yticks(
            -np.arange(len(methods)), list(methods) if part == next(iter(judged)) else []
        )
    Path(options.figures).mkdir(parents=True, exist_ok=True)
    figure.savefig(Path(options.figures) / "symbols.png", dpi=110)
    plt.close(figure)


PARTS = {
    "matched": matched,
    "hard": hard,
    "mismatched": mismatched,
    "distractors": distractors,
    "generalisation": generalisation,
    "sprites": sprites,
}


def parse_options():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="part", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--peer-seeds", type=int, default=10, help="of baselines; 0: none")
    parser.add_argument("--quick", action="store_true", help="small data, one seed: a check")
    parser.add_argument("--figures", metavar="FOLDER", help="where to put a figure of the scores")
    options = parser.parse_args()
    unknown = set(options.parts) - set(PARTS)
    if unknown:
        parser.error(f"unknown parts {sorted(unknown)}: take some of {list(PARTS)}")
    if options.quick:
        options.seeds = options.peer_seeds = 1
    n_factors, n_categories = (3, 4) if options.quick else (5, 6)
    options.size = {"n_factors": n_factors, "n_categories": n_categories}
    options.heads = n_factors * (n_categories,)
    options.mismatched = {
        "Heads of 10 units": n_factors * (10,),
        f"{n_factors + 3} heads": (n_factors + 3) * (n_categories,),
    }
    return options


def main():
    """Print all tables."""
    options = parse_options()
    print_environment("Symbols: categorical factors found by winner-take-all heads")
    judged = {}
    for part in options.parts or PARTS:
        print(f"\n{part}\n", flush=True)
        found = PARTS[part](options)
        if found:
            judged[part] = found
    if options.figures and judged:
        draw_scores(options, judged)


if __name__ == "__main__":
    main()
