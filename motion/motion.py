"""Motion: one continuous movement of one joint group, with what it carries and may touch."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from galley.collision.checker import Pair
from galley.domain.frames import Array, as_numbers, inverse, plane_poses, wrap
from galley.motion.path import Path
from galley.motion.trajectory.trajectory import Trajectory

FREE = "free"
"""The audit's verdict on a motion without unexpected contact."""


@dataclass(frozen=True)
class Attachment:
    """An item or a scene joint that moves with the hand while a Motion runs.

    Attributes:
        kind: ``item`` (rigid in the hand) or ``joint`` (a scene joint moved by its handle).
        name: the item's or the joint's name.
        hand: name of the other hand, if the item is handed over to it; empty if the item stays in
            the hand that moves.
    """

    kind: str
    name: str
    hand: str = ""


@dataclass(frozen=True, eq=False)
class Slide:
    """How an item slides over its support while the hand pushes it along a straight line.

    Attributes:
        item: name of the item.
        direction: direction in which the hand moves, a unit vector (3,) in the world.
        way: distances (m) that the hand has moved (n,), ascending from 0.
        poses: predicted x, y (m) and yaw (rad) of the item's frame in the world at each of these
            distances (n, 3).
        goal: x, y (m) and yaw (rad) (3,) in the world, to which this push and those after it bring
            the item.
    """

    item: str
    direction: Array
    way: Array
    poses: Array
    goal: Array

    def moved(self, X_WI: Array, travel: Array) -> Array:
        """The item's pose (..., 4, 4) after the hand has moved by ``travel`` (..., 3), m, world.

        The item begins at X_WI (4, 4). It moves by as much as was predicted, even if it did not
        begin at the predicted pose.
        """
        gone = travel @ self.direction
        now = [np.interp(gone, self.way, column) for column in self.poses.T]
        return plane_poses(np.stack(now, axis=-1)) @ inverse(plane_poses(self.poses[0])) @ X_WI

    def left(self, X_WI: Array) -> tuple[float, float]:
        """Distance (m) and angle (rad) to the goal of an item at X_WI (4, 4)."""
        turned = wrap(yaw_of(X_WI) - self.goal[2])
        return float(np.hypot(*(X_WI[:2, 3] - self.goal[:2]))), abs(float(turned))


def yaw_of(X: Array) -> float:
    """The yaw (rad) of a pose (4, 4): of its x axis, or of its z axis if the x axis is vertical.

    The rule is that of ``domain.scene.stable_poses.heading_axis``, by which a goal's yaw is judged.
    """
    axis = 2 if abs(X[2, 0]) > np.cos(np.pi / 4.0) else 0
    return float(np.arctan2(X[1, axis], X[0, axis]))


@dataclass(frozen=True)
class Guard:
    """The contact force at which a motion stops, for executors that sense forces.

    Attributes:
        direction: unit vector (3,) in the world.
        force: contact force (N) against ``direction`` at which the motion stops.
        speed: highest speed (m/s) of the search for contact beyond the planned end. None: as fast
            as ``force`` allows. A motion's final trajectory comes with the speed that is safe for
            the arm's mass there (``skills.manipulation.optimize``).
        seek: distance (m) by which the motion continues beyond its planned end to reach that force;
            0 to stop at the planned end.

    Raises:
        ValueError: ``direction`` is no unit vector, or another value is below 0.
    """

    direction: Array
    force: float
    speed: float | None = None
    seek: float = 0.0

    def __post_init__(self) -> None:
        direction = as_numbers(self.direction, "direction of a guard", (3,))
        if abs(float(direction @ direction) - 1.0) > 1e-6:
            raise ValueError(f"direction of a guard must be a unit vector, got {direction}")
        for name in ("force", "speed", "seek"):
            value = getattr(self, name)
            if value is not None:
                as_numbers(value, f"{name} of a guard", least=0.0)


@dataclass(frozen=True)
class Record:
    """Figures for the report: how a Motion was planned.

    Attributes:
        planner: ``rrt-connect``, ``rrt``, ``straight`` or ``direct``.
        planning_ms: wall time of planning the path.
        optimization_ms: wall time of optimizing the trajectory.
        length_rrt: length of the planner's path in joint space, or None.
        length_shortcut: length of the shortened path, or None.
        length_optimized: length of the trajectory, or None.
        optimizer: the one used: ``smooth``, ``time-optimal``, ``shortest`` or ``none``; with the
            reason if it is not the one in the settings.
        min_clearance_m: least clearance measured along the path to bodies that the motion may not
            touch (the proof measures up to 0.06 m); None if not measured.
        velocity_ratio: peak velocity as a share of the limit.
        acceleration_ratio: peak acceleration as a share of the limit.
        jerk_ratio: peak jerk as a share of the limit.
        audit: Drake's verdict, or None.
        torque_slowdown: factor by which the trajectory was slowed to keep the torque limits.
        reason: why a drive goes to this base pose; empty if there was no choice.
        margin_m: margin (m) with which a free motion was planned; None for lines and strokes.
    """

    planner: str
    planning_ms: float = 0.0
    optimization_ms: float = 0.0
    length_rrt: float | None = None
    length_shortcut: float | None = None
    length_optimized: float | None = None
    optimizer: str = "none"
    min_clearance_m: float | None = None
    velocity_ratio: float = 0.0
    acceleration_ratio: float = 0.0
    jerk_ratio: float = 0.0
    audit: str | None = None
    torque_slowdown: float = 1.0
    reason: str = ""
    margin_m: float | None = None


@dataclass(frozen=True)
class Motion:
    """One movement of one joint group. A symbolic action refines to several.

    Attributes:
        action_index: position of the action in the plan.
        phase: purpose of the movement, such as ``open drawer: approach``.
        group: name of the joint group that moves.
        path: the path as planned.
        trajectory: the trajectory to execute, from the path's start to its end; along the path or,
            if optimized, near it and proven free.
        attachments: the items and the scene joint that move with the hand, from this motion's start
            on.
        allowed: pairs of names of bodies that may touch during the motion.
        guard: contact that stops the motion, or None.
        record: figures for the report.
        slide: how the item slides that the hand pushes, or None if it pushes none.
        hand: name of the hand that acts, for a robot with several: the groups ``arm`` and
            ``fingers`` are those of this hand. Empty: the hand of the robot model that the motion
            is planned with.
    """

    action_index: int
    phase: str
    group: str
    path: Path
    trajectory: Trajectory
    attachments: tuple[Attachment, ...] = ()
    allowed: frozenset[Pair] = frozenset()
    guard: Guard | None = None
    record: Record = field(default_factory=lambda: Record("direct"))
    slide: Slide | None = None
    hand: str = ""
