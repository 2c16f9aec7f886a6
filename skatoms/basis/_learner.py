"""VariationalBasisLearner: a basis of atoms, each sample a sparse combination of them."""

import warnings
from numbers import Integral, Real
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.callback import CallbackSupportMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
)

from .._validation import FLOAT_DTYPES, check_fit_data, check_new_data, keep_features, outside
from ..coding import Penalty
from ..coding._encode import Ties
from ..coding._penalties import PENALTIES
from ._alternation import ONLINE_PASSES, Stream, learn, learn_more, usual_batch
from ._constraints import CONSTRAINTS, Constraint
from ._couplings import COUPLINGS, Coupling, sequence_labels
from ._passes import run_passes
from ._regularizers import REGULARIZERS, Regularizer
from ._settings import first_atoms, going_on, problem_of, samples_of


class VariationalBasisLearner(
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    BaseEstimator,
):
    """Learn a basis in which every sample is a combination of few atoms.

    Atoms C, one a row, and codes a minimise ::

        mean over samples x of [1/2 |x - C'a|^2 + alpha R(a)]
        + coupling + regularizer_weight Omega(C)

    under a constraint on the atoms, by alternating minimisation. The mean is a weighted one, and
    the coupling, if there is one, ties the codes of samples to each other. The codes of a batch of
    samples are solved first, then the atoms move; neither step can raise the objective of all
    samples. Before that, where there is more than one batch, two passes of online dictionary
    learning [1]_, which forgets what it learned with earlier atoms, come most of the way.

    Every part has a name for its usual form, and an object of :mod:`skatoms.coding` or
    :mod:`skatoms.basis` for the others; all of them may be combined, but for a few constraints that
    have no closed form with a regulariser, which is said.

    Read more in the :ref:`User Guide <variational_basis>`.

    Parameters
    ----------
    n_components : int, default=None
        Number of atoms. None is the number of features. May be larger than that.

    alpha : float, default=1.0
        Weight of the penalty, not negative. With l1 it is in the unit of the data: a sample with a
        Euclidean norm of at most alpha has code zero. Larger values give sparser codes.

    penalty : {"l1", "elastic_net", "ridge", "l0"} or Penalty, default="l1"
        R, what codes cost: :class:`~skatoms.coding.L1`, :class:`~skatoms.coding.ElasticNet`,
        :class:`~skatoms.coding.Ridge`, :class:`~skatoms.coding.L0` or an object, such as
        ``GroupL1(groups)``, ``TopK(5)`` or ``L1(weights=w)``.

    positive : bool, default=False
        Whether codes must not be negative. An object has a parameter of its own for that.

    coupling : {"temporal", "graph"} or Coupling, default=None
        Ties the codes of samples: :class:`~skatoms.basis.Temporal` those that follow each other,
        :class:`~skatoms.basis.GraphLaplacian` those that are neighbours. All samples are then one
        batch in `fit`, and those of a call in `partial_fit`. The objective has the coupling divided
        by the weight of all samples.

    regularizer : {"energy", "smooth", "tv", "l1", "orthogonal", "coherence"} or Regularizer, \
default=None
        Omega, what atoms cost: :class:`~skatoms.basis.Energy`, :class:`~skatoms.basis.Smoothness`,
        :class:`~skatoms.basis.TotalVariation`, :class:`~skatoms.basis.AbsoluteValues`,
        :class:`~skatoms.basis.Orthogonality`, :class:`~skatoms.basis.Coherence` or an object. With
        one, atoms that no sample uses are only put elsewhere during the online passes.

    regularizer_weight : float, default=1.0
        Weight of the regulariser against the mean over samples, not negative.

    constraint : {"unit_norm", "unit_ball", "non_negative", "separable"} or Constraint, \
default="unit_norm"
        What every atom satisfies at all times: :class:`~skatoms.basis.UnitNorm`,
        :class:`~skatoms.basis.UnitBall`, :class:`~skatoms.basis.NonNegative`,
        :class:`~skatoms.basis.Separable` or an object, such as ``LinearAdmissible(matrix)``.

    feature_shape : tuple of int, default=None
        The grid that the features are on, such as (height, width), for regularisers and constraints
        that know neighbours. None is a line; one length may be -1, which is what is left.

    fixed_atoms : array-like of bool of shape (n_components,), default=None
        Which atoms of `init` stay as they are given, in norm and all.

    init : "samples" or array-like of shape (n_given, n_features), default="samples"
        Atoms to start from: distinct samples drawn at random, or those given, scaled to unit norm
        and brought into the constraint. If fewer than `n_components` are given, the others are
        drawn.

    batch_size : int, default=None
        Distinct samples whose codes are renewed before the atoms move. Small batches make the most
        of the first passes, large ones cost less a pass. None is twice the number of atoms, but at
        least 512.

    max_iter : int, default=100
        Passes over the samples in `fit`.

    tol : float, default=1e-4
        `fit` stops when a pass lowers the objective by less than this part of it.

    forgetting : float, default=5.0
        How soon online learning, in `partial_fit` and in the first passes of `fit`, forgets what
        it saw with earlier atoms. At step t of equal batches, the weight of all steps before is
        multiplied by ``(1 - 1 / t) ** forgetting``, so that the last ``t / (1 + forgetting)`` of
        them or so count; batches of unequal weight count by it. 0 keeps everything.

    warm_start : bool, default=False
        Whether `fit` starts from the atoms of the fit before, without online passes.

    n_jobs : int, default=None
        Threads. None is 1 unless in a :obj:`joblib.parallel_config` context, -1 is all cores.
        Results do not depend on it.

    random_state : int, RandomState instance or None, default=None
        Draws the atoms to start from and the batches. Pass an int for reproducible results.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The atoms, in the precision of the data.

    objective_history_ : ndarray of shape (n_passes,)
        The objective at the end of each pass of the last `fit`, with the codes that the pass had
        found. After the online passes it never rises.

    n_iter_ : int
        Passes of the last `fit`.

    n_samples_seen_ : float
        Weight of the samples of the last `fit`, and of those that `partial_fit` has added since.

    n_features_in_ : int
        Number of features seen during fit.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit, if they are all strings.

    See Also
    --------
    skatoms.coding.sparse_code : Codes for given atoms, by any solver.
    sklearn.decomposition.MiniBatchDictionaryLearning : Online learning of the same model.

    Notes
    -----
    Missing values, as NaN, are left out of the error; atoms and codes explain the others. Codes of
    samples with missing values take some tens of rounds instead of one.

    A pass over n samples costs about ``n * (n_components * n_features + rounds * n_components * s
    + s ** 3)`` operations for s non-zeros a sample, and each batch ``n_components ** 2 *
    n_features`` more. Memory beside the data: the non-zeros of the codes, and
    ``n_components * (n_components + n_features)`` sums in float64.

    The result depends on the seed and on the values of the samples, not on their order. Equal
    samples are taken as one with the sum of their weights.

    References
    ----------
    .. [1] Mairal, Bach, Ponce and Sapiro, "Online learning for matrix factorization and sparse
       coding", Journal of Machine Learning Research 11, 2010.
    .. [2] "Data-Driven Variational Basis Learning Beyond Neural Networks", arXiv 2605.05221, 2026.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skatoms import VariationalBasisLearner
    >>> X = load_digits().data / 16
    >>> learner = VariationalBasisLearner(32, alpha=0.3, max_iter=20, tol=1e-3, random_state=0)
    >>> codes = learner.fit_transform(X)
    >>> codes.shape
    (1797, 32)
    >>> learner.inverse_transform(codes).shape
    (1797, 64)
    """

    _parameter_constraints: dict = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "penalty": [StrOptions(set(PENALTIES)), Penalty],
        "positive": ["boolean"],
        "coupling": [StrOptions(set(COUPLINGS)), Coupling, None],
        "regularizer": [StrOptions(set(REGULARIZERS)), Regularizer, None],
        "regularizer_weight": [Interval(Real, 0, None, closed="left")],
        "constraint": [StrOptions(set(CONSTRAINTS)), Constraint],
        "feature_shape": [Interval(Integral, 1, None, closed="left"), "array-like", None],
        "fixed_atoms": ["array-like", None],
        "init": [StrOptions({"samples"}), "array-like"],
        "batch_size": [Interval(Integral, 1, None, closed="left"), None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "forgetting": [Interval(Real, 0, None, closed="left")],
        "warm_start": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int | None = None,
        alpha: float = 1.0,
        *,
        penalty: str | Penalty = "l1",
        positive: bool = False,
        coupling: str | Coupling | None = None,
        regularizer: str | Regularizer | None = None,
        regularizer_weight: float = 1.0,
        constraint: str | Constraint = "unit_norm",
        feature_shape: tuple[int, ...] | None = None,
        fixed_atoms: ArrayLike | None = None,
        init: str | ArrayLike = "samples",
        batch_size: int | None = None,
        max_iter: int = 100,
        tol: float = 1e-4,
        forgetting: float = 5.0,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ):
        self.n_components = n_components
        self.alpha = alpha
        self.penalty = penalty
        self.positive = positive
        self.coupling = coupling
        self.regularizer = regularizer
        self.regularizer_weight = regularizer_weight
        self.constraint = constraint
        self.feature_shape = feature_shape
        self.fixed_atoms = fixed_atoms
        self.init = init
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.tol = tol
        self.forgetting = forgetting
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: ArrayLike,
        y: object = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        lengths: ArrayLike | None = None,
    ) -> Self:
        """Learn the atoms from X.

        An interrupt (Ctrl-C) leaves the atoms of the last finished pass; with `warm_start=True`
        another `fit` goes on from there.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, dense. NaN is a missing value. float32 and float64 are computed in their own
            precision.

        y : Ignored
            Not used, present for API consistency.

        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, not negative. None weighs all by 1.

        groups : array-like of shape (n_samples,), default=None
            For a temporal coupling: a label of the sequence that each sample belongs to. Samples
            that follow each other are tied if they have the same label. None is one sequence.

        lengths : array-like of int, default=None
            The same, said by the number of samples of each sequence, one after the other.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        rng = check_random_state(self.random_state)
        resume = self.warm_start and hasattr(self, "components_")
        X, features = check_fit_data(self, X, reset=not resume, ensure_all_finite="allow-nan")
        sequences = sequence_labels(len(X), groups, lengths)
        samples = samples_of(self, X, sample_weight, sequences, rng)
        atoms = self._atoms_before(X) if resume else first_atoms(self, samples, rng)
        problem = problem_of(self, *atoms.shape)
        batch_size = self.batch_size or usual_batch(len(atoms))
        batches = samples.batches(len(samples) if problem.coupling else batch_size)
        n_online = 0 if resume or len(batches) == 1 else ONLINE_PASSES
        passes = learn(problem, samples, batches, atoms, self.forgetting, n_online)

        def keep(iterate, history):
            self._keep(features, iterate, iterate.statistics, samples.weights.sum())
            self._known = _known(problem, samples, iterate)
            self.objective_history_ = np.array(history)
            self.n_iter_ = len(history)

        def learned(iterate):
            return {**features, "components_": iterate.atoms}

        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        run_passes(self, passes, (X, y, metadata), learned, keep)
        if not self._statistics.codes_codes.any():
            known = np.nan_to_num(X)
            warnings.warn(
                f"alpha={self.alpha} leaves all codes at zero, so nothing was learned: take a "
                "smaller one. With the l1 penalty it has to be well below the largest norm of a "
                f"sample, {np.sqrt(np.einsum('ij,ij->i', known, known).max()):.3g}.",
                UserWarning,
                stacklevel=outside(),
            )
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self,
        X: ArrayLike,
        y: object = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        lengths: ArrayLike | None = None,
    ) -> Self:
        """Learn from one more batch of samples.

        The batch is coded, its sums are added to those of the batches before, which are forgotten
        by and by, and the atoms move once.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            A batch of samples; the first one also gives the atoms to start from.

        y : Ignored
            Not used, present for API consistency.

        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, not negative. None weighs all by 1.

        groups : array-like of shape (n_samples,), default=None
            For a temporal coupling: a label of the sequence that each sample belongs to. Samples
            that follow each other are tied if they have the same label. None is one sequence.

        lengths : array-like of int, default=None
            The same, said by the number of samples of each sequence, one after the other.

        Returns
        -------
        self : object
            The estimator.
        """
        rng = check_random_state(self.random_state)
        fitted = hasattr(self, "components_")
        X, features = check_fit_data(self, X, reset=not fitted, ensure_all_finite="allow-nan")
        sequences = sequence_labels(len(X), groups, lengths)
        samples = samples_of(self, X, sample_weight, sequences, rng, may_be_zero=fitted)
        atoms = self._atoms_before(X) if fitted else first_atoms(self, samples, rng)
        problem = problem_of(self, *atoms.shape)
        before = (self._statistics, self.n_samples_seen_) if fitted else ()
        stream = Stream(self.forgetting, *before)
        iterate = learn_more(problem, samples, atoms, stream)
        self._keep(features, iterate, stream.statistics, stream.seen)
        self._known = _known(problem, samples, iterate)
        iterate.report.warn()
        return self

    def fit_transform(
        self,
        X: ArrayLike,
        y: object = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        lengths: ArrayLike | None = None,
    ) -> np.ndarray:
        """Learn the atoms from X and return its codes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        y : Ignored
            Not used, present for API consistency.

        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples in `fit`.

        groups, lengths : array-like, default=None
            Where sequences end, as in `fit`.

        Returns
        -------
        codes : ndarray of shape (n_samples, n_components)
            What `transform` gives after `fit`: with a temporal coupling, codes are tied only if
            `groups` or `lengths` are given.
        """
        self.fit(X, y, sample_weight=sample_weight, groups=groups, lengths=lengths)
        return self.transform(X, groups=groups, lengths=lengths)

    def transform(
        self, X: ArrayLike, groups: ArrayLike | None = None, lengths: ArrayLike | None = None
    ) -> np.ndarray:
        """Codes of X for the learned atoms.

        Each sample is coded by itself, but for couplings where they are defined: a temporal one
        ties the samples of X within the sequences of `groups` or `lengths`, if one is given; a
        graph of nearest neighbours pulls each sample of X to the codes that its nearest neighbours
        had in the fit. A graph that was given as an affinity says nothing of new samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples. NaN is a missing value: the code explains the others.

        groups : array-like of shape (n_samples,), default=None
            For a temporal coupling: a label of the sequence that each sample belongs to.

        lengths : array-like of int, default=None
            The same, said by the number of samples of each sequence, one after the other.

        Returns
        -------
        codes : ndarray of shape (n_samples, n_components)
            Solved to a relative KKT residual of 1e-6.
        """
        X = check_new_data(self, X)
        codes, report = self._code(X, sequence_labels(len(X), groups, lengths), "dense")
        report.warn()
        return codes

    def reconstruct(self, X: ArrayLike) -> np.ndarray:
        """What the atoms make of X: noise is left out, missing values are filled in.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples. NaN is a missing value.

        Returns
        -------
        samples : ndarray of shape (n_samples, n_features)
            ``transform(X) @ components_``, without missing values.
        """
        X = check_new_data(self, X)
        codes, report = self._code(X)
        report.warn()
        return codes @ self.components_.astype(X.dtype, copy=False)

    def inverse_transform(self, X: ArrayLike) -> np.ndarray:
        """Samples that codes stand for.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_components)
            Codes.

        Returns
        -------
        samples : ndarray of shape (n_samples, n_features)
            ``X @ components_``.
        """
        check_is_fitted(self)
        codes = check_array(X, accept_sparse="csr", dtype=FLOAT_DTYPES, input_name="X")
        if codes.shape[1] != len(self.components_):
            raise ValueError(
                f"X has {codes.shape[1]} columns, but there are {len(self.components_)} atoms: "
                "inverse_transform takes codes, as transform gives them."
            )
        return codes @ self.components_

    def score(
        self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Minus the mean objective of X, with its best codes for the learned atoms.

        Scores compare models of the same alpha and penalty: a larger alpha alone lowers them.
        Couplings and regularisers are left out.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        y : Ignored
            Not used, present for API consistency.

        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        score : float
            At most 0; larger is better.
        """
        X = check_new_data(self, X)
        weights = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        codes, report = self._code(X)
        report.warn()
        atoms = self.components_.astype(X.dtype, copy=False)
        errors = problem_of(self, *atoms.shape).errors(X, codes, atoms)
        return -float(np.average(errors, weights=weights))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.allow_nan = True
        return tags

    @property
    def _n_features_out(self):
        return len(self.components_)

    def _code(self, X, sequences=None, output="sparse"):
        """Codes of new samples and the report on them."""
        atoms = self.components_.astype(X.dtype, copy=False)
        problem = problem_of(self, *atoms.shape)
        if problem.coupling is None:
            return problem.code(X, atoms, output=output)
        if sequences is not None and problem.coupling.sequential:
            ties = Ties.of(problem.coupling.laplacian(X, sequences), np.ones(len(X)))
            return problem.code(X, atoms, output=output, ties=ties)
        pull = problem.coupling.pull(X, self._known) if self._known else None
        return problem.code(X, atoms, output=output, pull=pull)

    def _atoms_before(self, X):
        """The learned atoms, to go on learning from with data like X."""
        n_components = len(self.components_)
        if self.n_components not in (None, n_components):
            raise ValueError(
                f"n_components={self.n_components}, but {n_components} atoms were learned before: "
                "fit anew without warm_start to change their number."
            )
        return going_on(self, self.components_.astype(X.dtype, copy=False))

    def _keep(self, features, iterate, statistics, seen):
        keep_features(self, features)
        self.components_ = iterate.atoms
        self.n_samples_seen_ = float(seen)
        self._statistics = statistics


def _known(problem, samples, iterate):
    """Samples of a fit and their codes, for couplings that link new samples to them."""
    if problem.coupling is None or problem.coupling.ordered:
        return None
    return samples.X[samples.rows], iterate.codes
