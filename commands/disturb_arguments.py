"""The options of ``galley disturb``. Nothing heavy is imported before the command runs."""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from galley.commands.arguments import AddParser, count, seed

EPILOG = """what is run:
  The task under physics, again and again. For each kind of noise alone, and for all together, with
  each amount, which is a multiple of what --noise moderate means (docs/disturbances.md), and with
  --faults for each fault without noise: a run for every seed. Amount 0 is run once for all kinds.

examples:
  galley disturb --seeds 10 --jobs 4             all kinds, amounts 0, 0.5, 1 and 2
  galley disturb --kinds friction --amounts 1 3  one kind, up to three times as much
  galley disturb --faults --amounts 0            the faults alone
  galley disturb --faults topple:spam stuck@2    faults of your choice (galley run --help)

results, in --out:
  disturb.json    all figures
  disturb.jsonl   a line a run, as they end: what a sweep that was killed leaves behind
  disturb.png     share of successful runs against the amount, with counts

Exit status 0 says that all runs were carried out, however they ended."""


def amount(text: str) -> float:
    """A multiple, from 0."""
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number") from None
    if not math.isfinite(value) or value < 0.0:
        raise argparse.ArgumentTypeError("an amount is a number from 0")
    return value


def disturb_parser(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], add: AddParser
) -> None:
    """Register ``galley disturb``; ``add`` makes the parser (``cli._add``)."""
    p = add(
        commands,
        "disturb",
        "how often the task succeeds under physics when friction, masses, poses or eyes are off",
        disturb,
        EPILOG,
    )
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
        type=amount,
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
    p.add_argument(
        "--seeds", type=count, default=5, metavar="N", help="runs of each, one a seed (default 5)"
    )
    p.add_argument(
        "--seed", type=seed, default=0, metavar="FIRST", help="the first seed (default 0)"
    )
    p.add_argument("--jobs", type=count, metavar="N", help="runs at a time (default: one a core)")
    p.add_argument(
        "--optimize",
        choices=("smooth", "time-optimal", "shortest", "none"),
        default="smooth",
        help="trajectories of free motions, as for galley run (default smooth)",
    )
    p.add_argument("--out", type=Path, help="folder for the results (default: a new one in runs/)")


def disturb(options: argparse.Namespace) -> int:
    """``galley disturb``."""
    from galley.commands.disturb import disturb_command

    return disturb_command(options)
