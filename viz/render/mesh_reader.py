"""Meshes of files as they are drawn, in the colours of their materials; and simplified."""

from __future__ import annotations

import threading
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from galley.domain.frames import Array
from galley.domain.meshes import MeshPart, read_parts
from galley.viz.render.meshes import Pixels, VisualMesh, joined, plain, shaded

MOST_TRIANGLES = 2500
"""Of a simplified mesh; what has a texture is left as it is."""
_SMALL = 200  # triangles of one colour, fewer of which are left as they are
_SHADES = 32  # of a colour channel, by which triangles are grouped
_FEW_TEXELS = 40  # a triangle with fewer gets one colour
_UNIFORM = 12  # of 255; a triangle whose texture varies by less gets one colour

_one_at_a_time = threading.Lock()


def read_visual(path: Path | str) -> tuple[VisualMesh, bool]:
    """The mesh in an OBJ or STL file, and whether it has its own colours; the latest are cached.

    Raises:
        ValueError: malformed contents; names the file.
        BadInput: the file can't be read.
    """
    path = Path(path)
    with _one_at_a_time:  # a second thread waits for the cached result
        return _kept(path, path.stat().st_mtime_ns if path.exists() else 0)


@lru_cache(maxsize=32)
def _kept(path: Path, _: int) -> tuple[VisualMesh, bool]:
    parts = read_parts(path)
    return _merged(joined(list(map(_drawn, parts)))), any(p.color is not None for p in parts)


def _drawn(part: MeshPart) -> VisualMesh:
    """The part in its colours, every corner of a triangle a point of its own."""
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
    """The mesh with a texture (h, w, 3), or its colour where it hardly varies within a triangle."""
    corners = mesh.uvs[mesh.triangles]
    samples = _sampled(texture, corners)
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
    """An image file's pixels (h, w, 3)."""
    from PIL import Image  # few meshes have a texture

    with Image.open(file) as opened:
        return np.asarray(opened.convert("RGB"), dtype=np.uint8)


def _merged(mesh: VisualMesh) -> VisualMesh:
    """The mesh with identical points merged."""
    from trimesh.grouping import unique_rows

    uvs = mesh.uvs.copy()
    uvs[mesh.triangles[mesh.pictures < 0].ravel()] = 0.0  # no longer used
    rows = np.concatenate([mesh.points, mesh.normals, uvs], axis=1)
    first, index = unique_rows(rows, keep_order=True)  # near in memory what is drawn in turn
    return replace(
        mesh,
        points=mesh.points[first],
        normals=mesh.normals[first],
        uvs=uvs[first],
        triangles=index[mesh.triangles].astype(np.int32),
    )


def simplified(mesh: VisualMesh, most: int = MOST_TRIANGLES) -> VisualMesh:
    """The mesh with at most about ``most`` triangles, shaded smoothly but for creases.

    Triangles without texture are simplified colour by colour (M. Garland, P. Heckbert: Surface
    simplification using quadric error metrics, 1997).
    """
    bare = np.flatnonzero(mesh.pictures < 0)
    share = min(1.0, most / max(len(bare), 1))
    shades = np.round(mesh.colors[bare] * _SHADES).astype(int)
    _, group = np.unique(shades, axis=0, return_inverse=True)
    parts = [mesh.only(mesh.pictures >= 0)]
    for k in range(int(group.max(initial=-1)) + 1):
        mine = bare[group.ravel() == k]
        points, triangles = _welded(mesh.points, mesh.triangles[mine])
        if share < 1.0 and len(triangles) > _SMALL:
            from fast_simplification import simplify

            points, triangles = simplify(
                points.astype(np.float32), triangles, target_reduction=1.0 - share
            )
        if len(triangles):
            parts.append(shaded(points, triangles).painted(mesh.colors[mine].mean(axis=0).tolist()))
    return joined(parts)


def _welded(points: Array, triangles: Array) -> tuple[Array, Array]:
    """The triangles with points at the same place merged: (n, 3) and (t, 3)."""
    used, index = np.unique(triangles, return_inverse=True)
    places, merged = np.unique(np.round(points[used], 6), axis=0, return_inverse=True)
    faces = merged.ravel()[index].reshape(-1, 3)
    whole = (faces != np.roll(faces, 1, axis=1)).all(axis=1)  # no longer a triangle
    return places, faces[whole]
