"""Two examples of PDDLStream, planned by both: ``packed`` 1 to 6, and ``kuka``.

``packed``: blocks of 7 x 7 x 10 cm, where PDDLStream's sampler has put them for the seed, onto a
plate of 27 x 27 cm; PDDLStream with its PR2 and the settings of its tamp/run.py, Galley with its
mobile Panda, both in two dimensions of the floor, top grasps there, any here. ``kuka``: an iiwa 14
on the floor washes and cooks the celery, both with the same URDF; PDDLStream sticks things to the
flange, for Galley a gripper of boxes is on it. Its goal that the arm be back where it began is left
out. CPU seconds with all child processes: of planning alone, for Galley ``load`` and ``solve`` in a
warm process; and of whole processes that start, import, plan and end.

Its sources come from GitHub, at the commits below; the search binary out of up-fast-downward's
wheel. One include of its IKFast is mended, which then compiles: that needs a C++ compiler.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

KEYS = ("example", "seed")
VERSIONS = "pddlstream 2c7d6f5, pybullet-planning d536384, up-fast-downward 0.3.1, PyBullet 3.2.7"
FRESH = True  # PDDLStream keeps what it found in modules
SECONDS = 120  # of a planner
_GITHUB = "https://github.com/caelan"
_MODELS = (
    *("drake/pr2_description", "drake/iiwa_description", "drake/objects"),
    *("sink.urdf", "stove.urdf", "short_floor.urdf"),
)
_SOURCES = (
    ("pddlstream", "2c7d6f514b07ed018e18710192aa0f91c2e70ee2", ".", ()),
    (
        "pybullet-planning",
        "d536384dca2c890bbbdb5c14f07a3b7580201d8a",
        "examples/pybullet/utils",
        ("pybullet_tools", "databases", *(f"models/{each}" for each in _MODELS)),
    ),
    (
        "motion-planners",
        "5632ff766bad19d6d42d009c332e9eeb58ac6c25",
        "examples/pybullet/utils/motion",
        (),
    ),
    ("downward", "11e98c555c58a44d42a28a76174620d421de2d3b", "downward", ()),
)

_warm: set[bool] = set()  # whether it has planned for the arm, the mobile robot

Ask = Callable[..., Any]
Row = dict[str, Any]


def prepare(python: Path, folder: Path) -> None:
    """Its sources into ``folder``, with what it needs compiled."""
    for name, commit, place, paths in _SOURCES:
        at = folder / place
        _run("git", "clone", "-q", "--no-checkout", f"{_GITHUB}/{name}", folder / "new")
        _run("git", "-C", folder / "new", "checkout", "-q", commit, "--", *(paths or (".",)))
        shutil.rmtree(folder / "new" / ".git")
        shutil.copytree(folder / "new", at, symlinks=True, dirs_exist_ok=True)
        shutil.rmtree(folder / "new")
    tools = folder / "examples" / "pybullet" / "utils" / "pybullet_tools" / "ikfast"
    header = tools / "ikfast.h"
    header.write_text(header.read_text().replace("python2.7/Python.h", "Python.h"))
    _run(python, "setup.py", cwd=tools / "pr2", stdout=subprocess.DEVNULL)
    built = folder / "downward" / "builds" / "release" / "bin"
    built.mkdir(parents=True)
    shutil.copy(next(python.parents[1].rglob("bin/downward")), built)
    shutil.copytree(folder / "downward" / "src" / "translate", built / "translate")


def _run(*command: Any, **more: Any) -> None:
    subprocess.run([str(each) for each in command], check=True, **more)


def _cpu() -> float:
    """CPU seconds of this process and of its children that have ended."""
    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, who))


# ----------------------------------------------------------------------------- in Galley's process


def answer(request: Row) -> Row:
    """How Galley plans an example: in this process if warm, and in a fresh one."""
    kuka = "kuka" in request
    files = _kuka(**request["kuka"]) if kuka else _packed(request["poses"])
    if kuka not in _warm:
        _warm.add(kuka)
        _planned(files if kuka else _packed([[0.0, 0.3, 0.0]]), 1000)
    warm, before = _planned(files, request["seed"]), _cpu()
    given = json.dumps([files, request["seed"]])
    _run(sys.executable, __file__, given, stdout=subprocess.DEVNULL)
    return warm | {"cold_s": _cpu() - before}


def _planned(files: dict[str, str], seed: int) -> Row:
    import galley

    paths = {name: Path(_folder().name, name) for name in files}
    for name, path in paths.items():
        path.write_text(files[name])
    domain, before = paths.get("domain.pddl", "kitchen.pddl"), _cpu()
    task = galley.load(problem=paths["problem.pddl"], scene=paths["scene.yaml"], domain=domain)
    found = galley.solve(task, seed=seed)
    used = _cpu() - before
    if isinstance(found, galley.Solution):
        return {"solved": True, "cpu_s": used, "actions": len(found.plan), "why": ""}
    return {"solved": False, "cpu_s": used, "actions": 0, "why": str(found)}


@cache
def _folder() -> TemporaryDirectory[str]:
    return TemporaryDirectory()


def _packed(poses: list[list[float]]) -> dict[str, str]:
    return {"scene.yaml": _scene(poses), "problem.pddl": _problem(len(poses))}


def _scene(poses: list[list[float]]) -> str:
    """Its table with legs, the plate, and the blocks at x, y, yaw."""
    legs = "".join(
        f"      - {{cylinder: [0.015, 0.7], xyz: [{x}, {y}, 0.35]}}\n"
        for x in (-0.285, 0.285)
        for y in (-0.585, 0.585)
    )
    items = "".join(
        f"  block{k}:\n    mass: 0.2\n    shapes: [{{box: [0.07, 0.07, 0.1]}}]\n"
        f"    pose: {{on: table, xy: [{x}, {y}], yaw: {yaw}}}\n"
        for k, (x, y, yaw) in enumerate(poses)
    )
    names = "".join(f"  block{k}: {{item: block{k}}}\n" for k in range(len(poses)))
    return f"""galley_scene: 1
