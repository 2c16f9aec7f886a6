"""Forecasts and eigenvalues by `skatoms.KoopmanBasisDynamics` beside other packages.

    python -m benchmarks.dynamics [part ...] [--seeds N] [--quick] [--figures FOLDER]

The parts, all of them if none is named:

oscillators
    Two damped oscillators, 10 sensors, 300 rows with noise. Largest distance of a true eigenvalue
    to the nearest one that was found, and error of the state 100 steps after the last row relative
    to the root mean square of the signal; medians over seeds.
systems
    Van der Pol, Duffing and Lorenz, without noise and with 1 %, from new starts without noise.
    Median distance after 1, 10 and 50 steps, relative to the deviation of the data.
series
    Sunspots, carbon dioxide and, if SKATOMS_DATA names a folder with a folder ecg, two stretches of
    an electrocardiogram. Fitted once to the first 70 %, forecasts from origins in the rest. Root
    mean square errors, relative to the deviation of the training data.
speed
    Time and memory for many rows and for many forecasts.
ahead
    Of which step a forecast of so many steps is: nearest step, on linear data.

All get the same data, in double precision. Settings of all methods, ours too, are chosen from a
grid: for systems with seed 0 on noise-free trajectories that are neither learned from nor tested
on; for series, where ours is select="auto", on the last 30 % of the training part. PyDMD, deeptime,
kooplearn and PySINDy are measured where they are installed. Bars say what we set out to reach;
whether it was is printed, whatever it is.
"""

import argparse
import os
from itertools import product
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
from sklearn.preprocessing import PolynomialFeatures

from skatoms import KoopmanBasisDynamics
from skatoms.datasets import (
    load_co2,
    load_ecg,
    load_sunspots,
    make_duffing,
    make_lorenz,
    make_oscillators,
    make_van_der_pol,
)

from . import _dynamics_peers as peers
from ._common import peak_growth, print_environment, print_table, seconds_of

OURS = "skatoms"
HORIZONS = (1, 10, 50)
TEST_SEED, CHOICE_SEED = 1000, 2000  # of trajectories to test and to choose by
N_STARTS = 60
N_ORIGINS = 500
GIGABYTE = 2**30


def print_bars(rows):
    """What was to be reached, what was, and whether that is enough."""
    table = [
        [what, f"{bar:.3g}", f"{value:.3g}", "met" if value <= bar else "missed"]
        for what, bar, value in rows
    ]
    print_table(["bar", "at most", "measured", "verdict"], table)


def root_mean_square(values, axis=None):
    """The root of the mean of squares."""
    return np.sqrt((np.asarray(values) ** 2).mean(axis=axis))


# Oscillators


def our_exponentials(data, n_steps):
    """Eigenvalues and the state after some steps, by variable projection."""
    model = KoopmanBasisDynamics(
        rank=4, operator="varpro", center=None, fit_intercept=False, dt=data.dt
    ).fit(data.data[:300])
    return np.log(model.eigenvalues_) / data.dt, model.forecast(n_steps)[-1]


def of_oscillators():
    """Methods: functions of data and steps."""
    methods = {OURS: our_exponentials}
    if "pydmd" in peers.INSTALLED:
        variants = {
            "BOPDMD": {},
            "BOPDMD, not projected": {"use_proj": False},
            "BOPDMD, conjugate pairs": {"eig_constraints": {"conjugate_pairs"}},
            "BOPDMD, 50 bags": {"num_trials": 50},
        }

        def bopdmd(settings):
            def run(data, n_steps):
                ahead = data.times[299] + n_steps * data.dt
                return peers.bopdmd(data.data[:300], data.times[:300], ahead, 4, **settings)

            return run

        def dmd(settings):
            return lambda data, n: peers.dmd(data.data[:300], data.dt, n, 4, **settings)

        methods |= {name: bopdmd(settings) for name, settings in variants.items()}
        methods["PyDMD DMD, total least squares"] = dmd({"tlsq_rank": 4})
        methods["PyDMD DMD, both ways"] = dmd({"both_ways": True})
        methods["PyDMD DMD"] = dmd({})
    return methods


