"""The lasso by an active set, row by row; fast from a warm start as from zero.

A row minimises 1/2 a'Ga - b'a + the sum of thresholds times |a|. Its support is solved exactly
through the inverse of the support's Gram matrix; a code that would change sign on the way leaves
there. Then the correlations of all atoms with what is left show which ones violate the conditions
of optimality, and the worst of them enter. Every round lowers the objective, as far as rounding
errors let it.
"""

import numpy as np

from ..backend import kernel, subtract_rows
from ._support import empty_support, enter, leave, multiply, write_code

# Atoms that enter in a round: those whose violation is at least this part of the worst one, and no
# more than so many. Fewer would mean more rounds, more would mean atoms that soon leave again.
ENTRY_FRACTION = 0.6
MAX_ENTRIES = 8
# Swaps may go round in circles among atoms that differ by no more than rounding errors.
MAX_SWAPS = 20


@kernel
def active_set_rows(gram, targets, codes, rules, capacity, n_iter, residuals):
    """Solve every row, starting from the codes given, which are overwritten.

    gram : (n_atoms, n_atoms); targets, codes : (n_rows, n_atoms); n_iter, residuals : (n_rows,),
    written. Cost of a row: rounds * n_atoms * support + entries * support ** 2.
    """
    support = empty_support(capacity, gram)
    for i in range(codes.shape[0]):
        if largest_excess(targets[i], rules) <= 0:
            codes[i], n_iter[i], residuals[i] = 0, 0, 0
            continue
        size = adopt(support, codes[i], rules)
        size, n_iter[i], residuals[i] = optimise(gram, targets[i], support, size, False, rules)
        write_code(support, size, codes[i])


@kernel
def largest_excess(values, rules):
    """By how much a value exceeds its threshold at the most, relative to its atom's length."""
    worst = -np.inf
    for k in range(values.shape[0]):
        value = values[k] if rules.positive else abs(values[k])
        worst = max(worst, (value - rules.thresholds[k]) / rules.lengths[k])
    return worst


@kernel
def adopt(support, code, rules):
    """Take the non-zeros of a code as the support, without their inverse; return the size."""
    size = 0
    for k in range(code.shape[0]):
        if code[k] > 0 or (code[k] < 0 and not rules.positive):
            if size == support.atoms.shape[0]:
                break
            support.atoms[size] = k
            support.values[size] = code[k]
            support.signs[size] = 1 if code[k] > 0 else -1
            support.inside[k] = True
            size += 1
    return size


@kernel
def optimise(gram, target, support, size, factored, rules):
    """Rounds from the support given until optimal; return size, rounds and relative residual.

    factored : whether the support's inverse is there; it is made when it is first needed, so that
    a start that is optimal costs one check.
    """
    largest_target = largest_relative(target, rules)
    drift_before, stuck, n_swaps = np.inf, False, 0
    done, residual = 0, largest_target
    for done in range(rules.max_iter + 1):
        subtract_rows(target, gram, support.atoms, support.values, size, support.left)
        drift = support_residual(support, size, rules)
        # Inside the support it is at most the drift, so it may be taken over all atoms.
        excess = largest_excess(support.left, rules)
        length = weighted_norm1(support, size, rules)
        if not length < np.inf:  # an inverse beyond the range of numbers: nothing to go on from
            support.values[:size] = 0
            residual = np.inf
            break
        scale = max(largest_target, rules.rounding * length)
        residual = max(drift, excess) / scale
        if residual <= rules.tol or done == rules.max_iter:
            break
        tolerance = rules.tol * scale
        if not factored or not (drift <= tolerance or drift < drift_before / 2):
            size = factorise(gram, support, size, rules)
            factored = True
        drift_before = drift
        if excess > tolerance:
            grown = admit(gram, support, size, excess, tolerance, rules)
            if grown == size and drift <= tolerance:
                grown = swap(gram, support, size, rules)
                n_swaps += 1
            if (grown < 0 and stuck) or n_swaps > MAX_SWAPS + 4 * support.atoms.shape[0]:
                break
            # Where nothing can enter, the support may still be solved more closely, but once only.
            stuck = grown < 0
            if not stuck:
                drift_before = np.inf if grown != size else drift_before
                size = grown
        size = descend(support, size, rules)
    return size, done, residual


