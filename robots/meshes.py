"""Meshes: their vertices, their convex hulls, and copies of STL files as OBJ.

A hull, as vertices and half-spaces, is what every engine makes of a collision mesh. OBJ is the one
format that both PyBullet and Drake read.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import shutil
import tempfile
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from galley.domain.frames import Array, frozen
from galley.robots.files import cache_folder, keep

# Two facets whose unit normals agree to this in every component are one facet.
_SAME_NORMAL = 1e-7
# A hull thinner than this fraction of its extent is refused as flat.
_FLAT = 1e-9


@dataclass(frozen=True)
class Hull:
    """A convex polytope: the points x with ``normals @ x <= offsets``.

    Attributes:
        vertices: its corners (n, 3), metres.
        normals: outward unit normals of the facets (m, 3), coplanar triangles merged.
        offsets: each facet's ``normal @ x`` (m,), metres; no vertex lies beyond any of them.
    """

    vertices: Array
    normals: Array
    offsets: Array

    @cached_property
    def centre(self) -> Array:
        """Middle of the axis-aligned bounding box (3,)."""
        return frozen(0.5 * (self.vertices.min(axis=0) + self.vertices.max(axis=0)))

    def distance(self, points: ArrayLike) -> Array:
        """Signed distance of points (..., 3) to the surface, negative inside: (...,), metres.

        Exact inside, where the nearest facet's plane is the nearest point's: the depth. Outside,
        the distance to the farthest plane, which is never more than the distance to the hull.
        """
        x = np.asarray(points, dtype=np.float64)
        return np.asarray((x @ self.normals.T - self.offsets).max(axis=-1))


def hull(points: ArrayLike) -> Hull:
    """The convex hull of points (n, 3), metres, by Qhull.

    Raises:
        ValueError: fewer than four points, one that is not finite, or all in one plane.
    """
    from scipy.spatial import ConvexHull, QhullError

    x = np.asarray(points, dtype=np.float64)
    if x.ndim != 2 or x.shape[1] != 3 or len(x) < 4:
        raise ValueError(f"a hull needs at least four points in space, not an array {x.shape}")
    if not np.isfinite(x).all():
        raise ValueError("a hull needs finite points")
    try:
        found = ConvexHull(x)
    except QhullError as error:
        raise ValueError("the points lie in one plane: they have no hull with a volume") from error
    vertices = x[found.vertices]
    normals = _distinct(found.equations[:, :3])
    offsets = (vertices @ normals.T).max(axis=0)
    width = offsets + (vertices @ -normals.T).max(axis=0)
    if width.min() <= _FLAT * float(np.ptp(vertices, axis=0).max()):
        raise ValueError("the points lie in one plane: they have no hull with a volume")
    return Hull(frozen(vertices), frozen(normals), frozen(offsets))


def _distinct(normals: Array) -> Array:
    """One normal for each group of equal ones, in the order in which they first come."""
    kept: list[Array] = []
    for normal in normals:
        if not kept or np.abs(np.array(kept) - normal).max(axis=1).min() > _SAME_NORMAL:
            kept.append(normal)
    return np.array(kept)


def mesh_points(path: Path) -> Array:
    """Vertices (n, 3) of an OBJ or STL file, as they stand there; STL repeats shared ones.

    Raises:
        ValueError: another format, or a file that has no vertices or can't be read as its format.
        FileNotFoundError: no such file.
    """
    suffix = path.suffix.lower()
    if suffix == ".obj":
        points = _obj_points(path)
    elif suffix == ".stl":
        points = _stl_points(path)
    else:
        raise ValueError(f"mesh '{path}': its format is not read, convert it to OBJ or STL")
    if len(points) == 0 or not np.isfinite(points).all():
        raise ValueError(f"mesh '{path}' has no vertices, or one that is not finite")
    return points


def _obj_points(path: Path) -> Array:
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").split("\n")):
        words = line.split()
        if words[:1] == ["v"]:
            try:
                rows.append([float(word) for word in words[1:4]])
            except ValueError as error:
                raise ValueError(f"mesh '{path}' line {number + 1}: not a vertex") from error
            if len(rows[-1]) != 3:
                raise ValueError(f"mesh '{path}' line {number + 1}: not a vertex")
    return np.array(rows, dtype=np.float64).reshape(-1, 3)


def _stl_points(path: Path) -> Array:
    """Corners of all triangles. A binary file's length tells it from text, its header doesn't."""
    data = path.read_bytes()
    if len(data) >= 84:
        count = int.from_bytes(data[80:84], "little")
        if len(data) == 84 + 50 * count:
            record = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("more", "<u2")])
            triangles = np.frombuffer(data, record, count, offset=84)
            return triangles["corners"].reshape(-1, 3).astype(np.float64)
    words = data.decode("ascii", errors="replace").split()
    at = [k for k, word in enumerate(words) if word == "vertex"]
    try:
        rows = [[float(word) for word in words[k + 1 : k + 4]] for k in at]
        return np.array(rows, dtype=np.float64).reshape(-1, 3)
    except ValueError as error:
        raise ValueError(f"mesh '{path}' is neither a binary nor a text STL file") from error


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
        keep(copy, ("\n".join(lines) + "\n").encode())
    return copy


@cache
def _folder() -> Path:
    """Where copies lie; a temporary folder, for this process, where there is no cache."""
    folder = cache_folder("meshes")
    with contextlib.suppress(OSError):
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                return folder
    made = tempfile.mkdtemp(prefix="galley-meshes-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)
