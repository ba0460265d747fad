"""Does a trajectory collide? Asked of the compiled kernel, and of PyBullet, which planned nothing.

The kernel is asked for a proof of the whole curve first. Where there is none, and by PyBullet
always, configurations along the curve are looked at one by one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from galley.comparison.query import Query, arm_view
from galley.domain.frames import Array
from galley.motion.trajectory import Trajectory
from galley.worlds.checker import held_pairs
from galley.worlds.pybullet_world import PyBulletWorld
from galley.worlds.scene_kernel import SceneKernel

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


def look_for_collisions(
    kernel: SceneKernel,
    world: PyBulletWorld,
    query: Query,
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


def _kernel_hit(kernel: SceneKernel, query: Query, times: Array, Q: Array) -> Hit | None:
    view = arm_view(kernel, query.state, 0.0)
    for k in np.nonzero(~view.free_many(Q))[0]:
        deep = [c for c in view.contacts(Q[k], 0.0) if c.distance < 0.0]
        if deep:  # else nearer to itself than is kept, but apart
            return Hit(float(times[k]), (deep[0].a, deep[0].b), -deep[0].distance, "kernel")
    return None


def _bullet_hit(world: PyBulletWorld, query: Query, times: Array, Q: Array) -> Hit | None:
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
