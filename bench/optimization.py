"""Trajectory optimization compared with the baseline QP, Drake, toppra and ruckig.

    pip install toppra==0.6.10 ruckig==0.19.4
    python bench/optimization.py [--quick] [--json FILE] [--figure [FILE]] [--only abcd]
                                 [--ours] [--seed N]

Ratios are more telling than milliseconds: all methods take turns at every query, on one machine in
the same minutes, and start from the same shortcut path, proven free.
Sections: a, how many trajectories are free and within all limits; b, duration, length, jerk and
clearance; c, time to solve; d, motions of the base.
Ours are timed three times, and the median counts; the others once. All solve two queries as a
warm-up. Every trajectory is checked in the compiled kernel every 0.005 rad, in Drake and PyBullet
every 0.02 rad (2 mm of overlap is a hit), and against the limits with a tolerance of 0.1 %.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import optimization_figures
import optimization_sections as sections
from motion_queries import load_kitchen
from optimization_peers import installed, methods
from optimization_queries import arm_cases, base_cases
from optimization_runs import Run, race
from optimization_verdicts import TrajectoryJudge
from planning_runs import note, shown, table
from planning_sections import Target

FIGURE = Path(__file__).resolve().parent.parent / "docs" / "optimization.png"
_ARM, _BASE = "abc", "d"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="12 and 3 queries of 60 and 10")
    parser.add_argument("--json", type=Path, help="where to put the raw figures")
    parser.add_argument("--figure", type=Path, nargs="?", const=FIGURE, help="draw them")
    parser.add_argument("--only", default="abcd", help="sections, such as 'ab'")
    parser.add_argument("--seed", type=int, default=0, help="of the queries")
    parser.add_argument("--ours", action="store_true", help="without the peers")
    arguments = parser.parse_args()
    if not arguments.only or set(arguments.only) - set(_ARM + _BASE):
        parser.error(f"sections are letters of '{_ARM + _BASE}', got '{arguments.only}'")
    began = perf_counter()
    machine = {"Python": platform.python_version(), "cores": str(os.cpu_count()), **installed()}
    machine["load before"] = f"{os.getloadavg()[0]:.1f}"
    print(", ".join(f"{k} {v}" for k, v in machine.items()), "\n", flush=True)
    runs = measure(arguments.only, arguments.quick, arguments.ours, arguments.seed)
    targets: list[Target] = []
    for letter, section in zip(
        "abcd", (sections.gate, sections.quality, sections.speed, sections.base), strict=True
    ):
        if letter in arguments.only:
            targets += section(runs["arm" if letter in _ARM else "base"])
    note(f"done after {perf_counter() - began:.0f} s\n")
    verdicts = {True: "met", False: "NOT met", None: "not measured"}
    if targets:
        table(
            ["target", "wanted", "measured", ""],
            [[t.what, t.wanted, shown(t.figure, 4), verdicts[t.met]] for t in targets],
        )
    if arguments.json:
        raw: dict[str, Any] = {
            "machine": machine,
            "runs": {group: [run.raw() for run in own] for group, own in runs.items()},
            "targets": [vars(each) for each in targets],
        }
        arguments.json.write_text(json.dumps(raw, indent=1) + "\n")
    if arguments.figure and runs["arm"]:
        optimization_figures.draw(runs["arm"], arguments.figure)
    return 0


def measure(only: str, quick: bool, only_ours: bool, seed: int) -> dict[str, list[Run]]:
    """The runs that the wanted sections need."""
    scene, robot = load_kitchen()
    found: dict[str, list[Run]] = {"arm": [], "base": []}
    judge = TrajectoryJudge(scene, robot)
    try:
        methods_, missing = methods(scene, robot, only_ours)
        for sentence in missing:
            print(sentence, flush=True)
        if set(only) & set(_ARM):
            cases = arm_cases(scene, robot, seed, quick)
            found["arm"] = race(methods_, cases, judge, robot)
        if set(only) & set(_BASE):
            # Drake's peer is set up for the arm.
            able = [method for method in methods_ if "base" in method.groups]
            cases = base_cases(scene, robot, seed, quick)
            found["base"] = race(able, cases, judge, robot)
    finally:
        judge.close()
    print(flush=True)
    return found


if __name__ == "__main__":
    sys.exit(main())
