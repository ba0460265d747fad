"""The options of ``galley scenarios``. Nothing heavy is imported before the command runs."""

from __future__ import annotations

import argparse
from pathlib import Path

from galley.commands.arguments import AddParser, count, seed

EPILOG = """what is run:
  Without PATH the suite that comes with Galley. A PATH is a scenario file, or a folder with some.
  A scenario is a YAML file that names a scene, a domain, a problem, and what outcome is right:

    galley_scenario: 1
    name: crate_in_the_way
    says: The drawer can't be opened, for a crate stands in front of it.
    scene: blocked.yaml          # beside this file, or one of the kitchen's
    domain: drawers.pddl
    problem: blocked.pddl
    expect: {status: refused, kind: blocked, names: [crate]}

  docs/scenarios.md has all keys and the suite as a table.

examples:
  galley scenarios --list                        what there is, and what is expected
  galley scenarios --only swap --seeds 10        one scenario, seeds 0 to 9
  galley scenarios my_folder --out results       your own; keep every run's folder
  galley scenarios --pictures                    with a picture of each final state
  galley scenarios --seeds 10 --jobs 8           eight runs at a time
  galley scenarios --seeds 10 --engine ray       on Ray (pip install 'galley-tamp[ray]')

results, in --out:
  scenarios.json        all outcomes; rewritten after every run, so none is lost
  NAME-SEED/            each run's folder (docs/report.md)
  NAME-SEED.png         its final state, with --pictures

Outcomes do not depend on --jobs or --engine; seconds do."""


def scenarios_parser(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], add: AddParser
) -> None:
    """Register ``galley scenarios``; ``add`` makes the parser (``cli._add``)."""
    p = add(
        commands,
        "scenarios",
        "run the scenario suite or your own scenarios, and print what was expected and what came",
        scenarios,
        EPILOG,
    )
    p.add_argument("path", type=Path, nargs="*", metavar="PATH", help="scenario file or folder")
    p.add_argument(
        "--only",
        nargs="+",
        action="extend",
        metavar="NAME",
        help="only the scenarios of these names",
    )
    p.add_argument("--list", action="store_true", help="say what there is, and run nothing")
    p.add_argument(
        "--seeds", type=count, default=1, metavar="N", help="runs of each, one a seed (default 1)"
    )
    p.add_argument(
        "--seed", type=seed, default=0, metavar="FIRST", help="the first seed (default 0)"
    )
    p.add_argument("--jobs", type=count, metavar="N", help="runs at a time (default: one a core)")
    p.add_argument(
        "--engine",
        choices=("process", "ray"),
        default="process",
        help="what runs them: processes of this machine, or Ray (default process)",
    )
    p.add_argument(
        "--optimize",
        choices=("smooth", "time-optimal", "shortest", "none"),
        default="smooth",
        help="trajectories of free motions, as for galley run (default smooth)",
    )
    p.add_argument(
        "--execute",
        choices=("kinematic", "physics"),
        default="kinematic",
        help="set joint states over time, which is quick, or run under physics, as galley run does "
        "(default kinematic)",
    )
    p.add_argument(
        "--out", type=Path, metavar="FOLDER", help="keep the runs' folders, and scenarios.json"
    )
    p.add_argument(
        "--pictures",
        action="store_true",
        help="draw each final state (a refusal: the start), into --out or a new folder in runs/",
    )
    p.add_argument("--json", type=Path, metavar="FILE", help="also write all outcomes here")


def scenarios(options: argparse.Namespace) -> int:
    """``galley scenarios``."""
    from galley.commands.scenarios import scenarios_command

    return scenarios_command(options)
