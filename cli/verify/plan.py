"""``galley verify plan``: checks a symbolic plan against its domain and problem."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from galley.cli.common.arguments import plural
from galley.cli.common.shared import SymbolicTask
from galley.domain.options import argument, group, option

EPILOG = """examples:
  galley plan --problem sugar_only.pddl > task.plan
  galley verify plan task.plan --problem sugar_only.pddl

The verifier shares no code with the search."""


@dataclass(frozen=True, kw_only=True)
class VerifyPlanOptions:
    """Options of ``galley verify plan``."""

    plan: Path = argument("Plan file, one action per line.", "PLAN")
    task: SymbolicTask = group(SymbolicTask())
    pddlgym: bool = option(False, "Also execute the plan in PDDLGym.")


def command(options: VerifyPlanOptions) -> int:
    """Print whether the plan is valid; if not, the first action that fails and the reason."""
    from galley.planning import read_plan, replay, validate_actions
    from galley.planning.operators import cost_text

    domain, problem = options.task.read()
    actions = read_plan(options.plan)
    verdict = validate_actions(domain, problem, actions)
    if verdict.valid:
        cost = f", cost {cost_text(verdict.cost)}" if problem.metric else ""
        print(f"valid: {plural(len(actions), 'action')}{cost}")
    else:
        print(f"invalid: {verdict.message}", file=sys.stderr)
    agrees = True
    if options.pddlgym:
        second = replay(domain, problem, actions)
        print(f"PDDLGym {second.status}: {second.message}")
        agrees = second.status != "disagrees"
    return 0 if verdict.valid and agrees else 1
