"""Lazy greedy best-first search with the FF heuristic: any plan, fast.

A state is evaluated only when it is taken from an open list; until then it is ordered by the
h-value of its parent (deferred evaluation). There are two open lists: one of all states, and one of
those reached by preferred operators, which gets far more turns while it makes progress (Richter and
Helmert, "Preferred operators and deferred evaluation in satisficing planning", 2009; as in the
first iteration of LAMA). Ties are broken first-in first-out: last-in first-out is quicker on
Blocksworld, but doubles the length of kitchen plans.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

from galley.domain.failure import Failure
from galley.planning.explain.conflicts import explain_exhausted
from galley.planning.limits import SearchBudget, SearchLimits
from galley.planning.operators import Operator, Plan
from galley.planning.searches.breadth_first import breadth_first
from galley.planning.searches.relaxed import FFHeuristic, RelaxedTask
from galley.planning.successors import state_space
from galley.planning.task import Task

_BOOST = 1000  # extra turns of the preferred open list for each progress
_MAX_ELIMINATION = 1000  # actions of a plan, for which elimination takes well under a second

_Entry = tuple[int, int, int, int | None]  # h-value, serial number, state, parent


def greedy(task: Task, limits: SearchLimits | None = None) -> Plan | Failure:
    """Any plan, found quickly.

    Deterministic. For the other results see ``methods.search``.

    Args:
        task: the ground task.
        limits: when to give up.
    """
    budget = SearchBudget(limits or SearchLimits())
    space = state_space(task)
    # The heuristic counts actions. With costs, or costs plus one, kitchen plans become longer and
    # more expensive, and take several times as long to find.
    heuristic = FFHeuristic(RelaxedTask(space))
    open_list: list[_Entry] = [(0, 0, space.init, None)]
    preferred_list: list[_Entry] = []
    lead = 0  # turns that the preferred list has in advance of the other
    parents: dict[int, int | None] = {}  # of closed states
    expanded = number = 0
    dead_ends = False
    best = None
    while open_list or preferred_list:
        # The heuristic dominates the time, so clock and memory are checked at every expansion.
        over = budget.exceeded(expanded, check_every=1)
        if over is not None:
            return budget.failure(over, expanded=expanded, generated=number + 1)
        # The lists take turns, except that the preferred one goes first while it has a lead.
        if preferred_list and (lead > 0 or not open_list):
            lead -= 1
            entry = heappop(preferred_list)
        else:
            lead += 1
            entry = heappop(open_list)
        _, _, state, parent = entry
        # Closed already: the state was in both lists, or reached from several parents.
        if state in parents:
            continue
        parents[state] = parent
        if task.is_goal(state):
            plan = eliminate_actions(task, space.path(state, parents))
            return budget.plan(plan, expanded=expanded, generated=number + 1)
        relaxed_plan = heuristic.plan(state)
        # Unreachable in the relaxation means unreachable: no plan goes through this state.
        if relaxed_plan is None:
            dead_ends = True
            continue
        expanded += 1
        actions, preferred = relaxed_plan
        h = len(actions)
        # Progress: the preferred operators led to it, so their list gets more turns.
        if best is None or h < best:
            best = h
            lead += _BOOST
        for index, after in space.successors(state):
            if after not in parents:
                number += 1
                # The parent's h-value stands in for the state's own, which is not computed yet.
                entry = (h, number, after, state)
                heappush(open_list, entry)
                if index in preferred:
                    heappush(preferred_list, entry)
    # No plan exists. The explanation needs all reachable states, those behind dead ends too.
    if dead_ends:
        return breadth_first(task, limits)
    return explain_exhausted(task, parents, space.facts)


def eliminate_actions(task: Task, plan: Sequence[Operator]) -> list[Operator]:
    """Removes redundant actions from a plan, unless it is very long.

    Action elimination: tries to remove each action, with all later ones that become inapplicable,
    and keeps them removed if the goal still holds (Nakhost and Müller, "Action elimination and plan
    neighborhood graph search", 2010). Quadratic in the plan's length; never increases its cost.
    """
    shorter = list(plan)
    if len(shorter) > _MAX_ELIMINATION:
        return shorter
    state = task.init
    index = 0
    while index < len(shorter):
        rest = _executable(task, state, shorter[index + 1 :])
        # The goal holds without this action: the next one moves to this index.
        if rest is not None:
            shorter[index:] = rest
        else:
            state = shorter[index].apply(state)
            index += 1
    return shorter


def _executable(task: Task, state: int, plan: list[Operator]) -> list[Operator] | None:
    """The actions of ``plan`` that remain applicable in turn; None if they miss the goal."""
    executed = []
    for operator in plan:
        if operator.applicable(state):
            state = operator.apply(state)
            executed.append(operator)
    return executed if task.is_goal(state) else None
