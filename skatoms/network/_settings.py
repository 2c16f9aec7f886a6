"""From the parameters of a network to its layers."""

from numbers import Integral

import numpy as np

from ..basis._atoms import AtomRules
from ..basis._constraints import CONSTRAINTS, Constraint
from ..basis._settings import feature_shape_of, named
from ._layers import LayerNorms, Layers
from ._learning import NetworkProblem


def sizes_of(estimator, n_features):
    """The numbers of atoms and the widths of what layers explain, as the parameters say."""
    n_atoms = _whole_numbers("n_atoms", estimator.n_atoms)
    if len(n_atoms) == 0:
        raise ValueError("n_atoms must name at least one layer, got none: take for instance (64,).")
    widths = n_atoms[:-1]
    if estimator.widths is not None:
        widths = _whole_numbers("widths", estimator.widths)
        if np.ndim(estimator.widths) == 0:
            widths = widths * (len(n_atoms) - 1)
        elif len(widths) != len(n_atoms) - 1:
            raise ValueError(
                f"widths has {len(widths)} entries, but there are {len(n_atoms) - 1} interfaces "
                f"between the {len(n_atoms)} layers of n_atoms."
            )
    return n_atoms, (n_features, *widths)


def layers_of(estimator, n_atoms, widths, outputs=None):
    """The Layers of such sizes; outputs : how many, and how much they count, or None."""
    n_layers, top_k = len(n_atoms), estimator.top_k
    counts = (1.0, *_per("top_down", estimator.top_down, n_layers - 1, "interfaces"))
    if top_k is not None and top_k > n_atoms[-1]:
        raise ValueError(
            f"top_k={top_k} is larger than the top layer, which has {n_atoms[-1]} atoms."
        )
    width, count = ((), ()) if outputs is None else (outputs[:1], outputs[1:])
    if top_k is not None and estimator.positive:
        raise ValueError("positive=True does not go with top_k, which counts codes of any sign.")
    return Layers(
        tuple(int(n) for n in n_atoms),
        (*(int(n) for n in widths), *width),
        (*counts, *count),
        _per("alpha", estimator.alpha, n_layers, "layers"),
        top_k,
        bool(estimator.positive),
    )


def outputs_of(estimator, X, targets):
    """How many outputs there are, and how much they count: `target_weight`, but for scales."""
    if targets is None:
        return None
    data, wanted = np.nanmean(X.astype(float) ** 2), np.mean(targets.astype(float) ** 2)
    scale = data / wanted * X.shape[1] / targets.shape[1] if data > 0 and wanted > 0 else 1.0
    return targets.shape[1], float(estimator.target_weight) * scale


def input_rules_of(estimator, layers, fixed):
    """What is asked of the inputs of the first layer; fixed : a mask of all atoms, or None."""
    shape = feature_shape_of(estimator.feature_shape, layers.widths[0])
    constraint = named("constraint", estimator.constraint, CONSTRAINTS, Constraint)
    constraint.check(shape)
    if constraint.joint:
        raise ValueError(f"constraint={constraint!r} ties atoms to each other: take another one.")
    return AtomRules(shape, constraint, fixed=None if fixed is None else fixed[layers.rows[0]])


def problem_of(estimator, layers, components, input_rules, fixed, horizon):
    """The NetworkProblem of an estimator whose atoms start from `components`."""
    constraint = LayerNorms(layers, input_rules.constraint, input_rules.shape, components)
    return NetworkProblem(
        penalty=layers.penalty,
        alpha=1.0,
        rules=AtomRules(layers.shape[1:], constraint, fixed=fixed),
        coupling=None,
        n_jobs=estimator.n_jobs,
        layers=layers,
        input_rules=input_rules,
        hebb=estimator.learning_rule == "hebb",
        horizon=horizon,
    )


def known_somewhere(X):
    """X, if no row of it is all NaN."""
    empty = np.flatnonzero(np.isnan(X).all(axis=1))
    if len(empty):
        raise ValueError(
            f"X has rows without any value ({len(empty)}, the first of them {empty[0]}): all "
            "entries are NaN, so there is nothing to explain. Drop them."
        )
    return X


def _whole_numbers(name, value):
    values = tuple(value) if np.iterable(value) else (value,)
    if not all(isinstance(n, Integral) and not isinstance(n, bool) and n >= 1 for n in values):
        raise ValueError(f"{name} must be positive integers, one for each layer, got {value!r}.")
    return tuple(int(n) for n in values)


def _per(name, value, n, things):
    """A number for each of n things, from one for all or from a list."""
    if np.ndim(value) == 0:
        return n * (float(value),)
    values = np.asarray(value, dtype=float)
    if values.shape != (n,):
        raise ValueError(
            f"{name} has {values.size} entries, but there are {n} {things}: give one number for "
            "all, or one for each."
        )
    least = 0 if name == "alpha" else np.nextafter(0, 1)
    if not (np.isfinite(values).all() and (values >= least).all()):
        kind = "not negative" if name == "alpha" else "positive"
        raise ValueError(f"{name} must be finite and {kind}, got {value!r}.")
    return tuple(values.tolist())
