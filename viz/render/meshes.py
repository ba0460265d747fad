"""Triangle meshes with normals, colours and textures, and those of the primitive shapes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from galley.domain.frames import Array

_FACETS = 48  # around a cylinder or sphere
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


def box_mesh(size: ArrayLike) -> VisualMesh:
    """A box of full extents ``size`` (3,) about its frame's origin, metres.

    Its texture coordinates are for a picture of the six faces in a grid of three columns and two
    rows, each filling its cell::

        front (+x) | back (-x)  | top (+z)
        left (+y)  | right (-y) | bottom (-z)
    """
    cube = _cube()
    return replace(cube, points=cube.points * 0.5 * np.asarray(size, dtype=np.float64))


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
    angle = np.linspace(0.0, 2.0 * np.pi, _FACETS, endpoint=False)
    ring = np.stack([np.cos(angle), np.sin(angle), np.zeros(_FACETS)], axis=1)
    z = np.array([0.0, 0.0, 1.0])
    rings = [radius * ring + 0.5 * side * length * z for side in (-1.0, 1.0)]
    ends = np.array([-z, z])
    points = [*rings, *rings, 0.5 * length * ends]
    normals = [ring, ring, *(np.tile(end, (_FACETS, 1)) for end in ends), ends]
    a = np.arange(_FACETS)
    b = (a + 1) % _FACETS
    n, below, above = _FACETS, np.full(_FACETS, 4 * _FACETS), np.full(_FACETS, 4 * _FACETS + 1)
    triangles = [
        np.stack([a, b, b + n], axis=1),
        np.stack([a, b + n, a + n], axis=1),
        np.stack([below, b + 2 * n, a + 2 * n], axis=1),
        np.stack([above, a + 3 * n, b + 3 * n], axis=1),
    ]
    return plain(np.concatenate(points), np.concatenate(normals), np.concatenate(triangles))


def sphere_mesh(radius: float) -> VisualMesh:
    """A sphere about its frame's origin, metres, with smooth shading."""
    rows = _FACETS // 2
    down = np.linspace(0.0, np.pi, rows + 1)
    round_ = np.linspace(0.0, 2.0 * np.pi, _FACETS, endpoint=False)
    theta, phi = (g.ravel() for g in np.meshgrid(down, round_, indexing="ij"))
    normals = np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)], 1)
    row, k = (g.ravel() for g in np.meshgrid(np.arange(rows), np.arange(_FACETS), indexing="ij"))
    a, b = row * _FACETS + k, row * _FACETS + (k + 1) % _FACETS
    c, d = a + _FACETS, b + _FACETS
    triangles = np.concatenate([np.stack([a, c, d], axis=1), np.stack([a, d, b], axis=1)])
    return plain(radius * normals, normals, triangles)
