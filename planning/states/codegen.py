"""Python source that computes the successors of packed states.

The moves of a space become one decision tree over its variables, written out as nested ``if``s:
a state meets only the moves whose tests it may pass. A move whose precondition fixes all that it
changes is one addition. The interpreter runs this several times faster than a loop over moves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from galley.planning.states.packing import Move, Test, Variable

Expand = Callable[[Iterable[int], Callable[[int], object]], None]
Successors = Callable[[int], list[tuple[int, int]]]
IsGoal = Callable[[int], bool]

_MAX_DEPTH = 60  # Python refuses a hundred levels of indentation
_LINEAR = 3  # values of a variable that are tried one after the other rather than by halving


class Decisions:
    """Splits moves by a variable that many of them test."""

    def __init__(self, moves: Sequence[Move], variables: Sequence[Variable]) -> None:
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


def compile_expand(moves: Sequence[Move], variables: Sequence[Variable]) -> Expand:
    """A function ``expand(states, add)`` that calls ``add`` with every successor of ``states``."""
    writer = _Writer(moves, variables, "add({after})")
    writer.line(0, "def expand(states, add):")
    writer.line(1, "for s in states:")
    writer.tree(2, moves)
    writer.line(2, "pass")
    return _compiled(writer.lines, "expand")  # type: ignore[no-any-return]


def compile_successors(moves: Sequence[Move], variables: Sequence[Variable]) -> Successors:
    """A function from a state to pairs of a move's index and the state that follows.

    Their order is fixed, but not that of the indices.
    """
    writer = _Writer(moves, variables, "add(({index}, {after}))")
    writer.line(0, "def successors(s):")
    writer.line(1, "found = []")
    writer.line(1, "add = found.append")
    writer.tree(1, moves)
    writer.line(1, "return found")
    return _compiled(writer.lines, "successors")  # type: ignore[no-any-return]


def compile_test(test: Test | None) -> IsGoal:
    """A function that says whether a state passes ``test``; None never passes."""
    expression = "False" if test is None else _expression(test) or "True"
    return _compiled([f"def passes(s): return {expression}"], "passes")  # type: ignore[no-any-return]


def compile_filter(test: Test | None) -> Callable[[Iterable[int]], list[int]]:
    """A function from states to those that pass ``test``; None never passes."""
    expression = "False" if test is None else _expression(test) or "True"
    lines = [f"def passing(states): return [s for s in states if {expression}]"]
    return _compiled(lines, "passing")  # type: ignore[no-any-return]


def _compiled(lines: list[str], name: str) -> Any:
    # Only numbers go into the source: no name from a file ever does.
    scope: dict[str, Any] = {}
    exec(compile("\n".join(lines), f"<galley {name}>", "exec"), scope)
    return scope[name]


class _Writer:
    def __init__(self, moves: Sequence[Move], variables: Sequence[Variable], emit: str) -> None:
        self.lines: list[str] = []
        self.emit = emit
        self.decisions = Decisions(moves, variables)

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
