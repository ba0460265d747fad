"""Reads poses, directions and shapes of a scene file.

Meshes and textures are checked here, as engines may crash on malformed ones.
"""

from __future__ import annotations

import io
import warnings
from pathlib import Path

import numpy as np

from galley.domain.errors import BadInput
from galley.domain.files import read_bytes
from galley.domain.frames import Array, frozen, rotation_rpy, transform
from galley.domain.meshes import MESH_SUFFIXES, concavity, hull, read_mesh
from galley.domain.scene.format import SHAPE
from galley.domain.scene.model import Shape
from galley.domain.scene.yaml_reader import Entry

_GREY = (0.7, 0.7, 0.7, 1.0)
_SMALLEST, _LARGEST = 1e-4, 100.0  # m, of a side
_MAX_VERTICES = 4000  # of a mesh's hull; every engine's time grows with them
_CONCAVITY = 0.002  # m of a mesh's surface below its hull before a warning
_MAX_PIXELS = 2**24  # of a texture: 4096 x 4096


def read_pose(fields: dict[str, Entry]) -> Array:
    """X (4, 4) from the keys ``xyz`` (m) and ``rpy`` (rad), zero where omitted."""
    p = fields["xyz"].vector(3) if "xyz" in fields else np.zeros(3)
    R = rotation_rpy(*fields["rpy"].vector(3)) if "rpy" in fields else None
    return frozen(transform(R, p))


def read_direction(entry: Entry) -> Array:
    """A unit vector (3,)."""
    v = entry.vector(3)
    length = float(np.linalg.norm(v))
    if length < 1e-9:
        entry.fault("a direction can't be the zero vector")
        return frozen((0.0, 0.0, 1.0))
    return frozen(v / length)


def read_shape(entry: Entry) -> Shape:
    """A shape, posed in its body's frame."""
    f = entry.fields()
    kinds = [k for k in SHAPE.one_of if k in f]
    X = read_pose(f)
    size, kind, mesh, points = np.ones(3), "box", None, None
    if len(kinds) != 1:
        entry.fault(f"needs exactly one of {', '.join(SHAPE.one_of)}, has {len(kinds)}")
    elif kinds[0] == "extents":
        ranges = [e.interval() for e in f["extents"].elements()]
        if len(ranges) != 3:
            f["extents"].fault("expected three ranges: [[x0, x1], [y0, y1], [z0, z1]]")
            ranges = [(0.0, 1.0)] * 3
        if "xyz" in f or "rpy" in f:
            entry.fault("extents already give the position; use box with xyz and rpy instead")
        low, high = np.array(ranges).T
        size = high - low
        if (size <= 0).any():
            f["extents"].fault("every side must be longer than 0")
            size = np.ones(3)
        X = frozen(transform(None, (low + high) / 2.0))
    elif kinds[0] == "box":
        size = f["box"].vector(3)
    elif kinds[0] == "cylinder":
        kind, size = "cylinder", f["cylinder"].vector(2)
    elif kinds[0] == "sphere":
        kind, size = "sphere", np.array([f["sphere"].number()])
    else:
        kind, size = "mesh", np.array([f["scale"].number() if "scale" in f else 1.0])
        mesh, points = _mesh(f["mesh"], float(size[0]))
    texture = _texture(f["texture"]) if "texture" in f else None
    if texture is not None and kind != "box":
        f["texture"].fault("only a box can have a texture")
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
        points=points,
        texture=texture,
    )


def _color(fields: dict[str, Entry]) -> tuple[float, float, float, float]:
    if "color" not in fields:
        return _GREY
    entries = fields["color"].elements()
    if len(entries) not in (3, 4):
        fields["color"].fault("expected 3 or 4 numbers from 0 to 1 (red, green, blue, opacity)")
        return _GREY
    values = [e.number() for e in entries]
    r, g, b, a = (*values, 1.0)[:4]
    return r, g, b, a


def _file(entry: Entry, endings: tuple[str, ...]) -> Path | None:
    """The file named, relative to the scene file; None if it is missing or of another type."""
    path = entry.file.parent / entry.text()
    try:
        exists = path.exists()
    except (OSError, ValueError):  # a name that is too long or has a NUL
        exists = False
    if not exists:
        entry.fault(f"no such file: {entry.text()} (looked beside the scene file)")
    elif path.suffix.lower() not in endings:
        entry.fault(f"expected a file ending in {' or '.join(endings)}")
    else:
        return path.absolute()
    return None


def _mesh(entry: Entry, scale: float) -> tuple[Path, Array]:
    """The file of a mesh, and the vertices (n, 3) of its convex hull, scaled, metres."""
    default = frozen(np.vstack([np.eye(3), -np.eye(3)]))
    path = _file(entry, MESH_SUFFIXES)
    if path is None:
        return entry.file, default
    try:
        mesh = read_mesh(path)
    except BadInput as bad:
        entry.fault(f"{path.name} {bad.errors[0].what}")
        return path, default
    except ValueError as error:
        entry.fault(str(error))
        return path, default
    if not len(mesh.triangles):
        entry.fault(f"{path.name} has no faces")
        return path, default
    # Points that no face uses are not part of the solid.
    used = mesh.points[np.unique(mesh.triangles)] * scale
    sides = np.ptp(used, axis=0)
    if (sides > _LARGEST).any() or (sides.max() < _SMALLEST):
        what = f"is {_by(sides)} m at scale {scale:g}; sizes must lie between {_SMALLEST:g} and"
        entry.fault(f"{path.name} {what} {_LARGEST:g} m: give it another scale")
        return path, default
    try:
        around = hull(used, _MAX_VERTICES)
    except ValueError as error:
        entry.fault(f"{path.name} {error}")
        return path, default
    depth = concavity(mesh, scale, around)
    if depth > _CONCAVITY:
        entry.warn(
            f"{path.name} is not convex: its surface lies up to {1e3 * depth:.0f} mm below its "
            "convex hull, which is what collides and is grasped; use several shapes if that "
            "matters"
        )
    return path, around.vertices


def _by(sides: Array) -> str:
    return " x ".join(f"{side:.3g}" for side in sides)


def _texture(entry: Entry) -> Path | None:
    """The file of a PNG image that can be decoded. Messages never quote its contents."""
    from PIL import Image  # late: only textures need it

    path = _file(entry, (".png",))
    if path is None:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(read_bytes(path)), formats=("PNG",)) as picture:
                if picture.width * picture.height > _MAX_PIXELS:
                    size = f"{picture.width} x {picture.height}"
                    entry.fault(f"{path.name} has {size} pixels, at most {_MAX_PIXELS} are allowed")
                else:
                    picture.load()
    except BadInput as bad:
        entry.fault(f"{path.name} {bad.errors[0].what}")
    except Image.DecompressionBombError:
        entry.fault(f"{path.name} has too many pixels, at most {_MAX_PIXELS} are allowed")
    except (OSError, SyntaxError, ValueError, EOFError):
        entry.fault(f"{path.name} is not a valid PNG image")
    return path
