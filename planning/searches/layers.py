"""Breadth-first search by whole layers of states.

A layer is a set of integers, and no parent is stored: the plan is found afterwards, backwards from
the goal states through the layers.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable
from itertools import islice

from galley.domain.failure import Failure
from galley.planning.explain import explain_exhausted
from galley.planning.limits import Meter
from galley.planning.searches.regression import Layer, Regression
from galley.planning.searches.result import Plan, limit_failure, plan_of
from galley.planning.space import StateSpace

_CHUNK = 4096  # states expanded between two looks at the limits
# States in a layer from which arrays are faster than sets, if numpy is loaded and if it is not. The
# plan is the same either way: all goal states of a layer are known before one is chosen.
_LARGE = 1500
_LARGE_ENOUGH_TO_LOAD = 15_000
_ARRAY_CHUNK = 1 << 16
_ENDS = 32  # goal states that are looked at to choose one


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
        states = map(self.space.decode, read_by_goal)
        return explain_exhausted(self.space.task, states, count)

    def _limit(self, reached: str, generated: int) -> Failure:
        return limit_failure(
            reached, expanded=self.expanded, generated=generated, seconds=self.meter.seconds
        )

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
