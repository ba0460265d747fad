"""Reads a URDF: the tree of joints, and the collision shapes of the links.

Frame 0 is the world; joint j of q moves frame j + 1. The axis of each joint is z of its frame,
whatever the URDF says, so that every joint is Rz(q) or Tz(q) behind a constant transform. Links
connected by fixed joints, or by joints that are not in q (fixed at zero), share a frame.

Meshes are replaced by their convex hulls, as in PyBullet and Drake.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

from galley.domain.frames import Array, frozen, inverse, rotation_rpy, transform
from galley.domain.meshes import Hull, hull, mesh_points
from galley.domain.scene.model import LARGEST_SIDE, SMALLEST_SIDE

Ints = NDArray[np.int64]
Kind = Literal["box", "cylinder", "sphere", "hull"]
# Types of joints that can be in q.
MOVABLE = ("revolute", "continuous", "prismatic")
_SIZES = {
    "box": {"size": 3},
    "cylinder": {"radius": 1, "length": 1},
    "sphere": {"radius": 1},
    "mesh": {"scale": 3},
}


@dataclass(frozen=True)
class JointTree:
    """Joints in the order of q, and the links on their frames.

    Attributes:
        joints: names (n,), parents before children.
        parent: frame that each joint stands on (n,), 0 for the world.
        X_PJ: pose of each joint's frame at q = 0 in its parent frame (n, 4, 4); z is the axis.
        prismatic: whether a joint slides along z instead of turning about it (n,).
        lower, upper: the URDF's position limits (n,).
        links: names of all links.
        frame: the frame that each link is fixed to (L,).
        X_FL: pose of each link's URDF frame in that frame (L, 4, 4).
    """

    joints: tuple[str, ...]
    parent: Ints
    X_PJ: Array
    prismatic: NDArray[np.bool_]
    lower: Array
    upper: Array
    links: tuple[str, ...]
    frame: Ints
    X_FL: Array

    def link(self, name: str) -> tuple[int, Array]:
        """The frame and the pose X_FL (4, 4) of the link called ``name``.

        Raises:
            KeyError: no such link.
        """
        if name not in self.links:
            raise KeyError(f"no link '{name}', there are {list(self.links)}")
        at = self.links.index(name)
        return int(self.frame[at]), self.X_FL[at]

    def poses(self, q: Array) -> Array:
        """X_WF (n + 1, 4, 4) of every frame for q (n,)."""
        X = np.empty((len(self.joints) + 1, 4, 4))
        X[0] = np.eye(4)
        for j, value in enumerate(q):
            moved = np.eye(4)
            if self.prismatic[j]:
                moved[2, 3] = value
            else:
                c, s = np.cos(value), np.sin(value)
                moved[:2, :2] = [[c, -s], [s, c]]
            X[j + 1] = X[self.parent[j]] @ self.X_PJ[j] @ moved
        return X

    def link_pose(self, name: str, q: Array) -> Array:
        """X_WL (4, 4) of a link's URDF frame for q (n,)."""
        frame, X_FL = self.link(name)
        return np.asarray(self.poses(q)[frame] @ X_FL)


