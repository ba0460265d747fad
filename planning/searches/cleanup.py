"""Leaves out actions that a plan doesn't need.

Action elimination: an action is left out on trial, and with it all later ones that thereby become
inapplicable; if the goal still holds at the end, they stay out (Nakhost and Müller, "Action
elimination and plan neighborhood graph search", 2010). It takes time quadratic in the plan's
length and never makes a plan dearer.
"""

from __future__ import annotations

from collections.abc import Sequence

from galley.planning.operators import Operator
from galley.planning.task import Task

_LONGEST = 1000  # actions of a plan for which this takes well under a second


def without_needless(task: Task, plan: Sequence[Operator]) -> list[Operator]:
    """``plan`` without actions that it doesn't need; as it is where it is very long."""
    kept = list(plan)
    if len(kept) > _LONGEST:
        return kept
    state = task.init
    place = 0
    while place < len(kept):
        rest = _executable(task, state, kept[place + 1 :])
        if rest is not None:
            kept[place:] = rest
        else:
            state = kept[place].apply(state)
            place += 1
    return kept


def _executable(task: Task, state: int, plan: list[Operator]) -> list[Operator] | None:
    """Those of ``plan`` that can be executed in turn, where they reach the goal."""
    executed = []
    for operator in plan:
        if operator.applicable(state):
            state = operator.apply(state)
            executed.append(operator)
    return executed if task.is_goal(state) else None