name: packed
robot:
  name: mobile_panda
  model: mobile_panda
  base:
    size: [0.815, 0.634, 0.40]
    ground_gap: 0.03
    p_BA: [-0.035, 0.0, 0.769]
    lower: [-2.5, -2.5, -6.2831853]
    upper: [2.5, 2.5, 6.2831853]
    velocity: [0.6, 0.6, 1.2]
    acceleration: [0.6, 0.6, 1.2]
    jerk: [3.0, 3.0, 6.0]
  start:
    base: [-1.2, 0.0, 0.0]
    arm: [0.012, -0.570, 0.0, -2.811, 0.0, 3.036, 0.741]
    fingers: 0.04
bodies:
  floor: {{shapes: [{{extents: [[-4, 4], [-4, 4], [-0.05, 0.0]]}}]}}
  table:
    shapes:
      - {{extents: [[-0.3, 0.3], [-0.6, 0.6], [0.7, 0.73]]}}
{legs}  plate: {{shapes: [{{extents: [[-0.135, 0.135], [-0.135, 0.135], [0.73, 0.731]]}}]}}
regions:
  table: {{body: table, surface: [{{x: [-0.3, 0.3], y: [-0.6, 0.6], z: 0.73}}]}}
  plate: {{body: plate, surface: [{{x: [-0.135, 0.135], y: [-0.135, 0.135], z: 0.731}}]}}
items:
{items}stances:
  around: {{x: [-1.6, 1.6], y: [-1.9, 1.9]}}
objects:
  table: {{stance: around, region: table}}
  plate: {{stance: around, region: plate}}
{names}  h1: {{hand: panda_hand}}
"""


def _problem(count: int) -> str:
    blocks = [f"block{k}" for k in range(count)]
    return f"""(define (problem packed) (:domain kitchen)
      (:objects table plate - furniture {" ".join(blocks)} - objective h1 - hand)
      (:init (near table) (empty h1) {" ".join(f"(on {each} table)" for each in blocks)})
      (:goal (and {" ".join(f"(on {each} plate)" for each in blocks)})))"""


def _kuka(urdf: str, boxes: dict[str, list[list[float]]]) -> dict[str, str]:
    """Its floor, sink, stove, celery and radish: boxes from corner to corner, world frame."""
    spans = {name: list(zip(*corners, strict=True)) for name, corners in boxes.items()}
    bodies = "".join(
        f"  {name}: {{shapes: [{{extents: {[list(span) for span in spans[name]]}}}]}}\n"
        for name in ("floor", "sink", "stove")
    )
    regions = "".join(
        f"  {name}_top: {{body: {name}, surface: [{{x: {list(x)}, y: {list(y)}, z: {z[1]}}}]}}\n"
        for name, (x, y, z) in spans.items()
        if name in ("floor", "sink", "stove")
    )
    items = "".join(
        f"  {name}:\n    mass: 0.1\n    shapes: [{{box: {[b - a for a, b in spans[name]]}}}]\n"
        f"    pose: {{on: floor_top, xy: {[(a + b) / 2 for a, b in spans[name][:2]]}, yaw: 0}}\n"
        for name in ("celery", "radish")
    )
    joints = [f"iiwa_joint_{k}" for k in range(1, 8)]
    return {
        "scene.yaml": f"""galley_scene: 1
