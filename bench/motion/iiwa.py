"""The same planner for another arm, the KUKA LBR iiwa 7, among random boxes."""

from __future__ import annotations

from dataclasses import asdict, replace
from time import perf_counter

import numpy as np

from galley.bench.motion.clutter import BOXES, SHOULDER, clutter
from galley.bench.motion.python_rrt import RRTConnect
from galley.bench.motion.runs import Summary
from galley.bench.motion.verdicts import FINE
from galley.bench.report import Section, Target, note, shown, table
from galley.collision.backends.drake_world import DrakeWorld
from galley.collision.backends.pybullet_world import PyBulletChecker, PyBulletWorld
from galley.collision.scene_kernel import SceneKernel
from galley.domain.failure import Failure
from galley.domain.frames import Array, transform
from galley.domain.scene.model import Scene
from galley.domain.state import initial_state
from galley.motion import SearchOptions, plan
from galley.motion.path import Path
from galley.motion.planners.rrt import edge_free, joint_space
from galley.robots.iiwa import iiwa
from galley.robots.model import RobotModel
from galley.tamp.checks import DEPTH

KINDS = {"raw": (0, False), "shortcut": (100, False), "shortcut and proven": (100, True)}
_HEIGHT = 0.34  # m from its foot to its shoulder
_BUDGET = 6000  # iterations of the planner that shows a query to be solvable
_REPEATS = 5


def measure(kitchen: Scene, count: int) -> Section:
    """Prints the table; queries are drawn and shown to be solvable like those of the kitchen."""
    robot = iiwa(transform(None, SHOULDER - [0.0, 0.0, _HEIGHT]))
    scene = replace(clutter(kitchen, BOXES), robot=replace(kitchen.robot, q=np.zeros(robot.size)))
    scene = replace(scene, bodies=tuple(b for b in scene.bodies if b.name == "clutter"))
    state = initial_state(scene)
    found = {name: ([], [], []) for name in KINDS}
    world = SceneKernel(scene, robot).world(state)
    with PyBulletWorld(scene, robot) as bullet, DrakeWorld(scene, robot) as drake:
        queries = _drawn(robot, bullet.checker(state), count)
        judge = bullet.checker(state, margin=0.0)
        plan(world, *queries[0])
        for k, (start, goal) in enumerate(queries):
            note(f"iiwa {k}")
            for name, (shortcuts, prove) in KINDS.items():
                times = []
                for _ in range(_REPEATS):
                    began = perf_counter()
                    path = plan(
                        world, start, goal, prove=prove, options=SearchOptions(shortcuts=shortcuts)
                    )
                    times.append(perf_counter() - began)
                seconds, lengths, valid = found[name]
                seconds.append(float(np.median(times)))
                if isinstance(path, Failure):
                    note(f"iiwa {k}, {name}: {path.message}")
                    continue
                lengths.append(path.length)
                valid.append(_valid(path, judge, drake))
    summaries = {
        name: Summary(
            name,
            count,
            len(lengths),
            len(lengths),
            sum(valid),
            float(np.median(seconds)),
            float(np.percentile(seconds, 95)),
            float(np.mean(lengths)) if lengths else None,
        )
        for name, (seconds, lengths, valid) in found.items()
    }
    headers = ["KUKA iiwa among boxes", "solved", "median ms", "p95 ms", "length", "valid"]
    table(
        headers,
        [
            [
                s.planner,
                f"{s.solved}/{s.asked}",
                shown(1e3 * s.median),
                shown(1e3 * s.p95),
                shown(s.length),
                f"{s.valid}/{s.solved}",
            ]
            for s in summaries.values()
        ],
    )
    share = 100.0 * summaries["shortcut and proven"].solved / count
    return {name: asdict(s) for name, s in summaries.items()}, [
        Target.at_least("KUKA iiwa: solved and proven", 95, share, " %")
    ]


def _drawn(robot: RobotModel, checker: PyBulletChecker, count: int) -> list[tuple[Array, Array]]:
    """Pairs of ends that keep the margin in PyBullet, the straight edge between them blocked."""
    space, rng = joint_space(robot, "arm"), np.random.default_rng(3)
    found: list[tuple[Array, Array]] = []
    while len(found) < count:
        start, goal = space.sample(rng), space.sample(rng)
        if not (checker.free(start) and checker.free(goal)):
            continue
        if edge_free(space, checker.free, start, goal):
            continue
        planned = RRTConnect(iterations=_BUDGET).plan(space, checker.free, start, goal, rng)
        if not isinstance(planned, Failure):
            found.append((start, goal))
    return found


def _valid(path: Path, judge: PyBulletChecker, drake: DrakeWorld) -> bool:
    """Whether neither engine finds more than 2 mm of overlap along it."""
    for q in path.resampled(FINE).waypoints:
        if any(c.distance < -DEPTH for c in judge.contacts(q)):
            return False
        drake.set_robot(q)
        if any(c.distance < -DEPTH for c in drake.contacts()):
            return False
    return True
