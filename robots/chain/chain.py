"""Chain: a serial arm on a base as data, the constants between its joints and the links' shapes."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from galley.domain.frames import Array, frozen
from galley.robots.urdf_reader import (
    LinkShape,
    joined_link,
    limit_of,
    link_shapes,
    onto_axis,
    origin_of,
    read_tree,
)

BASE_JOINTS = ("base_x", "base_y", "base_heading")
_BOUNDED = ("revolute", "continuous", "prismatic")
_SIDES = 8  # sides of the prism around a cylinder


@dataclass(frozen=True, eq=False)
class Chain:
    """The base's three joints, then the arm's n; joint k moves frame k about or along its z.

    Attributes:
        joints: names of the joints (n + 3,).
        X: pose of each joint's frame at zero in the frame before it; last, the pose of the hand H
            in the last joint's frame (n + 4, 4, 4).
        prismatic: whether a joint slides (n + 3,).
        lower, upper: the URDF's limits, of turning joints a whole turn at most (n + 3,).
        points: for the base's frame B and each of the arm's frames, points (m, 3) in it whose
            convex hull contains all shapes that are fixed to it; for the last frame the gripper's
            too, wherever its joints are.
        fingers: for each finger joint, how far (m) its links move at most per rad or m of it (k,).
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
    """The chain of a robot's URDF, which has the three base joints below the arm.

    Args:
        urdf: text, with meshes by absolute path.
        arm: names of the arm's joints, from the base to the hand.
        palm: the link whose frame is the hand's, fixed behind the last of them.
        fingers: names of the joints of the group ``fingers``.
        meshes: whether to read meshes. Without them, bounds on travel leave those shapes out.

    Raises:
        ValueError: these joints are no chain from the base to the palm, or a shape can't be read.
    """
    joints = BASE_JOINTS + arm
    tree = read_tree(urdf, joints)
    for k, parent in enumerate(tree.parent):
        if parent != k:
            raise ValueError(f"joint '{joints[k]}' must stand on '{joints[k - 1]}'")
    frame, X_FH = tree.link(palm)
    if frame != len(joints):
        raise ValueError(f"link '{palm}' must be fixed behind '{joints[-1]}', the arm's last joint")
    hulls, X = _Hulls(urdf, joints, meshes), frozen([*tree.X_PJ, X_FH])
    links = [hulls.children[name] for name in joints[2:]]
    points = tuple(frozen(_moved(hulls.carried(link), tree.link(link)[1])) for link in links)
    radii = frozen([hulls.radius[name] for name in fingers])
    most = np.where(tree.prismatic, np.inf, 2.0 * np.pi)
    lower, upper = frozen(np.maximum(tree.lower, -most)), frozen(np.minimum(tree.upper, most))
    return Chain(joints, X, tree.prismatic, lower, upper, points, radii)


class _Hulls:
    """Points whose convex hull contains a link and all that joints outside the chain hang on it.

    Args:
        urdf: text.
        chain: names of the joints of the chain.
        meshes: whether to read meshes.

    Attributes:
        children: the link that each joint moves.
        radius: for each joint outside the chain that was met, how far (m) its links move at most
            per rad or m of it.
    """

    def __init__(self, urdf: str, chain: tuple[str, ...], meshes: bool) -> None:
        self._joints = {str(e.get("name")): e for e in ET.fromstring(urdf).findall("joint")}
        self._chain, self._shapes = chain, link_shapes(urdf, meshes)
        self.children = {name: joined_link(e, "child") for name, e in self._joints.items()}
        self.radius: dict[str, float] = {}

    def carried(self, link: str) -> Array:
        """The points (m, 3) for a link, in its frame."""
        points = [_moved(_corners(s), s.X_LS) for s in self._shapes if s.link == link]
        for name, element in self._joints.items():
            if joined_link(element, "parent") == link and name not in self._chain:
                swept = self._swept(name, element, self.carried(self.children[name]))
                points.append(_moved(swept, origin_of(element)))
        return np.concatenate([np.empty((0, 3)), *points])

    def _swept(self, name: str, joint: ET.Element, points: Array) -> Array:
        """Points whose hull contains given ones (m, 3) wherever their joint is, in its frame."""
        kind, limit = joint.get("type"), joint.find("limit")
        self.radius[name] = 1.0
        if kind == "fixed" or not len(points):
            return points
        z = onto_axis(joint)[:3, 2]
        if kind not in _BOUNDED or (kind == "prismatic" and limit is None):
            raise ValueError(f"joint '{name}' ({kind}) has no limits to what it carries")
        if kind == "prismatic":
            ends = [limit_of(joint, end) for end in ("lower", "upper")]
            return np.concatenate([points + end * z for end in ends])
        # A turning joint: all around the axis, as far as the farthest point.
        across = np.linalg.svd(z[None])[2][1:]
        self.radius[name] = radius = float(np.linalg.norm(points @ across.T, axis=1).max())
        return np.asarray(_around(radius, points @ z) @ np.vstack([across, z]))


def _around(radius: float, z: Array) -> Array:
    """Corners (m, 3) of a prism around a cylinder about the z axis, from least to greatest z."""
    turns = 2.0 * np.pi * np.arange(_SIDES) / _SIDES
    flat = radius / np.cos(np.pi / _SIDES) * np.stack([np.cos(turns), np.sin(turns)], axis=1)
    return np.concatenate([np.insert(flat, 2, end, axis=1) for end in (z.min(), z.max())])


def _corners(shape: LinkShape) -> Array:
    """Points (m, 3) in a shape's frame whose convex hull contains it."""
    if shape.hull is not None:
        return shape.hull.vertices
    if shape.kind == "box":
        return np.asarray((np.indices((2, 2, 2)).reshape(3, -1).T - 0.5) * shape.size)
    radius = float(shape.size[0])
    half = 0.5 * shape.size[1] if shape.kind == "cylinder" else radius
    return _around(radius, np.array([-half, half]))


def _moved(points: Array, X: Array) -> Array:
    """Points (m, 3) of a frame, in another one in which that frame's pose is X (4, 4)."""
    return np.asarray(points @ X[:3, :3].T + X[:3, 3])
