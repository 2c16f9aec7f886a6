"""VectorNetworkClassifier: classes from codes of a network."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils.multiclass import check_classification_targets

from .._validation import check_classes_known, check_classes_stay, check_fit_data
from ._supervised import SupervisedNetwork


class VectorNetworkClassifier(ClassifierMixin, SupervisedNetwork):
    """Predict classes from codes of a network of rank-1 weight atoms.

    While it learns, the layers of a :class:`VectorNetwork` also explain the target at the top: with
    its outputs u and weight c, ``c / 2 |y - U'g|^2`` is part of the energy. Codes of new samples
    are inferred without a target and so are not quite those it has learned with. Predictions are
    therefore fitted, by least squares with a little ridge, to codes that were inferred from the
    training samples alone: `coef_` and `intercept_` are the best that such codes allow. All layers
    have a say in them.

    The target of a class is one for it and zero for the others.

    Read more in the :ref:`User Guide <vector_network>`.

    Parameters
    ----------
    n_atoms : int or tuple of int, default=(128,)
        Atoms of each layer, the one next to the data first.

    alpha : float or tuple of float, default=0.1
        Weight of the absolute values of codes, not negative, for all layers or for each. In the
        unit of what the layer explains: an input of a norm of at most alpha has code zero.

    target_weight : float, default=1.0
        How much targets count while the network learns, positive. At 1, what all targets vary
        counts as much as what all features have in squares, in the first data that are seen.

    ridge : float, default=1e-4
        Weight of the squares of `coef_`, relative to the mean squared code, not negative.

    widths : int or tuple of int, default=None
        Lengths of the interfaces between layers. None is the number of atoms of the layer below.

    top_down : float or tuple of float, default=0.1
        How much each interface and the layer above it count, positive: how closely a layer listens
        to the ones above.

    top_k : int, default=None
        How many atoms of the top layer a sample uses, at no cost, instead of any number at the
        price of alpha. The energy is then not convex.

    positive : bool, default=False
        Whether codes must not be negative. Does not go with `top_k`.

    constraint : {"unit_norm", "unit_ball", "non_negative", "separable"} or Constraint, \
