"""OBJ and STL meshes, and convex hulls, the collision shape of meshes in every engine."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from galley.domain.files import read_bytes
from galley.domain.frames import Array, frozen

MESH_SUFFIXES = (".obj", ".stl")
_NORMAL_TOLERANCE = 1e-7  # per component, within which coplanar facets are merged
_MIN_THICKNESS = 1e-9  # relative to the extent; a thinner hull is flat
_MAX_COORDINATE = 1e12  # beyond, volumes overflow
_MAX_SAMPLES = 20_000  # points of a mesh at which its depth below its hull is measured


@dataclass(frozen=True)
class CollisionMesh:
    """A triangle mesh: points (n, 3) in file units, corner indices (t, 3)."""

    points: Array
    triangles: NDArray[np.int64]


@dataclass(frozen=True)
class Hull:
    """A convex polytope: the points x with ``normals @ x <= offsets``.

    Attributes:
        vertices: (n, 3), metres.
        normals: outward unit normals of the facets (m, 3), coplanar triangles merged.
        offsets: ``normal @ x`` on each facet (m,), metres; no vertex lies beyond.
    """

    vertices: Array
    normals: Array
    offsets: Array

    @cached_property
    def centre(self) -> Array:
        """Centre of the axis-aligned bounding box (3,)."""
        return frozen(0.5 * (self.vertices.min(axis=0) + self.vertices.max(axis=0)))

    def distance(self, points: ArrayLike) -> Array:
        """Signed distance of points (..., 3) to the surface, negative inside: (...,), metres.

        Exact inside. Outside it is the distance to the farthest plane, a lower bound.
        """
        x = np.asarray(points, dtype=np.float64)
        return np.asarray((x @ self.normals.T - self.offsets).max(axis=-1))


def hull(points: ArrayLike, max_vertices: int | None = None) -> Hull:
    """The convex hull of points (n, 3), metres, by Qhull.

    Raises:
        ValueError: fewer than four points, non-finite or coplanar points, or a hull of more than
            ``max_vertices``.
    """
    from scipy.spatial import ConvexHull, QhullError

    x = np.asarray(points, dtype=np.float64)
    if x.ndim != 2 or x.shape[1] != 3 or len(x) < 4:
        raise ValueError(
            f"a hull needs at least four points (n, 3), got an array of shape {x.shape}"
        )
    if not np.isfinite(x).all():
        raise ValueError("a hull needs finite points")
    try:
        qhull = ConvexHull(x)
    except QhullError as error:
        raise ValueError("is flat: it encloses no volume") from error
    vertices = x[qhull.vertices]
    if max_vertices is not None and len(vertices) > max_vertices:
        raise ValueError(
            f"has a convex hull of {len(vertices)} vertices, at most {max_vertices} are allowed"
        )
    normals = _distinct(qhull.equations[:, :3])
    offsets = (vertices @ normals.T).max(axis=0)
    width = offsets + (vertices @ -normals.T).max(axis=0)
    if width.min() <= _MIN_THICKNESS * float(np.ptp(vertices, axis=0).max()):
        raise ValueError("is flat: it encloses no volume")
    return Hull(frozen(vertices), frozen(normals), frozen(offsets))


def _distinct(normals: Array) -> Array:
    """The normals without duplicates, in order of first appearance."""
    _, first = np.unique(np.round(normals / _NORMAL_TOLERANCE) + 0.0, axis=0, return_index=True)
    return np.asarray(normals[np.sort(first)])


def hull_triangles(corners: Array) -> NDArray[np.int64]:
    """Triangles (t, 3) of the hull of ``corners`` (n, 3), counterclockwise seen from outside."""
    from scipy.spatial import ConvexHull

    qhull = ConvexHull(corners)
    a, b, c = corners[qhull.simplices].transpose(1, 0, 2)
    clockwise = (np.cross(b - a, c - a) * qhull.equations[:, :3]).sum(axis=1) < 0.0
    triangles: NDArray[np.int64] = qhull.simplices.astype(np.int64)
    triangles[clockwise] = triangles[clockwise][:, ::-1]
    return triangles


def concavity(mesh: CollisionMesh, scale: float, around: Hull) -> float:
    """Largest depth (m) of the scaled mesh's surface below its hull; 0 if the mesh is convex.

    Sampled at vertices and triangle centres, and at a subset of them for a large mesh.
    """
    corners = mesh.points[mesh.triangles] * scale
    samples = np.concatenate([np.unique(corners.reshape(-1, 3), axis=0), corners.mean(axis=1)])
    samples = samples[:: 1 + len(samples) // _MAX_SAMPLES]
    batches = np.array_split(samples, 1 + len(samples) // 500)
    return max(0.0, -min(float(around.distance(batch).min(initial=0.0)) for batch in batches))


def mesh_points(path: Path | str) -> Array:
    """Vertices (n, 3) of an OBJ or STL file, in file units.

    Raises:
        ValueError: as ``read_mesh``.
        FileNotFoundError: no such file.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(path)
    return read_mesh(path).points


def read_mesh(path: Path | str) -> CollisionMesh:
    """The mesh of an OBJ or STL file; polygons are split into triangle fans.

    Raises:
        ValueError: an unknown format, malformed contents or no vertices; names file and line.
        BadInput: the file can't be read.
    """
    path = Path(path)
    ending = path.suffix.lower()
    if ending not in MESH_SUFFIXES:
        raise ValueError(f"{path.name}: this format is not supported, convert it to OBJ or STL")
    mesh = (_read_obj if ending == ".obj" else _read_stl)(path.name, read_bytes(path))
    if not len(mesh.points):
        raise ValueError(f"{path.name} has no vertices")
    if not (np.abs(mesh.points) <= _MAX_COORDINATE).all():  # also catches NaN
        raise ValueError(f"{path.name} has a coordinate beyond {_MAX_COORDINATE:g}")
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
    indices = np.array(triangles, dtype=np.int64).reshape(-1, 3)
    invalid = np.flatnonzero(indices.max(axis=1, initial=0) >= len(points))
    if len(invalid) and points:
        what = f"a face needs 3 or more of the {len(points)} vertices"
        raise ValueError(f"{name}:{faces[invalid[0]]}: {what}")
    return CollisionMesh(np.array(points, dtype=np.float64).reshape(-1, 3), indices)


def _read_stl(name: str, data: bytes) -> CollisionMesh:
    """Text and binary are told apart by the length, as headers are unreliable. Merges vertices."""
    rows: ArrayLike
    if len(data) >= 84 and len(data) == 84 + 50 * int.from_bytes(data[80:84], "little"):
        record = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
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
        raise ValueError(f"{name} is not an STL file: a triangle needs three corners")
    points, corner = np.unique(np.asarray(rows, np.float64), axis=0, return_inverse=True)
    return CollisionMesh(points, corner.reshape(-1, 3).astype(np.int64))
