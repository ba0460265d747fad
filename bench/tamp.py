"""Task and motion planning: success, planning time, refusals, growth, reproducibility.

    python bench/tamp.py [--quick] [--json FILE] [--figure [FILE]] [--only abcde] [--seeds N]
                         [--suite-seeds N] [--jobs N] [--growth-jobs N] [--engine process|ray]

Sections: a, the default task; b, the scenario suite; c, three items packed, compared with
PDDLStream; d, growth with items, blockers and scene size, with a figure; e, the same plans and
motions for any number of workers.
Success in a and b is that of whole runs: search, trajectories, kinematic execution, validation, no
film; several at a time. Planning time is measured in one process, one task after the other, after
two warm-up runs; it leaves out reading files and building the world. So it is in d, unless
--growth-jobs says otherwise.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import tamp_sections as sections
from planning_runs import note
from planning_sections import Target, conclude
from tamp_growth import growth

from galley.sweeps import ENGINES

FIGURE = Path(__file__).resolve().parent.parent / "docs" / "tamp_growth.png"
_SECTIONS = "abcde"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few seeds, sizes and scenarios")
    parser.add_argument("--json", type=Path, help="where to put all rows")
    parser.add_argument("--figure", type=Path, nargs="?", const=FIGURE, help="draw section d")
    parser.add_argument("--only", default=_SECTIONS, help="sections, such as 'cd'")
    parser.add_argument("--seeds", type=int, default=100, help="of the default task")
    parser.add_argument("--suite-seeds", type=int, default=10, help="of each scenario")
    parser.add_argument("--jobs", type=int, help="whole runs at a time; one a core")
    parser.add_argument("--growth-jobs", type=int, default=1, help="of section d")
    parser.add_argument("--engine", choices=ENGINES, default="process", help="for several at once")
    arguments = parser.parse_args()
    if not arguments.only or set(arguments.only) - set(_SECTIONS):
        parser.error(f"sections are letters of '{_SECTIONS}', got '{arguments.only}'")
    if arguments.engine == "ray":  # its workers must find this folder's modules
        above = os.environ.get("PYTHONPATH")
        here = str(Path(__file__).resolve().parent)
        os.environ["PYTHONPATH"] = os.pathsep.join([here, above] if above else [here])
    began = perf_counter()
    how = plan(arguments)
    machine = {"Python": platform.python_version(), "cores": str(os.cpu_count())}
    machine["load before"] = f"{os.getloadavg()[0]:.1f}"
    print(", ".join(f"{k} {v}" for k, v in machine.items()), "\n", flush=True)
    one_by_one = arguments.growth_jobs == 1
    growing = replace(
        how, jobs=arguments.growth_jobs, engine="process" if one_by_one else how.engine
    )
    steps: dict[str, Callable[[], sections.Section]] = {
        "a": lambda: sections.default_task(how),
        "b": lambda: sections.suite(how),
        "c": lambda: sections.packing(how),
        "d": lambda: growth(growing, arguments.figure),
        "e": lambda: sections.workers(how),
    }
    raw: dict[str, Any] = {"machine": machine}
    targets: list[Target] = []
    for letter, step in steps.items():
        if letter in arguments.only:
            raw[letter], more = step()
            targets += more
    print(f"load after {os.getloadavg()[0]:.1f}, {perf_counter() - began:.0f} s in all\n")
    note("done\n")
    conclude(raw, targets, arguments.json)
    return 0


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
