"""What the networks share: settings, learning, codes."""

from copy import copy
from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.callback import CallbackSupportMixin
from sklearn.utils import check_array, check_random_state, gen_batches
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from .._validation import FLOAT_DTYPES, check_new_data, keep_features
from ..basis import Constraint
from ..basis._alternation import ONLINE_PASSES, Stream, learn, learn_more, usual_batch
from ..basis._constraints import CONSTRAINTS
from ..basis._passes import run_passes
from ..basis._samples import shuffled
from ..coding import L1
from ..coding._encode import encode
from ._learning import first_components
from ._library import AtomLibraryMixin
from ._settings import (
    check_known,
    input_rules_of,
    layers_of,
    outputs_of,
    problem_of,
    same_sizes,
    sizes_of,
)
from ._settle import settle, twins_folded

# Samples that are coded at a time, so that codes of all layers need not be held for all samples.
ROWS_AT_A_TIME = 8192


class BaseNetwork(
    AtomLibraryMixin,
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
):
    """A network of layers of rank-1 weight atoms; see the classes that users see."""

    _parameter_constraints = {
        "n_atoms": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "widths": [None, Interval(Integral, 1, None, closed="left"), "array-like"],
        "alpha": [Interval(Real, 0, None, closed="left"), "array-like"],
        "top_down": [Interval(Real, 0, None, closed="neither"), "array-like"],
        "top_k": [None, Interval(Integral, 1, None, closed="left")],
        "positive": ["boolean"],
        "constraint": [StrOptions(set(CONSTRAINTS)), Constraint],
        "feature_shape": [None, "array-like"],
        "learning_rule": [StrOptions({"hebb", "block"})],
        "batch_size": [None, Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "forgetting": [Interval(Real, 0, None, closed="left")],
        "output_layers": [StrOptions({"top", "all"})],
        "warm_start": ["boolean"],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_atoms: int | tuple[int, ...] = (128, 64),
        alpha: float | tuple[float, ...] = 0.1,
        *,
        widths: int | tuple[int, ...] | None = None,
        top_down: float | tuple[float, ...] = 0.1,
        top_k: int | None = None,
        positive: bool = False,
        constraint: str | Constraint = "unit_norm",
        feature_shape: tuple[int, ...] | None = None,
        learning_rule: str = "hebb",
        batch_size: int | None = None,
        max_iter: int = 20,
        tol: float = 1e-3,
        forgetting: float = 5.0,
        output_layers: str = "top",
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ):
        self.n_atoms = n_atoms
        self.alpha = alpha
        self.widths = widths
        self.top_down = top_down
        self.top_k = top_k
        self.positive = positive
        self.constraint = constraint
        self.feature_shape = feature_shape
        self.learning_rule = learning_rule
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.tol = tol
        self.forgetting = forgetting
        self.output_layers = output_layers
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Codes of X, inferred from X alone.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples. NaN is a missing value: the codes explain the others.

        Returns
        -------
        codes : ndarray of shape (n_samples, n_codes)
            Those of the top layer, or, with ``output_layers="all"``, of all layers, the one next to
            the data first.
        """
        X = self._check_new(X)
        given = self._given
        return np.concatenate([codes[:, given] for _, codes in self._coded(X)])

    def inverse_transform(self, X: ArrayLike) -> np.ndarray:
        """Samples that codes stand for.

        From codes of the top layer alone, each layer below gets the codes that agree with the one
        above at the least cost.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_codes)
            Codes, as `transform` gives them.

        Returns
        -------
        samples : ndarray of shape (n_samples, n_features)
            What the first layer makes of its codes.
        """
        check_is_fitted(self)
        layers, n_codes = self._layers(), self._n_features_out
        codes = check_array(X, dtype=FLOAT_DTYPES, input_name="X")
        if codes.shape[1] != n_codes:
            raise ValueError(
                f"X has {codes.shape[1]} columns, but there are {n_codes} codes: inverse_transform "
                "takes codes, as transform gives them."
            )
        if self.output_layers == "all":
            return codes[:, layers.rows[0]] @ self.input_atoms_[0]
        for below in range(len(layers) - 2, -1, -1):
            alpha = layers.alphas[below] * layers.counts[below] / layers.counts[below + 1]
            wanted = codes @ self.input_atoms_[below + 1]
            outputs = self.output_atoms_[below].astype(wanted.dtype)
            codes, report = encode(
                wanted, outputs, alpha=alpha, penalty=L1(layers.positive), n_jobs=self.n_jobs
            )
            report.warn()
        return codes @ self.input_atoms_[0]

    def reconstruct(self, X: ArrayLike) -> np.ndarray:
        """What the network makes of X: noise is left out, missing values are filled in.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples. NaN is a missing value.

        Returns
        -------
        samples : ndarray of shape (n_samples, n_features)
            Codes of the first layer times the inputs of its atoms.
        """
        X = self._check_new(X)
        first = self._layers().rows[0]
        inputs = self.input_atoms_[0].astype(X.dtype, copy=False)
        return np.concatenate([codes[:, first] @ inputs for _, codes in self._coded(X)])

    def energy(self, X: ArrayLike) -> dict:
        """The mean energy of X by term and layer, for its codes of least energy.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples. Missing values are left out.

        Returns
        -------
        energy : dict
            ``"error"`` : ndarray of shape (n_layers,), what each layer leaves unexplained of its
            input; ``"penalty"`` : ndarray of shape (n_layers,), what its codes cost; ``"total"`` :
            float, the sum of all, which codes minimise.
        """
        X = self._check_new(X)
        layers = self._layers().without_outputs
        components = self._components(layers, X.dtype)
        errors, costs = np.zeros(len(layers)), np.zeros(len(layers))
        for longer, codes in self._coded(X):
            rest = longer - codes @ components
            squares = np.einsum("ij,ij->j", *2 * [np.where(np.isnan(rest), 0, rest)])
            errors += [squares[columns].sum() / 2 for columns in layers.columns]
            price = layers.penalty.weights * np.abs(codes).sum(axis=0)
            costs += [price[rows].sum() for rows in layers.rows]
        errors, costs = errors / len(X), costs / len(X)
        return {"error": errors, "penalty": costs, "total": float(errors.sum() + costs.sum())}

    def effective_weights(self, X: ArrayLike, layer: int = 0, dense: bool = False):
        """The linear map that a layer is for each sample, ``sum_k code_k output_k input_k'``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        layer : int, default=0
            Which layer; it needs outputs, which the top of a :class:`VectorNetwork` has not.

        dense : bool, default=False
            Whether to form the maps, ``n_samples * width above * width below`` numbers.

        Returns
        -------
        weights : ndarray or tuple
            If dense, (n_samples, width above, width below); else the factors: codes (n_samples,
            n_atoms), outputs (n_atoms, width above) and inputs (n_atoms, width below).
        """
        X = self._check_new(X)
        layers = self._layers()
        if not -len(layers) <= layer < len(layers):
            raise ValueError(f"layer must be one of the {len(layers)} layers, got {layer!r}.")
        layer %= len(layers)
        if layer >= len(self.output_atoms_):
            raise ValueError(
                f"layer={layer} is the top of the network, whose atoms have no outputs: take one "
                "below."
            )
        codes = np.concatenate([codes[:, layers.rows[layer]] for _, codes in self._coded(X)])
        outputs, inputs = self.output_atoms_[layer], self.input_atoms_[layer]
        if not dense:
            return codes, outputs, inputs
        return np.einsum("nk,ko,ki->noi", codes, outputs, inputs, optimize=True)

    @property
    def _n_features_out(self):
        return self._given.stop - self._given.start

    @property
    def _given(self):
        """Which codes of all layers users get."""
        layers = self._layers()
        return slice(0, layers.shape[0]) if self.output_layers == "all" else layers.rows[-1]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.allow_nan = True
        return tags

    def _check_new(self, X):
        X = check_new_data(self, X)
        check_known(X)
        return X

    def _coded(self, X):
        """Yield longer samples and codes of all layers, some rows at a time."""
        layers = self._layers().without_outputs
        components = self._components(layers, X.dtype)
        fold = twins_folded(layers, components)
        for rows in gen_batches(len(X), ROWS_AT_A_TIME):
            longer = layers.longer(X[rows])
            codes, report = settle(layers, longer, components, n_jobs=self.n_jobs)
            report.warn()
            yield longer, codes if fold is None else codes @ fold

    def _starts_anew(self, once):
        return not (hasattr(self, "input_atoms_") and (once or self.warm_start))

    def _components(self, layers, dtype):
        components = layers.components(self.input_atoms_, self.output_atoms_)
        return components.astype(dtype, copy=False)

    def _layers(self):
        """The Layers of the fitted network."""
        n_atoms = [len(inputs) for inputs in self.input_atoms_]
        widths = [inputs.shape[1] for inputs in self.input_atoms_]
        return layers_of(self, n_atoms, widths, self._outputs)

    def _start(self, X, targets, resume, rng):
        """Layers, samples and atoms to begin with, and what is asked of the atoms."""
        if resume:
            layers = self._layers()
            same_sizes(self, layers)
        else:
            outputs = outputs_of(self, X, targets)
            layers = layers_of(self, *sizes_of(self, X.shape[1]), outputs)
        fixed = self.frozen_ if resume else None
        rules = input_rules_of(self, layers, fixed)
        samples = shuffled(layers.longer(X, targets), np.ones(len(X)), rng)
        if resume:
            components = self._components(layers, X.dtype)
        else:
            components = first_components(layers, samples, rng, rules)
        return layers, samples, components, rules, fixed

    def _learn(self, X, features, targets=None, *, once=False, y=None, more=None):
        """Learn from samples: passes until they settle, or one batch of a stream.

        more : function of a network with new atoms that gives more attributes for them.
        """
        resume = not self._starts_anew(once)
        rng = check_random_state(self.random_state)
        layers, samples, components, rules, fixed = self._start(X, targets, resume, rng)
        horizon = np.inf if once else len(X)
        problem = problem_of(self, layers, components, rules, fixed, horizon)

        def learned(iterate):
            inputs, outputs = layers.inputs_and_outputs(iterate.atoms)
            known = {**features, "input_atoms_": inputs, "output_atoms_": outputs}
            known["_outputs"] = layers.outputs
            if more is None:
                return known
            probe = copy(self)
            vars(probe).update(known)
            return known | more(probe)

        def keep(iterate, statistics, seen):
            known = learned(iterate)
            keep_features(self, features)
            vars(self).update(known)
            self._statistics, self.n_samples_seen_ = statistics, float(seen)
            self.report_ = iterate.report
            if not resume:
                self.frozen_ = np.zeros(layers.shape[0], bool)

        def keep_history(iterate, history):
            keep(iterate, iterate.statistics, len(X))
            self.objective_history_, self.n_iter_ = np.array(history), len(history)

        if once:
            before = (self._statistics, self.n_samples_seen_) if resume else ()
            stream = Stream(self.forgetting, *before)
            iterate = learn_more(problem, samples, components, stream)
            keep(iterate, stream.statistics, stream.seen)
            iterate.report.warn()
        else:
            batches = samples.batches(self.batch_size or usual_batch(layers.shape[0]))
            n_online = self.max_iter if problem.hebb else 0 if resume else ONLINE_PASSES
            passes = learn(problem, samples, batches, components, self.forgetting, n_online)
            run_passes(self, passes, (X, y, None), learned, keep_history)