def oscillators(options):
    """Exponentials in noise."""
    methods, n_steps = of_oscillators(), 100
    bars = []
    for noise in (0.1, 0.3, 0.6):
        found = {name: [] for name in methods}
        for seed in range(options.seeds):
            data = make_oscillators(300 + n_steps, noise=noise, random_state=seed)
            size = root_mean_square(data.clean[:300])
            for name, method in methods.items():
                start = perf_counter()
                eigenvalues, state = method(data, n_steps)
                seconds = perf_counter() - start
                nearest = abs(data.exponents[:, None] - eigenvalues).min(axis=1)
                error = root_mean_square(state - data.clean[-1]) / size
                found[name].append((nearest.max(), error, seconds))
        medians = {name: np.median(rows, axis=0) for name, rows in found.items()}
        print(f"Two oscillators, noise {noise:.0%}; medians of {options.seeds} seeds")
        rows = [
            [name, f"{eig:.2g}", f"{error:.2g}", f"{1e3 * seconds:.1f}"]
            for name, (eig, error, seconds) in medians.items()
        ]
        print_table(["", "eigenvalue error", "error after 100 steps", "fit + forecast, ms"], rows)
        rivals = [values for name, values in medians.items() if name.startswith("BOPDMD")]
        if rivals:
            best = np.min(rivals, axis=0)
            names = ("eigenvalue error", "error after 100 steps", "time")
            ratios = zip(names, (1.05, 1.05, 1 / 3), medians[OURS] / best, strict=True)
            bars += [(f"{noise:.0%} noise, {name} / best BOPDMD", *pair) for name, *pair in ratios]
    print_bars(bars)


# Systems


def our_map(parts, dt, degree, gamma):
    """Forecasts by monomials that are lifted anew."""
    model = KoopmanBasisDynamics(PolynomialFeatures(degree), gamma=gamma, max_iter=50).fit(parts)
    return lambda states, n_steps: model.forecast(n_steps, states[:, None])


def of_systems(noise, dt):
    """Grids of fits: name to list of functions of trajectories and dt."""
    gammas = (100, 30, 300, 1000) if noise else (None,)
    grids = {OURS: (our_map, product((3, 5) if noise else (5,), gammas))}
    if "pysindy" in peers.INSTALLED:
        derivatives = (None, 11, 21) if noise else (None,)
        grids["PySINDy"] = peers.sindy, product((2, 3, 5), (0.05, 0.02, 0.1, 0.2), derivatives)
        weak = [("weak", part * dt) for part in (3, 6, 12)]
        grids["PySINDy, weak form"] = peers.sindy, product((3,), (0.05, 0.1, 0.2), weak)
    if "deeptime" in peers.INSTALLED:
        grids["deeptime EDMD"] = peers.edmd, product((3, 5), (False,))
        grids["deeptime EDMD, lifted anew by hand"] = peers.edmd, product((3, 5), (True,))
    return {name: (fit, list(settings)) for name, (fit, settings) in grids.items()}


def distances(forecast, truth):
    """Median distance to trajectories after each step."""
    found = forecast(truth[:, 0], truth.shape[1] - 1)
    apart = np.linalg.norm(found - truth[:, 1:], axis=2)
    return np.median(np.nan_to_num(apart, nan=np.inf), axis=0)


def systems(options):
    """Nonlinear systems."""
    small = {"n_samples": 400} if options.quick else {}
    cases = {
        "Van der Pol": (make_van_der_pol, {}, 1e-3),
        "Duffing": (make_duffing, {}, 1e-5),
        "Lorenz": (make_lorenz, small, 1e-4),
    }
    bars, curves = [], {}
    for (name, (make, size, most)), noise in product(cases.items(), (0.0, 0.01)):
        n_starts = 5 if options.quick else N_STARTS

        def truth_of(seed, make=make, n_starts=n_starts):
            some = make(max(HORIZONS) + 1, n_trajectories=n_starts, random_state=seed).clean
            return some.reshape(n_starts, max(HORIZONS) + 1, -1)

        truth, to_choose = truth_of(TEST_SEED), truth_of(CHOICE_SEED)
        title = f"{name}, noise {noise:.0%}"
        errors, seconds, settings = {}, {}, {}
        for seed in range(options.seeds):
            data = make(noise=noise, random_state=seed, **size)
            parts = np.split(data.data, np.cumsum(data.lengths)[:-1])
            unit = data.clean.std()
            for method, (fit, grid) in of_systems(noise, data.dt).items():
                grid = grid[:1] if options.quick else grid
                if seed == 0:
                    some = [distances(fit(parts, data.dt, *s), to_choose)[-1] for s in grid]
                    settings[method] = grid[int(np.argmin(some))]
                start = perf_counter()
                forecast = fit(parts, data.dt, *settings[method])
                seconds.setdefault(method, []).append(perf_counter() - start)
                errors.setdefault(method, []).append(distances(forecast, truth) / unit)
        medians = {method: np.median(some, axis=0) for method, some in errors.items()}
        curves[title] = medians
        print(f"{title}; medians of {options.seeds} seeds, {n_starts} starts each")
        rows = [
            [method, *(f"{some[h - 1]:.1e}" for h in HORIZONS)]
            + [f"{median(seconds[method]):.2f}", ", ".join(map(str, settings[method]))]
            for method, some in medians.items()
        ]
        print_table(["", *(f"{h} steps" for h in HORIZONS), "fit, s", "settings"], rows)
        ours = medians[OURS][-1]
        if noise:
            rivals = [method for method in medians if method != OURS]
            bars += [(f"{title}, / {key}", 0.5, ours / medians[key][-1]) for key in rivals]
        else:
            bars.append((f"{title}, error after 50 steps", most, ours))
    print_bars(bars)
    draw_curves(options, "dynamics_systems", curves, "median distance / deviation")


