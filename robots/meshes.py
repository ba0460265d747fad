"""Converts STL files to OBJ, the mesh format that both PyBullet and Drake read."""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import shutil
import tempfile
from functools import cache
from pathlib import Path

from galley.domain.files import read_bytes
from galley.domain.meshes import read_mesh
from galley.robots.files import cache_folder, write_atomically


def as_obj(mesh: Path) -> Path:
    """The mesh file itself, or for an STL file an OBJ copy in the user's cache.

    Raises:
        ValueError: the file is no STL, whatever it is called.
    """
    if mesh.suffix.lower() != ".stl":
        return mesh
    key = hashlib.sha256(read_bytes(mesh)).hexdigest()[:20]
    copy = _folder() / f"{mesh.stem}-{key}.obj"
    if not copy.is_file():
        found = read_mesh(mesh)
        lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in found.points.tolist()]
        lines += [f"f {a} {b} {c}" for a, b, c in (found.triangles + 1).tolist()]
        write_atomically(copy, ("\n".join(lines) + "\n").encode())
    return copy


@cache
def _folder() -> Path:
    """The folder of copies; a temporary one if there is no cache."""
    folder = cache_folder("meshes")
    with contextlib.suppress(OSError):
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                return folder
    made = tempfile.mkdtemp(prefix="galley-meshes-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)
