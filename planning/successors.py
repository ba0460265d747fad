"""The state space of a task, with a generator of successors.

The operators are the leaves of a decision tree, so that a state is tested against only a few of
them (Helmert, "The Fast Downward planning system", 2006, section 5.3). Each branch tests one fact
that all operators below it need.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from galley.planning.operators import Operator, bits_of
from galley.planning.task import Task

_FEW = 2  # operators that need no branch of their own

# Each generated state's predecessor on a path to it; None for the initial state.
Parents = Mapping[int, int | None]


class _Row(NamedTuple):
    """An operator as masks, which are quick to test and to apply.

    Attributes:
        number: the operator's index in ``StateSpace.operators``.
        tested: the facts of the precondition, positive and negative.
        required: those of them that must be true.
        kept: all facts that the operator does not delete.
        added: the facts that the operator adds.
        special: the operator itself if it has disjunctions or conditional effects, which the masks
            leave out; else None.
    """

    number: int
    tested: int
    required: int
    kept: int
    added: int
    special: Operator | None


class _Node(NamedTuple):
    """A node of the decision tree.

    Attributes:
        branches: pairs of a fact and the node below it, for states in which the fact holds.
        rows: operators to test in every state that gets here.
    """

    branches: list[tuple[int, _Node]]
    rows: list[_Row]


class StateSpace:
    """A task's states, each an integer with one bit for each of ``Task.facts``.

    Attributes:
        task: the task.
        facts: mask of the facts that states have; others are left out.
        operators: the operators that change these facts, in the task's order.
        init: the initial state.
    """

    def __init__(self, task: Task, facts: int) -> None:
        """Makes the decision tree; ``facts`` is a mask over ``task.facts``."""
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
            # If the fact is false, no operator below the branch is applicable.
            for fact, node in branches:
                if state & fact:
                    nodes.append(node)
            for row in rows:
                # Of the facts tested (row[1]), exactly the required ones (row[2]) must be true.
                if state & row[1] == row[2]:
                    applicable.append(row)
        # The tree yields them in an order of its own; searches promise the task's.
        applicable.sort()
        successors = []
        for index, _, _, kept, added, special in applicable:
            if special is None:
                successors.append((index, state & kept | added))
            elif special.applicable(state):
                successors.append((index, special.apply(state) & self.facts))
        return successors

    def path(self, state: int, parents: Parents) -> list[Operator]:
        """The operators on the path from the initial state to ``state``.

        ``parents`` names only states, so each step's operators are generated again. If several lead
        to the same state, the cheapest one is taken.
        """
        steps = []
        while (before := parents[state]) is not None:
            leading = [self.operators[i] for i, after in self.successors(before) if after == state]
            steps.append(min(leading, key=lambda operator: operator.cost))
            state = before
        return steps[::-1]


def state_space(task: Task) -> StateSpace:
    """The state space of ``task`` without the facts that the goal does not depend on.

    It has a shortest plan and a cheapest plan of the task, but not all plans.
    """
    return StateSpace(task, task.relevant_facts)


def _tree(rows: list[tuple[list[int], _Row]]) -> _Node:
    """The decision tree of operators, each given with its facts that no branch above has tested.

    Of its facts, an operator goes below the one that most operators need: so branches are shared.
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
        # To test a few operators one by one takes no longer than a branch.
        if len(group) > _FEW:
            node.branches.append((fact, _tree(group)))
        else:
            node.rows.extend(row for _, row in group)
    return node
