"""Makes shapes from the entries of a scene file.

Meshes and textures are checked here, as physics engines may crash on malformed ones.
"""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

from galley.domain.errors import BadInput
from galley.domain.files import read_bytes
from galley.domain.frames import Array, frozen, transform
from galley.domain.meshes import MESH_SUFFIXES, concavity, hull, read_mesh
from galley.domain.scene.extended import beside
from galley.domain.scene.model import LARGEST_SIDE, SMALLEST_SIDE, Shape
from galley.domain.scene.schema import ShapeEntry
from galley.domain.yaml_models import At, YamlFile

_MAX_VERTICES = 4000  # of a mesh's hull; every engine's time grows with them
_CONCAVITY = 0.002  # m of a mesh's surface below its hull before a warning


def read_shape(file: YamlFile, at: At, entry: ShapeEntry) -> Shape:
    """A shape, posed in its body's frame."""
    X, mesh, points, texture = entry.X, None, None, None
    r, g, b, a = (*entry.color, 1.0)[:4]
    if entry.extents is not None:
        X = frozen(transform(None, np.array(entry.extents).mean(axis=1)))
    if entry.mesh is not None:
        mesh, points = _mesh(file, (*at, "mesh"), entry.scale)
    if entry.texture is not None:
        texture = _texture(file, (*at, "texture"))
    return Shape(
        kind="box" if entry.extents is not None else entry.which,
        size=frozen(entry.size),
        X_BS=X,
        color=(r, g, b, a),
        collision=entry.collision,
        mesh=mesh,
        points=points,
        texture=texture,
    )


def _file(file: YamlFile, at: At, endings: tuple[str, ...]) -> Path | None:
    """The file that an entry names; None, with an error, if it is missing or of another type."""
    path = beside(file.node(at))
    try:
        exists = path.exists()
    except (OSError, ValueError):  # a name that is too long or has a NUL
        exists = False
    if not exists:
        file.fault(at, f"no such file: {file.node(at).value} (looked beside the scene file)")
    elif path.suffix.lower() not in endings:
        file.fault(at, f"expected a file ending in {' or '.join(endings)}")
    else:
        return path.absolute()
    return None


def _mesh(file: YamlFile, at: At, scale: float) -> tuple[Path | None, Array]:
    """The file of a mesh, and the vertices (n, 3) of its convex hull, scaled, metres."""
    path = _file(file, at, MESH_SUFFIXES)
    points = None if path is None else file.made(at, lambda: _hull(file, at, path, scale))
    return path, frozen(np.vstack([np.eye(3), -np.eye(3)])) if points is None else points


def _hull(file: YamlFile, at: At, path: Path, scale: float) -> Array:
    """The vertices (n, 3) of a mesh's convex hull, scaled, metres; warns if the mesh is concave.

    Raises:
        ValueError: the mesh can't be used; the message names its file.
    """
    try:
        mesh = read_mesh(path)
    except BadInput as bad:
        raise ValueError(f"{path.name} {bad.errors[0].what}") from None
    if not len(mesh.triangles):
        raise ValueError(f"{path.name} has no faces")
    # Points that no face uses are not part of the solid.
    used = mesh.points[np.unique(mesh.triangles)] * scale
    sides = np.ptp(used, axis=0)
    if (sides > LARGEST_SIDE).any() or (sides.max() < SMALLEST_SIDE):
        what = f"is {_by(sides)} m at scale {scale:g}; sizes must lie between {SMALLEST_SIDE:g} and"
        raise ValueError(f"{path.name} {what} {LARGEST_SIDE:g} m: give it another scale")
    try:
        around = hull(used, _MAX_VERTICES)
    except ValueError as error:
        raise ValueError(f"{path.name} {error}") from None
    depth = concavity(mesh, scale, around)
    if depth > _CONCAVITY:
        file.warn(
            at,
            f"{path.name} is not convex: its surface lies up to {1e3 * depth:.0f} mm below its "
            "convex hull, which is what collides and is grasped; use several shapes if that "
            "matters",
        )
    return around.vertices


def _by(sides: Array) -> str:
    return " x ".join(f"{side:.3g}" for side in sides)


def _texture(file: YamlFile, at: At) -> Path | None:
    """The file of a PNG image that can be decoded. Messages never quote its contents."""
    from PIL import Image  # late: only textures need it

    path = _file(file, at, (".png",))
    if path is None:
        return None
    try:
        with Image.open(io.BytesIO(read_bytes(path)), formats=("PNG",)) as picture:
            picture.load()
    except BadInput as bad:
        file.fault(at, f"{path.name} {bad.errors[0].what}")
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        file.fault(at, f"{path.name} is not a valid PNG image")
    return path
