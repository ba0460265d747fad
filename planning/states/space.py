"""The state space of a task: packed states and a compiled successor generator.

The successor generator is a decision tree over the variables, written out as Python source with
nested ``if``s, so that a state is tested only against operators that may be applicable. An operator
whose precondition determines all variables that it changes is a single addition. This is several
times faster than a loop over operators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from galley.planning.operators import Operator
from galley.planning.states.packing import PackedCondition, PackedOperator, PackedVariable, Packing
from galley.planning.task import Task

Layer = Sequence[int]  # states in any order, or a sorted array of 64-bit integers

_MAX_DEPTH = 60  # Python allows fewer than 100 levels of indentation
_LINEAR = 3  # values of a variable, up to which linear search beats binary search


@dataclass(frozen=True)
class StateSpace:
    """A task's states as packed integers.

    The functions are compiled on first use.

    Attributes:
        task: the task.
        packing: the variables, and the conversion of states.
        operators: the relevant operators, in the task's order.
        moves: the same on packed states, without those that need mutex facts.
        init: the packed initial state.
        goal: the packed goal; None if it needs mutex facts.
    """

    task: Task
    packing: Packing
    operators: tuple[Operator, ...]
    moves: tuple[PackedOperator, ...]
    init: int
    goal: PackedCondition | None

    @cached_property
    def expand(self) -> Callable[[Iterable[int], Callable[[int], object]], None]:
        """``expand(states, add)`` calls ``add`` with each successor of each state."""
        writer = _Writer(self, "add({after})")
        writer.line(0, "def expand(states, add):")
        writer.line(1, "for s in states:")
        writer.tree(2, self.moves)
        writer.line(2, "pass")
        return _compiled(writer.lines, "expand")

    @cached_property
    def successors(self) -> Callable[[int], list[tuple[int, int]]]:
        """``successors(state)``: pairs of an index into ``operators`` and a successor.

        Their order is deterministic, but not that of the indices.
        """
        writer = _Writer(self, "add(({index}, {after}))")
        writer.line(0, "def successors(s):")
        writer.line(1, "found = []")
        writer.line(1, "add = found.append")
        writer.tree(1, self.moves)
        writer.line(1, "return found")
        return _compiled(writer.lines, "successors")

    @cached_property
    def is_goal(self) -> Callable[[int], bool]:
        """Whether a state is a goal state."""
        lines = [f"def is_goal(s): return {self._goal_expression()}"]
        return _compiled(lines, "is_goal")

    @cached_property
    def goals_among(self) -> Callable[[Iterable[int]], list[int]]:
        """Those of some states that are goal states."""
        lines = [f"def goals(states): return [s for s in states if {self._goal_expression()}]"]
        return _compiled(lines, "goals")

    def _goal_expression(self) -> str:
        return "False" if self.goal is None else _expression(self.goal) or "True"

    @cached_property
    def goal_fields(self) -> int:
        """The bits of the variables that the goal mentions."""
        read = self.task.goal.facts()
        for _, condition in self.task.goals:
            read |= condition.facts()
        fields = 0
        for variable in self.packing.variables:
            if variable.all_facts & read:
                fields |= variable.field
        return fields


def state_space(task: Task, *, prune: bool = True) -> StateSpace:
    """The state space of ``task``.

    Args:
        task: the ground task.
        prune: leave out irrelevant facts and operators, and all but the cheapest of equivalent
            operators. This preserves optimal plans, but not all plans, as top-k search needs.

    Returns:
        The space, which is cached in the task.
    """
    key = "space", prune
    if key not in task.cache:
        task.cache[key] = _built(task, prune)
    return task.cache[key]  # type: ignore[no-any-return]


def _built(task: Task, prune: bool) -> StateSpace:
    facts = (1 << len(task.facts)) - 1
    operators = task.operators
    if prune:
        facts = task.relevant_facts
        operators = tuple(each for each in operators if each.changes(facts))
    packing = Packing(task, facts)
    moves = []
    cheapest: dict[tuple[object, ...], PackedOperator] = {}
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


class BranchingHeuristic:
    """Chooses the branching variables of the successor generator's decision tree."""

    def __init__(
        self, moves: Sequence[PackedOperator], variables: Sequence[PackedVariable]
    ) -> None:
        fields = [each.field for each in variables]
        self._tested = {
            move.index: [field for field in fields if move.test.mask & field] for move in moves
        }

    def branching_variable(self, moves: Sequence[PackedOperator], known: int) -> int:
        """The bits of the variable that most of ``moves`` test, except those in ``known``.

        0 if no variable is tested by two of them.
        """
        counts: dict[int, int] = {}
        for move in moves:
            for field in self._tested[move.index]:
                counts[field] = counts.get(field, 0) + 1
        best, most = 0, 1
        for field, count in counts.items():
            if count > most and not known & field:
                best, most = field, count
        return best


