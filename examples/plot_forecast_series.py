"""
Carbon dioxide and sunspots: forecasts with bands
=================================================

Two series of nature with a cycle. One repeats itself each year on a steady rise, the other has
cycles of about eleven years whose height nobody foresees. How much better than naive forecasts can
one do, and do the bands hold what comes?
"""

# %%
# Choosing and forecasting
# ------------------------
#
# ``select="auto"`` judges many linear and polynomial models on windows of the past, beside naive
# forecasts, on the later half of what it may see. At each number of steps ahead it averages those
# that were best. Each series is cut at 70 %: only what is before is learned from. Weeks without a
# measurement of carbon dioxide are interpolated, so that forecasts can start anywhere.

import numpy as np
from matplotlib import pyplot as plt

from skatoms import KoopmanBasisDynamics
from skatoms.datasets import load_co2, load_sunspots
from skatoms.inspection import ForecastDisplay

sunspots, carbon = load_sunspots(), load_co2()
rows = np.arange(len(carbon.data))
known = np.isfinite(carbon.data[:, 0])
filled = np.interp(rows, rows[known], carbon.data[known, 0])[:, None]
series = {
    "carbon dioxide": (filled, carbon.times, carbon.dt, 52, "parts per million"),
    "sunspots": (sunspots.data, sunspots.times, sunspots.dt, 11, "number in a year"),
}
models, cuts = {}, {}
for name, (X, _, dt, _, _) in series.items():
    cuts[name] = int(0.7 * len(X))
    model = KoopmanBasisDynamics(select="auto", horizon=50, dt=dt, random_state=0)
    models[name] = model.fit(X[: cuts[name]])
    print(f"{name}: what counts most")
    for step in (1, 10, 50):
        weights = model.selection_.weights[:, step - 1]
        print(f"  {step:2} ahead: {model.selection_.names[weights.argmax()]}, {weights.max():.0%}")

# %%
# From the cut on
# ---------------
#
# The band is two standard deviations of errors on held-out data.

figure, panels = plt.subplots(2, 1, figsize=(8, 6.4), layout="constrained")
for axes, (name, (X, times, _, period, unit)) in zip(panels, series.items(), strict=True):
    cut, n_steps = cuts[name], min(3 * period, 104)
    ForecastDisplay.from_estimator(
        models[name],
        X[:cut],
        n_steps,
        start=times[cut - 1],
        truth=X[cut : cut + n_steps],
        ax=axes,
    )
    axes.set(title=name, ylabel=unit, xlim=(times[cut - 3 * n_steps], times[cut + n_steps]))
    seen = X[cut - 3 * n_steps : cut + n_steps]
    axes.set_ylim(seen.min() - 0.2 * np.ptp(seen), seen.max() + 0.2 * np.ptp(seen))

# %%
# From everywhere after the cut
# -----------------------------
#
# The model stays as it is and forecasts from each later row, as if one had waited until then. Two
# naive forecasts are beside it: the last value, and the value a period before plus what the level
# has changed since.

n_steps = 50
figure, panels = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for axes, (name, (X, _, _, period, unit)) in zip(panels, series.items(), strict=True):
    x, cut = X[:, 0], cuts[name]
    origins = np.arange(cut, len(x) - n_steps + 1)
    past = x[origins[:, None] + np.arange(-min(cut, 300), 0)]
    truth = x[origins[:, None] + np.arange(n_steps)]
    states, deviations = models[name].forecast(n_steps, past[:, :, None], return_std=True)
    last_cycle = past[:, -period:][:, np.arange(n_steps) % period]
    forecasts = {
        "skatoms": states[:, :, 0],
        "last value": np.repeat(past[:, -1:], n_steps, axis=1),
        "last cycle, level followed": last_cycle + (past[:, -1] - past[:, -1 - period])[:, None],
    }
    print(f"{name}, root mean square error, {unit}")
    for method, found in forecasts.items():
        errors = np.sqrt(((found - truth) ** 2).mean(axis=0))
        axes.plot(np.arange(1, n_steps + 1), errors, label=method)
        print(f"  {method:26}", *(f"{h:3} ahead {errors[h - 1]:6.2f}" for h in (1, 10, 50)))
    inside = abs(states[:, :, 0] - truth) < 2 * deviations[:, :, 0]
    print(f"  {inside.mean():.0%} of what came is inside the band")
    axes.set(title=name, xlabel="steps ahead", ylabel=unit, ylim=(0, None))
panels[0].legend()
plt.show()

# %%
# Carbon dioxide is forecast far better than naively at each distance. For sunspots most is gained
# where a good part of a cycle is ahead. Ten years ahead the last value is better: that is nearly a
# whole cycle, and cycles after the cut are higher than those before, of which no model could know.
# So is the band too narrow there.