def read_tree(urdf: str, joints: tuple[str, ...]) -> JointTree:
    """The tree of a URDF for a choice of joints; other joints are fixed at zero.

    Args:
        urdf: text.
        joints: names of the joints in q, parents before children.

    Raises:
        ValueError: a joint is missing, does not move, or stands before one that carries it.
    """
    root = ET.fromstring(urdf)
    elements = {str(e.get("name")): e for e in root.findall("joint")}
    for name in joints:
        if name not in elements or elements[name].get("type") not in MOVABLE:
            raise ValueError(f"the URDF has no movable joint '{name}'")
    links = tuple(str(e.get("name")) for e in root.findall("link"))
    n = len(joints)
    parent = np.zeros(n, dtype=np.int64)
    X_PJ = np.empty((n, 4, 4))
    prismatic = np.zeros(n, dtype=bool)
    lower, upper = np.full(n, -np.pi), np.full(n, np.pi)
    placed: dict[str, tuple[int, Array]] = {}

    def carried(element: ET.Element) -> tuple[int, Array]:
        """Frame and pose there of the link that a joint carries; fills in the joint."""
        frame, X_FP = placed[joined_link(element, "parent")]
        X = X_FP @ origin_of(element)
        name = str(element.get("name"))
        if name not in joints:
            return frame, X
        j = joints.index(name)
        if frame > j:
            raise ValueError(f"joint '{name}' stands before '{joints[frame - 1]}', its carrier")
        X_JL = inverse(onto_axis(element))
        parent[j], X_PJ[j] = frame, X @ inverse(X_JL)
        prismatic[j] = element.get("type") == "prismatic"
        if element.find("limit") is not None and element.get("type") != "continuous":
            lower[j], upper[j] = (limit_of(element, k) for k in ("lower", "upper"))
        return j + 1, X_JL

    for link, way in ways(root).items():
        foot = joined_link(way[0], "parent") if way else link
        placed.setdefault(foot, (0, np.eye(4)))  # the root stands in the world
        for element in way:
            child = joined_link(element, "child")
            if child not in placed:
                placed[child] = carried(element)
    placements = [placed[link] for link in links]
    frame = np.array([f for f, _ in placements], dtype=np.int64)
    X_FL = np.array([X for _, X in placements])
    for array in (parent, prismatic, frame):
        array.setflags(write=False)
    X_PJ, lower, upper, X_FL = map(frozen, (X_PJ, lower, upper, X_FL))
    return JointTree(joints, parent, X_PJ, prismatic, lower, upper, links, frame, X_FL)


@contextmanager
def naming(what: Path | str) -> Iterator[None]:
    """Puts ``what`` (a file, a key, a link) before the message of a ValueError from inside."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from error


def joined_link(joint: ET.Element, role: str) -> str:
    """The link that a <joint> names as its ``parent`` or ``child``.

    Raises:
        ValueError: it names none.
    """
    element = joint.find(role)
    if element is None:
        raise ValueError(f"joint '{joint.get('name')}' has no <{role}>")
    return str(element.get("link"))


def ways(root: ET.Element) -> dict[str, list[ET.Element]]:
    """For each link of a tree the <joint> elements that carry it, from the root on."""
    above = {joined_link(e, "child"): e for e in root.findall("joint")}
    carriers = {str(e.get("name")): list[ET.Element]() for e in root.findall("link")}
    for link, way in carriers.items():
        while link in above:
            way.insert(0, above[link])
            link = joined_link(way[0], "parent")
    return carriers


def limit_of(joint: ET.Element, key: str, default: float = 0.0) -> float:
    """A number of a joint's <limit>, such as ``lower``; the default if it states none."""
    limit = joint.find("limit")
    return default if limit is None else float(limit.get(key, default))


