"""Triangle meshes with normals, colours and textures, made from primitive shapes or from files."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from galley.domain.frames import Array
from galley.domain.meshes import MeshPart, read_parts

_FACETS = 48  # around a cylinder or sphere
_CREASE = np.radians(35.0)  # an edge with a larger angle is a crease and is not smoothed
MOST_TRIANGLES = 2500
"""Triangles to which a mesh is simplified; those with a texture are left as they are."""
_SMALL = 200  # triangles; if a colour has fewer, they are left as they are
_SHADES = 32  # steps of a colour channel; triangles of one step are simplified together
_FEW_TEXELS = 40  # a triangle with fewer gets one colour
_UNIFORM = 12  # of 255; a triangle whose texture varies by less gets one colour
_one_at_a_time = threading.Lock()
Pixels = NDArray[np.uint8]
Indices = NDArray[np.int32]
# For each face of a box: its outward normal, and the direction to the right of its picture.
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
    """The triangles of one body: n points and t triangles.

    Attributes:
        points: (n, 3), in the body's frame, metres. A point on a crease occurs once for each of its
            normals.
        normals: (n, 3), the normal at each point, in the body's frame.
        uvs: (n, 2), the texture coordinates of each point, from the lower left.
        triangles: (t, 3), indices of points, counterclockwise as seen from outside.
        colors: (t, 3), red, green and blue, 0 to 1.
        pictures: (t,), for each triangle an index into ``textures``, or -1 without a texture.
        textures: pictures (h, w, 3), which are multiplied by the colours of the triangles.
    """

    points: Array
    normals: Array
    uvs: Array
    triangles: Indices
    colors: Array
    pictures: Indices
    textures: tuple[Pixels, ...] = ()

    def placed(self, X: Array, scale: ArrayLike = 1.0) -> VisualMesh:
        """The mesh scaled by a positive number, or by one per axis (3,), then moved by a pose X."""
        scale = np.asarray(scale, dtype=np.float64) * np.ones(3)
        normals = (self.normals / scale) @ X[:3, :3].T
        normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)
        return replace(self, points=(self.points * scale) @ X[:3, :3].T + X[:3, 3], normals=normals)

    def painted(self, color: Sequence[float]) -> VisualMesh:
        """The mesh in one colour (3,), 0 to 1."""
        return replace(self, colors=np.tile(np.array(color[:3]), (len(self.triangles), 1)))

    def only(self, chosen: NDArray[np.bool_]) -> VisualMesh:
        """The mesh of the ``chosen`` triangles (t,), with the points that they use."""
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
    """A white mesh without texture, from points (n, 3), normals (n, 3) and triangles (t, 3)."""
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
    """All meshes as one mesh, with points, triangles and textures in order."""
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
    """A white mesh of points (n, 3) and triangles (t, 3), with smooth shading except at creases."""
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
    """The mesh of a cube with sides of 2 m; ``box_mesh`` scales it."""
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
    """A ``cylinder`` of radius 1 m and length 1 m, or a ``sphere`` of radius 1 m."""
    from trimesh import creation

    if kind == "cylinder":
        mesh = creation.cylinder(radius=1.0, height=1.0, sections=_FACETS)
    else:
        mesh = creation.uv_sphere(radius=1.0, count=(_FACETS // 2, _FACETS))
    return shaded(mesh.vertices, mesh.faces)


def read_visual(path: Path | str) -> tuple[VisualMesh, bool]:
    """Read the mesh in an OBJ or STL file, and whether the file gives colours.

    The last 32 meshes are cached.

    Raises:
        ValueError: malformed contents; names the file.
        BadInput: the file can't be read.
    """
    path = Path(path)
    with _one_at_a_time:  # a second thread waits for the cached result
        return _cached(path, path.stat().st_mtime_ns if path.exists() else 0)


@lru_cache(maxsize=32)
def _cached(path: Path, _: int) -> tuple[VisualMesh, bool]:
    """Read a file. Its modification time is an argument, so that a changed file is read again."""
    parts = read_parts(path)
    return _merged(joined(list(map(_drawn, parts)))), any(p.color is not None for p in parts)


def _drawn(part: MeshPart) -> VisualMesh:
    """A mesh of a file's part in its colours; every corner of a triangle is a point of its own."""
    corners = part.triangles.ravel()
    points = part.points[corners]
    a, b, c = points.reshape(-1, 3, 3).transpose(1, 0, 2)
    flat = np.cross(b - a, c - a)
    flat /= np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), 1e-20)
    normals = np.repeat(flat, 3, axis=0) if part.normals is None else part.normals[corners]
    mesh = plain(points, normals, np.arange(len(corners)))
    if part.color is not None:
        mesh = mesh.painted(part.color.tolist())
    if part.uvs is None or part.texture is None:
        return mesh
    return textured(replace(mesh, uvs=part.uvs[corners]), part.texture)


