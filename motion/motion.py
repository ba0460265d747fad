"""Motion: one continuous movement of one joint group, with what it carries and may touch."""

from __future__ import annotations

from dataclasses import dataclass, field

from galley.domain.frames import Array
from galley.motion.path import Path
from galley.motion.trajectory.trajectory import Trajectory
from galley.worlds.checker import Pair

FREE = "free"
"""The audit's verdict on a motion that touches nothing undeclared."""


@dataclass(frozen=True)
class Attachment:
    """What moves with the hand while a Motion runs.

    Attributes:
        kind: ``item`` (rigid in the hand) or ``joint`` (a scene joint moved by its handle).
        name: the item's or the joint's name.
    """

    kind: str
    name: str


@dataclass(frozen=True)
class Guard:
    """Stop early when this is met; for executors that feel. SI units.

    Attributes:
        direction: unit vector in the world (3,).
        force: N, contact force against ``direction`` at which the motion is over.
        speed: m/s, allowed while guarded.
        seek: m, how far the motion goes on beyond its planned end until it meets that force; 0 for
            a guard that only stops it early.
    """

    direction: Array
    force: float
    speed: float
    seek: float = 0.0


@dataclass(frozen=True)
class Record:
    """How a Motion came about: figures for the report.

    Attributes:
        planner: ``rrt-connect``, ``rrt``, ``anytime``, ``straight`` or ``direct``.
        planning_ms, optimization_ms: wall time.
        length_rrt, length_shortcut, length_optimized: joint path lengths; None where not made.
        optimizer: what became of optimisation: ``smooth``, ``time-optimal``, ``shortest`` or
            ``none``; with the reason where it is not what was asked for.
        min_clearance_m: least clearance to an undeclared body measured along the path (the proof
            looks up to 0.06 m); None where nothing was measured.
        velocity_ratio, acceleration_ratio, jerk_ratio: peaks as shares of the limits.
        audit: verdict of the second world, None where not made.
        torque_slowdown: how many times as long the trajectory takes so that the motors can follow.
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


@dataclass(frozen=True)
class Motion:
    """One movement. One symbolic action refines to several.

    Attributes:
        action_index: position of the action in the plan.
        phase: what it is for, ``open drawer: approach``.
        group: joint group that moves.
        path: what was planned. trajectory: what is run, from the path's start to its end; along
            the path, or where an optimiser found better and proved it.
        attachments: what moves along with the hand, from this motion's start on.
        allowed: pairs of names that may touch during it.
        guard: or None.
        record: figures for the report.
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
