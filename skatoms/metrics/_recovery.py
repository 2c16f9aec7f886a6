"""How well atoms and codes are found, and when theory says that they must be."""

import math
from dataclasses import dataclass
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array, sparray, spmatrix
from sklearn.utils.validation import check_array

from .._validation import check_number


@dataclass(frozen=True, eq=False)
class AtomRecovery:
    """Which learned atom stands for which true one, and how close it is.

    Attributes
    ----------
    cosines : ndarray of shape (n_true,)
        Cosine of each true atom with its match: the absolute value, or with its sign if matched
        with `signed=True`. 0 without a match.

    assignment : ndarray of int of shape (n_true,)
        Index of the match among the learned atoms, -1 without one.

    signs : ndarray of int of shape (n_true,)
        Sign of the cosine of each true atom with its match: -1 where the learned atom points the
        other way, 0 without a match.
    """

    cosines: np.ndarray
    assignment: np.ndarray
    signs: np.ndarray

    def fraction(self, threshold: float = 0.99) -> float:
        """Part of the true atoms that were found.

        Parameters
        ----------
        threshold : float, default=0.99
            An atom is found if its cosine is above this, between -1 and 1.

        Returns
        -------
        fraction : float
            Between 0 and 1.

        Raises
        ------
        ValueError, TypeError
            If threshold is not such a number.
        """
        check_number("threshold", threshold, least=-1, most=1)
        return float(np.mean(self.cosines > threshold))


def atom_recovery(
    components_true: ArrayLike, components: ArrayLike, *, signed: bool = False
) -> AtomRecovery:
    """Match learned atoms with true ones.

    Each learned atom stands for at most one true atom and the other way round, such that the sum of
    the absolute cosines of the pairs is as large as possible. Norms do not matter.

    Parameters
    ----------
    components_true : array-like of shape (n_true, n_features)
        The true atoms, one a row.

    components : array-like of shape (n_components, n_features)
        The learned atoms, one a row. There may be more or fewer of them. Some true atoms have no
        match if there are fewer.

    signed : bool, default=False
        Whether an atom that points the other way is another atom, as it is where codes can not be
        negative. The sum is then that of the cosines themselves.

    Returns
    -------
    recovery : AtomRecovery
        Cosine, match and sign of each true atom. A zero atom has cosine 0 with all others.

    Raises
    ------
    ValueError
        If the atoms are not finite or have different numbers of features.

    Examples
    --------
    >>> from skatoms.metrics import atom_recovery
    >>> recovery = atom_recovery([[1, 0], [0, 1]], [[0, -2], [4, 3], [0, 0]])
    >>> recovery.cosines
    array([0.8, 1. ])
    >>> recovery.assignment, recovery.signs
    (array([1, 0]), array([ 1, -1]))
    >>> recovery.fraction(0.99)
    0.5
    """
    true = _unit_atoms("components_true", components_true)
    learned = _unit_atoms("components", components)
    if true.shape[1] != learned.shape[1]:
        raise ValueError(
            f"components has {learned.shape[1]} features and components_true has {true.shape[1]}: "
            "atoms can be compared only if they have the same features."
        )
    cosines = np.clip(true @ learned.T, -1, 1)
    gains = cosines if signed else np.abs(cosines)
    rows, matches = linear_sum_assignment(gains, maximize=True)
    recovery = AtomRecovery(
        cosines=np.zeros(len(true)),
        assignment=np.full(len(true), -1),
        signs=np.zeros(len(true), dtype=int),
    )
    recovery.cosines[rows] = gains[rows, matches]
    recovery.assignment[rows] = matches
    recovery.signs[rows] = np.sign(cosines[rows, matches])
    return recovery


