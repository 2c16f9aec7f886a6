"""VectorNetwork: layers of rank-1 weight atoms."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context, clone
from sklearn.utils.validation import check_is_fitted

from .._validation import check_fit_data, check_number, features_of, keep_features
from ..basis._settings import feature_shape_of
from ..basis._statistics import Statistics
from ._base import BaseNetwork
from ._settings import check_known


class VectorNetwork(BaseNetwork):
    """Learn layers of rank-1 weight atoms, of which each sample uses a few.

    Atom k of a layer has an input s_k, what it explains of the layer below, and an output u_k, what
    it says to the layer above: together they are the weight ``u_k s_k'`` of rank one. Codes g of a
    sample x are those of least energy [1]_ ::

        1/2 |x - S_1'g_1|^2 + alpha_1 |g_1|_1
        + sum over layers l > 1 of
          top_down_(l-1) (1/2 |U_(l-1)'g_(l-1) - S_l'g_l|^2 + alpha_l |g_l|_1)

    where S_l and U_l have the inputs and the outputs of the atoms of layer l as rows. Layers above
    explain what those below say, and what they expect comes down to them. The energy is convex in
    the codes of all layers together, so that these are solved for at once, to a certified residual,
    and do not depend on a start. Inputs learn to lower its mean. Outputs within the network stay
    the orthogonal directions that they are drawn as: if they learned too, all would become alike,
    and there were nothing left to explain.

    Atoms are addressable: see who explains what (`usage_`, `responsibility`), take a part of them
    (`select_atoms`, `prune`), join two networks (`merge`), protect some (`freeze`), or combine
    profiles of pictures anew (`recombine`). Learning does not touch atoms that are not used.

    Read more in the :ref:`User Guide <vector_network>`.

    Parameters
    ----------
    n_atoms : int or tuple of int, default=(128, 64)
        Atoms of each layer, the one next to the data first.

    alpha : float or tuple of float, default=0.1
        Weight of the absolute values of codes, not negative, for all layers or for each. In the
        unit of what the layer explains: an input of a norm of at most alpha has code zero.

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
        The outputs of the atoms of each layer, but the top.

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
    VectorNetworkRegressor : The same with a numeric target at the top.
    VectorNetworkClassifier : The same with classes at the top.
    VariationalBasisLearner : One layer, with any penalty, regulariser and coupling.

    Notes
    -----
    With one layer this is dictionary learning. A pass over n samples costs about ``n * (n_atoms *
    (n_features + s) + s ** 3)`` operations for s non-zeros a sample, where n_atoms and s count all
    layers, and a batch ``n_used ** 2 * (n_features + widths)`` more.

    References
    ----------
    .. [1] "Learning Compositional Latent Structure with Vector Networks", arXiv 2605.28007, 2026.
       Weights of terms, norms, steps and start values are ours.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skatoms import VectorNetwork
    >>> X = load_digits().data / 16
    >>> network = VectorNetwork((64, 32), alpha=0.1, tol=1e-2, random_state=0).fit(X)
    >>> network.transform(X).shape
    (1797, 32)
    >>> X[0, 20:40] = float("nan")
    >>> bool(abs(network.reconstruct(X[:1]) - load_digits().data[:1] / 16).max() < 0.8)
    True
    """

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
            A new network, fitted, with ``n_row_profiles * n_column_profiles`` atoms; twice as many
            if codes must not be negative and profiles are, so that both signs are there.
        """
        check_is_fitted(self)
        check_number("max_cosine", max_cosine, least=0, most=1)
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
        if self.positive and min(rows.min(), columns.min()) < -1e-9:
            atoms = np.concatenate([atoms, -atoms])
        alpha = self._layers().alphas[0]
        network = clone(self).set_params(n_atoms=(len(atoms),), alpha=alpha)
        network.set_params(widths=None, top_down=0.1, top_k=None)
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
        check_known(X)
        self._learn(X, features, once=once, y=y)
        return self


def _distinct(profiles, max_cosine):
    """Profiles of norm 1, their largest entry positive, that differ enough from all before them."""
    largest = np.abs(profiles).argmax(axis=1)[:, None]
    profiles = profiles * np.sign(np.take_along_axis(profiles, largest, axis=1))
    kept = profiles[:1]
    for profile in profiles[1:]:
        if np.abs(kept @ profile).max() <= max_cosine:
            kept = np.concatenate([kept, profile[None]])
    return kept
