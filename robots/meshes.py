"""Meshes as OBJ, the format that both PyBullet and Drake read: whole, or in convex parts."""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import shutil
import tempfile
from functools import cache
from pathlib import Path

from galley.domain.files import read_bytes, write_atomically
from galley.domain.meshes import CollisionMesh, read_mesh
from galley.robots.decomposition import WORTH, convex_parts
from galley.robots.files import cache_folder


def as_obj(mesh: Path | str) -> Path:
    """The mesh file itself, or for an STL file an OBJ copy in the user's cache.

    Raises:
        ValueError: the file is no STL, whatever it is called.
    """
    mesh = Path(mesh)
    if mesh.suffix.lower() != ".stl":
        return mesh
    key = hashlib.sha256(read_bytes(mesh)).hexdigest()[:20]
    copy = _folder() / f"{mesh.stem}-{key}.obj"
    if not copy.is_file():
        _write(copy, read_mesh(mesh))
    return copy


def parts_as_obj(mesh: Path | str, most: int) -> list[Path]:
    """Files of at most ``most`` parts whose convex hulls cover the mesh; see ``convex_parts``.

    They are kept in the user's cache.

    Raises:
        ValueError: the file can't be read as a mesh.
    """
    mesh = Path(mesh)
    if most == 1:
        return [as_obj(mesh)]
    key = hashlib.sha256(f"{WORTH} {most} ".encode() + read_bytes(mesh)).hexdigest()[:20]
    for last in range(1, most + 1):
        files = [_folder() / f"{mesh.stem}-{key}-{k}of{last}.obj" for k in range(1, last + 1)]
        if all(file.is_file() for file in files):
            return files
    parts = convex_parts(read_mesh(mesh), most)
    files = [_folder() / f"{mesh.stem}-{key}-{k + 1}of{len(parts)}.obj" for k in range(len(parts))]
    for file, part in zip(files, parts, strict=True):
        _write(file, part)
    return files


def _write(file: Path, mesh: CollisionMesh) -> None:
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in mesh.points.tolist()]
    lines += [f"f {a} {b} {c}" for a, b, c in (mesh.triangles + 1).tolist()]
    write_atomically(file, "\n".join(lines) + "\n")


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
