"""How and where numbers are computed: compiled kernels, threads."""

from ._compile import kernel
from ._linear import product, subtract_rows
from ._threads import run_chunks, single_threaded_blas

__all__ = ["kernel", "product", "run_chunks", "single_threaded_blas", "subtract_rows"]
