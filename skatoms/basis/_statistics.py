"""What the atoms need to know of the samples and their codes: sums, and nothing else."""

from dataclasses import dataclass

import numpy as np

from ..backend import kernel, run_chunks

# Atoms whose sums one thread gathers at a time.
CHUNK_ATOMS = 64


@dataclass(frozen=True)
class Statistics:
    """Weighted sums over samples x with codes a. They add over batches and over machines.

    Attributes
    ----------
    codes_codes : ndarray of shape (n_components, n_components)
        Sum of w a a'.
    codes_data : ndarray of shape (n_components, n_features)
        Sum of w a x'.
    data_energy : float
        Sum of w |x|^2.
    penalty : float
        Sum of w alpha R(a), and what couplings add to it.
    weight : float
        Sum of w.

    All are kept in float64, whatever the precision of the data: they may sum up millions of rows.
    """

    codes_codes: np.ndarray
    codes_data: np.ndarray
    data_energy: float
    penalty: float
    weight: float

    def __add__(self, other):
        return Statistics(
            self.codes_codes + other.codes_codes,
            self.codes_data + other.codes_data,
            self.data_energy + other.data_energy,
            self.penalty + other.penalty,
            self.weight + other.weight,
        )

    def __sub__(self, other):
        return self + other.scaled(-1)

    def scaled(self, factor):
        """The same, with every sample's weight multiplied by a factor."""
        return Statistics(
            factor * self.codes_codes,
            factor * self.codes_data,
            factor * self.data_energy,
            factor * self.penalty,
            factor * self.weight,
        )

    def unused(self, part=0.0):
        """Indices of the atoms that are used by at most this part of what the most used one is.

        None if no atom is used: that is not their fault.
        """
        use = self.codes_codes.diagonal()
        return np.flatnonzero((use <= part * use.max()) & (use.max() > 0))

    def objective(self, atoms):
        """Mean over the weight of 1/2 |x - C'a|^2 + alpha R(a). Cost: n_components ** 2 d."""
        atoms = atoms.astype(np.float64, copy=False)
        explained = 2 * np.vdot(atoms, self.codes_data)
        explained -= np.vdot(atoms, self.codes_codes @ atoms)
        return (0.5 * (self.data_energy - explained) + self.penalty) / self.weight


def gather(codes, X, weights, penalty, n_jobs):
    """The statistics of some samples.

    Each atom's sums are taken over the samples that use it, in their order, so they do not depend
    on the number of threads. Cost: the non-zeros times (non-zeros a row + n_features).

    Parameters
    ----------
    codes : csr_array of shape (n_samples, n_components)
    X : ndarray of shape (n_samples, n_features)
    weights : ndarray of shape (n_samples,), float64
    penalty : float
        What the codes cost.
    n_jobs : int or None
    """
    n_components = codes.shape[1]
    codes_codes = np.zeros((n_components, n_components))
    codes_data = np.zeros((n_components, X.shape[1]))
    by_atom = codes.tocsc()

    def chunk(first, stop):
        sum_over_users(
            first,
            stop,
            (by_atom.data, by_atom.indices, by_atom.indptr),
            (codes.data, codes.indices, codes.indptr),
            X,
            weights,
            codes_codes,
            codes_data,
        )

    run_chunks(chunk, n_components, CHUNK_ATOMS, n_jobs)
    return Statistics(
        codes_codes,
        codes_data,
        weighted_energy(X, weights),
        penalty,
        float(weights.sum()),
    )


@kernel
def sum_over_users(first, stop, by_atom, by_row, X, weights, codes_codes, codes_data):
    """Add up w a_j a' and w a_j x' for the atoms j from first to stop."""
    data, users, starts = by_atom
    row_data, row_atoms, row_starts = by_row
    for j in range(first, stop):
        sums, sums_data = codes_codes[j], codes_data[j]
        for position in range(starts[j], starts[j + 1]):
            i = users[position]
            factor = weights[i] * data[position]
            for q in range(row_starts[i], row_starts[i + 1]):
                sums[row_atoms[q]] += factor * row_data[q]
            x = X[i]
            for f in range(x.shape[0]):
                sums_data[f] += factor * x[f]


@kernel
def weighted_energy(X, weights):
    """Sum of w |x|^2, in float64."""
    total = 0.0
    for i in range(X.shape[0]):
        square = 0.0
        for f in range(X.shape[1]):
            value = np.float64(X[i, f])
            square += value * value
        total += weights[i] * square
    return total
