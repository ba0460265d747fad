"""Backwards through a search that has stored no parents."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from galley.planning.packing import Move, Variable
from galley.planning.space import StateSpace

_GUESSES = 5000  # states before an action that are tried by their values, not looked for

Layer = Sequence[int]


class Regression:
    """Finds which action led to a state, without having stored it."""

    def __init__(self, space: StateSpace) -> None:
        self.space = space
        self.variables = space.variables
        # Moves by what they surely write, so that only those are tried that may have led to a
        # state: for each field the moves by value; those that write nothing surely go under 0.
        self._writing: dict[int, dict[int, list[_Undo]]] = {0: {0: []}}
        for place, move in enumerate(space.moves):
            undo = _Undo(place, move, space.variables)
            field = next((v.field for v in self.variables if v.field & undo.written), 0)
            by_value = self._writing.setdefault(field, {})
            by_value.setdefault(undo.value & field, []).append(undo)

    def before(self, state: int, layer: Layer) -> tuple[int, int]:
        """An operator, and a state of ``layer`` from which it leads to ``state``.

        It is the last such operator in the task's order: so of actions that may come in any
        order those declared first come first.

        Raises:
            LookupError: no state of ``layer`` leads there.
        """
        # Arrays of numpy are sorted; to make a set of them would cost more than the search.
        members = frozenset(layer) if isinstance(layer, array | tuple) else _Sorted(layer)
        found = [
            undo
            for field, by_value in self._writing.items()
            for undo in by_value.get(state & field, ())
            if state & undo.written == undo.value
        ]
        for undo in sorted(found, key=lambda each: each.place, reverse=True):
            move = undo.move
            for candidate in undo.guesses(state, layer):
                if (
                    candidate in members
                    and move.test.holds(candidate)
                    and move.apply(candidate) == state
                ):
                    return move.index, candidate
        raise LookupError("no state of the layer before leads to this state")


class _Undo:
    """A move backwards."""

    def __init__(self, place: int, move: Move, variables: Sequence[Variable]) -> None:
        self.place = place
        self.move = move
        self.changed = 0  # fields that it may change
        self.written = 0  # fields that surely hold ``value`` afterwards
        self.value = 0
        for step in move.steps:
            self.changed |= step.field
            self.written &= ~step.field
            self.value &= ~step.field
            if not step.test.mask and not step.test.unequal and not step.test.any_of:
                self.written |= step.field
                self.value |= step.value
        self.known = self.changed & move.test.mask
        self.free = [v for v in variables if v.field & self.changed & ~self.known]
        self.count = 1
        for variable in self.free:
            self.count *= len(variable.facts)

    def guesses(self, state: int, layer: Layer) -> Iterable[int]:
        """States that may come before: what the move changes may have been anything before."""
        if self.count > _GUESSES:
            return map(int, layer)
        base = state & ~self.changed | self.move.test.value & self.known
        return _fillings(base, self.free) if self.free else (base,)


class _Sorted:
    """Membership in a sorted sequence."""

    def __init__(self, states: Layer) -> None:
        self.states = states

    def __contains__(self, state: int) -> bool:
        place = bisect_left(self.states, state)
        return place < len(self.states) and bool(self.states[place] == state)


def _fillings(base: int, free: list[Variable]) -> Iterator[int]:
    values = [list(variable.value_of.values()) for variable in free]
    for chosen in product(*values):
        yield base | sum(chosen)
