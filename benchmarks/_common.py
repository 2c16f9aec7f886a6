"""What the benchmarks share: the data, timing in turns, peak memory, plain-text tables."""

import ctypes
import gc
import importlib.metadata
import os
import platform
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from statistics import median

import numpy as np
from sklearn.datasets import load_sample_image
from sklearn.feature_extraction.image import extract_patches_2d
from threadpoolctl import threadpool_info

PATCH_SHAPE = (8, 8)
N_DRAWN = 20_000  # of which 19,962 are not flat
FLAT = 1e-3  # standard deviation of grey levels in [0, 1]
MEGABYTE = 1e6
QUIET = 0.5  # load average

try:
    import spams
except ImportError:
    spams = None


# Data


@cache
def patches():
    """The 19,962 patches of china.jpg that all figures are about, one a row.

    Drawn at random with a fixed seed, so any range of rows is a random sample. Grey is the mean
    of the colours in [0, 1]; flat patches are dropped, the others get mean zero and norm one.
    """
    grey = load_sample_image("china.jpg").mean(axis=2) / 255
    drawn = extract_patches_2d(grey, PATCH_SHAPE, max_patches=N_DRAWN, random_state=0)
    drawn = drawn.reshape(len(drawn), -1)
    drawn -= drawn.mean(axis=1, keepdims=True)
    return unit_rows(drawn[drawn.std(axis=1) > FLAT])


def atoms_from(X, n_atoms):
    """Distinct rows of X, drawn with a fixed seed."""
    return X[np.random.default_rng(0).choice(len(X), n_atoms, replace=False)]


def unit_rows(values):
    """Each row divided by its norm."""
    return values / np.linalg.norm(values, axis=1, keepdims=True)


def objectives(X, atoms, codes, alpha):
    """1/2 |x - atoms' a|^2 + alpha |a|_1 of each row, in double precision whatever the codes."""
    X, atoms, codes = (part.astype(np.float64) for part in (X, atoms, codes))
    error = X - codes @ atoms
    return 0.5 * (error**2).sum(axis=1) + alpha * np.asarray(abs(codes).sum(axis=1)).ravel()


# Measuring


@dataclass(frozen=True)
class Timing:
    """Seconds of each run of a method, and what it returned last."""

    seconds: list
    result: object

    @property
    def median(self):
        """Median seconds."""
        return median(self.seconds)


def time_in_turns(methods, repeats):
    """Run the methods A B C A B C ..., so that what else the machine does meets all of them.

    Parameters
    ----------
    methods : dict of str to callable
        Called without arguments.
    repeats : int
        How often each of them runs.

    Returns
    -------
    dict of str to Timing
    """
    seconds = {name: [] for name in methods}
    results = {}
    for _ in range(repeats):
        for name, method in methods.items():
            results.pop(name, None)
            gc.collect()
            time.sleep(0.1)  # threads of the method before may still spin
            start = time.perf_counter()
            results[name] = method()
            seconds[name].append(time.perf_counter() - start)
    return {name: Timing(seconds[name], results[name]) for name in methods}


def seconds_of(method):
    """Seconds of a single run."""
    start = time.perf_counter()
    method()
    return time.perf_counter() - start


def peak_growth(prepare, *args):
    """Bytes by which a fresh process grows at most while it runs what `prepare` returns.

    `prepare(*args)` builds the data, warms up and returns the callable to be measured. It is a
    function of a module, since the process imports it. None where the system cannot tell.
    """
    if not Path("/proc/self/clear_refs").exists():
        return None
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as fresh:
        return fresh.submit(_peak_growth, prepare, args).result()


def _peak_growth(prepare, args):
    run = prepare(*args)
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # or the run could use pages that the preparation left
    Path("/proc/self/clear_refs").write_text("5")  # the peak so far is forgotten
    before = _memory("VmRSS")
    kept = run()
    after = _memory("VmHWM")
    del kept
    return after - before


def _memory(field):
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise KeyError(field)


# Printing


def print_environment(title):
    """Machine, versions and BLAS kernels: what figures cannot be compared without."""
    print(title)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    print(f"machine: {_cpu_model()}, {os.cpu_count()} cores, load {load:.2f}")
    names = ("numpy", "scipy", "scikit-learn", "numba", "spams-bin", "spams")
    versions = (f"{name} {version}" for name in names if (version := _version(name)))
    print(f"versions: Python {platform.python_version()}, {', '.join(versions)}")
    for pool in threadpool_info():
        if pool["user_api"] == "blas":
            owner = Path(pool["filepath"]).parent.name.removesuffix(".libs")
            kernel = pool.get("architecture", "unknown")
            print(f"BLAS of {owner}: {pool['internal_api']} {pool['version']}, kernel {kernel}")
    for variable in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
        if variable in os.environ:
            print(f"beware: {variable}={os.environ[variable]} bends the BLAS of all libraries")
    if load > QUIET:
        print("beware: others are at work here; peers with OpenMP threads suffer most from that")
    if spams is None:
        print("SPAMS is not installed (pip install spams-bin): skipped")
    print()


def _cpu_model():
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":")[1].strip()
    return platform.processor() or platform.machine()


def _version(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def print_table(headers, rows):
    """Columns as wide as they need; the first to the left, the others to the right."""
    lines = [headers, *([str(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for number, line in enumerate(lines):
        first, *others = (
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        print("  ".join([first, *others]).rstrip())
        if number == 0:
            print("  ".join("-" * width for width in widths))
    print()


def megabytes(size):
    """A number of bytes for a table."""
    return "-" if size is None else f"{size / MEGABYTE:.1f}"
