"""VectorNetwork, VectorNetworkRegressor and VectorNetworkClassifier."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin, RegressorMixin, _fit_context, clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from .._validation import check_fit_data, features_of, keep_features
from ..basis._settings import feature_shape_of
from ..basis._statistics import Statistics
from ._base import BaseNetwork
from ._settings import known_somewhere
from ._supervised import SupervisedNetwork


class VectorNetwork(BaseNetwork):
    """TODO."""

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn the atoms from X.

        An interrupt (Ctrl-C) leaves the atoms of the last finished pass; with ``warm_start=True``
        another `fit` goes on from there.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples. NaN is a missing value.

        y : Ignored
            Not used, present for API consistency.

        Returns
        -------
        self : object
            The fitted network.
        """
        return self._fit_samples(X, y, once=False)

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn from one more batch of samples: atoms that it does not use stay as they are.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            A batch of samples; the first one also gives the atoms to start from.

        y : Ignored
            Not used, present for API consistency.

        Returns
        -------
        self : object
            The network.
        """
        return self._fit_samples(X, y, once=True)

    def score(self, X: ArrayLike, y: object = None) -> float:
        """Minus the mean energy of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        y : Ignored
            Not used, present for API consistency.

        Returns
        -------
        score : float
            At most 0; larger is better, between networks of the same weights.
        """
        return -self.energy(X)["total"]

    def recombine(self, max_cosine: float = 0.9) -> Self:
        """A network of one layer whose atoms are all products of profiles that were learned.

        For atoms that are pictures of rank one, each the product of a profile over rows and one
        over columns: a new picture may have a pair of profiles that no sample had.

        Parameters
        ----------
        max_cosine : float, default=0.9
            Of profiles whose absolute cosine is above this, only the most used one is taken.

        Returns
        -------
        network : VectorNetwork
            A new network, fitted, with ``n_row_profiles * n_column_profiles`` atoms.
        """
        check_is_fitted(self)
        shape = feature_shape_of(self.feature_shape, self.n_features_in_)
        if len(shape) != 2:
            raise ValueError(
                f"recombine needs feature_shape=(height, width), got feature_shape={shape}."
            )
        by_use = np.argsort(-self.usage_[self._layers().rows[0]], kind="stable")
        pictures = self.input_atoms_[0][by_use].reshape(-1, *shape)
        left, sizes, right = np.linalg.svd(pictures, full_matrices=False)
        if min(shape) > 1 and (sizes[:, 1] > 1e-5 * sizes[:, 0]).any():
            raise ValueError(
                "recombine needs atoms of rank one, but some are not: fit with constraint="
                "Separable(1)."
            )
        rows, columns = (_distinct(some, max_cosine) for some in (left[:, :, 0], right[:, 0]))
        atoms = np.einsum("ih,jw->ijhw", rows, columns).reshape(-1, self.n_features_in_)
        network = clone(self).set_params(n_atoms=(len(atoms),), widths=None)
        return network._set_library(self, atoms)

    def _set_library(self, other, atoms):
        """Take atoms of one layer, about which nothing is known yet, and features of another."""
        keep_features(self, features_of(other))
        n_atoms = len(atoms)
        self.input_atoms_, self.output_atoms_, self._outputs = [atoms], [], None
        self.frozen_, self.n_samples_seen_ = np.zeros(n_atoms, bool), 0.0
        unused = np.zeros((n_atoms, n_atoms)), np.zeros(atoms.shape)
        self._statistics = Statistics(*unused, data_energy=0.0, penalty=0.0, weight=1.0)
        return self

    def _fit_samples(self, X, y, once):
        X, features = check_fit_data(
            self, X, reset=self._starts_anew(once), ensure_all_finite="allow-nan"
        )
        self._learn(known_somewhere(X), features, once=once, y=y)
        return self


def _distinct(profiles, max_cosine):
    """Profiles of norm 1 that differ enough from all before them."""
    kept = profiles[:1]
    for profile in profiles[1:]:
        if np.abs(kept @ profile).max() <= max_cosine:
            kept = np.concatenate([kept, profile[None]])
    return kept


class VectorNetworkRegressor(RegressorMixin, SupervisedNetwork):
    """TODO."""

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn the atoms from samples and targets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples. NaN is a missing value.

        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets, without missing values.

        Returns
        -------
        self : object
            The fitted network.
        """
        return self._fit_numbers(X, y, once=False)

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from one more batch of samples: inputs of atoms that it does not use stay.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            A batch of samples; the first one also gives the atoms to start from.

        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.

        Returns
        -------
        self : object
            The network.
        """
        return self._fit_numbers(X, y, once=True)

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Targets of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            ``codes of the top layer @ coef_.T + intercept_``.
        """
        outputs = self._outputs_of(X)
        return outputs[:, 0] if self._one_output else outputs

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _fit_numbers(self, X, y, once):
        (X, y), features = check_fit_data(
            self,
            X,
            y=y,
            reset=self._starts_anew(once),
            ensure_all_finite="allow-nan",
            multi_output=True,
            y_numeric=True,
        )
        self._fit_targets(X, y, features, y.reshape(len(y), -1), once)
        self._one_output = y.ndim == 1
        return self


class VectorNetworkClassifier(ClassifierMixin, SupervisedNetwork):
    """TODO."""

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

    def _fit_classes(self, X, y, classes, once):
        anew = self._starts_anew(once)
        (X, y), features = check_fit_data(self, X, y=y, reset=anew, ensure_all_finite="allow-nan")
        check_classification_targets(y)
        known = np.unique(y if classes is None else classes) if anew else self.classes_
        if classes is not None and not np.array_equal(np.unique(classes), known):
            raise ValueError(f"classes is {classes!r}, but in the first call it was {known!r}.")
        unknown = np.setdiff1d(y, known)
        if len(unknown):
            raise ValueError(
                f"y has classes {unknown!r} that are not among {known!r}: name all classes in the "
                "first call of partial_fit."
            )
        if len(known) < 2:
            raise ValueError(
                f"y must have at least 2 classes for a classifier, got 1 class: {known!r}."
            )
        targets = (y[:, None] == known).astype(X.dtype)
        self._fit_targets(X, y, features, targets, once)
        self.classes_ = known
        return self
