"""Manipulation: the part of a skill in contact, as straight lines of the hand and finger strokes.

A skill says *what* its lines are; ``reach`` finds the base and arm configurations that run them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from galley.domain.frames import Array, transform
from galley.domain.scene.model import Handle, Joint
from galley.domain.state import State
from galley.motion.motion import Attachment, Guard
from galley.worlds.checker import Pair

LINE_STEP = 0.01  # m between the hand poses of a line
APPROACH_SPEED = 0.25  # m/s of the hand, empty, close to things
CARRY_SPEED = 0.15  # m/s in contact: lifting, pulling
LOWER_SPEED = 0.08  # m/s towards what an item is put on: slow enough to stop at once on touching it


@dataclass(frozen=True)
class Line:
    """The hand moves straight (or with a joint) through poses while declared pairs may touch.

    Attributes:
        phase: name for the report.
        poses: hand poses X_WH (n, 4, 4), n >= 2, at most LINE_STEP apart.
        state: the world during the line; its robot configuration doesn't matter.
        scene_q: scene joint values (n, nj) if the hand moves a joint, else None.
        allowed: pairs that may touch.
        attachments: what moves along with the hand.
        speed: m/s of the hand.
        guard: or None.
    """

    phase: str
    poses: Array
    state: State
    allowed: frozenset[Pair]
    attachments: tuple[Attachment, ...]
    speed: float
    scene_q: Array | None = None
    guard: Guard | None = None

    @property
    def length(self) -> float:
        """Metres that the hand travels."""
        return float(np.linalg.norm(np.diff(self.poses[:, :3, 3], axis=0), axis=1).sum())


@dataclass(frozen=True)
class Stroke:
    """The fingers move.

    Attributes:
        phase: name for the report.
        opening: of each finger afterwards, metres.
        allowed: pairs that may touch.
        attachments: in force during the stroke.
        guard: or None.
    """

    phase: str
    opening: float
    allowed: frozenset[Pair]
    attachments: tuple[Attachment, ...]
    guard: Guard | None = None


@dataclass(frozen=True)
class Manipulation:
    """Lines and strokes in order; the first line ends in contact, where the arm is solved.

    Attributes:
        name: what is done, for messages.
        steps: the first and the last are Lines.
        opening: of each finger at the beginning, metres.
    """

    name: str
    steps: tuple[Line | Stroke, ...]
    opening: float

    @property
    def first(self) -> Line:
        """The line that ends in contact."""
        line = self.steps[0]
        assert isinstance(line, Line)
        return line

    @property
    def contact(self) -> Array:
        """X_WH (4, 4) where the first line ends."""
        return np.asarray(self.first.poses[-1])


def straight(X_A: Array, X_B: Array) -> Array:
    """Poses (n, 4, 4) from X_A to X_B on a straight line; the orientation is X_B's throughout."""
    way = X_B[:3, 3] - X_A[:3, 3]
    n = max(1, math.ceil(math.sqrt(way @ way) / LINE_STEP - 1e-9))
    poses = np.empty((n + 1, 4, 4))
    poses[:] = X_B
    poses[:-1, :3, 3] = X_A[:3, 3] + np.arange(n)[:, None] * (way / n)
    return poses


def shifted(X: Array, p_W: Array) -> Array:
    """X (4, 4) moved by p_W (3,) in the world."""
    return transform(X[:3, :3], X[:3, 3] + p_W)


def backed_off(X_WH: Array, distance: float) -> Array:
    """The hand withdrawn by ``distance`` along its own pointing direction (its z axis)."""
    return shifted(X_WH, -distance * X_WH[:3, 2])


def along_joint(X_WH: Array, joint: Joint, start: float, end: float) -> tuple[Array, Array]:
    """Hand poses (n, 4, 4) and joint values (n,) as a held handle takes its joint start..end."""
    travel = abs(end - start)
    if joint.kind == "revolute":
        arm = X_WH[:3, 3] - joint.pivot
        travel *= float(np.linalg.norm(arm - joint.axis * (joint.axis @ arm)))
    n = max(1, int(np.ceil(travel / LINE_STEP - 1e-9)))
    values = np.linspace(start, end, n + 1)
    return np.array([joint.motion(v - start) @ X_WH for v in values]), values


def handle_grasps(X_WB: Array, handle: Handle, p_HT: Array) -> list[Array]:
    """Hand poses X_WH (4, 4) that take the handle, the body of the handle being at X_WB.

    Both ways up, and at places along the bar within its span.
    """
    z, y = handle.approach, handle.closing
    x = np.cross(y, z)
    found = []
    for flip in (1.0, -1.0):
        R_BT = np.stack([flip * x, flip * y, z], axis=1)
        for offset in np.linspace(-handle.span, handle.span, 5 if handle.span > 0 else 1):
            X_BT = transform(R_BT, handle.point + offset * x)
            found.append(X_WB @ X_BT @ transform(None, -p_HT))
    return found
