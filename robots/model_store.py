"""Keeps the spheres of whole robots on disk, so that a later start needs no mesh and no hull.

A file is named by a digest of the URDF, the joints, the excess and of each mesh file's size and
time of change. What is in it can be made anew at any time.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from galley.robots.covering import VERSION
from galley.robots.covering_store import cache_folder

LAYOUT = 2  # of what is kept: changes with the names of the arrays
Arrays = Mapping[str, Any]


def kept(
    urdf: str,
    joints: tuple[str, ...],
    excess: tuple[tuple[str, float], ...],
    make: Callable[[], Arrays],
) -> Arrays:
    """The arrays that ``make`` gives, from disk where they were made for the same robot before."""
    folder = cache_folder()
    if folder is None:
        return make()
    path = folder / f"robot-{_digest(urdf, joints, excess)}.npz"
    damaged = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile)
    with contextlib.suppress(*damaged), np.load(path, allow_pickle=False) as file:
        return dict(file)
    made = make()
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        with os.fdopen(handle, "wb") as stream:
            np.savez(stream, **dict(made))
        Path(temporary).replace(path)
    return made


def _digest(urdf: str, joints: tuple[str, ...], excess: tuple[tuple[str, float], ...]) -> str:
    found = hashlib.sha256(f"{LAYOUT} {VERSION} {joints} {excess} {urdf}".encode())
    for mesh in ET.fromstring(urdf).iter("mesh"):
        file = Path(mesh.get("filename", "").removeprefix("file://"))
        with contextlib.suppress(OSError):
            about = file.stat()
            found.update(f"{about.st_size} {about.st_mtime_ns}".encode())
    return found.hexdigest()[:20]
