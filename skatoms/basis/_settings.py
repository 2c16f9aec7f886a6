"""From the parameters of the estimator to the problem that they stand for."""

from math import prod
from numbers import Integral

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import _check_sample_weight

from ..coding._penalties import as_penalty
from ._alternation import BasisProblem
from ._atoms import AtomRules, normalised, random_atoms
from ._constraints import CONSTRAINTS, Constraint
from ._couplings import COUPLINGS, Coupling
from ._regularizers import REGULARIZERS, Regularizer
from ._samples import in_order, shuffled


def named(name, value, kinds, base):
    """The object that a parameter stands for: one of its names, or the object itself, or None."""
    if value is None or isinstance(value, base):
        return value
    if isinstance(value, str) and value in kinds:
        return kinds[value]()
    example = next(iter(kinds.values())).__name__
    raise ValueError(
        f"{name} must be one of {sorted(kinds)} or an object such as {example}(), got {value!r}."
    )


def coupling_of(estimator):
    """The Coupling of an estimator, or None."""
    coupling = named("coupling", estimator.coupling, COUPLINGS, Coupling)
    if coupling is not None:
        coupling.check()
    return coupling


def rules_of(estimator, n_features):
    """What an estimator asks of its atoms."""
    shape = feature_shape_of(estimator.feature_shape, n_features)
    constraint = named("constraint", estimator.constraint, CONSTRAINTS, Constraint)
    constraint.check(shape)
    regularizer = named("regularizer", estimator.regularizer, REGULARIZERS, Regularizer)
    if regularizer is not None:
        regularizer.check(shape)
        if not constraint.goes_with(regularizer):
            raise ValueError(
                f"regularizer={regularizer!r} does not go with constraint={constraint!r}, since "
                "there is no closed form for both: take 'smooth' instead, or another constraint."
            )
    weight = 0.0 if regularizer is None else float(estimator.regularizer_weight)
    return AtomRules(shape, constraint, regularizer, weight, _fixed(estimator))


def problem_of(estimator, n_components, n_features):
    """The BasisProblem of an estimator."""
    estimator._validate_params()  # they may have been set after the fit
    penalty = as_penalty(estimator.penalty, bool(estimator.positive))
    penalty.check(n_components)
    rules = rules_of(estimator, n_features)
    if rules.fixed is not None and len(rules.fixed) != n_components:
        raise ValueError(
            f"fixed_atoms has {len(rules.fixed)} entries, but there are {n_components} atoms."
        )
    return BasisProblem(penalty, estimator.alpha, rules, coupling_of(estimator), estimator.n_jobs)


def samples_of(estimator, X, sample_weight, sequences, rng, may_be_zero=False):
    """The Samples to learn from, in an order of our own if it does not matter."""
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    coupling = coupling_of(estimator)
    with np.errstate(over="ignore"):
        known = np.nan_to_num(X) if np.isnan(X).any() else X
        if not np.isfinite(np.einsum("ij,ij->", known, known)):
            raise ValueError(
                f"X has values up to {np.abs(known).max():.1e}, whose squares {X.dtype} can not "
                "add up: scale it down."
            )
    if coupling is None or not coupling.ordered:
        samples = shuffled(X, weights, rng)
    elif (weights > 0).all():
        samples = in_order(X, weights, sequences)
    else:
        raise ValueError(
            f"sample_weight has zeros, but with a {type(coupling).__name__} coupling samples can "
            "not be left out without a gap: drop them before."
        )
    if not (may_be_zero or known.any(axis=1)[samples.rows].any()):
        raise ValueError(
            "X is all zeros where it has weight: there is nothing to learn atoms from."
        )
    return samples


def first_atoms(estimator, samples, rng):
    """The atoms to start from."""
    rules = rules_of(estimator, samples.X.shape[1])
    atoms = _drawn_or_given(estimator, samples, rng, rules)
    if not rules.constraint.joint:
        return atoms
    # Nothing can push atoms apart that are the same.
    inner = np.abs(np.tril(atoms @ atoms.T, -1)).max(axis=1)
    same = inner > 1 - 1e-6
    atoms[same] = normalised(rng.standard_normal((same.sum(), atoms.shape[1])))
    return brought_into(rules, atoms)


