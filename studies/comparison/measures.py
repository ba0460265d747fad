"""Measures a trajectory: lengths, duration, peaks, clearance and collisions.

Two engines check for collisions, the compiled kernel and PyBullet. The kernel first tries to prove
the whole curve free; if it can't, it checks sampled configurations. PyBullet always does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.collision.checker import held_pairs
from galley.collision.scene_kernel import SceneKernel
from galley.collision.view import View
from galley.domain.frames import Array
from galley.motion.path import polygon_length
from galley.motion.trajectory.trajectory import Trajectory, limit_ratios
from galley.studies.comparison.methods import Attempt
from galley.studies.comparison.queries import ArmQuery, arm_view, hand_poses

TIME_STEP = 1e-3  # s, the control period of a real arm
CLEARANCE_CAP = 0.3  # m, largest clearance that is measured
LIMIT_TOLERANCE = 1.001  # share of a limit that still counts as within it
STEP = 0.01  # rad, the most a joint moves between two checked configurations
TOUCHING = 0.002  # m of penetration that counts as a collision: Bullet's margin around meshes


@dataclass(frozen=True)
class Hit:
    """A collision on a trajectory.

    Attributes:
        time: seconds from the start of the trajectory.
        pair: the names of the two bodies.
        depth: the depth of penetration, m.
        engine: the engine that found it, ``kernel`` or ``pybullet``.
    """

    time: float
    pair: tuple[str, str]
    depth: float
    engine: str


@dataclass(frozen=True)
class CollisionVerdict:
    """The verdicts of both engines.

    Attributes:
        proven: whether the kernel proved the whole curve free.
        hits: the first collision that each engine found; empty if free.
        states: number of configurations that PyBullet checked.
    """

    proven: bool
    hits: tuple[Hit, ...]
    states: int

    @property
    def free(self) -> bool:
        """Whether neither engine found a collision."""
        return not self.hits

    @property
    def first(self) -> Hit | None:
        """The earliest collision of both engines, or None."""
        return min(self.hits, key=lambda hit: hit.time, default=None)


@dataclass(frozen=True)
class Curve:
    """A trajectory sampled every millisecond, for figures.

    Attributes:
        time: (n,), s.
        position: joint positions (n, k), rad or m.
        velocity: joint velocities (n, k), rad/s or m/s.
        hand: positions p_WH (n, 3) of the hand in the world, m.
        clearance_time: the times (m,) at which clearance was measured, s.
        clearance: (m,), m, at most CLEARANCE_CAP.
    """

    time: Array
    position: Array
    velocity: Array
    hand: Array
    clearance_time: Array
    clearance: Array


@dataclass(frozen=True)
class Measurements:
    """The figures of an attempt that has a trajectory.

    Attributes:
        joint_length: length of the path in joint space, rad.
        hand_length: length of the hand's path, m.
        duration: s.
        peaks: largest velocity, acceleration and jerk of any joint, as ratios to its limits.
        clearance: least distance to anything that doesn't move, m, at most CLEARANCE_CAP.
        verdict: the collisions that the two engines found.
        curve: the samples for figures.
    """

    joint_length: float
    hand_length: float
    duration: float
    peaks: tuple[float, float, float]
    clearance: float
    verdict: CollisionVerdict
    curve: Curve

    @property
    def within_limits(self) -> bool:
        """Whether velocity, acceleration and jerk are within the limits, to 0.1 %."""
        return max(self.peaks) <= LIMIT_TOLERANCE


def measure(
    kernel: SceneKernel, world: PyBulletWorld, query: ArmQuery, attempt: Attempt
) -> Measurements | None:
    """Measure an attempt; None if it has no trajectory."""
    trajectory = attempt.trajectory
    if trajectory is None:
        return None
    group = kernel.robot.group("arm")
    times = sample_times(trajectory.duration)
    Q = trajectory(times)
    hand = hand_poses(kernel.robot, query.state.q, Q)[:, :3, 3]
    rows = spaced_rows(Q, STEP)
    clearance = arm_view(kernel, query.state).clearances(Q[rows], CLEARANCE_CAP)
    return Measurements(
        joint_length=polygon_length(Q),
        hand_length=polygon_length(hand),
        duration=trajectory.duration,
        peaks=limit_ratios(trajectory, group),
        clearance=float(clearance.min()),
        verdict=find_collisions(kernel, world, query, trajectory, times[rows], Q[rows]),
        curve=Curve(times, Q, trajectory(times, 1), hand, times[rows], clearance),
    )


def sample_times(duration: float) -> Array:
    """The times at which a trajectory is sampled: 0, 1 ms, 2 ms, ... and its end, s."""
    return np.append(np.arange(0.0, duration - 1e-9, TIME_STEP), duration)


def find_collisions(
    kernel: SceneKernel,
    world: PyBulletWorld,
    query: ArmQuery,
    trajectory: Trajectory,
    times: Array,
    Q: Array,
) -> CollisionVerdict:
    """Check a trajectory for collisions with both engines.

    Args:
        world: any PyBullet world of the same scene; its state is changed.
        times: of the samples to check (n,), s.
        Q: the samples (n, k), rad or m, close together (see ``spaced_rows``).
    """
    view = arm_view(kernel, query.state, 0.0)
    proven = view.curve_unproven(trajectory.breaks, trajectory.coefficients, 0.0) is None
    hits = None if proven else _kernel_hit(view, times, Q), _bullet_hit(world, query, times, Q)
    return CollisionVerdict(proven, tuple(hit for hit in hits if hit is not None), len(Q))


def spaced_rows(Q: Array, step: float) -> NDArray[np.int64]:
    """Indices of samples about ``step`` apart on a densely sampled curve (n, k), with both ends.

    Between two of them no coordinate changes by more than ``step`` plus one sample's change.
    """
    if len(Q) == 1:
        return np.zeros(1, dtype=np.int64)
    along = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(Q, axis=0)).max(axis=1))])
    ticks = np.arange(0.0, along[-1], step)
    rows = np.concatenate([[0], np.searchsorted(along, ticks, side="left"), [len(Q) - 1]])
    return np.unique(np.minimum(rows, len(Q) - 1)).astype(np.int64)


def _kernel_hit(view: View, times: Array, Q: Array) -> Hit | None:
    """The first collision that the compiled kernel finds at samples Q (n, k); None if free."""
    for k in np.nonzero(~view.free_many(Q))[0]:
        deep = [c for c in view.contacts(Q[k], within=0.0) if c.distance < 0.0]
        if deep:  # otherwise the robot is only within the margin to itself: no collision
            return Hit(float(times[k]), (deep[0].a, deep[0].b), -deep[0].distance, "kernel")
    return None


def _bullet_hit(world: PyBulletWorld, query: ArmQuery, times: Array, Q: Array) -> Hit | None:
    """The first collision that PyBullet finds at samples Q (n, k); None if free."""
    allowed = held_pairs(world.scene, world.robot, query.state)
    checker = world.checker(query.state, allowed, margin=0.0)
    joints, q = world.robot.slice("arm"), query.state.q.copy()
    for t, arm in zip(times, Q, strict=True):
        q[joints] = arm
        for contact in checker.contacts(q):
            if contact.distance < -TOUCHING:
                pair = (contact.a, contact.b)
                return Hit(float(t), pair, -contact.distance, "pybullet")
    return None
