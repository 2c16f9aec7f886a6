"""Rolling origins: forecasts from many rows compared with what came, and splits for searches."""

from collections.abc import Iterator
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils.validation import _num_samples

from .._validation import check_number


class HorizonSplit(BaseCrossValidator):
    """Cross-validation for forecasts: learn from the past, be judged on the rows that follow.

    The last ``n_splits * test_size`` rows of each trajectory are cut into blocks. Each split tests
    on one of them and trains on all rows before it, so that no row is ever forecast by a model that
    has seen it or a later one.

    Parameters
    ----------
    n_splits : int, default=5
        Number of splits.

    test_size : int, default=None
        Rows of a block. The first `n_delays` of them are only the past of what is forecast, so it
        has to be at least `n_delays` + `horizon` of the model. None is a part of the rows, 1 /
        (`n_splits` + 1).

    gap : int, default=0
        Rows between the training rows and a block that belong to neither.

    max_train_size : int, default=None
        If given, only so many of the last training rows of each trajectory are kept.

    See Also
    --------
    sklearn.model_selection.TimeSeriesSplit : The same for a single trajectory.

    Examples
    --------
    >>> import numpy as np
    >>> from skatoms.dynamics import HorizonSplit
    >>> for train, test in HorizonSplit(2, test_size=3).split(np.zeros((10, 1))):
    ...     print(train, test)
    [0 1 2 3] [4 5 6]
    [0 1 2 3 4 5 6] [7 8 9]
    """

    def __init__(
        self,
        n_splits: int = 5,
        *,
        test_size: int | None = None,
        gap: int = 0,
        max_train_size: int | None = None,
    ):
        self.n_splits = n_splits
        self.test_size = test_size
        self.gap = gap
        self.max_train_size = max_train_size

    def get_n_splits(
        self, X: object = None, y: object = None, groups: ArrayLike | None = None
    ) -> int:
        """The number of splits.

        Parameters
        ----------
        X : object, default=None
            Not used.

        y : object, default=None
            Not used.

        groups : object, default=None
            Not used.

        Returns
        -------
        n_splits : int
            As given.
        """
        return self.n_splits

    def split(
        self, X: ArrayLike, y: object = None, groups: ArrayLike | None = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Rows to train and to test on.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows in the order of time.

        y : object, default=None
            Not used.

        groups : array-like of shape (n_samples,), default=None
            A label for each row, whose trajectory ends where it changes: each is cut in the same
            way. None is one trajectory.

        Yields
        ------
        train : ndarray of int
            Rows to learn from.

        test : ndarray of int
            Rows of the block.
        """
        check_number("n_splits", self.n_splits, kind=Integral, least=1)
        check_number("gap", self.gap, kind=Integral, least=0)
        for name in ("test_size", "max_train_size"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name), kind=Integral, least=1)
        n = _num_samples(X)
        labels = np.zeros(n) if groups is None else np.asarray(groups)
        if labels.shape != (n,):
            raise ValueError(f"groups has shape {labels.shape}, but X has {n} rows.")
        starts = np.flatnonzero(np.append(True, labels[1:] != labels[:-1]))
        ends = np.append(starts[1:], n)
        shortest = int((ends - starts).min())
        size = self.test_size or max(shortest // (self.n_splits + 1), 1)
        if shortest <= self.n_splits * size + self.gap:
            raise ValueError(
                f"n_splits={self.n_splits} blocks of test_size={size} rows and gap={self.gap} "
                f"leave nothing to train on: the shortest trajectory has {shortest} rows."
            )
        for split in range(self.n_splits, 0, -1):
            tests = [(end - split * size, end - (split - 1) * size) for end in ends]
            trains = [
                (max(start, test - self.gap - (self.max_train_size or n)), test - self.gap)
                for start, (test, _) in zip(starts, tests, strict=True)
            ]
            yield _rows(trains), _rows(tests)


def _rows(ranges):
    return np.concatenate([np.arange(start, stop) for start, stop in ranges])


def forecast_r2(source, trajectories, horizon):
    """1 - squared error of forecasts at the horizon / squared deviation from the mean.

    Over all rows with a full past and `horizon` complete rows after it. `source` has `n_rows` and
    `forecast`.
    """
    needed = source.n_rows + horizon
    origins = np.flatnonzero(trajectories.runs() >= needed) - horizon
    if len(origins) == 0:
        longest = int(trajectories.runs().max(initial=0))
        raise ValueError(
            f"Forecasts of horizon={horizon} steps from {source.n_rows} rows (n_delays) need "
            f"{needed} rows that follow each other; the longest stretch has {longest}: give longer "
            "trajectories or lower horizon."
        )
    past = trajectories.past(origins, source.n_rows)
    controls = trajectories.controls[origins[:, None] + np.arange(horizon)]
    forecasts = source.forecast(past, controls)[:, -1]
    truth = trajectories.states[origins + horizon]
    error = ((forecasts - truth) ** 2).sum()
    spread = ((truth - truth.mean(axis=0)) ** 2).sum()
    if np.isnan(error):
        return -np.inf
    return float(1 - error / spread) if spread > 0 else float(error == 0)
