"""Which forecaster to trust at which horizon: candidates are judged on the later half of the data.

Candidates learn from the first half of each trajectory and forecast from origins in the second. At
each step ahead their weights fall with a high power of their squared error, so that one which is
clearly the best stands alone and equals are averaged. Then all learn anew from all data.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils import Bunch

from ..backend import single_threaded_blas
from ._fitting import fit_moments
from ._forecast import Learned, forecaster_of, learned_of

POWER = 8  # of the ratio of squared errors
LEAST_WEIGHT = 0.01  # of the best: candidates below are left out
N_STEPS = 50  # ahead that are judged at the least, if the data are long enough
N_ORIGINS = 500
DELAYS = (1, 2, 4, 9, 16, 32, 64, 128, 192, 256)
RIDGES = (0.0, 1e-2, 1e-1)
WIDEST = 400  # numbers of a window
WIDEST_NONLINEAR = 6
PERIODS = (1, 2, 4)  # delays that are tried, in periods
SHORTEST = 20  # rows
LONGEST = 0.2  # delays in rows of the first half: longer windows are learned from too few


@dataclass(frozen=True)
class Naive:
    """Forecasts without learning: the value a period before, which may follow the level.

    A period of 1 is the last value; None is the mean of the training data.
    """

    name: str
    period: int | None
    follows: bool = False
    mean: np.ndarray | None = None

    @property
    def n_rows(self):
        """How many rows of the past are needed."""
        return 1 if self.period is None else self.period + self.follows

    def forecast(self, past, controls, *, report=False):
        """(n, n_steps, n_features) from (n, at least n_rows, n_features)."""
        n_steps = controls.shape[1]
        if self.period is None:
            return np.broadcast_to(self.mean, (len(past), n_steps, past.shape[2]))
        states = past[:, -self.period :][:, np.arange(n_steps) % self.period]
        if self.follows:
            states = states + (past[:, -1] - past[:, -1 - self.period])[:, None]
        return states


@dataclass(frozen=True)
class Selection:
    """A weighted mean of candidates, with weights for each step ahead.

    Attributes
    ----------
    members : list of Naive or Learned
    weights : ndarray of shape (n_members, n_judged)
        For steps 1, 2, ...; those after the last are weighted like it.
    errors : ndarray of shape (n_members, n_judged)
        Root mean square errors on held-out data.
    own_errors : ndarray of shape (n_judged, n_features)
        Those of the weighted mean, by feature.
    reach : ndarray of shape (n_features,)
        Range of the training data: no candidate may go further than that from the last state.
    """

    members: list
    weights: np.ndarray
    errors: np.ndarray
    own_errors: np.ndarray
    reach: np.ndarray

    @property
    def n_rows(self):
        """How many rows of the past are needed."""
        return max(member.n_rows for member in self.members)

    @property
    def leading(self):
        """The learned member with the largest weight over all steps, or None."""
        learned = [k for k, member in enumerate(self.members) if isinstance(member, Learned)]
        return max(learned, key=lambda k: self.weights[k].sum()) if learned else None

    def forecast(self, past, controls, *, report=False):
        """(n, n_steps, n_features) from (n, at least n_rows, n_features)."""
        steps = np.minimum(np.arange(controls.shape[1]), self.weights.shape[1] - 1)
        total = np.zeros((len(past), controls.shape[1], past.shape[2]))
        for weights, member in zip(self.weights[:, steps], self.members, strict=True):
            last = int(np.flatnonzero(weights).max(initial=-1)) + 1
            if last > 0:
                found = _bounded(member.forecast(past, controls[:, :last]), past, self.reach)
                total[:, :last] += weights[:last, None] * found
        return total

    def deviations(self, past, controls, rng, smooth):
        """Errors of forecasts on held-out data, which do not fall, (n, n_steps, n_features)."""
        errors = np.maximum.accumulate(self.own_errors, axis=0)
        steps = np.minimum(np.arange(controls.shape[1]), len(errors) - 1)
        return np.repeat(errors[None, steps], len(past), axis=0)

    def summary(self):
        """What users are told."""
        names = [member.name for member in self.members]
        return Bunch(names=names, weights=self.weights, errors=self.errors)


@single_threaded_blas()
def select(trajectories, own, horizon, random_state):
    """The Selection for these trajectories, and the leading fit.

    own : (name, lift, n_delays, Settings)
        What the user's parameters say is a candidate, too.
    """
    halves = _first_halves(trajectories)
    longest = int(halves.runs().max(initial=0))
    if 2 * longest < SHORTEST:
        raise ValueError(
            f"select='auto' holds out half of each trajectory: the longest has to have {SHORTEST} "
            "complete rows that follow each other. Give longer ones, or select=None."
        )
    period = _period(trajectories)
    early = list(_candidates(halves, own, period, longest, random_state))
    n_rows = max(candidate.n_rows for candidate in early)
    origins = _origins(trajectories, halves, n_rows)
    n_steps = min(max(N_STEPS, horizon), max(longest // 2, 1))
    truth, controls = _what_came(trajectories, origins, n_steps)
    past = trajectories.past(origins, n_rows)
    reach = np.ptp(halves.states[halves.complete], axis=0)
    forecasts = [_bounded(c.forecast(past, controls), past, reach) for c in early]
    errors = np.stack([_mean_squares(f, truth) for f in forecasts])
    weights = _weights(errors)
    chosen = np.flatnonzero(weights.any(axis=1))
    mean = sum(weights[k][:, None] * forecasts[k] for k in chosen)
    own_errors = np.sqrt(np.nanmean((mean - truth) ** 2, axis=0))
    names = [early[k].name for k in chosen]
    late = list(_candidates(trajectories, own, period, longest, random_state, names))
    reach = np.ptp(trajectories.states[trajectories.complete], axis=0)
    selection = Selection(late, weights[chosen], np.sqrt(errors[chosen]), own_errors, reach)
    leading = selection.leading
    if leading is not None:
        return selection, late[leading].fitted
    return selection, fit_moments(trajectories, own[1], own[2], own[3], random_state)


def _candidates(trajectories, own, period, longest, random_state, names=None):
    """Candidates that learn from these trajectories; only those with these names, if given."""
    p = trajectories.states.shape[1]
    mean = np.nanmean(trajectories.states, axis=0)
    naive = [Naive("mean", None, mean=mean), Naive("naive", 1)]
    if period is not None:
        naive += [
            Naive(f"seasonal naive, period {period}", period),
            Naive(f"seasonal naive, period {period}, level followed", period, True),
        ]
    yield from (c for c in naive if names is None or c.name in names)
    for lift, n_delays, settings in _settings(own, p, period, longest):
        fitted = None
        for name, variant in settings:
            if names is not None and name not in names:
                continue
            if fitted is None:
                fitted = fit_moments(trajectories, lift, n_delays, variant, random_state)
            else:
                fitted = replace(fitted, model=variant.solve(fitted.moments))
            forecaster = forecaster_of(fitted, trajectories)
            yield learned_of(name, fitted, forecaster, variant.stability)


def _settings(own, p, period, longest):
    """(lift, n_delays, [(name, Settings)]) of all that is tried: those share second moments."""
    own_name, own_lift, own_delays, given = own
    if own_delays + 1 <= longest:
        yield own_lift, own_delays, [(own_name, given)]
    plain = replace(given, operator="ridge", rank=None, stability=None, fit_intercept=True)
    delays = {*DELAYS, *(k * period for k in PERIODS if period is not None)}
    delays = sorted(d for d in delays if d * p <= WIDEST and (d == 1 or d <= LONGEST * longest))
    kinds = [("linear", "identity", WIDEST)]
    kinds += [(f"polynomial {k}", PolynomialFeatures(k), WIDEST_NONLINEAR) for k in (2, 3)]
    for kind, lift, widest in kinds:
        for d in delays:
            for center in ("mean", "last"):
                if d * p > widest or (center == "last" and d == 1):
                    continue
                yield (
                    lift,
                    d,
                    [
                        (
                            f"{kind}, {d} delays, center {center}, ridge {alpha:g}",
                            replace(plain, alpha=alpha, center=center),
                        )
                        for alpha in RIDGES
                    ],
                )


def _first_halves(trajectories):
    """The same, with the later half of each trajectory missing."""
    states, follows = trajectories.states.copy(), trajectories.follows.copy()
    for rows in trajectories.slices():
        half = (rows.start + rows.stop) // 2
        states[half : rows.stop] = np.nan
        follows[half : rows.stop] = False
    return replace(trajectories, states=states, follows=follows)


def _origins(trajectories, halves, n_rows):
    """Rows that forecasts are judged from: in later halves, at most N_ORIGINS."""
    later = np.isnan(halves.states).any(axis=1)
    later |= np.append(later[1:], False)  # the last row of a first half too
    can = later & (trajectories.runs() >= min(n_rows, int(trajectories.runs().max())))
    can &= np.append(trajectories.follows[1:], False)
    origins = np.flatnonzero(can)
    return origins[:: max(1, len(origins) // N_ORIGINS)]


def _what_came(trajectories, origins, n_steps):
    """States after each origin, NaN beyond the end, and inputs on the way."""
    rows = origins[:, None] + np.arange(n_steps + 1)
    inside = rows < len(trajectories.states)
    rows = np.minimum(rows, len(trajectories.states) - 1)
    inside &= trajectories.labels[rows] == trajectories.labels[origins][:, None]
    truth = np.where(inside[..., None], trajectories.states[rows], np.nan)
    return truth[:, 1:], trajectories.controls[rows[:, :-1]]


def _bounded(forecasts, past, reach):
    """Forecasts not further from the last state than the training data are wide."""
    last = past[:, -1:]
    return np.clip(np.nan_to_num(forecasts, nan=np.inf), last - reach, last + reach)


def _mean_squares(forecasts, truth):
    """Mean squared error of each step."""
    squares = (forecasts - truth) ** 2
    known = ~np.isnan(truth)
    total = np.where(known, squares, 0.0).sum(axis=(0, 2))
    return total / np.maximum(known.sum(axis=(0, 2)), 1)


def _weights(errors):
    """Weights of candidates at each step, (n_candidates, n_steps)."""
    least = np.maximum(errors.min(axis=0), np.finfo(float).tiny)
    weights = (least / np.maximum(errors, least)) ** POWER
    weights[weights < LEAST_WEIGHT] = 0
    return weights / weights.sum(axis=0)


def _period(trajectories):
    """The lag of the largest autocorrelation after the first negative one, if there is any."""
    runs = trajectories.runs()
    end = int(runs.argmax())
    states = trajectories.states[end + 1 - int(runs[end]) : end + 1]
    n = len(states)
    time = np.column_stack([np.ones(n), np.arange(n)])
    states = states - time @ np.linalg.lstsq(time, states)[0]
    size = next_fast_len(2 * n)
    spectrum = abs(rfft(states, size, axis=0)) ** 2
    correlation = irfft(spectrum.sum(axis=1), size)[:n]
    negative = np.flatnonzero(correlation[: n // 2] < 0)
    if len(negative) == 0 or negative[0] + 1 >= n // 2:
        return None
    period = int(negative[0] + correlation[negative[0] : n // 2].argmax())
    return period if correlation[period] > 0 else None
