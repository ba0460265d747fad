"""``galley validate``: whether a plan holds."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from galley.cli.arguments import plural

EPILOG = ""


def add_arguments(p: argparse.ArgumentParser) -> None:
    """The options of ``galley validate``."""
    p.add_argument("domain", type=Path, help="PDDL domain")
    p.add_argument("problem", type=Path, help="PDDL problem")
    p.add_argument("plan", type=Path, help="plan file, one action a line, ; for comments")
    p.add_argument("--pddlgym", action="store_true", help="also replay it in PDDLGym, step by step")


def command(arguments: argparse.Namespace) -> int:
    """Say whether a plan holds; if not, which action fails first and why."""
    from galley.domain.pddl.reader import read_task
    from galley.planning import read_plan, replay, validate_actions

    domain, problem = read_task(arguments.domain, arguments.problem)
    actions = read_plan(arguments.plan)
    verdict = validate_actions(domain, problem, actions)
    if not verdict.valid:
        print(f"invalid: {verdict.message}", file=sys.stderr)
        return 1
    cost = f", cost {verdict.cost:g}" if problem.metric else ""
    print(f"valid: {plural(len(actions), 'action')}{cost}")
    if arguments.pddlgym:
        outside = replay(domain, problem, actions)
        print(f"PDDLGym {outside.status}: {outside.message}")
        if outside.status == "disagrees":
            return 1
    return 0
