"""The effort of a search: everything that it tries, counted in one unit."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

# Tries that each kind of work counts as.
_COSTS = {
    "ways": 1.0,  # a way to grasp an item or to put it down, from one base pose
    "refinements": 20.0,  # a refinement of an action, with its motions
    "diagnoses": 20.0,  # a refinement in a counterfactual world
    "plans": 40.0,  # a plan of the task planner
    "pushes": 0.05,  # a push that is checked for room and reach
    "states": 0.05,  # a state that the task planner expands
}


@dataclass
class Effort:
    """What a search has tried so far, in tries.

    One try is one way to grasp an item or to put it down, from one base pose. It takes about 1 ms.
    Other work counts as the number of tries that takes about as long.

    Attributes:
        counts: how often each kind of work was done, by its name in ``_COSTS``.
    """

    counts: Counter[str] = field(default_factory=Counter)

    def spend(self, what: str, count: int = 1) -> None:
        """Add ``count`` to the work of one kind, a name in ``_COSTS``."""
        self.counts[what] += count

    @property
    def tries(self) -> float:
        """The total effort, in tries."""
        return sum(_COSTS[what] * count for what, count in self.counts.items())
