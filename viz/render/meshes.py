"""Triangle meshes with normals, colours and textures, and those of the primitive shapes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from galley.domain.frames import Array

_FACETS = 48  # around a cylinder or sphere
_CREASE = np.radians(35.0)  # sharper edges are drawn as edges
Pixels = NDArray[np.uint8]
Indices = NDArray[np.int32]
# Of each face of a box, its outward normal and the direction of its picture's right.
_BOX_FACES = (
    ((1, 0, 0), (0, 1, 0)),
    ((-1, 0, 0), (0, -1, 0)),
    ((0, 0, 1), (0, 1, 0)),
    ((0, 1, 0), (-1, 0, 0)),
    ((0, -1, 0), (1, 0, 0)),
    ((0, 0, -1), (0, 1, 0)),
)


@dataclass(frozen=True)
class VisualMesh:
    """Triangles of one body, n points and t triangles.

    Attributes:
        points, normals: (n, 3), in the body's frame, metres; a point on an edge occurs once for
            each of its normals.
        uvs: (n, 2), texture coordinates of each point, from the lower left.
        triangles: (t, 3), indices of points, counterclockwise from outside.
        colors: (t, 3), red, green, blue, 0 to 1.
        pictures: (t,), index into ``textures``, or -1.
        textures: pictures (h, w, 3), multiplied with the colours of the triangles.
    """

    points: Array
    normals: Array
    uvs: Array
    triangles: Indices
    colors: Array
    pictures: Indices
    textures: tuple[Pixels, ...] = ()

    def placed(self, X: Array, scale: ArrayLike = 1.0) -> VisualMesh:
        """The mesh scaled by a positive number, or by one per axis (3,), then transformed by X."""
        scale = np.asarray(scale, dtype=np.float64) * np.ones(3)
        normals = (self.normals / scale) @ X[:3, :3].T
        normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)
        return replace(self, points=(self.points * scale) @ X[:3, :3].T + X[:3, 3], normals=normals)

    def painted(self, color: Sequence[float]) -> VisualMesh:
        """The mesh in one colour (3,), 0 to 1."""
        return replace(self, colors=np.tile(np.array(color[:3]), (len(self.triangles), 1)))

    def only(self, chosen: NDArray[np.bool_]) -> VisualMesh:
        """The triangles that are chosen (t,), with the points that they use."""
        used, index = np.unique(self.triangles[chosen], return_inverse=True)
        return replace(
            self,
            points=self.points[used],
            normals=self.normals[used],
            uvs=self.uvs[used],
            triangles=index.reshape(-1, 3).astype(np.int32),
            colors=self.colors[chosen],
            pictures=self.pictures[chosen],
        )


def plain(points: Array, normals: Array, triangles: ArrayLike) -> VisualMesh:
    """A white mesh without texture."""
    indices = np.asarray(triangles, dtype=np.int32).reshape(-1, 3)
    return VisualMesh(
        np.asarray(points, dtype=np.float64).reshape(-1, 3),
        np.asarray(normals, dtype=np.float64).reshape(-1, 3),
        np.zeros((len(points), 2)),
        indices,
        np.ones((len(indices), 3)),
        np.full(len(indices), -1, dtype=np.int32),
    )


def joined(meshes: Sequence[VisualMesh]) -> VisualMesh:
    """All meshes as one, in order."""
    points = np.cumsum([0, *(len(mesh.points) for mesh in meshes)])
    textures = np.cumsum([0, *(len(mesh.textures) for mesh in meshes)])
    pictures = [
        np.where(mesh.pictures >= 0, mesh.pictures + first, -1)
        for mesh, first in zip(meshes, textures, strict=False)
    ]
    triangles = [mesh.triangles + first for mesh, first in zip(meshes, points, strict=False)]
    return VisualMesh(
        np.concatenate([np.zeros((0, 3)), *(mesh.points for mesh in meshes)]),
        np.concatenate([np.zeros((0, 3)), *(mesh.normals for mesh in meshes)]),
        np.concatenate([np.zeros((0, 2)), *(mesh.uvs for mesh in meshes)]),
        np.concatenate([np.zeros((0, 3)), *triangles]).astype(np.int32),
        np.concatenate([np.zeros((0, 3)), *(mesh.colors for mesh in meshes)]),
        np.concatenate([np.zeros(0), *pictures]).astype(np.int32),
        tuple(texture for mesh in meshes for texture in mesh.textures),
    )


def shaded(points: Array, triangles: ArrayLike) -> VisualMesh:
    """A white mesh of points (n, 3) and triangles (t, 3), smooth but for creases."""
    import trimesh

    mesh = trimesh.Trimesh(points, triangles, process=False)
    mesh.remove_unreferenced_vertices()
    mesh = trimesh.graph.smooth_shade(mesh, angle=_CREASE)
    return plain(mesh.vertices, mesh.vertex_normals, mesh.faces)


def box_mesh(size: ArrayLike) -> VisualMesh:
    """A box of full extents ``size`` (3,) about its frame's origin, metres.

    Its texture coordinates are for a picture of the six faces in a grid of three columns and two
    rows, each filling its cell::

        front (+x) | back (-x)  | top (+z)
        left (+y)  | right (-y) | bottom (-z)
    """
    return _cube().placed(np.eye(4), 0.5 * np.asarray(size, dtype=np.float64))


@cache
def _cube() -> VisualMesh:
    """The mesh of a box, 2 m wide."""
    points, normals, uvs = [], [], []
    for k, (normal, right) in enumerate(_BOX_FACES):
        n, r = np.array(normal), np.array(right)
        column, row = k % 3, k // 3
        for s, t in ((-1, -1), (1, -1), (1, 1), (-1, 1)):
            points.append(n + s * r + t * np.cross(n, r))
            normals.append(n)
            uvs.append(((column + (s + 1) / 2) / 3.0, (1 - row + (t + 1) / 2) / 2.0))
    triangles = 4 * np.arange(6)[:, None, None] + np.array([[0, 1, 2], [0, 2, 3]])
    mesh = plain(np.array(points), np.array(normals), triangles)
    return replace(mesh, uvs=np.array(uvs))


def cylinder_mesh(radius: float, length: float) -> VisualMesh:
    """A cylinder along z about its frame's origin, metres, with smooth shading."""
    return _round("cylinder").placed(np.eye(4), (radius, radius, length))


def sphere_mesh(radius: float) -> VisualMesh:
    """A sphere about its frame's origin, metres, with smooth shading."""
    return _round("sphere").placed(np.eye(4), radius)


@cache
def _round(kind: str) -> VisualMesh:
    """A cylinder or a sphere of radius 1 m, the cylinder 1 m long."""
    from trimesh import creation

    if kind == "cylinder":
        mesh = creation.cylinder(radius=1.0, height=1.0, sections=_FACETS)
    else:
        mesh = creation.uv_sphere(radius=1.0, count=(_FACETS // 2, _FACETS))
    return shaded(mesh.vertices, mesh.faces)