# Series


def series_at_hand():
    """Name to (values, period); says what is left out."""
    carbon = load_co2().data[:, 0]
    rows = np.arange(len(carbon))
    known = ~np.isnan(carbon)
    found = {
        "sunspots": (load_sunspots().data[:, 0], 11),
        "carbon dioxide": (np.interp(rows, rows[known], carbon[known]), 52),
    }
    if "SKATOMS_DATA" in os.environ:
        lead = load_ecg(Path(os.environ["SKATOMS_DATA"]) / "ecg").data[:, 0]
        lead = lead[: len(lead) // 4 * 4].reshape(-1, 4).mean(axis=1)  # 90 a second
        found["ECG, first 80 s"] = lead[:7200], 71
        found["ECG, from minute 10"] = lead[54000:61200], 71
    else:
        print("SKATOMS_DATA is not set: the electrocardiogram is left out")
    return found


def our_choice(series):
    """Forecasts by select="auto"."""
    model = KoopmanBasisDynamics(select="auto", horizon=max(HORIZONS), random_state=0)
    model.fit(series[:, None])
    return lambda past, n_steps: model.forecast(n_steps, past[:, :, None])[:, :, 0]


def last_value(series):
    return lambda past, n_steps: np.repeat(past[:, -1:], n_steps, axis=1)


def mean_value(series):
    return lambda past, n_steps: np.full((len(past), n_steps), series.mean())


def seasonal(series, period, follow):
    """The value a period before; follow : with the change of level since."""

    def forecast(past, n_steps):
        found = past[:, -period:][:, np.arange(n_steps) % period]
        return found + follow * (past[:, -1] - past[:, -1 - period])[:, None]

    return forecast


def autoregression(series, most):
    """Least squares on as many values before as Akaike's criterion says, `most` at the most."""
    windows = np.lib.stride_tricks.sliding_window_view(series, most + 1)
    target, lags = windows[:, -1], windows[:, -2::-1]
    basis, triangle = np.linalg.qr(np.column_stack([np.ones(len(lags)), lags]))
    found = basis.T @ target
    left = (target**2).sum() - np.cumsum(found**2)
    order = int(np.argmin(len(lags) * np.log(left) + 2 * np.arange(1, most + 2)))
    weights = np.linalg.solve(triangle[: order + 1, : order + 1], found[: order + 1])

    def step(windows):
        ahead = weights[0] + windows[:, ::-1][:, :order] @ weights[1:]
        return np.column_stack([windows[:, 1:], ahead])

    return peers.from_windows(step, most)


def of_series(period, n):
    """Grids of fits: name to (fit, settings)."""
    delays = [d for d in (period, 2 * period, 3 * period, 9, 32) if d < n // 4]
    ranks = [(d, r) for d in delays for r in (4, 8, 12, 20, 40, 80) if r <= d]
    grids = {
        "mean": (mean_value, [()]),
        "last value": (last_value, [()]),
        "seasonal": (seasonal, [(period, 0)]),
        "seasonal, level followed": (seasonal, [(period, 1)]),
        "autoregression": (autoregression, [(d,) for d in delays]),
    }
    if "deeptime" in peers.INSTALLED:
        grids["deeptime DMD"] = peers.deeptime_dmd, ranks
    if "pydmd" in peers.INSTALLED:
        grids["PyDMD, total least squares"] = peers.pydmd_tls, ranks
    if "kooplearn" in peers.INSTALLED:
        settings = [(*s, alpha) for s in ranks for alpha in (1e-6, 1e-3)]
        grids["kooplearn Ridge"] = peers.kooplearn_ridge, settings
    return grids


def rolling(forecast, series, start):
    """Root mean square error at each step from origins in the rest of the series."""
    n_steps, n_rows = max(HORIZONS), min(start, 600)
    origins = np.arange(start, len(series) - n_steps + 1)
    origins = origins[:: max(1, len(origins) // N_ORIGINS)]
    past = series[origins[:, None] + np.arange(-n_rows, 0)]
    truth = series[origins[:, None] + np.arange(n_steps)]
    return root_mean_square(forecast(past, n_steps) - truth, axis=0)


def chosen_settings(fit, grid, train):
    """The settings of least error on the last 30 %, over all steps that are reported."""
    cut = int(0.7 * len(train))
    chosen_steps = np.array(HORIZONS) - 1

    def loss(settings):
        errors = rolling(fit(train[:cut], *settings), train, cut)[chosen_steps]
        return np.log(np.nan_to_num(errors, nan=np.inf)).mean()

    return grid[0] if len(grid) == 1 else min(grid, key=loss)


def series(options):
    """Real series."""
    bars, curves = [], {}
    for name, (values, period) in series_at_hand().items():
        values = values[: 40 * period] if options.quick else values
        cut = int(0.7 * len(values))
        train, unit = values[:cut], values[:cut].std()
        errors, rows = {}, []
        for method, (fit, grid) in {OURS: (our_choice, [()]), **of_series(period, cut)}.items():
            settings = chosen_settings(fit, grid, train)
            start = perf_counter()
            forecast = fit(train, *settings)
            seconds = perf_counter() - start
            errors[method] = rolling(forecast, values, cut) / unit
            numbers = [f"{errors[method][h - 1]:.4f}" for h in HORIZONS]
            rows.append([method, *numbers, f"{seconds:.2f}", ", ".join(map(str, settings))])
        print(f"{name}, {cut} of {len(values)} rows to learn from")
        print_table(["", *(f"{h} ahead" for h in HORIZONS), "fit, s", "settings"], rows)
        curves[name] = errors
        for h in HORIZONS:
            others = {key: some[h - 1] for key, some in errors.items() if key != OURS}
            best = min(others, key=others.get)
            bars.append((f"{name}, {h} ahead, / {best}", 1.03, errors[OURS][h - 1] / others[best]))
    print_bars(bars)
    draw_curves(options, "dynamics_series", curves, "error / deviation")


# Speed


def waves(n_samples, n_features=20):
    """Many rows: ten waves mixed, with noise."""
    rng = np.random.default_rng(0)
    mixing = rng.standard_normal((20, n_features))
    data = np.empty((n_samples, n_features))
    for start in range(0, n_samples, 100_000):
        times = 0.01 * np.arange(start, min(start + 100_000, n_samples))[:, None]
        angles = times * np.arange(1, 11)
        block = np.hstack([np.cos(angles), np.sin(angles)]) @ mixing
        data[start : start + 100_000] = block + 0.1 * rng.standard_normal(block.shape)
    return data


def fit_many(n_samples):
    """A fit to many rows, which is returned to be measured."""
    data = waves(n_samples)
    model = KoopmanBasisDynamics(n_delays=10, rank=20, operator="tls")
    model.fit(data[:1000])
    return lambda: model.fit(data)


def speed(options):
    """Seconds and memory."""
    most = 10_000 if options.quick else 1_000_000
    sizes = [most // 10, most // 5, most // 2, most]
    seconds = [min(seconds_of(fit_many(n)) for _ in range(2)) for n in sizes]
    memory = peak_growth(fit_many, most)
    power = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
    print("Rows of 20 features, 10 delays, rank 20, total least squares")
    print_table(["rows", *(f"{n:,}" for n in sizes)], [["s", *(f"{s:.2f}" for s in seconds)]])
    n, n_steps = (100, 100) if options.quick else (10_000, 1000)
    lorenz = make_lorenz(4000, random_state=0).data
    model = KoopmanBasisDynamics(PolynomialFeatures(3)).fit(lorenz)
    starts = lorenz[np.arange(n) % len(lorenz), None]
    model.forecast(2, starts)
    times = {
        mode: min(seconds_of(lambda m=mode: model.forecast(n_steps, starts, mode=m)) for _ in "12")
        for mode in ("relift", "linear")
    }
    print(f"{n_steps:,} steps of {n:,} trajectories of Lorenz's system, monomials up to degree 3")
    print_table(["mode", *times], [["s", *(f"{s:.2f}" for s in times.values())]])
    bars = [(f"{most:,} rows, s", 20, seconds[-1]), ("power of the number of rows", 1.1, power)]
    if memory is not None:
        bars.append(("memory beside the data, GiB", 2, memory / GIGABYTE))
    bars += [(f"forecasts, {mode}, s", 5, s) for mode, s in times.items()]
    print_bars(bars)


# Which step


def ahead(options):
    """Is a forecast of h steps the state h steps later?"""
    data = make_oscillators(400, 4, random_state=0).data
    methods = peers.stepping(data[:300])
    lifts = ("identity", "polynomial", "rff", "nystroem")
    for lift, n_delays, mode in product(lifts, (1, 3), ("relift", "linear")):
        model = KoopmanBasisDynamics(lift, n_delays, random_state=0).fit(data[:300])

        def forecast(x, n, model=model, mode=mode):
            ends = np.arange(model.n_delays, len(x) + 1)
            past = np.stack([x[end - model.n_delays : end] for end in ends])
            return model.forecast(n, past, mode=mode)[:, -1]

        methods[f"{OURS} {lift}, {n_delays} delays, {mode}"] = forecast
    rows, wrong = [], 0
    for name, forecast in methods.items():
        nearest = []
        for h in (1, 10):
            found = forecast(data[300:350], h)
            last = np.arange(350 - len(found), 350)
            apart = [root_mean_square(found - data[last + k]) for k in range(h + 5)]
            nearest.append(int(np.argmin(apart)))
        verdict = "right" if nearest == [1, 10] else "wrong"
        wrong += name.startswith(OURS) and verdict == "wrong"
        rows.append([name, *nearest, verdict])
    print("Step that a forecast is nearest to")
    print_table(["", "1 step", "10 steps", "verdict"], rows)
    print_bars([("of ours that are wrong", 0, wrong)])


def draw_curves(options, name, curves, label):
    """A panel for each case with an error curve for each method."""
    if not options.figures:
        return
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    n_columns = 2
    n_rows = -(-len(curves) // n_columns)
    figure, grid = plt.subplots(
        n_rows, n_columns, figsize=(10, 1 + 2.6 * n_rows), layout="constrained", squeeze=False
    )
    for axes, (title, errors) in zip(grid.flat, curves.items(), strict=False):
        for method, some in errors.items():
            width = 2.5 if method == OURS else 1
            color = "black" if method == OURS else None
            axes.plot(np.arange(1, len(some) + 1), some, label=method, lw=width, color=color)
        lowest, highest = (f(np.concatenate(list(errors.values()))) for f in (np.nanmin, np.nanmax))
        axes.set(title=title, yscale="log", ylim=(lowest / 1.5, min(1.5 * highest, 10)))
    for axes in grid[:, 0]:
        axes.set_ylabel(label)
    for axes in grid[-1]:
        axes.set_xlabel("steps ahead")
    handles, names = grid.flat[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=3, fontsize="small")
    Path(options.figures).mkdir(parents=True, exist_ok=True)
    figure.savefig(Path(options.figures) / f"{name}.png", dpi=110)
    plt.close(figure)


PARTS = {
    "oscillators": oscillators,
    "systems": systems,
    "series": series,
    "speed": speed,
    "ahead": ahead,
}


def parse_options():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="part", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--quick", action="store_true", help="small data, one seed: a check")
    parser.add_argument("--figures", metavar="FOLDER", help="where to put figures")
    options = parser.parse_args()
    unknown = set(options.parts) - set(PARTS)
    if unknown:
        parser.error(f"unknown parts {sorted(unknown)}: take some of {list(PARTS)}")
    if options.quick:
        options.seeds = 1
    return options


def main():
    """Print all tables."""
    options = parse_options()
    print_environment("Dynamics: forecasts and eigenvalues beside other packages")
    peers.print_versions()
    for part in options.parts or PARTS:
        print(f"\n{part}\n")
        PARTS[part](options)


if __name__ == "__main__":
    main()
