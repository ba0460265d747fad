"""Motion: one continuous movement of one joint group, with what it carries and may touch."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from galley.collision.checker import Pair
from galley.domain.frames import Array, as_numbers, inverse, plane_poses, wrap
from galley.motion.path import Path
from galley.motion.trajectory.trajectory import Trajectory

FREE = "free"
"""The audit's verdict on a motion that touches nothing undeclared."""


@dataclass(frozen=True)
class Attachment:
    """What moves with the hand while a Motion runs.

    Attributes:
        kind: ``item`` (rigid in the hand) or ``joint`` (a scene joint moved by its handle).
        name: the item's or the joint's name.
        hand: name of the other hand to which the item goes over; empty: the one that moves.
    """

    kind: str
    name: str
    hand: str = ""


@dataclass(frozen=True, eq=False)
class Slide:
    """How an item slides over its support while the hand pushes it along a straight line.

    Attributes:
        item: its name.
        direction: in which the hand goes, unit vector in the world (3,).
        way: m, how far the hand has gone (n,), ascending from 0.
        poses: x, y (m) and yaw (rad) of the item's frame then (n, 3), world, as predicted.
        goal: x, y, yaw (3,), where this push and those after it are to bring the item.
    """

    item: str
    direction: Array
    way: Array
    poses: Array
    goal: Array

    def moved(self, X_WI: Array, travel: Array) -> Array:
        """The item (..., 4, 4), first at X_WI (4, 4), after the hand has gone ``travel`` (..., 3).

        It moves by as much as was predicted, wherever it was at first.
        """
        gone = travel @ self.direction
        now = [np.interp(gone, self.way, column) for column in self.poses.T]
        return plane_poses(np.stack(now, axis=-1)) @ inverse(plane_poses(self.poses[0])) @ X_WI

    def left(self, X_WI: Array) -> tuple[float, float]:
        """How far (m) an item at X_WI (4, 4) is from the goal, and how far it is turned (rad)."""
        turned = wrap(yaw_of(X_WI) - self.goal[2])
        return float(np.hypot(*(X_WI[:2, 3] - self.goal[:2]))), abs(float(turned))


def yaw_of(X: Array) -> float:
    """The yaw (rad) of a pose (4, 4): that of its x axis, or of its z axis where x is vertical.

    As ``domain.scene.stable_poses.heading_axis`` has it, by which a goal's yaw is judged.
    """
    axis = 2 if abs(X[2, 0]) > np.cos(np.pi / 4.0) else 0
    return float(np.arctan2(X[1, axis], X[0, axis]))


@dataclass(frozen=True)
class Guard:
    """Contact at which a motion stops, for executors that sense forces. SI units.

    Attributes:
        direction: unit vector in the world (3,).
        force: N, contact force against ``direction`` at which the motion stops.
        speed: m/s, at most, at which contact may be met: of the search beyond the planned end.
            None: as fast as ``force`` allows. A motion's final trajectory comes with the speed that
            is safe for what the arm weighs there (``skills.manipulation.optimize``).
        seek: m, how far the motion continues beyond its planned end to reach that force; 0 to stop
            there.
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
    """How a Motion was planned: figures for the report.

    Attributes:
        planner: ``rrt-connect``, ``rrt``, ``straight`` or ``direct``.
        planning_ms, optimization_ms: wall time.
        length_rrt, length_shortcut, length_optimized: joint path lengths, or None.
        optimizer: the one used: ``smooth``, ``time-optimal``, ``shortest`` or ``none``; with the
            reason if it is not the one in the settings.
        min_clearance_m: least clearance to an undeclared body measured along the path (the proof
            measures up to 0.06 m); None if not measured.
        velocity_ratio, acceleration_ratio, jerk_ratio: peaks as shares of the limits.
        audit: Drake's verdict, or None.
        torque_slowdown: factor by which the trajectory was slowed to keep the torque limits.
        reason: of a drive, why to this base pose; empty where there was no choice.
        margin_m: that a free motion was planned with; None for lines and strokes.
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
    """One movement. A symbolic action refines to several.

    Attributes:
        action_index: position of the action in the plan.
        phase: what it is for, ``open drawer: approach``.
        group: joint group that moves.
        path: as planned. trajectory: as executed, from the path's start to its end; along the path
            or, if optimised, near it and proven free.
        attachments: what moves with the hand, from this motion's start on.
        allowed: pairs of names that may touch during it.
        guard: or None.
        record: figures for the report.
        slide: of the item that the hand pushes during it, or None.
        hand: name of the hand that acts, of a robot with several: ``arm`` and ``fingers`` are its.
            Empty: of the robot's model that it is planned with.
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
