"""Passes over the samples, one after the other, as callbacks and interrupts see them."""

import warnings
from collections.abc import Mapping
from functools import cached_property

from sklearn.exceptions import ConvergenceWarning

from .._validation import outside


def run_passes(estimator, passes, data, learned, keep):
    """Take passes until the objective settles, `max_iter` at the most; tell the callbacks.

    Parameters
    ----------
    estimator : estimator
        Has `max_iter`, `tol` and the callbacks.
    passes : iterator of Iterate
    data : tuple
        X, y and the metadata of the fit.
    learned : callable
        ``learned(iterate)`` gives the fitted attributes after a pass, for callbacks.
    keep : callable
        ``keep(iterate, history)`` sets the fitted attributes, also after an interrupt.
    """
    X, y, metadata = data
    # Samples are their own targets if there are no others, and monitors score only with targets.
    data = {"estimator": estimator, "X": X, "y": X if y is None else y, "metadata": metadata}
    root = estimator._init_callback_context(max_subtasks=estimator.max_iter)
    root.call_on_fit_task_begin(**data)
    history, iterate = [], None
    try:
        for _ in range(estimator.max_iter):
            task = root.subcontext("pass").call_on_fit_task_begin(**data)
            iterate = next(passes)
            history.append(iterate.objective)
            attributes = OnDemand(learned, iterate)
            stop = task.call_on_fit_task_end(**data, reconstruction_attributes=attributes)
            if stop or _has_settled(history, estimator.tol):
                break
        else:
            _warn_unsettled(history, estimator.tol)
    finally:
        if iterate is not None:
            keep(iterate, history)
            iterate.report.warn()
    root.call_on_fit_task_end(**data, reconstruction_attributes={})


class OnDemand(Mapping):
    """The dict that a function returns, found when first asked for: few fits have callbacks."""

    def __init__(self, function, *args):
        self._function, self._args = function, args

    @cached_property
    def _found(self):
        return self._function(*self._args)

    def __getitem__(self, name):
        return self._found[name]

    def __iter__(self):
        return iter(self._found)

    def __len__(self):
        return len(self._found)


def _has_settled(history, tol):
    return len(history) > 1 and history[-2] - history[-1] <= tol * history[-1]


def _warn_unsettled(history, tol):
    if len(history) > 1:
        change = (history[-2] - history[-1]) / history[-1]
        warnings.warn(
            f"The objective still fell by {change:.1e} of itself in the last of {len(history)} "
            f"passes, tol={tol:.1e}: increase max_iter or tol.",
            ConvergenceWarning,
            stacklevel=outside(),
        )
