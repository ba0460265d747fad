"""Trajectory optimization compared with the baseline QP, Drake, toppra and ruckig.

    pip install toppra==0.6.10 ruckig==0.19.4
    python bench/optimization/run.py [--quick] [--json FILE] [--figure [FILE]] [--only abcd]
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

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from galley.bench.motion.queries import load_kitchen
from galley.bench.optimization import sections
from galley.bench.optimization.peers import PACKAGES, methods
from galley.bench.optimization.queries import arm_cases, base_cases
from galley.bench.optimization.runs import Run, race
from galley.bench.optimization.verdicts import TrajectoryJudge
from galley.bench.report import Section, command_line, installed, measure

FIGURE = Path(__file__).resolve().parents[2] / "docs" / "optimization.png"
_ARM, _BASE = "abc", "d"


def main() -> int:
    parser = command_line(__doc__, _ARM + _BASE, "12 and 3 queries of 60 and 10")
    parser.add_argument("--figure", type=Path, nargs="?", const=FIGURE, help="draw them")
    parser.add_argument("--seed", type=int, default=0, help="of the queries")
    parser.add_argument("--ours", action="store_true", help="without the peers")
    arguments = parser.parse_args()
    raw: dict[str, Any] = {}

    @cache
    def runs(group: str) -> list[Run]:
        found = measured(arguments.only, arguments.quick, arguments.ours, arguments.seed)
        raw.update({group: [run.raw() for run in own] for group, own in found.items()})
        return found[group]

    steps: dict[str, Callable[[], Section]] = {
        "a": lambda: (None, sections.gate(runs("arm"))),
        "b": lambda: (None, sections.quality(runs("arm"))),
        "c": lambda: (None, sections.speed(runs("arm"))),
        "d": lambda: (None, sections.base(runs("base"))),
    }
    status = measure(arguments, steps, installed(*PACKAGES), runs=raw)
    if arguments.figure and raw["arm"]:
        sections.draw(runs("arm"), arguments.figure)
    return status


def measured(only: str, quick: bool, only_ours: bool, seed: int) -> dict[str, list[Run]]:
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