def textured(mesh: VisualMesh, texture: Pixels) -> VisualMesh:
    """The mesh with a texture (h, w, 3).

    A triangle in which the texture hardly varies gets its mean colour instead: drawing is faster.
    """
    corners = mesh.uvs[mesh.triangles]
    samples = _sampled(texture, corners)
    # The area of each triangle in the texture, in texels.
    (a, b), (c, d) = (corners[:, 1:] - corners[:, :1]).transpose(1, 2, 0)
    texels = 0.5 * np.abs(a * d - b * c) * texture.shape[0] * texture.shape[1]
    uniform = (np.ptp(samples, axis=1).max(axis=1) < _UNIFORM) | (texels < _FEW_TEXELS)
    colors = mesh.colors.copy()
    colors[uniform] *= samples[uniform].mean(axis=1) / 255.0
    return replace(
        mesh,
        colors=colors,
        pictures=np.where(uniform, -1, 0).astype(np.int32),
        textures=() if uniform.all() else (texture,),
    )


def _sampled(texture: Pixels, uvs: Array) -> Array:
    """Colours (t, 15, 3) of a texture, sampled in triangles with corners uvs (t, 3, 2)."""
    steps = [(i / 4, j / 4, 1 - (i + j) / 4) for i in range(5) for j in range(5 - i)]
    shares = np.array(steps) * 0.96 + 0.04 / 3.0  # a little inside
    u, v = np.moveaxis(shares @ uvs, 2, 0) % 1.0
    height, width = texture.shape[:2]
    row = np.minimum(((1.0 - v) * height).astype(int), height - 1)
    return np.asarray(texture[row, (u * width).astype(int)], dtype=np.float64)


def picture(file: Path | str) -> Pixels:
    """The pixels (h, w, 3) of an image file: red, green, blue."""
    from PIL import Image  # few meshes have a texture

    with Image.open(file) as opened:
        return np.asarray(opened.convert("RGB"), dtype=np.uint8)


def _merged(mesh: VisualMesh) -> VisualMesh:
    """The mesh with points merged whose position, normal and texture coordinates are equal."""
    from trimesh.grouping import unique_rows

    uvs = mesh.uvs.copy()
    uvs[mesh.triangles[mesh.pictures < 0].ravel()] = 0.0  # not used without a texture
    rows = np.concatenate([mesh.points, mesh.normals, uvs], axis=1)
    first, index = unique_rows(rows, keep_order=True)  # points drawn in turn are near in memory
    return replace(
        mesh,
        points=mesh.points[first],
        normals=mesh.normals[first],
        uvs=uvs[first],
        triangles=index[mesh.triangles].astype(np.int32),
    )


def simplified(mesh: VisualMesh, most: int = MOST_TRIANGLES) -> VisualMesh:
    """The mesh with at most about ``most`` triangles, with smooth shading except at creases.

    Triangles without texture are simplified colour by colour (M. Garland, P. Heckbert, Surface
    simplification using quadric error metrics, 1997). Triangles with a texture are left as they
    are.
    """
    bare = np.flatnonzero(mesh.pictures < 0)
    share = min(1.0, most / max(len(bare), 1))
    shades = np.round(mesh.colors[bare] * _SHADES).astype(int)
    _, group = np.unique(shades, axis=0, return_inverse=True)
    parts = [mesh.only(mesh.pictures >= 0)]
    for k in range(int(group.max(initial=-1)) + 1):
        rows = bare[group.ravel() == k]
        points, triangles = _welded(mesh.points, mesh.triangles[rows])
        if share < 1.0 and len(triangles) > _SMALL:
            from fast_simplification import simplify

            with _one_at_a_time:  # the library keeps its mesh in global variables
                points, triangles = simplify(
                    points.astype(np.float32), triangles, target_reduction=1.0 - share
                )
        if len(triangles):
            parts.append(shaded(points, triangles).painted(mesh.colors[rows].mean(axis=0).tolist()))
    return joined(parts)


def _welded(points: Array, triangles: Array) -> tuple[Array, Array]:
    """Points (n, 3) and triangles (t, 3) after merging points that are equal to a micrometre."""
    used, index = np.unique(triangles, return_inverse=True)
    positions, merged = np.unique(np.round(points[used], 6), axis=0, return_inverse=True)
    faces = merged.ravel()[index].reshape(-1, 3)
    # A triangle with two equal corners has no area: drop it.
    proper = (faces != np.roll(faces, 1, axis=1)).all(axis=1)
    return positions, faces[proper]
