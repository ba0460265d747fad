"""What can be made anew at any time, kept in the user's cache meanwhile."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path


def cache_folder(kind: str) -> Path | None:
    """Where files of a kind (``spheres``, ``meshes``) lie; None where there is no home."""
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "galley" / kind
    except RuntimeError:
        return None


def keep(path: Path, data: bytes) -> None:
    """Write a file whole or not at all, whoever else writes it at the same time.

    Raises:
        OSError: it can't be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(temporary).replace(path)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
