"""Checks the files that a scene names, before an engine that would crash on them reads them."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def mesh_fault(path: Path) -> str | None:
    """What is wrong with a Wavefront OBJ as a convex solid, with its line; None if nothing is."""
    vertices: list[list[float]] = []
    faces: list[tuple[int, list[str]]] = []
    try:
        text = path.read_text(encoding="utf-8", errors="strict")
    except (OSError, UnicodeDecodeError):
        return f"{path.name} can't be read as text"
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or words[0] not in ("v", "f"):
            continue
        if words[0] == "f":
            faces.append((number, words[1:]))
            continue
        try:
            point = [float(word) for word in words[1:4]]
        except ValueError:
            point = []
        if len(point) != 3 or not np.isfinite(point).all():
            return f"{path.name}:{number}: a vertex needs three finite numbers"
        vertices.append(point)
    for number, corners in faces:
        if len(corners) < 3 or not all(_names(corner, len(vertices)) for corner in corners):
            return f"{path.name}:{number}: a face needs 3 or more of the {len(vertices)} vertices"
    if not faces:
        return f"{path.name} has no faces"
    spread = np.array(vertices) - np.mean(vertices, axis=0)
    if np.linalg.matrix_rank(spread, tol=1e-6) < 3:
        return f"{path.name} is flat: it encloses no volume"
    return None


def picture_fault(path: Path) -> str | None:
    """What is wrong with a picture, or None."""
    from PIL import Image  # late: only scenes with textures need it

    try:
        with Image.open(path) as picture:
            picture.verify()
    except (OSError, SyntaxError, ValueError) as error:
        return f"{path.name} is not a picture: {error}"
    return None


def _names(corner: str, count: int) -> bool:
    """Whether a face's corner (``7``, ``7/1/2`` or ``-1``) names one of ``count`` vertices."""
    try:
        index = int(corner.split("/")[0])
    except ValueError:
        return False
    return 1 <= index <= count or -count <= index <= -1