def onto_axis(joint: ET.Element) -> Array:
    """X_LJ (4, 4): the rotation of z onto the joint's axis in its link's frame.

    Raises:
        ValueError: the axis has no direction, or is no three numbers.
    """
    element = joint.find("axis")
    if element is None or element.get("xyz") is None:
        z = np.array([1.0, 0.0, 0.0])  # URDF's default
    else:
        z = np.array(numbers(element, "xyz", 3))
    size = float(np.linalg.norm(z))
    if not 1e-6 < size < 1e6:  # beyond, rounding would turn it
        raise ValueError(f"<axis> {z.tolist()} of joint '{joint.get('name')}' has no direction")
    z = z / size
    # The unit vector farthest from z gives the other axes; the identity if the axis is z.
    x = np.eye(3)[0] if abs(z[0]) < 0.9 else np.eye(3)[1]
    x = x - z * (z @ x)
    x /= np.linalg.norm(x)
    return transform(np.stack([x, np.cross(z, x), z], axis=1))


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
        meshes: whether to read mesh files; if not, shapes of meshes are left out.

    Raises:
        ValueError: a shape, number or mesh can't be read; the message names the link.
        FileNotFoundError: no such mesh.
    """
    shapes = []
    for link in ET.fromstring(urdf_text).iter("link"):
        name = str(link.get("name"))
        for collision in link.findall("collision"):
            if not meshes and collision.find("geometry/mesh") is not None:
                continue
            with naming(f"link '{name}'"):
                shapes.append(_shape(name, collision))
    return tuple(shapes)


def _shape(link: str, collision: ET.Element) -> LinkShape:
    """The shape of one <collision> of a link."""
    X_LS, (element, size) = origin_of(collision), shape_of(collision)
    if element.tag != "mesh":
        return LinkShape(link, cast("Kind", element.tag), X_LS, frozen(size))
    name = element.get("filename", "")
    path = Path(name.removeprefix("file://"))
    if not path.is_absolute():
        raise ValueError(f"mesh '{name}': give meshes by file:// or absolute path")
    covered = _mesh_hull(str(path), (size[0], size[1], size[2]))
    return LinkShape(link, "hull", X_LS, frozen(np.ptp(covered.vertices, axis=0)), covered)


def shape_of(collision: ET.Element) -> tuple[ET.Element, list[float]]:
    """The shape of a <collision>, and its sizes as in ``LinkShape``; of a mesh, its scale.

    Raises:
        ValueError: it has no shape or several, an unknown one, or sizes that are no sizes.
    """
    shapes = collision.findall("geometry/*")
    if len(shapes) != 1 or shapes[0].tag not in _SIZES:
        tags, known = [shape.tag for shape in shapes], list(_SIZES)
        raise ValueError(f"a <collision> needs one shape in its <geometry>, {known}, got {tags}")
    shape, sizes = shapes[0], list[float]()
    if shape.tag == "mesh" and shape.get("scale") is None:
        return shape, [1.0, 1.0, 1.0]
    for name, count in _SIZES[shape.tag].items():
        values = numbers(shape, name, count)
        least = -LARGEST_SIDE if shape.tag == "mesh" else SMALLEST_SIDE  # a mesh may be mirrored
        if not least <= min(values) <= max(values) <= LARGEST_SIDE or 0.0 in values:
            bounds = f"be positive, between {SMALLEST_SIDE:g} and {LARGEST_SIDE:g} m"
            raise ValueError(f'<{shape.tag} {name}="{shape.get(name)}">: sizes must {bounds}')
        sizes += values
    return shape, sizes


def origin_of(element: ET.Element) -> Array:
    """The pose X (4, 4) of an element's <origin>; the identity if it has none."""
    origin = element.find("origin")
    if origin is None:
        return frozen(np.eye(4))
    xyz = numbers(origin, "xyz", 3) if origin.get("xyz") else [0.0, 0.0, 0.0]
    roll, pitch, yaw = numbers(origin, "rpy", 3) if origin.get("rpy") else [0.0, 0.0, 0.0]
    return frozen(transform(rotation_rpy(roll, pitch, yaw), xyz))


def numbers(element: ET.Element, name: str, count: int, finite: bool = True) -> list[float]:
    """The numbers of an element's attribute.

    Args:
        element: of the URDF.
        name: of the attribute.
        count: how many numbers there must be.
        finite: whether they must be finite; if not, they may be infinite.

    Raises:
        ValueError: they are not that many numbers, NaN, or infinite where they may not be.
    """
    words = element.get(name, "").split()
    try:
        values = [float(word) for word in words]
    except ValueError:
        values = []
    bad = ~np.isfinite(values) if finite else np.isnan(values)
    if len(values) != count or bad.any():
        raise ValueError(f'<{element.tag} {name}="{element.get(name, "")}"> needs {count} numbers')
    return values


@lru_cache(maxsize=256)
def _mesh_hull(path: str, scale: tuple[float, float, float]) -> Hull:
    """The convex hull of a mesh file, scaled; cached."""
    return hull(mesh_points(Path(path)) * np.array(scale))
