"""The queries of the motion benchmark: a mobile Panda in the kitchen, its base at rest.

    python bench/motion/queries.py [--quick]

63 everyday queries (a third to grasps and handles of the task, a third between random
configurations, a third with an item in the hand) and three narrow sets of 20: the hand deep in the
open drawer, under the hood, under the wall cabinet. Ends keep the 5 mm margin in PyBullet. The
straight edge between them is blocked in every query. Every query is solvable: RRT-Connect has
solved it on PyBullet's collision checks, with four times its usual budget. Drawing them takes a
while; they are kept in the system's temporary folder, under a name made of seed, scene and source.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import galley
from galley.bench.motion import goals
from galley.bench.motion.python_rrt import RRTConnect
from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.collision.checker import MARGIN
from galley.domain.failure import Failure
from galley.domain.frames import Array, frozen
from galley.domain.scene.model import Scene, Stance
from galley.domain.scene.reader import load_scene
from galley.domain.state import Placement, State, initial_state
from galley.motion.planners.rrt import edge_free, joint_space
from galley.robots.model import RobotModel
from galley.robots.panda.mobile import hand_pose
from galley.robots.panda.models import mobile_panda
from galley.skills.base_placement.stances import sample_stances
from galley.skills.manipulation.context import PlanningContext
from galley.skills.manipulation.proof import holding_contact_pairs

KITCHEN = Path(galley.__file__).parent / "domain" / "kitchen" / "kitchen.yaml"
KITCHEN_SET, NARROW = "kitchen", ("drawer", "hood", "cabinet")
SETS = (KITCHEN_SET, *NARROW)
NEAR = Stance("near the furniture", frozen([0.45, -1.6, -np.pi]), frozen([1.5, 1.69, np.pi]))
_BUDGET = 6000  # iterations of the planner that shows a query to be solvable: four times the usual
_OUTSIDE = 0.35  # m, x of the hand before it reaches in
_FAR = 1.5  # rad between the ends of a query, at least
Draw = Callable[[PlanningContext, State, np.random.Generator], Iterator[tuple[Array, State]]]


@dataclass(frozen=True)
class Query:
    """From one arm configuration to another, the base where it stands.

    Attributes:
        name: unique. set: one of SETS.
        state: drawers, items, base and fingers; the arm is at ``start``.
        start, goal: arm configurations (7,), rad.
    """

    name: str
    set: str
    state: State
    start: Array
    goal: Array


def load_kitchen() -> tuple[Scene, RobotModel]:
    """The shipped scene and its robot."""
    scene = load_scene(KITCHEN)
    return scene, mobile_panda(scene.robot.base)


def kitchen_queries(
    scene: Scene, robot: RobotModel, seed: int = 0, quick: bool = False
) -> tuple[Query, ...]:
    """All queries, or 14 and 3 x 3 of them; drawn once for a seed, then read from a file."""
    text = KITCHEN.read_bytes() + Path(__file__).read_bytes() + Path(goals.__file__).read_bytes()
    digest = hashlib.sha256(text + str(seed).encode()).hexdigest()[:12]
    folder = Path(tempfile.gettempdir())
    kept = folder / f"galley-motion-queries-{digest}.json"
    some = folder / f"galley-motion-queries-{digest}-quick.json"
    if kept.exists() or (quick and some.exists()):
        stored = json.loads((kept if kept.exists() else some).read_text())
        queries = tuple(_read(entry) for entry in stored)
    else:
        with PyBulletWorld(scene, robot) as world:
            queries = tuple(_drawn(PlanningContext(scene, robot, world), seed, quick))
        (some if quick else kept).write_text(json.dumps([_written(each) for each in queries]))
    return tuple(each for each in queries if _in_quick(each)) if quick else queries


def _in_quick(query: Query) -> bool:
    kind, _, number = query.name.rpartition("-")
    return int(number) < {"random": 4, "carry": 4}.get(kind, 2 if query.set == KITCHEN_SET else 3)


def _drawn(bench: PlanningContext, seed: int, quick: bool) -> Iterator[Query]:
    kinds: list[tuple[str, str, int, int, Draw | None]] = [
        (KITCHEN_SET, "burners", 7, 2, goals.burners),
        (KITCHEN_SET, "counters", 7, 2, goals.counters),
        (KITCHEN_SET, "handle", 7, 2, goals.handle),
        (KITCHEN_SET, "random", 21, 4, None),
        (KITCHEN_SET, "carry", 21, 4, goals.carries),
        ("drawer", "drawer", 20, 3, goals.drawer),
        ("hood", "hood", 20, 3, goals.hood),
        ("cabinet", "cabinet", 20, 3, goals.cabinet),
    ]
    for k, (set_, kind, many, few, draw) in enumerate(kinds):
        for number in range(few if quick else many):
            # A stream of its own for each query: those of a short run are those of a long one.
            rng = np.random.default_rng([seed, k, number])
            yield _draw(bench, set_, f"{kind}-{number}", draw, number, rng)


def _draw(
    bench: PlanningContext,
    set_: str,
    name: str,
    draw: Draw | None,
    number: int,
    rng: np.random.Generator,
) -> Query:
    resting = initial_state(bench.scene)
    poses = None if draw is None else draw(bench, resting, rng)
    if poses is not None and set_ != KITCHEN_SET:
        for _ in range(number % 6):  # so that hands with and without an item come in turns
            next(poses)
    while True:
        if poses is None:
            base, state = rng.uniform(NEAR.lower, NEAR.upper), resting
            options = None
        else:
            X_WH, state = next(poses)
            found = sample_stances(X_WH, NEAR, bench.robot, 1, rng)
            if not len(found):
                continue
            base = found[0]
            values = bench.robot.kinematics.redundant_values(12, rng)
            options = bench.robot.kinematics.configurations(X_WH, base, values)
            if not len(options):
                continue
            # In an order of their own, whatever the solver's is.
            options = rng.permutation(options[np.lexsort(options.round(6).T)])[:8]
        q = np.concatenate([base, bench.folded_arm, state.q[10:]])
        state = state.with_robot(q)
        space, free = (
            joint_space(bench.robot, "arm"),
            bench.free(state, "arm", holding_contact_pairs(bench, state), MARGIN),
        )
        folded_arm = free(bench.folded_arm)
        if not folded_arm and state.held is None:
            continue  # no room for the base
        if options is None:
            options = [space.sample(rng) for _ in range(20)]
        goal = next((each for each in options if free(each)), None)
        if goal is None:
            continue
        outside = set_ != KITCHEN_SET and number % 2 == 1
        start = bench.folded_arm
        if options is None or poses is None or outside or not folded_arm:
            start = _sampled(bench, state, free, rng, outside)
        if start is None or np.linalg.norm(goal - start) < _FAR:
            continue
        if edge_free(space, free, start, goal):
            continue
        planned = RRTConnect(iterations=_BUDGET).plan(space, free, start, goal, rng)
        if isinstance(planned, Failure):
            continue
        q[3:10] = start
        return Query(name, set_, state.with_robot(q), frozen(start), frozen(goal))


def _sampled(
    bench: PlanningContext,
    state: State,
    free: Callable[[Array], bool],
    rng: np.random.Generator,
    outside: bool,
) -> Array | None:
    """A random free configuration; ``outside``: the hand in front of the furniture."""
    for _ in range(50):
        arm = joint_space(bench.robot, "arm").sample(rng)
        if outside:
            q = np.concatenate([state.q[:3], arm, state.q[10:]])
            if hand_pose(q, bench.scene.robot.base)[0, 3] < _OUTSIDE:
                continue
        if free(arm):
            return arm
    return None


def _written(query: Query) -> dict[str, Any]:
    state = query.state
    return {
        "name": query.name,
        "set": query.set,
        "q": state.q.tolist(),
        "scene_q": state.scene_q.tolist(),
        "items": [[each.parent, each.X_PI.tolist()] for each in state.items],
        "start": query.start.tolist(),
        "goal": query.goal.tolist(),
    }


def _read(entry: dict[str, Any]) -> Query:
    items = tuple(Placement(parent, frozen(X)) for parent, X in entry["items"])
    state = State(frozen(entry["q"]), frozen(entry["scene_q"]), items)
    return Query(entry["name"], entry["set"], state, frozen(entry["start"]), frozen(entry["goal"]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    began = perf_counter()
    queries = kitchen_queries(*load_kitchen(), quick=parser.parse_args().quick)
    sizes = Counter(each.set for each in queries)
    held = Counter(each.set for each in queries if each.state.held is not None)
    for name, size in sizes.items():
        print(f"{name}: {size} queries, {held[name]} with an item in the hand")
    print(f"{perf_counter() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
