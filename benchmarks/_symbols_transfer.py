"""New tasks from symbols and from raw samples, for `benchmarks.symbols`."""

from dataclasses import dataclass
from functools import partial
from itertools import count, islice

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skatoms import WTASymbolEncoder
from skatoms.datasets import make_entangled_factors, make_linear_tasks, make_sprites
from skatoms.metrics import factor_match_matrix, structural_permutation_score

from ._common import print_table

N_TASKS = 100
WITHHELD = 0.25  # of the pairs of the first two factors
ALPHA = 1.0  # best of 1e-4, 0.1, 1 and 10 in a trial, for symbols and for raw samples alike
JITTER = 0.5
PAPER = {"few": ("0.993", "0.796"), "pairs": ("0.987", "0.917"), "ignored": ("> 0.999", "0.864")}


@dataclass(frozen=True)
class Exam:
    """Which new tasks are learned from which samples, and tested on which.

    train, test : Bunch with data and factors
    used : the factors that tasks depend on, or how many are drawn
    """

    train: object
    test: object
    n_categories: tuple
    used: int | tuple

    def auc(self, represent, n_new, seed):
        """Mean area under the curve of new tasks, for a perceptron on some representation."""
        x, test_x = represent(self.train.data), represent(self.test.data)
        areas = []
        for y, test_y in islice(self._tasks(1000 * seed), n_new):
            network = MLPClassifier((64, 64), alpha=ALPHA, max_iter=1000, random_state=seed)
            network = make_pipeline(StandardScaler(), network).fit(x, y)
            areas.append(roc_auc_score(test_y, network.predict_proba(test_x)[:, 1]))
        return float(np.mean(areas))

    def _tasks(self, first):
        """Labels to learn and to test on, of tasks that have both labels in both."""
        for task in count(first):
            labels = tuple(self._labels(task))
            if all(0 < some.mean() < 1 for some in labels):
                yield labels

    def _labels(self, task):
        """Whether a linear function of factors is above its median."""
        n_factors, used = len(self.n_categories), self.used
        if isinstance(used, int):
            used = np.random.default_rng(task).permutation(n_factors)[:used]
        others = [factor for factor in range(n_factors) if factor not in used]
        tasks = make_linear_tasks(
            self.train.factors,
            1,
            self.n_categories,
            ignore=others,
            test={"test": self.test.factors},
            random_state=task,
        )
        limit = np.median(tasks.probabilities)
        return (some.probabilities[:, 0] > limit for some in (tasks, tasks.test["test"]))


@dataclass(frozen=True)
class Rows:
    """Samples and factors."""

    data: np.ndarray
    factors: np.ndarray

    def __getitem__(self, rows):
        return Rows(self.data[rows], self.factors[rows])


def rows_of(bunch):
    """The part of a Bunch that is needed here."""
    return Rows(bunch.data, bunch.factors)


def encoder_of(rows, n_categories, head_sizes, seed, prepare=None):
    """A function from raw samples to symbols, learned from tasks on these rows."""
    tasks = make_linear_tasks(rows.factors, N_TASKS, n_categories, random_state=seed)
    encoder = WTASymbolEncoder(head_sizes, n_jobs=2, random_state=seed)
    prepare = prepare or raw
    encoder.fit(prepare(rows.data), tasks.target)
    return lambda data: encoder.symbols(prepare(data)), lambda data: encoder.transform(
        prepare(data)
    )


def raw(data):
    """Samples as they are."""
    return data


def form_and_colour(data, size):
    """The brightest channel of each pixel, and the mean of each channel."""
    pictures = data.reshape(-1, size * size, 3)
    return np.hstack([pictures.max(axis=2), pictures.mean(axis=1)])


class Table:
    """Mean areas under the curve of a few settings."""

    def __init__(self):
        self.areas = {}

    def add(self, name, exam, representations, n_new, seed):
        """Symbols and raw samples in one setting."""
        for kind, represent in representations.items():
            area = exam.auc(represent, n_new, seed)
            self.areas.setdefault(name, {}).setdefault(kind, []).append(area)

    def mean(self, name, kind="symbols"):
        """The mean over seeds."""
        return float(np.mean(self.areas[name][kind]))

    def show(self, title, paper):
        """Print; paper : for some names, what the paper has for its own tasks and sizes."""
        rows = [
            [name, f"{self.mean(name):.4f}", f"{self.mean(name, 'raw'):.4f}"]
            + list(paper.get(name, ("-", "-")))
            for name in self.areas
        ]
        print(title)
        print_table(["", "symbols", "raw", "paper, symbols", "paper, raw"], rows)