def support_f1(
    codes_true: ArrayLike | sparray | spmatrix,
    codes: ArrayLike | sparray | spmatrix,
    *,
    recovery: AtomRecovery | None = None,
    tol: float = 0.0,
) -> float:
    """F1 score of which codes are not zero.

    It is the harmonic mean of precision (the part of the non-zeros of `codes` that are true) and
    recall (the part of the true non-zeros that `codes` has), each over the entries of all samples.

    Parameters
    ----------
    codes_true : array-like or sparse of shape (n_samples, n_true)
        The true codes.

    codes : array-like or sparse of shape (n_samples, n_components)
        The codes found.

    recovery : AtomRecovery, default=None
        Which learned atom stands for which true one, from :func:`atom_recovery`. Non-zeros of
        learned atoms that stand for none are wrong, those of true atoms without a match are missed.
        None takes atoms in their order; there must be as many of both.

    tol : float, default=0.0
        A code counts as zero if its absolute value is at most this. Not negative.

    Returns
    -------
    f1 : float
        Between 0 and 1. It is 1 if no code is non-zero, neither the true ones nor those found.

    Raises
    ------
    ValueError, TypeError
        If shapes do not go together or a parameter is out of its range.

    Examples
    --------
    >>> from skatoms.metrics import support_f1
    >>> support_f1([[1, 0, 0], [0, 2, 3]], [[0.9, 0, 0.1], [0, 2, 3]], tol=0.2)
    1.0
    >>> support_f1([[1, 0, 0], [0, 2, 3]], [[0, 1, 0], [0, 2, 3]])
    0.6666666666666666
    """
    check_number("tol", tol, least=0)
    true = _support("codes_true", codes_true, tol)
    found = _support("codes", codes, tol)
    if true.shape[0] != found.shape[0]:
        raise ValueError(
            f"codes has {found.shape[0]} samples and codes_true has {true.shape[0]}: row by row "
            "they must be codes of the same samples."
        )
    matches = _matches(recovery, true.shape[1], found.shape[1])
    matched = matches >= 0
    n_right = true[:, np.flatnonzero(matched)].multiply(found[:, matches[matched]]).nnz
    n_nonzero = true.nnz + found.nnz
    return 2 * n_right / n_nonzero if n_nonzero else 1.0


def mutual_coherence(components: ArrayLike) -> float:
    """Largest absolute cosine of two different atoms.

    The lower it is, the easier it is to tell which atoms a sample is made of.

    Parameters
    ----------
    components : array-like of shape (n_components, n_features)
        The atoms, one a row, of any norm but zero.

    Returns
    -------
    coherence : float
        Between :func:`welch_bound` and 1; 0 for a single atom.

    Raises
    ------
    ValueError
        If atoms are zero or not finite.

    Examples
    --------
    >>> from skatoms.metrics import mutual_coherence
    >>> mutual_coherence([[1, 0], [0, 2], [3, 4]])
    0.8
    """
    atoms = _unit_atoms("components", components)
    zeros = np.flatnonzero(~atoms.any(axis=1))
    if len(zeros):
        raise ValueError(
            f"components has atoms that are zero, at {zeros.tolist()}: they have no direction. "
            "Leave them out."
        )
    cosines = np.abs(atoms @ atoms.T)
    np.fill_diagonal(cosines, 0)
    return min(float(cosines.max()), 1.0)


def welch_bound(n_components: int, n_features: int) -> float:
    """Least mutual coherence that atoms can have.

    Parameters
    ----------
    n_components : int
        Number of atoms, at least 1.

    n_features : int
        Number of features, at least 1.

    Returns
    -------
    bound : float
        ``sqrt((K - d) / (d * (K - 1)))`` for K atoms with d features; 0 if K is at most d.

    Raises
    ------
    ValueError, TypeError
        If a parameter is not a whole number of at least 1.

    Notes
    -----
    Not every number of atoms can reach it; more than ``d * (d + 1) / 2`` can not.

    References
    ----------
    Welch, "Lower bounds on the maximum cross correlation of signals", IEEE Transactions on
    Information Theory 20, 1974.

    Examples
    --------
    >>> from skatoms.metrics import welch_bound
    >>> welch_bound(3, 2)  # three atoms in the plane, 120 degrees from each other
    0.5
    """
    check_number("n_components", n_components, kind=Integral, least=1)
    check_number("n_features", n_features, kind=Integral, least=1)
    if n_components <= n_features:
        return 0.0
    return math.sqrt((n_components - n_features) / (n_features * (n_components - 1)))


