"""A* search: least cost, with the landmark-cut heuristic.

Hart, Nilsson and Raphael, "A formal basis for the heuristic determination of minimum cost paths"
(1968). Blind search takes microseconds a state, landmark cuts take milliseconds but need far fewer
states of a large task. So the search starts blind, and starts again where that is not enough.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from heapq import heappop, heappush

from galley.domain.failure import Failure
from galley.planning.explain.conflicts import explain_exhausted
from galley.planning.limits import SearchBudget, SearchLimits
from galley.planning.operators import Plan, integer_costs, make_plan
from galley.planning.searches.breadth_first import breadth_first
from galley.planning.searches.landmark_cut import LandmarkCut
from galley.planning.searches.relaxed import RelaxedTask
from galley.planning.successors import StateSpace, state_space
from galley.planning.task import Task

_log = logging.getLogger(__name__)

Estimate = Callable[[int], int | None]  # a lower bound of the cost to go; None for a dead end

_BLIND_STATES = 200_000  # expanded before landmark cuts are tried


def astar(task: Task, limits: SearchLimits | None = None) -> Plan | Failure:
    """A plan of least cost.

    Deterministic. For the other results see ``methods.search``.

    Args:
        task: the ground task.
        limits: when to give up.
    """
    limits = limits or SearchLimits()
    budget = SearchBudget(limits)
    space = state_space(task)
    costs = integer_costs(each.cost for each in space.operators)
    found = _search(space, costs, lambda state: 0, budget, most=_BLIND_STATES)
    if found is not None:
        return found
    _log.info("%d states expanded; starting again with landmark cuts", _BLIND_STATES)
    landmarks = LandmarkCut(RelaxedTask(space), costs)
    found = _search(space, costs, landmarks.estimate, budget, _BLIND_STATES, check_every=1)
    # The explanation also needs the states behind dead ends.
    return breadth_first(task, limits) if found is None else found


def _search(
    space: StateSpace,
    costs: list[int],
    estimate: Estimate,
    budget: SearchBudget,
    before: int = 0,
    most: int | None = None,
    check_every: int = 256,
) -> Plan | Failure | None:
    """A* with a heuristic that need not be consistent: states are reopened.

    Args:
        space: the states.
        costs: integers, one for each operator of the space.
        estimate: the heuristic.
        budget: checks the limits.
        before: states that were expanded on the same budget.
        most: states to expand at most.
        check_every: states between two checks of clock and memory.

    Returns:
        A plan; why there is none; or None where ``most`` states were expanded, or where the search
        ended at dead ends.
    """
    g = {space.init: 0}
    h: dict[int, int | None] = {space.init: estimate(space.init)}
    parents: dict[int, int | None] = {space.init: None}
    pushed = expanded = 0
    queue: list[tuple[int, int, int, int]] = []  # f, h, serial number, state
    if (least := h[space.init]) is not None:
        queue.append((least, least, 0, space.init))
    while queue:
        f, to_go, _, state = queue[0]
        if f > g[state] + to_go:
            heappop(queue)  # outdated: reached more cheaply since
            continue
        if space.task.is_goal(state):
            return make_plan(
                space.path(state, parents),
                expanded=before + expanded,
                generated=len(g),
                seconds=budget.seconds,
            )
        over = budget.exceeded(before + expanded, check_every)
        if over is not None:
            return budget.failure(over, expanded=before + expanded, generated=len(g))
        if expanded == most:
            return None
        heappop(queue)
        expanded += 1
        for index, after in space.successors(state):
            cost = g[state] + costs[index]
            if after in g and g[after] <= cost:
                continue
            g[after] = cost
            parents[after] = state
            if after not in h:
                h[after] = estimate(after)
            least = h[after]
            if least is not None:
                pushed += 1
                heappush(queue, (cost + least, least, pushed, after))
    if None in h.values():
        return None
    return explain_exhausted(space.task, g, space.facts)
