"""Forecasts: many steps from windows, with the spread that noise gives them."""

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn import config_context

from .._validation import outside
from ..backend import single_threaded_blas
from ._fitting import Fitted
from ._lifting import Lift
from ._operators import LatentModel

DIVERGED = 1e6  # times the range of the training data
CHUNK = 16384  # trajectories that are moved together
N_PATHS = 200  # of an ensemble


@dataclass(frozen=True)
class Forecaster:
    """What is needed to go on from windows.

    Attributes
    ----------
    lift : Lift
    model : LatentModel
    centre, reach : ndarray of shape (n_features,)
        A forecast has diverged where it is further than DIVERGED times reach from the centre.
    """

    lift: Lift
    model: LatentModel
    centre: np.ndarray
    reach: np.ndarray

    def states(self, framed):
        """States of framed ones."""
        return self.lift.level + self.lift.scale * framed

    @single_threaded_blas()
    def run(self, windows, controls, relift, noise=None, *, report=True):
        """States after each step, (n, n_steps, n_features).

        Parameters
        ----------
        windows : ndarray of shape (n, n_delays * n_features)
        controls : ndarray of shape (n, n_steps, n_controls)
        relift : bool
            Whether each state is lifted anew; otherwise latents move on.
        noise : callable or None
            ``noise(n)`` draws what is added to framed states at a step.
        report : bool
            Whether forecasts that have diverged are warned about.
        """
        result = np.empty((len(windows), controls.shape[1], len(self.centre)))
        for start in range(0, len(windows), CHUNK):
            rows = slice(start, start + CHUNK)
            move = self._relifted if relift else self._linear
            move(windows[rows], controls[rows], result[rows], noise)
        self._end_diverged(result, report)
        return result

    def from_latents(self, latents, controls, noise=None):
        """States after each step, (n, n_steps, n_features), from latents."""
        result = np.empty((len(latents), controls.shape[1], len(self.centre)))
        self._move(latents, controls, result, noise)
        self._end_diverged(result, report=True)
        return result

    def _linear(self, windows, controls, result, noise):
        self._move(self.model.latents(self.lift(windows)), controls, result, noise)

    def _move(self, latents, controls, result, noise=None):
        with np.errstate(over="ignore", invalid="ignore"):
            for step in range(result.shape[1]):
                u = controls[:, step]
                framed = self.model.next_state(latents, u)
                if noise is not None:
                    framed += noise(len(framed))
                result[:, step] = self.states(framed)
                latents = self.model.step(latents, u)

    def _relifted(self, windows, controls, result, noise):
        p = len(self.centre)
        direct = self.model.ahead @ self.model.project  # from lifted windows to the next state
        shift = self.model.ahead_shift - direct @ self.model.offset
        inputs = controls @ self.model.ahead_inputs.T
        low, high = (self.centre + side * 2 * DIVERGED * self.reach for side in (-1, 1))
        quick = config_context(assume_finite=True, skip_parameter_validation=True)
        with np.errstate(over="ignore", invalid="ignore"), quick:
            for step in range(result.shape[1]):
                framed = self.lift(windows) @ direct.T + inputs[:, step] + shift
                if noise is not None:
                    framed += noise(len(framed))
                states = self.states(framed)
                result[:, step] = states
                # Far ones stay where they are, so that features remain numbers.
                states = np.fmax(np.fmin(states, high), low)
                windows = np.hstack([windows[:, p:], states])

    def _end_diverged(self, result, report):
        """Put NaN where forecasts have diverged, and warn."""
        with np.errstate(invalid="ignore"):
            near = (abs(result - self.centre) <= DIVERGED * self.reach).all(axis=2)
        gone = np.maximum.accumulate(~near, axis=1)
        if not gone.any():
            return
        result[gone] = np.nan
        if not report:
            return
        first = int(np.argmax(gone.any(axis=0))) + 1
        warnings.warn(
            f"{int(gone[:, -1].sum())} of {len(gone)} forecasts left {DIVERGED:g} times the range "
            f"of the training data, the first at step {first}, and are NaN from there on: forecast "
            "fewer steps, set stability='stable', or lower the rank or the degree of the lift.",
            UserWarning,
            stacklevel=outside(),
        )

    def linear_deviations(self, n_steps, start):
        """Deviation of each step, (n_steps, n_features), where latents move linearly.

        start : covariance of the latents at the beginning, (rank, rank).
        """
        r, model = self.model.rank, self.model
        spread, result = start, np.empty((n_steps, len(self.centre)))
        for step in range(n_steps):
            now = model.ahead @ spread @ model.ahead.T + model.noise[r:, r:]
            result[step] = np.sqrt(np.maximum(np.diag(now), 0))
            spread = model.operator @ spread @ model.operator.T + model.noise[:r, :r]
        return result * self.lift.scale

    def noise(self, rng):
        """A function that draws noise of n framed states as there was in training."""
        r, p = self.model.rank, len(self.centre)
        values, vectors = np.linalg.eigh(self.model.noise[r:, r:])
        root = vectors * np.sqrt(np.maximum(values, 0))
        return lambda n: rng.standard_normal((n, p)) @ root.T

    def paths(self, windows, controls, relift, rng):
        """Paths with noise as in the training data, (n, n_steps, n_features)."""
        return self.run(windows, controls, relift, self.noise(rng))

    def relifted_deviations(self, windows, controls, rng):
        """Deviation of each step over an ensemble of paths, (n, n_steps, n_features)."""
        result = np.empty((len(windows), controls.shape[1], len(self.centre)))
        for row, (window, inputs) in enumerate(zip(windows, controls, strict=True)):
            paths = self.paths(
                np.repeat(window[None], N_PATHS, axis=0),
                np.repeat(inputs[None], N_PATHS, axis=0),
                True,
                rng,
            )
            result[row] = paths.std(axis=0)
        return result


