"""The compiled collision checker by itself: how fast it is, and how often it is wrong."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from time import perf_counter

import numpy as np
from motion_clutter import alone
from motion_queries import KITCHEN_SET, Query
from motion_verdicts import allowed
from planning_runs import note

from galley.domain.frames import Array
from galley.domain.scene import Scene
from galley.domain.state import initial_state
from galley.motion.audit import DEPTH
from galley.robots.model import RobotModel
from galley.worlds.checker import MARGIN, Contact
from galley.worlds.collision_world import CollisionWorld
from galley.worlds.scene_kernel import SceneKernel
from galley.worlds.pybullet_world import PyBulletWorld

STEP = 0.05  # rad between the states of an edge
_LONGEST = 1.5  # rad, of an edge's largest joint: what planners ask for


@dataclass(frozen=True)
class Figures:
    """What was measured, on one core.

    Attributes:
        edge_states: states a second along free edges.
        single, bullet: single checks a second, free and not, asked from Python.
        single_free, bullet_free: the same over free configurations only.
        batch: checks a second of unrelated configurations in one call.
        false_free: share of the configurations nearer than the margin that it calls free.
        false_free_deep: share of those that penetrate by more than 2 mm.
        false_alarm: share of the configurations that keep the margin that it calls hits.
        self_misses: share of random configurations in which the meshes of two links of the robot
            overlap by more than 2 mm unseen. self_touches: the same by whatever depth.
    """

    edge_states: float
    single: float
    bullet: float
    single_free: float
    bullet_free: float
    batch: float
    false_free: float
    false_free_deep: float
    false_alarm: float
    self_misses: float
    self_touches: float

    def rows(self) -> list[tuple[str, float, str]]:
        """What, how much, unit: for a table."""
        return [
            ("states along free edges", self.edge_states / 1e6, "M/s"),
            ("single checks", self.single / 1e3, "k/s"),
            ("single checks, PyBullet", self.bullet / 1e3, "k/s"),
            ("single checks of free states", self.single_free / 1e3, "k/s"),
            ("single checks of free states, PyBullet", self.bullet_free / 1e3, "k/s"),
            ("unrelated states in one call", self.batch / 1e6, "M/s"),
            ("false free", 100 * self.false_free, "%"),
            ("false free, deeper than 2 mm", 100 * self.false_free_deep, "%"),
            ("false alarms", 100 * self.false_alarm, "%"),
            ("self-collisions missed, deeper than 2 mm", 100 * self.self_misses, "%"),
            ("self-collisions missed", 100 * self.self_touches, "%"),
        ]

    def raw(self) -> dict[str, float]:
        """For a JSON file."""
        return asdict(self)


def measure(scene: Scene, robot: RobotModel, queries: Sequence[Query], quick: bool) -> Figures:
    """All figures, at the stances of some of the everyday queries."""
    rng = np.random.default_rng(0)
    chosen = [query for query in queries if query.set == KITCHEN_SET][:: 4 if quick else 5]
    states = 200 if quick else 1500
    rates: list[list[float]] = []
    tallies = np.zeros(6)
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        with PyBulletWorld(scene, robot) as bullet:
            for query in chosen:
                note(f"checker at {query.name}")
                rate, tally = _at(scene, robot, bullet, query, states, rng)
                rates.append(rate)
                tallies += tally
        misses = _self_collisions(scene, robot, 2000 if quick else 40_000, rng)
    finally:
        os.sched_setaffinity(0, cores)
    near, false_free, deep, deep_free, clear, alarms = tallies
    return Figures(
        *(float(each) for each in np.median(rates, axis=0)),
        _share(false_free, near),
        _share(deep_free, deep),
        _share(alarms, clear),
        *misses,
    )


def _at(
    scene: Scene,
    robot: RobotModel,
    bullet: PyBulletWorld,
    query: Query,
    count: int,
    rng: np.random.Generator,
) -> tuple[list[float], Array]:
    """Rates and tallies at one stance, arms drawn uniformly."""
    world = SceneKernel(scene, robot).world(query.state)
    checker = bullet.checker(query.state, allowed(scene, robot, query), MARGIN)
    Q = np.repeat(query.state.q[None], count, axis=0)
    Q[:, 3:10] = _arms(robot, count, rng)
    world.free(Q[0])
    checker.free(Q[0])
    distances = np.array([_distance(checker.contacts(q)) for q in Q])
    keeps = distances >= MARGIN
    free = world.free_many(Q)
    deep = distances < -DEPTH
    tally = [(~keeps).sum(), (free & ~keeps).sum(), deep.sum(), (free & deep).sum()]
    tally += [keeps.sum(), (keeps & ~free).sum()]
    rates = [
        _edge_rate(world, Q[free][:, 3:10]),
        _rate(world.free, Q),
        _rate(checker.free, Q),
        _rate(world.free, Q[free & keeps]),
        _rate(checker.free, Q[free & keeps]),
        _batch_rate(world, Q),
    ]
    return rates, np.array(tally, dtype=np.float64)


def _distance(contacts: Sequence[Contact]) -> float:
    return min((contact.distance for contact in contacts), default=float("inf"))


def _edge_rate(world: CollisionWorld, arms: Array) -> float:
    """States a second along edges that are free from end to end."""
    A, B = arms[:-1], arms[1:]
    reach = np.abs(B - A).max(axis=1, keepdims=True)
    B = A + (B - A) * np.minimum(1.0, _LONGEST / reach)
    free = world.edges_free(A, B, group="arm")
    A, B = np.tile(A[free], (20, 1)), np.tile(B[free], (20, 1))
    states = int(np.ceil(np.abs(B - A).max(axis=1) / STEP - 1e-9).sum())
    times = []
    for _ in range(5):
        began = perf_counter()
        world.edges_free(A, B, group="arm")
        times.append(perf_counter() - began)
    return states / float(np.median(times))


def _batch_rate(world: CollisionWorld, Q: Array) -> float:
    many = np.tile(Q, (20, 1))
    began = perf_counter()
    world.free_many(many)
    return len(many) / (perf_counter() - began)


def _rate(check: Callable[[Array], bool], Q: Array) -> float:
    began = perf_counter()
    for q in Q:
        check(q)
    return len(Q) / (perf_counter() - began)


def _self_collisions(
    scene: Scene, robot: RobotModel, count: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Shares of random arms whose links' meshes overlap, and the kernel says nothing."""
    note(f"{count} random arms, their own links")
    bare = alone(scene)
    state = initial_state(bare)
    Q = np.repeat(state.q[None], count, axis=0)
    Q[:, 3:10] = _arms(robot, count, rng)
    free = SceneKernel(bare, robot).world(state).free_many(Q)
    links = set(robot.links)
    deep = touching = 0
    with PyBulletWorld(bare, robot) as bullet:
        checker = bullet.checker(state, frozenset(), 0.0)
        for q in Q[free]:
            own = [c for c in checker.contacts(q) if c.a in links and c.b in links]
            depth = -min((c.distance for c in own), default=0.0)
            touching += bool(own)
            deep += depth > DEPTH
    return deep / count, touching / count


def _arms(robot: RobotModel, count: int, rng: np.random.Generator) -> Array:
    group = robot.group("arm")
    return rng.uniform(group.lower, group.upper, (count, group.size))


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole else 0.0
