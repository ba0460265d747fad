"""A skill: how one symbolic action becomes Motions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from galley.domain.failure import Failure
from galley.domain.scene.model import Binding, Region, Stance
from galley.domain.state import State
from galley.motion.motion import Motion
from galley.skills.manipulation.manipulation import Manipulation
from galley.skills.solving.context import PlanningContext


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


@dataclass(frozen=True)
class Role:
    """What an action does to the things that it names, for looking ahead and for feedback.

    Each attribute is the position of a parameter, or None where the action does no such thing.

    Attributes:
        takes: the item that leaves the place where it stands.
        puts: the item that is put down.
        place: the furniture that it is taken from, or put on or in.
        opens: the furniture that is open at some time during the action.
        closes: the furniture that is shut afterwards.
        uses: the furniture or item that the action works on where none of the above is said.
    """

    takes: int | None = None
    puts: int | None = None
    place: int | None = None
    opens: int | None = None
    closes: int | None = None
    uses: int | None = None

    @property
    def works_on(self) -> tuple[int, ...]:
        """What it takes, puts, opens, closes or uses, in this order; nothing for a mere drive."""
        every = (self.takes, self.puts, self.opens, self.closes, self.uses)
        return tuple(dict.fromkeys(i for i in every if i is not None))


class Skill(ABC):
    """One skill, one PDDL action. A subclass needs ``parameters`` and ``refine``.

    Attributes:
        parameters: what the action's parameters are, in order: ``item``, ``furniture``, ``hand``.
        role: what it does to them.
        prepares: it only gets ready for the action after it; what blocks that one blocks it.
        standard_grasps: it takes items and handles by the grasps of ``manipulation.grasps`` and by
            no others, so that a proof about these holds for it. Subclasses don't inherit it.
    """

    parameters: ClassVar[tuple[str, ...]]
    role: ClassVar[Role] = Role()
    prepares: ClassVar[bool] = False
    standard_grasps: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.standard_grasps = cls.__dict__.get("standard_grasps", False)

    @abstractmethod
    def refine(
        self,
        context: PlanningContext,
        action: BoundAction,
        upcoming: tuple[BoundAction, ...],
        state: State,
        rng: np.random.Generator,
    ) -> tuple[Motion, ...] | Failure:
        """The Motions that carry the action out from ``state``; ``upcoming`` follow it.

        None at all where the action changes only symbols.
        """

    def first_contacts(
        self, context: PlanningContext, action: BoundAction, state: State, rng: np.random.Generator
    ) -> Iterator[Manipulation]:
        """What the action would do first with the hand: decides where to stand. May be empty."""
        return iter(())

    def resumes(self, context: PlanningContext, action: BoundAction, state: State) -> bool:
        """Whether ``refine`` carries on from ``state`` with an action that was interrupted in it.

        Asked where things did not go as planned in the middle of the action, so that what it needs
        at its beginning may no longer be so: the item is out of the hand already, the drawer half
        open. False where it has to be planned anew.
        """
        return False

    def impossible(
        self, context: PlanningContext, action: BoundAction, state: State
    ) -> Failure | None:
        """A certified Failure that holds from wherever the action is tried and needs no search.

        ``state`` is the task's start. What could change before the action comes (other items, an
        item's place) must not be counted on; None where nothing is known.
        """
        return None


class LooksAhead(Skill):
    """A skill to which it matters what the actions after it do: ``skills`` tell, by their names."""

    def __init__(self, skills: Mapping[str, Skill] = MappingProxyType({})) -> None:
        self.skills = skills


def stance_of(context: PlanningContext, place: Binding) -> Stance:
    """The stance set of a piece of furniture."""
    return context.scene.stance(place.target)


def region_of(context: PlanningContext, place: Binding) -> Region | None:
    """Where things are put on or in a piece of furniture."""
    return context.scene.region(place.region) if place.region else None
