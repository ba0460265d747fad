"""Large layers of states as sorted arrays of 64-bit integers.

The decision tree of the successor generator (see ``space``) splits whole arrays here, with numpy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set

import numpy as np
import numpy.typing as npt

from galley.planning.states.packing import PackedCondition, PackedOperator
from galley.planning.states.space import BranchingHeuristic, Layer, StateSpace, split

States = npt.NDArray[np.uint64]
_SPLIT = 256  # states below which splitting further does not pay
_WORD = (1 << 64) - 1


class _Expander:
    """Successor generator for arrays of states."""

    def __init__(self, space: StateSpace) -> None:
        self.space = space
        self.decisions = BranchingHeuristic(space.moves, space.packing.variables)

    def successors(self, states: States) -> States:
        """The successors of ``states`` (n,), sorted and distinct."""
        parts: list[States] = []
        self._tree(states, self.space.moves, 0, parts)
        if not parts:
            return states[:0]
        return _distinct(np.concatenate(parts))

    def _tree(
        self, states: States, moves: Sequence[PackedOperator], known: int, parts: list[States]
    ) -> None:
        if not len(states):
            return
        field = self.decisions.branching_variable(moves, known) if len(states) > _SPLIT else 0
        if not field:
            for move in moves:
                passing = states[_passing(move.test, states, known)]
                if len(passing):
                    parts.append(_after(move, passing))
            return
        branches, others = split(moves, field)
        values = states & np.uint64(field)
        for value, branch in branches.items():
            self._tree(states[values == np.uint64(value)], branch, known | field, parts)
        if others:
            self._tree(states, others, known, parts)


def _distinct(states: States) -> States:
    """``states`` sorted, without duplicates. Sorts in place."""
    # numpy.unique hashes integers, which is several times slower.
    states.sort()
    first = np.empty(len(states), dtype=bool)
    first[:1] = True
    np.not_equal(states[1:], states[:-1], out=first[1:])
    return states[first]


def _passing(test: PackedCondition, states: States, known: int = 0) -> npt.NDArray[np.bool_]:
    """Which of ``states`` pass ``test``, apart from the bits ``known`` to pass."""
    mask = test.mask & ~known
    passing: npt.NDArray[np.bool_] = (states & np.uint64(mask)) == np.uint64(test.value & mask)
    for field, value in test.unequal:
        passing &= (states & np.uint64(field)) != np.uint64(value)
    for choice in test.any_of:
        either = np.zeros(len(states), dtype=bool)
        for part in choice:
            either |= _passing(part, states)
        passing &= either
    return passing


def _after(move: PackedOperator, states: States) -> States:
    """The successors of ``states``, all of which pass the move's test."""
    after = states
    for step in move.steps:
        changed = (after & np.uint64(~step.field & _WORD)) | np.uint64(step.value)
        after = (
            changed
            if step.test == PackedCondition()
            else np.where(_passing(step.test, states), changed, after)
        )
    return after


class _ClosedStates:
    """The closed list, as a few sorted runs of rapidly growing size."""

    def __init__(self, states: Iterable[int], count: int) -> None:
        first = np.fromiter(states, dtype=np.uint64, count=count)
        first.sort()
        self.runs = [first]

    def __len__(self) -> int:
        return sum(map(len, self.runs))

    def projections(self, mask: int) -> list[int]:
        """The distinct projections of the states onto ``mask``."""
        parts = [_distinct(run & np.uint64(mask)) for run in self.runs]
        projections: list[int] = _distinct(np.concatenate(parts)).tolist()
        return projections

    def unseen(self, states: States) -> States:
        """Those of ``states``, which are sorted, that are not in the list."""
        for run in self.runs:
            if len(run) and len(states):
                index = np.searchsorted(run, states)
                index[index == len(run)] = 0
                states = states[run[index] != states]
        return states

    def add(self, states: States) -> None:
        """Adds new states, sorted."""
        self.runs.append(states)
        # Merging runs of similar size keeps their number logarithmic.
        while len(self.runs) > 1 and len(self.runs[-2]) < 4 * len(self.runs[-1]):
            last = self.runs.pop()
            merged = np.concatenate([self.runs.pop(), last])
            merged.sort(kind="stable")
            self.runs.append(merged)


class ArrayFrontier:
    """Open and closed lists of a uniform-cost search as sorted arrays of 64-bit states."""

    chunk = 1 << 16
    effort = 1

    def __init__(
        self,
        space: StateSpace,
        spaces: Mapping[int, StateSpace],
        known: Set[int],
        waiting: Mapping[int, Set[int]],
    ) -> None:
        """Takes over closed and open states from sets."""
        self.goal = space.goal
        self.expanders = {cost: _Expander(each) for cost, each in spaces.items()}
        self.closed = _ClosedStates(known, len(known))
        self.open = {cost: [_sorted(states)] for cost, states in waiting.items()}

    def close(self, cost: int) -> Layer:
        """Moves the open states of ``cost`` to the closed list; returns the new ones."""
        parts = self.open.pop(cost, [])
        if not parts:
            return ()
        fresh = parts[0] if len(parts) == 1 else _distinct(np.concatenate(parts))
        if len(self.expanders) > 1:  # some may have been closed meanwhile
            fresh = self.closed.unseen(fresh)
        if len(fresh):
            self.closed.add(fresh)
        return fresh  # type: ignore[return-value]  # used as a sequence

    def expand(self, states: Layer, cost: int) -> list[int]:
        """Opens the successors of ``states``; returns the new costs among theirs."""
        new = []
        table = np.asarray(states, dtype=np.uint64)
        for more, expander in self.expanders.items():
            after = expander.successors(table)
            if not len(after):
                continue
            parts = self.open.get(cost + more)
            if parts is None:
                parts = self.open[cost + more] = []
                new.append(cost + more)
            # Most successors are closed already.
            parts.append(self.closed.unseen(after))
        return new

    def goals(self, layer: Layer) -> list[int]:
        """The goal states in ``layer``."""
        if self.goal is None:
            return []
        states = np.asarray(layer, dtype=np.uint64)
        goals: list[int] = states[_passing(self.goal, states)].tolist()
        return goals

    def generated(self) -> int:
        """Number of open and closed states."""
        return len(self.closed) + sum(len(part) for each in self.open.values() for part in each)

    def closed_count(self) -> int:
        """Number of closed states."""
        return len(self.closed)

    def projections(self, mask: int) -> list[int]:
        """The distinct projections of the closed states onto ``mask``."""
        return self.closed.projections(mask)


def _sorted(states: Set[int]) -> States:
    return np.sort(np.fromiter(states, dtype=np.uint64, count=len(states)))
