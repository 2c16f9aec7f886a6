"""How kernels are compiled: one decorator, so that every kernel has the same flags."""

from numba import njit

# Reassociation lets the compiler vectorise sums; the flags that assume that there are no NaN
# and no infinities stay off, so checks on them keep working.
_FAST = {"reassoc", "contract", "nsz", "arcp"}


def kernel(function=None, *, inline=False):
    """Compile a function of arrays and numbers to machine code that runs without the GIL.

    Nothing is compiled before the first call. The result is cached on disk where a place can be
    written to; elsewhere it is compiled anew in each process.
    """
    if function is None:
        return lambda f: kernel(f, inline=inline)
    options = {
        "nogil": True,
        "fastmath": _FAST,
        "error_model": "numpy",
        "inline": "always" if inline else "never",
    }
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError:  # numba finds no writable place for its cache
        return njit(**options)(function)
