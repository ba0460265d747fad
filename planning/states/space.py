"""The state space of a task in the form that searches use: packed states, compiled successors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from galley.planning.operators import Operator
from galley.planning.states.codegen import (
    Expand,
    IsGoal,
    Successors,
    compile_expand,
    compile_filter,
    compile_successors,
    compile_test,
)
from galley.planning.states.packing import Move, Packing, Test
from galley.planning.task import Task

Layer = Sequence[int]  # states: a set's in any order, or a sorted array of 64-bit integers


@dataclass(frozen=True)
class StateSpace:
    """A task's states as packed integers.

    The functions are compiled when first used.

    Attributes:
        task: the task.
        packing: the variables, and the translation of states.
        operators: the operators that count here, in the task's order.
        moves: the same on packed states; those that mutex facts make impossible are left out.
        init: the packed initial state.
        goal: the packed goal; None where mutex facts make it impossible.
    """

    task: Task
    packing: Packing
    operators: tuple[Operator, ...]
    moves: tuple[Move, ...]
    init: int
    goal: Test | None

    @cached_property
    def expand(self) -> Expand:
        """``expand(states, add)`` calls ``add`` with each successor of each state."""
        return compile_expand(self.moves, self.packing.variables)

    @cached_property
    def successors(self) -> Successors:
        """``successors(state)``: pairs of a place in ``operators`` and the state that follows."""
        return compile_successors(self.moves, self.packing.variables)

    @cached_property
    def is_goal(self) -> IsGoal:
        """Whether a state is a goal state."""
        return compile_test(self.goal)

    @cached_property
    def goals_among(self) -> Callable[[Iterable[int]], list[int]]:
        """Those of some states that are goal states."""
        return compile_filter(self.goal)

    @cached_property
    def goal_fields(self) -> int:
        """The bits of a state that hold the variables of which the goal speaks."""
        read = self.task.goal.read()
        for _, condition in self.task.goals:
            read |= condition.read()
        fields = 0
        for variable in self.packing.variables:
            if variable.all_facts & read:
                fields |= variable.field
        return fields


def state_space(task: Task, *, prune: bool = True) -> StateSpace:
    """The state space of ``task``.

    Args:
        task: the ground task.
        prune: leave out facts and operators on which the goal doesn't depend, and all but the
            cheapest of operators that do the same. A shortest or cheapest plan stays one; searches
            for further plans need the rest.

    Returns:
        The space; the same one for the same task, with all that was compiled for it.
    """
    key = "space", prune
    found = task.prepared.get(key)
    if found is None:
        found = task.prepared[key] = _built(task, prune)
    return found


def _built(task: Task, prune: bool) -> StateSpace:
    facts = (1 << len(task.facts)) - 1
    operators = task.operators
    if prune:
        facts = task.relevant
        operators = tuple(each for each in operators if each.changes(facts))
    packing = Packing(task, facts)
    moves = []
    cheapest: dict[tuple[object, ...], Move] = {}
    for index, operator in enumerate(operators):
        move = packing.move(index, operator)
        if move is None:
            continue
        if prune:
            if not move.steps:
                continue
            same = cheapest.get((move.test, move.steps))
            if same is not None and operators[same.index].cost <= operator.cost:
                continue
            cheapest[move.test, move.steps] = move
        else:
            moves.append(move)
    if prune:
        moves = sorted(cheapest.values(), key=lambda move: move.index)
    init = packing.encode(task.init)
    return StateSpace(task, packing, operators, tuple(moves), init, packing.test(task.goal))
