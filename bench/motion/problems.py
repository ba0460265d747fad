"""Galley's planner on public motion problems, in VAMP's JSON form of MotionBenchMaker's.

A file holds ``{"problems": {set: [problem, ...]}}``. A problem has ``start`` (7,), ``goals``
(m, 7), ``valid``, and lists ``sphere``, ``cylinder`` and ``box`` of obstacles with a name,
``position``, ``orientation_quat_xyzw`` and sizes (``radius``, ``length``, ``half_extents``), in
metres in the frame of ``panda_link0``. Nothing is downloaded.

Our times are processor time of the thread, of one call of ``plan`` with everything it does: its
checks of the ends, the search, shortcuts, and the proof. VAMP's are what its search and its
simplification say they took, without the call from Python and its allocations. Each is the median
of some calls where they are short. Every path is sampled in Drake, which shares no code with the
checker.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from time import thread_time
from typing import Any

import numpy as np

from galley.bench.motion.clutter import alone
from galley.bench.motion.queries import load_kitchen
from galley.bench.report import Section, Target, note, shown, table
from galley.collision.backends.drake_world import DrakeWorld
from galley.collision.solids import Solid, box, cylinder, sphere
from galley.domain.failure import Failure
from galley.domain.frames import Array, frozen, rotation_from_quaternion, transform
from galley.domain.scene.model import WORLD, Body, Scene, Shape
from galley.motion import CollisionWorld, SearchOptions, plan
from galley.motion.path import Path as MotionPath
from galley.robots.model import RobotModel
from galley.robots.panda.description import panda_arm

PROVEN, SAMPLED, VAMP = "galley, proven", "galley, prove=False", "VAMP, simplified"
LESS = "galley, proven, 50 shortcuts"  # whose paths are about as long as VAMP's
MARGIN = 0.002  # m; at 5 mm a few of the public problems have ends that are nearer than that
FINGERS = 0.065  # m, as the data set has them: wider than a real hand opens
FINE = 0.02  # rad between the states that Drake looks at
OVERLAP = 1e-4  # m; less is rounding of the meshes
_QUICK, _REPEATS = 0.02, 3
_GREY = (0.6, 0.6, 0.6, 1.0)


@dataclass(frozen=True)
class Problem:
    """One problem of a file: ``valid`` is the file's word for it; raw: as VAMP takes it."""

    set: str
    start: Array
    goals: Array
    valid: bool
    raw: dict[str, Any]

    @cached_property
    def solids(self) -> dict[str, Solid]:
        """The obstacles by name."""
        found: dict[str, Solid] = {}
        for kind in ("sphere", "cylinder", "box"):
            for k, each in enumerate(self.raw.get(kind, ())):
                found[f"{kind}-{k}-{each['name']}"] = _solid(kind, each)
        return found


@dataclass(frozen=True)
class Run:
    """One planner on one problem with one seed.

    Attributes:
        seconds: of the planner. world: s to make what it plans in, of the solids.
        solved: a path came back. message: why not.
        depth: m, of the deepest overlap that Drake finds on the path; 0 if there is none.
        length: rad, Euclidean.
    """

    planner: str
    set: str
    problem: int
    seed: int
    seconds: float
    world: float
    solved: bool
    message: str = ""
    depth: float = 0.0
    length: float | None = None


def read(path: Path) -> list[Problem]:
    """The problems of a file.

    Raises:
        ValueError: the file is not of this form; the message names the set and problem.
    """
    try:
        sets = json.loads(path.read_text())["problems"]
        items = [(name, k, each) for name, some in sets.items() for k, each in enumerate(some)]
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f'{path}: not a file of motion problems, {{"problems": {{set: [problem, ...]}}}}'
        ) from error
    found = []
    for name, k, each in items:
        try:
            goals = np.array(each["goals"], dtype=np.float64).reshape(-1, 7)
            start = np.array(each["start"], dtype=np.float64).reshape(7)
            problem = Problem(name, start, goals, bool(each.get("valid", True)), each)
            _ = problem.solids  # made here, so that a bad one is named
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path}: problem {k} of set '{name}': {error!r}") from error
        found.append(problem)
    if not any(problem.valid for problem in found):
        raise ValueError(f"{path}: no valid problem in it")
    return found


