"""place(item, furniture, hand): put the held item down on a surface, from the present stance."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from galley.domain.failure import Failure, FailureKind
from galley.domain.state import State
from galley.motion.motion import Motion
from galley.skills.contacts import fits, places
from galley.skills.manipulation import Manipulation
from galley.skills.pick import from_here
from galley.skills.skill import BoundAction, Role, Skill, region_of
from galley.skills.workbench import Workbench


class Place(Skill):
    """Puts an item down."""

    parameters: ClassVar[tuple[str, ...]] = ("item", "furniture", "hand")
    role: ClassVar[Role] = Role(puts=0, place=1)

    def refine(
        self,
        bench: Workbench,
        action: BoundAction,
        upcoming: tuple[BoundAction, ...],
        state: State,
        rng: np.random.Generator,
    ) -> tuple[Motion, ...] | Failure:
        """See ``Skill.refine``."""
        contacts = self.first_contacts(bench, action, state, rng)
        return from_here(bench, contacts, state, action, rng, str(action))

    def first_contacts(
        self, bench: Workbench, action: BoundAction, state: State, rng: np.random.Generator
    ) -> Iterator[Manipulation]:
        """Placements of the held item."""
        region = region_of(bench, action.bindings[1])
        assert region is not None, "impossible() has refused this already"
        return places(bench, state, region, rng)

    def impossible(self, bench: Workbench, action: BoundAction, state: State) -> Failure | None:
        """There must be a surface, and the item must fit on it."""
        thing, furniture = action.bindings[:2]
        region = region_of(bench, furniture)
        if region is None or region.kind != "surface":
            return no_such_region(furniture.object, "surface to place things on")
        return fits(bench.scene.item(thing.target), region)


def no_such_region(furniture: str, what: str) -> Failure:
    """The scene gives this furniture no region of the kind that the action needs."""
    return Failure(
        FailureKind.CONTRADICTION,
        f"the scene gives '{furniture}' no {what}",
        (furniture,),
        certificate={"kind": "scene", "object": furniture, "missing": what},
    )
