"""Reads OBJ files: triangles, and the colours and textures of their MTL files."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from galley.domain.frames import Array
from galley.viz.render.meshes import Pixels, VisualMesh, plain

_FEW_TEXELS = 40  # a triangle with fewer gets one colour
_UNIFORM = 12  # of 255; a triangle whose texture varies by less gets one colour


@dataclass
class _Material:
    color: tuple[float, ...] = (1.0, 1.0, 1.0)
    texture: Path | None = None


@dataclass
class _Lines:
    """A file's lines by kind, unparsed: coordinates, faces, and the material of each face.

    ``before``: number of points, uvs and normals above each face, to which -1, -2 ... refer.
    """

    points: list[str] = field(default_factory=list)
    uvs: list[str] = field(default_factory=list)
    normals: list[str] = field(default_factory=list)
    faces: list[str] = field(default_factory=list)
    before: list[tuple[int, int, int]] = field(default_factory=list)
    used: list[str] = field(default_factory=list)
    libraries: list[str] = field(default_factory=list)


_one_at_a_time = threading.Lock()


def read_obj(path: Path | str) -> tuple[VisualMesh, bool]:
    """As ``parse_obj``, with a cache of the latest files."""
    path = Path(path)
    with _one_at_a_time:  # a second thread waits for the cached result
        return _kept(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=32)
def _kept(path: Path, _: int) -> tuple[VisualMesh, bool]:
    return parse_obj(path)


def parse_obj(path: Path | str) -> tuple[VisualMesh, bool]:
    """The mesh in an OBJ file, and whether it has its own colours.

    Polygons become fans of triangles. Without normals in the file, shading is flat.

    Raises:
        ValueError: numbers that can't be read.
        FileNotFoundError: no such file.
    """
    path = Path(path)
    lines = _read_lines(path)
    corners, used = _corners(path, lines)
    points = _table(path, lines.points, 3)[corners[:, 0]]
    uvs = _looked_up(_table(path, lines.uvs, 2), corners[:, 1])
    facets = points.reshape(-1, 3, 3)
    flat = np.cross(facets[:, 1] - facets[:, 0], facets[:, 2] - facets[:, 0])
    flat /= np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), 1e-20)
    flat = np.repeat(flat, 3, axis=0)
    normals = _looked_up(_table(path, lines.normals, 3), corners[:, 2])
    normals = np.where(corners[:, 2:] >= 0, normals, flat)
    # Windings must agree with the normals, for backs of facets are not drawn.
    order = np.arange(len(corners), dtype=np.int32).reshape(-1, 3)
    turned = (flat * normals).sum(axis=1).reshape(-1, 3).sum(axis=1) < 0.0
    order[turned] = order[turned][:, ::-1]
    loose = replace(plain(points, normals, order), uvs=uvs)
    materials = _materials(path, lines.libraries)
    painted = _painted(loose, np.array(used, dtype=np.str_), materials)
    return _welded(painted), bool(materials)


def _welded(mesh: VisualMesh) -> VisualMesh:
    """The mesh with identical points merged."""
    uvs = mesh.uvs.copy()
    uvs[mesh.triangles[mesh.pictures < 0].ravel()] = 0.0  # no longer used
    rows = np.concatenate([mesh.points, mesh.normals, uvs], axis=1).astype(np.float32)
    rows += 0.0  # no negative zeros
    whole = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.dtype.itemsize * 8))).ravel()
    _, first, index = np.unique(whole, return_index=True, return_inverse=True)
    # In the order of their use by triangles, for locality in memory.
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    first, index = first[order], rank[index.ravel()]
    return replace(
        mesh,
        points=mesh.points[first],
        normals=mesh.normals[first],
        uvs=uvs[first],
        triangles=index[mesh.triangles].astype(np.int32),
    )


def _looked_up(table: Array, at: NDArray[np.int64]) -> Array:
    """Rows of a table (n, k) by index; zeros for -1."""
    return np.asarray(np.concatenate([table, np.zeros((1, table.shape[1]))])[at])


def _read_lines(path: Path) -> _Lines:
    lines = _Lines()
    kinds = {"v": lines.points, "vn": lines.normals, "vt": lines.uvs}
    material = ""
    for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
        kind, _, rest = line.strip().partition(" ")
        if kind in kinds:
            kinds[kind].append(rest)
        elif kind == "f":
            lines.faces.append(rest)
            lines.before.append((len(lines.points), len(lines.uvs), len(lines.normals)))
            lines.used.append(material)
        elif kind == "usemtl":
            material = rest.strip()
        elif kind == "mtllib":
            lines.libraries.append(rest.strip())
    return lines


def _table(path: Path, lines: list[str], size: int) -> Array:
    """The first ``size`` numbers of each line, (n, size)."""
    try:
        return np.array([line.split()[:size] for line in lines], dtype=np.float64).reshape(-1, size)
    except ValueError as error:
        raise ValueError(f"mesh '{path}': a coordinate that can't be read ({error})") from error


def _corners(path: Path, lines: _Lines) -> tuple[NDArray[np.int64], list[str]]:
    """Point, uv and normal (3 t, 3) of the corners of triangles, -1 for none; their materials."""
    counts = (len(lines.points), len(lines.uvs), len(lines.normals))
    try:
        faces = [face.replace("//", "/0/") for face in lines.faces]
        text = " ".join(faces)
        if "-" not in text and all(face.count("/") == 6 for face in faces):
            # The common case: triangles whose corners have all three indices, from 1.
            rows = np.array(text.replace("/", " ").split(), dtype=np.int64).reshape(-1, 9)
            used, corners = lines.used, rows.reshape(-1, 3) - 1
        else:
            listed, used = [], []
            for face, before, material in zip(lines.faces, lines.before, lines.used, strict=True):
                polygon = [_corner(word, before) for word in face.split()]
                for k in range(1, len(polygon) - 1):
                    listed += [polygon[0], polygon[k], polygon[k + 1]]
                    used.append(material)
            corners = np.array(listed, dtype=np.int64).reshape(-1, 3)
    except ValueError as error:
        raise ValueError(f"mesh '{path}': a face that can't be read ({error})") from error
    if ((corners < (0, -1, -1)) | (corners >= counts)).any():
        raise ValueError(f"mesh '{path}': a face with a corner that the file does not have")
    return corners, used


def _corner(word: str, before: tuple[int, int, int]) -> tuple[int, ...]:
    """Indices from 0 of point, uv and normal of a corner such as ``7/-1/3``; -1 for none."""
    parts = [*word.split("/"), "", ""][:3]
    numbers = [int(part) if part else 0 for part in parts]
    return tuple(n - 1 if n >= 0 else count + n for n, count in zip(numbers, before, strict=True))


def _materials(path: Path, libraries: list[str]) -> dict[str, _Material]:
    """Materials by name; none if the files are missing."""
    materials: dict[str, _Material] = {}
    for library in libraries:
        file = path.parent / library
        if not file.is_file():
            continue
        material = _Material()
        for line in file.read_text(encoding="utf-8", errors="replace").split("\n"):
            words = line.split()
            if words[:1] == ["newmtl"]:
                material = materials.setdefault(" ".join(words[1:]), _Material())
            elif words[:1] == ["Kd"]:
                material.color = tuple(float(word) for word in words[1:4])
            elif words[:1] == ["map_Kd"] and (path.parent / words[-1]).is_file():
                material.texture = path.parent / words[-1]
    return materials


def _painted(
    mesh: VisualMesh, used: NDArray[np.str_], materials: dict[str, _Material]
) -> VisualMesh:
    """The mesh in the colours of its materials."""
    colors, pictures = mesh.colors.copy(), mesh.pictures.copy()
    files: list[Path] = []
    for name, material in materials.items():
        mine = used == name
        colors[mine] = material.color
        if material.texture is not None and mine.any():
            if material.texture not in files:
                files.append(material.texture)
            pictures[mine] = files.index(material.texture)
    textures = tuple(_picture(file, file.stat().st_mtime_ns) for file in files)
    for k, texture in enumerate(textures):
        mine = np.flatnonzero(pictures == k)
        corners = mesh.uvs[mesh.triangles[mine]]
        samples = _sampled(texture, corners)
        (a, b), (c, d) = (corners[:, 1:] - corners[:, :1]).transpose(1, 2, 0)
        texels = 0.5 * np.abs(a * d - b * c) * texture.shape[0] * texture.shape[1]
        uniform = (np.ptp(samples, axis=1).max(axis=1) < _UNIFORM) | (texels < _FEW_TEXELS)
        colors[mine[uniform]] *= samples[uniform].mean(axis=1) / 255.0
        pictures[mine[uniform]] = -1
    kept = np.unique(pictures[pictures >= 0])  # textures still in use
    pictures = np.where(pictures >= 0, np.searchsorted(kept, pictures), -1).astype(np.int32)
    return replace(
        mesh, colors=colors, pictures=pictures, textures=tuple(textures[k] for k in kept)
    )


@lru_cache(maxsize=8)
def _picture(file: Path, _: int) -> Pixels:
    from PIL import Image  # few meshes have a texture

    with Image.open(file) as picture:
        return np.asarray(picture.convert("RGB"), dtype=np.uint8)


def _sampled(texture: Pixels, uvs: Array) -> Array:
    """Colours (t, 15, 3) of a texture, sampled in triangles with corners uvs (t, 3, 2)."""
    steps = [(i / 4, j / 4, 1 - (i + j) / 4) for i in range(5) for j in range(5 - i)]
    shares = np.array(steps) * 0.96 + 0.04 / 3.0  # a little inside
    u, v = np.moveaxis(np.einsum("sk,tkc->tsc", shares, uvs), 2, 0)
    height, width = texture.shape[:2]
    column = np.clip(((u - np.floor(u)) * width).astype(int), 0, width - 1)
    row = np.clip((((1.0 - v) - np.floor(1.0 - v)) * height).astype(int), 0, height - 1)
    return np.asarray(texture[row, column], dtype=np.float64)
