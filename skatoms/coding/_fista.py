"""Accelerated proximal gradient for many rows at once; any penalty with a prox."""

import numpy as np


def fista_rows(problem, targets, codes):
    """Solve the rows from the codes given, in place; rows that are done drop out of the batch.

    Momentum restarts, for a row of its own, when it points uphill. Cost: iterations * n_atoms ** 2
    a row, in matrix products.

    Parameters
    ----------
    problem : CodingProblem
    targets, codes : ndarray of shape (n_rows, n_atoms)

    Returns
    -------
    n_iter, residuals : ndarray of shape (n_rows,)
        The residuals are KKT residuals relative to the scales of the rows.
    """
    gram, penalty, alpha = problem.gram, problem.penalty, float(problem.alpha)
    n_iter = np.empty(len(codes), np.int64)
    residuals = np.empty(len(codes), codes.dtype)
    step = codes.dtype.type(1 / problem.curvature)
    rows = np.arange(len(codes))
    code = codes.copy()
    left = targets - code @ gram
    code_before, left_before = code, left
    speed = np.ones((len(codes), 1), codes.dtype)
    for iteration in range(problem.max_iter + 1):
        residuals[rows] = problem.relative_residuals(targets[rows], code, left)
        codes[rows], n_iter[rows] = code, iteration
        going = residuals[rows] > problem.tolerance
        if iteration == problem.max_iter or not going.any():
            break
        if not going.all():
            rows, code, code_before = rows[going], code[going], code_before[going]
            left, left_before, speed = left[going], left_before[going], speed[going]
        faster = (1 + np.sqrt(1 + 4 * speed**2)) / 2
        momentum = (speed - 1) / faster
        ahead = code + momentum * (code - code_before)
        left_ahead = left + momentum * (left - left_before)
        code_before, left_before = code, left
        code = penalty.prox(ahead + step * left_ahead, step * alpha)
        left = targets[rows] - code @ gram
        uphill = ((ahead - code) * (code - code_before)).sum(axis=1, keepdims=True) > 0
        speed = np.where(uphill, speed.dtype.type(1), faster)
    return n_iter, residuals
