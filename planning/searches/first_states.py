"""The first few hundred states, without any preparation.

Packing states and compiling their successors takes milliseconds, which pay only where there are
many. A task that is done with before that is searched on the bits of the task as they are.
"""

from __future__ import annotations

from collections import deque

from galley.domain.failure import Failure
from galley.planning.limits import Meter
from galley.planning.operators import Operator
from galley.planning.relevance import changes, relevant_facts
from galley.planning.searches.result import Plan, limit_failure, plan_of
from galley.planning.task import Task

_TESTS = 50_000  # of one operator in one state: about as much time as preparing takes


def search_first_states(task: Task, meter: Meter) -> Plan | Failure | None:
    """Breadth-first search, as far as it is cheaper than to prepare for more.

    Args:
        task: the ground task; its goal does not hold at the start.
        meter: when to give up.

    Returns:
        A plan of the fewest actions, the first in the order of ``task.operators``, action by
        action; the failure that says why there is none, or which limit was reached; or None where
        there are more states than these.
    """
    facts = relevant_facts(task)
    operators = [each for each in task.operators if changes(each, facts)]
    rows = [_row(each, facts) for each in operators]
    reached_by: dict[int, tuple[int, int]] = {task.init & facts: (0, -1)}
    frontier = deque(reached_by)
    expanded = 0
    most = _TESTS // max(1, len(rows))
    goal = task.goal
    while frontier:
        reached = meter.exceeded(expanded)
        if reached is not None:
            return limit_failure(
                reached, expanded=expanded, generated=len(reached_by), seconds=meter.seconds
            )
        if expanded >= most:
            return None
        state = frontier.popleft()
        expanded += 1
        for index, (read, wanted, kept, added, special) in enumerate(rows):
            if state & read != wanted:
                continue
            if special is None:
                after = state & kept | added
            elif special.applicable(state):
                after = special.apply(state) & facts
            else:
                continue
            if after in reached_by:
                continue
            reached_by[after] = state, index
            if goal.holds(after):
                steps = _trace(reached_by, after)
                return plan_of(
                    [operators[step] for step in steps],
                    expanded=expanded,
                    generated=len(reached_by),
                    seconds=meter.seconds,
                )
            frontier.append(after)
    from galley.planning.explain import explain_exhausted

    return explain_exhausted(task, reached_by)


_Row = tuple[int, int, int, int, Operator | None]


def _row(operator: Operator, facts: int) -> _Row:
    """What to read and to want, to keep and to add; and the operator where that isn't all."""
    condition = operator.condition
    special = operator if condition.any_of or operator.conditional else None
    return (
        condition.pre | condition.neg,
        condition.pre,
        ~operator.delete,
        operator.add & facts,
        special,
    )


def _trace(reached_by: dict[int, tuple[int, int]], state: int) -> list[int]:
    """The operators that led to ``state``."""
    steps = []
    before, step = reached_by[state]
    while step >= 0:
        steps.append(step)
        before, step = reached_by[before]
    return steps[::-1]
