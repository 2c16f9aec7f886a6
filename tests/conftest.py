"""Settings that all tests share."""

import hashlib
import os
import shutil
from pathlib import Path

from hypothesis import settings

# The same examples at every run: a failure that is found is found again.
settings.register_profile("skatoms", deadline=None, derandomize=True, max_examples=200)
settings.load_profile("skatoms")


def fresh_kernels():
    """Keep compiled kernels in a folder of their own for each state of the sources.

    Numba compiles a kernel anew if its own file has changed, but not if a kernel that it calls has
    changed in another one.
    """
    root = Path(__file__).parents[1]
    sources = sorted((root / "skatoms").rglob("*.py"))
    state = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:16]
    folder = root / ".pytest_cache" / "kernels" / state
    for other in folder.parent.glob("*"):
        if other != folder:
            shutil.rmtree(other, ignore_errors=True)
    os.environ.setdefault("NUMBA_CACHE_DIR", str(folder))


fresh_kernels()
