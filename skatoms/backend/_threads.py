"""Threads over chunks of rows, and BLAS kept to one thread meanwhile.

Kernels release the GIL, so plain Python threads run them side by side: numba's own threading
layers are not used, since they are either not safe in concurrent threads or not safe after a fork.
Chunks have a fixed size and each writes to its own place, so results do not depend on how many
threads there are.
"""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController


def run_chunks(task, n_items, chunk_size, n_jobs):
    """Call task(start, stop) for consecutive chunks of range(n_items), several at a time.

    Parameters
    ----------
    task : callable
        Does the work of one chunk. What it returns is collected.
    n_items, chunk_size : int
    n_jobs : int or None
        In joblib's meaning: None is 1 unless a ``joblib.parallel_config`` says otherwise, -1 all
        cores.

    Returns
    -------
    list of what the tasks returned, in the order of the chunks.
    """
    starts = range(0, n_items, chunk_size)
    n_threads = min(effective_n_jobs(n_jobs), len(starts))
    stopped = threading.Event()

    def run(start):
        return None if stopped.is_set() else task(start, min(start + chunk_size, n_items))

    with single_threaded_blas():
        if n_threads <= 1 or getattr(_this_thread, "is_worker", False):
            return [run(start) for start in starts]
        try:
            return list(_pool(n_threads).map(run, starts))
        except BaseException:  # also an interrupt: the chunks that wait need not run
            stopped.set()
            raise


_this_thread = threading.local()
_pools_lock = threading.Lock()
_pools: dict[int, ThreadPoolExecutor] = {}


def _pool(n_threads):
    """The pool of so many threads; kept, since starting threads costs more than small tasks."""
    with _pools_lock:
        if n_threads not in _pools:
            _pools[n_threads] = ThreadPoolExecutor(
                n_threads,
                "skatoms",
                initializer=setattr,
                initargs=(_this_thread, "is_worker", True),
            )
        return _pools[n_threads]


class _BlasLimit:
    """Limits BLAS to one thread while anyone needs it, and restores it after the last one."""

    def __init__(self):
        self._lock = threading.Lock()
        self._users = 0
        self._limiter = None

    def acquire(self):
        with self._lock:
            if self._users == 0:
                self._limiter = _controller().limit(limits=1, user_api="blas")
            self._users += 1

    def release(self):
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._limiter.restore_original_limits()


_blas_limit = _BlasLimit()


@contextmanager
def single_threaded_blas():
    """Keep BLAS to one thread; may be nested and entered by several threads at once."""
    limit = _blas_limit
    limit.acquire()
    try:
        yield
    finally:
        limit.release()


_known_controller = None


def _controller():
    global _known_controller
    if _known_controller is None:
        np.dot(np.ones(1), np.ones(1))  # the BLAS of numpy is loaded by now
        _known_controller = ThreadpoolController()
    return _known_controller


def _forget_other_threads():
    """A forked child has one thread only: what the parent's other threads held is void."""
    global _blas_limit, _pools_lock
    _blas_limit = _BlasLimit()
    _pools_lock = threading.Lock()
    _pools.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_other_threads)