def split(
    moves: Sequence[PackedOperator], field: int
) -> tuple[dict[int, list[PackedOperator]], list[PackedOperator]]:
    """The moves that test ``field``, by the required value, and the others."""
    branches: dict[int, list[PackedOperator]] = {}
    others = []
    for move in moves:
        if move.test.mask & field:
            branches.setdefault(move.test.value & field, []).append(move)
        else:
            others.append(move)
    return branches, others


def _compiled(lines: list[str], name: str) -> Callable[..., Any]:
    # The source contains only numbers, never a name from a file.
    scope: dict[str, Callable[..., Any]] = {}
    exec(compile("\n".join(lines), f"<galley {name}>", "exec"), scope)
    return scope[name]


class _Writer:
    """Writes the successor generator as Python source."""

    def __init__(self, space: StateSpace, emit: str) -> None:
        self.lines: list[str] = []
        self.emit = emit
        self.decisions = BranchingHeuristic(space.moves, space.packing.variables)

    def line(self, depth: int, text: str) -> None:
        self.lines.append(" " * depth + text)

    def tree(self, depth: int, moves: Sequence[PackedOperator], known: int = 0) -> None:
        """Code for ``moves``, where the bits ``known`` have been tested."""
        field = self.decisions.branching_variable(moves, known) if depth < _MAX_DEPTH else 0
        if not field:
            for move in moves:
                self._leaf(depth, move, known)
            return
        branches, others = split(moves, field)
        self.line(depth, f"v = s & {field}")
        self._switch(depth, sorted(branches.items()), known | field)
        if others:
            self.tree(depth, others, known)

    def _switch(
        self, depth: int, branches: list[tuple[int, list[PackedOperator]]], known: int
    ) -> None:
        if len(branches) > _LINEAR and depth < _MAX_DEPTH:
            middle = len(branches) // 2
            self.line(depth, f"if v < {branches[middle][0]}:")
            self._switch(depth + 1, branches[:middle], known)
            self.line(depth, "else:")
            self._switch(depth + 1, branches[middle:], known)
            return
        keyword = "if"
        for value, moves in branches:
            self.line(depth, f"{keyword} v == {value}:")
            self.tree(depth + 1, moves, known)
            keyword = "elif"

    def _leaf(self, depth: int, move: PackedOperator, known: int) -> None:
        condition = _expression(move.test, known)
        if condition:
            self.line(depth, f"if {condition}:")
            depth += 1
        if len(move.steps) <= 1 and all(step.test == PackedCondition() for step in move.steps):
            after = "s"
            for step in move.steps:
                after = _after(move.test, step.field, step.value)
            self.line(depth, self.emit.format(index=move.index, after=after))
            return
        self.line(depth, "t = s")
        for step in move.steps:
            change = f"t = t & {~step.field} | {step.value}"
            test = _expression(step.test)
            self.line(depth, f"if {test}: {change}" if test else change)
        self.line(depth, self.emit.format(index=move.index, after="t"))


def _after(test: PackedCondition, field: int, value: int) -> str:
    """The state after a change: one addition if ``test`` fixes the old value."""
    if test.mask & field == field:
        difference = value - (test.value & field)
        return f"s {'+' if difference >= 0 else '-'} {abs(difference)}"
    if not value:
        return f"s & {~field}"
    return f"s & {~field} | {value}" if value != field else f"s | {value}"


def _expression(test: PackedCondition, known: int = 0) -> str:
    """``test`` as Python, without the bits ``known`` to pass; empty if it always holds."""
    parts = []
    if test.mask & ~known:
        parts.append(f"s & {test.mask & ~known} == {test.value & ~known}")
    parts += [f"s & {mask} != {value}" for mask, value in test.unequal]
    for choice in test.any_of:
        options = [_expression(part) or "True" for part in choice]
        parts.append("(" + " or ".join(f"({each})" for each in options) + ")")
    return " and ".join(parts)
