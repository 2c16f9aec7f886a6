"""The layers of a network, laid out as one basis of longer samples.

A sample x is made longer by a zero for each entry of each interface, and by the target if there is
one. The atom k of layer l, with input s and output u, has ``-sqrt(count[l]) s`` where the interface
below is and ``sqrt(count[l + 1]) u`` where the one above is, so that what a longer sample and its
codes leave there is what layer l says of it less what layer l + 1 makes of that. The energy of a
network is then the lasso of the longer sample, and convex in the codes of all layers together.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from math import sqrt

import numpy as np

from ..basis import Constraint
from ..coding import L1, TopK


@dataclass(frozen=True)
class Layers:
    """Sizes and weights.

    Attributes
    ----------
    n_atoms : tuple of int
        Atoms of each layer, the one next to the data first.
    widths : tuple of int
        What there is to explain for each layer: n_features, then the width of each interface; and
        the number of outputs at the end, if there are any.
    counts : tuple of float
        How much the squared error of each of `widths` counts.
    alphas : tuple of float
        Weights of the absolute values of codes, relative to the count of the layer.
    top_k : int or None
        The number of non-zero codes in the top layer, which then cost nothing.
    positive : bool
        Whether codes must not be negative.
    """

    n_atoms: tuple
    widths: tuple
    counts: tuple
    alphas: tuple
    top_k: int | None = None
    positive: bool = False

    def __len__(self):
        return len(self.n_atoms)

    @cached_property
    def rows(self):
        """For each layer, the slice of its atoms among all."""
        return _slices(self.n_atoms)

    @cached_property
    def columns(self):
        """For each of `widths`, the slice of it in a longer sample."""
        return _slices(self.widths)

    @cached_property
    def scales(self):
        """What each of `widths` is multiplied by: negative where it is the input of a layer."""
        below = range(1, len(self))
        return [-sqrt(c) if k in below else sqrt(c) for k, c in enumerate(self.counts)]

    @property
    def shape(self):
        """Number of all atoms and the length of a longer sample."""
        return sum(self.n_atoms), sum(self.widths)

    @property
    def outputs(self):
        """How many outputs there are, and how much they count; None if there are none."""
        n = len(self)
        return (*self.widths[n:], *self.counts[n:]) or None

    def lowest(self, n):
        """The n layers next to the data, without outputs of their top."""
        return replace(
            self,
            n_atoms=self.n_atoms[:n],
            widths=self.widths[:n],
            counts=self.counts[:n],
            alphas=self.alphas[:n],
        )

    @property
    def without_outputs(self):
        """The same without outputs at the top."""
        return self.lowest(len(self))

    @property
    def parts(self):
        """For each layer its input part, then its output part: rows, columns and the scale."""
        for layer, rows in enumerate(self.rows):
            yield rows, self.columns[layer], self.scales[layer]
            if layer + 1 < len(self.widths):
                yield rows, self.columns[layer + 1], abs(self.scales[layer + 1])

    def components(self, inputs, outputs):
        """One atom a row, as long as a longer sample, of the atoms' inputs and outputs."""
        components = np.zeros(self.shape, inputs[0].dtype)
        blocks = [block for pair in zip(inputs, [*outputs, None], strict=False) for block in pair]
        for (rows, columns, scale), block in zip(self.parts, blocks, strict=False):
            components[rows, columns] = scale * block
        return components

    def inputs_and_outputs(self, components):
        """The inputs and the outputs of the atoms of each layer, from such rows."""
        blocks = [components[rows, columns] / scale for rows, columns, scale in self.parts]
        return blocks[::2], blocks[1::2]

    def longer(self, X, targets=None):
        """Longer samples of samples, with targets if there are any."""
        length = self.shape[1] if targets is not None else sum(self.widths[: len(self)])
        result = np.zeros((len(X), length), X.dtype)
        result[:, self.columns[0]] = X
        if targets is not None:
            result[:, self.columns[-1]] = self.scales[-1] * targets
        return result

    @cached_property
    def penalty(self):
        """What codes of all layers cost, in the energy."""
        weights = np.repeat(np.multiply(self.counts[: len(self)], self.alphas), self.n_atoms)
        if self.top_k is not None:
            weights[self.rows[-1]] = 0
        return L1(self.positive, weights)

    @cached_property
    def top_penalty(self):
        """The penalty of the top layer alone, where it counts codes."""
        return TopK(self.top_k)


class LayerNorms(Constraint):
    """Inputs meet a constraint of norm 1, outputs within the network stay as they are.

    If these could move, the energy would be least where all of them were the same, so that a single
    atom explained what a layer says. Outputs at the top are free. Everything else is zero.

    Parameters
    ----------
    layers : Layers
    constraint : Constraint
        Of the inputs of the first layer; those of the others have norm 1.
    feature_shape : tuple of int
    components : ndarray of shape (n_atoms of all layers, length)
        Atoms whose outputs are those that stay.
    """

    def __init__(self, layers, constraint, feature_shape, components):
        self.layers = layers
        self.constraint = constraint
        self.feature_shape = feature_shape
        self.components = components

    def project(self, values, shape):
        """The nearest such atoms; NaN where all are as near."""
        layers, result = self.layers, np.zeros_like(values)
        sphere, inside = super(), sum(layers.widths[: len(layers)])
        for place, (rows, columns, scale) in enumerate(layers.parts):
            block = values[rows, columns]
            if place == 0:
                block = scale * self.constraint.project(block / scale, self.feature_shape)
            elif place % 2 == 0:
                block = abs(scale) * sphere.project(block, shape)
            elif columns.start < inside:
                block = self.components[rows, columns]
            result[rows, columns] = block
        return result


def _slices(sizes):
    ends = list(accumulate(sizes))
    return [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]
