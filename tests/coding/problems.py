"""Problems for the solvers, and what is asked of an answer, written without the package's code."""

import numpy as np
from hypothesis import strategies as st


def objectives(X, atoms, codes, alpha):
    """1/2 |x - atoms' a|^2 + alpha |a|_1 of each row, in float64."""
    X, atoms, codes = (np.asarray(part, dtype=np.float64) for part in (X, atoms, codes))
    return 0.5 * ((X - codes @ atoms) ** 2).sum(axis=1) + alpha * np.abs(codes).sum(axis=1)


def norms(atoms):
    """Norms of the atoms, in float64; 1 for zero atoms."""
    lengths = np.linalg.norm(np.asarray(atoms, dtype=np.float64), axis=1)
    return np.where(lengths > 0, lengths, 1)


def kkt_violations(X, atoms, codes, alpha, positive):
    """How far each row is from optimal, relative to the norms of the atoms, in float64."""
    lengths = norms(atoms)
    X, atoms, codes = (np.asarray(part, dtype=np.float64) for part in (X, atoms, codes))
    correlations = (X - codes @ atoms) @ atoms.T
    worst = np.zeros(len(X))
    for i, code in enumerate(codes):
        for correlation, value, length in zip(correlations[i], code, lengths, strict=True):
            if value > 0:
                violation = abs(correlation - alpha)
            elif value < 0:
                violation = abs(correlation + alpha)
            else:
                violation = (correlation if positive else abs(correlation)) - alpha
            worst[i] = max(worst[i], violation / length)
    return worst


def allowed_violations(X, atoms, codes, tol=1e-6):
    """What the tolerance and the rounding errors of X's precision leave room for, in each row."""
    eps, lengths = np.finfo(X.dtype).eps, norms(atoms)
    X, atoms, codes = (np.asarray(part, dtype=np.float64) for part in (X, atoms, codes))
    relative = max(tol, 50 * eps) * (np.abs(X @ atoms.T) / lengths).max(axis=1)
    large_codes = 16 * eps * np.abs(codes) @ lengths
    products = 8 * eps * np.linalg.norm(X, axis=1)
    return relative + large_codes + products


def duality_gaps(X, atoms, codes, alpha, positive):
    """How far the objective of each row can be from its least value: a bound, in float64.

    What a code leaves, scaled until no atom's correlation with it is above alpha, is a point of
    the dual problem, whose value is never above the least objective.
    """
    X, atoms, codes = (np.asarray(part, dtype=np.float64) for part in (X, atoms, codes))
    left = X - codes @ atoms
    correlations = left @ atoms.T
    largest = (correlations if positive else np.abs(correlations)).max(axis=1)
    scale = np.ones(len(X))
    np.divide(alpha, largest, out=scale, where=largest > alpha)
    feasible = scale[:, None] * left
    dual = 0.5 * (X**2).sum(axis=1) - 0.5 * ((X - feasible) ** 2).sum(axis=1)
    return objectives(X, atoms, codes, alpha) - dual


def make_problem(seed, n_rows, n_features, n_atoms, *, twist="none", scale=1.0, dtype=np.float64):
    """Random rows and atoms, with a twist."""
    rng = np.random.default_rng(seed)
    X, atoms = rng.standard_normal((n_rows, n_features)), rng.standard_normal((n_atoms, n_features))
    if twist == "duplicate atoms":
        atoms[-1] = atoms[0]
    elif twist == "opposite atoms":
        atoms[-1] = -atoms[0]
    elif twist == "zero atom":
        atoms[0] = 0
    elif twist == "zero row":
        X[0] = 0
    elif twist == "small integers":  # ties everywhere
        X, atoms = np.round(X), np.round(atoms)
    elif twist == "similar atoms":
        atoms = atoms[:, :1] * rng.standard_normal(n_features) + 0.1 * atoms
    elif twist == "atoms of any norm":
        atoms *= 10.0 ** rng.integers(-2, 3, size=(n_atoms, 1))
    return (scale * X).astype(dtype), atoms.astype(dtype)


TWISTS = (
    "none",
    "duplicate atoms",
    "opposite atoms",
    "zero atom",
    "zero row",
    "small integers",
    "similar atoms",
    "atoms of any norm",
)

problems = st.builds(
    make_problem,
    seed=st.integers(0, 10_000),
    n_rows=st.integers(1, 5),
    n_features=st.integers(1, 8),
    n_atoms=st.integers(1, 20),
    twist=st.sampled_from(TWISTS),
    scale=st.sampled_from([1e-6, 1.0, 1e6]),
    dtype=st.sampled_from([np.float32, np.float64]),
)

# Weight of the penalty as a part of the largest correlation of all rows, from none to too much.
weights = st.sampled_from([0.0, 1e-3, 0.01, 0.1, 0.3, 0.7, 0.99, 1.5])
