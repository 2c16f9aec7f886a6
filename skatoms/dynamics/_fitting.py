"""From trajectories to a fitted model, for each operator."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import block_diag, pinv

from ..backend import single_threaded_blas
from ._denoising import denoised
from ._lifting import Lift, fit_lift, transformer_of
from ._moments import Moments, moments_of
from ._operators import LatentModel, solve
from ._varpro import Exponentials, fit_exponentials, start_rates


@dataclass(frozen=True)
class Settings:
    """The parameters of an operator and of how windows are framed."""

    operator: str
    rank: int | None
    alpha: float
    stability: str | None
    fit_intercept: bool
    center: str | None
    scale: bool

    def solve(self, moments, gram=None, n=None):
        """The LatentModel for moments, or for a part of them."""
        return solve(
            moments.gram if gram is None else gram,
            moments.n if n is None else n,
            moments.layout,
            operator=self.operator,
            rank=self.rank,
            alpha=self.alpha,
            stability=self.stability,
            fit_intercept=self.fit_intercept,
        )


@dataclass(frozen=True)
class Fitted:
    """All that a fit has found.

    Attributes
    ----------
    lift : Lift
    model : LatentModel
    moments : Moments or None
    exponentials : Exponentials or None
    start : ndarray of shape (rank, rank)
        Covariance of the error of latents that come from a window.
    end : ndarray of shape (rank,) or None
        Latents at the end of the last trajectory, where they were fitted to all of it.
    objective : ndarray or None
        What denoising has minimised, after each half-step.
    n_iter : int
        Turns of denoising or steps of variable projection; 1 for closed forms.
    """

    lift: Lift
    model: LatentModel
    moments: Moments | None
    exponentials: Exponentials | None
    start: np.ndarray
    end: np.ndarray | None
    objective: np.ndarray | None
    n_iter: int = 1


@single_threaded_blas()
def fit_moments(trajectories, lift_parameter, n_delays, settings, random_state, before=None):
    """A Fitted model from second moments; `before` is one to go on from."""
    pairs = _pairs(trajectories, n_delays)
    if before is None:
        transformer = transformer_of(lift_parameter, random_state)
        lift = fit_lift(transformer, trajectories, pairs, n_delays, settings.center, settings.scale)
        moments = moments_of(lift, trajectories, pairs)
    else:
        lift = before.lift
        moments = moments_of(lift, trajectories, pairs, before.moments)
    model = settings.solve(moments)
    return Fitted(lift, model, moments, None, np.zeros((model.rank, model.rank)), None, None)


@single_threaded_blas()
def fit_denoised(trajectories, lift_parameter, settings, random_state, gamma, max_iter, tol):
    """A Fitted model of states that are estimated together with it."""
    first = fit_moments(trajectories, lift_parameter, 1, settings, random_state)
    lift, pairs = first.lift, trajectories.pairs(1)
    no_inputs = np.empty((len(pairs), 0))
    units = lift.scale

    def with_states(framed):
        states = np.where(trajectories.complete[:, None], lift.level + units * framed, np.nan)
        return replace(trajectories, states=states)

    def fit_map(framed):
        model = settings.solve(moments_of(lift, with_states(framed), pairs))

        def move(some):
            latents = model.latents(lift(lift.level + units * some))
            return model.next_state(latents, no_inputs[: len(some)])

        return move

    framed = (trajectories.states - lift.level) / units
    framed, objective, n_iter = denoised(framed, pairs, fit_map, gamma, max_iter, tol)
    moments = moments_of(lift, with_states(framed), pairs)
    return replace(
        first,
        model=settings.solve(moments),
        moments=moments,
        objective=objective,
        n_iter=n_iter,
    )


@single_threaded_blas()
def fit_varpro(trajectories, n_delays, settings, dt):
    """A Fitted sum of exponentials."""
    ends = trajectories.ends(n_delays)
    if len(ends) == 0:
        _pairs(trajectories, n_delays)
    lift = fit_lift(None, trajectories, ends, n_delays, settings.center, settings.scale)
    complete = trajectories.complete
    parts = []
    for rows in trajectories.slices():
        known = np.arange(rows.start, rows.stop)[complete[rows]]
        if len(known) > 1:
            framed = (trajectories.states[known] - lift.level) / lift.scale
            parts.append((trajectories.times[known] - trajectories.times[rows.start], framed))
    if not parts:
        raise ValueError("X has no trajectory with two complete rows: give longer ones.")
    rank = settings.rank or _usual_rank(parts, n_delays, settings.fit_intercept)
    rates = start_rates(parts, rank, dt, settings.stability, settings.fit_intercept)
    found = fit_exponentials(parts, rates, settings.stability, settings.fit_intercept)
    model, end = _shared_modes(found, parts, lift, dt)
    behind = trajectories.times[-1] - trajectories.times[np.flatnonzero(complete)[-1]]
    end = found.rates.advance(behind) @ end
    pairs = trajectories.pairs(n_delays)
    if len(pairs) > 0:
        now = model.latents(lift(trajectories.windows(pairs, n_delays)))
        later = model.latents(lift(trajectories.windows(pairs + 1, n_delays)))
        products = {"now": now.T @ now, "cross": later.T @ now, "later": later.T @ later}
        model = replace(model, **{name: sums / len(pairs) for name, sums in products.items()})
    start = model.project @ block_diag(*[found.noise] * n_delays) @ model.project.T
    return Fitted(lift, model, None, found, start, end, None, found.n_iter)


def read_out(fitted):
    """What turns latents into framed states, (n_features, rank)."""
    return fitted.model.back[fitted.lift.newest] * fitted.lift.units_of_newest[:, None]


def _pairs(trajectories, n_delays):
    pairs = trajectories.pairs(n_delays)
    if len(pairs) == 0:
        longest = int(trajectories.runs().max(initial=0))
        raise ValueError(
            f"n_delays={n_delays} needs {n_delays + 1} rows that follow each other, without "
            f"missing values; the longest stretch in X has {longest}: take fewer delays or longer "
            "trajectories."
        )
    return pairs


def _usual_rank(parts, n_delays, fit_intercept):
    """As many exponentials as a window has numbers, if trajectories are long enough."""
    p, longest = parts[0][1].shape[1], max(len(times) for times, _ in parts)
    states = np.concatenate([states for _, states in parts])
    held = int(np.linalg.matrix_rank(states - states.mean(axis=0) * fit_intercept))
    return max(min(n_delays * max(held, 1), n_delays * p, longest // 3), 1)


def _shared_modes(found, parts, lift, dt):
    """The LatentModel of exponentials, with modes that all trajectories share; latents at the end.

    Coefficients of a trajectory are an amplitude times the mode, which is the leading singular
    vector of those of all.
    """
    rates, p, d = found.rates, len(lift.level), lift.n_delays
    rank = rates.n_columns
    read, ends = np.empty((p, rank)), np.empty(rank)
    origins = [rates.columns(times)[1][-1] for times, _ in parts]
    each = zip(rates.firsts, rates.pairs, rates.growth, rates.angular, strict=True)
    for first, pair, rate, angle in each:
        rows = [c[first] - 1j * c[first + 1] if pair else c[first] for c in found.coefficients]
        rows = np.array(rows)
        mode = np.linalg.svd(rows, full_matrices=False)[2][0]
        amplitude = rows[-1] @ mode.conj()
        since = origins[-1][first]
        if pair:
            last = amplitude * np.exp((rate + 1j * angle) * since)
            read[:, first], read[:, first + 1] = mode.real, -mode.imag
            ends[first], ends[first + 1] = last.real, last.imag
        else:
            read[:, first] = mode.real
            ends[first] = (amplitude * np.exp(rate * since) * np.cos(angle * since)).real
    operator = rates.advance(dt)
    back = np.vstack([read @ np.linalg.matrix_power(rates.advance(-dt), k) for k in range(d)][::-1])
    offset = np.tile(found.constant, d)
    noise = block_diag(np.zeros((rank, rank)), found.noise)
    nothing = np.zeros((rank, rank))
    model = LatentModel(
        project=pinv(back),
        offset=offset,
        back=back,
        operator=operator,
        inputs=np.empty((rank, 0)),
        shift=np.zeros(rank),
        ahead=read @ operator,
        ahead_inputs=np.empty((p, 0)),
        ahead_shift=found.constant,
        noise=noise,
        now=nothing,
        cross=nothing,
        later=nothing,
    )
    return model, ends
