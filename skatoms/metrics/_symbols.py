"""How well discrete symbols stand for the categorical factors behind them."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment

from .._validation import check_number, whole_numbers

BINS = (
    "put a code that varies continuously into bins first, for instance with "
    "sklearn.preprocessing.KBinsDiscretizer(encode='ordinal')."
)


def structural_permutation_score(factors: ArrayLike, symbols: ArrayLike) -> float:
    """Accuracy of the symbols under the best way to name heads and units.

    A head is given a factor and each of its units a category, both one to one; a unit without a
    category is wrong wherever it is active. For each factor and head the units are named such that
    as many samples as possible agree; then heads are given factors such that the mean accuracy is
    as large as possible. A factor without a head has accuracy 0, a head without a factor does not
    count.

    The score is 1 exactly when each factor equals a head of its own up to the names of the
    categories. Independent symbols score about `1 / n` for factors of n equally likely categories.

    Parameters
    ----------
    factors : array-like of int of shape (n_samples, n_factors)
        The true categories. Any whole numbers: only which samples have the same counts.

    symbols : array-like of int of shape (n_samples, n_heads)
        The active unit of each head, as whole numbers too.

    Returns
    -------
    score : float
        Mean accuracy of the factors, between 0 and 1.

    Raises
    ------
    ValueError
        If the tables are not of whole numbers or have different numbers of samples.

    See Also
    --------
    factor_match_matrix : The accuracies for each factor and head.
    population_code_score : The score if a category may have several units.

    Notes
    -----
    Naming the units first is no loss: whichever head a factor gets, its best names stay the best.
    The cost is `O(n_samples n_factors n_heads)`, and an assignment for each factor and head.

    Examples
    --------
    >>> from skatoms.metrics import structural_permutation_score
    >>> factors = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> structural_permutation_score(factors, [[5, 2], [3, 2], [5, 1], [3, 1]])
    1.0
    >>> structural_permutation_score(factors, [[0, 0], [1, 0], [2, 0], [3, 0]])
    0.5
    """
    match = factor_match_matrix(factors, symbols)
    rows, heads = linear_sum_assignment(match, maximize=True)
    return float(match[rows, heads].sum() / len(match))


def factor_match_matrix(
    factors: ArrayLike, symbols: ArrayLike, *, many_to_one: bool = False
) -> np.ndarray:
    """Accuracy of each factor if it is read from each head.

    Parameters
    ----------
    factors : array-like of int of shape (n_samples, n_factors)
        The true categories. Any whole numbers: only which samples have the same counts.

    symbols : array-like of int of shape (n_samples, n_heads)
        The active unit of each head, as whole numbers too.

    many_to_one : bool, default=False
        Whether several units may stand for one category. If so, each unit stands for the category
        that is most frequent where it is active; if not, units and categories are matched one to
        one such that the accuracy is as large as possible.

    Returns
    -------
    match : ndarray of shape (n_factors, n_heads)
        Part of the samples in which the unit's category is that of the factor.

    Raises
    ------
    ValueError
        If the tables are not of whole numbers or have different numbers of samples.

    Notes
    -----
    The cost is `O(n_samples n_factors n_heads)` and, one to one, an assignment for each factor and
    head, `O(l^3)` for l units.

    Examples
    --------
    >>> from skatoms.metrics import factor_match_matrix
    >>> factors = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> factor_match_matrix(factors, [[0, 4], [0, 4], [1, 4], [2, 4]])
    array([[0.75, 0.5 ],
           [0.5 , 0.5 ]])
    >>> factor_match_matrix(factors, [[0, 4], [0, 4], [1, 4], [2, 4]], many_to_one=True)
    array([[1.  , 0.5 ],
           [0.75, 0.5 ]])
    """
    true, found = check_codes(factors, symbols)
    count_agreements = _majority if many_to_one else _one_to_one
    agreements = [
        [count_agreements(contingency(factor, head)) for head in found.columns]
        for factor in true.columns
    ]
    return np.array(agreements) / len(true.columns[0])


def population_code_score(factors: ArrayLike, symbols: ArrayLike) -> float:
    """Accuracy of the symbols if several units may stand for one category.

    Each factor is read from its best head, in which each unit stands for the category that is most
    frequent where it is active: a category is the logical OR of its units. One head may serve
    several factors. So it suits heads with more units than there are categories; it is never less
    than :func:`structural_permutation_score`, and 1 exactly when each factor is a function of one
    head.

    Parameters
    ----------
    factors : array-like of int of shape (n_samples, n_factors)
        The true categories. Any whole numbers: only which samples have the same counts.

    symbols : array-like of int of shape (n_samples, n_heads)
        The active unit of each head, as whole numbers too.

    Returns
    -------
    score : float
        Mean accuracy of the factors, between 0 and 1.

    Raises
    ------
    ValueError
        If the tables are not of whole numbers or have different numbers of samples.

    See Also
    --------
    category_recovery : Which categories are found, also from units of several heads.

    Notes
    -----
    It is measured on the samples that name the units. With as many units as samples any code
    scores 1: take many more samples than units. The cost is `O(n_samples n_factors n_heads)`.

    Examples
    --------
    >>> from skatoms.metrics import population_code_score, structural_permutation_score
    >>> factors, symbols = [[0], [0], [1], [1]], [[0], [7], [3], [3]]
    >>> population_code_score(factors, symbols)
    1.0
    >>> structural_permutation_score(factors, symbols)
    0.75
    """
    return float(factor_match_matrix(factors, symbols, many_to_one=True).max(axis=1).mean())


@dataclass(frozen=True, eq=False)
class CategoryRecovery:
    """How well each category of each factor is found as the OR of some units.

    Attributes
    ----------
    factors : ndarray of int of shape (n_categories,)
        The factor, a column index, of each category of all factors.

    categories : ndarray of int of shape (n_categories,)
        The categories, as they were given.

    strays : ndarray of shape (n_categories,)
        Number of samples in which the OR is not what the category is, missed and wrong ones
        together, as a share of the samples of the category. At most 1.

    units : tuple of tuple of (int, int), of length n_categories
        The (head, unit) of which the category is the OR, units as they were given.
    """

    factors: np.ndarray
    categories: np.ndarray
    strays: np.ndarray
    units: tuple[tuple[tuple[int, int], ...], ...]

    def recovered(self, tolerance: float = 1e-3) -> np.ndarray:
        """Which categories are found.

        Parameters
        ----------
        tolerance : float, default=1e-3
            Share of strays that is ignored, in [0, 1). 0 asks for exact categories.

        Returns
        -------
        recovered : ndarray of bool of shape (n_categories,)
            True where `strays` is at most the tolerance.

        Raises
        ------
        ValueError, TypeError
            If tolerance is not such a number.
        """
        check_number("tolerance", tolerance, least=0, most=np.nextafter(1.0, 0.0))
        return self.strays <= tolerance

    def count(self, tolerance: float = 1e-3) -> int:
        """Count the categories that are found.

        Parameters
        ----------
        tolerance : float, default=1e-3
            Share of strays that is ignored, in [0, 1). 0 asks for exact categories.

        Returns
        -------
        count : int
            Of `len(strays)` categories.

        Raises
        ------
        ValueError, TypeError
            If tolerance is not such a number.
        """
        return int(self.recovered(tolerance).sum())


def category_recovery(factors: ArrayLike, symbols: ArrayLike) -> CategoryRecovery:
    """Find each category as the OR of units, of any heads.

    Of the units that are active more often in the category than outside of it, the purest comes
    first; each joins the OR if the number of samples in which the OR differs from the category
    becomes smaller. Units of one head exclude each other, so within a head this is the best OR.

    Parameters
    ----------
    factors : array-like of int of shape (n_samples, n_factors)
        The true categories, as whole numbers.

    symbols : array-like of int of shape (n_samples, n_heads)
        The active unit of each head, as whole numbers too.

    Returns
    -------
    recovery : CategoryRecovery
        The strays of each category and the units it is made of; `recovery.count(tolerance)` is the
        number of categories found.

    Raises
    ------
    ValueError
        If the tables are not of whole numbers or have different numbers of samples.

    See Also
    --------
    population_code_score : The share of samples that are right, with one head a factor.

    Notes
    -----
    Like any OR that is chosen on the samples it is measured on, it flatters codes with nearly as
    many units as samples. The cost is `O(n_samples)` for each category and each unit that is active
    mostly in it, and a table of counts for each factor and head.

    Examples
    --------
    >>> from skatoms.metrics import category_recovery
    >>> recovery = category_recovery([[0], [0], [1], [2]], [[0, 0], [4, 0], [1, 0], [1, 1]])
    >>> recovery.strays
    array([0., 1., 0.])
    >>> recovery.units
    (((0, 0), (0, 4)), (), ((1, 1),))
    >>> recovery.count()
    2
    """
    true, found = check_codes(factors, symbols)
    owners, strays, units = [], [], []
    for index, factor in enumerate(true.columns):
        tables = [contingency(factor, head) for head in found.columns]
        for category in range(len(true.names[index])):
            candidates = _units_of(category, tables)
            share, chosen = _grow_or(factor == category, candidates, found.columns)
            owners.append(index)
            strays.append(share)
            units.append(tuple((head, int(found.names[head][unit])) for head, unit in chosen))
    return CategoryRecovery(
        factors=np.array(owners),
        categories=np.concatenate(true.names),
        strays=np.array(strays),
        units=tuple(units),
    )


class Codes(NamedTuple):
    """A table of categories, column by column."""

    columns: list[np.ndarray]  # numbered from 0 without gaps
    names: list[np.ndarray]  # what the numbers stand for


def check_codes(factors, symbols):
    """Both tables as Codes, of the same samples."""
    true, found = (
        whole_numbers(name, table, hint=BINS)
        for name, table in (("factors", factors), ("symbols", symbols))
    )
    if len(true) != len(found):
        raise ValueError(
            f"symbols has {len(found)} samples and factors has {len(true)}: row by row they must "
            "be of the same samples."
        )
    return _numbered(true), _numbered(found)


def contingency(rows, columns):
    """Number of samples with each pair of values, of two columns that are numbered from 0."""
    n_rows, n_columns = rows.max() + 1, columns.max() + 1
    counts = np.bincount(rows * n_columns + columns, minlength=n_rows * n_columns)
    return counts.reshape(n_rows, n_columns)


def _numbered(table):
    pairs = [np.unique(column, return_inverse=True) for column in table.T]
    return Codes(columns=[numbers for _, numbers in pairs], names=[names for names, _ in pairs])


def _one_to_one(counts):
    return counts[linear_sum_assignment(counts, maximize=True)].sum()


def _majority(counts):
    return counts.max(axis=0).sum()


def _units_of(category, tables):
    """The (head, unit) that are active mostly in this category, the purest first.

    Of equally pure ones, the more active first.
    """
    found = []
    for head, table in enumerate(tables):
        inside, total = table[category], table.sum(axis=0)
        found += [
            (inside[unit] / total[unit], inside[unit], head, unit)
            for unit in np.flatnonzero(2 * inside > total)
        ]
    return [(head, unit) for *_, head, unit in sorted(found, key=lambda unit: (-unit[0], -unit[1]))]


def _grow_or(is_category, candidates, columns):
    """Strays of the OR of the units that lower them, as a share, and those units."""
    size = n_strays = np.count_nonzero(is_category)
    covered = np.zeros(len(is_category), dtype=bool)
    chosen = []
    for head, unit in candidates:
        if not n_strays:
            break
        added = (columns[head] == unit) & ~covered
        n_right = np.count_nonzero(added & is_category)
        n_wrong = np.count_nonzero(added) - n_right
        if n_right > n_wrong:
            covered |= added
            n_strays += n_wrong - n_right
            chosen.append((head, unit))
    return n_strays / size, chosen