def transfer_of_factors(options):
    """Print areas; bars."""
    n_new, (n_samples, n_few, n_more) = 3, (20_000, 100, 1000)
    if options.quick:
        n_new, (n_samples, n_few, n_more) = 1, (2000, 100, 300)
    n_test = n_samples // 4
    few, pairs = "100 samples at random", "unseen pairs"
    knowing, ignored = (
        "unseen pairs, encoder has seen them",
        "unseen half of a factor that is ignored",
    )
    every, of_pair = f"{few}, tasks of all factors", f"{pairs}, tasks of these two factors"
    known_pair = f"{knowing}, tasks of these two factors"
    table = Table()
    for seed in range(options.seeds):
        size = options.size | {"random_state": seed}
        full = make_entangled_factors(n_samples, n_test, **size)
        lacking = make_entangled_factors(n_samples, n_test, unseen_pairs=WITHHELD, **size)
        counts, heads = full.n_categories, options.heads
        codes = {}
        for name, bunch in (("full", full), ("lacking", lacking)):
            _, codes[name] = encoder_of(rows_of(bunch), counts, heads, seed)
        train, test = rows_of(full), rows_of(full.test["id"])
        seen, unseen = rows_of(lacking)[:n_more], rows_of(lacking.test["unseen"])
        middle = counts[0] // 2
        lower, upper = train[train.factors[:, 0] < middle], test[test.factors[:, 0] >= middle]
        others = tuple(range(1, 3))
        settings = [
            (few, "full", train[:n_few], test, 2),
            (every, "full", train[:n_few], test, len(counts)),
            (pairs, "lacking", seen, unseen, 2),
            (of_pair, "lacking", seen, unseen, (0, 1)),
            (knowing, "full", seen, unseen, 2),
            (known_pair, "full", seen, unseen, (0, 1)),
            (ignored, "full", lower[:n_more], upper, others),
        ]
        for name, which, some, tested, used in settings:
            representations = {"symbols": codes[which], "raw": raw}
            table.add(name, Exam(some, tested, counts, used), representations, n_new, seed)
    paper = {few: PAPER["few"], pairs: PAPER["pairs"], ignored: PAPER["ignored"]}
    title = f"Areas under the curve of {n_new} new tasks, of two factors if not said; "
    table.show(title + f"{n_more:,} samples if not said; {options.seeds} seeds", paper)
    return [
        (f"{few}, symbols", ">=0.993", table.mean(few)),
        (f"{pairs}, symbols", ">=0.987", table.mean(pairs)),
        (f"{ignored}, symbols", ">=0.999", table.mean(ignored)),
    ]


def transfer_of_sprites(options):
    """Print scores and areas; bars."""
    n_new, (n_samples, n_more, size) = 2, (5000, 1000, 32)
    if options.quick:
        n_new, (n_samples, n_more, size) = 1, (600, 200, 16)
    n_positions, n_test = min(5, size // 6), n_samples // 4
    apart = partial(form_and_colour, size=size)
    settings = {"size": size, "n_positions": n_positions}
    scores, matches, table = {}, {}, Table()

    def judge(name, symbols, rows):
        scores.setdefault(name, []).append(structural_permutation_score(rows.factors, symbols))
        matches.setdefault(name, []).append(factor_match_matrix(rows.factors, symbols).max(axis=1))

    seen_all, lacked, by_hand = "encoder has seen them", "never seen", "never seen, form and colour"
    for seed in range(options.seeds):
        full = make_sprites(n_samples, n_test, random_state=seed, **settings)
        jittered = make_sprites(n_samples, n_test, jitter=JITTER, random_state=seed, **settings)
        lacking = make_sprites(
            n_samples, n_test, unseen_pairs=WITHHELD, random_state=seed, **settings
        )
        counts, test = full.n_categories, rows_of(full.test["id"])
        symbols, codes = encoder_of(rows_of(full), counts, counts, seed)
        judge("sizes given", symbols(test.data), test)
        found, _ = encoder_of(rows_of(full), counts, "auto", seed)
        judge("sizes found", found(test.data), test)
        moved, test = rows_of(jittered), rows_of(jittered.test["id"])
        found, _ = encoder_of(moved, counts, counts, seed)
        judge(f"jitter {JITTER}", found(test.data), test)
        unseen, seen = rows_of(lacking.test["unseen"]), rows_of(lacking)
        found, narrow = encoder_of(seen, counts, counts, seed)
        judge("pairs never seen", found(unseen.data), unseen)
        found, apart_codes = encoder_of(seen, counts, counts, seed, prepare=apart)
        judge("pairs never seen, form and colour", found(unseen.data), unseen)
        representations = {
            seen_all: {"symbols": codes, "raw": raw},
            lacked: {"symbols": narrow, "raw": raw},
            by_hand: {"symbols": apart_codes, "raw": apart},
        }
        for name, pair in representations.items():
            exam = Exam(seen[:n_more], unseen, counts, 2)
            table.add(f"two factors, {name}", exam, pair, n_new, seed)
            exam = Exam(seen[:n_more], unseen, counts, (0, 1))
            table.add(f"shape and colour, {name}", exam, pair, n_new, seed)
    print(f"Pictures of {size} x {size}: accuracy of each factor; {options.seeds} seeds")
    rows = [
        [name, f"{np.mean(scores[name]):.4f}", f"{min(scores[name]):.4f}"]
        + [f"{accuracy:.3f}" for accuracy in np.mean(matches[name], axis=0)]
        for name in scores
    ]
    print_table(["", "score", "least", *full.factor_names], rows)
    title = f"Unseen pairs of shape and colour: areas of {n_new} new tasks from {n_more:,} pictures"
    table.show(title, {})
    least = np.min(np.mean(matches["sizes given"], axis=0))
    return [
        ("pictures: least mean accuracy of a factor", ">=0.95", least),
        *((f"{name}, symbols", ">=0.98", table.mean(name)) for name in table.areas),
    ]
