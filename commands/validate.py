"""``galley validate``: whether a plan holds."""

from __future__ import annotations

import argparse
import sys

from galley.commands.planning import count
from galley.domain.pddl_reader import read_task
from galley.planning import read_plan, replay, validate_actions


def validate_command(arguments: argparse.Namespace) -> int:
    """Say whether a plan holds; if not, which action fails first and why."""
    domain, problem = read_task(arguments.domain, arguments.problem)
    actions = read_plan(arguments.plan)
    verdict = validate_actions(domain, problem, actions)
    if not verdict.valid:
        print(f"invalid: {verdict.message}", file=sys.stderr)
        return 1
    cost = f", cost {verdict.cost:g}" if problem.metric else ""
    print(f"valid: {count(len(actions), 'action')}{cost}")
    if arguments.pddlgym:
        outside = replay(domain, problem, actions)
        print(f"PDDLGym {outside.status}: {outside.message}")
        if outside.status == "disagrees":
            return 1
    return 0
