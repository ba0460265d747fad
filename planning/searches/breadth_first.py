"""Breadth-first search: fewest actions.

Packing states and compiling a successor generator takes milliseconds, which pay off only for many
states (see ``uniform_cost``). So the search starts on the task's bit sets, with each operator
indexed by one of its preconditions.
"""

from __future__ import annotations

import sys
from collections import deque

from galley.domain.failure import Failure
from galley.planning.explain.conflicts import explain_exhausted
from galley.planning.limits import SearchBudget, SearchLimits
from galley.planning.operators import Operator, Plan, make_plan, path_to
from galley.planning.task import Task

# Effort of the search without packing: tests of facts or operators, each some 200 ns. Packing and
# compiling takes some 40 us per operator.
_MIN_TESTS = 12_000
_TESTS_PER_OPERATOR = 120
_MAX_TESTS = 200_000
# Layer size from which arrays are faster than sets, if numpy is loaded and if not. The plan is the
# same either way, since it is chosen among all goal states of a layer.
_LARGE = 1500
_LARGE_WITHOUT_NUMPY = 15_000
_ENDS = 32  # goal states among which the plan is chosen

# Operator index, facts to test, their required values, facts to keep and to add; and the operator
# itself if it has more than that.
_Row = tuple[int, int, int, int, int, Operator | None]


def breadth_first(task: Task, limits: SearchLimits | None = None) -> Plan | Failure:
    """A plan of the fewest actions.

    Deterministic. For the other results see ``methods.search``.

    Args:
        task: the ground task; its goal is relaxed-reachable and does not hold initially.
        limits: when to give up.
    """
    budget = SearchBudget(limits or SearchLimits())
    result = _search_unpacked(task, budget)
    if result is None:
        # Restart: the search so far took no longer than packing and compiling do.
        result = _search_packed(task, budget.restarted())
    return result


def _search_unpacked(task: Task, budget: SearchBudget) -> Plan | Failure | None:
    """Breadth-first search on bit sets, while that is cheaper than packing and compiling.

    Returns:
        The shortest plan that is lexicographically first in the order of ``task.operators``; a
        failure; or None if the state space is too large.
    """
    facts = task.relevant_facts
    operators = [each for each in task.operators if each.changes(facts)]
    waiting, always = _by_fact(operators, facts)
    watched = 0
    for fact in waiting:
        watched |= fact
    reached_by: dict[int, tuple[int, int]] = {task.init & facts: (0, -1)}
    frontier = deque(reached_by)
    expanded = 0
    left = min(_MAX_TESTS, _MIN_TESTS + _TESTS_PER_OPERATOR * len(operators))
    is_goal = task.goal.holds
    goal_facts, tested_facts = task.goal.pre, task.goal.pre | task.goal.neg
    while frontier:
        reached = budget.exceeded(expanded)
        if reached is not None:
            return budget.failure(reached, expanded=expanded, generated=len(reached_by))
        if left < 0:
            return None
        state = frontier.popleft()
        expanded += 1
        applicable = []
        tests = len(always)
        for row in always:
            if state & row[1] == row[2]:
                applicable.append(row)
        rest = state & watched
        while rest:
            fact = rest & -rest
            rest ^= fact
            rows = waiting[fact]
            tests += 2 + len(rows)
            for row in rows:
                if state & row[1] == row[2]:
                    applicable.append(row)
        left -= tests + 4 * len(applicable)
        if len(applicable) > 1:
            applicable.sort()  # by operator index
        for index, _, _, kept, added, special in applicable:
            if special is None:
                after = state & kept | added
            elif special.applicable(state):
                after = special.apply(state) & facts
            else:
                continue
            if after in reached_by:
                continue
            reached_by[after] = state, index
            if after & tested_facts == goal_facts and is_goal(after):
                return make_plan(
                    [operators[step] for step in path_to(after, reached_by)],
                    expanded=expanded,
                    generated=len(reached_by),
                    seconds=budget.seconds,
                )
            frontier.append(after)
    return explain_exhausted(task, reached_by)


def _by_fact(operators: list[Operator], facts: int) -> tuple[dict[int, list[_Row]], list[_Row]]:
    """The operators by their rarest precondition fact, and those without one."""
    counts: dict[int, int] = {}
    preconditions: list[list[int]] = []
    for operator in operators:
        pre = operator.condition.pre
        parts = []
        while pre:
            fact = pre & -pre
            pre ^= fact
            parts.append(fact)
            counts[fact] = counts.get(fact, 0) + 1
        preconditions.append(parts)
    waiting: dict[int, list[_Row]] = {}
    always: list[_Row] = []
    for index, (operator, parts) in enumerate(zip(operators, preconditions, strict=True)):
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
            waiting.setdefault(min(parts, key=counts.__getitem__), []).append(row)
        else:
            always.append(row)
    return waiting, always


def _search_packed(task: Task, budget: SearchBudget) -> Plan | Failure:
    """Breadth-first search on packed states."""
    from galley.planning.searches.uniform_cost import UniformCostSearch
    from galley.planning.states.space import state_space

    space = state_space(task)
    large = _LARGE if "numpy" in sys.modules else _LARGE_WITHOUT_NUMPY
    search = UniformCostSearch(space, [1] * len(space.operators), ends=_ENDS, large=large)
    over = search.run(sys.maxsize, budget)
    if over is not None:
        return budget.failure(over, expanded=search.expanded, generated=search.generated)
    if search.goal is None:
        return search.explain_unsolvable()
    return make_plan(
        search.plan(),
        expanded=search.expanded,
        generated=search.generated,
        seconds=budget.seconds,
    )
