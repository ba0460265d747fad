"""Imports PyBullet silently: other modules import it from here.

Its C code prints a line on stderr at import, and warnings on stdout when it loads URDFs.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Discards what C code writes to stdout and stderr."""
    # C has buffers of its own: all must be empty before and after the switch.
    flush = ctypes.CDLL(None).fflush
    sys.stdout.flush()
    sys.stderr.flush()
    flush(None)
    saved = [(fd, os.dup(fd)) for fd in (1, 2)]
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        for fd, _ in saved:
            os.dup2(null, fd)
        yield
    finally:
        flush(None)
        os.close(null)
        for fd, copy in saved:
            os.dup2(copy, fd)
            os.close(copy)


with quiet():
    import pybullet as pybullet

__all__ = ["pybullet", "quiet"]
