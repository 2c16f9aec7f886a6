"""Rows of codes between dense blocks and compressed sparse rows."""

import numpy as np
from scipy.sparse import csr_array

from ..backend import kernel


@kernel
def unpack_rows(data, indices, indptr, start, stop, out):
    """out = rows start to stop of a CSR matrix, dense."""
    out[:] = 0
    for i in range(start, stop):
        for position in range(indptr[i], indptr[i + 1]):
            out[i - start, indices[position]] += data[position]


@kernel
def pack_rows(codes):
    """The non-zeros of a dense block: data, indices, and how many there are in each row."""
    counts = np.zeros(codes.shape[0], np.int64)
    for i in range(codes.shape[0]):
        for k in range(codes.shape[1]):
            if codes[i, k] != 0:
                counts[i] += 1
    total = counts.sum()
    data = np.empty(total, codes.dtype)
    indices = np.empty(total, np.int32)
    position = 0
    for i in range(codes.shape[0]):
        for k in range(codes.shape[1]):
            if codes[i, k] != 0:
                data[position] = codes[i, k]
                indices[position] = k
                position += 1
    return data, indices, counts


def stack_rows(packed, n_atoms, dtype):
    """One CSR matrix from the packed blocks, in their order."""
    data = np.concatenate([block[0] for block in packed], dtype=dtype)
    indices = np.concatenate([block[1] for block in packed])
    counts = np.concatenate([block[2] for block in packed])
    indptr = np.concatenate([[0], np.cumsum(counts)])
    if indptr[-1] <= np.iinfo(np.int32).max:
        indptr = indptr.astype(np.int32)
    else:
        indices = indices.astype(np.int64)
    return csr_array((data, indices, indptr), shape=(len(counts), n_atoms))
