"""Scores of disentanglement, for heads of discrete symbols.

Each score is about heads, not units: in a perfect one-hot code each unit knows only of its own
category, so that scores of single units are low.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import entropy
from sklearn.base import ClassifierMixin, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils import check_random_state

from .._validation import check_number
from ._symbols import check_codes, contingency, factor_match_matrix


def mutual_information_gap(factors: ArrayLike, symbols: ArrayLike) -> float:
    """How much more the best head knows of a factor than the next best.

    For each factor it is the largest mutual information with a head, less the second largest, as a
    share of the entropy of the factor; the score is the mean over factors [1]_.

    Parameters
    ----------
    factors : array-like of int of shape (n_samples, n_factors)
        The true categories. Any whole numbers, but not the same in all samples.

    symbols : array-like of int of shape (n_samples, n_heads)
        The active unit of each head, as whole numbers too. With one head the second largest is 0.

    Returns
    -------
    gap : float
        Between 0 and 1. It is 1 if each factor is a function of one head, and of no other head
        anything is known from it.

    Raises
    ------
    ValueError
        If the tables are not of whole numbers or have different numbers of samples, or a factor is
        constant.

    Notes
    -----
    The information is that of the counted frequencies. Between independent columns of k and l
    categories it is about `(k - 1) (l - 1) / (2 n_samples)` rather than 0: take many samples. A
    head that encodes two factors jointly scores well here for both: see :func:`modularity_score`.
    The cost is `O(n_samples n_factors n_heads)`.

    References
    ----------
    .. [1] Chen et al., "Isolating sources of disentanglement in variational autoencoders", NeurIPS
       2018.

    Examples
    --------
    >>> from skatoms.metrics import mutual_information_gap
    >>> factors = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> mutual_information_gap(factors, [[3, 5], [2, 5], [3, 4], [2, 4]])
    1.0
    >>> mutual_information_gap(factors, [[0, 0], [0, 1], [1, 1], [1, 0]])  # the second is mixed
    0.5
    """
    true, found = check_codes(factors, symbols)
    _refuse_constant(true)
    information = _information(true, found)
    entropies = np.array([entropy(np.bincount(factor)) for factor in true.columns])
    return float(np.mean(_gaps(information) / entropies))


def sap_score(factors: ArrayLike, symbols: ArrayLike, *, adjusted: bool = False) -> float:
    """How much better a factor is predicted from the best head than from the next best.

    A factor is predicted from a head by the category that is most frequent where the head's unit is
    active, which is what a linear classifier of the head's one-hot code can do. The score is the
    difference in accuracy between the best two heads, as a mean over factors: the separated
    attribute predictability [1]_.

    Parameters
    ----------
    factors : array-like of int of shape (n_samples, n_factors)
        The true categories. Any whole numbers, but not the same in all samples.

    symbols : array-like of int of shape (n_samples, n_heads)
        The active unit of each head, as whole numbers too. With one head the next best is to
        predict the most frequent category.

    adjusted : bool, default=False
        Whether to divide by the most that the difference can be, 1 less the share of the most
        frequent category: then a perfect code scores 1.

    Returns
    -------
    score : float
        Between 0 and 1, or without adjustment `1 - 1 / n` for factors of n equally likely
        categories.

    Raises
    ------
    ValueError
        If the tables are not of whole numbers or have different numbers of samples, or a factor is
        constant.

    Notes
    -----
    The cost is `O(n_samples n_factors n_heads)`.

    References
    ----------
    .. [1] Kumar, Sattigeri and Balakrishnan, "Variational inference of disentangled latent concepts
       from unlabeled observations", ICLR 2018.

    Examples
    --------
    >>> from skatoms.metrics import sap_score
    >>> factors, symbols = [[0, 0], [0, 1], [1, 0], [1, 1]], [[3, 5], [2, 5], [3, 4], [2, 4]]
    >>> sap_score(factors, symbols), sap_score(factors, symbols, adjusted=True)
    (0.5, 1.0)
    """
    true, _ = check_codes(factors, symbols)
    _refuse_constant(true)
    chance = np.array([np.bincount(factor).max() / len(factor) for factor in true.columns])
    accuracies = factor_match_matrix(factors, symbols, many_to_one=True)
    gains = np.maximum(accuracies - chance[:, None], 0)  # no gain may come out as -1e-17
    gaps = _gaps(gains)
    return float(np.mean(gaps / (1 - chance) if adjusted else gaps))


def modularity_score(factors: ArrayLike, symbols: ArrayLike) -> float:
    """Whether each head knows of one factor only.

    With the mutual information m_ij of factor i and head j, the score of a head is
    `1 - sum_i m_ij^2 / (m_j^2 (n_factors - 1))`, where m_j is the largest m_ij of the head and the
    sum goes over the other factors. The modularity is the mean over heads [1]_; heads that know of
    no factor, such as constant ones, do not count.

    Parameters
    ----------
    factors : array-like of int of shape (n_samples, n_factors)
        The true categories of at least two factors, as whole numbers.

    symbols : array-like of int of shape (n_samples, n_heads)
        The active unit of each head, as whole numbers too.

    Returns
    -------
    modularity : float
        Between 0 and 1. It is 0 if no head knows of any factor.

    Raises
    ------
    ValueError
        If the tables are not of whole numbers, have different numbers of samples, or there is only
        one factor.

    Notes
    -----
    It does not ask whether the heads know everything: see :func:`mutual_information_gap`. As the
    information is that of the counted frequencies, a head that varies but is independent of all
    factors knows a little of each: it counts, with a score that chance decides.
    The cost is `O(n_samples n_factors n_heads)`.

    References
    ----------
    .. [1] Ridgeway and Mozer, "Learning deep disentangled embeddings with the F-statistic loss",
       NeurIPS 2018.

    Examples
    --------
    >>> from skatoms.metrics import modularity_score
    >>> factors = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> modularity_score(factors, [[0, 2], [1, 2], [0, 2], [1, 2]])
    1.0
    >>> modularity_score(factors, [[0, 0], [0, 1], [1, 2], [1, 3]])  # the second knows of both
    0.5
    """
    true, found = check_codes(factors, symbols)
    n_factors = len(true.columns)
    if n_factors < 2:
        raise ValueError(
            "factors must have at least two columns, got one: modularity is about whether a head "
            "knows of others too."
        )
    information = _information(true, found)
    most = information.max(axis=0)
    if not most.any():
        return 0.0
    shares = (information[:, most > 0] / most[most > 0]) ** 2
    return float(np.mean(1 - (shares.sum(axis=0) - 1) / (n_factors - 1)))


@dataclass(frozen=True, eq=False)
class DCIScores:
    """Disentanglement, completeness and informativeness of a code.

    Attributes
    ----------
    disentanglement : float
        Whether a head is of use for one factor only: 1 less the entropy of its importances over the
        factors, in units of the largest possible, as a mean over heads weighted by importance.

    completeness : float
        Whether a factor needs one head only: 1 less the entropy of the importances over the heads,
        in units of the largest possible, as a mean over factors.

    informativeness : float
        Accuracy on held-out samples, as a mean over factors.

    importances : ndarray of shape (n_factors, n_heads)
        How much each head contributes to the prediction of each factor. Rows sum to 1, or are zero
        for a factor that no head helps to predict.
    """

    disentanglement: float
    completeness: float
    informativeness: float
    importances: np.ndarray


def dci(
    factors: ArrayLike,
    symbols: ArrayLike,
    *,
    classifier: ClassifierMixin | None = None,
    test_size: float = 0.25,
    random_state: int | np.random.RandomState | None = None,
) -> DCIScores:
    """Disentanglement, completeness and informativeness, from classifiers of the factors [1]_.

    For each factor a classifier learns to predict it from the one-hot code of the symbols. The
    importance of a head is the sum of the importances of its units.

    Parameters
    ----------
    factors : array-like of int of shape (n_samples, n_factors)
        The true categories, as whole numbers.

    symbols : array-like of int of shape (n_samples, n_heads)
        The active unit of each head, as whole numbers too.

    classifier : scikit-learn classifier, default=None
        A classifier that has `feature_importances_` once it is fitted; it is cloned for each
        factor. None is a :class:`~sklearn.ensemble.RandomForestClassifier` of 10 trees that
        consider all features at each split and have at least 5 samples in a leaf.

    test_size : float, default=0.25
        Share of the samples that are held out for the informativeness, in (0, 1).

    random_state : int, RandomState or None, default=None
        Seed of the choice of these samples and of the default classifier. An int gives the same
        scores at each call.

    Returns
    -------
    scores : DCIScores
        The three scores, each between 0 and 1, and the importances. With only one factor
        disentanglement is 1, with only one head completeness is 1, unless importances are all 0.

    Raises
    ------
    ValueError, TypeError
        If the tables are not of whole numbers or have different numbers of samples, a parameter is
        out of its range, or the classifier has no importances.

    Notes
    -----
    Importances of trees are never exactly 0 where the code has errors, and a head that encodes two
    factors jointly is complete for both. The cost is that of fitting one classifier a factor, and
    dominates: about a second for 10,000 samples, five factors and thirty units of a clean code,
    several times as much for a code that says little.

    References
    ----------
    .. [1] Eastwood and Williams, "A framework for the quantitative evaluation of disentangled
       representations", ICLR 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from skatoms.metrics import dci
    >>> factors = np.random.default_rng(0).integers(3, size=(500, 2))
    >>> scores = dci(factors, factors[:, ::-1], random_state=0)
    >>> scores.disentanglement, scores.completeness, scores.informativeness
    (1.0, 1.0, 1.0)
    >>> scores.importances
    array([[0., 1.],
           [1., 0.]])
    """
    true, found = check_codes(factors, symbols)
    check_number("test_size", test_size, least=0, most=1)
    n_samples = len(true.columns[0])
    if not 0 < round(test_size * n_samples) < n_samples:
        raise ValueError(
            f"test_size={test_size} of {n_samples} samples leaves none to learn from or none to "
            "test on: take more samples, or a share between."
        )
    rng = check_random_state(random_state)
    if classifier is None:
        classifier = RandomForestClassifier(
            n_estimators=10, max_features=None, min_samples_leaf=5, random_state=rng.randint(2**31)
        )
    heads = np.concatenate([np.full(len(names), head) for head, names in enumerate(found.names)])
    units = OneHotEncoder(dtype=np.float32).fit_transform(np.stack(found.columns, axis=1))
    training, held_out = train_test_split(
        np.arange(n_samples), test_size=round(test_size * n_samples), random_state=rng
    )
    importances = np.zeros((len(true.columns), len(found.columns)))
    accuracies = []
    for row, factor in zip(importances, true.columns, strict=True):
        fitted = clone(classifier).fit(units[training], factor[training])
        np.add.at(row, heads, _feature_importances(fitted))
        accuracies.append(accuracy_score(factor[held_out], fitted.predict(units[held_out])))
    importances /= np.maximum(importances.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    return DCIScores(
        disentanglement=_concentration(importances.T),
        completeness=_concentration(importances),
        informativeness=float(np.mean(accuracies)),
        importances=importances,
    )


def _information(true, found):
    """Mutual information, in nats, of each factor with each head."""
    return np.array(
        [
            [_of_table(contingency(factor, head)) for head in found.columns]
            for factor in true.columns
        ]
    )


def _of_table(counts):
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    # Where counts are as expected it is 0, and rounding errors do not make it negative.
    return max(entropy(counts.ravel(), expected.ravel()), 0.0)


def _gaps(table):
    """Largest less second largest of each row; the second of a single column is 0."""
    ordered = np.sort(np.pad(table, ((0, 0), (1, 0))), axis=1)
    return ordered[:, -1] - ordered[:, -2]


def _concentration(importances):
    """1 less the entropy of each row, in units of the largest, weighted by the sum of the row."""
    total = importances.sum()
    if not total:
        return 0.0
    rows = importances[importances.any(axis=1)]
    if rows.shape[1] == 1:
        return 1.0
    concentrations = np.clip(1 - entropy(rows, axis=1) / np.log(rows.shape[1]), 0, 1)
    return float(np.average(concentrations, weights=rows.sum(axis=1)))


def _feature_importances(fitted):
    if not hasattr(fitted, "feature_importances_"):
        raise TypeError(
            f"classifier must have feature_importances_ once it is fitted, got {fitted!r}: take "
            "one made of trees."
        )
    return fitted.feature_importances_


def _refuse_constant(true):
    constant = [index for index, names in enumerate(true.names) if len(names) == 1]
    if constant:
        raise ValueError(
            f"factors has the same category in all samples in columns {constant}: nothing is to be "
            "known of them. Leave them out."
        )
