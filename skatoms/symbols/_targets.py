"""What y says: binary tasks to learn, and predictions in the form of y."""

from dataclasses import dataclass
from itertools import pairwise
from numbers import Real

import numpy as np
from scipy.sparse import issparse
from scipy.special import logit
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import column_or_1d

from .._validation import check_classes_known

SURE = 1e-9  # probability that counts as zero
RANKED = 2000  # samples to find a rank by
RANK_TOLERANCE = 1e-3  # smallest singular value that counts, over the largest


@dataclass(frozen=True)
class Targets:
    """The form of y.

    single : whether y has one dimension
    labels : for each column of y its classes, or one array for all if y holds 0, 1 or probabilities
    soft : whether y was probabilities
    """

    single: bool
    labels: tuple
    soft: bool

    @property
    def classes(self):
        """As scikit-learn has them: those of y, a list of them, or numbers of columns."""
        if self.single:
            return self.labels[0]
        return np.arange(self.n_outputs) if self.binary else list(self.labels)

    @property
    def binary(self):
        """Whether all of several columns hold 0, 1 or probabilities."""
        return not self.single and all(np.array_equal(known, (0, 1)) for known in self.labels)

    @property
    def n_outputs(self):
        """Columns of y."""
        return len(self.labels)

    @property
    def bounds(self):
        """Where the tasks of each column begin and end; two classes are one task."""
        return list(pairwise(np.append(0, np.cumsum([_n_tasks(known) for known in self.labels]))))

    @property
    def n_tasks(self):
        """All tasks."""
        return self.bounds[-1][1]

    def checked(self, y):
        """The same y, if it has the columns that were learned."""
        columns = 1 if y.ndim == 1 else y.shape[1]
        if columns != self.n_outputs:
            raise ValueError(f"y has {columns} columns, but {self.n_outputs} were learned.")
        return y

    def encode(self, y):
        """Targets of the tasks, in [0, 1]."""
        if self.soft or self.binary:
            _check_probabilities(y)
            return y.reshape(len(y), -1).astype(np.float64)
        columns = []
        for known, values in zip(self.labels, y.reshape(len(y), -1).T, strict=True):
            check_classes_known(values, known, "name all classes in the first call of partial_fit.")
            columns.append(values[:, None] == (known[1:] if len(known) == 2 else known))
        return np.concatenate(columns, axis=1).astype(np.float64)

    def probabilities(self, tasks):
        """Probabilities of tasks in the form that scikit-learn gives them."""
        if self.binary:
            return tasks
        outputs = []
        for first, last in self.bounds:
            of_classes = tasks[:, first:last]
            if last - first == 1:
                of_classes = np.column_stack([1 - of_classes, of_classes])
            else:
                of_classes = np.maximum(of_classes, np.finfo(float).tiny)
            outputs.append(of_classes / of_classes.sum(axis=1, keepdims=True))
        return outputs[0] if self.single else outputs

    def decide(self, tasks):
        """The most probable y."""
        if self.binary:
            return (tasks > 0.5).astype(int)
        probabilities = self.probabilities(tasks)
        if self.single:
            return self.labels[0][probabilities.argmax(axis=1)]
        pairs = zip(self.labels, probabilities, strict=True)
        return np.column_stack([known[table.argmax(axis=1)] for known, table in pairs])


def _n_tasks(known):
    return 1 if len(known) == 2 else len(known)


def _check_probabilities(y, problem=""):
    if y.min() < 0 or y.max() > 1:
        raise ValueError(
            f"{problem}y has values from {y.min():.3g} to {y.max():.3g}, but tasks are 0, 1 or "
            "probabilities in [0, 1]: give classes, or scale y."
        )


def rank_of(targets):
    """In how many independent ways logits of soft targets vary at most, if they are exact."""
    logits = logit(np.clip(targets[:RANKED], SURE, 1 - SURE))
    return int(np.linalg.matrix_rank(logits - logits.mean(axis=0), rtol=RANK_TOLERANCE))


def dense_target(y):
    """y as an array of one dimension if it has one column, of two otherwise."""
    y = y.toarray() if issparse(y) else np.asarray(y)
    if y.dtype == object and all(isinstance(value, Real) for value in y.flat):
        y = np.array(y.tolist())
    return column_or_1d(y, warn=True) if y.ndim == 1 or y.shape[1] == 1 else y


def targets_of(y, classes=None):
    """The Targets that y stands for.

    classes : all classes of a y of one dimension, or None for those that y has
    """
    kind = type_of_target(y, input_name="y")
    single = y.ndim == 1
    if kind.startswith("continuous"):
        _check_probabilities(y, f"Unknown label type: {kind}. ")
        n_outputs = 1 if single else y.shape[1]
        return Targets(single, n_outputs * (np.array([0, 1]),), True)
    if kind == "multilabel-indicator":
        return Targets(False, y.shape[1] * (np.array([0, 1]),), False)
    if classes is not None and not single:
        raise ValueError("classes goes with a y of one dimension; y has several columns.")
    columns = y.reshape(len(y), -1).T
    labels = tuple(np.unique(values if classes is None else classes) for values in columns)
    for column, known in enumerate(labels):
        if len(known) < 2:
            where = "" if single else f" in column {column}"
            raise ValueError(f"y must have at least 2 classes, got 1 class{where}: {known!r}.")
    return Targets(single, labels, False)
