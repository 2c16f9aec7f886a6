"""Spectrum, modes and forecasts of a model of dynamics."""

import math
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ._drawing import check_picture, pyplot


class SpectrumDisplay:
    """Eigenvalues in the complex plane, with the unit circle.

    Inside the circle modes decay, outside they grow, and the angle is the frequency. Make one with
    :meth:`from_estimator`, or from arrays.

    Parameters
    ----------
    eigenvalues : array-like of complex of shape (n_eigenvalues,)
        For one step of time.

    amplitudes : array-like of shape (n_eigenvalues,), default=None
        How strong each mode is: the area of its dot. None makes all equal.

    residuals : array-like of shape (n_eigenvalues,), default=None
        How far each eigenfunction is from moving by its eigenvalue: the colour of its dot.

    deviations : array-like of shape (n_eigenvalues,), default=None
        Standard deviations of the eigenvalues, drawn as circles around them.

    Attributes
    ----------
    figure_ : matplotlib Figure
        The figure of the last `plot`.

    ax_ : matplotlib Axes
        The axes that were drawn on.

    Examples
    --------
    >>> from skatoms import KoopmanBasisDynamics
    >>> from skatoms.datasets import make_oscillators
    >>> from skatoms.inspection import SpectrumDisplay
    >>> model = KoopmanBasisDynamics().fit(make_oscillators(noise=0.1, random_state=0).data)
    >>> SpectrumDisplay.from_estimator(model).eigenvalues.shape
    (10,)
    """

    def __init__(
        self,
        eigenvalues: ArrayLike,
        *,
        amplitudes: ArrayLike | None = None,
        residuals: ArrayLike | None = None,
        deviations: ArrayLike | None = None,
    ) -> None:
        self.eigenvalues = np.array(eigenvalues, dtype=complex)
        self.amplitudes = amplitudes
        self.residuals = residuals
        self.deviations = deviations

    @classmethod
    def from_estimator(cls, estimator: BaseEstimator, *, ax=None) -> Self:
        """Draw the spectrum of a fitted estimator.

        Parameters
        ----------
        estimator : KoopmanBasisDynamics
            A fitted one.

        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        display : SpectrumDisplay
            The display, drawn.
        """
        check_is_fitted(estimator)
        display = cls(
            estimator.eigenvalues_,
            amplitudes=estimator.amplitudes_,
            residuals=estimator.residuals_,
            deviations=estimator.eigenvalues_std_,
        )
        return display.plot(ax=ax)

    def plot(self, *, ax=None) -> Self:
        """Draw the eigenvalues.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        display : SpectrumDisplay
            Itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        if ax is None:
            _, ax = pyplot().subplots(figsize=(5, 4.2), layout="constrained")
        circle = np.exp(2j * np.pi * np.linspace(0, 1, 361))
        ax.plot(circle.real, circle.imag, color="0.6", linewidth=1)
        values, sizes, colors = self.eigenvalues, 40.0, {}
        if self.amplitudes is not None:
            strength = np.asarray(self.amplitudes, dtype=float)
            sizes = 10 + 150 * strength / max(strength.max(), 1e-300)
        if self.residuals is not None:
            colors = {"c": self.residuals, "cmap": "viridis_r", "vmin": 0, "vmax": 1}
        dots = ax.scatter(values.real, values.imag, s=sizes, zorder=3, **colors)
        if self.residuals is not None:
            ax.figure.colorbar(dots, ax=ax, label="residual")
        if self.deviations is not None:
            for value, deviation in zip(values, np.asarray(self.deviations), strict=True):
                around = value + np.nan_to_num(deviation) * circle
                ax.plot(around.real, around.imag, color="0.3", linewidth=0.8)
        ax.set(aspect="equal", xlabel="real part", ylabel="imaginary part")
        self.figure_, self.ax_ = ax.figure, ax
        return self


class ModesDisplay:
    """Modes as pictures or curves: the patterns over the features that move in one way.

    Of a conjugate pair one is drawn, its real part. Make one with :meth:`from_estimator`, or from
    arrays.

    Parameters
    ----------
    modes : array-like of complex of shape (n_modes, n_features)
        The modes, one a row.

    names : list of str
        A title for each mode.

    feature_shape : tuple of int, default=None
        (height, width) draws each mode as a picture; None draws it as a curve over the features.

    Attributes
    ----------
    figure_ : matplotlib Figure
        The figure of the last `plot`.

    axes_ : ndarray of matplotlib Axes
        The axes that modes are drawn on, one each.

    Examples
    --------
    >>> from skatoms import KoopmanBasisDynamics
    >>> from skatoms.datasets import make_flow
    >>> from skatoms.inspection import ModesDisplay
    >>> flow = make_flow(100, (8, 16), random_state=0)
    >>> model = KoopmanBasisDynamics(rank=5, center=None, fit_intercept=False, dt=flow.dt)
    >>> ModesDisplay.from_estimator(model.fit(flow.data), feature_shape=(8, 16)).names
    ['0.2 cycles, growth 0', '0 cycles, growth 0', '0.5 cycles, growth -0.05']
    """

    def __init__(
        self,
        modes: ArrayLike,
        names: list[str],
        *,
        feature_shape: tuple[int, int] | None = None,
    ) -> None:
        self.modes = np.array(modes, dtype=complex)
        if self.modes.ndim != 2 or len(self.modes) == 0 or len(self.modes) != len(names):
            raise ValueError(
                f"modes has shape {self.modes.shape}, it must be (n_modes, n_features) with at "
                f"least one mode, and a name for each; there are {len(names)} names."
            )
        self.names = names
        self.feature_shape = feature_shape

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        *,
        feature_shape: tuple[int, int] | None = None,
        max_modes: int = 6,
        figure=None,
    ) -> Self:
        """Draw the strongest modes of a fitted estimator.

        Parameters
        ----------
        estimator : KoopmanBasisDynamics
            A fitted one.

        feature_shape : tuple of int, default=None
            (height, width) draws pictures, None curves.

        max_modes : int, default=6
            How many are drawn at the most.

        figure : matplotlib Figure or SubFigure, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        display : ModesDisplay
            The display, drawn.
        """
        check_is_fitted(estimator)
        if max_modes < 1:
            raise ValueError(f"max_modes must be at least 1, got {max_modes!r}.")
        firsts = np.flatnonzero(estimator.eigenvalues_.imag >= 0)[:max_modes]
        rates = zip(estimator.frequencies_[firsts], estimator.growth_rates_[firsts], strict=True)
        names = [
            f"{_short(frequency)} cycles, growth {_short(growth)}" for frequency, growth in rates
        ]
        display = cls(estimator.modes_[firsts], names, feature_shape=feature_shape)
        return display.plot(figure=figure)

    def plot(self, *, figure=None) -> Self:
        """Draw the modes.

        Parameters
        ----------
        figure : matplotlib Figure or SubFigure, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        display : ModesDisplay
            Itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If `feature_shape` does not match the number of features.
        """
        n_modes, n_features = self.modes.shape
        if self.feature_shape is not None:
            check_picture(self.feature_shape, n_features)
        n_columns = min(n_modes, 3)
        n_rows = math.ceil(n_modes / n_columns)
        if figure is None:
            size = (3 * n_columns, 2 * n_rows)
            figure = pyplot().figure(figsize=size, layout="constrained")
        grid = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
        for axes in grid[n_modes:]:
            axes.set_axis_off()
        for axes, mode, name in zip(grid, self.modes.real, self.names, strict=False):
            limit = np.abs(mode).max() or 1.0
            if self.feature_shape is None:
                axes.plot(mode, linewidth=1)
                axes.set_ylim(-1.1 * limit, 1.1 * limit)
            else:
                picture = mode.reshape(self.feature_shape)
                axes.imshow(picture, cmap="RdBu_r", vmin=-limit, vmax=limit)
                axes.set(xticks=[], yticks=[])
            axes.set_title(name, fontsize="medium")
        self.figure_, self.axes_ = figure, grid[:n_modes]
        return self


class ForecastDisplay:
    """A forecast with a band, after the past that it goes on from.

    Make one with :meth:`from_estimator`, or from arrays.

    Parameters
    ----------
    past : array-like of shape (n_past,)
        What was seen.

    forecast : array-like of shape (n_steps,)
        The steps that follow.

    deviations : array-like of shape (n_steps,)
        Standard deviations of what will be seen.

    dt : float, default=1.0
        Time of a step.

    start : float, default=0.0
        Time of the last row of the past.

    truth : array-like of shape (n_steps,), default=None
        What came, if it is known.

    Attributes
    ----------
    figure_ : matplotlib Figure
        The figure of the last `plot`.

    ax_ : matplotlib Axes
        The axes that were drawn on.

    Examples
    --------
    >>> from skatoms import KoopmanBasisDynamics
    >>> from skatoms.datasets import load_sunspots
    >>> from skatoms.inspection import ForecastDisplay
    >>> X = load_sunspots().data
    >>> model = KoopmanBasisDynamics(n_delays=11, operator="ridge").fit(X[:250])
    >>> ForecastDisplay.from_estimator(model, X[:250], 59, truth=X[250:]).forecast.shape
    (59,)
    """

    def __init__(
        self,
        past: ArrayLike,
        forecast: ArrayLike,
        deviations: ArrayLike,
        *,
        dt: float = 1.0,
        start: float = 0.0,
        truth: ArrayLike | None = None,
    ) -> None:
        self.past = np.array(past, dtype=float)
        self.forecast = np.array(forecast, dtype=float)
        self.deviations = np.array(deviations, dtype=float)
        self.dt = dt
        self.start = start
        self.truth = truth

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: ArrayLike,
        n_steps: int,
        *,
        feature: int = 0,
        start: float = 0.0,
        truth: ArrayLike | None = None,
        ax=None,
    ) -> Self:
        """Forecast and draw.

        Parameters
        ----------
        estimator : KoopmanBasisDynamics
            A fitted one, without control inputs.

        X : array-like of shape (n_rows, n_features)
            The past of one trajectory.

        n_steps : int
            How many steps to forecast.

        feature : int, default=0
            The feature to draw.

        start : float, default=0.0
            Time of the last row of `X`.

        truth : array-like of shape (n_steps, n_features), default=None
            What came, if it is known.

        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        display : ForecastDisplay
            The display, drawn.
        """
        check_is_fitted(estimator)
        states, deviations = estimator.forecast(n_steps, X, return_std=True)
        display = cls(
            np.asarray(X)[:, feature],
            states[:, feature],
            deviations[:, feature],
            dt=estimator.dt_,
            start=start,
            truth=None if truth is None else np.asarray(truth)[:, feature],
        )
        return display.plot(ax=ax)

    def plot(self, *, ax=None, n_deviations: float = 2.0, label: str = "forecast") -> Self:
        """Draw the past, the forecast and its band.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        n_deviations : float, default=2.0
            Half the width of the band, in standard deviations.

        label : str, default="forecast"
            What the forecast is called in the legend.

        Returns
        -------
        display : ForecastDisplay
            Itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        if ax is None:
            _, ax = pyplot().subplots(figsize=(8, 3.2), layout="constrained")
        before = self.start + self.dt * np.arange(1 - len(self.past), 1)
        after = self.start + self.dt * np.arange(1, len(self.forecast) + 1)
        ax.plot(before, self.past, color="0.3", linewidth=1, label="past")
        if self.truth is not None:
            ax.plot(after, self.truth, color="0.3", linewidth=1, linestyle=":", label="what came")
        half = n_deviations * self.deviations
        ax.fill_between(after, self.forecast - half, self.forecast + half, alpha=0.25, linewidth=0)
        ax.plot(after, self.forecast, linewidth=1.5, label=label)
        ax.legend()
        self.figure_, self.ax_ = ax.figure, ax
        return self


def _short(number):
    """Three digits, zero if it is one but for rounding."""
    return f"{number if abs(number) > 1e-6 else 0.0:.3g}"
