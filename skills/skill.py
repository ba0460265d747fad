"""The interface of a skill, which refines one symbolic action to Motions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from galley.domain.failure import Failure
from galley.domain.log import Log
from galley.domain.scene.model import Binding, Region, Scene, Stance
from galley.domain.state import State
from galley.motion.motion import Motion
from galley.robots.model import RobotModel
from galley.skills.manipulation.context import PlanningContext
from galley.skills.manipulation.manipulation import Manipulation


@dataclass(frozen=True)
class BoundAction:
    """An action of a plan, with its arguments bound to the scene.

    Attributes:
        index: its position in the plan, from 0.
        name: the name of the PDDL action.
        bindings: the arguments' bindings to the scene, in order.
    """

    index: int
    name: str
    bindings: tuple[Binding, ...]

    def __str__(self) -> str:
        return " ".join([self.name, *(b.object for b in self.bindings)])


@dataclass(frozen=True)
class Role:
    """What an action does to its parameters. The search and other skills use it to look ahead.

    Each attribute is the position of a parameter of the action, or None.

    Attributes:
        takes: the item that is picked up.
        puts: the item that is put down.
        pushes: the item that is pushed over its support, without being in a hand.
        source: the furniture that the item is pushed from.
        place: the furniture that the item is taken from, put on or in, or pushed to.
        opens: the furniture that is open at some time during the action.
        closes: the furniture that is shut afterwards.
        uses: the furniture or item that the action works on in any other way.
        goes: the furniture that the base drives to.
    """

    takes: int | None = None
    puts: int | None = None
    pushes: int | None = None
    source: int | None = None
    place: int | None = None
    opens: int | None = None
    closes: int | None = None
    uses: int | None = None
    goes: int | None = None

    @property
    def works_on(self) -> tuple[int, ...]:
        """Positions of what it takes, puts, pushes, opens, closes or uses; empty for a drive."""
        every = (self.takes, self.puts, self.pushes, self.opens, self.closes, self.uses)
        return tuple(dict.fromkeys(i for i in every if i is not None))

    @property
    def removes(self) -> int | None:
        """Position of the item that no longer stands where it stood: taken or pushed."""
        return self.takes if self.pushes is None else self.pushes

    @property
    def sets(self) -> int | None:
        """Position of the item that stands at ``place`` afterwards: put down or pushed."""
        return self.puts if self.pushes is None else self.pushes


class Skill(ABC):
    """Refines one PDDL action to Motions. A subclass needs ``parameters`` and ``refine``.

    Attributes:
        parameters: kinds of the action's parameters, in order: ``item``, ``furniture``, ``hand``.
        role: what the action does to its parameters.
        prepares: whether the action only prepares the next one, as a drive does. Then whatever
            blocks the next one also blocks this one.
        standard_grasps: whether the skill uses the grasps of ``manipulation.grasps`` and no others,
            so that proofs about these hold for it. Subclasses don't inherit it.
    """

    parameters: ClassVar[tuple[str, ...]]
    role: ClassVar[Role] = Role()
    prepares_next: ClassVar[bool] = False
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
        """Plan the action's Motions from ``state``.

        Args:
            context: the scene, robot, world and settings.
            action: the action.
            upcoming: the actions after it in the plan.
            state: the State in which its first Motion begins.
            rng: the only source of randomness.

        Returns:
            The Motions; an empty tuple if nothing has to move; or a Failure that says why no
            Motions were found.
        """

    def first_contacts(
        self, context: PlanningContext, action: BoundAction, state: State, rng: np.random.Generator
    ) -> Iterator[Manipulation]:
        """Yield what the hand may do first. ``navigate`` chooses a stance from which it can."""
        return iter(())

    def contacts_in_view(
        self,
        context: PlanningContext,
        action: BoundAction,
        upcoming: tuple[BoundAction, ...],
        state: State,
        rng: np.random.Generator,
    ) -> Iterator[Manipulation]:
        """``first_contacts`` for a skill whose choice depends on the actions after it."""
        return self.first_contacts(context, action, state, rng)

    def resumes(self, context: PlanningContext, action: BoundAction, state: State) -> bool:
        """Whether ``refine`` can complete an interrupted action from ``state``.

        The action's preconditions may no longer hold: the item is put down already, the drawer is
        half open. If False, the task is planned again.
        """
        return False

    def impossible(
        self, context: PlanningContext, action: BoundAction, state: State
    ) -> Failure | None:
        """A Failure with a certificate if the action can never be done; else None.

        The proof must not depend on what other actions can change, such as where items stand. No
        search is made: this is called for many actions before any motion is planned.

        Args:
            state: the State at the start of the task.
        """
        return None

    def judge(
        self, scene: Scene, log: Log, predicate: str, things: tuple[Binding, ...]
    ) -> tuple[bool, str] | None:
        """Judge from the execution whether a goal fact without a geometric meaning holds.

        Args:
            scene: the scene as it was known.
            log: every executed state.
            predicate: the fact's name.
            things: the bindings of its arguments.

        Returns:
            Whether the fact holds, and why, for the report; or None if this skill can't tell. Then
            the next skill judges; if none can tell, the plan's symbolic effects decide.
        """
        return None


class LookaheadSkill(Skill):
    """A skill that looks ahead to the actions after it.

    Attributes:
        skills: the skill of each action, by its name.
    """

    def __init__(self, skills: Mapping[str, Skill] = MappingProxyType({})) -> None:
        self.skills = skills


def acting_hand(robot: RobotModel, plan: Sequence[BoundAction], k: int = 0) -> str:
    """Name of the hand that acts in ``plan[k]``.

    The first hand among its arguments; if it has none, that of the next action with a hand, so that
    a drive places the base for the hand which acts next; else that of the last action before it.
    Empty for a robot with one hand, or if no action names a hand.
    """
    actions = (*plan[k:], *reversed(plan[:k])) if robot.views else ()
    hands = (b.target for action in actions for b in action.bindings if b.kind == "hand")
    return next(hands, "")


def stance_of(context: PlanningContext, place: Binding) -> Stance:
    """The stance set of a piece of furniture."""
    return context.scene.stance(place.target)


def region_of(context: PlanningContext, place: Binding) -> Region | None:
    """The region on or in a piece of furniture; None if it has none."""
    return context.scene.region(place.region) if place.region else None