name: kuka
robot: {{file: robot.yaml, start: {{base: [0, 0, 0]}}}}
bodies:
{bodies}regions:
{regions}items:
{items}stances: {{here: {{x: [-0.1, 0.1], y: [-0.1, 0.1]}}}}
objects:
  floor: {{stance: here, region: floor_top}}
  sink: {{stance: here, region: sink_top}}
  stove: {{stance: here, region: stove_top}}
  celery: {{item: celery}}
  radish: {{item: radish}}
  h1: {{hand: hand}}
""",
        "robot.yaml": f"""galley_robot: 1
name: iiwa14
urdf: {urdf}
arm: [{", ".join(joints)}]
folded: [0.0, 0.2, 0.0, -1.9, 0.0, 1.04, 0.0]
velocity: [1.48, 1.48, 1.75, 1.31, 2.27, 2.36, 2.36]  # KUKA's data sheet; the URDF has 10 rad/s
base: {{fixed: {{}}}}
gripper:
  urdf: parallel_gripper.urdf
  mount: {{link: iiwa_link_ee_kuka}}
  joints: {{left_finger_joint: [0.0, 0.05], right_finger_joint: [0.0, 0.05]}}
  fingers: [left_finger, right_finger]
""",
        "domain.pddl": """(define (domain kuka)
  (:requirements :strips :typing)
  (:types furniture objective hand - object sink stove - furniture)
  (:predicates (near ?r - furniture) (grasp ?r - objective) (empty ?h - hand)
    (on ?obj - objective ?fur - furniture) (holds ?h - hand ?obj - objective)
    (clean ?obj - objective) (cooked ?obj - objective))
  (:action pick
    :parameters (?obj - objective ?fur - furniture ?h - hand)
    :precondition (and (near ?fur) (on ?obj ?fur) (empty ?h))
    :effect (and (grasp ?obj) (holds ?h ?obj) (not (on ?obj ?fur)) (not (empty ?h))))
  (:action place
    :parameters (?obj - objective ?fur - furniture ?h - hand)
    :precondition (and (near ?fur) (grasp ?obj) (holds ?h ?obj))
    :effect (and (on ?obj ?fur) (empty ?h) (not (grasp ?obj)) (not (holds ?h ?obj))))
  (:action wash
    :parameters (?obj - objective ?s - sink)
    :precondition (and (near ?s) (on ?obj ?s))
    :effect (clean ?obj))
  (:action cook
    :parameters (?obj - objective ?s - stove)
    :precondition (and (near ?s) (on ?obj ?s) (clean ?obj))
    :effect (and (cooked ?obj) (not (clean ?obj)))))""",
        "problem.pddl": """(define (problem kuka) (:domain kuka)
  (:objects floor - furniture sink - sink stove - stove celery radish - objective h1 - hand)
  (:init (near floor) (near sink) (near stove) (on celery floor) (on radish floor) (empty h1))
  (:goal (cooked celery)))""",
    }


def tell(rows: list[Row]) -> Iterator[str]:
    """The table, a line for each example."""
    yield (
        "| example | PDDLStream: solved | CPU s | Galley: solved | CPU s | ratio of CPU s "
        "| PDDLStream: process, CPU s | Galley: process, CPU s |"
    )
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    for example in sorted({row["example"] for row in rows}, reverse=True):
        mine = [row for row in rows if row["example"] == example]
        theirs, ours, their_whole, our_whole = (
            [row[key] for row in mine] for key in ("their_cpu_s", "cpu_s", "their_cold_s", "cold_s")
        )
        solved = [sum(row[key] for row in mine) for key in ("their_solved", "solved")]
        yield (
            f"| {example} | {solved[0]}/{len(mine)} | {median(theirs):.2f} "
            f"| {solved[1]}/{len(mine)} | {median(ours):.2f} | {_ratio(theirs, ours)} "
            f"| {median(their_whole):.1f} | {median(our_whole):.1f} |"
        )


def _ratio(theirs: list[float], ours: list[float]) -> str:
    """The least and the greatest ratio of a seed."""
    factors = [t / o for t, o in zip(theirs, ours, strict=True)]
    return f"{min(factors):.1f} to {max(factors):.1f}"


# ------------------------------------------------------------------------------ in their process


def wanted(ask: Ask, quick: bool) -> list[tuple[str, int]]:
    """Examples, and seeds."""
    del ask
    examples = ["kuka", *(f"packed {n}" for n in range(1, 4 if quick else 7))]
    return [(each, seed) for seed in range(2 if quick else 10) for each in examples]


def row(ask: Ask, example: str, seed: int) -> Row:
    """One example, planned by PDDLStream and by Galley."""
    import random

    import numpy as np

    folder = Path(sys.prefix).parent / "source"
    os.chdir(folder)  # it writes where it is
    sys.path.insert(0, str(folder))
    sys.argv = sys.argv[:1]
    from examples.pybullet.utils.pybullet_tools.utils import connect

    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - its samplers' generator
    connect(use_gui=False)
    name, _, count = example.partition(" ")
    posed, request, settings = _their_kuka() if name == "kuka" else _their_packed(int(count))
    from pddlstream.algorithms.meta import solve

    before = _cpu()
    plan, _, _ = solve(
        posed,
        algorithm="adaptive",
        max_time=SECONDS,
        success_cost=float("inf"),
        verbose=False,
        debug=False,
        **settings,
    )
    used = {"their_cpu_s": _cpu() - before, "their_cold_s": _cpu()}
    theirs = {"their_solved": plan is not None, "their_actions": len(plan or ())}
    return theirs | used | ask(**request, seed=seed)


def _their_packed(count: int) -> tuple[Any, Row, Row]:
    """PDDLStream's problem, what Galley needs to know of it, and the settings of tamp/run.py."""
    from examples.pybullet.tamp import run as tamp
    from examples.pybullet.utils.pybullet_tools.utils import euler_from_quat, get_pose
    from pddlstream.language.function import FunctionInfo
    from pddlstream.language.stream import StreamInfo

    problem = tamp.PROBLEMS[0](num=count)
    at = [get_pose(block) for block in problem.movable]
    poses = [[p[0], p[1], euler_from_quat(turn)[2]] for p, turn in at]
    info = {
        "inverse-kinematics": StreamInfo(),
        "plan-base-motion": StreamInfo(overhead=1e1),
        "test-cfree-pose-pose": StreamInfo(p_success=1e-3),
        "test-cfree-approach-pose": StreamInfo(p_success=1e-2),
        "test-cfree-traj-pose": StreamInfo(p_success=1e-1),
        "Distance": FunctionInfo(p_success=0.99, opt_fn=lambda *_: tamp.BASE_CONSTANT),
    }
    settings = {
        "stream_info": info,
        "planner": "ff-wastar3",
        "max_planner_time": 10,
        "unit_efforts": True,
        "effort_weight": 1,
        "search_sample_ratio": 2,
    }
    return tamp.pddlstream_from_problem(problem), {"poses": poses}, settings


