"""STL meshes as OBJ files, the one format that both PyBullet and Drake read."""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from galley.robots.link_shapes import mesh_points


def as_obj(mesh: Path) -> Path:
    """The mesh itself, or of an STL file its copy as OBJ, in the user's cache.

    Raises:
        ValueError: the file is no STL, whatever it is called.
    """
    if mesh.suffix.lower() != ".stl":
        return mesh
    key = hashlib.sha256(mesh.read_bytes()).hexdigest()[:20]
    copy = _folder() / f"{mesh.stem}-{key}.obj"
    if not copy.is_file():
        points, corner = np.unique(mesh_points(mesh), axis=0, return_inverse=True)
        lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in points.tolist()]
        lines += [f"f {a} {b} {c}" for a, b, c in (corner.reshape(-1, 3) + 1).tolist()]
        handle, temporary = tempfile.mkstemp(dir=copy.parent, suffix=".tmp")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        Path(temporary).replace(copy)
    return copy


@cache
def _folder() -> Path:
    """Where copies lie; a temporary folder, for this process, where there is no cache."""
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        folder = (Path(base) if base else Path.home() / ".cache") / "galley" / "meshes"
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except (OSError, RuntimeError):
        made = tempfile.mkdtemp(prefix="galley-meshes-")
        atexit.register(shutil.rmtree, made, ignore_errors=True)
        return Path(made)
