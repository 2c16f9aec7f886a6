"""From rows to trajectories, and from trajectories to windows of delays."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..basis._couplings import sequence_labels

STEP_TOLERANCE = 1e-3  # of dt: so far a step may be from a whole number of dt


@dataclass(frozen=True)
class Trajectories:
    """Rows in the order of time.

    Attributes
    ----------
    states : ndarray of shape (n_rows, n_features)
    labels : ndarray of int of shape (n_rows,)
        The trajectory of each row: 0, 1, ... in blocks.
    follows : ndarray of bool of shape (n_rows,)
        Whether a row is one step after the row before it, and both are complete.
    times : ndarray of shape (n_rows,)
        In units of time, from whatever start.
    controls : ndarray of shape (n_rows, n_controls)
        The input between a row and the next one; may have no columns.
    regular : bool
        Whether all steps are whole numbers of dt.
    """

    states: np.ndarray
    labels: np.ndarray
    follows: np.ndarray
    times: np.ndarray
    controls: np.ndarray
    regular: bool

    @property
    def n(self):
        """How many trajectories there are."""
        return int(self.labels[-1]) + 1

    @property
    def complete(self):
        """Which rows have no missing value."""
        return ~np.isnan(self.states).any(axis=1)

    def runs(self):
        """For each row the number of complete rows, one step apart each, that end with it."""
        rows = np.arange(len(self.states))
        last_start = np.maximum.accumulate(np.where(self.follows, 0, rows))
        return np.where(self.complete, rows - last_start + 1, 0)

    def ends(self, n_delays):
        """Rows that are the newest of a complete window."""
        return np.flatnonzero(self.runs() >= n_delays)

    def pairs(self, n_delays):
        """Rows that are the newest of a complete window and have a next row."""
        return np.flatnonzero(self.runs() >= n_delays + 1) - 1

    def windows(self, ends, n_delays):
        """Windows that end at these rows, the oldest row first, (n_ends, n_delays * n_features).

        Before the first row of its trajectory a window repeats that row.
        """
        firsts = np.searchsorted(self.labels, self.labels[ends])
        rows = ends[:, None] + np.arange(1 - n_delays, 1)
        rows = np.maximum(rows, firsts[:, None])
        return self.states[rows].reshape(len(ends), -1)

    def past(self, ends, n_rows):
        """The same with an axis for rows, (n_ends, n_rows, n_features)."""
        return self.windows(ends, n_rows).reshape(len(ends), n_rows, -1)

    def slices(self):
        """One slice of rows for each trajectory."""
        bounds = np.searchsorted(self.labels, np.arange(self.n + 1))
        return [slice(a, b) for a, b in pairwise(bounds)]


def stacked(X, lengths=None, groups=None):
    """Rows and lengths of X, which may be a list of trajectories or an array of three axes."""
    several = isinstance(X, (list, tuple)) and len(X) > 0 and all(np.ndim(x) == 2 for x in X)
    if not several and not (isinstance(X, np.ndarray) and X.ndim == 3):
        return X, lengths
    if lengths is not None or groups is not None:
        raise ValueError(
            f"X is {len(X)} trajectories already: leave out lengths and groups, which split rows "
            "of a single array."
        )
    widths = sorted({np.shape(x)[1] for x in X})
    if len(widths) > 1:
        raise ValueError(f"The trajectories in X must have the same features, but have {widths}.")
    return np.concatenate([np.asarray(x) for x in X]), [len(x) for x in X]


def trajectories_of(states, *, lengths=None, groups=None, t=None, u=None, dt=None):
    """Trajectories of checked states; returns them and the time step."""
    n = len(states)
    labels = sequence_labels(n, groups, lengths)
    new = np.zeros(n, bool) if labels is None else np.append(False, labels[1:] != labels[:-1])
    labels = np.cumsum(new)
    times, steps, dt = _clock(t, new, dt)
    whole = np.rint(steps)
    regular = bool((abs(steps - whole) <= STEP_TOLERANCE * np.maximum(whole, 1)).all())
    complete = ~np.isnan(states).any(axis=1)
    follows = np.append(False, complete[1:] & complete[:-1] & (whole == 1) & ~new[1:])
    return Trajectories(states, labels, follows, times, _controls(u, n), regular), dt


def _clock(t, new, dt):
    """Time of each row, steps between rows in units of dt, and dt."""
    n = len(new)
    if t is None:
        dt = 1.0 if dt is None else float(dt)
        return np.arange(n) * dt, np.ones(n - 1), dt
    t = np.concatenate([np.ravel(part) for part in t]) if isinstance(t, list) else np.ravel(t)
    t = t.astype(np.float64)
    if t.shape != (n,) or not np.isfinite(t).all():
        raise ValueError(f"t must be {n} finite times, one for each row of X; got shape {t.shape}.")
    steps = np.diff(t)
    inside = ~new[1:]
    if (steps[inside] <= 0).any():
        row = int(np.flatnonzero(inside & (steps <= 0))[0])
        raise ValueError(
            f"t must increase within a trajectory, but goes from {t[row]:g} to {t[row + 1]:g} "
            f"after row {row}: sort the rows, or say by lengths or groups where trajectories end."
        )
    if dt is None:
        dt = float(np.median(steps[inside])) if inside.any() else 1.0
    return t, np.where(inside, steps / dt, 1.0), float(dt)


def _controls(u, n):
    """Control inputs as an array of two axes."""
    if u is None:
        return np.empty((n, 0))
    if isinstance(u, (list, tuple)) and len(u) != n and all(np.ndim(part) > 0 for part in u):
        u = np.concatenate([np.asarray(part, dtype=np.float64) for part in u])
    u = np.asarray(u, dtype=np.float64)
    u = u[:, None] if u.ndim == 1 else u
    u = u.reshape(-1, u.shape[2]) if u.ndim == 3 else u
    if u.ndim != 2 or len(u) != n:
        raise ValueError(f"u has shape {u.shape}, but X has {n} rows: it needs an input for each.")
    if not np.isfinite(u).all():
        raise ValueError("u must be finite: fill in its missing values first.")
    return u