def _their_kuka() -> tuple[Any, Row, Row]:
    """The same of kuka/run.py, which sets nothing more."""
    import pybullet
    from examples.pybullet.kuka import run as kuka
    from examples.pybullet.utils.pybullet_tools.utils import (
        DRAKE_IIWA_URDF,
        HideOutput,
        get_bodies,
        get_point,
    )

    with HideOutput():
        robot, names, movable = kuka.load_world()
        posed = kuka.pddlstream_from_problem(robot, movable=movable)

    def corners(body: int) -> list[list[float]]:
        """Of a body of one box, its lowest and its highest."""
        _, _, _, size, _, local, *_ = pybullet.getVisualShapeData(body)[0]
        centre = [p + x for p, x in zip(get_point(body), local, strict=True)]
        return [[c + s * e / 2 for c, e in zip(centre, size, strict=True)] for s in (-1, 1)]

    floor = next(body for body in get_bodies() if body not in (robot, *names))
    boxes = {name: corners(body) for body, name in [(floor, "floor"), *names.items()]}
    tools = Path(kuka.__file__).parents[1] / "utils" / "pybullet_tools"
    request = {"urdf": str(tools / DRAKE_IIWA_URDF), "boxes": boxes}
    return posed._replace(goal=("Cooked", movable[0])), {"kuka": request}, {}


if __name__ == "__main__":
    _planned(*json.loads(sys.argv[1]))
