"""Reads the geometry of a scene file: poses, directions, shapes, and the files that shapes name.

Meshes and pictures are checked before an engine that would crash on them reads them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from galley.domain.frames import Array, frozen, rotation_rpy, transform
from galley.domain.scene.model import Shape
from galley.domain.scene.yaml_reader import Entry

_GREY = (0.7, 0.7, 0.7, 1.0)
POSE_KEYS = ("xyz", "rpy")
_SMALLEST, _LARGEST = 1e-4, 100.0  # m
_SHAPE_KINDS = ("extents", "box", "cylinder", "sphere", "mesh")


def read_pose(fields: dict[str, Entry]) -> Array:
    """X (4, 4) from the keys ``xyz`` (m) and ``rpy`` (rad), zero where omitted."""
    p = fields["xyz"].vector(3) if "xyz" in fields else np.zeros(3)
    angles = fields["rpy"].vector(3) if "rpy" in fields else np.zeros(3)
    return frozen(transform(rotation_rpy(*angles), p))


def read_direction(entry: Entry) -> Array:
    """A unit vector (3,)."""
    v = entry.vector(3)
    length = float(np.linalg.norm(v))
    if length < 1e-9:
        entry.fault("a direction can't be all zeros")
        return frozen((0.0, 0.0, 1.0))
    return frozen(v / length)


def read_shape(entry: Entry) -> Shape:
    """A shape, posed in its body's frame."""
    keys = (*_SHAPE_KINDS, *POSE_KEYS, "color", "collision", "texture", "scale")
    f = entry.fields((), keys)
    kinds = [k for k in _SHAPE_KINDS if k in f]
    X = read_pose(f)
    size, kind, mesh = np.ones(3), "box", None
    if len(kinds) != 1:
        entry.fault(f"needs exactly one of {', '.join(_SHAPE_KINDS)}, has {len(kinds)}")
    elif kinds[0] == "extents":
        ranges = [e.interval() for e in f["extents"].elements()]
        if len(ranges) != 3:
            f["extents"].fault("expected three ranges: [[x0, x1], [y0, y1], [z0, z1]]")
            ranges = [(0.0, 1.0)] * 3
        if any(k in f for k in POSE_KEYS):
            entry.fault("extents already say where it is; use box with xyz and rpy to turn it")
        low, high = np.array(ranges).T
        size = high - low
        if (size <= 0).any():
            f["extents"].fault("every side must be longer than 0")
            size = np.ones(3)
        X = frozen(transform(None, (low + high) / 2.0))
    elif kinds[0] == "box":
        size = f["box"].vector(3, positive=True)
    elif kinds[0] == "cylinder":
        kind, size = "cylinder", f["cylinder"].vector(2, positive=True)
    elif kinds[0] == "sphere":
        kind, size = "sphere", np.array([f["sphere"].number(positive=True)])
    else:
        kind, size = "mesh", np.array([f["scale"].number(positive=True) if "scale" in f else 1.0])
        mesh = _file(f["mesh"], (".obj",), mesh_fault)
    texture = _file(f["texture"], (".png",), picture_fault) if "texture" in f else None
    if texture is not None and kind != "box":
        f["texture"].fault("only a box can carry a texture")
    if kind != "mesh" and ((size < _SMALLEST) | (size > _LARGEST)).any():
        entry.fault(f"sizes must lie between {_SMALLEST:g} and {_LARGEST:g} m")
        size = np.ones(3)[: len(size)]
    return Shape(
        kind=kind,
        size=frozen(size),
        X_BS=X,
        color=_color(f),
        collision=f["collision"].flag() if "collision" in f else True,
        mesh=mesh,
        texture=texture,
    )


def _color(fields: dict[str, Entry]) -> tuple[float, float, float, float]:
    if "color" not in fields:
        return _GREY
    entries = fields["color"].elements()
    if len(entries) not in (3, 4):
        fields["color"].fault("expected 3 or 4 numbers from 0 to 1 (red, green, blue, opacity)")
        return _GREY
    values = [e.number(at_least=0, at_most=1) for e in entries]
    r, g, b, a = (*values, 1.0)[:4]
    return r, g, b, a


def _file(entry: Entry, endings: tuple[str, ...], wrong: Callable[[Path], str | None]) -> Path:
    path = entry.file.parent / entry.text()
    try:
        found = path.is_file()
    except OSError:  # a name too long for the file system
        found = False
    if not found:
        entry.fault(f"no such file: {entry.text()} (looked beside the scene file)")
        return entry.file
    if path.suffix.lower() not in endings:
        entry.fault(f"expected a file ending in {' or '.join(endings)}")
    elif (what := wrong(path)) is not None:
        entry.fault(what)
    return path.resolve()


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
