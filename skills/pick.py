"""pick(item, furniture, hand): take an item from where it stands, from the present stance."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from galley.domain.failure import Failure
from galley.domain.state import State
from galley.motion.motion import Motion
from galley.skills.build import Builder
from galley.skills.contacts import picks
from galley.skills.manipulation import Manipulation
from galley.skills.reach import Tally, solve
from galley.skills.skill import BoundAction, Role, Skill
from galley.skills.workbench import Workbench

TRIES = 150  # grasps (each with several arm configurations) from one stance
PATHS = 3  # ways that were reached for which a free motion is sought


class Pick(Skill):
    """Takes an item."""

    parameters: ClassVar[tuple[str, ...]] = ("item", "furniture", "hand")
    role: ClassVar[Role] = Role(takes=0, place=1)

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
        """Grasps of the item."""
        index = bench.scene.item_index[action.bindings[0].target]
        return picks(bench, state, index, rng)

    def impossible(self, bench: Workbench, action: BoundAction, state: State) -> Failure | None:
        """Nothing is known without a search."""
        return None


def from_here(
    bench: Workbench,
    contacts: Iterator[Manipulation],
    state: State,
    action: BoundAction,
    rng: np.random.Generator,
    what: str,
) -> tuple[Motion, ...] | Failure:
    """Run the first of ``contacts`` that works from the present stance."""
    tally = Tally()
    failed: Failure | None = None
    paths = 0
    for manipulation in contacts:
        if tally.tried >= TRIES or paths >= PATHS:
            break
        reached = solve(bench, manipulation, state.q[:3], rng, tally)
        if reached is None:
            continue
        paths += 1
        builder = Builder(bench, state, action.index, rng)
        failed = builder.run(reached)
        if failed is None:
            return tuple(builder.motions)
    return failed or tally.failure(what)
