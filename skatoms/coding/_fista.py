"""Accelerated proximal gradient for many rows at once; any penalty with a prox."""

import numpy as np


def fista_rows(gram, targets, codes, alpha, penalty, curvature, max_iter, tolerances):
    """Solve the rows from the codes given, in place; rows that are done drop out of the batch.

    Momentum restarts, for a row of its own, when it points uphill. Cost: iterations * n_atoms ** 2
    a row, in matrix products.

    Parameters
    ----------
    gram : ndarray of shape (n_atoms, n_atoms)
    targets, codes : ndarray of shape (n_rows, n_atoms)
    alpha : float
    penalty : penalty object
    curvature : float
        At least the largest eigenvalue of `gram`: the step is its inverse.
    max_iter : int
    tolerances : ndarray of shape (n_rows,)
        KKT residual at which a row is done.

    Returns
    -------
    n_iter, residuals : ndarray of shape (n_rows,)
    """
    n_iter = np.empty(len(codes), np.int64)
    residuals = np.empty(len(codes), codes.dtype)
    step = codes.dtype.type(1 / curvature)
    rows = np.arange(len(codes))
    code = codes.copy()
    left = targets - code @ gram
    code_before, left_before = code, left
    speed = np.ones((len(codes), 1), codes.dtype)
    for iteration in range(1, max_iter + 1):
        residuals[rows] = penalty.residual(code, left, alpha)
        going = residuals[rows] > tolerances[rows]
        if iteration > 1 and not going.all():
            codes[rows], n_iter[rows] = code, iteration
            rows, code, code_before = rows[going], code[going], code_before[going]
            left, left_before, speed = left[going], left_before[going], speed[going]
        if len(rows) == 0:
            break
        faster = (1 + np.sqrt(1 + 4 * speed**2)) / 2
        momentum = (speed - 1) / faster
        ahead = code + momentum * (code - code_before)
        left_ahead = left + momentum * (left - left_before)
        code_before, left_before = code, left
        code = penalty.prox(ahead + step * left_ahead, step * alpha)
        left = targets[rows] - code @ gram
        uphill = ((ahead - code) * (code - code_before)).sum(axis=1, keepdims=True) > 0
        speed = np.where(uphill, speed.dtype.type(1), faster)
    codes[rows], n_iter[rows] = code, max_iter
    residuals[rows] = penalty.residual(code, left, alpha)
    return n_iter, residuals
