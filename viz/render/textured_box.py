"""A box with a picture, written as OBJ, MTL and PNG.

The picture holds the six faces in a grid of three columns and two rows, each filling its cell::

    front (+x) | back (-x)  | top (+z)
    left (+y)  | right (-y) | bottom (-z)
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np

from galley.domain.frames import Array

# For each face: outward normal, direction of the picture's right, direction of its up; column, row.
_FACES: tuple[
    tuple[tuple[int, int, int], tuple[int, int, int], tuple[int, int, int], int, int], ...
]
_FACES = (
    ((1, 0, 0), (0, 1, 0), (0, 0, 1), 0, 0),
    ((-1, 0, 0), (0, -1, 0), (0, 0, 1), 1, 0),
    ((0, 0, 1), (0, 1, 0), (-1, 0, 0), 2, 0),
    ((0, 1, 0), (-1, 0, 0), (0, 0, 1), 0, 1),
    ((0, -1, 0), (1, 0, 0), (0, 0, 1), 1, 1),
    ((0, 0, -1), (0, 1, 0), (1, 0, 0), 2, 1),
)


def write_textured_box(folder: Path | str, name: str, size: Array, texture: Path | str) -> Path:
    """Write ``name``.obj, .mtl and .png into ``folder``; returns the OBJ's path.

    Args:
        folder: an existing folder.
        name: file stem, unique in the folder.
        size: full extents (3,), metres; the box is centred on its frame.
        texture: picture laid out as this module's docstring says.
    """
    folder = Path(folder)
    shutil.copyfile(texture, folder / f"{name}.png")
    (folder / f"{name}.mtl").write_text(
        f"newmtl label\nKa 1 1 1\nKd 1 1 1\nKs 0 0 0\nmap_Kd {name}.png\n"
    )
    vertices, uvs, normals, faces = [], [], [], []
    half = size / 2.0
    for k, (normal, right, up, column, row) in enumerate(_FACES):
        n, r, u = (np.array(v, dtype=float) for v in (normal, right, up))
        for s, t in ((-1, -1), (1, -1), (1, 1), (-1, 1)):
            vertices.append((n + s * r + t * u) * half)
            uvs.append(((column + (s + 1) / 2) / 3.0, (1 - row + (t + 1) / 2) / 2.0))
        normals.append(n)
        a = 4 * k + 1
        for i, j in ((1, 2), (2, 3)):
            corners = (a, a + i, a + j)
            faces.append(" ".join(f"{c}/{c}/{k + 1}" for c in corners))
    lines = [f"mtllib {name}.mtl"]
    lines += [f"v {x:.6f} {y:.6f} {z:.6f}" for x, y, z in vertices]
    lines += [f"vt {u:.6f} {v:.6f}" for u, v in uvs]
    lines += [f"vn {x:.0f} {y:.0f} {z:.0f}" for x, y, z in normals]
    lines += ["usemtl label", *(f"f {face}" for face in faces)]
    path = folder / f"{name}.obj"
    path.write_text("\n".join(lines) + "\n")
    return path
