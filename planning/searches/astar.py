"""A* search for least cost, without a heuristic: uniform-cost search.

Hart, Nilsson and Raphael, "A formal basis for the heuristic determination of minimum cost paths"
(1968).
"""

from __future__ import annotations

from heapq import heappop, heappush

from galley.domain.failure import Failure
from galley.planning.explain.conflicts import explain_exhausted
from galley.planning.limits import SearchBudget, SearchLimits
from galley.planning.operators import Plan, integer_costs
from galley.planning.successors import state_space
from galley.planning.task import Task


def astar(task: Task, limits: SearchLimits | None = None) -> Plan | Failure:
    """A plan of least cost.

    Deterministic. For the other results see ``methods.search``.

    Args:
        task: the ground task.
        limits: when to give up.
    """
    budget = SearchBudget(limits or SearchLimits())
    space = state_space(task)
    costs = integer_costs(each.cost for each in space.operators)
    least = {space.init: 0}
    parents: dict[int, int | None] = {space.init: None}
    queue = [(0, 0, space.init)]  # cost, serial number, state
    pushed = expanded = 0
    while queue:
        cost, _, state = heappop(queue)
        if cost > least[state]:
            continue  # outdated: reached more cheaply since
        if task.is_goal(state):
            return budget.plan(space.path(state, parents), expanded=expanded, generated=len(least))
        over = budget.exceeded(expanded)
        if over is not None:
            return budget.failure(over, expanded=expanded, generated=len(least))
        expanded += 1
        for index, after in space.successors(state):
            reached = cost + costs[index]
            if after not in least or reached < least[after]:
                least[after], parents[after] = reached, state
                pushed += 1
                heappush(queue, (reached, pushed, after))
    return explain_exhausted(task, least, space.facts)
