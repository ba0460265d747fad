"""The queries of the optimization benchmark: 60 arm motions in the kitchen, 10 motions of the base.

    python bench/optimization/queries.py [--quick]

40 come from the motion benchmark (``motion``): their straight joint-space line is blocked.
20 are drawn in the same way, but the planner's proven path *is* the straight line, at least 0.5 rad
long. 20 of the 60 have an item in the hand. All methods start from the same shortened and proven
path of a query.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from galley.bench.motion import goals
from galley.bench.motion.queries import (
    KITCHEN_SET,
    NEAR,
    Draw,
    Query,
    kitchen_queries,
    load_kitchen,
)
from galley.bench.report import note
from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.collision.checker import MARGIN
from galley.collision.view import View
from galley.domain.failure import Failure
from galley.domain.frames import Array, frozen
from galley.domain.scene.model import Scene
from galley.domain.state import State, initial_state
from galley.motion.path import Path
from galley.motion.planners.compiled_search import SearchOptions
from galley.motion.planners.planning import search
from galley.motion.planners.rrt import joint_space
from galley.robots.model import RobotModel
from galley.skills.base_placement.stances import sample_stances
from galley.skills.manipulation.context import PlanningContext
from galley.skills.manipulation.proof import holding_contact_pairs

BLOCKED, STRAIGHT, BASE = "blocked", "straight", "base"
_FAR = 0.5  # rad, length of a straight line, at least
_FAR_BASE = 1.2  # m between the ends of a base motion, at least
_DRAWS: dict[str, Draw | None] = {
    "burners": goals.burners,
    "counters": goals.counters,
    "handle": goals.handle,
    "random": None,
    "carry": goals.carries,
}


@dataclass(frozen=True)
class Case:
    """A query and the path from which every method starts.

    Attributes:
        query: ``set`` is BLOCKED, STRAIGHT or BASE. start, goal: of ``group``.
        group: ``arm`` or ``base``.
        view: the group in the query's world, with the margin of free motions.
        path: proven to keep half the margin.
    """

    query: Query
    group: str
    view: View
    path: Path

    @property
    def name(self) -> str:
        """The query's."""
        return self.query.name

    @property
    def set(self) -> str:
        """The query's."""
        return self.query.set

    @property
    def held(self) -> bool:
        """Whether an item is in the hand."""
        return self.query.state.held is not None


def arm_cases(scene: Scene, robot: RobotModel, seed: int = 0, quick: bool = False) -> list[Case]:
    """All 60 queries of the arm, or 12 of them."""
    with PyBulletWorld(scene, robot) as world:
        bench = PlanningContext(scene, robot, world)
        blocked = [
            case
            for query in kitchen_queries(scene, robot, seed, quick)
            if query.set == KITCHEN_SET and (case := _blocked(bench, query)) is not None
        ]
        held = [case for case in blocked if case.held][: 3 if quick else 13]
        empty = _in_turns([case for case in blocked if not case.held])[: 5 if quick else 27]
        counts = (1, 1, 0, 1, 1) if quick else (3, 3, 3, 4, 7)
        note("drawing queries whose straight line is free")
        straight = [
            _straight(bench, kind, k, number, seed)
            for k, (kind, many) in enumerate(zip(_DRAWS, counts, strict=True))
            for number in range(many)
        ]
    return [*empty, *held, *straight]


def base_cases(scene: Scene, robot: RobotModel, seed: int = 0, quick: bool = False) -> list[Case]:
    """10 motions of the base across the kitchen, or 3; every third with an item in the hand."""
    found = []
    note("drawing motions of the base")
    with PyBulletWorld(scene, robot) as world:
        bench = PlanningContext(scene, robot, world)
        for number in range(3 if quick else 10):
            rng = np.random.default_rng([seed, 200, number])
            case = None
            while case is None:
                case = _across(bench, number, rng)
            found.append(case)
    return found


def _in_turns(cases: list[Case]) -> list[Case]:
    """One of each kind after the other, so that a few hold all kinds."""
    return sorted(cases, key=lambda case: int(case.name.rpartition("-")[2]))


