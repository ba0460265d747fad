"""PDDLStream on its own problem ``packed``: 7 x 7 x 10 cm blocks onto a plate of 27 x 27 cm.

A row is a table with blocks where PDDLStream's sampler has put them for the seed, planned by both:
PDDLStream with its PR2 and the settings of its tamp/run.py, Galley with its mobile Panda, both in
two dimensions of the floor, top grasps there, any here. CPU seconds with all child processes:
PDDLStream's of ``solve`` alone, Galley's of ``load`` and ``solve`` in a warm process, and of a
whole process that starts, imports, plans and ends.

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

KEYS = ("blocks", "seed")
VERSIONS = "pddlstream 2c7d6f5, pybullet-planning d536384, up-fast-downward 0.3.1, PyBullet 3.2.7"
FRESH = True  # PDDLStream keeps what it found in modules
SECONDS = 120  # of a planner
_GITHUB = "https://github.com/caelan"
_SOURCES = (
    ("pddlstream", "2c7d6f514b07ed018e18710192aa0f91c2e70ee2", ".", ()),
    (
        "pybullet-planning",
        "d536384dca2c890bbbdb5c14f07a3b7580201d8a",
        "examples/pybullet/utils",
        ("pybullet_tools", "models/drake/pr2_description", "databases"),
    ),
    (
        "motion-planners",
        "5632ff766bad19d6d42d009c332e9eeb58ac6c25",
        "examples/pybullet/utils/motion",
        (),
    ),
    ("downward", "11e98c555c58a44d42a28a76174620d421de2d3b", "downward", ()),
)

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
    """How Galley plans with blocks at ``poses``: in this process if warm, and in a fresh one."""
    poses, seed = request["poses"], request["seed"]
    _warm()
    warm, before = _planned(poses, seed), _cpu()
    _run(sys.executable, __file__, json.dumps([poses, seed]), stdout=subprocess.DEVNULL)
    return warm | {"cold_s": _cpu() - before}


@cache
def _warm() -> None:
    _planned([[0.0, 0.3, 0.0]], 0)


def _planned(poses: list[list[float]], seed: int) -> Row:
    import galley

    with TemporaryDirectory() as name:
        scene, problem = Path(name, "scene.yaml"), Path(name, "problem.pddl")
        scene.write_text(_scene(poses))
        problem.write_text(_problem(len(poses)))
        before = _cpu()
        task = galley.load(problem=problem, scene=scene, domain="kitchen.pddl")
        found = galley.solve(task, seed=seed)
        used = _cpu() - before
    if isinstance(found, galley.Solution):
        return {"solved": True, "cpu_s": used, "actions": len(found.plan), "why": ""}
    return {"solved": False, "cpu_s": used, "actions": 0, "why": str(found)}


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


def tell(rows: list[Row]) -> Iterator[str]:
    """The table, a line for each number of blocks."""
    yield (
        "| blocks | seeds | PDDLStream solved | its CPU s, median (range) | Galley solved "
        "| CPU s, warm, median (range) | a whole process, median | warm: times less, least "
        "| whole process: times less, least |"
    )
    yield "|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    for count in sorted({row["blocks"] for row in rows}):
        mine = [row for row in rows if row["blocks"] == count]
        theirs, warm, cold = ([row[k] for row in mine] for k in ("their_cpu_s", "cpu_s", "cold_s"))
        solved = [sum(row[key] for row in mine) for key in ("their_solved", "solved")]
        least = [min(t / o for t, o in zip(theirs, ours, strict=True)) for ours in (warm, cold)]
        yield (
            f"| {count} | {len(mine)} | {solved[0]} | {_spread(theirs)} | {solved[1]} "
            f"| {_spread(warm)} | {median(cold):.1f} | {least[0]:.1f} | {least[1]:.1f} |"
        )


def _spread(values: list[float]) -> str:
    return f"{median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


# ------------------------------------------------------------------------------ in their process


def wanted(ask: Ask, quick: bool) -> list[tuple[int, int]]:
    """Numbers of blocks, and seeds."""
    del ask
    return [(n, seed) for seed in range(2 if quick else 10) for n in range(1, 4 if quick else 7)]


def row(ask: Ask, blocks: int, seed: int) -> Row:
    """One table, planned by PDDLStream and by Galley."""
    import random

    import numpy as np

    folder = Path(sys.prefix).parent / "source"
    os.chdir(folder)  # it writes where it is
    sys.path.insert(0, str(folder))
    sys.argv = sys.argv[:1]
    from examples.pybullet.tamp import run as tamp
    from examples.pybullet.utils.pybullet_tools.utils import connect, euler_from_quat, get_pose
    from pddlstream.algorithms.meta import solve
    from pddlstream.language.function import FunctionInfo
    from pddlstream.language.stream import StreamInfo

    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - its samplers' generator
    connect(use_gui=False)
    problem = tamp.PROBLEMS[0](num=blocks)
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
    before = _cpu()
    plan, _, _ = solve(
        tamp.pddlstream_from_problem(problem),
        algorithm="adaptive",
        stream_info=info,
        planner="ff-wastar3",
        max_planner_time=10,
        max_time=SECONDS,
        success_cost=float("inf"),
        unit_efforts=True,
        effort_weight=1,
        search_sample_ratio=2,
        verbose=False,
        debug=False,
    )
    theirs = {"their_solved": plan is not None, "their_cpu_s": _cpu() - before}
    return theirs | {"their_actions": len(plan or ())} | ask(poses=poses, seed=seed)


if __name__ == "__main__":
    _planned(*json.loads(sys.argv[1]))
