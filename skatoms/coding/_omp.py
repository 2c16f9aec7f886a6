"""Orthogonal matching pursuit, row by row: a given number of atoms, greedily chosen."""

from ..backend import kernel, subtract_rows
from ._active_set import largest, norm1
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
        scale = largest(targets[i], False)
        size, residual = 0, 0.0
        support.left[:] = targets[i]
        for _ in range(n_nonzero):
            atom = best_atom(gram, support.left, support.inside, rules.tol * scale)
            if atom < 0:
                break
            grown = enter(gram, support, size, atom, 1, rules)
            if grown == size:
                break
            size = grown
            residual = fit_support(gram, targets[i], support, size)
        scale = max(scale, rules.rounding * norm1(support.values, size))
        n_iter[i] = size
        residuals[i] = residual / scale if scale > 0 else 0
        write_code(support, size, codes[i])


@kernel
def best_atom(gram, left, inside, tolerance):
    """The atom that explains most of what is left, -1 if none explains more than rounding."""
    best, atom = 0.0, -1
    for k in range(left.shape[0]):
        gain = left[k] * left[k] / gram[k, k] if abs(left[k]) > tolerance else 0.0
        if gain > best and not inside[k]:
            best, atom = gain, k
    return atom


@kernel
def fit_support(gram, target, support, size):
    """Least squares on the support, one step of refinement; returns the largest gradient."""
    worst = 0.0
    subtract_rows(target, gram, support.atoms, support.values, size, support.left)
    for p in range(size):
        support.cross[p] = support.left[support.atoms[p]]
    multiply(support.inverse, size, support.cross, support.trial)
    for p in range(size):
        support.values[p] += support.trial[p]
    subtract_rows(target, gram, support.atoms, support.values, size, support.left)
    for p in range(size):
        worst = max(worst, abs(support.left[support.atoms[p]]))
    return worst
