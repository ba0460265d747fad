"""place(item, furniture, hand) and put_in: put the held item on a surface or into a drawer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice
from typing import ClassVar

import numpy as np

from galley.domain.failure import Failure
from galley.domain.predicates import fact_holds
from galley.domain.scene.model import Binding
from galley.domain.state import State
from galley.motion.motion import Motion
from galley.skills.infeasibility.refusals import (
    does_not_fit,
    no_such_region,
    region_out_of_reach,
    wrong_in_hand,
)
from galley.skills.manipulation.contacts import may_lie_aside, place_manipulations
from galley.skills.manipulation.context import PlanningContext
from galley.skills.manipulation.manipulation import Manipulation
from galley.skills.manipulation.step import (
    HERE,
    Contacts,
    SkillStep,
    any_reachable,
    carry_out,
    placed_later,
)
from galley.skills.pick import pick_manipulations
from galley.skills.skill import BoundAction, LookaheadSkill, Role, region_of, stance_of


class Place(LookaheadSkill):
    """Puts an item down and leaves room for those that later actions put into the same region."""

    parameters: ClassVar[tuple[str, ...]] = ("item", "furniture", "hand")
    role: ClassVar[Role] = Role(puts=0, place=1)
    kind: ClassVar[str] = "surface"  # kind of region that the furniture must have
    fact: ClassVar[str] = "on"  # the fact about item and furniture that holds afterwards
    missing: ClassVar[str] = "surface to place things on"  # for the message of a refusal

    def refine(
        self,
        context: PlanningContext,
        action: BoundAction,
        upcoming: tuple[BoundAction, ...],
        state: State,
        rng: np.random.Generator,
    ) -> tuple[Motion, ...] | Failure:
        """Plan the Motions that put the item down; none if it stands there already.

        If the grasp allows no placement, and the item may lie for a while, it is set aside first
        and taken again by another grasp.
        """
        if self.resumes(context, action, state):
            return ()
        failed = wrong_in_hand(context, state, context.scene.item_index[action.bindings[0].target])
        if failed is not None:
            return failed
        step = SkillStep(self._contacts(context, action, upcoming), action.bindings[1])
        plain, aside = carry_out(context, action, (step,), state, rng), self._aside(context, action)
        if aside is None or not isinstance(plain, Failure):
            return plain
        furniture, index = action.bindings[1], context.scene.item_index[action.bindings[0].target]
        steps = (
            # Set it aside, take it by a grasp that allows the placement, then put it down.
            SkillStep(aside, furniture, "set aside"),
            SkillStep(
                lambda s, r: pick_manipulations(context, s, index, r),
                furniture,
                "pick up",
                lambda s, r: any_reachable(context, step.contacts(s, r), furniture, s, r),
            ),
            replace(step, name="put down"),
        )
        regrasped = carry_out(context, action, steps, state, rng)
        return plain if isinstance(regrasped, Failure) else regrasped

    def _aside(self, context: PlanningContext, action: BoundAction) -> Contacts | None:
        """Placements that set an item aside, so that it can be taken by another grasp.

        They are on the largest surface near the furniture. None if there is no such surface, or if
        the item neither may lie nor was found lying.
        """
        (thing, furniture), scene = action.bindings[:2], context.scene
        near = {each.region for each in scene.bindings if each.target == furniture.target}
        near.add(furniture.staging)
        surfaces = [each for each in scene.regions if each.name in near and each.kind == "surface"]
        index = scene.item_index[thing.target]
        if not surfaces or not may_lie_aside(context, index):
            return None
        largest = max(
            surfaces, key=lambda each: np.ptp(each.boxes, axis=1)[:, :2].prod(axis=1).sum()
        )
        return lambda s, r: place_manipulations(context, s, largest, r, aside=True)

    def first_contacts(
        self, context: PlanningContext, action: BoundAction, state: State, rng: np.random.Generator
    ) -> Iterator[Manipulation]:
        """Yield placements of the held item, without regard to later items."""
        return self.contacts_in_view(context, action, (), state, rng)

    def contacts_in_view(
        self,
        context: PlanningContext,
        action: BoundAction,
        upcoming: tuple[BoundAction, ...],
        state: State,
        rng: np.random.Generator,
    ) -> Iterator[Manipulation]:
        """Yield placements that leave room for the items placed later, deep ones first."""
        if self.resumes(context, action, state):
            return iter(())
        direct = self._contacts(context, action, upcoming)(state, rng)
        aside = self._aside(context, action)
        return direct if aside is None else chain(islice(direct, HERE), aside(state, rng))

    def resumes(self, context: PlanningContext, action: BoundAction, state: State) -> bool:
        """True if the item stands there: then nothing is left to do."""
        thing, furniture = action.bindings[:2]
        return is_placed(context, self.fact, thing, furniture, state)

    def _contacts(
        self, context: PlanningContext, action: BoundAction, upcoming: tuple[BoundAction, ...]
    ) -> Contacts:
        """Placements in the region that leave room for the items which later actions put there."""
        thing, furniture = action.bindings[:2]
        region = region_of(context, furniture)
        assert region is not None, "impossible() has refused this already"
        later = placed_later(context, upcoming, self.skills, region.name, thing.target)
        return lambda s, r: place_manipulations(context, s, region, r, later, furniture.spot)

    def impossible(
        self, context: PlanningContext, action: BoundAction, state: State
    ) -> Failure | None:
        """A refusal if there is no such region, the item can't fit, or the arm can't reach it."""
        thing, furniture = action.bindings[:2]
        region = region_of(context, furniture)
        if region is None or region.kind != self.kind:
            return no_such_region(furniture.object, self.missing)
        item = context.scene.item(thing.target)
        return does_not_fit(item, region) or region_out_of_reach(
            context, item, region, stance_of(context, furniture), state, furniture.spot
        )


class PutIn(Place):
    """Puts an item into an open drawer."""

    kind: ClassVar[str] = "volume"
    fact: ClassVar[str] = "in"
    missing: ClassVar[str] = "inside to put things in"


def is_placed(
    context: PlanningContext, fact: str, thing: Binding, furniture: Binding, state: State
) -> bool:
    """Whether an item is ``on`` or ``in`` furniture, at its spot if it has one, and not held.

    Args:
        fact: ``on`` or ``in``.
    """
    if state.held is not None:
        return False
    verdict = fact_holds(context.scene, state, fact, (thing, furniture), np.eye(4))
    return verdict is not None and verdict.holds
