"""From the parameters of a network to its layers."""

from math import fsum
from numbers import Integral

import numpy as np

from .._validation import real_array
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
    tiny = float(np.finfo(np.float32).tiny)
    counts = (1.0, *_per("top_down", estimator.top_down, n_layers - 1, "interfaces", tiny))
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
        _per("alpha", estimator.alpha, n_layers, "layers", 0.0),
        top_k,
        bool(estimator.positive),
    )


def outputs_of(estimator, X, targets):
    """How many outputs there are, and how much they count: `target_weight`, but for scales."""
    if targets is None:
        return None
    data, wanted = (energy(some) for some in (np.nan_to_num(X), targets))
    scale = data / wanted if data > 0 and wanted > 0 else 1.0
    return targets.shape[1], float(estimator.target_weight) * scale


def energy(values):
    """The sum of squares, to the last bit the same for any order of the rows."""
    values = values.astype(np.float64)
    return fsum(np.einsum("ij,ij->i", values, values))


def centred(targets):
    """Targets without their mean, and the mean, the same for any order of the rows.

    What varies by no more than rounding is made constant.
    """
    values = targets.astype(np.float64)
    centre = np.array([fsum(column) / len(column) for column in values.T])
    rest = values - centre
    noise = 16 * np.finfo(targets.dtype).eps * np.abs(values).max(axis=0)
    rest[:, np.abs(rest).max(axis=0) <= noise] = 0
    return rest.astype(targets.dtype), centre


def input_rules_of(estimator, layers, fixed):
    """What is asked of the inputs of the first layer; fixed : a mask of all atoms, or None."""
    shape = feature_shape_of(estimator.feature_shape, layers.widths[0])
    constraint = named("constraint", estimator.constraint, CONSTRAINTS, Constraint)
    constraint.check(shape)
    if constraint.joint:
        raise ValueError(f"constraint={constraint!r} ties atoms to each other: take another one.")
    return AtomRules(shape, constraint, fixed=None if fixed is None else fixed[layers.rows[0]])


def same_sizes(estimator, layers):
    """Refuse parameters that say other sizes than the atoms that are gone on from have."""
    n_atoms, widths = sizes_of(estimator, layers.widths[0])
    known = layers.n_atoms, layers.widths[: len(layers)]
    if (n_atoms, widths) != known:
        raise ValueError(
            f"n_atoms={n_atoms} and widths={widths[1:]}, but the atoms that were learned before "
            f"are {known[0]} with interfaces of {known[1][1:]}: fit anew without warm_start."
        )


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


def check_known(X):
    """Refuse rows that are all NaN."""
    empty = np.flatnonzero(np.isnan(X).all(axis=1))
    if len(empty):
        raise ValueError(
            f"X has rows without any value ({len(empty)}, the first of them {empty[0]}): all "
            "entries are NaN, so there is nothing to explain. Drop them."
        )


def _whole_numbers(name, value):
    values = tuple(value) if np.iterable(value) else (value,)
    if not all(isinstance(n, Integral) and not isinstance(n, bool) and n >= 1 for n in values):
        raise ValueError(f"{name} must be positive integers, one for each layer, got {value!r}.")
    return tuple(int(n) for n in values)


def _per(name, value, n, things, least):
    """A number for each of n things, at least so large, from one for all or from a list."""
    values = real_array(name, value)
    if values.shape not in ((), (n,)):
        raise ValueError(
            f"{name} must be one number for all, or one for each of the {n} {things}, got "
            f"{value!r}."
        )
    if not (values >= least).all():
        kind = "positive" if least > 0 else "not negative"
        raise ValueError(f"{name} must be finite and {kind}, got {value!r}.")
    return tuple(np.broadcast_to(values, n).tolist())
