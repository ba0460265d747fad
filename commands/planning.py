"""``galley plan`` and ``galley validate``: symbols only, no geometry, quick to start."""

from __future__ import annotations

import argparse
import json
import sys

from galley.domain.failure import Failure, FailureKind
from galley.domain.pddl_reader import read_domain, read_problem
from galley.planning import breadth_first, ground, read_plan, replay, validate


def plan_command(arguments: argparse.Namespace) -> int:
    """Print a shortest plan, an action a line, then its figures."""
    domain = read_domain(arguments.domain)
    problem = read_problem(arguments.problem, domain)
    found = breadth_first(ground(domain, problem), node_limit=arguments.node_limit)
    if isinstance(found, Failure):
        status = "limit" if found.kind is FailureKind.BUDGET else "unsolvable"
        if arguments.json:
            print(
                json.dumps({"status": status, "plan": None, "failure": found.as_json()}, indent=1)
            )
        print(f"{status}: {found}", file=sys.stderr)
        return 1
    if arguments.json:
        data = {
            "status": "solved",
            "plan": [str(action) for action in found.actions],
            "cost": found.cost,
            "expanded": found.expanded,
            "generated": found.generated,
            "search_s": found.seconds,
        }
        print(json.dumps(data, indent=1))
        return 0
    for action in found.actions:
        print(action)
    print(
        f"; cost {found.cost:g}, {found.expanded} states expanded, {found.generated} generated, "
        f"{1e3 * found.seconds:.1f} ms"
    )
    return 0


def validate_command(arguments: argparse.Namespace) -> int:
    """Say whether a plan holds; if not, which action fails first and why."""
    domain = read_domain(arguments.domain)
    problem = read_problem(arguments.problem, domain)
    actions = read_plan(arguments.plan)
    verdict = validate(domain, problem, actions)
    if not verdict.valid:
        print(f"invalid: {verdict.message}", file=sys.stderr)
        return 1
    print(f"valid: {len(actions)} actions")
    if arguments.pddlgym:
        outside = replay(domain, problem, actions)
        print(f"PDDLGym {outside.status}: {outside.message}")
        if outside.status == "disagrees":
            return 1
    return 0
