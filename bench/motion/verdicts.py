"""Checks paths of any planner in PyBullet and Drake, at fine steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from galley.bench.motion.queries import Query
from galley.collision.backends.drake_world import DrakeWorld
from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.collision.checker import Contact, held_pairs
from galley.domain.frames import Array, to_pose7
from galley.domain.scene.model import Scene
from galley.domain.state import item_pose
from galley.motion.path import Path
from galley.robots.model import RobotModel
from galley.robots.panda.mobile import hand_pose
from galley.tamp.checks import DEPTH

FINE = 0.02  # rad between the states that both look at
_SAME = 1e-6  # rad


@dataclass(frozen=True)
class Verdict:
    """What became of a path.

    Attributes:
        bullet, drake: the deepest contact in each engine that is deeper than DEPTH, or None.
        ends: it leads from the query's start to its goal, within the limits.
        length: Euclidean, rad.
    """

    bullet: Contact | None
    drake: Contact | None
    ends: bool
    length: float

    @property
    def valid(self) -> bool:
        """Whether nothing speaks against the path."""
        return self.ends and self.bullet is None and self.drake is None


class Judge:
    """Both engines, with the kitchen in them."""

    def __init__(self, scene: Scene, robot: RobotModel) -> None:
        self.scene = scene
        self.robot = robot
        self.bullet = PyBulletWorld(scene, robot)
        self.drake = DrakeWorld(scene, robot)

    def __call__(self, query: Query, waypoints: Array) -> Verdict:
        """The verdict on waypoints (n, 7) that answer a query."""
        path = Path("arm", waypoints)
        group = self.robot.group("arm")
        ends = np.abs([path.start - query.start, path.end - query.goal]).max() < _SAME
        inside = (path.waypoints >= group.lower - _SAME) & (path.waypoints <= group.upper + _SAME)
        return Verdict(
            self._in_bullet(query, path),
            self._in_drake(query, path),
            bool(ends and inside.all()),
            path.length,
        )

    def close(self) -> None:
        """Let go of both engines."""
        self.bullet.close()
        self.drake.close()

    def _in_bullet(self, query: Query, path: Path) -> Contact | None:
        checker = self.bullet.checker(query.state, allowed(self.scene, self.robot, query), 0.0)
        q, worst = query.state.q.copy(), None
        for arm in path.resampled(FINE).waypoints:
            q[3:10] = arm
            worst = _deeper(worst, checker.contacts(q))
        return worst

    def _in_drake(self, query: Query, path: Path) -> Contact | None:
        """What ``tamp.checks.audit`` does, at finer steps and in one world for all queries."""
        state, names, worst = query.state, allowed(self.scene, self.robot, query), None
        q = state.q.copy()
        for arm in path.resampled(FINE).waypoints:
            q[3:10] = arm
            X_WH = hand_pose(q, self.scene.robot.base)
            items = range(len(self.scene.items))
            poses = [to_pose7(item_pose(self.scene, state, k, X_WH)) for k in items]
            self.drake.set_arrays(q, state.scene_q, np.array(poses).reshape(-1, 7))
            worst = _deeper(worst, self.drake.contacts(0.0, names))
        return worst


def allowed(scene: Scene, robot: RobotModel, query: Query) -> frozenset[tuple[str, str]]:
    """The pairs that may touch during a query: the fingers and what they hold."""
    return held_pairs(scene, robot, query.state)


def _deeper(worst: Contact | None, contacts: tuple[Contact, ...]) -> Contact | None:
    for contact in contacts:
        if contact.distance < -DEPTH and (worst is None or contact.distance < worst.distance):
            worst = contact
    return worst
