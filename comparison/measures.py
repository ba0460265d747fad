"""Figures of merit of a trajectory: lengths, duration, peaks as shares of the limits, clearance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from galley.comparison.collisions import STEP, Collisions, look_for_collisions, spread
from galley.comparison.methods import Attempt
from galley.comparison.query import Query, arm_view, hand_poses
from galley.domain.frames import Array
from galley.motion.trajectory import Trajectory, limit_ratios
from galley.robots.model import JointGroup
from galley.worlds.pybullet_world import PyBulletWorld
from galley.worlds.scene_kernel import SceneKernel

TIME_STEP = 1e-3  # s, what a real arm is commanded at
CAP = 0.3  # m, clearances are measured up to here
WITHIN = 1.001  # of a limit still counts as kept


@dataclass(frozen=True)
class Curve:
    """A trajectory sampled every millisecond, for figures.

    Attributes:
        time: s (n,). position, velocity: (n, 7) rad, rad/s. hand: p_WH (n, 3), m.
        clearance_time: s (m,). clearance: m (m,), at most CAP.
    """

    time: Array
    position: Array
    velocity: Array
    hand: Array
    clearance_time: Array
    clearance: Array


@dataclass(frozen=True)
class Measured:
    """What was measured of one attempt that has a trajectory.

    Attributes:
        joint_length: rad. hand_length: m. duration: s.
        velocity, acceleration, jerk: greatest ratio to the limits, of all joints, every 1 ms.
        peaks: the same three between the milliseconds too, exact.
        clearance: m, least distance to what stands still, at most CAP.
    """

    joint_length: float
    hand_length: float
    duration: float
    velocity: float
    acceleration: float
    jerk: float
    peaks: tuple[float, float, float]
    clearance: float
    verdict: Collisions
    curve: Curve

    @property
    def within_limits(self) -> bool:
        """Whether velocity, acceleration and jerk keep the limits, to 0.1 %."""
        return max(self.peaks) <= WITHIN


def measure(
    kernel: SceneKernel, world: PyBulletWorld, query: Query, attempt: Attempt
) -> Measured | None:
    """Figures of an attempt; None if it has no trajectory."""
    trajectory = attempt.trajectory
    if trajectory is None:
        return None
    group = kernel.robot.group("arm")
    times = sample_times(trajectory.duration)
    Q = trajectory(times)
    hand = hand_poses(kernel.scene.robot.base, query.state.q[:3], Q)[:, :3, 3]
    seen = spread(Q, STEP)
    clearance = arm_view(kernel, query.state).clearances(Q[seen], CAP)
    velocity, acceleration, jerk = ratios(trajectory, group, times)
    return Measured(
        joint_length=length(Q),
        hand_length=length(hand),
        duration=trajectory.duration,
        velocity=velocity,
        acceleration=acceleration,
        jerk=jerk,
        peaks=limit_ratios(trajectory, group),
        clearance=float(clearance.min()),
        verdict=look_for_collisions(kernel, world, query, trajectory, times, Q),
        curve=Curve(times, Q, trajectory(times, 1), hand, times[seen], clearance),
    )


def sample_times(duration: float) -> Array:
    """0, 1 ms, 2 ms, ... and the end, s."""
    return np.append(np.arange(0.0, duration - 1e-9, TIME_STEP), duration)


def length(points: Array) -> float:
    """Length of the polygon through points (n, k)."""
    return float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())


def ratios(trajectory: Trajectory, group: JointGroup, times: Array) -> tuple[float, float, float]:
    """Greatest velocity, acceleration and jerk at ``times`` (n,), as shares of the limits."""
    limits = (group.velocity, group.acceleration, group.jerk)
    v, a, j = (
        float((np.abs(trajectory(times, k + 1)) / limit).max()) for k, limit in enumerate(limits)
    )
    return v, a, j
