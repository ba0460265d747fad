"""``galley disturb``: the task under physics with noise and faults; how often it succeeds."""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from galley.cli.arguments import sweep_options

EPILOG = """what is run:
  The task under physics, again and again. For each kind of noise alone, and for all together, with
  each amount, which is a multiple of what --noise moderate means (docs/disturbances.md), and with
  --faults for each fault without noise: a run for every seed. Amount 0 is run once for all kinds.

examples:
  galley disturb --seeds 10 --jobs 4             all kinds, amounts 0, 0.5, 1 and 2
  galley disturb --kinds friction --amounts 1 3  one kind, up to three times as much
  galley disturb --faults --amounts 0            the faults alone
  galley disturb --faults topple:spam stuck@2    faults of your choice (galley run --help)
  galley disturb --seeds 10 --out sweep          goes on where it was stopped, if called again

results, in --out:
  disturb.json    all figures
  disturb.jsonl   a line a run, as they end: what a sweep that was killed goes on from
  disturb.png     share of successful runs against the amount, with counts

Exit status 0 says that all runs were carried out, however they ended."""


def add_arguments(p: argparse.ArgumentParser) -> None:
    """The options of ``galley disturb``."""
    p.add_argument("--scene", type=Path, help="scene file, YAML (default: Galley's kitchen)")
    p.add_argument("--domain", type=Path, help="PDDL domain (default: the kitchen's)")
    p.add_argument("--problem", type=Path, help="PDDL problem (default: sugar and spam)")
    p.add_argument(
        "--kinds",
        nargs="+",
        choices=("friction", "mass", "position", "observation", "all"),
        default=["friction", "mass", "position", "observation", "all"],
        metavar="KIND",
        help="of noise: friction, mass, position, observation, all (default: every one)",
    )
    p.add_argument(
        "--amounts",
        nargs="+",
        type=_amount,
        default=[0.0, 0.5, 1.0, 2.0],
        metavar="X",
        help="multiples of the moderate noise (default 0 0.5 1 2)",
    )
    p.add_argument(
        "--faults",
        nargs="*",
        metavar="FAULT",
        help="also inject faults, one a run: these, or without any one of each kind",
    )
    sweep_options(p, seeds=5)
    p.add_argument("--out", type=Path, help="folder for the results (default: a new one in runs/)")


def _amount(text: str) -> float:
    """A multiple, from 0."""
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number") from None
    if not math.isfinite(value) or value < 0.0:
        raise argparse.ArgumentTypeError("an amount is a number from 0")
    return value


def command(arguments: argparse.Namespace) -> int:
    """Run the sweep; exit status 0 if all runs were carried out, however they ended."""
    from galley.cli.disturb_study import (
        FAULTS,
        FIGURE,
        SUMMARY,
        Result,
        Study,
        carry_out,
        trials,
    )
    from galley.cli.progress import Printer
    from galley.cli.study import results_folder
    from galley.domain.pddl.reader import read_domain, read_problem
    from galley.domain.scene.reader import load_scene
    from galley.domain.shipped import kitchen_file
    from galley.engine import Options
    from galley.execution.disturbance.faults import parse_fault
    from galley.results.run_folder import new_name
    from galley.sweeps import digest
    from galley.tamp.binding import bind

    options = Options(
        scene=kitchen_file(arguments.scene, "kitchen.yaml"),
        domain=kitchen_file(arguments.domain, "kitchen.pddl"),
        problem=kitchen_file(arguments.problem, "task.pddl"),
        optimize=arguments.optimize,
        execute="physics",
        video=False,
    )
    faults = list(FAULTS) if arguments.faults == [] else list(arguments.faults or ())
    # What every run would refuse is refused now.
    scene = load_scene(options.scene)
    domain = read_domain(options.domain)
    bind(scene, domain, read_problem(options.problem, domain))
    for fault in faults:
        parse_fault(fault, scene, 0)
    seeds = range(arguments.seed, arguments.seed + arguments.seeds)
    todo = trials(options, arguments.kinds, arguments.amounts, faults, seeds)
    read = {scene.source, *(file for file, _ in scene.places.values())}
    settings = digest({*read, options.domain, options.problem}, options.optimize)
    folder = results_folder(arguments.out or new_name("disturb"), SUMMARY)
    (folder / FIGURE).unlink(missing_ok=True)
    return Study(
        command="disturb",
        printer=Printer(),
        function=carry_out,
        outcome=Result,
        jobs=todo,
        names=[f"{t.series} {t.amount}, seed {t.seed}" for t in todo],
        settings=[settings] * len(todo),
        folder=folder,
        summaries=[folder / SUMMARY],
        jobs_at_a_time=arguments.jobs,
        engine=arguments.engine,
        kinds=tuple(dict.fromkeys(arguments.kinds)),
        amounts=tuple(sorted(set(arguments.amounts))),
        faults=faults,
    ).run()
