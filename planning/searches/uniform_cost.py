"""Uniform-cost search without a heuristic, by whole sets of states of one cost.

States wait in one set for each cost. The actions of each cost have an expansion of their own, which
runs through a layer and throws what follows into the set of the higher cost. Neither parents nor
costs are stored with the states: the plan is found backwards through the layers.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from heapq import heappop, heappush
from math import lcm
from typing import TYPE_CHECKING

from galley.domain.failure import Failure
from galley.planning.explain.exhausted import explain_exhausted
from galley.planning.limits import Meter
from galley.planning.operators import Operator
from galley.planning.searches.layers import Regression
from galley.planning.states.space import Layer, StateSpace

if TYPE_CHECKING:  # it needs NumPy, which small searches don't wait for
    from galley.planning.searches.arrays import Arrays

_CHUNK = 4096  # states expanded between two looks at the limits
_LARGE = 4000  # states in a layer, for each cost an action may have, from which arrays are faster


@dataclass(frozen=True)
class _Layer:
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

    def __init__(self, space: StateSpace, costs: Sequence[int]) -> None:
        """Costs are whole numbers, one for each operator of the space."""
        self.space = space
        self.expanded = 0
        self.effort = 0
        self.goal: int | None = None
        self.done = False
        groups: dict[int, list[int]] = {}
        for place, move in enumerate(space.moves):
            groups.setdefault(costs[move.index], []).append(place)
        self._spaces = {
            cost: replace(space, moves=tuple(space.moves[i] for i in groups[cost]))
            for cost in sorted(groups)
        }
        sets = _Sets(space, self._spaces)
        sets.waiting[0] = {space.init}
        self._large = _LARGE * max(1, len(groups))
        self._sets: _Sets | None = sets if space.packing.width <= 64 else None  # may be exchanged
        self._frontier: _Sets | Arrays = sets
        self._order = [0]  # a heap of costs under which states wait
        self._layers: list[_Layer] = []
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
                self._next_layer()
                continue
            over = meter.exceeded(self.expanded + others, _CHUNK)
            if over is not None:
                return over
            layer = self._layers[-1]
            most = min(self._frontier.chunk, meter.nodes_left - self.expanded - others)
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
            self._layers.append(_Layer(cost, states, free_step))
            self._taken = 0
            goals = self._frontier.goals(states)
            if goals:
                self.goal = min(goals)
                self.done = True
            elif self._sets is not None and len(states) >= self._large:
                # Late: a small search shouldn't wait for numpy.
                from galley.planning.searches.arrays import Arrays

                sets, self._sets = self._sets, None
                self._frontier = Arrays(self.space, self._spaces, sets.known, sets.waiting)
            return
        self.done = True

    def plan(self) -> list[Operator]:
        """The plan to ``goal``."""
        assert self.goal is not None
        plan: list[Operator] = []
        state, place = self.goal, len(self._layers) - 1
        while place:
            index, state, place = self._before(state, place)
            plan.append(self.space.operators[index])
        return plan[::-1]

    def _before(self, state: int, place: int) -> tuple[int, int, int]:
        """An operator, and a state and its layer from which it leads to ``state``."""
        layer = self._layers[place]
        for cost, space in self._spaces.items():
            if layer.free_step:
                places = [] if cost else [place - 1]
            else:
                wanted = layer.cost - cost
                places = [i for i in range(place) if self._layers[i].cost == wanted]
            for each in places:
                try:
                    index, before = Regression(space).before(state, self._layers[each].states)
                except LookupError:
                    continue
                return index, before, each
        raise LookupError("no layer leads to this state")


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
