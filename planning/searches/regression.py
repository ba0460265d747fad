"""Backwards through a search that has stored no parents."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from galley.planning.packing import ALWAYS, Move, Variable
from galley.planning.space import StateSpace

_GUESSES = 5000  # states before an action that are tried by their values, not looked for

Layer = Sequence[int]


class Regression:
    """Finds which action led to a state, without having stored it."""

    def __init__(self, space: StateSpace) -> None:
        self.space = space
        self.variables = space.variables
        # Of each move what it surely writes: only those are tried that may have led to a state.
        self._writing = [_surely_written(move) for move in space.moves]

    def before(self, state: int, layer: Layer) -> tuple[int, int]:
        """An operator, and a state of ``layer`` from which it leads to ``state``.

        It is the last such operator in the task's order: so of actions that may come in any
        order those declared first come first.

        Raises:
            LookupError: no state of ``layer`` leads there.
        """
        # Arrays of numpy are sorted; to make a set of them would cost more than the search.
        members = frozenset(layer) if isinstance(layer, array | tuple) else _Sorted(layer)
        moves = self.space.moves
        places = [i for i, (field, value) in enumerate(self._writing) if state & field == value]
        for place in reversed(places):
            move = moves[place]
            for candidate in self._guesses(move, state, layer):
                if (
                    candidate in members
                    and move.test.holds(candidate)
                    and move.apply(candidate) == state
                ):
                    return move.index, candidate
        raise LookupError("no state of the layer before leads to this state")

    def _guesses(self, move: Move, state: int, layer: Layer) -> Iterable[int]:
        """States that may come before: what the move changes may have been anything before."""
        changed = 0
        for step in move.steps:
            changed |= step.field
        unknown = changed & ~move.test.mask
        base = state & ~changed | move.test.value & changed
        if not unknown:
            return (base,)
        free = [variable for variable in self.variables if variable.field & unknown]
        count = 1
        for variable in free:
            count *= len(variable.facts)
        # Sorted, so that it doesn't matter how the layer is held.
        return _fillings(base, free) if count <= _GUESSES else map(int, sorted(layer))


def _surely_written(move: Move) -> tuple[int, int]:
    """The fields that a move leaves with known values, and these values."""
    fields = values = 0
    for step in move.steps:
        fields &= ~step.field
        values &= ~step.field
        if step.test is ALWAYS:
            fields |= step.field
            values |= step.value
    return fields, values


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
