"""Orthogonal matching pursuit, row by row: a given number of atoms, greedily chosen."""

from ..backend import kernel, subtract_rows
from ._active_set import largest_relative, weighted_norm1
from ._support import empty_support, enter, multiply, write_code


@kernel
def omp_rows(gram, targets, codes, rules, n_nonzero, n_iter, residuals):
    """Add the atom that lowers the error of the residual most, then fit all; n_nonzero times.

    gram : (n_atoms, n_atoms); targets, codes : (n_rows, n_atoms); codes, n_iter, residuals
    written. A row ends early where nothing is left that an atom could explain.
    Cost of a row: n_nonzero * n_atoms * n_nonzero / 2.
    """
    support = empty_support(n_nonzero, gram)
    for i in range(codes.shape[0]):
        scale = largest_relative(targets[i], rules)
        size, residual = 0, 0.0
        support.left[:] = targets[i]
        for _ in range(n_nonzero):
            atom = best_atom(support, rules, rules.tol * scale)
            if atom < 0:
                break
            grown = enter(gram, support, size, atom, 1, rules)
            if grown == size:
                break
            size = grown
            residual = fit_support(gram, targets[i], support, size, rules)
        scale = max(scale, rules.rounding * weighted_norm1(support, size, rules))
        n_iter[i] = size
        residuals[i] = residual / scale if scale > 0 else 0
        write_code(support, size, codes[i])


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