def _solid(kind: str, each: dict[str, Any]) -> Solid:
    R = rotation_from_quaternion(each.get("orientation_quat_xyzw", (0.0, 0.0, 0.0, 1.0)))
    if kind == "sphere":
        return sphere(each["radius"], each["position"])
    if kind == "cylinder":
        return cylinder(each["radius"], each["length"], each["position"], R)
    return box(2.0 * np.array(each["half_extents"]), each["position"], R)


Answer = tuple[Array | None, str, float]
Prepared = Callable[[int], Answer]
"""A planner in one problem's world: a seed in; waypoints (n, 7) or None, why, and s out."""


def galley(
    robot: RobotModel, prove: bool, options: SearchOptions | None = None
) -> Callable[[Problem], Prepared]:
    """``plan``, by default with its defaults, in a world made for each problem."""
    q = np.zeros(robot.size)
    q[7:] = FINGERS

    def prepare(problem: Problem) -> Prepared:
        world = CollisionWorld(robot, problem.solids, q=q, margin=MARGIN)
        world.view("arm")

        def answer(seed: int) -> Answer:
            began = thread_time()
            found = plan(
                world, problem.start, problem.goals, seed=seed, prove=prove, options=options
            )
            seconds = thread_time() - began
            if isinstance(found, Failure):
                return None, found.message, seconds
            return found.waypoints, "", seconds

        return answer

    return prepare


def vamp() -> Callable[[Problem], Prepared] | None:
    """VAMP's RRT-Connect and its simplification, with its defaults; None if not installed."""
    try:
        import vamp as module
    except ImportError:
        return None
    robot, search, settings, simple = module.configure_robot_and_planner_with_kwargs(
        "panda", "rrtc"
    )

    def prepare(problem: Problem) -> Prepared:
        world = module.problem_dict_to_vamp(problem.raw)
        start, goals = problem.start.tolist(), problem.goals.tolist()

        def answer(seed: int) -> Answer:
            sampler = robot.halton()
            sampler.skip(1000 * seed)
            found = search(start, goals, world, settings, sampler)
            seconds = 1e-9 * found.nanoseconds
            if not found.solved:
                return None, "no path", seconds
            short = robot.simplify(found.path, world, simple, sampler)
            seconds += 1e-9 * short.nanoseconds
            return np.array(short.path.numpy(), dtype=np.float64), "", seconds

        return answer

    return prepare


class Judge:
    """Drake, with a problem's obstacles and the robot."""

    def __init__(self, kitchen: Scene, robot: RobotModel, problem: Problem) -> None:
        q = np.zeros(robot.size)
        q[7:] = FINGERS
        shapes = []
        for solid in problem.solids.values():
            kind = ("box", "cylinder", "sphere")[solid.kind]
            size = {"box": 2.0 * solid.size, "sphere": solid.size[:1]}.get(
                kind, solid.size[:2] * (1.0, 2.0)
            )
            shapes.append(Shape(kind, frozen(size), solid.X, _GREY))
        bodies = (
            Body("obstacles", WORLD, None, frozen(transform()), tuple(shapes), 1.0, 0.8, 0.0),
        )
        scene = replace(alone(kitchen), bodies=bodies, robot=replace(kitchen.robot, q=frozen(q)))
        self._q = q
        self._world = DrakeWorld(scene, robot)

    def depth(self, waypoints: Array) -> float:
        """Metres of the deepest overlap on the path (n, 7); 0 if there is none."""
        worst = 0.0
        for arm in MotionPath("arm", waypoints).resampled(FINE).waypoints:
            self._q[:7] = arm
            self._world.set_robot(self._q)
            worst = max([worst, *(-c.distance for c in self._world.contacts())])
        return worst


def _again(answer: Prepared, seed: int) -> Answer:
    """An answer; a quick one is asked for again, and the median of its times counts."""
    found, why, seconds = answer(seed)
    times = [seconds]
    while seconds < _QUICK and len(times) < _REPEATS:
        times.append(answer(seed)[2])
    return found, why, float(np.median(times))


def _within_limits(robot: RobotModel, problem: Problem) -> bool:
    arm = robot.group("arm")
    inside = [((q >= arm.lower) & (q <= arm.upper)).all() for q in problem.goals]
    return any(inside) and bool(((problem.start >= arm.lower) & (problem.start <= arm.upper)).all())


