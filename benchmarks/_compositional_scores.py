"""Choosing settings, scores over seeds, tables, bars and figures of `benchmarks.compositional`."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter

import numpy as np

from ._common import print_table


def chosen(name, candidates, train, valid):
    """The method of least validation error, and says which; nothing else is looked at.

    All candidates are fitted with seed 0.
    """
    candidates = list(candidates)
    errors = [valid.error(method.fit(train, valid, 0).predict(valid)) for method in candidates]
    best = candidates[int(np.argmin(errors))]
    if len(candidates) > 1:
        print(f"{name}: {best}, of {len(candidates)}; validation {min(errors):.2g}", flush=True)
    return best


@dataclass
class Scores:
    """What one method reached, one entry a seed."""

    errors: dict = field(default_factory=dict)  # name of a test part: list
    active: list = field(default_factory=list)
    found: list = field(default_factory=list)
    fit_seconds: list = field(default_factory=list)
    predict_seconds: list = field(default_factory=list)

    def add(self, method, data, seed):
        """Fit the method and test it."""
        start = perf_counter()
        method.fit(data.train, data.valid, seed)
        self.fit_seconds.append(perf_counter() - start)
        start = perf_counter()
        for name, part in data.test.items():
            self.errors.setdefault(name, []).append(part.error(method.predict(part)))
        self.predict_seconds.append(perf_counter() - start)
        self.active.append(told(method, "active", data.test["id"]))
        self.found.append(told(method, "found", data.atoms))

    def mean(self, part):
        """The mean error of a test part."""
        return float(np.mean(self.errors[part]))


def told(method, what, of):
    """A number that some methods tell of some data, or NaN."""
    tell = getattr(method, what, None)
    return np.nan if tell is None or of is None else tell(of)


@dataclass(frozen=True)
class Data:
    """Samples to learn from, to choose by and to test on, of one seed; true atoms if known."""

    train: object
    valid: object
    test: dict
    atoms: np.ndarray | None = None

    def cut(self, n_valid):
        """The same with fewer samples to choose by."""
        return replace(self, valid=self.valid[:n_valid])


def split(training, test, atoms=None):
    """The last tenth of the training samples is for validation."""
    n_valid = max(20, len(training.inputs) // 10)
    return Data(training[:-n_valid], training[-n_valid:], test, atoms)


@dataclass(frozen=True)
class Bar:
    """That the errors of one method are so many times below those of the best of some others.

    Of the others those count that are there; if none is, there is no bar.
    """

    ours: str
    rivals: tuple
    factor: float
    parts: tuple
    ours_part: str | None = None  # where it is not the same test part

    def rows(self, scores):
        """One row of a table for each test part."""
        rivals = [name for name in self.rivals if name in scores]
        for part in self.parts if rivals else ():
            rival = min(rivals, key=lambda name: scores[name].mean(part))
            ratio = scores[rival].mean(part) / scores[self.ours].mean(self.ours_part or part)
            where = part if self.ours_part is None else f"{self.ours_part} / {part}"
            verdict = "met" if ratio >= self.factor else "missed"
            yield [self.ours, rival, where, f"{self.factor:.3g}", f"{ratio:.3g}", verdict]


def report(title, scores, bars):
    """Print errors, sizes, seconds and bars."""
    parts = list(next(iter(scores.values())).errors)
    rows = []
    for name, score in scores.items():
        errors = [f"{score.mean(part):.2g} ± {np.std(score.errors[part]):.1g}" for part in parts]
        told = (f"{np.mean(score.active):.1f}", f"{np.mean(score.found):.0%}")
        told = ("-" if some.startswith("nan") else some for some in told)
        seconds = (np.mean(score.fit_seconds), np.mean(score.predict_seconds))
        rows.append([name, *errors, *told, *(f"{s:.2f}" for s in seconds)])
    print(f"\n{title}")
    print_table(["method", *parts, "active", "found", "fit s", "predict s"], rows)
    headers = ["ours", "the best of them", "test part", "bar", "their error / ours", "verdict"]
    print_table(headers, [row for bar in bars for row in bar.rows(scores)])


def draw(folder, name, title, scores):
    """One figure: a dot for each error, with its spread over seeds."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    parts = list(next(iter(scores.values())).errors)
    figure, axes = plt.subplots(figsize=(7, 1.2 + 0.4 * len(scores)), layout="constrained")
    places = np.arange(len(scores))[::-1]
    for number, part in enumerate(parts):
        errors = np.array([score.errors[part] for score in scores.values()])
        means = errors.mean(axis=1)
        spread = np.minimum(errors.std(axis=1), 0.99 * means)  # a log axis has no zero
        axes.errorbar(means, places - 0.1 * number, xerr=spread, fmt="o", label=part, capsize=2)
    axes.set(xscale="log", xlabel="mean squared error / variance", title=title)
    axes.set_yticks(places, list(scores))
    axes.legend(fontsize="small")
    Path(folder).mkdir(parents=True, exist_ok=True)
    figure.savefig(Path(folder) / f"compositional_{name}.png", dpi=150)
    plt.close(figure)
