"""Products: of matrices, in threads, and of few rows, for kernels."""

import numpy as np

from ._compile import kernel
from ._threads import run_chunks

# Rows of a matrix product that one thread computes at a time.
PRODUCT_ROWS = 256


@kernel
def subtract_rows(start, rows, chosen, factors, size, out):
    """out = start - sum of factors[p] * rows[chosen[p]]. Cost: size * rows.shape[1].

    Computed in the precision of `out`. Four rows are taken at a time, which spares three passes
    over `out`.
    """
    width, number = start.shape[0], out.dtype.type
    for k in range(width):
        out[k] = start[k]
    p = 0
    while p + 4 <= size:
        a, b = number(factors[p]), number(factors[p + 1])
        c, d = number(factors[p + 2]), number(factors[p + 3])
        row_a, row_b = rows[chosen[p]], rows[chosen[p + 1]]
        row_c, row_d = rows[chosen[p + 2]], rows[chosen[p + 3]]
        for k in range(width):
            out[k] -= (a * row_a[k] + b * row_b[k]) + (c * row_c[k] + d * row_d[k])
        p += 4
    while p < size:
        a, row_a = number(factors[p]), rows[chosen[p]]
        for k in range(width):
            out[k] -= a * row_a[k]
        p += 1


def product(left, right, n_jobs=None):
    """left @ right, the same to the last bit for any number of threads.

    It also keeps BLAS from starting threads of its own, which spin for a while after their work
    and take the cores from ours.
    """
    out = np.empty((len(left), right.shape[1]), np.result_type(left, right))
    run_chunks(
        lambda start, stop: np.matmul(left[start:stop], right, out=out[start:stop]),
        len(left),
        PRODUCT_ROWS,
        n_jobs,
    )
    return out
