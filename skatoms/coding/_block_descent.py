"""Descent on one group of atoms after the other, row by row; for penalties that groups share.

A group moves to the minimum of the objective with its curvature rounded up, while all other codes
stay: no step raises the objective, also where the penalty is not convex.
"""

from collections import namedtuple

import numpy as np
from scipy.linalg import eigvalsh

from ..backend import kernel, subtract_rows
from ._penalties import L0

# atoms : the atoms, group by group; starts : where groups start, with the end.
# curvatures : the largest eigenvalue of each group's part of G, 0 for groups of zero atoms.
# norms : the weight of the norm of each group. entries : that of absolute values.
# jump : that of a non-zero. positive : whether codes must not be negative.
Blocks = namedtuple("Blocks", "atoms starts curvatures norms entries jump positive")

# Rounds between two looks at the residuals: the first, and how fast they grow.
FIRST_ROUNDS = 4
GROWTH = 1.5


def blocks_of(problem):
    """The Blocks of a problem with a GroupL1 or L0 penalty."""
    penalty, alpha, n_atoms = problem.penalty, float(problem.alpha), len(problem.gram)
    hard = isinstance(penalty, L0)
    labels = np.arange(n_atoms) if hard else penalty.labels(n_atoms)
    n_groups = labels.max() + 1
    atoms = np.argsort(labels, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(labels, minlength=n_groups))])
    curvatures = np.empty(n_groups)
    for g in range(n_groups):
        members = atoms[starts[g] : starts[g + 1]]
        curvatures[g] = eigvalsh(problem.gram[np.ix_(members, members)].astype(np.float64))[-1]
    return Blocks(
        atoms,
        starts,
        np.maximum(curvatures, 0) * (1 + 1e-12),
        np.zeros(n_groups) if hard else alpha * penalty.slopes(n_atoms),
        0.0 if hard else alpha * float(penalty.l1_ratio),
        alpha if hard else 0.0,
        bool(penalty.positive),
    )


def block_descent_rows(problem, targets, codes):
    """Solve the rows from the codes given, in place; returns n_iter and the relative residuals.

    Cost of a round: n_atoms, and n_atoms for each atom whose code changes, a row.
    """
    blocks = problem.prepared(blocks_of)
    n_iter = np.zeros(len(codes), np.int64)
    residuals = np.empty(len(codes), problem.dtype)
    rows, done, n_rounds = np.arange(len(codes)), 0, FIRST_ROUNDS
    while len(rows) > 0 and done < problem.max_iter:
        code, target = codes[rows], targets[rows]
        left = np.empty_like(code)
        n_rounds = min(n_rounds, problem.max_iter - done)
        descend_blocks(problem.gram, target, code, left, blocks, n_rounds)
        done += n_rounds
        codes[rows], n_iter[rows] = code, done
        residuals[rows] = problem.relative_residuals(target, code, left)
        rows = rows[~(residuals[rows] <= problem.tolerance)]
        n_rounds = int(GROWTH * n_rounds)
    return n_iter, residuals


@kernel
def descend_blocks(gram, targets, codes, left, blocks, n_rounds):
    """So many rounds over all groups of all rows; `left` becomes what the codes leave."""
    everyone = np.arange(gram.shape[0])
    trial = np.empty(gram.shape[0])
    for i in range(codes.shape[0]):
        code, rest = codes[i], left[i]
        subtract_rows(targets[i], gram, everyone, code, code.shape[0], rest)
        for _ in range(n_rounds):
            for g in range(blocks.curvatures.shape[0]):
                move_block(gram, code, rest, blocks, g, trial)
        # Anew: updates have piled up rounding errors.
        subtract_rows(targets[i], gram, everyone, code, code.shape[0], rest)


@kernel
def move_block(gram, code, rest, blocks, g, trial):
    """Move the codes of group g to the minimum; `rest` follows."""
    first, stop, curvature = blocks.starts[g], blocks.starts[g + 1], blocks.curvatures[g]
    square = 0.0
    for p in range(first, stop):
        k = blocks.atoms[p]
        value = 0.0
        if curvature > 0:
            value = code[k] + rest[k] / curvature
            size = value if blocks.positive else abs(value)
            size -= blocks.entries / curvature
            if size <= 0 or size * size * curvature <= 2 * blocks.jump:
                value = 0.0
            else:
                value = size if value > 0 else -size
        trial[p] = value
        square += value * value
    norm = np.sqrt(square)
    keep = 0.0 if norm == 0 else max(0.0, 1 - blocks.norms[g] / (curvature * norm))
    for p in range(first, stop):
        k = blocks.atoms[p]
        # In the precision of the code, or `rest` would follow another change.
        before = code[k]
        code[k] = keep * trial[p]
        change = code[k] - before
        if change != 0:
            row = gram[k]
            for q in range(rest.shape[0]):
                rest[q] -= change * row[q]
