"""States that agree with the data and with the operator, both estimated together.

Minimises ``sum |data - x|^2 + gamma sum |x next - f(x)|^2`` over states x and a map f by turns: f
is a least-squares fit, states take Gauss-Newton steps that are shortened until the sum falls.
"""

import numpy as np
from scipy.linalg import solveh_banded

DIFFERENCE = 1e-4  # of the scale: the step of numerical derivatives
SHORTEST_STEP = 1e-3


def denoised(data, firsts, fit_map, gamma, max_iter, tol):
    """States, the objective after each half-step, and the number of turns.

    Parameters
    ----------
    data : ndarray of shape (n, p)
        Framed states.
    firsts : ndarray of int
        Rows that are followed by the next one.
    fit_map : callable
        ``fit_map(states)`` returns the best map: states to next states.
    gamma : float
    max_iter : int
    tol : float
        Stops when a turn lowers the objective by less than this part.
    """
    known = ~np.isnan(data)
    states = np.where(known, data, 0.0)
    weights, target = known.astype(float), np.where(known, data, 0.0)
    move = fit_map(states)
    history = [_objective(target, weights, states, firsts, move, gamma)]
    n_iter = 0
    while n_iter < max_iter:
        n_iter += 1
        states = _better(target, weights, states, firsts, move, gamma, history[-1])
        history.append(_objective(target, weights, states, firsts, move, gamma))
        new = fit_map(states)
        value = _objective(target, weights, states, firsts, new, gamma)
        if value <= history[-1]:  # but for rounding it is
            move = new
            history.append(value)
        if len(history) > 2 and history[-3] - history[-1] <= tol * history[-3]:
            break
    return states, np.array(history), n_iter


def _objective(target, weights, states, firsts, move, gamma):
    misfit = (weights * (target - states) ** 2).sum()
    return float(misfit + gamma * ((states[firsts + 1] - move(states[firsts])) ** 2).sum())


def _better(target, weights, states, firsts, move, gamma, before):
    """One Gauss-Newton step: the normal equations are banded, since only neighbours meet."""
    n, p = states.shape
    slopes = _slopes(move, states[firsts])
    rest = states[firsts + 1] - move(states[firsts])
    own = np.zeros((n, p, p))
    own[:, range(p), range(p)] = weights + 1e-12
    own[firsts] += gamma * np.einsum("nki,nkj->nij", slopes, slopes)
    own[firsts + 1] += gamma * np.eye(p)
    link = np.zeros((n, p, p))
    link[firsts + 1] = -gamma * slopes
    pull = weights * (target - states)
    pull[firsts + 1] -= gamma * rest
    pull[firsts] += gamma * np.einsum("nki,nk->ni", slopes, rest)
    bands = np.zeros((2 * p, n * p))
    for i in range(p):
        for j in range(p):
            if i >= j:
                bands[i - j, j::p] = own[:, i, j]
            bands[p + i - j, j::p][:-1] = link[1:, i, j]
    step = solveh_banded(bands, pull.ravel(), lower=True).reshape(n, p)
    length = 1.0
    while length > SHORTEST_STEP:
        tried = states + length * step
        if _objective(target, weights, tried, firsts, move, gamma) <= before:
            return tried
        length /= 2
    return states


def _slopes(move, states):
    """Derivatives of the map, (n, p next, p)."""
    n, p = states.shape
    slopes = np.empty((n, p, p))
    for j in range(p):
        shift = np.zeros(p)
        shift[j] = DIFFERENCE
        slopes[:, :, j] = (move(states + shift) - move(states - shift)) / (2 * DIFFERENCE)
    return slopes