def going_on(estimator, atoms):
    """Learned atoms to go on from: the constraint may be another one since."""
    return brought_into(rules_of(estimator, atoms.shape[1]), atoms)


def brought_into(rules, atoms):
    """Atoms that meet the constraint, near these; fixed ones stay."""
    constraint = rules.constraint
    if constraint.joint and rules.fixed is not None:
        raise ValueError(
            f"fixed_atoms does not go with constraint={constraint!r}, which moves all atoms: leave "
            "one of them out."
        )
    constraint.check_size(*atoms.shape)
    moved = rules.feasible(atoms)
    if rules.fixed is not None:
        moved[rules.fixed] = atoms[rules.fixed]
    if not np.isfinite(moved).all():
        raise ValueError(
            f"No {len(atoms)} atoms of {atoms.shape[1]} features were found that satisfy "
            f"constraint={constraint!r}: loosen it, take fewer atoms, or give some that do as init."
        )
    return moved


def _drawn_or_given(estimator, samples, rng, rules):
    X, n_components = samples.X, estimator.n_components
    if isinstance(estimator.init, str):
        if rules.fixed is not None:
            raise ValueError("fixed_atoms needs init to be an array that has these atoms.")
        n_components = X.shape[1] if n_components is None else n_components
        return random_atoms(samples, n_components, rng, rules)
    given = check_array(estimator.init, dtype=X.dtype, order="C", input_name="init")
    n_components = n_components or len(given)
    if len(given) > n_components or given.shape[1] != X.shape[1]:
        raise ValueError(
            f"init has shape {given.shape}, but there are at most n_components={n_components} "
            f"atoms, each with an entry for the {X.shape[1]} features of X."
        )
    if not given.any(axis=1).all():
        raise ValueError("init has an atom of all zeros: each row needs a direction.")
    return _completed(given, n_components, samples, rng, rules)


def _completed(given, n_components, samples, rng, rules):
    """Atoms given, made feasible unless they are fixed, and others drawn."""
    atoms = normalised(given)
    lost = np.zeros(len(atoms), bool)
    if not rules.constraint.joint:
        rest = np.abs(rules.constraint.cone(atoms.astype(np.float64), rules.shape)).max(axis=1)
        lost = rest < 1e-6  # rounding errors
        atoms = rules.feasible(atoms)
    fixed = np.zeros(n_components, bool) if rules.fixed is None else rules.fixed
    if len(fixed) != n_components or fixed[len(given) :].any():
        raise ValueError(
            f"fixed_atoms must have an entry for each of the {n_components} atoms, and may be True "
            f"only for the {len(given)} that init gives; it has {len(fixed)} entries."
        )
    kept = fixed[: len(given)]
    atoms[kept] = given[kept]
    lost = (lost | ~np.isfinite(atoms).all(axis=1)) & ~kept
    if lost.any():
        raise ValueError(
            f"init has atoms ({np.flatnonzero(lost)[:5]}) of which constraint={rules.constraint!r} "
            "leaves nothing."
        )
    if n_components == len(given):
        return atoms
    drawn = random_atoms(samples, n_components - len(given), rng, rules)
    return np.concatenate([atoms, drawn])


def feature_shape_of(shape, n_features):
    """`feature_shape` as a tuple of int: all features if it is None, -1 as in `numpy.reshape`."""
    if shape is None:
        return (n_features,)
    given = tuple(shape) if np.iterable(shape) else (shape,)
    whole = all(isinstance(n, Integral) and (n >= 1 or n == -1) for n in given)
    if whole and given.count(-1) == 1:
        rest = -prod(given)
        given = tuple(n_features // rest if n == -1 else n for n in given)
    if not whole or -1 in given or prod(given) != n_features:
        raise ValueError(
            f"feature_shape must be positive integers whose product is the number of features, "
            f"{n_features}, got {shape}."
        )
    return tuple(int(n) for n in given)


def _fixed(estimator):
    if estimator.fixed_atoms is None:
        return None
    fixed = np.asarray(estimator.fixed_atoms)
    if fixed.ndim != 1 or fixed.dtype != bool:
        raise ValueError(
            f"fixed_atoms must be a mask, an array of True and False for each atom, got "
            f"{estimator.fixed_atoms!r}."
        )
    return fixed if fixed.any() else None
