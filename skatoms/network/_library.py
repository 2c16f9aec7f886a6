"""The atoms of a network as a library: who does what, parts, unions, atoms that stay."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from .._validation import features_of, keep_features
from ..basis._statistics import Statistics
from ._settings import layers_of


class AtomLibraryMixin:
    """Atoms are numbered through all layers, the one next to the data first."""

    # What networks have, for type checks.
    n_atoms: Any
    widths: Any
    input_atoms_: list
    output_atoms_: list
    frozen_: np.ndarray
    n_samples_seen_: float
    _statistics: Statistics
    _outputs: tuple | None
    _layers: Callable
    _components: Callable
    _coded: Callable
    _check_new: Callable

    @property
    def usage_(self) -> np.ndarray:
        """The mean squared code of each atom in what was learned from, (n_atoms of all layers,)."""
        check_is_fitted(self)
        return self._statistics.codes_codes.diagonal() / self._statistics.weight

    def responsibility(self, X: ArrayLike) -> np.ndarray:
        """Which atom explains how much of which sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        shares : ndarray of shape (n_samples, n_atoms of all layers)
            The part of the squared length of what a layer has to explain, the sample or what the
            layer below says, that the product of code and input of the atom accounts for. The
            shares of a layer add up to one if it explains all.
        """
        X = self._check_new(X)
        layers, shares = self._layers(), []
        for longer, codes in self._coded(X):
            part = np.empty_like(codes)
            below = np.nan_to_num(longer[:, layers.columns[0]])
            for layer, rows in enumerate(layers.rows):
                matches = codes[:, rows] * (below @ self.input_atoms_[layer].T)
                length = np.einsum("ij,ij->i", below, below)[:, None]
                part[:, rows] = np.divide(matches, length, where=length > 0, out=0 * matches)
                if layer + 1 < len(layers):
                    below = codes[:, rows] @ self.output_atoms_[layer]
            shares.append(part)
        return np.concatenate(shares)

    def select_atoms(self, mask: ArrayLike) -> Self:
        """A network of a part of the atoms, without learning anything.

        Parameters
        ----------
        mask : array-like of bool of shape (n_atoms of all layers,)
            Which atoms it has; at least one of each layer.

        Returns
        -------
        network : estimator
            A new network, fitted.
        """
        mask, layers = self._checked_mask(mask), self._layers()
        kept = [mask[rows] for rows in layers.rows]
        if not all(part.any() for part in kept):
            raise ValueError("mask must keep at least one atom of each layer.")
        if layers.top_k is not None and kept[-1].sum() < layers.top_k:
            raise ValueError(
                f"mask must keep at least top_k={layers.top_k} atoms of the top layer, but keeps "
                f"{kept[-1].sum()}."
            )
        part = deepcopy(self)
        part.n_atoms = tuple(int(some.sum()) for some in kept)
        part.widths = layers.widths[1 : len(layers)] or None
        part.input_atoms_ = [a[k] for a, k in zip(self.input_atoms_, kept, strict=True)]
        part.output_atoms_ = [a[k] for a, k in zip(self.output_atoms_, kept, strict=False)]
        part.frozen_ = self.frozen_[mask]
        part._statistics = part_of(self._statistics, mask)
        part._select_outputs(mask)
        return part

    def prune(self, least_usage: float = 0.0) -> Self:
        """A network without the atoms that are used too little.

        Parameters
        ----------
        least_usage : float, default=0.0
            Atoms of a `usage_` above this are kept.

        Returns
        -------
        network : estimator
            A new network, fitted.
        """
        return self.select_atoms(self.usage_ > least_usage)

    def freeze(self, mask: ArrayLike) -> Self:
        """Say which atoms learning must not touch from now on.

        `partial_fit`, and `fit` with ``warm_start=True``, leave them as they are to the last bit.

        Parameters
        ----------
        mask : array-like of bool of shape (n_atoms of all layers,)
            True for atoms that stay; it replaces the mask given before.

        Returns
        -------
        self : estimator
        """
        self.frozen_ = self._checked_mask(mask)
        return self

    def merge(self, other: Self) -> Self:
        """The union of two networks, without learning anything.

        Each keeps its atoms and its own part of every interface, so that a sample of one of them
        has the codes that it had there, unless atoms of the other explain it as well; a mixture of
        both can be explained by both. What is predicted is the sum of what both predict, intercepts
        and all: that is right for mixtures whose targets add up.

        Parameters
        ----------
        other : estimator
            A fitted network of the same class, with as many layers, features and outputs.

        Returns
        -------
        network : estimator
            A new network, fitted, with the parameters of this one.
        """
        check_is_fitted(self)
        self._refuse_other(other)
        union, ours, theirs = clone(self), self._layers(), other._layers()
        n = len(ours)
        n_atoms = np.add(ours.n_atoms, theirs.n_atoms)
        within = np.add(ours.widths[1:n], theirs.widths[1:n]).astype(int)
        union.n_atoms, union.widths = tuple(n_atoms.tolist()), tuple(within.tolist()) or None
        keep_features(union, features_of(self))
        union._outputs = self._outputs
        layers = layers_of(union, n_atoms, (ours.widths[0], *within), self._outputs)
        rows = _places(ours.n_atoms, theirs.n_atoms)
        columns = _places(ours.widths, theirs.widths, shared={0, n})
        components = np.zeros(layers.shape, self.input_atoms_[0].dtype)
        union.frozen_, union.n_samples_seen_ = np.zeros(layers.shape[0], bool), 0.0
        for network, its_rows, its_columns in zip((self, other), rows, columns, strict=True):
            # Targets may count differently in either.
            own = replace(network._layers(), counts=layers.counts)
            its = network._components(own, components.dtype)
            components[np.ix_(its_rows, its_columns)] = its
            union.frozen_[its_rows] = network.frozen_
            union.n_samples_seen_ += network.n_samples_seen_
        union.input_atoms_, union.output_atoms_ = layers.inputs_and_outputs(components)
        union._statistics = union_of(
            [self._statistics, _rescaled(other, layers)], rows, columns, layers.shape
        )
        union._merge_outputs(self, other, rows)
        return union

    def _select_outputs(self, mask):
        """Adapt what predicts targets, if there are any."""

    def _merge_outputs(self, ours, theirs, rows):
        """Take what predicts targets from both networks, if there are any."""

    def _refuse_other(self, other):
        if type(other) is not type(self):
            raise TypeError(
                f"other must be a {type(self).__name__} too, got a {type(other).__name__}."
            )
        check_is_fitted(other, msg="other is a %(name)s that is not fitted yet: fit it first.")
        ours, theirs = self._layers(), other._layers()
        n = len(ours)
        for what, mine, its in (
            ("layers", n, len(theirs)),
            ("features", ours.widths[0], theirs.widths[0]),
            ("outputs", ours.widths[n:], theirs.widths[n:]),
            ("weights of interfaces (top_down)", ours.counts[1:n], theirs.counts[1:n]),
            ("alpha", ours.alphas, theirs.alphas),
            ("top_k", ours.top_k, theirs.top_k),
            ("positive", ours.positive, theirs.positive),
        ):
            if mine != its:
                raise ValueError(
                    f"other has {what} {its}, but this network has {mine}: networks of different "
                    "make can not be merged."
                )

    def _checked_mask(self, mask):
        check_is_fitted(self)
        mask, n_atoms = np.asarray(mask), self._layers().shape[0]
        if mask.dtype != bool or mask.shape != (n_atoms,):
            raise ValueError(
                f"mask must be True or False for each of the {n_atoms} atoms of all layers, got an "
                f"array of {mask.dtype} of shape {mask.shape}."
            )
        return mask.copy()


def _rescaled(network, layers):
    """The statistics of a network with targets that count as in other layers."""
    factors = [new / old for new, old in zip(layers.scales, network._layers().scales, strict=True)]
    columns = np.repeat(factors, network._layers().widths)
    known = network._statistics
    return replace(known, codes_data=known.codes_data * columns)


def _places(ours, theirs, shared=()):
    """Where the entries of either of two networks are among those of both.

    ours, theirs : how many there are of each part; ours come first in each, and parts in `shared`
    are the same for both.
    """
    places, start = ([], []), 0
    for part, (size, other) in enumerate(zip(ours, theirs, strict=True)):
        offset = 0 if part in shared else size
        places[0].append(start + np.arange(size))
        places[1].append(start + offset + np.arange(other))
        start += offset + other
    return [np.concatenate(some) for some in places]


def part_of(statistics, rows):
    """Statistics of a part of the atoms."""
    return replace(
        statistics,
        codes_codes=statistics.codes_codes[np.ix_(rows, rows)],
        codes_data=statistics.codes_data[rows],
    )


def union_of(all_statistics, all_rows, all_columns, shape):
    """Statistics of the atoms of several networks, none of which saw the others' samples."""
    total = Statistics(np.zeros(2 * shape[:1]), np.zeros(shape), 0.0, 0.0, 0.0)
    for statistics, rows, columns in zip(all_statistics, all_rows, all_columns, strict=True):
        codes_codes, codes_data = np.zeros_like(total.codes_codes), np.zeros(shape)
        codes_codes[np.ix_(rows, rows)] = statistics.codes_codes
        codes_data[np.ix_(rows, columns)] = statistics.codes_data
        total += replace(statistics, codes_codes=codes_codes, codes_data=codes_data)
    return total
