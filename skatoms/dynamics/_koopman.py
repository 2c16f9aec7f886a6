"""KoopmanBasisDynamics: linear dynamics of lifted windows of states."""

from numbers import Integral, Real
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.utils import check_array, check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._validation import FLOAT_DTYPES, check_fit_data, check_new_data, keep_features
from ._agreement import check_goes_on, check_together
from ._fitting import Settings, fit_denoised, fit_moments, fit_varpro, read_out
from ._forecast import forecaster_of, learned_of
from ._future import FutureMixin
from ._lifting import LIFTS
from ._modes import ModesMixin
from ._selection import select
from ._spectrum import spectrum_of
from ._trajectories import stacked, trajectories_of


def _adds_up(estimator):
    """Whether the model is one of second moments, which more data can be added to."""
    if estimator.operator == "varpro" or estimator.gamma is not None or estimator.select:
        raise AttributeError(
            f"partial_fit adds second moments up, of which operator={estimator.operator!r} with "
            f"gamma={estimator.gamma!r} and select={estimator.select!r} is not made: use fit."
        )
    return True


class KoopmanBasisDynamics(
    FutureMixin,
    ModesMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
):
    """Dynamics that are linear in a lifted state: forecasts, frequencies, modes.

    A window of the last `n_delays` states is lifted to more numbers psi, as by polynomials, and
    projected to latents z. An operator K moves them, and each step is read off as a state::

        z = P psi(window),   z next = K z + B u,   x next = M z + N u

    Eigenvalues of K are the frequencies and the rates of growth or decay in the data, and each has
    a mode, a pattern over the features [1]_. All but operator="varpro" is fitted to sums of
    products over rows, so `partial_fit` streams and memory does not grow with the data.

    Read more in the :ref:`User Guide <dynamics>`.

    Parameters
    ----------
    lift : {"identity", "polynomial", "rff", "nystroem"} or transformer, \
default="identity"
        What is added to a window: nothing; monomials up to degree 3; 200 random Fourier features;
        200 kernel features; or what a transformer of scikit-learn makes of it, for instance
        ``PolynomialFeatures(5)``.

    n_delays : int, default=1
        States of a window. More of them average noise out, and stand in for what is not measured.

    rank : int, default=None
        Latents that are kept, or exponentials. None keeps all that the data hold; for
        operator="varpro" it is `n_delays` times the number of features, or less if these are
        dependent or trajectories short.

    operator : {"ls", "ridge", "tls", "varpro"}, default="ls"
        How K is fitted. "ls" and "ridge" predict the next step with least error, by least squares
        after projection to the directions in which windows vary most. "tls", total least squares,
        counts noise of the window too, which least squares take for damping; it needs a rank and
        several delays. "varpro" fits a sum of `rank` exponentials to whole trajectories, from a
        start by total least squares: the most accurate where the data are such sums with noise; it
        also takes irregular times.

    alpha : float, default=1e-3
        Weight of the ridge, relative to the mean variance of latents. For operator="ridge".

    stability : {"stable", "conservative"}, default=None
        "stable" lets no eigenvalue be larger than 1, "conservative" puts all on the unit circle.
        Eigenvalues are moved along their ray; with "varpro" the fit itself is constrained. It holds
        for linear forecasts, and for all if the lift is "identity".

    gamma : float, default=None
        If given, states are estimated along with the operator: the sum over rows of
        ``|data - x|^2 + gamma |x next - f(x)|^2`` is minimised by turns. This takes noise out of
        the data where the lift can follow the dynamics; 100 to 1,000 is a start. For `n_delays` =
        1.

    center : {"mean", "last"}, default="mean"
        What windows are measured from: the mean of the training data, nothing if None, or the
        newest state of the window itself: forecasts then follow a level that wanders.

    scale : bool, default=False
        Whether features are divided by their standard deviations. Choose it where units differ;
        noise of equal strength in all of them asks for False.

    fit_intercept : bool, default=True
        Whether steps have a constant part.

    dt : float, default=None
        Time between rows. None is 1, or the median step of `t` where that is given.

    select : {"auto"}, default=None
        "auto" judges many candidates on the later half of each trajectory: windows of many lengths,
        linear or with monomials, of states or of their changes, what the other parameters say, and
        naive forecasts: the last value, that a period before, and the mean. For each step ahead
        those that were best are averaged. The spectrum and `transform` are those of the learned
        one which counts most.

    horizon : int, default=10
        Steps ahead that `score` looks at.

    max_iter : int, default=20
        Turns of denoising, where there is a gamma.

    tol : float, default=1e-4
        Denoising ends when a turn lowers its objective by less than this part of it.

    random_state : int, RandomState instance or None, default=None
        Draws random features and the ensemble of ``forecast(return_std=True)``.

    Attributes
    ----------
    dt_ : float
        Time between rows.

    n_iter_ : int
        Turns of denoising, or steps of variable projection; 1 for closed forms.

    objective_history_ : ndarray or None
        What denoising has minimised, after each half of a turn. It never rises.

    selection_ : Bunch or None
        With `select`: `names` of the candidates that were taken, their `weights` and held-out
        `errors` (root mean squares), both of shape (n_candidates, n_steps) for steps 1, 2, ...

    n_samples_seen_ : int
        Rows that were learned from.

    n_features_in_ : int
        Number of features seen during fit.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit, if they are all strings.

    See Also
    --------
    skatoms.VariationalBasisLearner : Atoms of samples, whatever their order.

    Notes
    -----
    A fit of n rows whose lifted window has m numbers costs ``n m^2 + m^3`` operations and the
    memory of some ``m^2`` numbers, ten times that for the deviations of eigenvalues. A step of
    forecasts costs a lift and ``m * rank`` operations a trajectory.

    References
    ----------
    .. [1] Brunton, Budisic, Kaiser and Kutz, "Modern Koopman theory for dynamical systems", SIAM
       Review 64, 2022.
    .. [2] Askham and Kutz, "Variable projection methods for an optimized dynamic mode
       decomposition", SIAM Journal on Applied Dynamical Systems 17, 2018.
    .. [3] Colbrook and Townsend, "Rigorous data-driven computation of spectral properties of
       Koopman operators", Communications on Pure and Applied Mathematics 77, 2024.

    Examples
    --------
    >>> from skatoms import KoopmanBasisDynamics
    >>> from skatoms.datasets import make_oscillators
    >>> data = make_oscillators(noise=0.1, random_state=0)
    >>> model = KoopmanBasisDynamics(rank=4, operator="varpro", dt=data.dt).fit(data.data)
    >>> (2 * 3.14159 * model.frequencies_).round(1)
    array([ 5., -5.,  2., -2.])
    >>> model.forecast(50).shape
    (50, 10)
    """

    _parameter_constraints: dict = {
        "lift": [StrOptions(set(LIFTS)), HasMethods(["fit", "transform"])],
        "n_delays": [Interval(Integral, 1, None, closed="left")],
        "rank": [Interval(Integral, 1, None, closed="left"), None],
        "operator": [StrOptions({"ls", "ridge", "tls", "varpro"})],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "stability": [StrOptions({"stable", "conservative"}), None],
        "gamma": [Interval(Real, 0, None, closed="neither"), None],
        "center": [StrOptions({"mean", "last"}), None],
        "scale": ["boolean"],
        "fit_intercept": ["boolean"],
        "dt": [Interval(Real, 0, None, closed="neither"), None],
        "select": [StrOptions({"auto"}), None],
        "horizon": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        lift: str | BaseEstimator = "identity",
        n_delays: int = 1,
        rank: int | None = None,
        *,
        operator: str = "ls",
        alpha: float = 1e-3,
        stability: str | None = None,
        gamma: float | None = None,
        center: str | None = "mean",
        scale: bool = False,
        fit_intercept: bool = True,
        dt: float | None = None,
        select: str | None = None,
        horizon: int = 10,
        max_iter: int = 20,
        tol: float = 1e-4,
        random_state: int | np.random.RandomState | None = None,
    ):
        self.lift = lift
        self.n_delays = n_delays
        self.rank = rank
        self.operator = operator
        self.alpha = alpha
        self.stability = stability
        self.gamma = gamma
        self.center = center
        self.scale = scale
        self.fit_intercept = fit_intercept
        self.dt = dt
        self.select = select
        self.horizon = horizon
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: ArrayLike,
        y: object = None,
        *,
        lengths: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        t: ArrayLike | None = None,
        u: ArrayLike | None = None,
    ) -> Self:
        """Learn the dynamics from trajectories.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or list of such, one a trajectory
            States, one a row, in the order of time. Windows with NaN are skipped. An array of shape
            (n_trajectories, n_times, n_features) is taken as a list.

        y : Ignored
            Not used, present for API consistency.

        lengths : array-like of int, default=None
            The number of rows of each trajectory, one after the other. None is one trajectory.

        groups : array-like of shape (n_samples,), default=None
            The same, said by a label for each row: a trajectory ends where the label changes.

        t : array-like of shape (n_samples,), default=None
            Times, increasing within a trajectory. None is one row each `dt`. Where steps are whole
            numbers of `dt`, windows over gaps are skipped; other steps need operator="varpro".

        u : array-like of shape (n_samples, n_controls), default=None
            Control inputs: row i acts between the rows i and i + 1 of X. `t` and `u` may come as
            trajectories, too, where X does.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, lengths = stacked(X, lengths, groups)
        X, features = check_fit_data(self, X, ensure_all_finite="allow-nan", ensure_min_samples=2)
        trajectories, dt = self._trajectories(X, lengths, groups, t, u, self.dt)
        check_together(self, trajectories)
        rng = check_random_state(self.random_state)
        selection = None
        if self.select is not None:
            own = ("as given", self.lift, self.n_delays, self._settings())
            selection, fitted = select(trajectories, own, self.horizon, rng)
        elif self.operator == "varpro":
            fitted = fit_varpro(trajectories, self.n_delays, self._settings(), dt)
        elif self.gamma is not None:
            fitted = fit_denoised(
                trajectories, self.lift, self._settings(), rng, self.gamma, self.max_iter, self.tol
            )
        else:
            fitted = fit_moments(trajectories, self.lift, self.n_delays, self._settings(), rng)
        self._keep(features, fitted, trajectories, dt, X.dtype, selection=selection)
        return self

    @available_if(_adds_up)
    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self,
        X: ArrayLike,
        y: object = None,
        *,
        lengths: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        t: ArrayLike | None = None,
        u: ArrayLike | None = None,
    ) -> Self:
        """Learn from more trajectories: second moments add up, so nothing is forgotten.

        The first call also fits the lift. A trajectory does not go on from one call to the next.
        After any number of calls with an unchanged lift, the operator is the one that `fit` finds
        for all trajectories at once.

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

        t : array-like of shape (n_samples,), default=None
            Times.

        u : array-like of shape (n_samples, n_controls), default=None
            Control inputs.

        Returns
        -------
        self : object
            The estimator.
        """
        before = getattr(self, "_fitted", None)
        X, lengths = stacked(X, lengths, groups)
        X, features = check_fit_data(
            self, X, reset=before is None, ensure_all_finite="allow-nan", ensure_min_samples=2
        )
        dt = self.dt if before is None else self.dt_
        trajectories, dt = self._trajectories(X, lengths, groups, t, u, dt)
        check_together(self, trajectories)
        if before is not None:
            check_goes_on(self, before, trajectories)
        rng = check_random_state(self.random_state)
        fitted = fit_moments(trajectories, self.lift, self.n_delays, self._settings(), rng, before)
        seen = 0 if before is None else self.n_samples_seen_
        self._keep(features, fitted, trajectories, dt, X.dtype, seen)
        return self

    def transform(
        self,
        X: ArrayLike,
        *,
        lengths: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> np.ndarray:
        """Latent coordinates of each row: its lifted window, projected.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or list of such, one a trajectory
            States in the order of time. The first windows begin with repetitions of the first row.

        lengths : array-like of int, default=None
            The number of rows of each trajectory.

        groups : array-like of shape (n_samples,), default=None
            A label for each row: a trajectory ends where it changes.

        Returns
        -------
        latents : ndarray of shape (n_samples, rank)
            NaN where the window has a missing value.
        """
        check_is_fitted(self)
        X, lengths = stacked(X, lengths, groups)
        X = check_new_data(self, X)
        trajectories, _ = self._trajectories(X, lengths, groups, None, None, self.dt_)
        return self._latents(trajectories).astype(X.dtype, copy=False)

    def inverse_transform(self, X: ArrayLike) -> np.ndarray:
        """States of latent coordinates.

        Parameters
        ----------
        X : array-like of shape (n_samples, rank)
            Latents, as `transform` gives them.

        Returns
        -------
        states : ndarray of shape (n_samples, n_features)
            Without what the projection has left out.
        """
        check_is_fitted(self)
        latents = check_array(X, dtype=FLOAT_DTYPES, input_name="X", ensure_all_finite="allow-nan")
        rank = self._fitted.model.rank
        if latents.shape[1] != rank:
            raise ValueError(
                f"X has {latents.shape[1]} columns, but there are {rank} latents: "
                "inverse_transform takes what transform gives."
            )
        lift, model = self._fitted.lift, self._fitted.model
        offset = model.offset[lift.newest] * lift.units_of_newest
        states = lift.level + lift.scale * (latents @ read_out(self._fitted).T + offset)
        return states.astype(latents.dtype, copy=False)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self):
        return self._fitted.model.rank

    def _settings(self):
        return Settings(
            operator=self.operator,
            rank=self.rank,
            alpha=self.alpha,
            stability=self.stability,
            fit_intercept=self.fit_intercept,
            center=self.center,
            scale=self.scale,
        )

    def _trajectories(self, X, lengths, groups, t, u, dt):
        X = X.astype(np.float64, copy=False)
        return trajectories_of(X, lengths=lengths, groups=groups, t=t, u=u, dt=dt)

    def _keep(self, features, fitted, trajectories, dt, dtype, seen=0, selection=None):
        """Set the fitted attributes."""
        spectrum = spectrum_of(fitted.model, read_out(fitted))
        before = self._forecaster if seen else None
        forecaster = forecaster_of(fitted, trajectories, before)
        learned = learned_of("as given", fitted, forecaster, self.stability)
        source = selection or learned
        ends = trajectories.ends(source.n_rows)
        at_end = len(ends) > 0 and ends[-1] == len(trajectories.states) - 1
        past = trajectories.past(ends[-1:], source.n_rows) if at_end else None
        if fitted.end is not None:  # the state is known anyway
            past = np.zeros((1, source.n_rows, trajectories.states.shape[1]))
        keep_features(self, features)
        self._fitted, self._spectrum, self._forecaster = fitted, spectrum, forecaster
        self._learned, self._source, self._deviations = learned, source, None
        self._last = None if past is None else past.astype(dtype)
        self.dt_ = dt
        self.n_iter_ = fitted.n_iter
        self.objective_history_ = fitted.objective
        self.n_samples_seen_ = seen + len(trajectories.states)
        self.selection_ = None if selection is None else selection.summary()

    def _latents(self, trajectories):
        """Latents of all rows, NaN where the window has a missing value."""
        lift, rows = self._fitted.lift, np.arange(len(trajectories.states))
        windows = trajectories.windows(rows, lift.n_delays)
        known = ~np.isnan(windows).any(axis=1)
        latents = np.full((len(rows), self._fitted.model.rank), np.nan)
        if known.any():
            latents[known] = self._fitted.model.latents(lift(windows[known]))
        return latents
