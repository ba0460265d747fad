"""A skill: how one symbolic action becomes Motions."""

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
    """An action of the plan, its arguments bound to the scene.

    Attributes:
        index: position in the plan.
        name: of the PDDL action.
        bindings: what its arguments are in the scene, in order.
    """

    index: int
    name: str
    bindings: tuple[Binding, ...]

    def __str__(self) -> str:
        return " ".join([self.name, *(b.object for b in self.bindings)])


@dataclass(frozen=True)
class Role:
    """What an action does to its parameters. The search and other skills look ahead by it.

    Each attribute is the position of a parameter, or None.

    Attributes:
        takes: the item that is picked up.
        puts: the item that is put down.
        pushes: the item that is pushed over its support, without being in a hand.
        source: the furniture that the item is pushed from.
        place: the furniture that the item is taken from, or put on or in, or pushed to.
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
        """What it takes, puts, pushes, opens, closes or uses, in this order; empty for a drive."""
        every = (self.takes, self.puts, self.pushes, self.opens, self.closes, self.uses)
        return tuple(dict.fromkeys(i for i in every if i is not None))

    @property
    def removes(self) -> int | None:
        """The item that no longer stands where it stood."""
        return self.takes if self.pushes is None else self.pushes

    @property
    def sets(self) -> int | None:
        """The item that stands at the place afterwards."""
        return self.puts if self.pushes is None else self.pushes


class Skill(ABC):
    """Carries out one PDDL action. A subclass needs ``parameters`` and ``refine``.

    Attributes:
        parameters: kinds of the action's parameters, in order: ``item``, ``furniture``, ``hand``.
        role: what the action does to them.
        prepares: the action only prepares the next one; what blocks that one blocks this one.
        standard_grasps: the skill uses the grasps of ``manipulation.grasps`` and no others, so
            that proofs about these hold for it. Not inherited.
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
        """Plan the action's Motions from ``state``.

        Args:
            context: scene, robot, world and settings.
            action: the action.
            upcoming: the actions after it.
            state: where its first Motion begins.
            rng: the only source of randomness.

        Returns:
            The Motions, an empty tuple if nothing has to move, or why there are none.
        """

    def first_contacts(
        self, context: PlanningContext, action: BoundAction, state: State, rng: np.random.Generator
    ) -> Iterator[Manipulation]:
        """What the hand may do first; ``navigate`` chooses the stance by it. May be empty."""
        return iter(())

    def contacts_in_view(
        self,
        context: PlanningContext,
        action: BoundAction,
        upcoming: tuple[BoundAction, ...],
        state: State,
        rng: np.random.Generator,
    ) -> Iterator[Manipulation]:
        """``first_contacts`` where the actions after it are known, which may matter to it."""
        return self.first_contacts(context, action, state, rng)

    def resumes(self, context: PlanningContext, action: BoundAction, state: State) -> bool:
        """Whether ``refine`` can complete an interrupted action from ``state``.

        The action's preconditions may no longer hold: the item is put down already, the drawer is
        half open. If False, the task is planned anew.
        """
        return False

    def impossible(
        self, context: PlanningContext, action: BoundAction, state: State
    ) -> Failure | None:
        """A certified Failure that holds whenever the action is tried; None if there is none.

        It must not depend on what other actions can change, such as where items stand. No search.

        Args:
            state: at the start of the task.
        """
        return None

    def judge(
        self, scene: Scene, log: Log, predicate: str, things: tuple[Binding, ...]
    ) -> tuple[bool, str] | None:
        """Whether a fact of the goal without a geometric meaning holds, from what was executed.

        Args:
            scene: as it was known. log: every executed state.
            predicate, things: the fact: its name, and what its arguments are in the scene.

        Returns:
            Whether it holds and why, for the report; None where this skill can't tell. Then the
            next skill is asked; if none can tell, the plan's symbolic effects decide.
        """
        return None


class LookaheadSkill(Skill):
    """A skill that looks at the actions after it; ``skills`` maps their names to their skills."""

    def __init__(self, skills: Mapping[str, Skill] = MappingProxyType({})) -> None:
        self.skills = skills


def acting_hand(robot: RobotModel, plan: Sequence[BoundAction], k: int = 0) -> str:
    """Name of the hand that acts in ``plan[k]``: its first, or that of the next action with one.

    Before a drive it is thus the hand for which the base is placed; after the last action with a
    hand, that one's. Empty for a robot with one hand, and where no action has any.
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
