"""The atoms: where they start, how they move, and what becomes of those that nobody uses."""

import numpy as np

from ..backend import kernel, subtract_rows

# An atom whose use is below this part of the largest one is not moved: it is rounding errors.
LEAST_USE = 1e-12


def random_atoms(samples, n_components, random_state):
    """Unit-norm atoms: samples drawn at random, then random directions if they run out."""
    drawn = samples.X[samples.rows[:n_components]]
    drawn = drawn[drawn.any(axis=1)]
    missing = (n_components - len(drawn), samples.X.shape[1])
    fill = random_state.standard_normal(missing).astype(drawn.dtype)
    return normalised(np.concatenate([drawn, fill]))


def normalised(atoms):
    """Rows of unit norm; scaled first, so that neither tiny nor huge values are lost."""
    atoms = atoms / np.abs(atoms).max(axis=1, keepdims=True)
    return atoms / np.linalg.norm(atoms, axis=1, keepdims=True)


def redrawn(atoms, unused, samples, errors, alpha):
    """Atoms with each unused one put on another of the samples that are explained worst.

    Samples that would not use it even so, being no longer than alpha, are left out.
    """
    X = samples.X[samples.rows]
    useful = np.flatnonzero((errors > 0) & (np.einsum("ij,ij->i", X, X) > alpha**2))
    worst = useful[np.argsort(-errors[useful], kind="stable")][: len(unused)]
    atoms = atoms.copy()
    atoms[unused[: len(worst)]] = normalised(X[worst])
    return atoms


def update_atoms(statistics, atoms):
    """Atoms that lower the objective for the codes in the statistics; a new array.

    Every atom in turn becomes the unit vector that is best while all others stay. Atoms that no
    sample uses stay as they are. Cost: n_components ** 2 * n_features.
    """
    better = atoms.astype(np.float64)
    sweep_unit_atoms(statistics.codes_codes, statistics.codes_data, better)
    return better.astype(atoms.dtype, copy=False)


@kernel
def sweep_unit_atoms(codes_codes, codes_data, atoms):
    """One sweep of block coordinate descent on unit spheres, in place."""
    n_atoms, n_features = atoms.shape
    everyone = np.arange(n_atoms)
    wanted = np.empty(n_features, atoms.dtype)
    least = LEAST_USE * np.max(np.diag(codes_codes))
    for j in range(n_atoms):
        use = codes_codes[j, j]
        if use > least:
            subtract_rows(codes_data[j], atoms, everyone, codes_codes[j], n_atoms, wanted)
            for f in range(n_features):
                wanted[f] += use * atoms[j, f]
            length = np.sqrt(np.sum(wanted * wanted))
            if length > 0:
                for f in range(n_features):
                    atoms[j, f] = wanted[f] / length
