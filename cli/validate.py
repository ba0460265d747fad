"""``galley validate``: checks a plan against its domain and problem."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from galley.cli.common.arguments import plural

EPILOG = """examples:
  galley plan domain.pddl problem.pddl > task.plan
  galley validate domain.pddl problem.pddl task.plan

The checker shares no code with the search."""


def add_arguments(p: argparse.ArgumentParser) -> None:
    """Add the options of ``galley validate``."""
    p.add_argument("domain", type=Path, help="PDDL domain")
    p.add_argument("problem", type=Path, help="PDDL problem")
    p.add_argument(
        "plan",
        type=Path,
        help="plan file: one action per line, numbered, timed or plain; ; for comments",
    )
    p.add_argument("--pddlgym", action="store_true", help="also replay the plan in PDDLGym")


def command(arguments: argparse.Namespace) -> int:
    """Print whether the plan is valid; if not, the first action that fails and the reason."""
    from galley.domain.pddl.reader import read_task
    from galley.planning import read_plan, replay, validate_actions
    from galley.planning.operators import cost_text

    domain, problem = read_task(arguments.domain, arguments.problem)
    actions = read_plan(arguments.plan)
    verdict = validate_actions(domain, problem, actions)
    if verdict.valid:
        cost = f", cost {cost_text(verdict.cost)}" if problem.metric else ""
        print(f"valid: {plural(len(actions), 'action')}{cost}")
    else:
        print(f"invalid: {verdict.message}", file=sys.stderr)
    agrees = True
    if arguments.pddlgym:
        second = replay(domain, problem, actions)
        print(f"PDDLGym {second.status}: {second.message}")
        agrees = second.status != "disagrees"
    return 0 if verdict.valid and agrees else 1
