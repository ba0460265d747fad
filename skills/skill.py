"""A skill: how one symbolic action becomes Motions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from galley.domain.failure import Failure
from galley.domain.scene import Binding, Region, Stance
from galley.domain.state import State
from galley.motion.motion import Motion
from galley.skills.manipulation import Manipulation
from galley.skills.workbench import Workbench


@dataclass(frozen=True)
class BoundAction:
    """A plan's action with its arguments bound to the scene.

    Attributes:
        index: position in the plan.
        name: the PDDL action's name.
        bindings: of its arguments, in order.
    """

    index: int
    name: str
    bindings: tuple[Binding, ...]

    def __str__(self) -> str:
        return " ".join([self.name, *(b.object for b in self.bindings)])


class Skill(Protocol):
    """One skill, one PDDL action.

    Attributes:
        parameters: what the action's parameters are, in order: ``item``, ``furniture``, ``hand``.
    """

    parameters: tuple[str, ...]

    def refine(
        self,
        bench: Workbench,
        action: BoundAction,
        upcoming: tuple[BoundAction, ...],
        state: State,
        rng: np.random.Generator,
    ) -> tuple[Motion, ...] | Failure:
        """The Motions that carry the action out from ``state``; ``upcoming`` follow it."""
        ...

    def first_contacts(
        self, bench: Workbench, action: BoundAction, state: State, rng: np.random.Generator
    ) -> Iterator[Manipulation]:
        """What the action would do first with the hand: decides where to stand. May be empty."""
        ...

    def impossible(self, bench: Workbench, action: BoundAction, state: State) -> Failure | None:
        """A certified Failure that needs no search, or None."""
        ...


def stance_of(bench: Workbench, place: Binding) -> Stance:
    """The stance set of a piece of furniture."""
    return bench.scene.stance(place.target)


def region_of(bench: Workbench, place: Binding) -> Region | None:
    """Where things are put on or in a piece of furniture."""
    return bench.scene.region(place.region) if place.region else None
