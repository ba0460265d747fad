"""pick(item, furniture, hand) and take_out: grasp and lift an item, on a surface or in a drawer.

How ``pick`` chooses a grasp, and where to read on:

1. ``manipulation.grasps`` lists grasps from the item's geometry: the standard ones and, as a
   fallback, leaning ones.
2. ``pick_manipulations``, here, takes grasps in random order, after the first few those that leave
   the hand alone room, and makes each a Manipulation: approach, close, lift.
3. ``manipulation.step.plan_step`` finds base and arm configurations for it: from the current
   stance, then from sampled stances of the furniture. ``manipulation.lines`` follows its lines
   with the arm and proves them free of collision.
4. ``plan_step`` looks ahead: can the item be put down next when it is held like this? If so,
   ``manipulation.motion_builder`` plans the free motions to the grasp, and the first grasp for
   which all of this succeeds is taken.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import cycle, islice
from typing import ClassVar

import numpy as np

from galley.collision.checker import pairs
from galley.domain.failure import Failure
from galley.domain.frames import Array, inverse
from galley.domain.log import CLOSE
from galley.domain.scene.model import HAND, Grasp
from galley.domain.state import Placement, State, item_pose
from galley.motion.motion import Attachment, Motion
from galley.skills.infeasibility.refusals import (
    cannot_take,
    no_such_region,
    region_out_of_reach,
    wrong_in_hand,
)
from galley.skills.manipulation.contacts import (
    BATCH,
    UNCHECKED,
    approach_lines,
    finger_openings,
    grip_guard,
    height_over,
    supports_of,
    touching_items,
    with_room,
)
from galley.skills.manipulation.context import PlanningContext
from galley.skills.manipulation.grasp_families import widest_opening
from galley.skills.manipulation.grasps import (
    grasps_at,
    hand_in_item,
    item_in_hand,
    leaning_grasps,
    may_turn,
)
from galley.skills.manipulation.manipulation import (
    CARRY_SPEED,
    GripperMotion,
    Line,
    Manipulation,
    shifted,
    straight,
)
from galley.skills.manipulation.step import SkillStep, can_be_placed_later, carry_out
from galley.skills.skill import BoundAction, LookaheadSkill, Role, region_of, stance_of

_ALIKE = math.cos(math.radians(2.0))  # two grasps turned by less than this are the same
_SAME_PLACE = 0.002  # m, the same for their positions


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


def pick_manipulations(
    context: PlanningContext, state: State, index: int, rng: np.random.Generator
) -> Iterator[Manipulation]:
    """Ways to pick an item that stands or lies: approach, close, lift. Empty if no grasp exists.

    Grasps come in the order of ``_grasps_in_turns``; the lift is short and high in turn, the
    fingers open widely and narrowly in turn. Items that stand too near for a free motion to start
    beside them may touch the picked item during the lift, which then ends above them.
    """
    scene, fingers, openings = context.scene, context.robot.fingers, finger_openings(context)
    item = scene.items[index]
    X_WI = item_pose(scene, state, index, np.eye(4))
    under, near = supports_of(context, state, index), touching_items(context, state, index)
    spacing = context.robot.spacing
    high = max(spacing.lift, height_over(context, state, index, under))
    lifts = cycle((high,) if near else dict.fromkeys((spacing.lift, high)))
    grip = pairs(fingers, (item.name,))
    touch = grip | pairs((item.name,), (*under, *near))
    held = (Attachment("item", item.name),)
    for grasp in _grasps_in_turns(context, state, index, rng):
        exact = X_WI @ hand_in_item(grasp, context.robot.p_HT)
        # An arm on a fixed base may only have a pose near that of the grasp.
        X_WH = context.nearest(exact, state)
        X_HI = item_in_hand(grasp, context.robot.p_HT) if X_WH is exact else inverse(X_WH) @ X_WI
        up = straight(X_WH, shifted(X_WH, np.array([0.0, 0.0, next(lifts)])), spacing.step)
        most = widest_opening(item, grasp.X_IT, grasp.width, context.robot.gripper) / 2.0
        opening = min(most, next(openings)(grasp.width / 2.0))
        inside = state.with_item(index, Placement(HAND, X_HI))
        yield Manipulation(
            f"pick {item.name} ({grasp.name})",
            (
                *approach_lines(context, X_WH, opening - grasp.width / 2.0, state, grip),
                GripperMotion(CLOSE, grasp.width / 2.0, touch, (), grip_guard(context, X_WH)),
                Line("lift", up, inside, touch, held, CARRY_SPEED),
            ),
            opening,
        )


def _grasps_in_turns(
    context: PlanningContext, state: State, index: int, rng: np.random.Generator
) -> Iterator[Grasp]:
    """Grasps of an item in the order in which they are tried, endlessly.

    1. A few random standard grasps, without a check of the hand's room.
    2. The other standard grasps at which the hand alone has room.
    3. For an item that may lie, those away from its centre of mass that leave the hand room.
    4. In turns: some leaning grasps that leave the hand room, and then all of the above again.

    Grasps that closed on nothing in execution, whichever way round the hand was, are left out
    while there are others.
    """

    missed = [X_IT for k, X_IT in context.failed.grasps if k == index]

    def untried(grasp: Grasp) -> bool:
        """Whether the grasp is none of those that failed."""
        return not any(_same_grasp(X_IT, grasp.X_IT) for X_IT in missed)

    gripper = context.robot.gripper
    every = grasps_at(context.scene, state, index, gripper)
    standard = list(filter(untried, every))
    unchecked = [standard[k] for k in rng.permutation(len(standard))[:UNCHECKED]]
    yield from unchecked
    first, checked = list[Grasp](), list[Grasp]()
    for grasp in with_room(context, state, index, standard, rng):
        first.append(grasp)
        if not any(grasp is each for each in unchecked):
            yield grasp
    if may_turn(context.scene.items[index]):
        others = grasps_at(context.scene, state, index, gripper, turning=False)
        for grasp in with_room(context, state, index, list(filter(untried, others)), rng):
            first.append(grasp)
            yield grasp
    leaning = list(filter(untried, leaning_grasps(context.scene, state, index, gripper)))
    further = with_room(context, state, index, leaning, rng)
    while True:
        more = list(islice(further, BATCH))
        checked += more
        if not first and not checked:
            if not every:
                return
            # No grasp leaves the hand room: try them all, so that the failure names the reason.
            first = list(every)
        yield from more or (checked[k] for k in rng.permutation(len(checked)))
        yield from (first[k] for k in rng.permutation(len(first)))


def _same_grasp(X_IA: Array, X_IB: Array) -> bool:
    """Whether the fingers close alike at grasp frames X_IA and X_IB (4, 4), either way round."""
    R_AB = X_IA[:3, :3].T @ X_IB[:3, :3]
    turned = R_AB[2, 2] < _ALIKE or abs(R_AB[1, 1]) < _ALIKE
    return not turned and float(np.linalg.norm(X_IA[:3, 3] - X_IB[:3, 3])) < _SAME_PLACE
