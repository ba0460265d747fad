"""A* search with the heuristic 0 (uniform-cost search): a plan of least cost.

Hart, Nilsson and Raphael, "A formal basis for the heuristic determination of minimum cost paths"
(1968). States are expanded in order of the cost to reach them.
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
    # Integers, so that sums are exact and equal costs compare as equal.
    costs = integer_costs(operator.cost for operator in space.operators)
    least = {space.init: 0}
    parents: dict[int, int | None] = {space.init: None}
    # Cost, serial number, state: among equal costs the state that was pushed first.
    queue = [(0, 0, space.init)]
    pushed = expanded = 0
    while queue:
        cost, _, state = heappop(queue)
        # The heap can't change an entry, so a state reached more cheaply is pushed again and its
        # older entries are skipped here.
        if cost > least[state]:
            continue
        # Tested when expanded, not when generated: only now is the cost to reach it the least.
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
    # Every reachable state was expanded and none is a goal state, so no plan exists.
    return explain_exhausted(task, least, space.facts)
