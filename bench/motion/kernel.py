"""Speed and errors of the compiled collision checker."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from time import thread_time

import numpy as np

from galley.bench.motion.clutter import alone
from galley.bench.motion.queries import KITCHEN_SET, Query
from galley.bench.motion.verdicts import ENGINES, Tally, Truth, allowed, self_collisions
from galley.bench.report import note
from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.collision.checker import MARGIN, pairs
from galley.collision.scene_kernel import SceneKernel
from galley.collision.view import View
from galley.domain.frames import Array
from galley.domain.scene.model import Scene
from galley.domain.state import initial_state
from galley.robots.model import RobotModel

_EDGE = 0.8  # rad of an edge's largest joint: 16 states at steps of 0.05 rad
_STATES = 16
_REPEATS = 9


SPEEDS = (
    *("edges", "edges_scene", "edges_open", "edges_alone", "batch", "single", "bullet"),
    *("batch_free", "single_free", "bullet_free"),
)
"""Fields of ``Figures``, in the order in which they are measured."""


@dataclass(frozen=True)
class Figures:
    """What was measured, on one core, by the processor time of one thread.

    Attributes:
        edges: states a second along free edges, one compiled call over many edges, with everything
            that a planner has checked: the scene, and the robot's own links.
        edges_scene: the same without the robot's own links. edges_open: with its own links, the
            robot on an empty floor. edges_alone: neither, which leaves the robot's kinematics and
            its outermost balls.
        batch: single checks a second, free states and others, one compiled call over many.
        single: single checks a second, a call from Python each. bullet: PyBullet's.
        *_free: the same over free states only.
        tallies: how the answers compare with each engine's, margin 0.
        own: the same for the robot's own links over random arms.
    """

    edges: float
    edges_scene: float
    edges_open: float
    edges_alone: float
    batch: float
    single: float
    bullet: float
    batch_free: float
    single_free: float
    bullet_free: float
    tallies: dict[str, Tally]
    own: dict[str, Tally]

    def rows(self) -> list[tuple[str, float, str]]:
        """What, how much, unit: for a table."""
        rates = [
            ("states along free edges, all checked", self.edges / 1e6, "M/s"),
            ("the same, own links not checked", self.edges_scene / 1e6, "M/s"),
            ("the same, own links, nothing around", self.edges_open / 1e6, "M/s"),
            ("the same, nothing to check", self.edges_alone / 1e6, "M/s"),
            ("single checks, one compiled call", self.batch / 1e3, "k/s"),
            ("single checks, a Python call each", self.single / 1e3, "k/s"),
            ("single checks, PyBullet", self.bullet / 1e3, "k/s"),
            ("free states, one compiled call", self.batch_free / 1e3, "k/s"),
            ("free states, a Python call each", self.single_free / 1e3, "k/s"),
            ("free states, PyBullet", self.bullet_free / 1e3, "k/s"),
        ]
        for engine in self.tallies:
            rates += self.tallies[engine].rows(f"against {engine}")
        for engine in ENGINES:
            rates += self.own[engine].rows(f"own links, {engine}")
        return rates

    def raw(self) -> dict[str, object]:
        """For a JSON file."""
        return asdict(self)


def measure(scene: Scene, robot: RobotModel, queries: Sequence[Query], quick: bool) -> Figures:
    """All figures, at the stances of some of the everyday queries."""
    rng = np.random.default_rng(0)
    chosen = [query for query in queries if query.set == KITCHEN_SET][:: 4 if quick else 5]
    count = 300 if quick else 2000
    rates: list[list[float]] = []
    tallies: dict[str, Tally] = {}
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        with Truth(scene, robot) as truth:
            for query in chosen:
                note(f"checker at {query.name}")
                arms = random_arms(robot, count, rng)
                for engine, tally in truth.compare(query, arms).items():
                    tallies[engine] = tallies.get(engine, Tally()) + tally
                rates.append(_rates(scene, robot, truth.bullet, query, arms, rng))
        empty = _empty_rates(scene, robot, count, rng)
        own = self_collisions(scene, robot, random_arms(robot, 2000 if quick else 20_000, rng))
    finally:
        os.sched_setaffinity(0, cores)
    here = [float(each) for each in np.median(rates, axis=0)]
    speeds = dict(zip(SPEEDS, [*here[:2], *empty, *here[2:]], strict=True))
    return Figures(**speeds, tallies=tallies, own=own)


def random_arms(robot: RobotModel, count: int, rng: np.random.Generator) -> Array:
    """Arm configurations (count, 7), uniform within the limits."""
    group = robot.group("arm")
    return rng.uniform(group.lower, group.upper, (count, group.size))


def _rates(
    scene: Scene,
    robot: RobotModel,
    bullet: PyBulletWorld,
    query: Query,
    arms: Array,
    rng: np.random.Generator,
) -> list[float]:
    """Two rates along edges, three of single checks, three of free single checks."""
    kernel, state = SceneKernel(scene, robot), query.state
    touching = allowed(scene, robot, query)
    view = kernel.view(state, "arm", touching)
    free = view.free_many(arms)
    rates = [
        edge_rate(view, arms[free], rng),
        edge_rate(kernel.view(state, "arm", touching | own_pairs(robot)), arms[free], rng),
    ]
    checker = bullet.checker(state, touching, MARGIN)
    q = state.q.copy()

    def bullet_free(arm: Array) -> bool:
        q[3:10] = arm
        return checker.free(q)

    for some in (arms, arms[free]):
        rates += [_batch_rate(view, some), _rate(view.free, some), _rate(bullet_free, some)]
    return rates


def _empty_rates(
    scene: Scene, robot: RobotModel, count: int, rng: np.random.Generator
) -> list[float]:
    """Rates along edges of the robot on an empty floor, with and without its own links."""
    bare = alone(scene)
    kernel, state = SceneKernel(bare, robot), initial_state(bare)
    arms = random_arms(robot, count, rng)
    floor = pairs(robot.links, ("floor",))
    found = []
    for touching in (frozenset(), floor | own_pairs(robot)):
        view = kernel.view(state, "arm", touching)
        found.append(edge_rate(view, arms[view.free_many(arms)], rng))
    return found


def own_pairs(robot: RobotModel) -> frozenset[tuple[str, str]]:
    """All pairs of the robot's links."""
    return pairs(robot.links, robot.links)


def edge_rate(view: View, arms: Array, rng: np.random.Generator) -> float:
    """States a second along edges of 16 states that are free from end to end."""
    turns = rng.normal(size=(max(4000, len(arms)), arms.shape[1]))
    A = arms[rng.integers(len(arms), size=len(turns))]
    B = A + _EDGE * (1.0 - 1e-6) * turns / np.abs(turns).max(axis=1, keepdims=True)
    free = view.edges_free(A, B)
    A, B = A[free], B[free]
    times = []
    for _ in range(_REPEATS):
        began = thread_time()
        view.edges_free(A, B)
        times.append(thread_time() - began)
    return _STATES * len(A) / float(np.median(times))


def _batch_rate(view: View, arms: Array) -> float:
    many = np.tile(arms, (max(1, 20_000 // len(arms)), 1))
    times = []
    for _ in range(_REPEATS):
        began = thread_time()
        view.free_many(many)
        times.append(thread_time() - began)
    return len(many) / float(np.median(times))


def _rate(check: Callable[[Array], bool], arms: Array) -> float:
    check(arms[0])
    began = thread_time()
    for arm in arms:
        check(arm)
    return len(arms) / (thread_time() - began)
