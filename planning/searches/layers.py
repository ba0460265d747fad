"""Breadth-first search by whole layers of states.

A layer is a set of integers, and no parent is stored: the plan is found afterwards, backwards from
the goal states through the layers.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import islice, product

from galley.domain.failure import Failure
from galley.planning.explain.exhausted import explain_exhausted
from galley.planning.limits import Meter
from galley.planning.operators import Plan, plan_of
from galley.planning.states.packing import ALWAYS, Move, Variable
from galley.planning.states.space import Layer, StateSpace

_CHUNK = 4096  # states expanded between two looks at the limits
# States in a layer from which arrays are faster than sets, if numpy is loaded and if it is not. The
# plan is the same either way: all goal states of a layer are known before one is chosen.
_LARGE = 1500
_LARGE_ENOUGH_TO_LOAD = 15_000
_ARRAY_CHUNK = 1 << 16
_ENDS = 32  # goal states that are looked at to choose one
_GUESSES = 5000  # states before an action that are tried by their values, not looked for


class Layers:
    """The search: sets of integers while layers are small, sorted arrays once they are large."""

    def __init__(self, space: StateSpace, meter: Meter) -> None:
        self.space = space
        self.meter = meter
        self.expanded = 0
        self.seen = {space.init}
        self.layers: list[Layer] = []
        self.large = _LARGE if "numpy" in sys.modules else _LARGE_ENOUGH_TO_LOAD

    def run(self) -> Plan | Failure:
        """A plan of the fewest actions, or why there is none, or the limit that was reached."""
        layer = {self.space.init}
        while layer:
            if len(layer) >= self.large and self.space.packing.width <= 64:
                return self._run_in_arrays(layer)
            self.layers.append(_stored(layer, self.space.packing.width))
            found = self._next(layer)
            if isinstance(found, str):
                return self._limit(found, len(self.seen))
            layer, goals = found
            if goals:
                return self._plan(goals, len(self.seen))
        fields = self.space.goal_fields
        return self._exhausted({state & fields for state in self.seen}, len(self.seen))

    def _next(self, layer: set[int]) -> tuple[set[int], list[int]] | str:
        """The next layer and goal states in it, or the limit that was reached."""
        following: set[int] = set()
        states = iter(layer)
        left = len(layer)
        while left:
            reached = self.meter.exceeded(self.expanded, _CHUNK)
            if reached is not None:
                return reached
            size = min(_CHUNK, left, self.meter.nodes_left - self.expanded)
            self.space.expand(islice(states, size), following.add)
            self.expanded += size
            left -= size
        following = following - self.seen
        self.seen |= following
        return following, sorted(self.space.goals_among(following))

    def _run_in_arrays(self, layer: set[int]) -> Plan | Failure:
        # Late: a small search shouldn't wait for numpy.
        import numpy as np

        from galley.planning.searches.arrays import ArrayExpander, SeenStates, States, distinct

        expander = ArrayExpander(self.space)
        seen = SeenStates(self.seen, len(self.seen))
        self.seen = set()  # frees the memory
        states = np.sort(np.fromiter(layer, dtype=np.uint64, count=len(layer)))
        while len(states):
            self.layers.append(states)  # type: ignore[arg-type]  # as good as a sequence
            fresh: list[States] = []
            done = 0
            while done < len(states):
                reached = self.meter.exceeded(self.expanded, 1)
                if reached is not None:
                    return self._limit(reached, len(seen) + sum(map(len, fresh)))
                size = min(_ARRAY_CHUNK, self.meter.nodes_left - self.expanded)
                chunk = states[done : done + size]
                after = seen.unseen(expander.successors(chunk))
                done += len(chunk)
                self.expanded += len(chunk)
                fresh.append(after)
            states = fresh[0] if len(fresh) == 1 else distinct(np.concatenate(fresh))
            # Runs are merged by copying them.
            reached = self.meter.out_of_time_or_memory(16e-6 * (len(seen) + len(states)))
            if reached is not None:
                return self._limit(reached, len(seen) + len(states))
            seen.add(states)
            goals = expander.goals(states)
            if len(goals):
                return self._plan(goals.tolist(), len(seen))
        return self._exhausted(seen.masked(self.space.goal_fields), len(seen))

    def _exhausted(self, read_by_goal: Iterable[int], count: int) -> Failure:
        states = map(self.space.packing.decode, read_by_goal)
        return explain_exhausted(self.space.task, states, count)

    def _limit(self, reached: str, generated: int) -> Failure:
        return self.meter.failure(reached, expanded=self.expanded, generated=generated)

    def _plan(self, goals: list[int], generated: int) -> Plan:
        trace = Regression(self.space)
        last = self.layers.pop()
        index, state = max(trace.before(goal, last) for goal in goals[:_ENDS])
        operators = [self.space.operators[index]]
        for layer in reversed(self.layers):
            index, state = trace.before(state, layer)
            operators.append(self.space.operators[index])
        return plan_of(
            operators[::-1],
            expanded=self.expanded,
            generated=generated,
            seconds=self.meter.seconds,
        )


def _stored(layer: set[int], width: int) -> Layer:
    """A layer as compactly as its states allow."""
    return array("Q", layer) if width <= 64 else tuple(layer)


class Regression:
    """Finds which action led to a state, without having stored it."""

    def __init__(self, space: StateSpace) -> None:
        self.space = space
        self.variables = space.packing.variables
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
