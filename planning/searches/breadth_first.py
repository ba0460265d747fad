"""Breadth-first search: fewest actions."""

from __future__ import annotations

from collections import deque

from galley.domain.failure import Failure
from galley.planning.explain.conflicts import explain_exhausted
from galley.planning.limits import SearchBudget, SearchLimits
from galley.planning.operators import Plan
from galley.planning.successors import state_space
from galley.planning.task import Task


def breadth_first(task: Task, limits: SearchLimits | None = None) -> Plan | Failure:
    """The plan of fewest actions that comes first in the order of ``task.operators``.

    For the other results see ``methods.search``.

    Args:
        task: the ground task; its goal is relaxed-reachable and does not hold initially.
        limits: when to give up.
    """
    budget = SearchBudget(limits or SearchLimits())
    space = state_space(task)
    # Parents alone, without operators: they take the least memory.
    parents: dict[int, int | None] = {space.init: None}
    queue = deque(parents)
    expanded = 0
    while queue:
        over = budget.exceeded(expanded)
        if over is not None:
            return budget.failure(over, expanded=expanded, generated=len(parents))
        state = queue.popleft()
        expanded += 1
        for _, after in space.successors(state):
            if after in parents:
                continue
            parents[after] = state
            if task.is_goal(after):
                return budget.plan(
                    space.path(after, parents), expanded=expanded, generated=len(parents)
                )
            queue.append(after)
    return explain_exhausted(task, parents, space.facts)