def forecaster_of(fitted, trajectories, before=None):
    """The Forecaster of a fit to these trajectories, and to those of one before."""
    states = trajectories.states[trajectories.complete]
    reach = np.ptp(states, axis=0)
    reach = np.where(reach > 0, reach, np.maximum(abs(states).max(axis=0), 1.0))
    if before is not None:
        reach = np.maximum(reach, before.reach)
    return Forecaster(fitted.lift, fitted.model, states.mean(axis=0), reach)


@dataclass(frozen=True)
class Learned:
    """A fitted model as a source of forecasts from the rows before.

    Attributes
    ----------
    name : str
    fitted : Fitted
    forecaster : Forecaster
    relift : bool
        Whether each state is lifted anew.
    """

    name: str
    fitted: Fitted
    forecaster: Forecaster
    relift: bool

    @property
    def n_rows(self):
        """How many rows of the past are needed."""
        return self.fitted.lift.n_delays

    def _windows(self, past):
        return past[:, -self.n_rows :].reshape(len(past), -1)

    def forecast(self, past, controls, *, report=False):
        """(n, n_steps, n_features) from (n, at least n_rows, n_features)."""
        return self.forecaster.run(self._windows(past), controls, self.relift, report=report)

    def paths(self, past, controls, rng):
        """The same with noise at each step."""
        return self.forecaster.paths(self._windows(past), controls, self.relift, rng)

    def deviations(self, past, controls, rng, smooth):
        """Deviations of what will be observed; smooth : whether the start is known exactly."""
        if self.relift and not self.fitted.lift.linear:
            return self.forecaster.relifted_deviations(self._windows(past), controls, rng)
        start = self.fitted.start * (0.0 if smooth else 1.0)
        spread = self.forecaster.linear_deviations(controls.shape[1], start)
        return np.repeat(spread[None], len(past), axis=0)


def learned_of(name, fitted, forecaster, stability):
    """The Learned source of a fit, which lifts states anew where that can serve.

    Exponentials are not lifted, and what keeps a linear operator stable holds for its powers only.
    """
    bound = fitted.lift.linear and stability is not None
    return Learned(name, fitted, forecaster, fitted.exponentials is None and not bound)