def measure(problems: Sequence[Problem], seeds: int) -> Section:
    """All planners on the valid ones of some problems, and the tables."""
    robot = panda_arm()
    valid = [problem for problem in problems if problem.valid]
    problems = [problem for problem in valid if _within_limits(robot, problem)]
    print(f"{len(problems)} of {len(valid)} valid problems have ends within our limits\n")
    kitchen, _ = load_kitchen()
    less = SearchOptions(shortcuts=50, patience=20)
    makers = {
        PROVEN: galley(robot, True),
        LESS: galley(robot, True, less),
        SAMPLED: galley(robot, False),
    }
    theirs = vamp()
    if theirs is None:
        print("VAMP is not installed\n", flush=True)
    else:
        makers[VAMP] = theirs
    for make in makers.values():  # imports, caches and compilation are not search
        make(problems[0])(0)
    runs: list[Run] = []
    for k, problem in enumerate(problems):
        if k % 20 == 0:
            note(f"problem {k} of {len(problems)}")
        judge = Judge(kitchen, robot, problem)
        for name, make in makers.items():
            worlds = []
            for _ in range(_REPEATS):
                began = thread_time()
                answer = make(problem)
                worlds.append(thread_time() - began)
            world = float(np.median(worlds))
            for seed in range(seeds):
                found, why, seconds = _again(answer, seed)
                run = Run(name, problem.set, k, seed, seconds, world, found is not None, why)
                if found is not None:
                    run = replace(
                        run,
                        depth=judge.depth(found),
                        length=MotionPath("arm", found).length,
                    )
                runs.append(run)
    sets = list(dict.fromkeys(problem.set for problem in problems))
    for name in [*sets, *(("all",) if len(sets) > 1 else ())]:
        _show(name, [run for run in runs if name in (run.set, "all")], list(makers))
    failed = [run for run in runs if not run.solved]
    if failed:
        table(
            ["unsolved", "set", "problem", "seed", "message"],
            [[r.planner, r.set, str(r.problem), str(r.seed), r.message] for r in failed],
        )
    return {"runs": [asdict(run) for run in runs]}, _targets(runs)


def _median_ms(seconds: Sequence[float]) -> float:
    return 1e3 * float(np.median(seconds))


def _row(runs: Sequence[Run]) -> list[str]:
    ms = 1e3 * np.array([run.seconds for run in runs])
    deep = [run.depth for run in runs if run.solved and run.depth > OVERLAP]
    lengths = [run.length for run in runs if run.length is not None]
    solved = sum(run.solved for run in runs)
    return [
        runs[0].planner,
        f"{solved}/{len(runs)}",
        *(shown(float(np.percentile(ms, p))) for p in (50, 95, 99)),
        shown(_median_ms([run.world for run in runs])),
        shown(float(np.mean(lengths)) if lengths else None),
        f"{len(deep)}/{solved}",
        shown(1e3 * max(deep, default=0.0)),
    ]


def _show(name: str, runs: Sequence[Run], planners: Sequence[str]) -> None:
    headers = [name, "solved", "median ms", "p95", "p99", "world ms", "length", "hits", "mm deep"]
    table(headers, [_row([run for run in runs if run.planner == each]) for each in planners])


def _targets(runs: Sequence[Run]) -> list[Target]:
    ours = [run for run in runs if run.planner == PROVEN]
    theirs = [run for run in runs if run.planner == VAMP]
    less = [run for run in runs if run.planner == LESS]
    share = 100.0 * sum(run.solved for run in ours) / len(ours)
    hits = sum(run.depth > OVERLAP for run in (*ours, *less))
    found = [
        Target.at_least("valid problems solved and proven", 99.8, share, " %"),
        Target.at_most("proven paths that hit something in Drake", 0, float(hits), ""),
        Target.at_most("a world with its view", 0.3, _median_ms([r.world for r in ours]), " ms"),
    ]
    for name, mine in ((PROVEN, ours), (LESS, less)):
        for what, p, bound in (("median", 50, 1.8), ("95th percentile", 95, 2.5)):
            figure = None
            if theirs:
                own, other = (
                    float(np.percentile([run.seconds for run in some], p))
                    for some in (mine, theirs)
                )
                figure = own / other
            found.append(Target.at_most(f"{name}: {what} against VAMP's", bound, figure, "x"))
    return found
