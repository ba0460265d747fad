"""PyBullet and Drake as judges: of any planner's paths, at fine steps, and of the covering spheres.

The spheres cover the meshes, so they should miss no collision, but they add false alarms. Compared
without a margin. Both engines replace a mesh by its convex hull.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType

import numpy as np

from galley.bench.motion.clutter import alone
from galley.bench.motion.queries import Query
from galley.bench.report import note
from galley.collision.backends.drake_world import DrakeWorld
from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.collision.checker import ContactPair, Pair, held_pairs, pairs
from galley.collision.scene_kernel import SceneKernel
from galley.domain.frames import Array, to_pose7
from galley.domain.scene.model import Scene
from galley.domain.state import State, initial_state, item_pose
from galley.motion.path import Path
from galley.robots.model import RobotModel
from galley.robots.panda.mobile import hand_pose
from galley.tamp.checks import DEPTH

BULLET, DRAKE = "PyBullet", "Drake"
ENGINES = (BULLET, DRAKE)
FINE = 0.02  # rad between the states that both look at
_SAME = 1e-6  # rad

Contacts = Callable[[Array], tuple[ContactPair, ...]]


@dataclass(frozen=True)
class Verdict:
    """What became of a path.

    Attributes:
        bullet, drake: the deepest contact in each engine that is deeper than DEPTH, or None.
        ends: it leads from the query's start to its goal, within the limits.
        length: Euclidean, rad.
    """

    bullet: ContactPair | None
    drake: ContactPair | None
    ends: bool
    length: float

    @property
    def valid(self) -> bool:
        """Whether nothing speaks against the path."""
        return self.ends and self.bullet is None and self.drake is None


class Engines:
    """Both engines, with a scene in them."""

    def __init__(self, scene: Scene, robot: RobotModel) -> None:
        self.scene = scene
        self.robot = robot
        self.bullet = PyBulletWorld(scene, robot)
        self.drake = DrakeWorld(scene, robot)

    def close(self) -> None:
        """Let go of PyBullet's world; Drake's holds nothing open."""
        self.bullet.close()

    def in_bullet(self, state: State, touching: frozenset[Pair]) -> Contacts:
        """PyBullet's contacts of configurations, the rest as in ``state``."""
        return self.bullet.checker(state, touching, 0.0).contacts

    def in_drake(self, state: State, touching: frozenset[Pair]) -> Contacts:
        """Drake's: what ``tamp.checks.audit`` does, in one world for all queries."""
        items = range(len(self.scene.items))

        def contacts(q: Array) -> tuple[ContactPair, ...]:
            X_WH = hand_pose(q, self.scene.robot.base)
            poses = [to_pose7(item_pose(self.scene, state, k, X_WH)) for k in items]
            self.drake.set_arrays(q, state.scene_q, np.array(poses).reshape(-1, 7))
            return self.drake.contacts(0.0, touching)

        return contacts


class Judge(Engines):
    """What both engines say of paths."""

    def __call__(self, query: Query, waypoints: Array) -> Verdict:
        """The verdict on waypoints (n, 7) that answer a query."""
        path = Path("arm", waypoints)
        group = self.robot.group("arm")
        ends = np.abs([path.start - query.start, path.end - query.goal]).max() < _SAME
        inside = (path.waypoints >= group.lower - _SAME) & (path.waypoints <= group.upper + _SAME)
        touching = allowed(self.scene, self.robot, query)
        fine = path.resampled(FINE).waypoints
        rows = np.tile(query.state.q, (len(fine), 1))
        rows[:, 3:10] = fine
        return Verdict(
            deepest(self.in_bullet(query.state, touching), rows),
            deepest(self.in_drake(query.state, touching), rows),
            bool(ends and inside.all()),
            path.length,
        )


def allowed(scene: Scene, robot: RobotModel, query: Query) -> frozenset[tuple[str, str]]:
    """The pairs that may touch during a query: the fingers and what they hold."""
    return held_pairs(scene, robot, query.state)


