"""WTASymbolEncoder: categorical symbols that many tasks need, learned by winner-take-all heads."""

import warnings
from functools import partial
from numbers import Integral, Real
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, _fit_context
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import (
    _check_feature_names_in,
    _check_sample_weight,
    check_is_fitted,
    validate_data,
)

from .._one_hot import one_hot
from .._validation import FLOAT_DTYPES, check_classes_stay, check_fit_data, keep_features, outside
from ..backend import run_chunks, single_threaded_blas
from ._fitting import (
    batch_size_of,
    prepared,
    read_out,
    relabelled,
    search_of,
    symbols_to_units,
    units_to_symbols,
)
from ._progress import Progress
from ._starts import RELEARNED, best_of, search_heads
from ._targets import RANK_TOLERANCE, dense_target, rank_of, targets_of
from ._training import Adam, Samples, run_epoch

ROWS_AT_A_TIME = 4096


class WTASymbolEncoder(CallbackSupportMixin, ClassifierMixin, TransformerMixin, BaseEstimator):
    """Learn categorical symbols that many binary tasks have in common.

    An encoder network scores the units of several heads; in each head the unit of largest score
    wins, and the winners, as one-hot codes, are all that a linear read-out sees of a sample when it
    predicts the tasks::

        P(task t) = sigmoid(intercept[t] + sum over heads h of task_weights[winner of h, t])

    If tasks are functions of this kind of categorical factors, are solved perfectly, and depend on
    the factors in enough independent ways (the sum of all categories less one for each factor),
    then symbols equal factors, up to the numbering of heads and of units [1]_.

    Learning goes in three steps. A network without heads learns the tasks first: it tells how well
    they can be predicted at all. Heads are then read off its logits: in these, the categories of
    independent factors are the directions along which the third moment is largest (`init`). Then
    heads and read-out are trained together on the cross-entropy of tasks, with a straight-through
    Gumbel-softmax in the gradient. Where heads lose more than 1 % of what the network without them
    explains, the pair of heads that leaves most unexplained is built anew and heads are also
    started at random, two starts side by side, until one is solved or `max_restarts` is reached.
    Labels are noisy: if there are two for each unit, or more, symbols are then found anew from all
    labels of a sample together, and heads learn once more from these. In the end the read-out is
    fitted by itself, which is convex, in float64.

    Features are scaled to mean zero and variance one within.

    Read more in the :ref:`User Guide <symbols>`.

    Parameters
    ----------
    head_sizes : "auto" or tuple of int, default="auto"
        Units of each head, at least 2. More units than categories and more heads than factors do no
        harm: what is not needed is not used. "auto" takes the factors that stand out in what the
        network without heads says, or, where none does, heads of two units.

    hidden_layer_sizes : tuple of int, default=(256, 256)
        Units of the encoder's hidden layers, with rectifiers. May be empty: scores are then linear.

    init : {"moments", "random"}, default="moments"
        Where heads start: "moments" reads them off, "random" makes two random starts side by side,
        as in [1]_, with five times the learning rate.

    temperature : float, default=5.0
        Of the softmax that stands for the choice of a unit in gradients, positive. High
        temperatures let all units learn.

    learning_rate : float, default=0.002
        The step of Adam at the beginning of each training; where the loss of samples held out does
        not fall for `n_iter_no_change` epochs, a quarter of it, three times.

    alpha : float, default=1e-9
        Weight of the squares of `task_weights_` in the final fit of the read-out, positive. Small
        values only keep weights of tasks finite that are solved without error.

    batch_size : int, default=None
        Samples of a gradient step. None is a 16th of the samples, 16 to 256. Equal samples are one
        of more weight; where there are few different ones, an epoch passes them several times, so
        that it has 16 steps.

    max_iter : int, default=100
        The most epochs of each training.

    tol : float, default=1e-4
        A loss falls if it does by this part of itself.

    n_iter_no_change : int, default=5
        Epochs without a falling loss after which the learning rate is lowered.

    validation_fraction : float, default=0.1
        The part of the samples that is held out, in [0, 1). Their loss ends training, chooses among
        starts and says whether heads are solved. Of a sample that is frequent, or has a weight of 2
        or more, so many repetitions are held out. At 0, the samples themselves are taken.

    max_restarts : int, default=4
        How many more starts there are at most if the first is not solved.

    merge_equivalent : bool, default=False
        Whether units of a head become one symbol if the read-out hardly tells them apart, within a
        tenth of the mean distance of the head's units. Unused units join others too, and all
        of a head that no task needs, so that symbols are as few as can be.

    sparse_output : bool, default=False
        Whether `transform` gives a CSR array.

    n_jobs : int, default=None
        Threads for starts side by side and for new samples. None is 1, unless in a
        ``joblib.parallel_config`` context, -1 all cores. Results are the same for any number.

    random_state : int, RandomState or None, default=None
        Samples held out, start values, order of samples and noise.

    Attributes
    ----------
    head_sizes_ : tuple of int
        The number of symbols of each head.

    task_weights_ : ndarray of shape (n_symbols, n_tasks)
        What each symbol of each head, in the order of the columns of `transform`, adds to the logit
        of each task. They may be edited: predictions follow.

    task_intercept_ : ndarray of shape (n_tasks,)
        What is added for all samples.

    usage_ : ndarray of shape (n_symbols,)
        The share of the samples of the last `fit` that have each symbol; zero for unused ones.

    classes_ : ndarray or list of ndarray
        The classes of y, for each column if there are several; numbers of columns if they are
        binary.

    loss_, reference_loss_ : float
        The cross-entropy of tasks, in nats, of samples held out: with heads and without.

    lost_ : float
        The share of what the network without heads explains that heads lose, where the best
        constant explains nothing. Negative if heads do better, 0 if neither explains anything.

    n_restarts_ : int
        Starts after the first one.

    history_ : list of dict
        For each network that was trained: ``"start"``, what it started from, and ``"losses"``, the
        losses of samples held out, at the start and after each epoch.

    n_iter_ : int
        Epochs of the network without heads and of the best start.

    n_features_in_ : int
        Number of features seen during fit.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit, if they are all strings.

    See Also
    --------
    VariationalBasisLearner : Codes that are numbers, without a target.

    Notes
    -----
    y is one of: classes, of which each is a task, or two together are one; several columns of 0 and
    1, each a task; probabilities in [0, 1], soft targets; several columns of classes. An epoch
    costs 6 multiplications for each weight and sample; directions are found by 10,000 samples, at
    (number of tasks)^2 and about (rank)^2 a sample.

    Factors need not be independent for training, but for "moments" to find them at once they should
    be nearly so.

    References
    ----------
    .. [1] "Winner-Take-All bottlenecks enforce disentangled symbolic representations in multi-task
       learning", arXiv 2605.22472, 2026. The start from moments, repairs, sizes and rates are ours.

    Examples
    --------
    >>> from skatoms import WTASymbolEncoder
    >>> from skatoms.datasets import make_entangled_factors, make_linear_tasks
    >>> from skatoms.metrics import structural_permutation_score
    >>> data = make_entangled_factors(2000, n_factors=2, n_categories=4, random_state=0)
    >>> tasks = make_linear_tasks(data.factors, n_tasks=20, random_state=0)
    >>> encoder = WTASymbolEncoder(random_state=0).fit(data.data, tasks.target)
    >>> encoder.head_sizes_
    (4, 4)
    >>> structural_permutation_score(data.factors, encoder.symbols(data.data))
    1.0
    """

    _parameter_constraints: dict = {
        "head_sizes": [StrOptions({"auto"}), "array-like"],
        "hidden_layer_sizes": ["array-like"],
        "init": [StrOptions({"moments", "random"})],
        "temperature": [Interval(Real, 0, None, closed="neither")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "batch_size": [Interval(Integral, 1, None, closed="left"), None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "validation_fraction": [Interval(Real, 0, 1, closed="left")],
        "max_restarts": [Interval(Integral, 0, None, closed="left")],
        "merge_equivalent": ["boolean"],
        "sparse_output": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        head_sizes: str | tuple[int, ...] = "auto",
        hidden_layer_sizes: tuple[int, ...] = (256, 256),
        *,
        init: str = "moments",
        temperature: float = 5.0,
        learning_rate: float = 2e-3,
        alpha: float = 1e-9,
        batch_size: int | None = None,
        max_iter: int = 100,
        tol: float = 1e-4,
        n_iter_no_change: int = 5,
        validation_fraction: float = 0.1,
        max_restarts: int = 4,
        merge_equivalent: bool = False,
        sparse_output: bool = False,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ):
        self.head_sizes = head_sizes
        self.hidden_layer_sizes = hidden_layer_sizes
        self.init = init
        self.temperature = temperature
        self.learning_rate = learning_rate
        self.alpha = alpha
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.validation_fraction = validation_fraction
        self.max_restarts = max_restarts
        self.merge_equivalent = merge_equivalent
        self.sparse_output = sparse_output
        self.n_jobs = n_jobs
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn symbols from samples and their tasks.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        y : array-like or CSR of shape (n_samples,) or (n_samples, n_tasks)
            Classes, 0 and 1, or probabilities: see the notes of the class.

        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, not negative. A weight means as many repetitions.

        Returns
        -------
        self : object
            The fitted encoder.
        """
        self._fit(X, y, sample_weight)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Train heads and read-out for one more epoch, on a batch.

        The first batch is learned as `fit` does and gives the number and sizes of heads.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            A batch of samples.

        y : array-like or CSR of shape (n_samples,) or (n_samples, n_tasks)
            Classes, 0 and 1, or probabilities, as in the first batch.

        classes : array-like of shape (n_classes,), default=None
            All classes that there are, for a y of one dimension; needed in the first call if its
            batch has not all.

        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        self : object
            The encoder.
        """
        if hasattr(self, "_network"):
            self._learn_more(X, y, classes, sample_weight)
        else:
            self._fit(X, y, sample_weight, classes)
        return self

    def symbols(self, X: ArrayLike) -> np.ndarray:
        """The symbol that each head gives to each sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        symbols : ndarray of int of shape (n_samples, n_heads)
            Numbered from 0 in each head.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=FLOAT_DTYPES, order="C")
        parts = run_chunks(
            lambda start, stop: self._network.symbols(self._scaling(X[start:stop])),
            len(X),
            ROWS_AT_A_TIME,
            self.n_jobs,
        )
        return relabelled(np.concatenate(parts), self._network.starts, self._labels)

    def transform(self, X: ArrayLike) -> np.ndarray | csr_array:
        """Symbols as one-hot codes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        codes : ndarray or csr_array of shape (n_samples, n_symbols)
            A column for each symbol of each head; one in each head is 1.
        """
        symbols, sizes = self.symbols(X), self.head_sizes_
        dtype = np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64
        if not self.sparse_output:
            return one_hot(symbols, sizes, dtype)
        n_heads = symbols.shape[1]
        rows = np.arange(0, n_heads * len(symbols) + 1, n_heads)
        columns = (symbols + np.cumsum(sizes) - sizes).ravel()
        return csr_array((np.ones(len(columns), dtype), columns, rows), (len(symbols), sum(sizes)))

    def predict_proba(self, X: ArrayLike) -> np.ndarray | list:
        """Probabilities of classes or of tasks.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        probabilities : ndarray, or list of ndarray for several columns of classes
            (n_samples, n_classes) for classes, where those of more than two are divided by their
            sum; (n_samples, n_tasks) for several columns of 0 and 1 or of probabilities.
        """
        probabilities = self._probabilities(X)
        return self._targets.probabilities(probabilities)

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The most probable y.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Classes; 0 or 1 for each task.
        """
        probabilities = self._probabilities(X)
        return self._targets.decide(probabilities)

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """How good predictions are.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            What is true.

        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        score : float
            The share of samples whose class, or all of whose 0 and 1, are predicted; for several
            columns of classes the mean over columns; for probabilities one less the mean absolute
            error. At most 1.
        """
        probabilities = self._probabilities(X)
        y = self._targets.checked(dense_target(y))
        weights = _check_sample_weight(sample_weight, y)
        if self._targets.soft:
            right = 1 - np.abs(probabilities - y.reshape(probabilities.shape)).mean(axis=1)
        else:
            right = self._targets.decide(probabilities) == y
            if not self._targets.single:
                right = right.all(axis=1) if self._targets.binary else right.mean(axis=1)
        return float(np.average(right, weights=weights))

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """Names of the columns of `transform`, such as ``symbol2=4``.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Checked against the names seen in the fit, and not used.

        Returns
        -------
        names : ndarray of str of shape (n_symbols,)
            Head and symbol, both from 0.
        """
        check_is_fitted(self)
        _check_feature_names_in(self, input_features)
        sizes = enumerate(self.head_sizes_)
        names = [f"symbol{head}={unit}" for head, size in sizes for unit in range(size)]
        return np.array(names, dtype=object)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _probabilities(self, X):
        codes = one_hot(self.symbols(X), self.head_sizes_)
        return expit(codes @ self.task_weights_ + self.task_intercept_)

    def _fit(self, X, y, sample_weight, classes=None):
        (X, y), features = check_fit_data(self, X, y=y, multi_output=True)
        y = dense_target(y)
        targets = targets_of(y, classes)
        weights = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        rng = check_random_state(self.random_state)
        samples, scaling = prepared(X, targets.encode(y), weights, rng)
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        progress = Progress(self, {"X": X, "y": y, "metadata": metadata})

        def learned(network):
            """The fitted attributes that a network gives."""
            found = read_out(network, samples, self.alpha, self.merge_equivalent)
            more = {"_network": network, "_targets": targets, "_scaling": scaling}
            return {**features, **found, **more, "classes_": targets.classes}

        with single_threaded_blas():
            search, training = search_of(self, samples, rng, progress)
            report = partial(progress.network, learned=learned)
            starts, solved = search_heads(search, self.init, self.max_restarts, rng, report)
            best = best_of(starts)
            known = learned(best.model)
            symbols_to_units(best.model, known)
        keep_features(self, features)
        vars(self).update(known)
        self._optimizer = Adam(best.model.values)
        self.n_restarts_ = sum(start.kind != RELEARNED for start in starts) - 1
        self.n_iter_ = len(training.losses) + len(best.training.losses) - 2
        self.reference_loss_, self.loss_ = training.loss, best.training.loss
        self.lost_ = search.lost(best.training.loss)
        self.history_ = [
            {"start": "network without heads", "losses": np.array(training.losses)},
            *({"start": start.kind, "losses": np.array(start.training.losses)} for start in starts),
        ]
        progress.close()
        self._warn(solved, samples)

    def _learn_more(self, X, y, classes, sample_weight):
        (X, y), _ = check_fit_data(self, X, y=y, multi_output=True, reset=False)
        y = dense_target(y)
        check_classes_stay(classes, self.classes_)
        targets = self._targets.encode(self._targets.checked(y)).astype(np.float32)
        weights = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        samples = Samples(self._scaling(X), targets, weights.astype(np.float32))
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        rate, size = self.learning_rate, batch_size_of(self, len(X))
        with single_threaded_blas():
            run_epoch(self._network, samples, size, rate, self._optimizer, rng)
        self.task_weights_, self.task_intercept_ = units_to_symbols(
            self._network, self._labels, self.head_sizes_
        )

    def _warn(self, solved, samples):
        n_tasks = self._targets.n_tasks
        needed = int((self.usage_ > 0).sum()) - len(self.head_sizes_)
        rank = int(np.linalg.matrix_rank(self.task_weights_, rtol=RANK_TOLERANCE))
        if self._targets.soft:
            rank = min(rank, rank_of(samples.targets))
        if n_tasks == 1:
            warnings.warn(
                "y is one task, which does not say what the symbols are: they are not "
                "identifiable. Give more tasks to learn factors.",
                UserWarning,
                stacklevel=outside(),
            )
        elif rank < needed:
            warnings.warn(
                f"The tasks depend on symbols in {rank} independent ways, but to tell all of them "
                f"apart they would have to in {needed}, the number of symbols in use less one for "
                "each head: give more tasks or smaller head_sizes.",
                UserWarning,
                stacklevel=outside(),
            )
        if not solved:
            warnings.warn(
                f"Symbols lose {self.lost_:.1%} of what a network without heads explains, after "
                f"{self.n_restarts_} restarts: increase max_restarts or max_iter, or give more or "
                "larger heads; or tasks are no function of a few independent categories.",
                ConvergenceWarning,
                stacklevel=outside(),
            )
