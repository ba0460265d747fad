"""A serial arm on a base as data: the constants between its joints, and all that they carry."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from galley.domain.frames import Array, frozen
from galley.robots.urdf_reader import LinkShape, joined_link, link_shapes, origin_of, read_tree

BASE_JOINTS = ("base_x", "base_y", "base_heading")
_SIDES = 8  # of the polygon around what a turning joint sweeps


@dataclass(frozen=True, eq=False)
class Chain:
    """The arm's n joints; frame 0 is the base's B, joint k moves frame k about or along its z.

    Attributes:
        joints: names (n,), from the base to the hand.
        X: pose of each joint's frame at zero in the frame before; last, of the hand H in frame n
            (n + 1, 4, 4).
        prismatic: whether a joint slides (n,).
        lower, upper: the URDF's limits (n,).
        points: of each frame from 0 to n: points (m, 3) in it whose convex hull holds all that is
            fixed to it; for frame n the gripper too, wherever its joints are.
        fingers: how far (m) anything behind one finger joint moves, at most, a unit of each finger
            joint (k, k): 0 for joints that don't carry it.
    """

    joints: tuple[str, ...]
    X: Array
    prismatic: NDArray[np.bool_]
    lower: Array
    upper: Array
    points: tuple[Array, ...]
    fingers: Array


def chain_of(
    urdf: str, arm: tuple[str, ...], palm: str, fingers: tuple[str, ...] = (), meshes: bool = True
) -> Chain:
    """The chain of a robot's URDF that has the three base joints below the arm.

    Args:
        urdf: text, with meshes by absolute path.
        arm: names of the arm's joints, from the base to the hand.
        palm: the link whose frame is the hand's, fixed behind the last of them.
        fingers: names of the joints of the group ``fingers``.
        meshes: False: read no mesh. Bounds on travel hold without those shapes only.

    Raises:
        ValueError: these joints are no chain from the base to the palm, or a shape can't be read.
    """
    joints = BASE_JOINTS + arm
    tree = read_tree(urdf, joints)
    first = len(BASE_JOINTS)
    for k, parent in enumerate(tree.parent):
        if parent != k:
            raise ValueError(f"joint '{joints[k]}' must stand on '{joints[k - 1]}'")
    frame, X_FH = tree.link(palm)
    if frame != len(joints):
        raise ValueError(f"link '{palm}' must be fixed behind '{joints[-1]}', the arm's last joint")
    clouds = _Clouds(urdf, joints, meshes)
    points = []
    for name in joints[first - 1 :]:
        link = clouds.child(name)
        X_FL = tree.link(link)[1]
        points.append(frozen(_moved(clouds.carried(link, ()), X_FL)))
    radii = np.zeros((len(fingers), len(fingers)))
    for i, name in enumerate(fingers):
        for j, carrier in enumerate(fingers):
            if carrier in clouds.behind.get(name, ()):
                radii[i, j] = clouds.radius[carrier]
    return Chain(
        arm,
        frozen(np.concatenate([tree.X_PJ[first:], X_FH[None]])),
        tree.prismatic[first:],
        tree.lower[first:],
        tree.upper[first:],
        tuple(points),
        frozen(radii),
    )


class _Clouds:
    """Points whose convex hull holds a link and what joints outside the chain carry behind it.

    Attributes:
        behind: for each such joint that was seen, it and those that carry it.
        radius: for each, distance (m) that a point behind it moves at most a unit of the joint.
    """

    def __init__(self, urdf: str, joints: tuple[str, ...], meshes: bool) -> None:
        self._chain, self._elements = joints, list(ET.fromstring(urdf).findall("joint"))
        self._shapes: dict[str, list[LinkShape]] = {}
        for shape in link_shapes(urdf, meshes):
            self._shapes.setdefault(shape.link, []).append(shape)
        self.behind: dict[str, tuple[str, ...]] = {}
        self.radius: dict[str, float] = {}

    def child(self, joint: str) -> str:
        """The link that a joint moves."""
        return next(joined_link(e, "child") for e in self._elements if e.get("name") == joint)

    def carried(self, link: str, carriers: tuple[str, ...]) -> Array:
        """The points (m, 3) in the link's frame; ``carriers``: names of the joints before it."""
        found = [_moved(_corners(shape), shape.X_LS) for shape in self._shapes.get(link, [])]
        for element in self._elements:
            name, kind = str(element.get("name")), element.get("type")
            if joined_link(element, "parent") != link or name in self._chain:
                continue
            moves = kind != "fixed"
            before = (*carriers, name) if moves else carriers
            points = self.carried(joined_link(element, "child"), before)
            if moves and len(points):
                points = self._swept(element, points)
                self.behind[name] = before
            found.append(_moved(points, origin_of(element)))
        return np.concatenate(found) if found else np.empty((0, 3))

    def _swept(self, element: ET.Element, points: Array) -> Array:
        """Around all that a joint moves, wherever it is."""
        name, written = str(element.get("name")), element.find("axis")
        text = "1 0 0" if written is None else written.get("xyz", "1 0 0")  # URDF's default
        axis = np.array([float(word) for word in text.split()])
        axis /= np.linalg.norm(axis)
        if element.get("type") == "prismatic":
            limit = element.find("limit")
            ends = [0.0 if limit is None else float(limit.get(k, "0")) for k in ("lower", "upper")]
            self.radius[name] = 1.0
            return np.concatenate([points + end * axis for end in ends])
        along = points @ axis
        radius = float(np.linalg.norm(points - np.outer(along, axis), axis=1).max())
        self.radius[name] = radius
        across = np.linalg.svd(axis[None])[2][1:]
        ring = _ring(radius, float(along.min()), float(along.max()))
        return np.asarray(ring @ np.vstack([across, axis]))


def _ring(radius: float, low: float, high: float) -> Array:
    """The corners (m, 3) of a prism around a cylinder along z."""
    turns = 2.0 * np.pi * np.arange(_SIDES) / _SIDES
    flat = radius / np.cos(np.pi / _SIDES) * np.stack([np.cos(turns), np.sin(turns)], axis=1)
    return np.concatenate([np.insert(flat, 2, z, axis=1) for z in (low, high)])


def _corners(shape: LinkShape) -> Array:
    """Points (m, 3) in a shape's frame whose convex hull holds it."""
    if shape.hull is not None:
        return shape.hull.vertices
    if shape.kind == "box":
        signs = np.stack(np.meshgrid(*[(-0.5, 0.5)] * 3), axis=-1).reshape(-1, 3)
        return np.asarray(signs * shape.size)
    half = 0.5 * shape.size[1] if shape.kind == "cylinder" else shape.size[0]
    return _ring(float(shape.size[0]), -float(half), float(half))


def _moved(points: Array, X: Array) -> Array:
    """Points (m, 3) of a frame in another in which its pose is X (4, 4)."""
    return np.asarray(points @ X[:3, :3].T + X[:3, 3])
