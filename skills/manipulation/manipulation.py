"""The description of a manipulation: lines of the hand and strokes of the fingers, in contact.

Skills describe manipulations by hand poses; ``step`` finds base and arm configurations for them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from galley.collision.checker import Pair
from galley.domain.frames import Array, transform
from galley.domain.scene.model import Handle, Joint
from galley.domain.scene.robot_file import Spacing
from galley.domain.state import State
from galley.motion.motion import Attachment, Guard, Slide
from galley.robots.model import RobotModel

LINE_STEP = Spacing().step  # m between the hand poses of a line
APPROACH_SPEED = 0.25  # m/s of the empty hand close to things
CARRY_SPEED = 0.15  # m/s while lifting or pulling
LOWER_SPEED = 0.08  # m/s towards a support, slow enough to stop on contact


@dataclass(frozen=True)
class Line:
    """The hand follows poses: a straight line, or the path of a drawer or door.

    Attributes:
        phase: name for the report.
        poses: hand poses X_WH (n, 4, 4), n >= 2, close together.
        state: the world during the line; its values for the arm, base and hand are ignored.
        allowed: pairs that may touch.
        attachments: the item or joint that moves with the hand, if any.
        speed: peak speed of the hand, m/s.
        scene_q: scene joint values (n, nj) if the hand moves a joint, else None.
        guard: the force at which execution ends the line, or None.
        slide: how the item slides that the hand pushes, or None; ``state`` has it at its start.
    """

    phase: str
    poses: Array
    state: State
    allowed: frozenset[Pair]
    attachments: tuple[Attachment, ...]
    speed: float
    scene_q: Array | None = None
    guard: Guard | None = None
    slide: Slide | None = None

    def __post_init__(self) -> None:
        shape = np.shape(self.poses)
        if len(shape) != 3 or shape[0] < 2 or shape[1:] != (4, 4):
            raise ValueError(f"a Line needs poses (n, 4, 4) with n from 2, got {shape}")

    @property
    def length(self) -> float:
        """The distance that the hand travels, metres."""
        return float(np.linalg.norm(np.diff(self.poses[:, :3, 3], axis=0), axis=1).sum())


@dataclass(frozen=True)
class GripperMotion:
    """The fingers move.

    Attributes:
        phase: name for the report.
        opening: distance of each finger from the middle afterwards, metres.
        allowed: pairs that may touch.
        attachments: the item or joint that moves with the hand, if any.
        guard: the force at which execution ends the stroke, or None.
    """

    phase: str
    opening: float
    allowed: frozenset[Pair]
    attachments: tuple[Attachment, ...]
    guard: Guard | None = None


Stroke = GripperMotion  # its name in skills of users


@dataclass(frozen=True)
class Manipulation:
    """Lines and strokes in order. The first line ends in contact; the arm is solved there.

    Attributes:
        name: name for messages.
        steps: the lines and strokes; the first and the last are Lines.
        opening: distance of each finger from the middle at the beginning, metres.
    """

    name: str
    steps: tuple[Line | GripperMotion, ...]
    opening: float

    def __post_init__(self) -> None:
        ends = self.steps[:1] + self.steps[-1:]
        if len(ends) < 2 or not all(isinstance(step, Line) for step in ends):
            raise ValueError("a Manipulation begins and ends with a Line")

    @property
    def first(self) -> Line:
        """The line that ends in contact."""
        line = self.steps[0]
        assert isinstance(line, Line)
        return line

    @property
    def contact(self) -> Array:
        """The hand pose X_WH (4, 4) in contact, at the end of the first line."""
        return np.asarray(self.first.poses[-1])


def straight(X_A: Array, X_B: Array, apart: float = LINE_STEP) -> Array:
    """Poses (n, 4, 4) from X_A to X_B on a straight line, at most ``apart`` (m) from each other.

    All have the orientation of X_B.
    """
    step = X_B[:3, 3] - X_A[:3, 3]
    n = max(1, math.ceil(math.sqrt(step @ step) / apart - 1e-9))
    poses = np.empty((n + 1, 4, 4))
    poses[:] = X_B
    poses[:-1, :3, 3] = X_A[:3, 3] + np.arange(n)[:, None] * (step / n)
    return poses


def shifted(X: Array, p_W: Array) -> Array:
    """X (4, 4) moved by p_W (3,) in the world."""
    return transform(X[:3, :3], X[:3, 3] + p_W)


def backed_off(X_WH: Array, distance: float) -> Array:
    """The hand pose moved back by ``distance`` (m) along the hand's z axis."""
    return shifted(X_WH, -distance * X_WH[:3, 2])


def along_joint(
    X_WH: Array, joint: Joint, start: float, end: float, apart: float = LINE_STEP
) -> tuple[Array, Array]:
    """Hand poses (n, 4, 4) and joint values (n,) while the hand moves a joint from start to end.

    Args:
        X_WH: the hand at the start (4, 4).
        apart: distance (m) that the hand travels between two poses, at most.
    """
    travel = abs(end - start)
    if joint.kind == "revolute":
        # The hand moves on a circle: its radius is the distance from the axis.
        arm = X_WH[:3, 3] - joint.pivot
        travel *= float(np.linalg.norm(arm - joint.axis * (joint.axis @ arm)))
    n = max(1, int(np.ceil(travel / apart - 1e-9)))
    values = np.linspace(start, end, n + 1)
    return np.array([joint.motion(v - start) @ X_WH for v in values]), values


def handle_grasps(X_WB: Array, handle: Handle, robot: RobotModel) -> list[Array]:
    """Hand poses X_WH (4, 4) that grasp the handle of a body at X_WB (4, 4).

    The hand comes both ways round, at five places along the bar if it has a span.
    """
    z, y = handle.approach, handle.closing
    x = np.cross(y, z)
    poses = []
    for flip in (1.0, -1.0):
        R_BT = np.stack([flip * x, flip * y, z], axis=1)
        for offset in np.linspace(-handle.span, handle.span, 5 if handle.span > 0 else 1):
            X_BT = transform(R_BT, handle.point + offset * x)
            X_BT = robot.gripper.centred(X_BT, handle.thickness)
            poses.append(X_WB @ X_BT @ transform(None, -robot.p_HT))
    return poses
