"""The atoms: where they start, how they move, and what becomes of those that nobody uses."""

import numpy as np

from ..backend import kernel, subtract_rows

# An atom whose use is below this part of the largest one is not moved: it is rounding errors.
LEAST_USE = 1e-12


def random_atoms(samples, n_components, random_state):
    """Unit-norm atoms: samples drawn at random, then random directions if they run out."""
    X, rows = samples.X, samples.rows
    drawn = X[rows[X.any(axis=1)[rows]][:n_components]]
    missing = (n_components - len(drawn), X.shape[1])
    fill = random_state.standard_normal(missing).astype(X.dtype)
    return normalised(np.concatenate([drawn, fill]))


def normalised(atoms):
    """Rows of unit norm; scaled first, so that neither tiny nor huge values are lost."""
    atoms = atoms / np.abs(atoms).max(axis=1, keepdims=True)
    return atoms / np.linalg.norm(atoms, axis=1, keepdims=True)


def redrawn(atoms, unused, samples, errors):
    """Atoms with each unused one put on another of the samples that are explained worst.

    errors : for each sample; those of zero are left out.
    """
    worst = np.argsort(-errors, kind="stable")[: len(unused)]
    worst = worst[errors[worst] > 0]
    atoms = atoms.copy()
    atoms[unused[: len(worst)]] = normalised(samples.X[samples.rows[worst]])
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
            largest = np.max(np.abs(wanted))
            if 0 < largest < np.inf:
                wanted /= largest  # squares of very small or large numbers would be lost
                length = np.sqrt(np.sum(wanted * wanted))
                for f in range(n_features):
                    atoms[j, f] = wanted[f] / length
