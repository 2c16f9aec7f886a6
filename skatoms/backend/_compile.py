"""How kernels are compiled: one decorator, so that every kernel has the same flags."""

from numba import njit


def kernel(function):
    """Compile a function of arrays and numbers to machine code that runs without the GIL.

    Nothing is compiled before the first call. The result is cached on disk where a place can be
    written to; elsewhere it is compiled anew in each process. `fastmath` stays off: results would
    then depend on how kernels are inlined, and so on whether they came from the cache.
    """
    options = {"nogil": True, "error_model": "numpy"}
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError:  # numba finds no writable place for its cache
        return njit(**options)(function)
