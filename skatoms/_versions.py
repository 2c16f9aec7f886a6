"""What a bug report needs to say of the machine."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version

from threadpoolctl import threadpool_info

from ._version import __version__

PACKAGES = (
    "numpy",
    "scipy",
    "scikit-learn",
    "numba",
    "llvmlite",
    "joblib",
    "threadpoolctl",
    "matplotlib",
    "rich",
    "pandas",
    "polars",
    "torch",
    "dask",
)


def versions():
    """Versions of skatoms, of what it uses, and of the system, as text."""
    import scipy.linalg  # noqa: F401  so that its BLAS is loaded and listed

    lines = [
        f"skatoms {__version__}",
        f"python {platform.python_version()} ({platform.python_implementation()})",
        f"system {platform.platform()}, {os.cpu_count()} cores",
    ]
    lines += [f"{name} {_version(name)}" for name in PACKAGES]
    for pool in threadpool_info():
        kind = pool.get("internal_api", pool["user_api"])
        details = ", ".join(
            str(pool[key])
            for key in ("version", "architecture", "threading_layer")
            if pool.get(key)
        )
        lines.append(f"{pool['user_api']}: {kind} {details}, {pool['num_threads']} threads")
    return "\n".join(lines)


def _version(name):
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
