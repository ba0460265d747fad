"""Reads OBJ and STL meshes, and computes convex hulls, the collision shape of a mesh."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from galley.domain.files import read_bytes
from galley.domain.frames import Array, frozen

MESH_SUFFIXES = (".obj", ".stl")
_NORMAL_TOLERANCE = 1e-7  # per component, within which coplanar facets are merged
_MIN_THICKNESS = 1e-9  # relative to the extent; a thinner hull is flat
_MAX_COORDINATE = 1e12  # file units; larger coordinates let volumes overflow
_MAX_SAMPLES = 20_000  # points of a mesh at which its depth below its hull is measured
# A line of an OBJ file that begins as a vertex or a face, but is malformed.
_MALFORMED = re.compile(
    r"^(?:v(?= |$)(?!(?: +[-+]?\.?\d[-+.\deE]*){3}(?: |$))"
    r"|f(?= |$)(?!(?: +[1-9]\d*(?:/-?\d*){0,2}){3,}$))",
    re.M,
)
_NO_CORNER = "a face has a corner that the file does not have"
_NEEDS = {
    "v": "a vertex needs three finite numbers",
    "f": "a face needs 3 or more of the vertices, counted from 1",
}


@dataclass(frozen=True)
class CollisionMesh:
    """A triangle mesh.

    Attributes:
        points: vertices (n, 3), in file units.
        triangles: indices (t, 3) of the corners of each triangle in ``points``.
    """

    points: Array
    triangles: NDArray[np.int64]


@dataclass(frozen=True)
class MeshPart:
    """The triangles of a file that have one material, for drawing: n points, t triangles.

    Attributes:
        points: (n, 3), in file units.
        triangles: corner indices (t, 3).
        normals: of the points (n, 3); None unless the file gives every corner one.
        uvs: texture coordinates of the points (n, 2), from the lower left; None without them.
        color: red, green and blue (3,), 0 to 1; None without a material.
        texture: the image (h, w, 3), which is multiplied by the colour; None without one.
    """

    points: Array
    triangles: NDArray[np.int64]
    normals: Array | None
    uvs: Array | None = None
    color: Array | None = None
    texture: NDArray[np.uint8] | None = None


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

    @cached_property
    def radius(self) -> float:
        """Largest distance (m) of a vertex from the centre."""
        return float(np.linalg.norm(self.vertices - self.centre, axis=1).max())

    def distance(self, points: ArrayLike) -> Array:
        """Signed distances (...,), m, of points (..., 3) to the surface, negative inside.

        They are exact inside. Outside it is the distance to the farthest plane, a lower bound.
        """
        x = np.asarray(points, dtype=np.float64)
        return np.asarray((x @ self.normals.T - self.offsets).max(axis=-1))


def hull(points: ArrayLike, max_vertices: int | None = None) -> Hull:
    """The convex hull of points (n, 3), metres, by Qhull (Barber et al., 1996).

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
    # New offsets for the merged normals, so that no vertex lies beyond a plane.
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
    """Largest depth (m) of a mesh's surface below its convex hull; 0 if the mesh is convex.

    It is sampled at vertices and triangle centres, and at a subset of them for a large mesh.

    Args:
        mesh: the mesh, in file units.
        scale: metres per file unit.
        around: the convex hull of the scaled mesh.
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

    An OBJ file's points keep their order; the corners of an STL file are merged.

    Raises:
        ValueError: an unknown format, malformed contents or no vertices; names file and line.
        BadInput: the file can't be read.
    """
    path = Path(path)
    parts = _loaded(path, materials=False)
    points = np.concatenate([np.zeros((0, 3)), *(part["vertices"] for part in parts)])
    if not len(points):
        raise ValueError(f"{path.name} has no vertices")
    if not (np.abs(points) <= _MAX_COORDINATE).all():  # also catches NaN
        raise ValueError(f"{path.name} has a coordinate beyond {_MAX_COORDINATE:g}")
    if path.suffix.lower() == ".obj":  # a single part, as materials were left out
        return CollisionMesh(points, parts[0]["faces"])
    points, corners = np.unique(points, axis=0, return_inverse=True)
    return CollisionMesh(points, corners.reshape(-1, 3).astype(np.int64))


