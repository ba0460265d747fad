"""Greedy best-first search: fast, and any plan will do.

States wait in order of the estimate of the state before them (lazy search), in two queues: one
for all, one for those reached by an action that the heuristic prefers. The latter's turn comes far
more often while it makes progress (Richter and Helmert, "Preferred operators and deferred
evaluation in satisficing planning", 2009; as in the first iteration of LAMA). Of equal estimates
the one that has waited longest comes first: the newest first is quicker on towers of blocks, but
makes plans of kitchens twice as long.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

from galley.domain.failure import Failure
from galley.planning.explain.conflicts import explain_exhausted
from galley.planning.limits import Meter, SearchLimits
from galley.planning.operators import Operator, Plan, plan_of, steps_to
from galley.planning.searches.breadth_first import breadth_first
from galley.planning.searches.relaxed import RelaxedPlans, RelaxedTask
from galley.planning.states.space import state_space
from galley.planning.task import Task

_BOOST = 1000  # turns that preferred states get ahead for each progress
_LOOK_EVERY = 16  # expansions between two looks at the clock; one takes a heuristic evaluation

_Entry = tuple[int, int, int, int, int]  # estimate, number, state, state before, operator
_LONGEST = 1000  # actions of a plan for which this takes well under a second


def greedy(task: Task, limits: SearchLimits | None = None) -> Plan | Failure:
    """A plan, found with as little search as possible.

    The same task always gives the same plan; for what else may come back see ``methods.search``.

    Args:
        task: the ground task.
        limits: when to give up.
    """
    meter = Meter(limits or SearchLimits())
    space = state_space(task)
    # Actions are counted, not their costs: measured on kitchens with distances, plans found by
    # cost, or by cost plus one, are longer and dearer, and take several times longer to find.
    heuristic = RelaxedPlans(RelaxedTask(space))
    start: _Entry = (0, 0, space.init, space.init, -1)
    every: list[_Entry] = [start]
    preferred_only: list[_Entry] = []
    lead = 0  # turns that the preferred ones are ahead
    reached: dict[int, tuple[int, int]] = {}  # how expanded states were reached
    expanded = number = 0
    dead_ends = False
    best = None
    while every or preferred_only:
        over = meter.exceeded(expanded, _LOOK_EVERY)
        if over is not None:
            return meter.failure(over, expanded=expanded, generated=number + 1)
        if preferred_only and (lead > 0 or not every):
            lead -= 1
            entry = heappop(preferred_only)
        else:
            lead += 1
            entry = heappop(every)
        _, _, state, before, index = entry
        if state in reached:
            continue
        reached[state] = before, index
        if space.is_goal(state):
            steps = [space.operators[step] for step in steps_to(state, reached)]
            plan = without_needless(task, steps)
            return plan_of(plan, expanded=expanded, generated=number + 1, seconds=meter.seconds)
        found = heuristic.plan(state)
        if found is None:
            dead_ends = True
            continue
        expanded += 1
        actions, preferred = found
        estimate = len(actions)
        if best is None or estimate < best:
            best = estimate
            lead += _BOOST
        for index, after in space.successors(state):
            if after not in reached:
                number += 1
                entry = (estimate, number, after, state, index)
                heappush(every, entry)
                if index in preferred:
                    heappush(preferred_only, entry)
    if dead_ends:  # the states behind them were not seen, and an explanation needs them all
        return breadth_first(task, limits)
    return explain_exhausted(task, map(space.packing.decode, reached))


def without_needless(task: Task, plan: Sequence[Operator]) -> list[Operator]:
    """``plan`` without actions that it doesn't need; as it is where it is very long.

    Action elimination: an action is left out on trial, and with it all later ones that thereby
    become inapplicable; if the goal still holds at the end, they stay out (Nakhost and Müller,
    "Action elimination and plan neighborhood graph search", 2010). It takes time quadratic in the
    plan's length and never makes a plan dearer.
    """
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
