"""The lasso by its path, row by row: exact, from zero down to the alpha that is asked for.

With falling weight, codes move on straight lines between events: an atom's correlation with what
is left reaches the weight and it enters, or a code reaches zero and its atom leaves.
"""

import numpy as np

from ..backend import kernel, subtract_rows
from ._active_set import optimise
from ._support import empty_support, enter, leave, multiply, write_code


@kernel
def homotopy_rows(gram, targets, codes, rules, capacity, n_iter, residuals):
    """Solve every row from zero; what `codes` held is overwritten.

    gram : (n_atoms, n_atoms); targets, codes : (n_rows, n_atoms); n_iter, residuals : (n_rows,),
    written. Cost of a row: steps * n_atoms * support. Where the path meets atoms that depend on
    each other, or rounding errors have grown, active-set rounds finish the row.
    """
    support = empty_support(capacity, gram)
    rates = np.empty_like(gram[0])
    zeros = np.zeros_like(gram[0])
    for i in range(codes.shape[0]):
        if largest(targets[i], rules.positive) <= rules.alpha:
            codes[i], n_iter[i], residuals[i] = 0, 0, 0
            continue
        size, steps = follow_path(gram, targets[i], support, rates, zeros, rules)
        size, rounds, residuals[i] = optimise(gram, targets[i], support, size, True, rules)
        n_iter[i] = steps + rounds
        write_code(support, size, codes[i])


@kernel
def largest(values, positive):
    """The largest value, or the largest absolute value."""
    worst = 0.0
    for k in range(values.shape[0]):
        worst = max(worst, np.float64(values[k] if positive else abs(values[k])))
    return worst


@kernel
def follow_path(gram, target, support, rates, zeros, rules):
    """Go down the path from code zero to weight alpha; return the size and the steps taken."""
    left = support.left
    left[:] = target
    weight = largest(left, rules.positive)
    size, departed, atom = 0, -1, -1
    for k in range(left.shape[0]):
        if (left[k] if rules.positive else abs(left[k])) == weight:
            atom = k
    for step in range(rules.max_iter):
        if weight <= rules.alpha:
            return size, step
        if atom >= 0:
            grown = enter(gram, support, size, atom, 1 if left[atom] > 0 else -1, rules)
            if grown == size:
                return size, step
            size = grown
        multiply(support.inverse, size, support.signs, support.trial)
        subtract_rows(zeros, gram, support.atoms, support.trial, size, rates)
        length, atom = next_entry(
            support, rates, weight, rules.positive, departed, weight - rules.alpha
        )
        length, leaving = next_exit(support, size, length)
        for p in range(size):
            support.values[p] += length * support.trial[p]
        for k in range(left.shape[0]):
            left[k] += length * rates[k]
        weight -= length
        departed = -1
        if leaving >= 0:
            departed, atom = support.atoms[leaving], -1
            size = leave(support, size, leaving)
        elif atom < 0:
            return size, step + 1
    return size, rules.max_iter


@kernel
def next_entry(support, rates, weight, positive, departed, length):
    """The step at which the next atom's correlation meets the falling weight, and the atom."""
    atom = -1
    for k in range(rates.shape[0]):
        if support.inside[k] or k == departed:
            continue
        left, rate = support.left[k], rates[k]
        # How fast the falling weight comes nearer to the correlation from above, from below.
        above, below = 1 + rate, 1 - rate
        if above > 0 and weight - left < length * above:
            length, atom = max(weight - left, 0.0) / above, k
        if not positive and below > 0 and weight + left < length * below:
            length, atom = max(weight + left, 0.0) / below, k
    return length, atom


@kernel
def next_exit(support, size, length):
    """The step at which the next code reaches zero, if that comes first, and its position."""
    leaving = -1
    for p in range(size):
        speed = support.trial[p]
        if speed * support.signs[p] < 0 and -support.values[p] / speed < length:
            length, leaving = -support.values[p] / speed, p
    return length, leaving
