"""A robot as a tree of joints: which frame each joint moves, and where each link is fixed to.

Frame 0 is the world; frame j + 1 is moved by joint j of q. In a joint's own frame its axis is z,
whatever its axis is in the URDF, so that every joint is Rz(q) or Tz(q) behind a constant transform.
Links joined by fixed joints (and by joints that are not in q, held at zero) share a frame.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from galley.domain.frames import Array, frozen, inverse, rotation_rpy, transform

Ints = NDArray[np.int64]
_MOVES = ("revolute", "continuous", "prismatic")


@dataclass(frozen=True)
class Tree:
    """Joints in the order of q, and the links on their frames.

    Attributes:
        joints: names (n,), parents before children.
        parent: frame that each joint stands on (n,), 0 for the world.
        X_PJ: pose of each joint's frame at q = 0 in its parent's (n, 4, 4); z is the axis.
        prismatic: whether a joint slides along z instead of turning about it (n,).
        lower, upper: the URDF's position limits (n,).
        links: names of all links.
        frame: the frame that each link is fixed to (L,).
        X_FL: each link's URDF frame in that frame (L, 4, 4).
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
        """Frame and pose X_FL (4, 4) of the link called ``name``.

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
        """X_WL (4, 4) of a link for q (n,)."""
        frame, X_FL = self.link(name)
        return np.asarray(self.poses(q)[frame] @ X_FL)


def read_tree(urdf: str, joints: tuple[str, ...]) -> Tree:
    """The tree of a URDF's text for a choice of joints, in the order of q.

    Raises:
        ValueError: a joint is missing, does not move, or stands before one that carries it.
    """
    root = ET.fromstring(urdf)
    elements = {str(e.get("name")): e for e in root.findall("joint")}
    for name in joints:
        if name not in elements or elements[name].get("type") not in _MOVES:
            raise ValueError(f"the URDF has no movable joint '{name}'")
    children = {_link(e, "child"): e for e in elements.values()}
    links = tuple(str(e.get("name")) for e in root.findall("link"))
    n = len(joints)
    parent = np.zeros(n, dtype=np.int64)
    X_PJ = np.empty((n, 4, 4))
    prismatic = np.zeros(n, dtype=bool)
    lower, upper = np.full(n, -np.pi), np.full(n, np.pi)
    placed: dict[str, tuple[int, Array]] = {}

    def place(link: str) -> tuple[int, Array]:
        """Frame of a link and its pose in it; joints are entered as they are met."""
        if link in placed:
            return placed[link]
        element = children.get(link)
        if element is None:  # the root stands in the world
            placed[link] = (0, np.eye(4))
            return placed[link]
        frame, X_FP = place(_link(element, "parent"))
        X = X_FP @ _origin(element)
        name = str(element.get("name"))
        if name not in joints:
            placed[link] = (frame, X)
            return placed[link]
        j = joints.index(name)
        if frame > j:
            raise ValueError(f"joint '{name}' stands before '{joints[frame - 1]}', its carrier")
        X_JL = inverse(_onto_axis(element))
        parent[j], X_PJ[j] = frame, X @ inverse(X_JL)
        prismatic[j] = element.get("type") == "prismatic"
        limit = element.find("limit")
        if limit is not None and element.get("type") != "continuous":
            lower[j], upper[j] = (float(limit.get(k, "0")) for k in ("lower", "upper"))
        placed[link] = (j + 1, X_JL)
        return placed[link]

    found = [place(link) for link in links]
    frame = np.array([f for f, _ in found], dtype=np.int64)
    X_FL = np.array([X for _, X in found])
    for array in (parent, prismatic, frame):
        array.setflags(write=False)
    return Tree(
        joints,
        parent,
        frozen(X_PJ),
        prismatic,
        frozen(lower),
        frozen(upper),
        links,
        frame,
        frozen(X_FL),
    )


def _link(joint: ET.Element, role: str) -> str:
    element = joint.find(role)
    if element is None:
        raise ValueError(f"joint '{joint.get('name')}' has no <{role}>")
    return str(element.get("link"))


def _origin(element: ET.Element) -> Array:
    """X (4, 4) of an element's <origin>."""
    origin = element.find("origin")
    if origin is None:
        return np.eye(4)
    p = [float(v) for v in origin.get("xyz", "0 0 0").split()]
    angles = [float(v) for v in origin.get("rpy", "0 0 0").split()]
    return transform(rotation_rpy(*angles), p)


def _onto_axis(joint: ET.Element) -> Array:
    """X_LJ (4, 4): a rotation that brings z onto the joint's axis in its link's frame."""
    element = joint.find("axis")
    words = "1 0 0" if element is None else element.get("xyz", "1 0 0")  # URDF's default
    z = np.array([float(v) for v in words.split()])
    size = float(np.linalg.norm(z))
    if size == 0.0:
        raise ValueError(f"joint '{joint.get('name')}' has no axis")
    z = z / size
    # The unit vector least along z gives the other two; for z itself that's the identity.
    x = np.eye(3)[0] if abs(z[0]) < 0.9 else np.eye(3)[1]
    x = x - z * (z @ x)
    x /= np.linalg.norm(x)
    return transform(np.stack([x, np.cross(z, x), z], axis=1))
