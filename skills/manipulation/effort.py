"""The effort of a search: all that it tries, counted in one unit."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

_COSTS = {
    "ways": 1.0,  # to grasp or to put down a thing, each from one base pose
    "refinements": 20.0,  # of actions, with their motions
    "diagnoses": 20.0,  # refinements in counterfactual worlds
    "plans": 40.0,
    "pushes": 0.05,  # looked at for room and reach
    "states": 0.05,  # that the task planner expands
}


@dataclass
class Effort:
    """What was tried so far, in tries.

    A try is one way to grasp or to put down a thing from one base pose, and takes about 1 ms. Other
    work counts as many tries as take about as long.

    Attributes:
        counts: how often what was tried: the kinds above.
    """

    counts: Counter[str] = field(default_factory=Counter)

    def spend(self, what: str, count: int = 1) -> None:
        """Count more of one kind of work."""
        self.counts[what] += count

    @property
    def tries(self) -> float:
        """All of it."""
        return sum(_COSTS[what] * count for what, count in self.counts.items())
