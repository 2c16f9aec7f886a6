"""The support of one code: its atoms, their values, and the inverse of their Gram matrix.

The inverse is kept up to date as atoms enter and leave. Entering, leaving and solving are rank-1
updates and products with rows of contiguous memory: ``size ** 2`` multiplications each, without
the serial chain of a triangular solve.
"""

from collections import namedtuple

import numpy as np

from ..backend import kernel

# The first `size` entries of atoms, values, signs, cross, trial, work and inverse belong to the
# support; inside and left (the correlations with what the code leaves) have an entry per atom.
# All but left are float64, whatever the precision of the problem: an inverse in float32 would be
# lost on atoms that resemble each other, and the time goes into reading the Gram matrix anyway.
Support = namedtuple("Support", "atoms values signs cross trial work inverse inside left")


@kernel
def empty_support(capacity, gram):
    """Memory for a support of at most `capacity` of the atoms."""
    return Support(
        np.empty(capacity, np.int64),
        np.empty(capacity),
        np.empty(capacity),
        np.empty(capacity),
        np.empty(capacity),
        np.empty(capacity),
        np.empty((capacity, capacity)),
        np.zeros(gram.shape[0], np.bool_),
        np.empty(gram.shape[0], gram.dtype),
    )


@kernel
def multiply(inverse, size, vector, out):
    """out = inverse @ vector, on the first `size` entries. Cost: size ** 2."""
    for p in range(size):
        out[p] = 0
    for q in range(size):
        factor = vector[q]
        row = inverse[q]
        for p in range(size):
            out[p] += factor * row[p]


@kernel
def enter(gram, support, size, atom, sign, rules):
    """Let an atom enter with value 0 if it is independent and there is room; return the size.

    It is independent if its squared distance to the span of the support's atoms is above
    rules.dependence times its squared norm. support.work becomes its coordinates in that span.
    Cost: 2 * size ** 2.
    """
    row, cross, inverse, span = gram[atom], support.cross, support.inverse, support.work
    for p in range(size):
        cross[p] = row[support.atoms[p]]
    multiply(inverse, size, cross, span)
    square = np.float64(row[atom])
    distance = square
    for p in range(size):
        distance -= cross[p] * span[p]
    if size == support.atoms.shape[0] or not distance > rules.dependence * square:
        return size
    scale = 1 / distance
    for p in range(size):
        factor = span[p] * scale
        line = inverse[p]
        for q in range(size):
            line[q] += factor * span[q]
        line[size] = -factor
        inverse[size, p] = -factor
    inverse[size, size] = scale
    support.atoms[size] = atom
    support.values[size] = 0
    support.signs[size] = sign
    support.inside[atom] = True
    return size + 1


@kernel
def leave(support, size, position):
    """Let the atom at a position leave, the last one takes its place; return the size.

    Cost: size ** 2.
    """
    inverse, work, last = support.inverse, support.work, size - 1
    scale = 1 / inverse[position, position]
    for q in range(size):
        work[q] = inverse[position, q]
    for p in range(size):
        factor = work[p] * scale
        line = inverse[p]
        for q in range(size):
            line[q] -= factor * work[q]
    for q in range(size):
        inverse[position, q] = inverse[last, q]
    for p in range(last):
        inverse[p, position] = inverse[p, last]
    inverse[position, position] = inverse[last, last]
    support.inside[support.atoms[position]] = False
    support.atoms[position] = support.atoms[last]
    support.values[position] = support.values[last]
    support.signs[position] = support.signs[last]
    return last


@kernel
def write_code(support, size, code):
    """Write the support's values into a full code and empty the support."""
    code[:] = 0
    for p in range(size):
        code[support.atoms[p]] = support.values[p]
        support.inside[support.atoms[p]] = False
