"""States by the hundred thousand: layers as sorted arrays of 64-bit integers.

The same decision tree over variables that ``space`` writes out for one state splits a whole
array here, so each state meets only the moves it may pass, at the speed of numpy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set

import numpy as np
import numpy.typing as npt

from galley.planning.states.packing import Move, Test
from galley.planning.states.space import Decisions, Layer, StateSpace, split

States = npt.NDArray[np.uint64]
_SPLIT = 256  # states below which splitting further costs more than it saves
_WORD = (1 << 64) - 1


class _Expander:
    """Successors of arrays of states."""

    def __init__(self, space: StateSpace) -> None:
        self.space = space
        self.decisions = Decisions(space.moves, space.packing.variables)

    def successors(self, states: States) -> States:
        """Every successor of ``states`` (n,), sorted, without repetition."""
        found: list[States] = []
        self._tree(states, self.space.moves, 0, found)
        if not found:
            return states[:0]
        return _distinct(np.concatenate(found))

    def _tree(self, states: States, moves: Sequence[Move], known: int, found: list[States]) -> None:
        if not len(states):
            return
        field = self.decisions.best_field(moves, known) if len(states) > _SPLIT else 0
        if not field:
            for move in moves:
                passing = states[_passing(move.test, states, known)]
                if len(passing):
                    found.append(_after(move, passing))
            return
        branches, others = split(moves, field)
        values = states & np.uint64(field)
        for value, some in branches.items():
            self._tree(states[values == np.uint64(value)], some, known | field, found)
        if others:
            self._tree(states, others, known, found)


def _distinct(states: States) -> States:
    """``states`` sorted, each once. Sorts in place."""
    # numpy.unique hashes integers, which is several times slower than sorting them.
    states.sort()
    first = np.empty(len(states), dtype=bool)
    first[:1] = True
    np.not_equal(states[1:], states[:-1], out=first[1:])
    return states[first]


def _passing(test: Test, states: States, known: int = 0) -> npt.NDArray[np.bool_]:
    """Which of ``states`` pass ``test``, the bits ``known`` apart, which pass already."""
    mask = test.mask & ~known
    passing: npt.NDArray[np.bool_] = (states & np.uint64(mask)) == np.uint64(test.value & mask)
    for field, value in test.unequal:
        passing &= (states & np.uint64(field)) != np.uint64(value)
    for choice in test.any_of:
        one = np.zeros(len(states), dtype=bool)
        for part in choice:
            one |= _passing(part, states)
        passing &= one
    return passing


def _after(move: Move, states: States) -> States:
    """The states that follow ``states``, all of which pass the move's test."""
    after = states
    for step in move.steps:
        changed = (after & np.uint64(~step.field & _WORD)) | np.uint64(step.value)
        after = (
            changed
            if step.test == Test()
            else np.where(_passing(step.test, states), changed, after)
        )
    return after


class _SeenStates:
    """States seen so far, as few sorted runs of rapidly growing size."""

    def __init__(self, states: Iterable[int], count: int) -> None:
        first = np.fromiter(states, dtype=np.uint64, count=count)
        first.sort()
        self.runs = [first]

    def __len__(self) -> int:
        return sum(map(len, self.runs))

    def masked(self, mask: int) -> list[int]:
        """What ``mask`` leaves of the states, each once."""
        parts = [_distinct(run & np.uint64(mask)) for run in self.runs]
        found: list[int] = _distinct(np.concatenate(parts)).tolist()
        return found

    def unseen(self, states: States) -> States:
        """Those of ``states``, which are sorted, that have not been seen."""
        for run in self.runs:
            if len(run) and len(states):
                place = np.searchsorted(run, states)
                place[place == len(run)] = 0
                states = states[run[place] != states]
        return states

    def add(self, states: States) -> None:
        """Adds states that have not been seen, sorted."""
        self.runs.append(states)
        # Merging runs of similar size keeps their number logarithmic.
        while len(self.runs) > 1 and len(self.runs[-2]) < 4 * len(self.runs[-1]):
            last = self.runs.pop()
            merged = np.concatenate([self.runs.pop(), last])
            merged.sort(kind="stable")
            self.runs.append(merged)


class Arrays:
    """The frontier of a uniform-cost search, as sorted arrays of states that fit into 64 bits."""

    chunk = 1 << 16
    effort = 1

    def __init__(
        self,
        space: StateSpace,
        spaces: Mapping[int, StateSpace],
        known: Set[int],
        waiting: Mapping[int, Set[int]],
    ) -> None:
        """Takes over from sets: states fit into 64 bits."""
        self.goal = space.goal
        self.expanders = {cost: _Expander(each) for cost, each in spaces.items()}
        self.known = _SeenStates(known, len(known))
        self.waiting = {cost: [_sorted(states)] for cost, states in waiting.items()}

    def take(self, cost: int) -> Layer:
        """States that wait under ``cost`` and are new."""
        parts = self.waiting.pop(cost, [])
        if not parts:
            return ()
        fresh = parts[0] if len(parts) == 1 else _distinct(np.concatenate(parts))
        if len(self.expanders) > 1:  # some may have been taken since they began to wait
            fresh = self.known.unseen(fresh)
        if len(fresh):
            self.known.add(fresh)
        return fresh  # type: ignore[return-value]  # as good as a sequence

    def expand(self, states: Layer, cost: int) -> list[int]:
        """Lets successors wait; returns their costs."""
        new = []
        table = np.asarray(states, dtype=np.uint64)
        for more, expander in self.expanders.items():
            after = expander.successors(table)
            if not len(after):
                continue
            parts = self.waiting.get(cost + more)
            if parts is None:
                parts = self.waiting[cost + more] = []
                new.append(cost + more)
            # Most of what follows at once is known already.
            parts.append(self.known.unseen(after))
        return new

    def goals(self, layer: Layer) -> list[int]:
        """The goal states of ``layer``."""
        if self.goal is None:
            return []
        states = np.asarray(layer, dtype=np.uint64)
        found: list[int] = states[_passing(self.goal, states)].tolist()
        return found

    def generated(self) -> int:
        """States stored."""
        return len(self.known) + sum(len(part) for each in self.waiting.values() for part in each)

    def taken(self) -> int:
        """How many states have been taken."""
        return len(self.known)

    def masked(self, mask: int) -> list[int]:
        """What ``mask`` leaves of the states taken, each once."""
        return self.known.masked(mask)


def _sorted(states: Set[int]) -> States:
    return np.sort(np.fromiter(states, dtype=np.uint64, count=len(states)))
