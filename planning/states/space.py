"""The state space of a task in the form that searches use: packed states, compiled successors.

The moves of a space become one decision tree over its variables, written out as Python source, as
nested ``if``s: a state meets only the moves whose tests it may pass. A move whose precondition
fixes all that it changes is one addition. The interpreter runs this several times faster than a
loop over moves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from galley.planning.operators import Operator
from galley.planning.states.packing import Move, PackedVariable, Packing, Test
from galley.planning.task import Task

Layer = Sequence[int]  # states: a set's in any order, or a sorted array of 64-bit integers

_MAX_DEPTH = 60  # Python refuses a hundred levels of indentation
_LINEAR = 3  # values of a variable that are tried one after the other rather than by halving


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
        """``successors(state)``: pairs of a place in ``operators`` and the state that follows.

        Their order is fixed, but not that of the places.
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


class Decisions:
    """Splits moves by a variable that many of them test."""

    def __init__(self, moves: Sequence[Move], variables: Sequence[PackedVariable]) -> None:
        fields = [each.field for each in variables]
        self._tested = {
            move.index: [field for field in fields if move.test.mask & field] for move in moves
        }

    def best_field(self, moves: Sequence[Move], known: int) -> int:
        """The variable that most of ``moves`` test, as its bits of a state.

        It is 0 where testing them one by one is as good; the bits ``known`` are decided already.
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


def split(moves: Sequence[Move], field: int) -> tuple[dict[int, list[Move]], list[Move]]:
    """Those that test ``field`` by the value they want there; and the others."""
    branches: dict[int, list[Move]] = {}
    others = []
    for move in moves:
        if move.test.mask & field:
            branches.setdefault(move.test.value & field, []).append(move)
        else:
            others.append(move)
    return branches, others


def _compiled(lines: list[str], name: str) -> Callable[..., Any]:
    # Only numbers go into the source: no name from a file ever does.
    scope: dict[str, Callable[..., Any]] = {}
    exec(compile("\n".join(lines), f"<galley {name}>", "exec"), scope)
    return scope[name]


class _Writer:
    def __init__(self, space: StateSpace, emit: str) -> None:
        self.lines: list[str] = []
        self.emit = emit
        self.decisions = Decisions(space.moves, space.packing.variables)

    def line(self, depth: int, text: str) -> None:
        self.lines.append(" " * depth + text)

    def tree(self, depth: int, moves: Sequence[Move], known: int = 0) -> None:
        """Code for ``moves`` where the bits ``known`` have been tested already."""
        field = self.decisions.best_field(moves, known) if depth < _MAX_DEPTH else 0
        if not field:
            for move in moves:
                self._leaf(depth, move, known)
            return
        branches, others = split(moves, field)
        self.line(depth, f"v = s & {field}")
        self._switch(depth, sorted(branches.items()), known | field)
        if others:
            self.tree(depth, others, known)

    def _switch(self, depth: int, branches: list[tuple[int, list[Move]]], known: int) -> None:
        if len(branches) > _LINEAR and depth < _MAX_DEPTH:
            middle = len(branches) // 2
            self.line(depth, f"if v < {branches[middle][0]}:")
            self._switch(depth + 1, branches[:middle], known)
            self.line(depth, "else:")
            self._switch(depth + 1, branches[middle:], known)
            return
        word = "if"
        for value, moves in branches:
            self.line(depth, f"{word} v == {value}:")
            self.tree(depth + 1, moves, known)
            word = "elif"

    def _leaf(self, depth: int, move: Move, known: int) -> None:
        condition = _expression(move.test, known)
        if condition:
            self.line(depth, f"if {condition}:")
            depth += 1
        if len(move.steps) <= 1 and all(step.test == Test() for step in move.steps):
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


def _after(test: Test, field: int, value: int) -> str:
    """The state after a change; one addition where ``test`` says what was there before."""
    if test.mask & field == field:
        difference = value - (test.value & field)
        return f"s {'+' if difference >= 0 else '-'} {abs(difference)}"
    if not value:
        return f"s & {~field}"
    return f"s & {~field} | {value}" if value != field else f"s | {value}"


def _expression(test: Test, known: int = 0) -> str:
    """``test`` as Python without the bits that are ``known`` to pass; empty if none are left."""
    parts = []
    if test.mask & ~known:
        parts.append(f"s & {test.mask & ~known} == {test.value & ~known}")
    parts += [f"s & {mask} != {value}" for mask, value in test.unequal]
    for choice in test.any_of:
        options = [_expression(part) or "True" for part in choice]
        parts.append("(" + " or ".join(f"({each})" for each in options) + ")")
    return " and ".join(parts)
