"""Carbon dioxide in the air, years ahead: dynamics learned from the past beside naive forecasts."""

import time

import numpy as np
from matplotlib.figure import Figure
from rich.table import Table

from .. import KoopmanBasisDynamics
from ..datasets import load_co2
from ..inspection import ForecastDisplay

LEARNED = 0.7  # part of the series that is learned from
YEAR = 52
SHOWN = 2 * YEAR  # weeks of the forecast that is drawn
HORIZONS = (1, 10, 50)
PAST = 300  # rows that forecasts may go on from


def forecast(console, folder):
    """Forecast weekly carbon dioxide over Mauna Loa, beside naive forecasts."""
    series = load_co2()
    x = _filled(series.data[:, 0])
    cut = int(LEARNED * len(x))
    console.print(f"{cut:,} of {len(x):,} weeks to learn from, the rest to forecast")
    model = KoopmanBasisDynamics(select="auto", horizon=SHOWN, dt=series.dt, random_state=0)
    with console.status("skatoms judges candidates"):
        start = time.perf_counter()
        model.fit(x[:cut, None])
        seconds = time.perf_counter() - start
    origins = np.arange(cut, len(x) - max(HORIZONS) + 1)
    past = x[origins[:, None] + np.arange(-PAST, 0)]
    truth = x[origins[:, None] + np.arange(max(HORIZONS))]
    states, deviations = model.forecast(max(HORIZONS), past[:, :, None], return_std=True)
    table = Table("error in ppm, by weeks", *(f"{h} ahead" for h in HORIZONS))
    for name, found in {"skatoms": states[:, :, 0], **_naive(past)}.items():
        errors = np.sqrt(((found - truth) ** 2).mean(axis=0))
        table.add_row(name, *(f"{errors[h - 1]:.2f}" for h in HORIZONS))
    console.print(table)
    inside = abs(states - truth[:, :, None]) < 2 * deviations
    console.print(f"{inside.mean():.0%} of what came is inside the band of two deviations.")
    console.print(f"Learned in {seconds:.1f} s.")
    path = folder / "skatoms-forecast.png"
    _draw(model, x[:, None], series.times, cut).savefig(path)
    console.print(f"Picture: {path}")


def _filled(x):
    """Missing weeks interpolated, so that forecasts can start anywhere."""
    rows, known = np.arange(len(x)), np.isfinite(x)
    return np.interp(rows, rows[known], x[known])


def _naive(past):
    """Forecasts without learning."""
    steps = np.arange(max(HORIZONS))
    rise = (past[:, -1] - past[:, -1 - YEAR])[:, None]
    return {
        "last value": np.repeat(past[:, -1:], len(steps), axis=1),
        "last year and its rise": past[:, -YEAR:][:, steps % YEAR] + rise,
    }


def _draw(model, X, times, cut):
    """Two years from the end of what was learned from."""
    figure = Figure(figsize=(9, 4), dpi=120, layout="constrained")
    axes = figure.subplots()
    truth = X[cut : cut + SHOWN]
    ForecastDisplay.from_estimator(
        model, X[:cut], SHOWN, start=times[cut - 1], truth=truth, ax=axes
    )
    seen = X[cut - 3 * SHOWN : cut + SHOWN]
    axes.set(
        title="carbon dioxide over Mauna Loa",
        ylabel="parts per million",
        xlim=(times[cut - 3 * SHOWN], times[cut + SHOWN]),
        ylim=(seen.min() - 1, seen.max() + 3),
    )
    return figure
