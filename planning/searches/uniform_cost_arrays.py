"""The frontier of a uniform-cost search as sorted arrays, for large layers."""

from __future__ import annotations

from collections.abc import Mapping, Set

import numpy as np

from galley.planning.searches.arrays import ArrayExpander, SeenStates, States, distinct
from galley.planning.searches.regression import Layer
from galley.planning.space import StateSpace


class Arrays:
    """A ``uniform_cost.Frontier`` of states that fit into 64 bits."""

    chunk = 1 << 16
    effort = 1

    def __init__(
        self,
        space: StateSpace,
        spaces: Mapping[int, StateSpace],
        known: Set[int],
        waiting: Mapping[int, Set[int]],
    ) -> None:
        self.expanders = {cost: ArrayExpander(each) for cost, each in spaces.items()}
        self.whole = ArrayExpander(space)
        self.known = SeenStates(known, len(known))
        self.waiting = {cost: [_sorted(states)] for cost, states in waiting.items()}

    def take(self, cost: int) -> Layer:
        """States that wait under ``cost`` and are new."""
        parts = self.waiting.pop(cost, [])
        if not parts:
            return ()
        fresh = self.known.unseen(parts[0] if len(parts) == 1 else distinct(np.concatenate(parts)))
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
        found: list[int] = self.whole.goals(np.asarray(layer, dtype=np.uint64)).tolist()
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
