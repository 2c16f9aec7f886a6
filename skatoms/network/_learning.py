"""How the atoms of a network start and learn."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ..basis._alternation import BasisProblem
from ..basis._atoms import AtomRules, normalised, random_atoms, redrawn, update_atoms
from ._layers import Layers
from ._settle import settle

# Samples whose codes give the inputs of a layer above to start from, for each of its atoms.
DRAWN_PER_ATOM = 4


@dataclass(frozen=True)
class NetworkProblem(BasisProblem):
    """The energy of a network as a function of all its atoms.

    Attributes
    ----------
    layers : Layers
    input_rules : AtomRules
        What is asked of the inputs of the first layer.
    hebb : bool
        Whether atoms learn by the local rule; otherwise by block updates.
    horizon : float
        What a stream has seen counts as no more than this, so that steps stop to get shorter.
    """

    layers: Layers
    input_rules: AtomRules
    hebb: bool
    horizon: float = np.inf

    # Atoms that a stream does not use may be known of samples that come again.
    faded: ClassVar[float | None] = None

    def code(self, X, atoms, start=None, output="sparse", ties=None):
        """Codes of longer samples for these atoms, and the report on them."""
        how = {"start": start, "output": output, "n_jobs": self.n_jobs}
        return settle(self.layers, X, atoms, **how)

    def follow(self, stream, newest, atoms):
        """Atoms one step on. Those that the newest samples do not use stay as they are."""
        used = newest.codes_codes.diagonal() > 0
        if self.rules.fixed is not None:
            used &= ~self.rules.fixed
        statistics = stream.advance(newest)
        stream.seen = min(stream.seen, self.horizon)
        if self.hebb:
            return hebbian_step(statistics, newest, atoms, np.flatnonzero(used), self.rules)
        return update_atoms(statistics, atoms, replace(self.rules, fixed=~used))

    def redrawn(self, atoms, unused, samples, errors):
        """Atoms with the inputs of unused ones of the first layer put on samples."""
        rows, columns = self.layers.rows[0], self.layers.columns[0]
        short = replace(samples, X=samples.X[:, columns])
        inputs = redrawn(
            atoms[rows, columns], unused[unused < rows.stop], short, errors, self.input_rules
        )
        atoms = atoms.copy()
        atoms[rows, columns] = inputs
        return atoms


def hebbian_step(statistics, newest, atoms, used, rules):
    """Add the sum of residual times code to each used atom, by a step of its own.

    For the codes of least energy this is minus the gradient of that energy with respect to the
    atom. The step is one over what the atom was used, alone and together with others, in all that
    the stream has seen: short enough to lower the energy of the newest samples, and ever shorter.
    Cost: that of the statistics, which follows the non-zeros of the codes, and
    ``len(used) ** 2 * length``.
    """
    together = newest.codes_codes[np.ix_(used, used)]
    push = newest.codes_data[used] - together @ atoms[used].astype(np.float64)
    moved = atoms.astype(np.float64)
    moved[used] += push / np.abs(statistics.codes_codes[used]).sum(axis=1)[:, None]
    feasible = rules.constraint.project(moved, rules.shape)
    result = atoms.copy()
    used = used[np.isfinite(feasible[used]).all(axis=1)]
    result[used] = feasible[used]
    return result


def first_components(layers, samples, rng, input_rules):
    """Atoms to start from.

    Inputs of the first layer are samples, those of the others what the layers below make of
    samples. Outputs are random directions, orthogonal if there is room, or zero where targets are
    to be explained.
    """
    short = replace(samples, X=samples.X[:, layers.columns[0]])
    inputs, outputs = [random_atoms(short, layers.n_atoms[0], rng, input_rules)], []
    dtype = samples.X.dtype
    for depth in range(1, len(layers)):
        n_atoms, width = layers.n_atoms[depth - 1], layers.widths[depth]
        directions = rng.standard_normal((width, n_atoms))
        directions = np.linalg.qr(directions)[0] if width >= n_atoms else directions
        outputs.append(normalised(directions.T).astype(dtype))
        lower = replace(layers.lowest(depth), top_k=None)
        drawn = samples.X[samples.rows[: DRAWN_PER_ATOM * layers.n_atoms[depth]]]
        drawn = lower.longer(drawn[:, layers.columns[0]])
        codes = settle(lower, drawn, lower.components(inputs, outputs))[0]
        interface = codes[:, lower.rows[-1]] @ outputs[-1]
        interface = interface[interface.any(axis=1)][: layers.n_atoms[depth]]
        fill = rng.standard_normal((layers.n_atoms[depth] - len(interface), width))
        inputs.append(normalised(np.concatenate([interface, fill])).astype(dtype))
    if len(layers.widths) > len(layers):
        outputs.append(np.zeros((layers.n_atoms[-1], layers.widths[-1]), dtype))
    return layers.components(inputs, outputs)
