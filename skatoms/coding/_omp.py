"""Orthogonal matching pursuit, row by row: a given number of atoms, greedily chosen.

Codes to start from are kept where, fitted anew to the same atoms, they explain more: from one set
of atoms to the next the error never rises.
"""

import numpy as np

from ..backend import kernel, subtract_rows
from ._active_set import largest_relative, weighted_norm1
from ._support import empty_support, enter, multiply, write_code


@kernel
def omp_rows(gram, targets, codes, rules, n_nonzero, n_iter, residuals):
    """Code every row; `codes` holds what to start from and is overwritten.

    gram : (n_atoms, n_atoms); targets, codes : (n_rows, n_atoms); n_iter, residuals : (n_rows,),
    written. The residual is the largest relative gradient on the support, zero for an exact fit.
    Cost of a row: n_nonzero * (n_atoms * n_nonzero + n_nonzero ** 2).
    """
    support = empty_support(n_nonzero, gram)
    for i in range(codes.shape[0]):
        target, code = targets[i], codes[i]
        before = np.flatnonzero(code)
        size, kept_residual = choose(gram, target, support, before, rules)
        kept_value = explained(target, support, size)
        write_code(support, size, code)
        size, residual = choose(gram, target, support, before[:0], rules)
        n_iter[i] = size
        if len(before) > 0 and kept_value >= explained(target, support, size):
            for p in range(size):
                support.inside[support.atoms[p]] = False
            residuals[i] = kept_residual
        else:
            write_code(support, size, code)
            residuals[i] = residual


@kernel
def choose(gram, target, support, wanted, rules):
    """Fit the atoms wanted, or those of a pursuit if there are none; return size and residual."""
    scale = largest_relative(target, rules)
    size, residual = 0, 0.0
    support.left[:] = target
    for step in range(support.atoms.shape[0]):
        if step < len(wanted):
            atom = wanted[step]
        elif len(wanted) > 0:
            break
        else:
            atom = best_atom(support, rules, rules.tol * scale)
        if atom < 0:
            break
        grown = enter(gram, support, size, atom, 1, rules)
        if grown == size and len(wanted) == 0:
            break
        size = grown
        residual = fit_support(gram, target, support, size, rules)
    scale = max(scale, rules.rounding * weighted_norm1(support, size, rules))
    return size, residual / scale if scale > 0 else 0.0


@kernel
def explained(target, support, size):
    """By how much a code that is fitted to its support lowers the squared error."""
    total = 0.0
    for p in range(size):
        total += support.values[p] * target[support.atoms[p]]
    return total


@kernel
def best_atom(support, rules, tolerance):
    """The atom that explains most of what is left, -1 if none explains more than rounding."""
    best, atom = tolerance, -1
    for k in range(support.left.shape[0]):
        gain = abs(support.left[k]) / rules.lengths[k]
        if gain > best and not support.inside[k]:
            best, atom = gain, k
    return atom


@kernel
def fit_support(gram, target, support, size, rules):
    """Least squares on the support, one step of refinement; returns the largest gradient.

    That is relative to the atoms' lengths.
    """
    worst = 0.0
    subtract_rows(target, gram, support.atoms, support.values, size, support.left)
    for p in range(size):
        support.cross[p] = support.left[support.atoms[p]]
    multiply(support.inverse, size, support.cross, support.trial)
    for p in range(size):
        support.values[p] += support.trial[p]
    subtract_rows(target, gram, support.atoms, support.values, size, support.left)
    for p in range(size):
        atom = support.atoms[p]
        worst = max(worst, abs(support.left[atom]) / rules.lengths[atom])
    return worst
