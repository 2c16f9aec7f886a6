"""Lifts: what a window of states is turned into before a linear operator moves it."""

from dataclasses import dataclass, replace

import numpy as np
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.preprocessing import PolynomialFeatures

LIFTS = ("identity", "polynomial", "rff", "nystroem")
N_KERNEL_FEATURES = 200
SAME = 1e-12  # relative: a column that is a copy of another one, or constant


@dataclass(frozen=True)
class Lift:
    """A window w becomes [frame(w), features of frame(w)], each column divided by its unit.

    The frame of a window is ``(w - level) / scale``. The level is the mean state of the training
    data or zero; if windows are relative, it is the newest state of the window itself, which is
    then added as the last columns.

    Attributes
    ----------
    n_delays : int
    relative : bool
        Whether the level is the newest state of the window.
    level, scale : ndarray of shape (n_features,)
    transformer : transformer or None
        Makes the features; None if there are none.
    kept : ndarray of int
        Columns of the transformer that are neither constant nor a copy.
    units : ndarray of shape (n_lifted,)
    """

    n_delays: int
    relative: bool
    level: np.ndarray
    scale: np.ndarray
    transformer: object
    kept: np.ndarray
    units: np.ndarray

    @property
    def linear(self):
        """Whether there are no features beside the window."""
        return self.transformer is None

    @property
    def n_lifted(self):
        """Number of columns."""
        return len(self.units) + (len(self.level) if self.relative else 0)

    @property
    def newest(self):
        """Columns that hold the newest state."""
        p = len(self.level)
        last = self.n_lifted if self.relative else self.n_delays * p
        return slice(last - p, last)

    @property
    def units_of_newest(self):
        """What the columns of the newest state were divided by."""
        return np.ones(len(self.level)) if self.relative else self.units[self.newest]

    def frame(self, windows):
        """Windows in their frame."""
        p = len(self.level)
        level = windows[:, None, -p:] if self.relative else self.level
        framed = (windows.reshape(len(windows), self.n_delays, p) - level) / self.scale
        framed = framed.reshape(len(windows), -1)
        return framed[:, :-p] if self.relative else framed

    def __call__(self, windows):
        """Windows, lifted, (n, n_lifted)."""
        framed = self.frame(windows)
        parts = [framed]
        if self.transformer is not None:
            features = np.asarray(self.transformer.transform(framed), dtype=np.float64)
            parts = [np.hstack([framed, features[:, self.kept]]) / self.units]
        if self.relative:
            parts.append((windows[:, -len(self.level) :] - self.level) / self.scale)
        return np.hstack(parts) if len(parts) > 1 else parts[0]


def transformer_of(lift, random_state):
    """An unfitted transformer for the parameter `lift`, None for "identity"."""
    if not isinstance(lift, str):
        return clone(lift)
    if lift == "polynomial":
        return PolynomialFeatures(3, include_bias=False)
    if lift == "rff":
        return RBFSampler(n_components=N_KERNEL_FEATURES, gamma="scale", random_state=random_state)
    if lift == "nystroem":
        return Nystroem(n_components=N_KERNEL_FEATURES, random_state=random_state)
    return None


def fit_lift(transformer, trajectories, ends, n_delays, center, scale):
    """The Lift of the windows that end at these rows.

    Parameters
    ----------
    transformer : transformer or None
        Unfitted.
    trajectories : Trajectories
    ends : ndarray of int
    n_delays : int
    center : {"mean", "last"} or None
    scale : bool
        Whether each feature is divided by its standard deviation; otherwise all are by the same.
    """
    states = trajectories.states[trajectories.complete]
    deviations = states.std(axis=0)
    varies = deviations > SAME * abs(states).max()
    common = np.sqrt((deviations[varies] ** 2).sum() / len(varies)) or 1.0
    deviations = np.where(varies, deviations, 1.0)
    lift = Lift(
        n_delays=n_delays,
        relative=center == "last",
        level=np.zeros(states.shape[1]) if center is None else states.mean(axis=0),
        scale=deviations if scale else np.full(states.shape[1], common),
        transformer=None,
        kept=np.arange(0),
        units=np.ones(states.shape[1] * (n_delays - (center == "last"))),
    )
    if transformer is None:
        return lift
    framed = lift.frame(trajectories.windows(ends, n_delays))
    features = np.asarray(transformer.fit(framed).transform(framed))
    kept = _informative(features, framed)
    lifted = np.hstack([framed, features[:, kept]])
    units = np.sqrt((lifted**2).mean(axis=0))
    units = np.where(units > 0, units, 1.0)
    return replace(lift, transformer=transformer, kept=kept, units=units)


def _informative(features, framed):
    """Columns of the features that are not constant and not a column of the windows."""
    size = abs(features).max(axis=0, initial=0.0)
    varies = np.ptp(features, axis=0) > SAME * np.maximum(size, 1e-300)
    for column in framed.T:
        varies &= abs(features - column[:, None]).max(axis=0) > SAME * np.maximum(size, 1e-300)
    return np.flatnonzero(varies)