@kernel
def largest_relative(target, rules):
    """The largest |b|, relative to the atom's length."""
    worst = 0.0
    for k in range(target.shape[0]):
        worst = max(worst, abs(target[k]) / rules.lengths[k])
    return worst


@kernel
def weighted_norm1(support, size, rules):
    """Sum of the absolute values, each times the length of its atom."""
    total = 0.0
    for p in range(size):
        total += abs(support.values[p]) * rules.lengths[support.atoms[p]]
    return total


@kernel
def support_residual(support, size, rules):
    """How far the support's own equations are from holding, relative to the atoms' lengths."""
    worst = 0.0
    for p in range(size):
        atom = support.atoms[p]
        violation = abs(support.left[atom] - rules.thresholds[atom] * support.signs[p])
        worst = max(worst, violation / rules.lengths[atom])
    return worst


@kernel
def factorise(gram, support, size, rules):
    """Build the inverse of the support anew; atoms that depend on others drop out of it."""
    wanted = size
    size = 0
    for p in range(wanted):
        atom, value, sign = support.atoms[p], support.values[p], support.signs[p]
        grown = enter(gram, support, size, atom, sign, rules)
        if grown > size:
            support.values[size] = value
        else:
            support.inside[atom] = False
        size = grown
    return size


@kernel
def admit(gram, support, size, worst, tolerance, rules):
    """Let the worst violators enter; return the size."""
    bar = max(tolerance, ENTRY_FRACTION * worst)
    entries = 0
    for k in range(support.left.shape[0]):
        left = support.left[k]
        excess = (left if rules.positive else abs(left)) - rules.thresholds[k]
        if excess >= bar * rules.lengths[k] and not support.inside[k]:
            size = enter(gram, support, size, k, 1 if left > 0 else -1, rules)
            entries += 1
            if entries == MAX_ENTRIES:
                break
    return size


@kernel
def swap(gram, support, size, rules):
    """Let the worst violator, which depends on the support, enter for one of its atoms.

    Moving along the dependence leaves the fit as it is while the l1 norm falls, until a code
    reaches zero: its atom leaves. Returns the size, or -1 if there is no such move.
    """
    atom, worst = -1, 0.0
    for k in range(support.left.shape[0]):
        left = support.left[k] if rules.positive else abs(support.left[k])
        excess = (left - rules.thresholds[k]) / rules.lengths[k]
        if excess > worst and not support.inside[k]:
            atom, worst = k, excess
    sign = 1 if support.left[atom] > 0 else -1
    for p in range(size):
        support.cross[p] = gram[atom, support.atoms[p]]
    multiply(support.inverse, size, support.cross, support.trial)
    first, step = -1, np.inf
    for p in range(size):
        rate = sign * support.trial[p]
        if rate * support.signs[p] > 0 and support.values[p] / rate < step:
            first, step = p, support.values[p] / rate
    if first < 0:
        return -1
    for p in range(size):
        support.values[p] -= step * sign * support.trial[p]
    size = leave(support, size, first)
    grown = enter(gram, support, size, atom, sign, rules)
    if grown > size:
        support.values[size] = step * sign
    return grown


@kernel
def descend(support, size, rules):
    """Solve the support's equations; codes that would change sign leave on the way.

    The step is computed from what is left, so that it also mends the rounding errors of the steps
    before. Returns the size.
    """
    wanted, step_to = support.cross, support.trial
    for p in range(size):
        atom = support.atoms[p]
        wanted[p] = support.left[atom] - rules.thresholds[atom] * support.signs[p]
    while size > 0:
        multiply(support.inverse, size, wanted, step_to)
        first, part = -1, 1.0
        for p in range(size):
            value = support.values[p]
            if (value + step_to[p]) * support.signs[p] <= 0:
                share = max(0.0, -value / step_to[p]) if step_to[p] != 0 else 0.0
                if share < part or first < 0:
                    first, part = p, share
        for p in range(size):
            support.values[p] += part * step_to[p]
            wanted[p] *= 1 - part
        if first < 0:
            break
        wanted[first] = wanted[size - 1]
        size = leave(support, size, first)
    return size
