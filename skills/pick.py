"""pick(item, furniture, hand) and take_out: grasp and lift an item, on a surface or in a drawer.

How ``pick`` chooses a grasp, and where to read on:

1. ``manipulation.grasps`` lists grasps from the item's geometry: the standard ones and, as a
   fallback, leaning ones.
2. ``manipulation.contacts.pick_manipulations`` takes grasps in random order, first those that leave
   the hand alone room, and makes each a Manipulation: approach, close, lift.
3. ``manipulation.reach`` finds base and arm configurations for it: from the current stance, then
   from sampled stances of the furniture. ``manipulation.lines`` follows its lines with the arm and
   proves them free of collision.
4. ``manipulation.step.plan_step`` looks ahead: can the item be put down next when it is held like
   this? If so, it plans the free motions to the grasp, and the first grasp for which all of this
   succeeds is taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from galley.domain.failure import Failure
from galley.domain.state import State
from galley.motion.motion import Motion
from galley.skills.infeasibility.refusals import (
    cannot_take,
    no_such_region,
    region_out_of_reach,
    wrong_in_hand,
)
from galley.skills.manipulation.contacts import pick_manipulations
from galley.skills.manipulation.context import PlanningContext
from galley.skills.manipulation.manipulation import Manipulation
from galley.skills.manipulation.step import SkillStep, can_be_placed_later, carry_out
from galley.skills.skill import BoundAction, LookaheadSkill, Role, region_of, stance_of


class Pick(LookaheadSkill):
    """Takes an item with a grasp that also allows putting it down where the plan puts it next."""

    parameters: ClassVar[tuple[str, ...]] = ("item", "furniture", "hand")
    role: ClassVar[Role] = Role(takes=0, place=1)
    standard_grasps: ClassVar[bool] = True

    def refine(
        self,
        context: PlanningContext,
        action: BoundAction,
        upcoming: tuple[BoundAction, ...],
        state: State,
        rng: np.random.Generator,
    ) -> tuple[Motion, ...] | Failure:
        """Plan the Motions that take the item; none if it is in the hand already."""
        index = context.scene.item_index[action.bindings[0].target]
        if state.held == index:
            return ()
        failed = wrong_in_hand(context, state, None)
        if failed is not None:
            return failed
        step = SkillStep(
            lambda s, r: pick_manipulations(context, s, index, r),
            action.bindings[1],
            accepts=can_be_placed_later(context, upcoming, self.skills, index),
        )
        return carry_out(context, action, (step,), state, rng)

    def first_contacts(
        self, context: PlanningContext, action: BoundAction, state: State, rng: np.random.Generator
    ) -> Iterator[Manipulation]:
        """Ways to grasp and lift the item; none if it is in the hand already."""
        index = context.scene.item_index[action.bindings[0].target]
        return iter(()) if state.held == index else pick_manipulations(context, state, index, rng)

    def resumes(self, context: PlanningContext, action: BoundAction, state: State) -> bool:
        """True if the item is in the hand: then nothing is left to do."""
        return state.held == context.scene.item_index[action.bindings[0].target]

    def impossible(
        self, context: PlanningContext, action: BoundAction, state: State
    ) -> Failure | None:
        """A proof that the item is too wide or too heavy for the hand, or None.

        For a robot with several hands also that this hand can't reach the place.
        """
        index, place = context.scene.item_index[action.bindings[0].target], action.bindings[1]
        failed = cannot_take(context.scene, state, index, context.robot.gripper)
        region = region_of(context, place)
        if failed is not None or region is None or not context.robot.views:
            return failed
        item, stance = context.scene.items[index], stance_of(context, place)
        return region_out_of_reach(context, item, region, stance, spot=place.spot, wholly=False)


class TakeOut(Pick):
    """Takes an item out of a drawer that is open."""

    standard_grasps: ClassVar[bool] = True

    def impossible(
        self, context: PlanningContext, action: BoundAction, state: State
    ) -> Failure | None:
        """A refusal if the furniture has no inside; else the same as for ``Pick``."""
        region = region_of(context, action.bindings[1])
        if region is None or region.kind != "volume":
            return no_such_region(action.bindings[1].object, "inside to take things out of")
        return super().impossible(context, action, state)
