"""VectorNetworkRegressor: numbers from codes of a network."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin, _fit_context

from .._validation import check_fit_data
from ._supervised import SupervisedNetwork


class VectorNetworkRegressor(RegressorMixin, SupervisedNetwork):
    """Predict numbers from codes of a network of rank-1 weight atoms.

    While it learns, the layers of a :class:`VectorNetwork` also explain the target at the top: with
    its outputs u and weight c, ``c / 2 |y - U'g|^2`` is part of the energy. Codes of new samples
    are inferred without a target and so are not quite those it has learned with. Predictions are
    therefore fitted, by least squares with a little ridge, to codes that were inferred from the
    training samples alone: `coef_` and `intercept_` are the best that such codes allow. All layers
    have a say in them.

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
    VectorNetworkClassifier : The same for classes.

    References
    ----------
    .. [1] "Learning Compositional Latent Structure with Vector Networks", arXiv 2605.28007, 2026.
       Weights of terms, norms, steps and start values are ours.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skatoms import VectorNetworkRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> network = VectorNetworkRegressor(16, alpha=0.02, tol=1e-2, random_state=0)
    >>> network = network.fit(X[:300], y[:300])
    >>> bool(network.score(X[300:], y[300:]) > 0.4)
    True
    """

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
            ``codes of all layers @ coef_.T + intercept_``.
        """
        outputs = self._outputs_of(X)
        return outputs[:, 0] if self._one_output else outputs

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The coefficient of determination of what is predicted.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            True targets.

        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        score : float
            At most 1; larger is better.
        """
        return super().score(X, y, sample_weight)

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
        known = {"_one_output": y.ndim == 1}
        self._fit_targets(X, y, features, y.reshape(len(y), -1), once, known)
        return self

    def _merge_outputs(self, ours, theirs, rows):
        super()._merge_outputs(ours, theirs, rows)
        self._one_output = ours._one_output