@dataclass(frozen=True)
class RecoveryGuarantee:
    """What the coherence of atoms promises.

    Attributes
    ----------
    coherence : float
        The mutual coherence of the atoms.

    largest_n_nonzero : int
        Any code with so many non-zeros, or fewer, is found for sure.

    guaranteed : bool
        Whether that includes the number asked for.
    """

    coherence: float
    largest_n_nonzero: int
    guaranteed: bool


def exact_recovery(components: ArrayLike, n_nonzero: int) -> RecoveryGuarantee:
    """Whether theory promises that sparse codes are found exactly.

    Let a sample without noise be made of fewer than ``(1 + 1 / coherence) / 2`` atoms. Then there
    is no other way to make it of so few [1]_, and both orthogonal matching pursuit and the code
    with the least l1 norm find it [1]_ [2]_.

    Parameters
    ----------
    components : array-like of shape (n_components, n_features)
        The atoms, one a row, of any norm but zero. For the code with the least l1 norm, what is
        promised is for atoms of equal norm.

    n_nonzero : int
        Non-zeros of a code, at least 1.

    Returns
    -------
    guarantee : RecoveryGuarantee
        The coherence, the largest number of non-zeros that is safe, and whether `n_nonzero` is.

    Raises
    ------
    ValueError, TypeError
        If atoms are zero or not finite, or `n_nonzero` is not a whole number of at least 1.

    Notes
    -----
    The condition is sufficient, not necessary: it is about the worst code of so many non-zeros.
    Most codes with several times as many are found too. Where rounding errors leave open whether a
    number is just below the limit, it does not count as safe.

    References
    ----------
    .. [1] Donoho and Elad, "Optimally sparse representation in general (nonorthogonal)
       dictionaries via l1 minimization", PNAS 100, 2003.
    .. [2] Tropp, "Greed is good: algorithmic results for sparse approximation", IEEE Transactions
       on Information Theory 50, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.linalg import hadamard
    >>> from skatoms.metrics import exact_recovery
    >>> spikes_and_waves = np.vstack([np.eye(64), hadamard(64) / 8])
    >>> exact_recovery(spikes_and_waves, n_nonzero=4)
    RecoveryGuarantee(coherence=0.125, largest_n_nonzero=4, guaranteed=True)
    """
    check_number("n_nonzero", n_nonzero, kind=Integral, least=1)
    coherence = mutual_coherence(components)
    n_components, n_features = np.shape(components)
    # The most that the coherence can be, given the rounding errors of a product and two norms.
    most = coherence + (n_features + 4) * np.finfo(float).eps
    largest = min(math.ceil((1 + 1 / most) / 2) - 1, n_components)
    return RecoveryGuarantee(coherence, largest, bool(n_nonzero <= largest))


def _unit_atoms(name, atoms):
    """The atoms in float64, each of unit norm or zero."""
    atoms = check_array(atoms, dtype=np.float64, input_name=name)
    peaks = np.abs(atoms).max(axis=1, keepdims=True)
    # Scaled first, so that no square overflows or vanishes.
    atoms = atoms / np.where(peaks > 0, peaks, 1)
    norms = np.linalg.norm(atoms, axis=1, keepdims=True)
    return atoms / np.where(norms > 0, norms, 1)


def _support(name, codes, tol):
    """Which codes are not zero, as a sparse array of booleans."""
    # A copy, since the next steps work in place.
    codes = csr_array(check_array(codes, accept_sparse="csr", input_name=name), copy=True)
    codes.sum_duplicates()
    support = csr_array((np.abs(codes.data) > tol, codes.indices, codes.indptr), codes.shape)
    support.eliminate_zeros()
    return support


def _matches(recovery, n_true, n_components):
    """The learned atom that stands for each true one, -1 where there is none."""
    if recovery is None:
        if n_true != n_components:
            raise ValueError(
                f"codes has {n_components} atoms and codes_true has {n_true}: say with recovery "
                "which stands for which; atom_recovery(components_true, components) finds it."
            )
        return np.arange(n_true)
    matches = recovery.assignment
    if len(matches) != n_true or matches.max() >= n_components:
        raise ValueError(
            f"recovery is about {len(matches)} true atoms, matched with learned atoms up to number "
            f"{matches.max()}, but codes_true has {n_true} atoms and codes has {n_components}: "
            "take the recovery of the atoms that these are codes for."
        )
    return matches
