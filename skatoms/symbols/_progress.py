"""What callbacks hear of a fit: a task for each network that is trained, and one for each epoch."""

from ..basis._passes import OnDemand


class Progress:
    """The root task of a fit.

    Parameters
    ----------
    estimator : estimator
    data : dict
        X, y and metadata.
    """

    def __init__(self, estimator, data):
        self.data = {"estimator": estimator, **data}
        self.max_epochs = estimator.max_iter
        self.root = estimator._init_callback_context(max_subtasks=None)
        self.root.call_on_fit_task_begin(**self.data)

    def network(self, name, model, learned=None):
        """The task of training one network.

        learned : ``learned(model)`` gives the fitted attributes, if it has any yet
        """
        return Epochs(self, name, model, learned)

    def close(self):
        """The fit is done."""
        self.root.call_on_fit_task_end(**self.data, reconstruction_attributes={})


class Epochs:
    """The tasks of one network's epochs."""

    def __init__(self, progress, name, model, learned):
        self.data, self.model, self.learned = progress.data, model, learned
        self.task = progress.root.subcontext(name, max_subtasks=progress.max_epochs)
        self.task.call_on_fit_task_begin(**self.data)

    def begin(self):
        """An epoch begins."""
        self.epoch = self.task.subcontext("epoch").call_on_fit_task_begin(**self.data)

    def end(self):
        """An epoch is done; whether a callback asks to stop."""
        learned = OnDemand(self.learned, self.model) if self.learned else None
        return self.epoch.call_on_fit_task_end(**self.data, reconstruction_attributes=learned)

    def close(self):
        """The network is trained."""
        self.task.call_on_fit_task_end(**self.data)
