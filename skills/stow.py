"""stow(item, furniture, hand): put the held item down, open the drawer, put the item in, close it.

Each step has its own stance within the drawer's stance set, and a Failure names its step. After an
interruption the skill does the remaining steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from galley.domain.failure import Failure
from galley.domain.predicates import on
from galley.domain.scene.model import Binding
from galley.domain.state import State
from galley.motion.motion import Motion
from galley.skills.drawer import (
    accepts_half_open,
    cannot_open,
    half_open,
    handle_of,
    intended_opening,
    joint_is_at,
    possible_opening,
)
from galley.skills.infeasibility.refusals import does_not_fit, no_such_region, region_out_of_reach
from galley.skills.manipulation.contacts import handle_manipulations, place_manipulations
from galley.skills.manipulation.context import PlanningContext
from galley.skills.manipulation.manipulation import Manipulation
from galley.skills.manipulation.step import SkillStep, any_reachable, carry_out, placed_later
from galley.skills.pick import pick_manipulations
from galley.skills.place import is_placed
from galley.skills.placing.placements import LaterItem
from galley.skills.skill import BoundAction, LookaheadSkill, Role, region_of, stance_of

_HALF_OPEN = 50_000  # key of the random stream of the check whether a half open drawer will do


class Stow(LookaheadSkill):
    """Puts an item into a drawer that is closed before and after."""

    parameters: ClassVar[tuple[str, ...]] = ("item", "furniture", "hand")
    role: ClassVar[Role] = Role(puts=0, place=1, opens=1, closes=1)
    standard_grasps: ClassVar[bool] = True

    def refine(
        self,
        context: PlanningContext,
        action: BoundAction,
        upcoming: tuple[BoundAction, ...],
        state: State,
        rng: np.random.Generator,
    ) -> tuple[Motion, ...] | Failure:
        """Plan up to five steps: put down, open drawer, pick up, put in, close drawer."""
        thing, furniture = action.bindings[:2]
        opening = 0.0
        if furniture.handle is not None and not is_placed(context, "in", thing, furniture, state):
            possible = possible_opening(context, furniture, state)
            if isinstance(possible, Failure):
                return possible.within("open drawer")
            opening = possible
        later = placed_later(context, upcoming, self.skills, furniture.region, thing.target)
        steps = self._steps(context, thing, furniture, opening, later, state, rng)
        return carry_out(context, action, steps, state, rng)

    def _steps(
        self,
        context: PlanningContext,
        thing: Binding,
        furniture: Binding,
        opening: float,
        later: Sequence[LaterItem],
        state: State,
        rng: np.random.Generator,
    ) -> Iterator[SkillStep]:
        """Yield the steps that are left in ``state``, in order.

        An item that lies in the drawer only needs the drawer shut. A box without a handle needs
        nothing opened. A drawer that is open far enough stays as it is. Otherwise a held item is
        set aside first, for the hand must open the drawer; then it is picked up again, with a grasp
        that allows putting it in.

        Args:
            opening: how far the drawer is to be opened, m or rad.
            later: items that later actions put into the drawer, and that need room there.
        """
        scene, spot = context.scene, furniture.spot
        index = scene.item_index[thing.target]
        inner = region_of(context, furniture)
        assert inner is not None
        put_in = SkillStep(
            lambda s, r: place_manipulations(context, s, inner, r, later, spot), furniture, "put in"
        )
        lies_in = is_placed(context, "in", thing, furniture, state)
        if furniture.handle is None:  # an open box: nothing to open
            if not lies_in:
                yield put_in
            return
        assert furniture.staging is not None
        handle = handle_of(context, furniture)
        staging = scene.region(furniture.staging)
        close = SkillStep(
            lambda s, r: handle_manipulations(context, s, handle, 0.0, r), furniture, "close drawer"
        )
        if lies_in:
            if not joint_is_at(context, handle, state, 0.0):
                yield close
            return

        def can_put_in(s: State, r: np.random.Generator) -> bool:
            """Whether the item can be put in as it is held."""
            return any_reachable(context, put_in.contacts(s, r), furniture, s, r)

        # If the drawer is half open, that may be enough for this item.
        is_open = joint_is_at(context, handle, state, opening)
        is_open = is_open or accepts_half_open(context, handle, state, rng)
        if not is_open and state.held == index and half_open(context, handle, state):
            is_open = can_put_in(state, context.rng(_HALF_OPEN))
        if not is_open:
            if state.held == index:
                yield SkillStep(
                    lambda s, r: place_manipulations(context, s, staging, r, aside=True),
                    furniture,
                    "put down",
                )
            yield SkillStep(
                lambda s, r: handle_manipulations(context, s, handle, opening, r),
                furniture,
                "open drawer",
            )
        if not is_open or state.held != index:
            yield SkillStep(
                lambda s, r: pick_manipulations(context, s, index, r),
                furniture,
                "pick up",
                can_put_in,
            )
        yield put_in
        yield close

    def first_contacts(
        self, context: PlanningContext, action: BoundAction, state: State, rng: np.random.Generator
    ) -> Iterator[Manipulation]:
        """Yield the contacts of the first step that is left."""
        thing, furniture = action.bindings[:2]
        opening = intended_opening(context, furniture) if furniture.handle is not None else 0.0
        first = next(self._steps(context, thing, furniture, opening, (), state, rng), None)
        return iter(()) if first is None else first.contacts(state, rng)

    def resumes(self, context: PlanningContext, action: BoundAction, state: State) -> bool:
        """True if the item is in the hand, on the staging surface or in the drawer."""
        thing, furniture = action.bindings[:2]
        index = context.scene.item_index[thing.target]
        if state.held is not None:
            return state.held == index
        if is_placed(context, "in", thing, furniture, state):
            return True
        if furniture.staging is None:
            return False
        staging = context.scene.region(furniture.staging)
        return on(context.scene, state, thing.target, staging, np.eye(4)).holds

    def impossible(
        self, context: PlanningContext, action: BoundAction, state: State
    ) -> Failure | None:
        """A refusal if the item doesn't fit into the drawer, or on the staging surface beside it.

        Also if the drawer can't be opened, or is out of reach.
        """
        thing, furniture = action.bindings[:2]
        region = region_of(context, furniture)
        if region is None or region.kind != "volume":
            return no_such_region(furniture.object, "inside to stow things in")
        item = context.scene.item(thing.target)
        failed = does_not_fit(item, region)
        if failed is None and furniture.handle is not None:
            if furniture.staging is None:
                return no_such_region(furniture.object, "staging surface beside its drawer")
            failed = does_not_fit(item, context.scene.region(furniture.staging))
            failed = failed or cannot_open(context, furniture, state)
        return failed or region_out_of_reach(
            context, item, region, stance_of(context, furniture), state, furniture.spot
        )
