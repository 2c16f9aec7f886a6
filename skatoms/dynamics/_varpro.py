"""Sums of exponentials fitted to trajectories by variable projection.

The model of a trajectory is ``x(t) = sum_k c_k exp(w_k t)`` with the same w for all trajectories
and coefficients of its own for each. For given w the coefficients are a linear least-squares
problem, so only w is searched for, by Gauss-Newton steps with Kaufman's form of the derivative.
Real data have w real or in conjugate pairs: a pair is two real columns, exp(st) cos(vt) and exp(st)
sin(vt).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.interpolate import make_interp_spline
from scipy.linalg import eigh, pinv

from ._operators import NEGLIGIBLE

MAX_STEPS = 30
SETTLED = 1e-10  # relative decrease of the squared error that ends the search
SHORTEST_STEP = 1e-4
TINY = 1e-8  # moduli below are decay within a step, which no exponential can follow
REAL = 1e-9
RANK_TOLERANCE = 1e-13  # relative: columns that the others make up to rounding
START_WIDTH = 120  # numbers of a window that rates to start from are taken from


@dataclass(frozen=True)
class Rates:
    """Growth s of each exponential, and frequency v in radians; v = 0 is a real one, v > 0 a pair.

    `alternating` marks real ones that change sign at each step of length dt.
    """

    growth: np.ndarray
    angular: np.ndarray
    alternating: np.ndarray
    dt: float

    @cached_property
    def pairs(self):
        """Which of them are conjugate pairs."""
        return (self.angular > 0) & ~self.alternating

    @cached_property
    def n_columns(self):
        """Number of real columns, which is the rank."""
        return len(self.growth) + int(self.pairs.sum())

    @cached_property
    def firsts(self):
        """The first column of each."""
        return np.append(0, np.cumsum(1 + self.pairs)[:-1]).astype(int)

    def columns(self, times):
        """Columns at these times, and the origin of time of each: large ones are 1 at the end."""
        origins = np.where(self.growth > 0, times.max(initial=0.0), times.min(initial=0.0))
        shifted = times[:, None] - origins
        size = np.exp(self.growth * shifted)
        columns = np.empty((len(times), self.n_columns))
        columns[:, self.firsts] = size * np.cos(self.angular * shifted)
        pairs, second = self.pairs, self.firsts[self.pairs] + 1
        columns[:, second] = (size * np.sin(self.angular * shifted))[:, pairs]
        origins = np.repeat(origins, 1 + pairs)
        return columns, times[:, None] - origins

    def moved(self, step, stability):
        """Rates after a step (growth of all, angular of pairs), kept stable."""
        k, pairs = len(self.growth), self.pairs
        growth, angular = self.growth + step[:k], self.angular.copy()
        angular[pairs] = np.maximum(angular[pairs] + step[k:], 1e-12)
        return Rates(constrained(growth, stability), angular, self.alternating, self.dt)

    def advance(self, dt):
        """How latents move in a time dt, block by block, (rank, rank)."""
        size, pairs, first = np.exp(self.growth * dt), self.pairs, self.firsts[self.pairs]
        c, s = size * np.cos(self.angular * dt), size * np.sin(self.angular * dt)
        operator = np.diag(np.repeat(c, 1 + pairs))
        operator[first, first + 1], operator[first + 1, first] = -s[pairs], s[pairs]
        return operator


def constrained(growth, stability):
    """Growth rates that satisfy the constraint."""
    if stability == "stable":
        return np.minimum(growth, 0.0)
    return np.zeros_like(growth) if stability == "conservative" else growth


def rates_of(eigenvalues, dt, stability):
    """Rates of a real operator with these eigenvalues for a step of dt."""
    eigenvalues = eigenvalues[abs(eigenvalues) > TINY]
    real = abs(eigenvalues.imag) <= REAL * abs(eigenvalues)
    chosen = eigenvalues[real | (eigenvalues.imag > 0)]
    real = abs(chosen.imag) <= REAL * abs(chosen)
    logs = np.log(chosen.astype(complex)) / dt
    alternating = real & (chosen.real < 0)
    angular = np.where(alternating, np.pi / dt, np.where(real, 0.0, logs.imag))
    return Rates(constrained(logs.real, stability), angular, alternating, dt)


@dataclass(frozen=True)
class Exponentials:
    """A fitted sum of exponentials.

    Attributes
    ----------
    rates : Rates
    coefficients : list of ndarray of shape (rank, n_features)
        Those of each trajectory, for columns as `Rates.columns` has them.
    constant : ndarray of shape (n_features,)
        The mean over trajectories of what is added.
    covariance : ndarray of shape (n_rates, n_rates)
        Of the errors of growth rates, then of angular frequencies of pairs.
    noise : ndarray of shape (n_features, n_features)
    error : float
        Sum of squares that is left.
    n_iter : int
        Steps that were taken.
    """

    rates: Rates
    coefficients: list
    constant: np.ndarray
    covariance: np.ndarray
    noise: np.ndarray
    error: float
    n_iter: int


def fit_exponentials(parts, rates, stability, fit_intercept):
    """Search for the rates that fit trajectories best, from given ones.

    Parameters
    ----------
    parts : list of (times, states)
        Complete rows of each trajectory.
    rates : Rates
    stability : {"stable", "conservative"} or None
    fit_intercept : bool
        Whether a constant is added, for each trajectory its own.
    """
    state = _Normal.at(parts, rates, fit_intercept)
    damping = 0.0
    n_iter = 0
    while n_iter < MAX_STEPS:
        n_iter += 1
        free = _free(rates, stability, state.gradient)
        step = np.zeros(len(free))
        matrix = state.matrix[np.ix_(free, free)]
        matrix = matrix + damping * np.diag(np.diag(matrix))
        step[free] = np.linalg.lstsq(matrix, state.gradient[free], rcond=None)[0]
        new, length = None, 1.0
        while length > SHORTEST_STEP:
            moved = rates.moved(length * step, stability)
            tried = _Normal.at(parts, moved, fit_intercept)
            if tried.error <= state.error:
                new = tried
                break
            length /= 2
        if new is None:
            if damping > 1:
                break
            damping = max(10 * damping, 1e-2)
            continue
        settled = state.error - new.error <= SETTLED * state.error
        rates, state, damping = moved, new, damping / 10 if length == 1 else damping
        if settled:
            break
    return _finished(parts, rates, state, fit_intercept, n_iter)


def _free(rates, stability, gradient):
    """Which rates may move: not those that the constraint holds."""
    k = len(rates.growth)
    free = np.ones(len(gradient), bool)
    if stability == "conservative":
        free[:k] = False
    elif stability == "stable":
        free[:k] = (rates.growth < 0) | (gradient[:k] < 0)
    return free


@dataclass(frozen=True)
class _Normal:
    """Normal equations of a Gauss-Newton step: sums over trajectories and rows."""

    matrix: np.ndarray
    gradient: np.ndarray
    error: float
    coefficients: list
    residuals: list

    @classmethod
    def at(cls, parts, rates, fit_intercept):
        n_rates = len(rates.growth) + int(rates.pairs.sum())
        matrix, gradient, error = np.zeros((n_rates, n_rates)), np.zeros(n_rates), 0.0
        coefficients, residuals = [], []
        for times, states in parts:
            columns, since = rates.columns(times)
            slopes = since * columns
            if fit_intercept:
                columns = np.hstack([columns, np.ones((len(times), 1))])
            left, sizes, right = np.linalg.svd(columns, full_matrices=False)
            held = sizes > RANK_TOLERANCE * sizes[0]
            basis = left[:, held]
            solution = right[held].T @ (basis.T @ states / sizes[held, None])
            residual = states - columns @ solution
            part = slopes - basis @ (basis.T @ slopes)
            inner, pull = part.T @ part, part.T @ residual
            turns = _turns(rates, solution)
            flat = turns.reshape(n_rates, -1)
            matrix += flat @ (inner @ turns).reshape(n_rates, -1).T
            gradient += flat @ pull.ravel()
            error += float((residual**2).sum())
            coefficients.append(solution)
            residuals.append(residual)
        return cls(matrix, gradient, error, coefficients, residuals)


def _turns(rates, solution):
    """Turns, one for each rate: d columns / d rate @ solution = slopes @ turn."""
    k, pairs, firsts = len(rates.growth), rates.pairs, rates.firsts
    turns = np.zeros((k + int(pairs.sum()), rates.n_columns, solution.shape[1]))
    for number, first in enumerate(firsts):
        width = 1 + pairs[number]
        turns[number, first : first + width] = solution[first : first + width]
    for number, first in enumerate(firsts[pairs]):
        # d/dv of (cos, sin) is time times (-sin, cos)
        turns[k + number, first] = solution[first + 1]
        turns[k + number, first + 1] = -solution[first]
    return turns


def _finished(parts, rates, state, fit_intercept, n_iter):
    p = parts[0][1].shape[1]
    n_rows = sum(len(times) for times, _ in parts)
    n_parameters = len(state.gradient) + sum(c.shape[0] for c in state.coefficients) * p
    freedom = max(n_rows * p - n_parameters, 1)
    covariance = state.error / freedom * pinv(state.matrix)
    noise = sum(r.T @ r for r in state.residuals) / max(freedom / p, 1)
    rank = rates.n_columns
    constants = [c[rank] for c in state.coefficients] if fit_intercept else [np.zeros(p)]
    coefficients = [c[:rank] for c in state.coefficients]
    return Exponentials(
        rates, coefficients, np.mean(constants, axis=0), covariance, noise, state.error, n_iter
    )


def start_rates(parts, rank, dt, stability, fit_intercept):
    """Rates to start from: those of the subspace in which windows of delays lie (ESPRIT).

    Trajectories at irregular times are interpolated at steps of dt first, only for this.
    """
    parts = _leading_states([_evenly(times, states, dt) for times, states in parts], rank)
    p, longest = parts[0].shape[1], max(map(len, parts))
    needed = -(-rank // p) + 1
    length = max(needed, min(START_WIDTH // p, longest // 3))
    windows = [
        np.lib.stride_tricks.sliding_window_view(states, length, axis=0)
        .transpose(0, 2, 1)
        .reshape(-1, length * p)
        for states in parts
        if len(states) >= length
    ]
    windows = np.concatenate(windows) if windows else np.empty((0, length * p))
    if len(windows) <= rank:
        raise ValueError(
            f"rank={rank} with operator='varpro' needs more than {rank} windows of {length} rows, "
            f"but the longest trajectory has {longest}: give longer ones or lower rank."
        )
    if fit_intercept:
        windows = windows - windows.mean(axis=0)
    products = windows.T @ windows
    width = len(products)
    values, lead = eigh(products, subset_by_index=[width - rank, width - 1])
    if values[0] <= NEGLIGIBLE * values[-1]:
        values = np.linalg.eigvalsh(products)
        held = int((values > NEGLIGIBLE * max(values[-1], 1e-300)).sum())
        if held == 0:
            raise ValueError(
                "X does not vary, but operator='varpro' fits exponentials to what does: take "
                "another operator."
            )
        raise ValueError(
            f"rank={rank} is more than the data hold: windows vary in {held} directions. Set rank "
            f"to at most {held}."
        )
    operator = np.linalg.lstsq(lead[:-p], lead[p:], rcond=None)[0]
    return rates_of(np.linalg.eigvals(operator), dt, stability)


def _leading_states(parts, rank):
    """States in the directions in which they are largest, as many as there are exponentials."""
    if parts[0].shape[1] <= rank:
        return parts
    lead = eigh(sum(states.T @ states for states in parts))[1][:, -rank:]
    return [states @ lead for states in parts]


def _evenly(times, states, dt):
    """States at steps of dt."""
    n = max(int(np.floor((times[-1] - times[0]) / dt + REAL)) + 1, 1)
    grid = times[0] + dt * np.arange(n)
    if n == len(times) and np.allclose(grid, times, rtol=0, atol=1e-6 * dt):
        return states
    if len(times) < 4:
        return states[:1]
    return make_interp_spline(times, states, k=3)(np.minimum(grid, times[-1]))
