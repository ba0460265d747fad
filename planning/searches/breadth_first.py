"""Breadth-first search: a plan with the fewest actions.

States are expanded in the order in which they were generated, so every state of depth d is expanded
before any of depth d + 1. The first goal state that is generated therefore has the least depth.
"""

from __future__ import annotations

from collections import deque

from galley.domain.failure import Failure
from galley.planning.explain.conflicts import explain_exhausted
from galley.planning.limits import SearchBudget, SearchLimits
from galley.planning.operators import Plan
from galley.planning.successors import state_space
from galley.planning.task import Task


def breadth_first(task: Task, limits: SearchLimits | None = None) -> Plan | Failure:
    """A plan with the fewest actions; of several, the first in the order of ``task.operators``.

    Where several actions lead from one state to the next, the cheapest is taken. For the
    other results see ``methods.search``.

    Args:
        task: the ground task; its goal is relaxed-reachable and does not hold initially.
        limits: when to give up.
    """
    budget = SearchBudget(limits or SearchLimits())
    space = state_space(task)
    # The generated states, each with the state that it was reached from. The operators on the path
    # are found again at the end (``space.path``): storing them would take more memory.
    parents: dict[int, int | None] = {space.init: None}
    # First in, first out: that makes the search breadth-first.
    queue = deque(parents)
    expanded = 0
    while queue:
        over = budget.exceeded(expanded)
        if over is not None:
            return budget.failure(over, expanded=expanded, generated=len(parents))
        state = queue.popleft()
        expanded += 1
        for _, after in space.successors(state):
            # Seen before, so reached by a path that is no longer than this one.
            if after in parents:
                continue
            parents[after] = state
            # Tested when generated, not when expanded: all actions count the same, so no shorter
            # path can come later, and the rest of this depth need not be expanded.
            if task.is_goal(after):
                return budget.plan(
                    space.path(after, parents), expanded=expanded, generated=len(parents)
                )
            queue.append(after)
    # Every reachable state was expanded and none is a goal state, so no plan exists.
    return explain_exhausted(task, parents, space.facts)
