"""Uniform-cost search by layers of states of equal cost.

The open list has one set of states per cost, and the operators of each cost have a successor
generator of their own, which expands a layer into the open set of a higher cost. States are stored
without parents: the plan is extracted by regression through the layers. With equal costs this is
breadth-first search.
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
from time import perf_counter
from typing import TYPE_CHECKING

from galley.domain.failure import Failure
from galley.planning.explain.conflicts import explain_exhausted
from galley.planning.limits import SearchBudget
from galley.planning.operators import Operator
from galley.planning.states.packing import ALWAYS, PackedOperator, PackedVariable
from galley.planning.states.space import Layer, StateSpace

if TYPE_CHECKING:  # imports NumPy, which small searches don't need
    from galley.planning.searches.arrays import ArrayFrontier

_CHUNK = 4096  # states expanded between two checks of the limits, at most
_FIRST_CHUNK = 32  # before it is known how long a state takes
_CHECK_S = 0.05  # between two checks, if there is a limit of time
_LARGE = 4000  # layer size per distinct cost, from which arrays are faster than sets
_COPY_MIB = 16e-6  # temporary memory for merging sorted arrays, per state
_MAX_CANDIDATES = 5000  # predecessors of a state, up to which they are enumerated


@dataclass(frozen=True)
class _CostLayer:
    """Closed states of one cost. Actions of cost 0 lead to further layers of the same cost."""

    cost: int
    states: Layer
    free_step: bool  # whether reached from the previous layer by actions of cost 0


class UniformCostSearch:
    """Uniform-cost search that can be interrupted and resumed.

    Attributes:
        expanded: states expanded so far.
        effort: deterministic measure of their time, in about half a microsecond.
        goal: a goal state of least cost, once found.
        done: whether a goal is found or the space is exhausted.
    """

    def __init__(
        self, space: StateSpace, costs: Sequence[int], *, ends: int = 1, large: int | None = None
    ) -> None:
        """Sets up the search.

        Args:
            space: the space to search.
            costs: integers, one for each operator of the space.
            ends: number of goal states of least cost among which the plan's last action is chosen.
            large: layer size per distinct cost, from which arrays replace sets.
        """
        self.space = space
        self.expanded = 0
        self.effort = 0
        self.goal: int | None = None
        self.done = False
        self._ends = ends
        self._goals: list[int] = []  # of least cost, at most ``ends``
        groups: dict[int, list[int]] = {}
        for place, move in enumerate(space.moves):
            groups.setdefault(costs[move.index], []).append(place)
        self._spaces = {
            cost: replace(space, moves=tuple(space.moves[i] for i in groups[cost]))
            for cost in sorted(groups)
        }
        if len(groups) == 1:
            self._spaces = dict.fromkeys(groups, space)  # reuse its compiled functions
        sets = _SetFrontier(space, self._spaces)
        sets.open[0] = {space.init}
        self._large = (_LARGE if large is None else large) * max(1, len(groups))
        self._sets: _SetFrontier | None = sets if space.packing.width <= 64 else None  # replaceable
        self._frontier: _SetFrontier | ArrayFrontier = sets
        self._order = [0]  # heap of the costs of open states
        self._layers: list[_CostLayer] = []
        self._done_in_layer = 0  # states of the last layer that have been expanded
        self._chunk = _FIRST_CHUNK  # states that take about ``_CHECK_S``

    @property
    def generated(self) -> int:
        """Number of stored states; those open under two costs count twice."""
        return self._frontier.generated()

    def explain_unsolvable(self) -> Failure:
        """Why there is no plan, after the space was exhausted."""
        projections = self._frontier.projections(self.space.goal_fields)
        states = map(self.space.packing.decode, projections)
        return explain_exhausted(self.space.task, states, self._frontier.closed_count())

    def run(self, effort: int, budget: SearchBudget, others: int = 0) -> str | None:
        """Expands further states.

        Args:
            effort: roughly how much to do; see the attribute.
            budget: checks the limits.
            others: states expanded by another search on the same budget.

        Returns:
            The limit that was reached, if any.
        """
        stop = self.effort + effort
        while not self.done and self.effort < stop:
            # Before the limits are checked, as the next layer may contain the goal.
            if not self._layers or self._done_in_layer >= len(self._layers[-1].states):
                if self._sets is None:  # merging sorted arrays copies them
                    over = budget.out_of_time_or_memory(_COPY_MIB * self.generated)
                    if over is not None:
                        return over
                self._next_layer()
                continue
            frontier = self._frontier
            size = frontier.chunk if budget.limits.seconds is None else self._chunk
            over = budget.exceeded(self.expanded + others, size)
            if over is not None:
                return over
            layer = self._layers[-1]
            # Exactly the effort asked for, so that chunks measured in seconds change no result.
            size = min(
                size,
                budget.nodes - self.expanded - others,
                -(-(stop - self.effort) // frontier.effort),
            )
            chunk = layer.states[self._done_in_layer : self._done_in_layer + size]
            began = perf_counter()
            for cost in self._frontier.expand(chunk, layer.cost):
                heappush(self._order, cost)
            rate = len(chunk) / max(perf_counter() - began, 1e-6)  # states a second
            self._chunk = int(min(frontier.chunk, 4 * self._chunk, max(1.0, rate * _CHECK_S)))
            self._done_in_layer += len(chunk)
            self.expanded += len(chunk)
            self.effort += len(chunk) * frontier.effort
        return None

    def _next_layer(self) -> None:
        """Closes the next layer; done if it contains a goal or there is none."""
        while self._order:
            cost = heappop(self._order)
            states = self._frontier.close(cost)
            if not len(states):
                continue
            free_step = bool(self._layers) and self._layers[-1].cost == cost
            self._layers.append(_CostLayer(cost, states, free_step))
            self._done_in_layer = 0
            goals = sorted(self._frontier.goals(states))
            if goals:
                self.goal, self._goals = goals[0], goals[: self._ends]
                self.done = True
            elif self._sets is not None and len(states) >= self._large:
                # Late: imports numpy.
                from galley.planning.searches.arrays import ArrayFrontier

                sets, self._sets = self._sets, None
                self._frontier = ArrayFrontier(self.space, self._spaces, sets.closed, sets.open)
            return
        self.done = True

    def plan(self) -> list[Operator]:
        """The plan to ``goal`` or to another goal state of the same cost."""
        regressions = {cost: _Regression(space) for cost, space in self._spaces.items()}

        def predecessor(state: int, place: int) -> tuple[int, int, int]:
            """An operator that leads to ``state``, with the state and layer before."""
            layer = self._layers[place]
            for cost, regression in regressions.items():
                if layer.free_step:
                    places = [] if cost else [place - 1]
                else:
                    before = layer.cost - cost
                    places = [i for i in range(place) if self._layers[i].cost == before]
                for each in places:
                    pair = regression.predecessor(state, self._layers[each].states)
                    if pair is not None:
                        return *pair, each
            raise AssertionError("every state has a predecessor in an earlier layer")

        place = len(self._layers) - 1
        if not place:
            return []
        index, state, place = max(predecessor(goal, place) for goal in self._goals)
        plan = [self.space.operators[index]]
        while place:
            index, state, place = predecessor(state, place)
            plan.append(self.space.operators[index])
        return plan[::-1]


class _SetFrontier:
    """Open and closed lists as Python sets; ``arrays.ArrayFrontier`` is the same for large layers.

    Attributes:
        chunk: states expanded between two checks of the limits.
        effort: time per state; see ``UniformCostSearch.effort``.
    """

    chunk = _CHUNK
    effort = 4

    def __init__(self, space: StateSpace, spaces: Mapping[int, StateSpace]) -> None:
        self.space = space
        self.spaces = spaces
        self.closed: set[int] = set()
        self.open: dict[int, set[int]] = {}

    def close(self, cost: int) -> Layer:
        """Moves the open states of ``cost`` to the closed list; returns the new ones."""
        new = self.open.pop(cost, set()) - self.closed
        self.closed |= new
        return array("Q", new) if self.space.packing.width <= 64 else tuple(new)

    def expand(self, states: Layer, cost: int) -> list[int]:
        """Opens the successors of ``states`` of ``cost``; returns the new costs among theirs."""
        new = []
        for more, space in self.spaces.items():
            if cost + more not in self.open:
                self.open[cost + more] = set()
                new.append(cost + more)
            space.expand(states, self.open[cost + more].add)
        return new

    def goals(self, layer: Layer) -> list[int]:
        """The goal states in ``layer``."""
        return self.space.goals_among(layer)

    def generated(self) -> int:
        """Number of open and closed states; those open under two costs count twice."""
        return len(self.closed) + sum(map(len, self.open.values()))

    def closed_count(self) -> int:
        """Number of closed states."""
        return len(self.closed)

    def projections(self, mask: int) -> Collection[int]:
        """The distinct projections of the closed states onto ``mask``."""
        return {state & mask for state in self.closed}


class _Regression:
    """Finds a predecessor of a state by regression, as parents are not stored."""

    def __init__(self, space: StateSpace) -> None:
        self.space = space
        self.variables = space.packing.variables
        self._effects = [_certain_effect(move) for move in space.moves]

    def predecessor(self, state: int, layer: Layer) -> tuple[int, int] | None:
        """An operator and a state of ``layer`` from which it leads to ``state``, if any.

        The last such operator in the task's order, so that of actions in arbitrary order those
        declared first come first.
        """
        # Arrays of numpy are sorted; converting them to sets would take longer than the search.
        members = frozenset(layer) if isinstance(layer, array | tuple) else _Sorted(layer)
        moves = self.space.moves
        places = [i for i, (field, value) in enumerate(self._effects) if state & field == value]
        for place in reversed(places):
            move = moves[place]
            for candidate in self._candidates(move, state, layer):
                if (
                    candidate in members
                    and move.test.holds(candidate)
                    and move.apply(candidate) == state
                ):
                    return move.index, candidate
        return None

    def _candidates(self, move: PackedOperator, state: int, layer: Layer) -> Iterable[int]:
        """Candidate predecessors: variables that the move changes may have any value."""
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
        # Sorted, so that the result does not depend on the layer's type.
        return _fillings(base, free) if count <= _MAX_CANDIDATES else map(int, sorted(layer))


def _certain_effect(move: PackedOperator) -> tuple[int, int]:
    """The fields that a move always sets, and their values."""
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


def integer_costs(costs: Iterable[float]) -> tuple[list[int], int]:
    """Scales costs to integers, so that sums and comparisons are exact.

    A cost is taken as the decimal it is written as: 0.1 is a tenth.

    Returns:
        The scaled costs, and the scale.
    """
    listed = list(costs)
    exact = {cost: Fraction(repr(cost)) for cost in set(listed)}
    scale = lcm(*(each.denominator for each in exact.values()))
    whole = {cost: int(each * scale) for cost, each in exact.items()}
    return [whole[cost] for cost in listed], scale
