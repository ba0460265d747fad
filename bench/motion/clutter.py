"""Scenes other than the kitchen: the robot alone, and the robot among ever smaller boxes."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from galley.bench.motion.python_rrt import RRTConnect
from galley.bench.motion.queries import Query
from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.collision.checker import MARGIN
from galley.domain.failure import Failure
from galley.domain.frames import Array, frozen, transform
from galley.domain.scene.model import WORLD, Body, Scene, Shape
from galley.domain.state import State, initial_state
from galley.motion.planners.rrt import edge_free, joint_space
from galley.robots.model import RobotModel
from galley.skills.manipulation.context import PlanningContext

BOXES = 10
_SIDES = (0.15, 0.35)  # m
_REACH = (0.45, 0.85)  # m from the shoulder to the middles of the boxes
SHOULDER = np.array([0.0, 0.0, 0.769 + 0.333])
_CLEAR = 0.30  # m about the arm's axis that stay empty
_GREY = (0.6, 0.6, 0.6, 1.0)
_BUDGET = 6000  # iterations of the planner that shows a query to be solvable


def alone(scene: Scene) -> Scene:
    """The robot on the floor, at the origin, and nothing else."""
    q = scene.robot.q.copy()
    q[:3] = 0.0
    return replace(
        scene,
        robot=replace(scene.robot, q=frozen(q)),
        bodies=(scene.body("floor"),),
        joints=(),
        regions=(),
        handles=(),
        items=(),
        stances=(),
        bindings=(),
    )


def clutter(scene: Scene, pieces: int, seed: int = 0) -> Scene:
    """Ten random boxes in the arm's reach, cut into ``pieces`` smaller ones.

    The free space is the same for every count: what grows is only the number of obstacles.
    """
    bare = alone(scene)
    rng = np.random.default_rng([seed, 1])
    cut = _cut([*_boxes(rng)], pieces, rng)
    shapes = tuple(
        Shape("box", frozen(high - low), frozen(transform(None, 0.5 * (low + high))), _GREY)
        for low, high in cut
    )
    body = Body("clutter", WORLD, None, frozen(np.eye(4)), shapes, 1.0, 0.8, 0.0)
    return replace(bare, bodies=(*bare.bodies, body))


def clutter_queries(scene: Scene, robot: RobotModel, count: int, seed: int = 0) -> list[Query]:
    """Queries among the uncut boxes, drawn and shown to be solvable like those of the kitchen."""
    whole = clutter(scene, BOXES, seed)
    rng = np.random.default_rng([seed, 2])
    found: list[Query] = []
    with PyBulletWorld(whole, robot) as world:
        bench = PlanningContext(whole, robot, world)
        state = initial_state(whole)
        space = joint_space(bench.robot, "arm")
        free = bench.free(state, "arm", frozenset(), MARGIN)
        while len(found) < count:
            ends = np.array([space.sample(rng) for _ in range(2)])
            if not (free(ends[0]) and free(ends[1])) or edge_free(space, free, *ends):
                continue
            path = RRTConnect(iterations=_BUDGET).plan(space, free, ends[0], ends[1:], rng)
            if not isinstance(path, Failure):
                start, goal = frozen(ends[0]), frozen(ends[1])
                found.append(
                    Query(f"clutter-{len(found)}", "clutter", _at(state, start), start, goal)
                )
    return found


def _at(state: State, arm: Array) -> State:
    q = state.q.copy()
    q[3:10] = arm
    return state.with_robot(q)


def _boxes(rng: np.random.Generator) -> Iterator[tuple[Array, Array]]:
    """Lower and upper corners, clear of the robot's base and of the arm's axis."""
    count = 0
    while count < BOXES:
        direction = rng.normal(size=3)
        middle = SHOULDER + rng.uniform(*_REACH) * direction / np.linalg.norm(direction)
        half = 0.5 * rng.uniform(*_SIDES, size=3)
        low, high = middle - half, middle + half
        nearest = np.clip(np.zeros(2), low[:2], high[:2])
        if low[2] > 0.45 and np.linalg.norm(nearest) > _CLEAR:
            count += 1
            yield low, high


def _cut(
    boxes: list[tuple[Array, Array]], pieces: int, rng: np.random.Generator
) -> list[tuple[Array, Array]]:
    """Halves the largest piece across its longest side until there are enough."""
    heap = [(-float(np.prod(b - a)), k, a, b) for k, (a, b) in enumerate(boxes)]
    heapq.heapify(heap)
    serial = len(heap)
    while len(heap) < pieces:
        _, _, low, high = heapq.heappop(heap)
        axis = int(np.argmax(high - low))
        at = low[axis] + rng.uniform(0.4, 0.6) * (high[axis] - low[axis])
        below, above = high.copy(), low.copy()
        below[axis] = above[axis] = at
        for a, b in ((low, below), (above, high)):
            heapq.heappush(heap, (-float(np.prod(b - a)), serial, a, b))
            serial += 1
    return [(a, b) for _, _, a, b in heap]