def read_parts(path: Path | str) -> list[MeshPart]:
    """The parts of an OBJ or STL file as they are drawn, one for each material.

    Raises:
        ValueError, BadInput: as ``read_mesh``.
    """
    parts: list[MeshPart] = []
    pictures: dict[str | None, NDArray[np.uint8]] = {}  # many materials may share one
    for part in reversed(_loaded(Path(path), materials=True)):
        drawn = MeshPart(part["vertices"], part["faces"], part.get("vertex_normals"))
        if (visual := part.get("visual")) is not None:
            image, color = visual.material.image, visual.material.kwargs.get("kd")
            file = None if image is None else image.info.get("file_path")
            if file is not None and file not in pictures:
                pictures[file] = np.asarray(image.convert("RGB"))
            if file is not None or color is not None:  # else it is trimesh's own
                color, texture = np.array(color or [1.0] * 3)[:3], pictures.get(file)
                drawn = replace(drawn, color=color, uvs=visual.uv, texture=texture)
        parts.append(drawn)
    return parts


def _loaded(path: Path, materials: bool) -> list[dict[str, Any]]:
    """The arrays of each material as trimesh reads them, or of all in one without ``materials``."""
    ending = path.suffix.lower()
    if ending not in MESH_SUFFIXES:
        raise ValueError(f"{path.name}: this format is not supported, convert it to OBJ or STL")
    data = read_bytes(path)
    text = data.decode("utf-8", errors="replace")
    try:
        read = _stl(data, text) if ending == ".stl" else _obj(path, text, materials)
    except (TypeError, ValueError) as error:
        prefix = "" if str(error).startswith(":") else " can't be read: "
        raise ValueError(f"{path.name}{prefix}{error}") from None
    parts = list(read["geometry"].values()) if "geometry" in read else [read]
    return [{**part, "faces": _fans(part.get("faces", np.zeros((0, 3))))} for part in parts]


def _fans(polygons: ArrayLike) -> NDArray[np.int64]:
    """The polygons (n, k) as fans of triangles (n (k - 2), 3), each from its first corner."""
    corners = np.asarray(polygons, dtype=np.int64)
    fans = [corners[:, [0, k, k + 1]] for k in range(1, corners.shape[1] - 1)]
    return np.stack(fans, axis=1).reshape(-1, 3)


def _stl(data: bytes, text: str) -> Any:
    """The arrays of an STL file, binary or ASCII, as trimesh reads them."""
    from trimesh.exchange.stl import HeaderError, load_stl_ascii, load_stl_binary

    try:
        return load_stl_binary(io.BytesIO(data))
    except HeaderError:  # it has not the length of a binary file, so it must be ASCII
        text += "" if "endsolid" in text.lower() else "\nendsolid"  # trimesh needs this word
        # Without the word "normal" trimesh doesn't read normals, and logs no broken ones.
        return load_stl_ascii(io.StringIO(text.replace("normal", "")))


def _obj(path: Path, text: str, materials: bool) -> Any:
    """The arrays of an OBJ file; a ValueError begins with the number of a malformed line."""
    lines = (line.partition(" #")[0].strip().replace("\t", " ") for line in text.splitlines())
    text = "\n".join(lines)
    if bad := _MALFORMED.search(text):  # trimesh would skip such a line
        line = text.count("\n", 0, bad.start()) + 1
        raise ValueError(f":{line}: {_NEEDS[bad[0][0]]}")
    if not materials:  # without trimesh, whose import takes as long as a short plan
        return _points_and_faces(text)
    from trimesh.exchange.obj import load_obj
    from trimesh.resolvers import FilePathResolver

    files = FilePathResolver(path, allow_anywhere=True)
    try:
        return load_obj(io.StringIO(text), files)
    except IndexError:
        raise ValueError(_NO_CORNER) from None


def _points_and_faces(text: str) -> dict[str, Any]:
    """The points of a well-formed OBJ file in their order, and its faces as triangles."""
    points = [line.split()[1:4] for line in re.findall(r"^v .*", text, re.M)]
    faces = [
        [int(corner.partition("/")[0]) - 1 for corner in line.split()[1:]]
        for line in re.findall(r"^f .*", text, re.M)
    ]
    if max(map(max, faces), default=-1) >= len(points):
        raise ValueError(_NO_CORNER)
    fans = [(face[0], *face[k : k + 2]) for face in faces for k in range(1, len(face) - 1)]
    vertices = np.array(points, np.float64).reshape(-1, 3)
    return {"vertices": vertices, "faces": np.array(fans, np.int64).reshape(-1, 3)}
