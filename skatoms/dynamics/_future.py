"""What a fitted estimator says of the future."""

from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._validation import check_new_data
from ._horizon import forecast_r2
from ._trajectories import stacked


class FutureMixin:
    """Predictions, forecasts, simulations and their score."""

    # What the estimator has.
    horizon: int
    random_state: Any
    dt_: float
    n_features_in_: int
    _trajectories: Any
    _fitted: Any
    _forecaster: Any
    _learned: Any
    _source: Any
    _last: Any

    def predict(
        self,
        X: ArrayLike,
        *,
        lengths: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        u: ArrayLike | None = None,
    ) -> np.ndarray:
        """The state one step after each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or list of such, one a trajectory
            States in the order of time. The first `n_delays` - 1 rows of a trajectory have no full
            window: their windows begin with repetitions of the first row.

        lengths : array-like of int, default=None
            The number of rows of each trajectory.

        groups : array-like of shape (n_samples,), default=None
            A label for each row: a trajectory ends where it changes.

        u : array-like of shape (n_samples, n_controls), default=None
            The input that acts after each row, for a model with inputs.

        Returns
        -------
        states : ndarray of shape (n_samples, n_features)
            NaN where the window has a missing value.
        """
        check_is_fitted(self)
        X, lengths = stacked(X, lengths, groups)
        X = check_new_data(self, X)
        trajectories, _ = self._trajectories(X, lengths, groups, None, u, self.dt_)
        self._check_controls(trajectories.controls)
        past = trajectories.past(np.arange(len(X)), self._source.n_rows)
        known = ~np.isnan(past).any(axis=(1, 2))
        states = np.full(X.shape, np.nan)
        if known.any():
            controls = trajectories.controls[known, None]
            states[known] = self._source.forecast(past[known], controls)[:, 0]
        return states.astype(X.dtype, copy=False)

    def forecast(
        self,
        n_steps: int,
        X0: ArrayLike | None = None,
        *,
        u: ArrayLike | None = None,
        mode: str = "relift",
        return_std: bool = False,
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """States 1, 2, ..., `n_steps` steps ahead.

        The first one is what `predict` gives for the last row of `X0`.

        Parameters
        ----------
        n_steps : int
            How many.

        X0 : array-like of shape (n_rows, n_features), or list of such, default=None
            The past of each trajectory, at least `n_delays` rows; the last ones are used. An array
            of shape (n_trajectories, n_rows, n_features) is a list. None goes on from the end of
            the training data; with operator="varpro" from the state that was fitted to all of the
            last trajectory.

        u : array-like of shape (n_steps, n_controls), default=None
            Inputs, the first acts after the last row of `X0`; or of shape (n_trajectories, n_steps,
            n_controls).

        mode : {"relift", "linear"}, default="relift"
            "relift" reads the state off after each step and lifts it anew, which stays accurate for
            nonlinear lifts; "linear" takes powers of the operator. With operator="varpro", and with
            a linear lift and `stability`, both are "linear".

        return_std : bool, default=False
            Whether to return the standard deviation of what will be observed, too.

        Returns
        -------
        states : ndarray of shape (n_steps, n_features) or (n_trajectories, n_steps, n_features)
            With an axis for trajectories if `X0` is a list or has three axes. NaN from the step at
            which a forecast has diverged, which is warned about.

        deviations : ndarray of the same shape
            Only if `return_std`. From the errors of single steps in training; what is not known of
            the operator itself is left out.
        """
        check_is_fitted(self)
        if mode not in ("relift", "linear"):
            raise ValueError(f"mode must be 'relift' or 'linear', got {mode!r}.")
        past, single, dtype = self._starts(X0)
        controls = self._future_controls(u, n_steps, len(past))
        source = self._source if mode == "relift" else replace(self._learned, relift=False)
        smooth = X0 is None and self._fitted.end is not None
        if smooth:
            states = self._forecaster.from_latents(self._fitted.end[None], controls)
        else:
            states = source.forecast(past, controls, report=True)
        states = states.astype(dtype, copy=False)
        if not return_std:
            return states[0] if single else states
        rng = check_random_state(self.random_state)
        spread = source.deviations(past, controls, rng, smooth).astype(dtype, copy=False)
        return (states[0], spread[0]) if single else (states, spread)

    def simulate(
        self,
        n_steps: int,
        X0: ArrayLike | None = None,
        *,
        u: ArrayLike | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> np.ndarray:
        """One possible future of each trajectory, with noise as there was in training.

        Parameters
        ----------
        n_steps : int
            How many steps.

        X0 : array-like of shape (n_rows, n_features), or list of such, default=None
            The past, as in `forecast`.

        u : array-like, default=None
            Inputs, as in `forecast`.

        random_state : int, RandomState instance or None, default=None
            Draws the noise.

        Returns
        -------
        states : ndarray of shape (n_steps, n_features) or (n_trajectories, n_steps, n_features)
            Each state is lifted anew, noise included.
        """
        check_is_fitted(self)
        past, single, dtype = self._starts(X0)
        controls = self._future_controls(u, n_steps, len(past))
        rng = check_random_state(random_state)
        if X0 is None and self._fitted.end is not None:
            noise = self._forecaster.noise(rng)
            states = self._forecaster.from_latents(self._fitted.end[None], controls, noise)
        else:
            states = self._learned.paths(past, controls, rng)
        states = states.astype(dtype, copy=False)
        return states[0] if single else states

    def score(
        self,
        X: ArrayLike,
        y: object = None,
        *,
        lengths: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        u: ArrayLike | None = None,
    ) -> float:
        """R2 of forecasts `horizon` steps ahead, from all rows with a full window before them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or list of such, one a trajectory
            States.

        y : Ignored
            Not used, present for API consistency.

        lengths : array-like of int, default=None
            The number of rows of each trajectory.

        groups : array-like of shape (n_samples,), default=None
            A label for each row: a trajectory ends where it changes.

        u : array-like of shape (n_samples, n_controls), default=None
            Inputs.

        Returns
        -------
        score : float
            At most 1; 0 is as good as the mean of `X`. Minus infinity if a forecast diverges.
        """
        check_is_fitted(self)
        X, lengths = stacked(X, lengths, groups)
        X = check_new_data(self, X)
        trajectories, _ = self._trajectories(X, lengths, groups, None, u, self.dt_)
        self._check_controls(trajectories.controls)
        return forecast_r2(self._source, trajectories, self.horizon)

    def _starts(self, X0):
        """The past to go on from, whether there is only one, without an axis, and its dtype."""
        n_rows = self._source.n_rows
        if X0 is None:
            if self._last is None:
                raise ValueError(
                    f"The training data do not end with {n_rows} complete rows: pass X0."
                )
            return self._last.astype(np.float64), True, self._last.dtype
        rows, lengths = stacked(X0)
        rows = check_new_data(self, rows)
        bounds = np.cumsum([len(rows)] if lengths is None else lengths)
        shortest = int(np.diff(bounds, prepend=0).min())
        if shortest < n_rows:
            raise ValueError(
                f"X0 has {shortest} rows, but forecasts need {n_rows}, which is n_delays or what "
                "select has found: give at least as many."
            )
        past = rows[bounds[:, None] + np.arange(-n_rows, 0)]
        if np.isnan(past).any():
            raise ValueError(
                f"X0 has missing values in its last {n_rows} rows: fill them in first."
            )
        return past.astype(np.float64), lengths is None, rows.dtype

    def _future_controls(self, u, n_steps, n):
        if not isinstance(n_steps, Integral) or n_steps < 1:
            raise ValueError(f"n_steps must be an integer of at least 1, got {n_steps!r}.")
        width = self._fitted.model.inputs.shape[1]
        u = np.empty((n_steps, 0)) if u is None else np.asarray(u, dtype=np.float64)
        u = u[:, None] if u.ndim == 1 else u
        if u.shape[-2:] != (n_steps, width) or u.ndim > 3:
            raise ValueError(
                f"u has shape {u.shape}, but {n_steps} steps of a model with {width} inputs need "
                f"({n_steps}, {width}), with an axis for trajectories before if they differ."
            )
        return np.broadcast_to(u, (n, n_steps, width))

    def _check_controls(self, controls):
        width = self._fitted.model.inputs.shape[1]
        if controls.shape[1] != width:
            raise ValueError(
                f"u has {controls.shape[1]} inputs, but the model was fitted with {width}."
            )
