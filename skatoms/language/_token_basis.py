"""Codes of tokens: sparse, over atoms learned from the company that tokens keep."""

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, hstack
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.extmath import randomized_svd

from ..basis import VariationalBasisLearner

N_NEIGHBOURS = 4096  # frequent tokens whose nearness describes a token
WINDOW = 4  # how far tokens count as near, on either side, the nearer the more
SMOOTHING = 0.75  # exponent of how often neighbours occur, which tames rare ones
MAX_ITER = 5


@dataclass(frozen=True)
class TokenBasis:
    """What is learned of tokens.

    codes : csr_array of shape (n_tokens, n_components)
    components : (n_components, n_tokens) float32
        The atoms, as weights of the tokens whose nearness they stand for.
    """

    codes: csr_array
    components: np.ndarray


def nearness(ids, n_tokens, smoothing=SMOOTHING, window=WINDOW):
    """Positive pointwise mutual information of tokens and their neighbours left and right.

    Returns
    -------
    csr_array of shape (n_tokens, 2 * n_neighbours)
        Columns: the frequent tokens before, then those after. Never densified.
    """
    n_neighbours = min(n_tokens, N_NEIGHBOURS)
    sides = []
    for before in (True, False):
        counts = csr_array((n_tokens, n_neighbours))
        for distance in range(1, window + 1):
            one, other = ids[distance:], ids[:-distance]
            token, neighbour = (one, other) if before else (other, one)
            kept = neighbour < n_neighbours
            near = np.full(kept.sum(), 1 / distance)
            counts = counts + csr_array(
                (near, (token[kept], neighbour[kept])), (n_tokens, n_neighbours)
            )
        sides.append(_positive_information(counts, smoothing))
    return hstack(sides, format="csr")


def _positive_information(counts, smoothing):
    """max(0, log P(token, neighbour) / (P(token) P(neighbour))) where counts are not zero."""
    rows, columns = counts.sum(axis=1), counts.sum(axis=0) ** smoothing
    found = counts.tocoo()
    expected = rows[found.row] * columns[found.col] / columns.sum()
    information = np.maximum(np.log(found.data / expected), 0)
    result = csr_array((information, (found.row, found.col)), counts.shape)
    result.eliminate_zeros()
    return result


def learn_basis(ids, n_tokens, n_components, alpha, n_jobs, rng):
    """Atoms and codes of tokens.

    The information on tokens is reduced to its leading singular directions, in which atoms are
    learned; so it is never dense.

    Returns
    -------
    TokenBasis
    """
    n_components = min(n_components, n_tokens)
    information = nearness(ids, n_tokens)
    n_directions = min(n_components, *(size - 1 for size in information.shape))
    left, values, right = randomized_svd(
        information, max(n_directions, 1), n_iter=4, random_state=rng
    )
    rows = (left * np.sqrt(values)).astype(np.float32)
    if not rows.any():  # no token stands near another
        rows[:, 0] = 1
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-6)
    learner = VariationalBasisLearner(
        n_components, alpha, max_iter=MAX_ITER, tol=1e-3, n_jobs=n_jobs, random_state=rng
    )
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        codes = learner.fit_transform(rows)
    codes /= np.maximum(np.linalg.norm(codes, axis=1, keepdims=True), 1e-6)
    atoms = learner.components_ @ (np.sqrt(values)[:, None] * right)
    return TokenBasis(csr_array(codes), _of_tokens(atoms, n_tokens))


def _of_tokens(atoms, n_tokens):
    """Atoms as weights of tokens: those of neighbours before and after, added."""
    before, after = np.split(atoms, 2, axis=1)
    components = np.zeros((len(atoms), n_tokens), np.float32)
    components[:, : before.shape[1]] = before + after
    return components
