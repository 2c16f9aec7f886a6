"""The atoms: where they start, how they move, and what becomes of those that nobody uses."""

from dataclasses import dataclass

import numpy as np

from ._constraints import Constraint
from ._regularizers import Regularizer

# An atom whose use is below this part of the largest one follows its regulariser only: what the
# samples say of it is rounding errors.
LEAST_USE = 1e-13
# Steps of all atoms between two codings: more bring little, since codes will change again.
STEPS = 6
# A rise of the objective, relative to the energy of the data, that is no more than rounding.
ROUNDING = 1e-14


@dataclass(frozen=True)
class AtomRules:
    """What is asked of the atoms, beside explaining the samples.

    Attributes
    ----------
    shape : tuple of int
        `feature_shape`.
    constraint : Constraint
    regularizer : Regularizer or None
    weight : float
        The weight of the regulariser, against the mean over samples.
    fixed : ndarray of bool or None
        Which atoms stay as they are.
    """

    shape: tuple
    constraint: Constraint
    regularizer: Regularizer | None = None
    weight: float = 0.0
    fixed: np.ndarray | None = None

    @property
    def regularized(self):
        """Whether there is a regulariser that counts."""
        return self.regularizer is not None and self.weight > 0

    def cost(self, atoms):
        """What the regulariser adds to the objective."""
        if not self.regularized:
            return 0.0
        return self.weight * float(self.regularizer.value(atoms.astype(np.float64), self.shape))

    def feasible(self, atoms):
        """The nearest atoms that meet the constraint, NaN if there is none, in their precision."""
        return self.constraint.project(atoms.astype(np.float64), self.shape).astype(atoms.dtype)

    def redraws(self, exact):
        """Whether unused atoms may be put elsewhere.

        Not if that could raise the objective, or break what ties atoms to each other.
        """
        return not (self.constraint.joint or (exact and self.regularized))


def random_atoms(samples, n_components, random_state, rules):
    """Feasible atoms: samples drawn at random, then random directions if they run out."""
    X, rows = samples.X, samples.rows
    drawn = _usable(X[rows[X.any(axis=1)[rows]][:n_components]], rules)
    # Some directions may have nothing in a cone; among so many more enough will.
    missing = 8 * (n_components - len(drawn)) + 8
    fill = _usable(random_state.standard_normal((missing, X.shape[1])).astype(X.dtype), rules)
    atoms = np.concatenate([drawn, fill])[:n_components]
    if len(atoms) < n_components:
        raise ValueError(
            f"constraint={rules.constraint!r} leaves nothing of most samples and directions: give "
            "atoms to start from as init."
        )
    return atoms


def _usable(atoms, rules):
    """Those atoms that have something in the feasible set, brought to norm 1 and into it."""
    atoms = np.where(np.isnan(atoms), 0, atoms)
    with np.errstate(divide="ignore", invalid="ignore"):
        atoms = atoms / np.abs(atoms).max(axis=1, keepdims=True)
    atoms = np.where(np.isnan(atoms), 0, atoms)  # of all zeros
    atoms = rules.constraint.cone(atoms.astype(np.float64), rules.shape).astype(atoms.dtype)
    return normalised(atoms[np.abs(atoms).max(axis=1, initial=0) > 1e-6])


def normalised(atoms):
    """Rows of unit norm; scaled first, so that neither tiny nor huge values are lost."""
    atoms = atoms / np.abs(atoms).max(axis=1, keepdims=True)
    return atoms / np.linalg.norm(atoms, axis=1, keepdims=True)


def redrawn(atoms, unused, samples, errors, rules):
    """Atoms with each unused one put on another of the samples that are explained worst.

    errors : for each sample; those of zero are left out.
    """
    if rules.fixed is not None:
        unused = unused[~rules.fixed[unused]]
    worst = np.argsort(-errors, kind="stable")[: len(unused)]
    worst = worst[errors[worst] > 0]
    fresh = _usable(samples.X[samples.rows[worst]], rules)
    atoms = atoms.copy()
    atoms[unused[: len(fresh)]] = fresh
    return atoms


def update_atoms(statistics, atoms, rules):
    """Atoms that lower the objective for the codes in the statistics; a new array.

    All atoms take a step at once: to the best place for a model of the objective that is nowhere
    below it and touches it where they are, so that no step can raise it. Momentum carries over from
    one step to the next as long as the objective falls. Cost: n_components ** 2 * n_features.
    """
    problem = _AtomProblem(statistics, rules)
    here = atoms.astype(np.float64)
    product = problem.codes_codes @ here
    reached = problem.objective(here, product)
    ahead, ahead_product, speed, caution = here, product, 1.0, np.ones(len(here))
    for _ in range(5 * STEPS if rules.regularized else STEPS):
        candidate, moved = problem.step(ahead, ahead_product, caution, here)
        caution = np.where(moved, caution, 4 * caution)
        product_after = problem.codes_codes @ candidate
        objective = problem.objective(candidate, product_after)
        if not objective <= reached + problem.slack:
            if ahead is here:
                caution = 4 * caution
            ahead, ahead_product, speed = here, product, 1.0
            continue
        faster = (1 + np.sqrt(1 + 4 * speed**2)) / 2
        momentum = (speed - 1) / faster
        ahead = candidate + momentum * (candidate - here)
        ahead_product = product_after + momentum * (product_after - product)
        if reached - objective <= problem.slack and moved.all():
            here = candidate if objective <= reached else here
            break
        here, product, reached, speed = candidate, product_after, objective, faster
        if momentum == 0:
            ahead, ahead_product = here, product
    return here.astype(atoms.dtype, copy=False)


class _AtomProblem:
    """The objective as a function of the atoms, but for a constant, and a step down."""

    def __init__(self, statistics, rules):
        self.rules = rules
        use = statistics.codes_codes.diagonal()
        self.idle = use <= LEAST_USE * use.max()
        self.codes_codes = statistics.codes_codes / statistics.weight
        self.codes_data = statistics.codes_data / statistics.weight
        # The matrix of these on the diagonal is nowhere below codes_codes.
        self.curvature = np.abs(self.codes_codes).sum(axis=1)
        self.slack = ROUNDING * statistics.data_energy / statistics.weight

    def objective(self, atoms, product):
        """product : codes_codes @ atoms."""
        value = 0.5 * np.vdot(atoms, product) - np.vdot(atoms, self.codes_data)
        return value + self.rules.cost(atoms)

    def step(self, atoms, product, caution, fallback):
        """Atoms one step on, and for each whether it has a place to go to."""
        rules, curvature = self.rules, self.curvature
        gradient = product - self.codes_data
        gradient[self.idle] = 0
        if rules.regularized:
            gradient += rules.weight * rules.regularizer.gradient(atoms, rules.shape)
            curvature = curvature + rules.weight * rules.regularizer.curvature(atoms, rules.shape)
        lengths = caution * np.where(curvature > 0, curvature, 1)
        if rules.constraint.joint:  # the nearest point is one for all atoms alike
            lengths = np.full_like(lengths, lengths.max())
        better = atoms - gradient / lengths[:, None]
        if rules.regularized:
            better = rules.regularizer.prox(better, rules.weight / lengths, rules.shape)
        better = rules.constraint.project(better, rules.shape)
        moved = np.isfinite(better).all(axis=1)
        better = np.where(moved[:, None], better, fallback)
        if rules.fixed is not None:
            better[rules.fixed], moved[rules.fixed] = fallback[rules.fixed], True
        return better, moved
