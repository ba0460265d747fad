"""The state space of a task: its states, and which operators lead from one to the next.

The operators hang in a decision tree, so that a state is tested only against few of them (Helmert,
"The Fast Downward planning system", 2006, section 5.3). Each branch asks for one fact that the
operators below it need.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from galley.planning.operators import Operator, bits_of
from galley.planning.task import Task

_FEW = 2  # operators that need no branch of their own

Parents = Mapping[int, int | None]  # each state's predecessor on a path; None for the initial state


class _Row(NamedTuple):
    """An operator as masks, quick to test and to apply.

    Attributes:
        number: the operator's index in ``StateSpace.operators``.
        tested: the facts of its precondition.
        required: those of them that must be true.
        kept: the facts that it does not delete.
        added: the facts that it adds.
        special: the operator itself if it has disjunctions or conditional effects.
    """

    number: int
    tested: int
    required: int
    kept: int
    added: int
    special: Operator | None


class _Node(NamedTuple):
    """Operators to test, and facts with the operators to test where these hold."""

    branches: list[tuple[int, _Node]]
    rows: list[_Row]


class StateSpace:
    """A task's states, each an integer with one bit for each of ``Task.facts``.

    Attributes:
        task: the task.
        facts: the facts that states have; others are left out.
        operators: the operators that change them, in the task's order.
        init: the initial state.
    """

    def __init__(self, task: Task, facts: int) -> None:
        """``facts`` is a mask over ``task.facts``."""
        self.task = task
        self.facts = facts
        self.operators = tuple(operator for operator in task.operators if operator.changes(facts))
        self.init = task.init & facts
        rows = []
        for index, operator in enumerate(self.operators):
            condition = operator.condition
            special = operator if condition.any_of or operator.conditional else None
            row = _Row(
                index,
                condition.pre | condition.neg,
                condition.pre,
                ~operator.delete,
                operator.add & facts,
                special,
            )
            rows.append((bits_of(condition.pre), row))
        self._root = _tree(rows)

    def successors(self, state: int) -> list[tuple[int, int]]:
        """The index of each applicable operator, in ascending order, and the state it leads to."""
        applicable = []
        nodes = [self._root]
        for branches, rows in nodes:  # grows as it runs
            for fact, node in branches:
                if state & fact:
                    nodes.append(node)
            for row in rows:
                if state & row[1] == row[2]:
                    applicable.append(row)
        applicable.sort()
        successors = []
        for index, _, _, kept, added, special in applicable:
            if special is None:
                successors.append((index, state & kept | added))
            elif special.applicable(state):
                successors.append((index, special.apply(state) & self.facts))
        return successors

    def path(self, state: int, parents: Parents) -> list[Operator]:
        """The operators on the path to ``state``, the cheapest where several do the same."""
        steps = []
        while (before := parents[state]) is not None:
            leading = [self.operators[i] for i, after in self.successors(before) if after == state]
            steps.append(min(leading, key=lambda operator: operator.cost))
            state = before
        return steps[::-1]


def state_space(task: Task) -> StateSpace:
    """The states of ``task`` without the facts that its goal does not depend on.

    That preserves a shortest plan and a cheapest one, but not all plans.
    """
    return StateSpace(task, task.relevant_facts)


def _tree(rows: list[tuple[list[int], _Row]]) -> _Node:
    """The decision tree of operators; each comes with the facts that it needs besides those asked.

    An operator hangs below the fact that most of them need.
    """
    counts = Counter(fact for facts, _ in rows for fact in facts)
    groups: dict[int, list[tuple[list[int], _Row]]] = defaultdict(list)
    node = _Node([], [])
    for facts, row in rows:
        if facts:
            most = max(facts, key=counts.__getitem__)
            groups[most].append(([fact for fact in facts if fact != most], row))
        else:
            node.rows.append(row)
    for fact, group in groups.items():
        if len(group) > _FEW:
            node.branches.append((fact, _tree(group)))
        else:
            node.rows.extend(row for _, row in group)
    return node
