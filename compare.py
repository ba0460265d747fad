"""Section 3 of the seed: one query, solved by its RRT and shortened by its quadratic program.

The arm, on a base that stands still, turns from its start to a goal where the hand is 0.6 m
further along world x, on the other side of its own base. The hand's orientation is free.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import Array, rotation_from_quaternion, transform
from galley.domain.log import Log
from galley.domain.state import State, initial_state
from galley.motion.edges import first_hit
from galley.motion.motion import Motion
from galley.motion.path import Path as JointPath
from galley.motion.rrt import RRT, EndRegion
from galley.motion.shortcut import shortcut
from galley.motion.timing import rest_to_rest
from galley.optimization.shortest import shortest
from galley.reachability.arm import configurations, joint7_values
from galley.robots.kinematics import hand_pose, link0_pose
from galley.simulation.kinematic import execute
from galley.skills.workbench import Workbench

REGION = 0.01  # m, half the side of the end region
_STEP, _FARTHEST = 0.01, 1.5  # m, how the goal is moved on while it is in collision
_ORIENTATIONS = 60  # random orientations of the hand tried at a goal
_GOALS = 40  # goal configurations kept to grow towards


@dataclass(frozen=True)
class Query:
    """Start, end region and goal configurations of the arm.

    Attributes:
        state: the world; the arm stands at the start.
        distance: m from the hand's start to the middle of the end region, along world x.
        region: where the hand must end, orientation free.
        goals: free configurations (k, 7) in the region.
    """

    state: State
    distance: float
    region: EndRegion
    goals: Array


@dataclass(frozen=True)
class Solution:
    """One way to do it.

    Attributes:
        name: ``rrt``, ``shortcut`` or ``opt``.
        motion: path with its timing.
        hit: the first configuration found in collision, or None.
        pair: what collides there.
        seconds: it took to find.
        hand_length: m that the hand travels.
    """

    name: str
    motion: Motion
    hit: Array | None
    pair: tuple[str, str] | None
    seconds: float
    hand_length: float


def seed_query(bench: Workbench, distance: float) -> Query | Failure:
    """The seed's query; the goal is the nearest to ``distance`` (m) that is free, if farther.

    The region lies so that even its near side is ``distance`` away from the hand's start.
    """
    scene, state = bench.scene, initial_state(bench.scene)
    spec, base = scene.robot.base, state.q[:3]
    X_WH = hand_pose(state.q, spec)
    axis = float(link0_pose(base, spec)[0, 3])
    free = bench.free(state, "arm")
    rng = bench.rng(0, 0)
    tries = 0
    for extra in np.arange(0.0, max(_FARTHEST - distance, _STEP), _STEP):
        p = X_WH[:3, 3] + np.array([distance + REGION + extra, 0.0, 0.0])
        if (p[0] - axis) * (X_WH[0, 3] - axis) >= 0.0:
            continue  # not yet on the other side
        found: list[Array] = []
        for _ in range(_ORIENTATIONS):
            tries += 1
            R = rotation_from_quaternion(rng.normal(size=4))
            solutions = configurations(transform(R, p), base, spec, joint7_values(8, rng))
            found += [q for q in rng.permutation(solutions) if free(q)]
        if found:
            goals = np.array([found[k] for k in rng.permutation(len(found))[:_GOALS]])
            region = EndRegion(bench.hand(state), transform(None, p), REGION, None)
            return Query(state, distance + REGION + float(extra), region, goals)
    return Failure(
        FailureKind.BUDGET,
        f"no collision-free goal with the hand {distance:.2f} m or more along x, on the other side "
        f"of its base, in {tries} tries",
        numbers={"tries": float(tries)},
    )


def solve(bench: Workbench, query: Query) -> tuple[Solution, ...] | Failure:
    """The RRT's path as it is, shortcut, and the quadratic program's for the same ends."""
    free = bench.free(query.state, "arm")
    start = query.state.q[bench.robot.slice("arm")]
    planner = RRT(iterations=bench.settings.rrt_iterations)
    began = time.perf_counter()
    path = planner.plan(bench.arm, free, start, query.region, query.goals, bench.rng(0, 1))
    spent = time.perf_counter() - began
    if isinstance(path, Failure):
        return path
    began = time.perf_counter()
    short = shortcut(path, bench.arm, free, bench.rng(0, 2), bench.settings.shortcuts)
    shortened = time.perf_counter()
    optimized = shortest(path)
    if isinstance(optimized, Failure):
        return optimized
    return (
        _solution(bench, query, "rrt", path, spent),
        _solution(bench, query, "shortcut", short, shortened - began),
        _solution(bench, query, "opt", optimized, time.perf_counter() - shortened),
    )


def record(bench: Workbench, query: Query, solution: Solution) -> Log:
    """Run a solution kinematically and keep the log, for its film."""
    names = ("turn round to the other side",)
    _, log = execute(bench.world, (solution.motion,), names, query.state)
    return log


def save_waypoints(folder: Path, solution: Solution) -> Path:
    """Write ``trajectory_<name>.npy``: waypoints (n, 7), rad."""
    path = folder / f"trajectory_{solution.name}.npy"
    partial = path.with_name(f".{path.name}.partial")
    with open(partial, "wb") as stream:
        np.save(stream, solution.motion.path.waypoints, allow_pickle=False)
    os.replace(partial, path)
    return path


def _solution(
    bench: Workbench, query: Query, name: str, path: JointPath, seconds: float
) -> Solution:
    hit, pair = _collision(bench, query.state, path)
    motion = Motion(
        0, name, "arm", path, rest_to_rest(path, bench.robot.group("arm"), bench.settings.speed)
    )
    pose = bench.hand(query.state)
    points = np.array([pose(q)[:3, 3] for q in path.resampled(0.02).waypoints])
    travelled = float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())
    return Solution(name, motion, hit, pair, seconds, travelled)


def _collision(
    bench: Workbench, state: State, path: JointPath
) -> tuple[Array | None, tuple[str, str] | None]:
    checker = bench.world.checker(state, margin=0.0)  # a second opinion on what was planned
    where, q = bench.robot.slice("arm"), state.q.copy()

    def free(arm: Array) -> bool:
        q[where] = arm
        return checker.free(q)

    hit = first_hit(bench.arm, free, path)
    if hit is None:
        return None, None
    q[where] = hit
    contact = checker.contacts(q)[0]
    return hit, (contact.a, contact.b)
