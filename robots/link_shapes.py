"""The collision shapes of a robot's links, read from its URDF text.

A mesh stands for its convex hull, as PyBullet and Drake take it.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np

from galley.domain.frames import Array, frozen, rotation_rpy, transform
from galley.robots.hull import Hull, hull

Kind = Literal["box", "cylinder", "sphere", "hull"]


@dataclass(frozen=True)
class LinkShape:
    """One collision element of a link.

    Attributes:
        link: the link's name.
        kind: ``box``, ``cylinder`` (along z), ``sphere``, or ``hull`` for a mesh.
        X_LS: pose of the shape in the link's URDF frame (4, 4).
        size: metres; a box's full extents (3,), a cylinder's radius and length (2,), a sphere's
            radius (1,), the extents of a hull's bounding box (3,).
        hull: the mesh's convex hull in the shape's frame, its scale applied; None for the others.
    """

    link: str
    kind: Kind
    X_LS: Array
    size: Array
    hull: Hull | None = None


def link_shapes(urdf_text: str, meshes: bool = True) -> tuple[LinkShape, ...]:
    """Every collision shape of a URDF, in the order of the file.

    Args:
        urdf_text: URDF with meshes by ``file://`` or absolute path, OBJ or STL.
        meshes: without, meshes are left out and no mesh file is read.

    Raises:
        ValueError: a shape, number or mesh that can't be read; the message names the link.
        FileNotFoundError: no such mesh.
    """
    shapes = []
    for link in ET.fromstring(urdf_text).iter("link"):
        name = str(link.get("name"))
        for collision in link.findall("collision"):
            if not meshes and collision.find("geometry/mesh") is not None:
                continue
            try:
                shapes.append(_shape(name, collision))
            except FileNotFoundError:
                raise
            except ValueError as error:
                raise ValueError(f"link '{name}': {error}") from error
    return tuple(shapes)


def _shape(link: str, collision: ET.Element) -> LinkShape:
    """The shape of one <collision>."""
    X_LS = _origin(collision)
    geometry = collision.find("geometry")
    found = list(geometry) if geometry is not None else []
    if not found:
        raise ValueError("a <collision> without a shape in its <geometry>")
    element = found[0]
    if element.tag == "box":
        return LinkShape(link, "box", X_LS, frozen(_numbers(element, "size", 3)))
    if element.tag == "cylinder":
        size = _numbers(element, "radius", 1) + _numbers(element, "length", 1)
        return LinkShape(link, "cylinder", X_LS, frozen(size))
    if element.tag == "sphere":
        return LinkShape(link, "sphere", X_LS, frozen(_numbers(element, "radius", 1)))
    if element.tag == "mesh":
        scale = _numbers(element, "scale", 3) if element.get("scale") else [1.0, 1.0, 1.0]
        path = _mesh_path(element.get("filename", ""))
        covered = _mesh_hull(str(path), (scale[0], scale[1], scale[2]))
        return LinkShape(link, "hull", X_LS, frozen(np.ptp(covered.vertices, axis=0)), covered)
    raise ValueError(f"collision shape <{element.tag}>, expected box, cylinder, sphere or mesh")


def _origin(element: ET.Element) -> Array:
    """X_LS (4, 4) of a <collision>'s <origin>."""
    origin = element.find("origin")
    if origin is None:
        return frozen(np.eye(4))
    xyz = _numbers(origin, "xyz", 3) if origin.get("xyz") else [0.0, 0.0, 0.0]
    roll, pitch, yaw = _numbers(origin, "rpy", 3) if origin.get("rpy") else [0.0, 0.0, 0.0]
    return frozen(transform(rotation_rpy(roll, pitch, yaw), xyz))


def _numbers(element: ET.Element, name: str, count: int) -> list[float]:
    """``count`` numbers of an attribute."""
    words = element.get(name, "").split()
    try:
        values = [float(word) for word in words]
    except ValueError:
        values = []
    if len(values) != count or not np.isfinite(values).all():
        raise ValueError(f'<{element.tag} {name}="{element.get(name, "")}"> needs {count} numbers')
    return values


def _mesh_path(filename: str) -> Path:
    path = Path(filename.removeprefix("file://"))
    if not path.is_absolute():
        raise ValueError(f"mesh '{filename}': give meshes by file:// or absolute path")
    return path


@lru_cache(maxsize=256)
def _mesh_hull(path: str, scale: tuple[float, float, float]) -> Hull:
    return hull(mesh_points(Path(path)) * np.array(scale))


def mesh_points(path: Path) -> Array:
    """Vertices (n, 3) of an OBJ or STL file, as they stand there; STL repeats shared ones.

    Raises:
        ValueError: another format, or a file that has no vertices or can't be read as its format.
        FileNotFoundError: no such file.
    """
    suffix = path.suffix.lower()
    if suffix == ".obj":
        points = _obj_points(path)
    elif suffix == ".stl":
        points = _stl_points(path)
    else:
        raise ValueError(f"mesh '{path}': its format is not read, convert it to OBJ or STL")
    if len(points) == 0 or not np.isfinite(points).all():
        raise ValueError(f"mesh '{path}' has no vertices, or one that is not finite")
    return points


def _obj_points(path: Path) -> Array:
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").split("\n")):
        words = line.split()
        if words[:1] == ["v"]:
            try:
                rows.append([float(word) for word in words[1:4]])
            except ValueError as error:
                raise ValueError(f"mesh '{path}' line {number + 1}: not a vertex") from error
            if len(rows[-1]) != 3:
                raise ValueError(f"mesh '{path}' line {number + 1}: not a vertex")
    return np.array(rows, dtype=np.float64).reshape(-1, 3)


def _stl_points(path: Path) -> Array:
    """Corners of all triangles. A binary file's length tells it from text, its header doesn't."""
    data = path.read_bytes()
    if len(data) >= 84:
        count = int.from_bytes(data[80:84], "little")
        if len(data) == 84 + 50 * count:
            record = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("more", "<u2")])
            triangles = np.frombuffer(data, record, count, offset=84)
            return triangles["corners"].reshape(-1, 3).astype(np.float64)
    words = data.decode("ascii", errors="replace").split()
    at = [k for k, word in enumerate(words) if word == "vertex"]
    try:
        rows = [[float(word) for word in words[k + 1 : k + 4]] for k in at]
        return np.array(rows, dtype=np.float64).reshape(-1, 3)
    except ValueError as error:
        raise ValueError(f"mesh '{path}' is neither a binary nor a text STL file") from error
