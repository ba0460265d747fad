"""Breadth-first search: fewest actions.

It begins without any preparation. Packing states and compiling their successors takes milliseconds,
which pay only where there are many (see ``uniform_cost``). A task that is done with before that is
searched on the bits of the task as they are: each operator waits under one fact that it needs, and
is tried where that fact holds.
"""

from __future__ import annotations

import sys
from collections import deque

from galley.domain.failure import Failure
from galley.planning.explain.conflicts import explain_exhausted
from galley.planning.limits import Meter, SearchLimits
from galley.planning.operators import Operator, Plan, plan_of, steps_to
from galley.planning.task import Task

# Looking at a fact or at an operator takes some 200 ns; preparing an operator, 40 us or so.
_LOOKS_AT_LEAST = 12_000
_LOOKS_PER_OPERATOR = 120
_LOOKS = 200_000
# States in a layer from which arrays are faster than sets, if numpy is loaded and if it is not. The
# plan is the same either way: all goal states of a layer are known before one is chosen.
_LARGE = 1500
_LARGE_ENOUGH_TO_LOAD = 15_000
_ENDS = 32  # goal states that are looked at to choose one

# Place, facts to read and to find, facts to keep and to add; and the operator if that isn't all.
_Row = tuple[int, int, int, int, int, Operator | None]


def breadth_first(task: Task, limits: SearchLimits | None = None) -> Plan | Failure:
    """A plan of the fewest actions.

    The same task always gives the same plan; for what else may come back see ``methods.search``.

    Args:
        task: the ground task; its goal is relaxed-reachable, and does not hold at the start.
        limits: when to give up.
    """
    meter = Meter(limits or SearchLimits())
    found = _search_first_states(task, meter)
    if found is None:
        # From the start again: what was searched so far took no longer than the preparations do.
        found = _search_by_layers(task, meter.restarted())
    return found


def _search_first_states(task: Task, meter: Meter) -> Plan | Failure | None:
    """Breadth-first search, as far as it is cheaper than to prepare for more.

    Args:
        task: the ground task; its goal does not hold at the start.
        meter: when to give up.

    Returns:
        A plan of the fewest actions, the first in the order of ``task.operators``, action by
        action; the failure that says why there is none, or which limit was reached; or None where
        there are more states than these.
    """
    facts = task.relevant
    operators = [each for each in task.operators if each.changes(facts)]
    waiting, always = _by_fact(operators, facts)
    watched = 0
    for fact in waiting:
        watched |= fact
    reached_by: dict[int, tuple[int, int]] = {task.init & facts: (0, -1)}
    frontier = deque(reached_by)
    expanded = 0
    left = min(_LOOKS, _LOOKS_AT_LEAST + _LOOKS_PER_OPERATOR * len(operators))
    is_goal = task.goal.holds
    wanted_facts, read_facts = task.goal.pre, task.goal.pre | task.goal.neg
    while frontier:
        reached = meter.exceeded(expanded)
        if reached is not None:
            return meter.failure(reached, expanded=expanded, generated=len(reached_by))
        if left < 0:
            return None
        state = frontier.popleft()
        expanded += 1
        found = []
        looks = len(always)
        for row in always:
            if state & row[1] == row[2]:
                found.append(row)
        rest = state & watched
        while rest:
            fact = rest & -rest
            rest ^= fact
            rows = waiting[fact]
            looks += 2 + len(rows)
            for row in rows:
                if state & row[1] == row[2]:
                    found.append(row)
        left -= looks + 4 * len(found)
        if len(found) > 1:
            found.sort()  # by the operator's place, which no two share
        for index, _, _, kept, added, special in found:
            if special is None:
                after = state & kept | added
            elif special.applicable(state):
                after = special.apply(state) & facts
            else:
                continue
            if after in reached_by:
                continue
            reached_by[after] = state, index
            if after & read_facts == wanted_facts and is_goal(after):
                return plan_of(
                    [operators[step] for step in steps_to(after, reached_by)],
                    expanded=expanded,
                    generated=len(reached_by),
                    seconds=meter.seconds,
                )
            frontier.append(after)
    return explain_exhausted(task, reached_by)


def _by_fact(operators: list[Operator], facts: int) -> tuple[dict[int, list[_Row]], list[_Row]]:
    """The operators by a fact that each needs, the rarest such; and those that need none."""
    needed: dict[int, int] = {}
    split: list[list[int]] = []
    for operator in operators:
        pre = operator.condition.pre
        parts = []
        while pre:
            fact = pre & -pre
            pre ^= fact
            parts.append(fact)
            needed[fact] = needed.get(fact, 0) + 1
        split.append(parts)
    waiting: dict[int, list[_Row]] = {}
    always: list[_Row] = []
    for index, (operator, parts) in enumerate(zip(operators, split, strict=True)):
        condition = operator.condition
        special = operator if condition.any_of or operator.conditional else None
        row = (
            index,
            condition.pre | condition.neg,
            condition.pre,
            ~operator.delete,
            operator.add & facts,
            special,
        )
        if parts:
            waiting.setdefault(min(parts, key=needed.__getitem__), []).append(row)
        else:
            always.append(row)
    return waiting, always


def _search_by_layers(task: Task, meter: Meter) -> Plan | Failure:
    """Breadth-first search on packed states."""
    from galley.planning.searches.uniform_cost import UniformCost
    from galley.planning.states.space import state_space

    space = state_space(task)
    large = _LARGE if "numpy" in sys.modules else _LARGE_ENOUGH_TO_LOAD
    search = UniformCost(space, [1] * len(space.operators), ends=_ENDS, large=large)
    over = search.run(sys.maxsize, meter)
    if over is not None:
        return meter.failure(over, expanded=search.expanded, generated=search.generated)
    if search.goal is None:
        return search.why_none()
    return plan_of(
        search.plan(),
        expanded=search.expanded,
        generated=search.generated,
        seconds=meter.seconds,
    )