def deepest(contacts: Contacts, rows: Array, depth: float = DEPTH) -> ContactPair | None:
    """The deepest contact of configurations (m, n), if one is deeper than ``depth`` (m)."""
    worst: ContactPair | None = None
    for q in rows:
        for contact in contacts(q):
            if contact.distance < -depth and (worst is None or contact.distance < worst.distance):
                worst = contact
    return worst


@dataclass(frozen=True)
class Tally:
    """Answers of the compiled checker beside an engine's.

    Attributes:
        states: how many. hits: those that the engine calls penetrating, by whatever depth.
        deep: those by more than 2 mm. missed, missed_deep: of hits and deep, called free.
        alarms: of those that the engine calls free, called hits.
        deepest: m, of those missed.
    """

    states: int = 0
    hits: int = 0
    deep: int = 0
    missed: int = 0
    missed_deep: int = 0
    alarms: int = 0
    deepest: float = 0.0

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.states + other.states,
            self.hits + other.hits,
            self.deep + other.deep,
            self.missed + other.missed,
            self.missed_deep + other.missed_deep,
            self.alarms + other.alarms,
            max(self.deepest, other.deepest),
        )

    def rows(self, what: str) -> list[tuple[str, float, str]]:
        """For a table."""
        shares = [
            (f"penetrating, of {self.states} states", self.hits, self.states),
            ("false free, of those", self.missed, self.hits),
            ("false free, of those deeper than 2 mm", self.missed_deep, self.deep),
            ("false alarms, of free ones", self.alarms, self.states - self.hits),
        ]
        found = [(f"{what}: {name}", _percent(part, whole), "%") for name, part, whole in shares]
        return [*found, (f"{what}: deepest false free", 1e3 * self.deepest, "mm")]


def tally(free: Array, depths: Array) -> Tally:
    """From the checker's answers (m,) and an engine's depths (m,), m; 0 where it finds nothing."""
    hit, deep = depths > 0.0, depths > DEPTH
    return Tally(
        len(free),
        int(hit.sum()),
        int(deep.sum()),
        int((free & hit).sum()),
        int((free & deep).sum()),
        int((~free & ~hit).sum()),
        float(depths[free].max(initial=0.0)),
    )


class Truth(Engines):
    """How the compiled checker agrees with both engines."""

    def compare(self, query: Query, arms: Array) -> dict[str, Tally]:
        """By engine, for arms (m, 7) in the query's state; by the hulls, and by spheres alone."""
        touching = allowed(self.scene, self.robot, query)
        view = SceneKernel(self.scene, self.robot).view(query.state, "arm", touching, margin=0.0)
        exact = view.free_many(arms)
        spheres_only = view.spheres_only.free_many(arms)
        found = {}
        for engine in ENGINES:
            depths = self.depths(engine, query.state, arms, touching)
            found[engine] = tally(exact, depths)
            found[f"{engine}, spheres alone"] = tally(spheres_only, depths)
        return found

    def depths(
        self,
        engine: str,
        state: State,
        arms: Array,
        touching: frozenset[Pair],
    ) -> Array:
        """How deep the deepest contact is at each of arms (m, 7): (m,), 0 where there is none."""
        ask = self.in_bullet if engine == BULLET else self.in_drake
        contacts = ask(state, touching)
        q, found = state.q.copy(), np.zeros(len(arms))
        for k, arm in enumerate(arms):
            q[3:10] = arm
            found[k] = max((-c.distance for c in contacts(q)), default=0.0)
        return np.maximum(found, 0.0)

    def __enter__(self) -> Truth:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def self_collisions(scene: Scene, robot: RobotModel, arms: Array) -> dict[str, Tally]:
    """By engine, the robot's own links at arms (m, 7); what else there is doesn't count."""
    note(f"{len(arms)} random arms, their own links")
    bare = alone(scene)
    state, floor = initial_state(bare), pairs(robot.links, ("floor",))
    free = SceneKernel(bare, robot).view(state, "arm", floor, margin=0.0).free_many(arms)
    with Truth(bare, robot) as truth:
        return {engine: tally(free, truth.depths(engine, state, arms, floor)) for engine in ENGINES}


def _percent(part: int, whole: int) -> float:
    return 100.0 * part / whole if whole else 0.0
