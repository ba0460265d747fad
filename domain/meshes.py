"""Meshes: OBJ and STL files, and the convex hull that every engine makes of a collision mesh."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from galley.domain.files import read_bytes
from galley.domain.frames import Array, frozen

ENDINGS = (".obj", ".stl")
# Two facets whose unit normals agree to this in every component are one facet.
_SAME_NORMAL = 1e-7
# A hull thinner than this fraction of its extent is refused as flat.
_FLAT = 1e-9
_LARGEST = 1e12  # of a coordinate: beyond, volumes overflow
_LOOKED_AT = 20_000  # places on a mesh at which its depth below its hull is measured


@dataclass(frozen=True)
class CollisionMesh:
    """Triangles: points (n, 3) as they stand in the file, indices (t, 3) of each one's corners."""

    points: Array
    triangles: NDArray[np.int64]


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


def hull(points: ArrayLike, most: int | None = None) -> Hull:
    """The convex hull of points (n, 3), metres, by Qhull.

    Raises:
        ValueError: fewer than four points, one that is not finite, or all in one plane; more
            corners than ``most``.
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
        raise ValueError("is flat: it encloses no volume") from error
    vertices = x[found.vertices]
    if most is not None and len(vertices) > most:
        raise ValueError(f"has a convex hull of {len(vertices)} corners, at most {most} are taken")
    normals = _distinct(found.equations[:, :3])
    offsets = (vertices @ normals.T).max(axis=0)
    width = offsets + (vertices @ -normals.T).max(axis=0)
    if width.min() <= _FLAT * float(np.ptp(vertices, axis=0).max()):
        raise ValueError("is flat: it encloses no volume")
    return Hull(frozen(vertices), frozen(normals), frozen(offsets))


def _distinct(normals: Array) -> Array:
    """One normal for each group of equal ones, in the order in which they first come."""
    _, first = np.unique(np.round(normals / _SAME_NORMAL) + 0.0, axis=0, return_index=True)
    return np.asarray(normals[np.sort(first)])


def hull_triangles(corners: Array) -> NDArray[np.int64]:
    """Indices (t, 3) of the triangles around a hull's corners (n, 3), outside counterclockwise."""
    from scipy.spatial import ConvexHull

    found = ConvexHull(corners)
    a, b, c = corners[found.simplices].transpose(1, 0, 2)
    turned = (np.cross(b - a, c - a) * found.equations[:, :3]).sum(axis=1) < 0.0
    triangles: NDArray[np.int64] = found.simplices.astype(np.int64)
    triangles[turned] = triangles[turned][:, ::-1]
    return triangles


def hollow(mesh: CollisionMesh, scale: float, around: Hull) -> float:
    """How far (m) the surface of a mesh, scaled, lies within its hull at most: 0 if it is convex.

    Measured at its points and in the middle of its triangles; of a large mesh at some of those.
    """
    corners = mesh.points[mesh.triangles] * scale
    places = np.concatenate([np.unique(corners.reshape(-1, 3), axis=0), corners.mean(axis=1)])
    places = places[:: 1 + len(places) // _LOOKED_AT]
    parts = np.array_split(places, 1 + len(places) // 500)
    return max(0.0, -min(float(around.distance(part).min(initial=0.0)) for part in parts))


def mesh_points(path: Path) -> Array:
    """Vertices (n, 3) of an OBJ or STL file, as they stand there.

    Raises:
        ValueError: as ``read_mesh``.
        FileNotFoundError: no such file.
    """
    if not path.exists():
        raise FileNotFoundError(path)
    return read_mesh(path).points


def read_mesh(path: Path) -> CollisionMesh:
    """What an OBJ or STL file holds; polygons are cut into fans of triangles.

    Raises:
        ValueError: with the file's name, and the line if there is one: another format, a file that
            can't be read as its format, or that has no vertices; BadInput: it can't be read at all.
    """
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise ValueError(f"{path.name}: this format is not read, convert it to OBJ or STL")
    mesh = (_read_obj if ending == ".obj" else _read_stl)(path.name, read_bytes(path))
    if not len(mesh.points):
        raise ValueError(f"{path.name} has no vertices")
    if not (np.abs(mesh.points) <= _LARGEST).all():  # NaN is not
        raise ValueError(f"{path.name} has a coordinate beyond {_LARGEST:g}")
    return mesh


def _read_obj(name: str, data: bytes) -> CollisionMesh:
    points: list[list[float]] = []
    triangles: list[tuple[int, int, int]] = []
    faces: list[int] = []  # the line of each triangle
    for number, line in enumerate(data.decode("utf-8", errors="replace").splitlines(), 1):
        words = line.split()
        if words[:1] == ["v"]:
            try:
                points.append([float(word) for word in words[1:4]])
            except ValueError:
                points.append([])
            if len(points[-1]) != 3 or not np.isfinite(points[-1]).all():
                raise ValueError(f"{name}:{number}: a vertex needs three finite numbers")
        elif words[:1] == ["f"]:
            try:
                at = [int(corner.split("/")[0]) for corner in words[1:]]
            except ValueError:
                at = []
            at = [k - 1 if k > 0 else len(points) + k if k else -1 for k in at]
            if len(at) < 3 or min(at) < 0:
                raise ValueError(f"{name}:{number}: a face needs 3 or more of the vertices")
            triangles += [(at[0], b, c) for b, c in pairwise(at[1:])]
            faces += [number] * (len(at) - 2)
    found = np.array(triangles, dtype=np.int64).reshape(-1, 3)
    beyond = np.flatnonzero(found.max(axis=1, initial=0) >= len(points))
    if len(beyond) and points:
        what = f"a face needs 3 or more of the {len(points)} vertices"
        raise ValueError(f"{name}:{faces[beyond[0]]}: {what}")
    return CollisionMesh(np.array(points, dtype=np.float64).reshape(-1, 3), found)


def _read_stl(name: str, data: bytes) -> CollisionMesh:
    """A binary file's length tells it from text, its header doesn't. Equal corners become one."""
    rows: ArrayLike
    if len(data) >= 84 and len(data) == 84 + 50 * int.from_bytes(data[80:84], "little"):
        record = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("more", "<u2")])
        rows = np.frombuffer(data, record, offset=84)["corners"].reshape(-1, 3)
    else:
        words = data.decode("ascii", errors="replace").split()
        at = [k for k, word in enumerate(words) if word.lower() == "vertex"]
        try:
            rows = np.array([[float(word) for word in words[k + 1 : k + 4]] for k in at])
            rows = rows.reshape(-1, 3)
        except ValueError as error:
            raise ValueError(f"{name} is neither a binary nor a text STL file") from error
    if len(rows) % 3:
        raise ValueError(f"{name} is no STL file: a triangle needs three corners")
    points, corner = np.unique(np.asarray(rows, np.float64), axis=0, return_inverse=True)
    return CollisionMesh(points, corner.reshape(-1, 3).astype(np.int64))
