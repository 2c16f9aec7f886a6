"""Eigenvalues of the operator, modes, and how far each is to be trusted."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eig, pinv
from scipy.optimize import linear_sum_assignment


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues in falling order of amplitude, and what belongs to each.

    Attributes
    ----------
    eigenvalues : ndarray of complex of shape (rank,)
        For one step.
    modes : ndarray of complex of shape (rank, n_features)
        Unit vectors in the units of the data.
    amplitudes : ndarray of shape (rank,)
        Root mean square over the training data of what the mode is multiplied by.
    residuals : ndarray of shape (rank,)
        Root mean square of ``f(next) - eigenvalue f(now)`` relative to that of f, the
        eigenfunction.
    """

    eigenvalues: np.ndarray
    modes: np.ndarray
    amplitudes: np.ndarray
    residuals: np.ndarray


def spectrum_of(model, read_out):
    """The Spectrum of a LatentModel; read_out, (n_features, rank), turns latents into states."""
    eigenvalues, right = eig(model.operator)
    left = pinv(right)
    now = _quadratic(left, model.now).real
    cross = _quadratic(left, model.cross)
    later = _quadratic(left, model.later).real
    squares = later - 2 * (eigenvalues.conj() * cross).real + abs(eigenvalues) ** 2 * now
    residuals = np.sqrt(np.maximum(squares, 0) / np.where(now > 0, now, 1))
    modes = (read_out @ right).T
    norms = np.linalg.norm(modes, axis=1)
    amplitudes = norms * np.sqrt(np.maximum(now, 0))
    modes = modes / np.where(norms > 0, norms, 1)[:, None]
    # Equal ones, as conjugates are, stay beside each other: rounding must not order them.
    size = np.round(amplitudes / max(amplitudes.max(), 1e-300), 9)
    order = np.lexsort((-eigenvalues.imag, np.round(abs(eigenvalues.imag), 12), -size))
    return Spectrum(eigenvalues[order], modes[order], amplitudes[order], residuals[order])


def _quadratic(rows, matrix):
    return np.einsum("ki,ij,kj->k", rows, matrix, rows.conj())


def deviations(eigenvalues, others):
    """Jackknife deviation of each eigenvalue; others : those of each data set less one part."""
    n = len(others)
    matched = np.empty((n, len(eigenvalues)), complex)
    for row, values in zip(matched, others, strict=True):
        mine, theirs = linear_sum_assignment(abs(eigenvalues[:, None] - values))
        row[:] = np.nan
        row[mine] = values[theirs]
    return np.sqrt((n - 1) / n * (abs(matched - matched.mean(axis=0)) ** 2).sum(axis=0))
