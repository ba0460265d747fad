"""Pushes under physics in the kitchen: random start and goal poses on the counter, three items.

    python bench/pushing/kitchen.py [--runs 100] [--jobs 2] [--only tray,board,box] [--out FOLDER]
    python bench/pushing/kitchen.py --only regrasp --runs 30
    python bench/pushing/kitchen.py --noise friction=0.3 [--out OTHER]

Each run is planned, executed and corrected as `galley run` does, and judged by the validator: on
its mark within 1 cm and 5 degrees. Poses have the whole item on the counter's region. ``regrasp``:
a box that lies flat is pushed over the counter's edge, taken there and put on the burner, wherever
on it. Every run is a line of OUT/pushes.jsonl; what is listed there is not repeated.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

import galley
from galley.bench.report import resumed, shown, table
from galley.domain.failure import Failure
from galley.domain.frames import Array, frozen, rotation_z, transform
from galley.domain.predicates import corners
from galley.domain.scene.model import Scene, Spot
from galley.motion.motion import yaw_of
from galley.skills.placing.footprints import outline_of, placed
from galley.tamp.task import TampTask

ITEMS = ("tray", "board", "box", "regrasp")
PROBLEMS = {"tray": "push_tray.pddl", "board": "push_board.pddl", "box": "push_tray.pddl"}
PROBLEMS["regrasp"] = "regrasp.pddl"
BOX = frozen([0.21, 0.16, 0.06])  # m, one that fell flat
SCENES = {"board": "push_board_scene.yaml", "regrasp": "regrasp_scene.yaml"}
_SEED = 1000


def task_of(kind: str, run: int) -> TampTask:
    """The shipped task with the item and its mark at random poses."""
    task = galley.load(problem=PROBLEMS[kind], scene=SCENES.get(kind), domain="pushing.pddl")
    scene = task.scene if kind != "box" else _with_box(task.scene)
    item = scene.item({"board": "board", "regrasp": "cracker_box"}.get(kind, "tray"))
    mark = next((each for each in scene.bindings if each.spot is not None), None)
    region = "hitman_top" if mark is None else mark.region
    R = rotation_z(-yaw_of(item.X_WI)) @ item.X_WI[:3, :3]  # as it stands or lies, unturned
    outline = outline_of(item, transform(R, np.zeros(3)))
    start, goal = (_pose(scene, outline, region, run, k) for k in range(2))
    z = scene.region(region).boxes[0, 0, 2] + (corners(item) @ R[2]).max()
    X_WI = frozen(transform(rotation_z(start[2]) @ R, [*start[:2], z]))
    items = tuple(replace(each, X_WI=X_WI) if each is item else each for each in scene.items)
    if mark is None:
        return replace(task, scene=replace(scene, items=items))
    spot = replace(mark, spot=Spot(goal[:2], float(goal[2])))
    bindings = tuple(spot if each is mark else each for each in scene.bindings)
    moved = replace(scene, items=items, bindings=bindings)
    return replace(task, scene=moved, bindings={each.object: each for each in bindings})


def _with_box(scene: Scene) -> Scene:
    """The tray as a box that fell flat."""
    tray = scene.item("tray")
    shape = replace(tray.shapes[0], size=BOX)
    box = replace(tray, size=BOX, shapes=(shape,), mass=0.4)
    return replace(scene, items=tuple(box if each is tray else each for each in scene.items))


def _pose(scene: Scene, outline: Array, region: str | None, run: int, which: int) -> Array:
    """x, y, yaw (3,) with a whole outline over the region, whose body stands unturned."""
    assert region is not None
    rng, about = np.random.default_rng((_SEED, run, which)), scene.region(region)
    offset = scene.body_pose(about.body, np.zeros(len(scene.joints)))[:2, 3]
    low, high = about.boxes[0, :, :2] + offset
    while True:
        pose = np.array([*rng.uniform(low, high), rng.uniform(-np.pi, np.pi)])
        there = placed(outline, pose[None])[0]
        if (there >= low).all() and (there <= high).all():
            return pose


def push(kind: str, run: int, noise: str) -> dict:
    """One run; plain data."""
    task, began = task_of(kind, run), time.process_time()
    solution = galley.solve(task, seed=run)
    row = {"kind": kind, "run": run, "noise": noise, "good": False}
    row["solve_s"] = time.process_time() - began
    if isinstance(solution, Failure):
        return {**row, "why": str(solution)}
    done = galley.execute(solution, noise=noise or None)
    names = done.log.motions.tolist()
    return {
        **row,
        "good": done.verdict.passed and done.verdict.goal_reached,
        "why": "" if done.failure is None else str(done.failure),
        "pushes": sum(name.endswith(": push") for name in names),
        "off_mm": [1e3 * d.amount for r in done.recoveries for d in r.noticed if d.unit == "m"],
        "recoveries": sum(not each.correction for each in done.recoveries),
        "simulated_s": done.log.duration,
    }


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default=",".join(ITEMS))
    parser.add_argument("--out", type=Path, default=Path("runs/pushes"))
    parser.add_argument("--noise", default="", help="as of `galley run`, such as friction=0.3")
    arguments = parser.parse_args()
    kinds = [kind for kind in ITEMS if kind in arguments.only.split(",")]
    wanted = [(kind, run, arguments.noise) for run in range(arguments.runs) for kind in kinds]
    store = arguments.out / "pushes.jsonl"
    rows = resumed(store, ("kind", "run", "noise"), push, wanted, arguments.jobs)
    figures = []
    for kind in kinds:
        mine = [row for row in rows if row["kind"] == kind]
        ran = [row for row in mine if "pushes" in row]
        median = {
            key: float(np.median([row[key] for row in some])) if some else None
            for key, some in (("pushes", ran), ("solve_s", mine), ("simulated_s", ran))
        }
        off = [each for row in ran for each in row["off_mm"]]
        good = f"{sum(row['good'] for row in mine)} of {len(mine)}"
        slide = shown(float(np.median(off))) if off else "-"
        figures.append([kind, good, *(shown(each) for each in median.values()), slide])
    headers = ["item", "on its mark", "pushes", "plan, CPU s", "run, s", "off after a push, mm"]
    table(headers, figures)


if __name__ == "__main__":
    main()
