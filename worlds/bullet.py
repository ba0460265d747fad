"""PyBullet, imported without its greeting.

Its C code prints a line on stdout at import and more when it loads URDFs; stdout is for results.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Send what C code writes to stdout into nothing meanwhile."""
    flush = ctypes.CDLL(None).fflush  # C's buffer is not Python's: both must be empty to switch
    sys.stdout.flush()
    flush(None)
    saved = os.dup(1)
    with open(os.devnull, "w") as null:
        os.dup2(null.fileno(), 1)
        try:
            yield
        finally:
            flush(None)
            os.dup2(saved, 1)
            os.close(saved)


with quiet():
    import pybullet as pybullet

__all__ = ["pybullet", "quiet"]
