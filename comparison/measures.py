"""What is measured of a trajectory: lengths, duration, peaks, clearance, and whether it collides.

Collisions are asked of the compiled kernel, and of PyBullet, another engine. The kernel is asked
for a proof of the whole curve first. Where there is none, and by PyBullet always, configurations
along the curve are looked at one by one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from galley.comparison.methods import Attempt
from galley.comparison.queries import ArmQuery, arm_view, hand_poses
from galley.domain.frames import Array
from galley.motion.trajectory.trajectory import Trajectory, limit_ratios
from galley.robots.model import JointGroup
from galley.worlds.checker import held_pairs
from galley.worlds.engines.pybullet_world import PyBulletWorld
from galley.worlds.scene_kernel import SceneKernel

TIME_STEP = 1e-3  # s, what a real arm is commanded at
CAP = 0.3  # m, clearances are measured up to here
WITHIN = 1.001  # of a limit still counts as kept
STEP = 0.01  # rad, the most a joint moves between two configurations that are looked at
TOUCHING = 0.002  # m of penetration that counts as touching: Bullet's margin round meshes


@dataclass(frozen=True)
class Hit:
    """A collision.

    Attributes:
        time: s into the trajectory. pair: what collides. depth: m.
        engine: ``kernel`` or ``pybullet``.
    """

    time: float
    pair: tuple[str, str]
    depth: float
    engine: str


@dataclass(frozen=True)
class Collisions:
    """What both engines say.

    Attributes:
        proven: whether the kernel has proven that the whole curve touches nothing.
        hits: the first collision that each engine found; none if free.
        states: how many configurations PyBullet looked at.
    """

    proven: bool
    hits: tuple[Hit, ...]
    states: int

    @property
    def free(self) -> bool:
        """Whether nobody found a collision."""
        return not self.hits

    @property
    def first(self) -> Hit | None:
        """The earliest collision."""
        return min(self.hits, key=lambda hit: hit.time, default=None)


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
    kernel: SceneKernel, world: PyBulletWorld, query: ArmQuery, attempt: Attempt
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


def look_for_collisions(
    kernel: SceneKernel,
    world: PyBulletWorld,
    query: ArmQuery,
    trajectory: Trajectory,
    times: Array,
    Q: Array,
) -> Collisions:
    """Look for collisions along a trajectory.

    Args:
        world: any PyBullet world of the same scene; left in another state.
        times, Q: a dense sampling (n,) in s, (n, 7) in rad; see ``spread``.
    """
    seen = spread(Q, STEP)
    view = arm_view(kernel, query.state, 0.0)
    proven = view.curve_unproven(trajectory.breaks, trajectory.coefficients, 0.0) is None
    own = None if proven else _kernel_hit(kernel, query, times[seen], Q[seen])
    other = _bullet_hit(world, query, times[seen], Q[seen])
    hits = tuple(hit for hit in (own, other) if hit is not None)
    return Collisions(proven, hits, len(seen))


def spread(Q: Array, step: float) -> NDArray[np.int64]:
    """Rows of a densely sampled curve (n, k), both ends too, about ``step`` apart.

    No value changes by more than ``step`` and one sample's change from one to the next.
    """
    if len(Q) == 1:
        return np.zeros(1, dtype=np.int64)
    along = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(Q, axis=0)).max(axis=1))])
    ticks = np.arange(0.0, along[-1], step)
    rows = np.concatenate([[0], np.searchsorted(along, ticks, side="left"), [len(Q) - 1]])
    return np.unique(np.minimum(rows, len(Q) - 1)).astype(np.int64)


def _kernel_hit(kernel: SceneKernel, query: ArmQuery, times: Array, Q: Array) -> Hit | None:
    view = arm_view(kernel, query.state, 0.0)
    for k in np.nonzero(~view.free_many(Q))[0]:
        deep = [c for c in view.contacts(Q[k], within=0.0) if c.distance < 0.0]
        if deep:  # else nearer to itself than is kept, but apart
            return Hit(float(times[k]), (deep[0].a, deep[0].b), -deep[0].distance, "kernel")
    return None


def _bullet_hit(world: PyBulletWorld, query: ArmQuery, times: Array, Q: Array) -> Hit | None:
    allowed = held_pairs(world.scene, world.robot, query.state)
    checker = world.checker(query.state, allowed, margin=0.0)
    where, q = world.robot.slice("arm"), query.state.q.copy()
    for t, arm in zip(times, Q, strict=True):
        q[where] = arm
        for contact in checker.contacts(q):
            if contact.distance < -TOUCHING:
                pair = (contact.a, contact.b)
                return Hit(float(t), pair, -contact.distance, "pybullet")
    return None