default="unit_norm"
        What the inputs of atoms of the first layer satisfy, as in
        :class:`~skatoms.VariationalBasisLearner`, for instance ``Separable(1)``. Inputs of other
        layers have norm 1.

    feature_shape : tuple of int, default=None
        The grid that the features are on, for constraints that need one.

    learning_rule : {"hebb", "block"}, default="hebb"
        How atoms move after a batch was coded. "hebb" is local: each used atom takes one step along
        the sum of residual times code, which is minus the gradient of the least energy, over what
        it was used so far. "block" solves for the atoms, as closely as is worth it, from sums over
        samples; in `fit` its objective never rises after two online passes, and it ends lower.

    batch_size : int, default=None
        Samples that are coded before the atoms move. None is twice the number of atoms, but at
        least 512.

    max_iter : int, default=20
        Passes over the samples in `fit`.

    tol : float, default=1e-3
        `fit` stops when a pass lowers the objective by less than this part of it.

    forgetting : float, default=5.0
        How soon learning from a stream forgets what it saw with earlier atoms, as in
        :class:`~skatoms.VariationalBasisLearner`.

    output_layers : {"top", "all"}, default="top"
        Whose codes `transform` gives.

    warm_start : bool, default=False
        Whether `fit` starts from the atoms of the fit before.

    n_jobs : int, default=None
        Threads. None is 1 unless in a :obj:`joblib.parallel_config` context, -1 is all cores.
        Results do not depend on it.

    random_state : int, RandomState instance or None, default=None
        Draws the atoms to start from and the batches. Pass an int for reproducible results.

    Attributes
    ----------
    input_atoms_ : list of ndarray of shape (n_atoms, width below)
        The inputs of the atoms of each layer.

    output_atoms_ : list of ndarray of shape (n_atoms, width above)
        The outputs of the atoms of each layer. Those of the top explain targets
        while the network learns.

    coef_ : ndarray of shape (n_outputs, n_atoms of all layers)
        What a unit of each code adds to each output.

    intercept_ : ndarray of shape (n_outputs,)
        The outputs of code zero.

    classes_ : ndarray of shape (n_classes,)
        The classes.

    usage_ : ndarray of shape (n_atoms of all layers,)
        The mean squared code of each atom in what was learned from.

    frozen_ : ndarray of bool of shape (n_atoms of all layers,)
        Which atoms learning must not touch; see `freeze`.

    report_ : CodingReport
        How the codes of the last pass were solved: the worst KKT residual and how many samples did
        not reach the tolerance; with `top_k`, `n_iter` is the number of sweeps.

    objective_history_ : ndarray of shape (n_passes,)
        The mean energy at the end of each pass of the last `fit`.

    n_iter_ : int
        Passes of the last `fit`.

    n_samples_seen_ : float
        Samples of the last `fit`, and those that `partial_fit` has added since.

    n_features_in_ : int
        Number of features seen during fit.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit, if they are all strings.

    See Also
    --------
    VectorNetwork : The network without a target.
    VectorNetworkRegressor : The same for numbers.

    References
    ----------
    .. [1] "Learning Compositional Latent Structure with Vector Networks", arXiv 2605.28007, 2026.
       Weights of terms, norms, steps and start values are ours.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skatoms import VectorNetworkClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> network = VectorNetworkClassifier(128, tol=1e-2, random_state=0)
    >>> network = network.fit(X[:1000] / 16, y[:1000])
    >>> bool(network.score(X[1000:] / 16, y[1000:]) > 0.9)
    True
    """

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn the atoms from samples and their classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples. NaN is a missing value.

        y : array-like of shape (n_samples,)
            Classes.

        Returns
        -------
        self : object
            The fitted network.
        """
        return self._fit_classes(X, y, None, once=False)

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Learn from one more batch of samples: inputs of atoms that it does not use stay.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            A batch of samples; the first one also gives the atoms to start from.

        y : array-like of shape (n_samples,)
            Classes.

        classes : array-like of shape (n_classes,), default=None
            All classes that there are; needed in the first call if its batch has not all.

        Returns
        -------
        self : object
            The network.
        """
        return self._fit_classes(X, y, classes, once=True)

    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """How much speaks for each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
            Least-squares estimates of the probability of each class; for two, that of the second
            less that of the first.
        """
        scores = self._outputs_of(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            The least-squares estimates, cut off at zero and divided by their sum.
        """
        scores = np.maximum(self._outputs_of(X), 1e-12)
        return scores / scores.sum(axis=1, keepdims=True)

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Classes of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            For each sample the class that most speaks for.
        """
        best = self._outputs_of(X).argmax(axis=1)
        return self.classes_[best]

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The part of the samples whose class is predicted.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        y : array-like of shape (n_samples,)
            True classes.

        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        score : float
            At most 1; larger is better.
        """
        return super().score(X, y, sample_weight)

    def _fit_classes(self, X, y, classes, once):
        anew = self._starts_anew(once)
        (X, y), features = check_fit_data(self, X, y=y, reset=anew, ensure_all_finite="allow-nan")
        check_classification_targets(y)
        known = np.unique(y if classes is None else classes) if anew else self.classes_
        if not anew:
            check_classes_stay(classes, known)
        check_classes_known(
            y,
            known,
            "name all classes in the first call of partial_fit, or fit anew without warm_start.",
        )
        if len(known) < 2:
            raise ValueError(
                f"y must have at least 2 classes for a classifier, got 1 class: {known!r}."
            )
        targets = (y[:, None] == known).astype(X.dtype)
        self._fit_targets(X, y, features, targets, once, {"classes_": known})
        return self

    def _merge_outputs(self, ours, theirs, rows):
        super()._merge_outputs(ours, theirs, rows)
        self.classes_ = ours.classes_

    def _refuse_other(self, other):
        super()._refuse_other(other)
        if not np.array_equal(self.classes_, other.classes_):
            raise ValueError(
                f"other knows the classes {other.classes_!r}, but this network {self.classes_!r}."
            )
