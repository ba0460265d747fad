"""The options of ``galley check``. Nothing heavy is imported before the command runs."""

from __future__ import annotations

import argparse
from pathlib import Path

from galley.commands.arguments import AddParser

EPILOG = """what is checked:
  Every executed state is put into PyBullet again and judged from states.npz and the scene alone:
  penetrations and forces outside declared contacts, limits of position, velocity, acceleration and
  torque, tracking, items that slip or jump, everything at rest at the end, and the goal in the
  final geometry. docs/validation.md says how, and how much is tolerated.

examples:
  galley check runs/task-20260101-120000
  galley check runs/mine --problem other.pddl           the same run against another goal
  galley check states.npz --scene my_kitchen.yaml       a log alone: no goal is judged

Exit status 1 also where the run passes and its goal is not reached."""


def check_parser(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], add: AddParser
) -> None:
    """Register ``galley check``; ``add`` makes the parser (``cli._add``)."""
    p = add(
        commands,
        "check",
        "judge a stored run again, from its executed states and the scene alone",
        check,
        EPILOG,
    )
    p.add_argument("run", type=Path, metavar="RUN", help="folder of a run, or a states.npz")
    p.add_argument("--scene", type=Path, help="scene file (default: the run's own)")
    p.add_argument("--domain", type=Path, help="PDDL domain (default: the run's own)")
    p.add_argument("--problem", type=Path, help="PDDL problem (default: the run's own)")
    p.add_argument("--json", action="store_true", help="print everything as JSON")


def check(options: argparse.Namespace) -> int:
    """``galley check``."""
    from galley.commands.check import check_command

    return check_command(options)