def _case(bench: PlanningContext, query: Query, group: str = "arm", seed: int = 0) -> Case | None:
    """With the planner's proven path at its default options, or None where it finds none."""
    view = bench.kernel.view(query.state, group)
    options = SearchOptions(required=0.5 * float(view.arrays.checks.margins[0]))
    path = search(view, query.start, query.goal[None], seed, "rrt-connect", options)
    return None if isinstance(path, Failure) else Case(query, group, view, path)


def _blocked(bench: PlanningContext, query: Query) -> Case | None:
    case = _case(bench, replace(query, set=BLOCKED))
    if case is None:
        return None
    line = np.stack([query.start, query.goal])
    free = case.view.edges_free(line[:1], line[1:], exact=True)[0]
    return None if free or len(case.path) == 2 else case


def _straight(bench: PlanningContext, kind: str, k: int, number: int, seed: int) -> Case:
    """A query of some kind whose straight line the planner can prove."""
    rng = np.random.default_rng([seed, 100 + k, number])
    draw, resting = _DRAWS[kind], initial_state(bench.scene)
    poses = None if draw is None else draw(bench, resting, rng)
    while True:
        base, state = rng.uniform(NEAR.lower, NEAR.upper), resting
        ends = np.array([joint_space(bench.robot, "arm").sample(rng) for _ in range(20)])
        if poses is not None:
            X_WH, state = next(poses)
            found = sample_stances(X_WH, NEAR, bench.robot, 1, rng)
            if not len(found):
                continue
            base = found[0]
            values = bench.robot.kinematics.redundant_values(12, rng)
            ends = bench.robot.kinematics.configurations(X_WH, base, values)
            # In an order of their own, whatever the solver's is.
            ends = rng.permutation(ends[np.lexsort(ends.round(6).T)])[:8]
        # From the folded arm or from anywhere, in turns.
        start = bench.folded_arm if number % 2 == 0 else joint_space(bench.robot, "arm").sample(rng)
        q = np.concatenate([base, start, state.q[10:]])
        for end in _ends(bench, state.with_robot(q), start, ends):
            name = f"straight-{kind}-{number}"
            query = Query(name, STRAIGHT, state.with_robot(q), frozen(start), frozen(end))
            case = _case(bench, query)
            if case is not None and len(case.path) == 2:
                return case


def _ends(bench: PlanningContext, state: State, start: Array, ends: Array) -> Iterator[Array]:
    """Those of the configurations ``ends`` (m, 7) that are free and far enough, if the start is."""
    # The whole robot: is there room to stand?
    free = bench.free(state, "arm", holding_contact_pairs(bench, state), MARGIN)
    if free(start):
        for end in ends:
            if np.linalg.norm(end - start) >= _FAR and free(end):
                yield end


def _across(bench: PlanningContext, number: int, rng: np.random.Generator) -> Case | None:
    """Between two places where the tucked robot fits, in different parts of the kitchen."""
    group, state = bench.robot.group("base"), initial_state(bench.scene)
    if number % 3 == 2:
        state = next(goals.carries(bench, state, rng))[1]
    a, b = (rng.uniform(group.lower, group.upper) for _ in range(2))
    if np.linalg.norm(b[:2] - a[:2]) < _FAR_BASE:
        return None
    state = state.with_robot(np.concatenate([a, bench.folded_arm, state.q[10:]]))
    view = bench.kernel.view(state, "base")
    if not (view.free(a) and view.free(b)):
        return None
    case = _case(bench, Query(f"base-{number}", BASE, state, frozen(a), frozen(b)), "base")
    # A way round something and a straight line, in turns.
    return case if case is not None and (len(case.path) > 2) == (number % 2 == 0) else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    began = perf_counter()
    scene, robot = load_kitchen()
    cases = arm_cases(scene, robot, quick=quick) + base_cases(scene, robot, quick=quick)
    sizes = Counter(case.set for case in cases)
    held = Counter(case.set for case in cases if case.held)
    for name, size in sizes.items():
        print(f"{name}: {size} queries, {held[name]} with an item in the hand")
    for case in cases:
        print(f"{case.name}: {len(case.path)} waypoints, length {case.path.length:.2f}")
    print(f"{perf_counter() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
