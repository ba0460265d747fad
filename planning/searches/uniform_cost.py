"""Uniform-cost search without a heuristic, by whole layers of states of one cost.

States wait in one set for each cost. The actions of each cost have an expansion of their own, which
runs through a layer and throws what follows into the set of the higher cost. Neither parents nor
costs are stored with the states: the plan is found backwards through the layers. With all costs
the same this is breadth-first search.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from heapq import heappop, heappush
from itertools import product
from math import lcm
from typing import TYPE_CHECKING

from galley.domain.failure import Failure
from galley.planning.explain.conflicts import explain_exhausted
from galley.planning.limits import Meter
from galley.planning.operators import Operator
from galley.planning.states.packing import ALWAYS, Move, PackedVariable
from galley.planning.states.space import Layer, StateSpace

if TYPE_CHECKING:  # it needs NumPy, which small searches don't wait for
    from galley.planning.searches.arrays import Arrays

_CHUNK = 4096  # states expanded between two looks at the limits
_LARGE = 4000  # states in a layer, for each cost an action may have, from which arrays are faster
_COPIED_MIB = 16e-6  # memory that adding to sorted arrays takes meanwhile, for each state
_GUESSES = 5000  # states before an action that are tried by their values, not looked for


@dataclass(frozen=True)
class _CostLayer:
    """States of one least cost; those of a later layer of that cost come from it for nothing."""

    cost: int
    states: Layer
    free_step: bool  # whether it comes from the layer before by actions that cost nothing


class UniformCost:
    """A search that can be interrupted and goes on where it stopped.

    Attributes:
        expanded: states expanded so far.
        effort: what they took, in a unit of about half a microsecond; the same on every run.
        goal: a goal state of least cost, once found.
        done: whether a goal is found or the space exhausted.
    """

    def __init__(
        self, space: StateSpace, costs: Sequence[int], *, ends: int = 1, large: int | None = None
    ) -> None:
        """Prepares the search.

        Args:
            space: the space to search.
            costs: whole numbers, one for each operator of the space.
            ends: goal states of least cost that are looked at to choose the plan's last action.
            large: states in a layer, for each cost an action may have, from which arrays are used.
        """
        self.space = space
        self.expanded = 0
        self.effort = 0
        self.goal: int | None = None
        self.done = False
        self._ends = ends
        self._goals: list[int] = []  # the first of the least cost, ``ends`` at most
        groups: dict[int, list[int]] = {}
        for place, move in enumerate(space.moves):
            groups.setdefault(costs[move.index], []).append(place)
        self._spaces = {
            cost: replace(space, moves=tuple(space.moves[i] for i in groups[cost]))
            for cost in sorted(groups)
        }
        if len(groups) == 1:
            self._spaces = dict.fromkeys(groups, space)  # with what is compiled for it already
        sets = _Sets(space, self._spaces)
        sets.waiting[0] = {space.init}
        self._large = (_LARGE if large is None else large) * max(1, len(groups))
        self._sets: _Sets | None = sets if space.packing.width <= 64 else None  # may be exchanged
        self._frontier: _Sets | Arrays = sets
        self._order = [0]  # a heap of costs under which states wait
        self._layers: list[_CostLayer] = []
        self._taken = 0  # states of the last layer that have been expanded

    @property
    def generated(self) -> int:
        """States seen, counting twice those that wait under two costs."""
        return self._frontier.generated()

    def why_none(self) -> Failure:
        """Why there is no plan, after the whole space was searched without one."""
        read = self._frontier.masked(self.space.goal_fields)
        states = map(self.space.packing.decode, read)
        return explain_exhausted(self.space.task, states, self._frontier.taken())

    def run(self, effort: int, meter: Meter, others: int = 0) -> str | None:
        """Expands further states.

        Args:
            effort: about how much is to be done; see the attribute.
            meter: holds the limits.
            others: states that another search has expanded on the same meter.

        Returns:
            The limit that was reached, if one was.
        """
        stop = self.effort + effort
        while not self.done and self.effort < stop:
            # First of all: the next layer may hold the goal, and a limit not be reached any more.
            if not self._layers or self._taken >= len(self._layers[-1].states):
                if self._sets is None:  # sorted arrays are merged by copying them
                    over = meter.out_of_time_or_memory(_COPIED_MIB * self.generated)
                    if over is not None:
                        return over
                self._next_layer()
                continue
            over = meter.exceeded(self.expanded + others, _CHUNK)
            if over is not None:
                return over
            layer = self._layers[-1]
            most = min(self._frontier.chunk, meter.nodes - self.expanded - others)
            chunk = layer.states[self._taken : self._taken + most]
            for cost in self._frontier.expand(chunk, layer.cost):
                heappush(self._order, cost)
            self._taken += len(chunk)
            self.expanded += len(chunk)
            self.effort += len(chunk) * self._frontier.effort
        return None

    def _next_layer(self) -> None:
        """Takes the next states to expand; done where a goal is among them, or there are none."""
        while self._order:
            cost = heappop(self._order)
            states = self._frontier.take(cost)
            if not len(states):
                continue
            free_step = bool(self._layers) and self._layers[-1].cost == cost
            self._layers.append(_CostLayer(cost, states, free_step))
            self._taken = 0
            goals = sorted(self._frontier.goals(states))
            if goals:
                self.goal, self._goals = goals[0], goals[: self._ends]
                self.done = True
            elif self._sets is not None and len(states) >= self._large:
                # Late: a small search shouldn't wait for numpy.
                from galley.planning.searches.arrays import Arrays

                sets, self._sets = self._sets, None
                self._frontier = Arrays(self.space, self._spaces, sets.known, sets.waiting)
            return
        self.done = True

    def plan(self) -> list[Operator]:
        """The plan to ``goal``, or to another goal state of its cost."""
        regressions = {cost: _Regression(space) for cost, space in self._spaces.items()}

        def before(state: int, place: int) -> tuple[int, int, int]:
            """An operator, and a state and its layer from which it leads to ``state``."""
            layer = self._layers[place]
            for cost, regression in regressions.items():
                if layer.free_step:
                    places = [] if cost else [place - 1]
                else:
                    wanted = layer.cost - cost
                    places = [i for i in range(place) if self._layers[i].cost == wanted]
                for each in places:
                    found = regression.before(state, self._layers[each].states)
                    if found is not None:
                        return *found, each
            raise AssertionError("each state follows from one of a layer before")

        place = len(self._layers) - 1
        if not place:
            return []
        index, state, place = max(before(goal, place) for goal in self._goals)
        plan = [self.space.operators[index]]
        while place:
            index, state, place = before(state, place)
            plan.append(self.space.operators[index])
        return plan[::-1]


class _Sets:
    """The frontier, states seen and states that wait under their cost, as Python's sets.

    ``arrays.Arrays`` is the same for large layers.

    Attributes:
        chunk: states to be expanded between two looks at the limits.
        effort: about how long a state takes.
    """

    chunk = _CHUNK
    effort = 4

    def __init__(self, space: StateSpace, spaces: Mapping[int, StateSpace]) -> None:
        self.space = space
        self.spaces = spaces
        self.known: set[int] = set()
        self.waiting: dict[int, set[int]] = {}

    def take(self, cost: int) -> Layer:
        """The states that wait under ``cost`` and have not been seen; they count as seen now."""
        fresh = self.waiting.pop(cost, set()) - self.known
        self.known |= fresh
        return array("Q", fresh) if self.space.packing.width <= 64 else tuple(fresh)

    def expand(self, states: Layer, cost: int) -> list[int]:
        """Lets the successors of ``states``, reached at ``cost``, wait.

        Returns:
            The costs under which some may wait now.
        """
        new = []
        for more, space in self.spaces.items():
            if cost + more not in self.waiting:
                self.waiting[cost + more] = set()
                new.append(cost + more)
            space.expand(states, self.waiting[cost + more].add)
        return new

    def goals(self, layer: Layer) -> list[int]:
        """The goal states of ``layer``."""
        return self.space.goals_among(layer)

    def generated(self) -> int:
        """How many states are stored; twice those that wait under two costs."""
        return len(self.known) + sum(map(len, self.waiting.values()))

    def taken(self) -> int:
        """How many states have been taken."""
        return len(self.known)

    def masked(self, mask: int) -> Collection[int]:
        """What ``mask`` leaves of the states taken, each once."""
        return {state & mask for state in self.known}


class _Regression:
    """Finds which action led to a state, without having stored it."""

    def __init__(self, space: StateSpace) -> None:
        self.space = space
        self.variables = space.packing.variables
        # Of each move what it surely writes: only those are tried that may have led to a state.
        self._writing = [_surely_written(move) for move in space.moves]

    def before(self, state: int, layer: Layer) -> tuple[int, int] | None:
        """An operator, and a state of ``layer`` from which it leads to ``state``, if there is one.

        It is the last such operator in the task's order: so of actions that may come in any
        order those declared first come first.
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
        return None

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


def _fillings(base: int, free: list[PackedVariable]) -> Iterator[int]:
    values = [list(variable.value_of.values()) for variable in free]
    for chosen in product(*values):
        yield base | sum(chosen)


def whole_costs(costs: Iterable[float]) -> tuple[list[int], int]:
    """The costs in a unit of which each is a whole multiple.

    So sums are exact, and equal costs compare equal. A cost is taken as the decimal that it is
    written as: 0.1 is a tenth, not the binary fraction next to it.

    Returns:
        The multiples, and how many of the unit make one.
    """
    listed = list(costs)
    exact = {cost: Fraction(repr(cost)) for cost in set(listed)}
    scale = lcm(*(each.denominator for each in exact.values()))
    whole = {cost: int(each * scale) for cost, each in exact.items()}
    return [whole[cost] for cost in listed], scale
