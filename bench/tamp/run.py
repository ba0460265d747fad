"""Task and motion planning: success, planning time, refusals, growth.

    python bench/tamp/run.py [--quick] [--json FILE] [--figure [FILE]] [--only abcde] [--seeds N]
                         [--suite-seeds N] [--jobs N] [--growth-jobs N] [--engine process|ray]

Sections: a, the default task; b, the scenario suite; c, three items packed, compared with
PDDLStream; d, growth with items, blockers and scene size, with a figure;
e, kitchens in which little room is left, compared with exhaustive search.
Success in a and b is that of whole runs: search, trajectories, kinematic execution, validation, no
film; several at a time. Planning time is measured in one process, one task after the other, after
two warm-up runs; it leaves out reading files and building the world. So it is in d, unless
--growth-jobs says otherwise.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from galley.bench.report import Section, command_line, measure
from galley.bench.tamp import sections
from galley.sweeps import ENGINES

FIGURE = Path(__file__).resolve().parents[2] / "docs" / "tamp_growth.png"


def main() -> int:
    parser = command_line(__doc__, "abcde", "few seeds, sizes and scenarios")
    parser.add_argument("--figure", type=Path, nargs="?", const=FIGURE, help="draw section d")
    parser.add_argument("--seeds", type=int, default=100, help="of the default task")
    parser.add_argument("--suite-seeds", type=int, default=10, help="of each scenario")
    parser.add_argument("--jobs", type=int, help="whole runs at a time; one a core")
    parser.add_argument("--growth-jobs", type=int, default=1, help="of section d")
    parser.add_argument("--engine", choices=ENGINES, default="process", help="for several at once")
    arguments = parser.parse_args()
    how = plan(arguments)
    one_by_one = arguments.growth_jobs == 1
    growing = replace(
        how, jobs=arguments.growth_jobs, engine="process" if one_by_one else how.engine
    )
    steps: dict[str, Callable[[], Section]] = {
        "a": lambda: sections.default_task(how),
        "b": lambda: sections.suite(how),
        "c": lambda: sections.packing(how),
        "d": lambda: sections.growth(growing, arguments.figure),
        "e": lambda: sections.brute_force(how),
    }
    return measure(arguments, steps)


def plan(arguments: argparse.Namespace) -> sections.Plan:
    """How much is measured."""
    quick = arguments.quick
    return sections.Plan(
        seeds=2 if quick else arguments.seeds,
        suite=1 if quick else arguments.suite_seeds,
        packing=3 if quick else 20,
        refusals=1 if quick else 10,
        growth=1 if quick else 3,
        jobs=arguments.jobs,
        engine=arguments.engine,
        quick=quick,
    )


if __name__ == "__main__":
    sys.exit(main())
