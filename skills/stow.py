"""stow(item, furniture, hand): put the held item down, open the drawer, put it in, close.

Each step finds its own stance within the drawer's stance set; a failure names its step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import ClassVar

import numpy as np

from galley.domain.failure import Failure
from galley.domain.scene import Binding
from galley.domain.state import State
from galley.motion.motion import Motion
from galley.skills.build import Builder, folded
from galley.skills.contacts import fits, operations, picks, places
from galley.skills.manipulation import Manipulation
from galley.skills.place import no_such_region
from galley.skills.reach import Reached, Tally, solve, stances
from galley.skills.skill import BoundAction, Role, Skill, region_of, stance_of
from galley.skills.workbench import Workbench

_TRIES_HERE = 30  # candidates from the present stance before another is sought
_PATHS = 4  # ways that were reached for which free motions are sought
_RETRIES = 3  # how often a step is begun anew before the whole action fails
_AHEAD = 250  # candidates tried to see that a grasp also serves to put the thing in

Contacts = Callable[[State, np.random.Generator], Iterator[Manipulation]]


class Stow(Skill):
    """Puts an item into a drawer that is closed before and after."""

    parameters: ClassVar[tuple[str, ...]] = ("item", "furniture", "hand")
    role: ClassVar[Role] = Role(puts=0, place=1, opens=1)

    def refine(
        self,
        bench: Workbench,
        action: BoundAction,
        upcoming: tuple[BoundAction, ...],
        state: State,
        rng: np.random.Generator,
    ) -> tuple[Motion, ...] | Failure:
        """See ``Skill.refine``."""
        thing, furniture = action.bindings[:2]
        builder = Builder(bench, state, action.index, rng)
        for name, contacts, accepts in self._steps(bench, thing, furniture):
            failed: Failure | None = None
            for _ in range(_RETRIES):
                done = len(builder.motions), builder.state
                failed = _step(builder, name, contacts, furniture, accepts)
                if failed is None:
                    break
                del builder.motions[done[0] :]
                builder.state = done[1]
            if failed is not None:
                return failed.within(name)
        failed = builder.fold("fold the arm")
        return failed if failed is not None else tuple(builder.motions)

    def _steps(
        self, bench: Workbench, thing: Binding, furniture: Binding
    ) -> Iterator[tuple[str, Contacts, Callable[[State, np.random.Generator], bool] | None]]:
        scene = bench.scene
        index = scene.item_index[thing.target]
        inner = region_of(bench, furniture)
        assert inner is not None
        if furniture.handle is not None:
            assert furniture.staging is not None
            handle = scene.handle(furniture.handle)
            staging = scene.region(furniture.staging)
            joint = scene.joint(handle.joint)
            opening = min(furniture.opening, joint.upper)
            yield "put down", lambda s, r: places(bench, s, staging, r), None
            yield "open drawer", lambda s, r: operations(bench, s, handle, opening, r), None

            def serves(s: State, r: np.random.Generator) -> bool:
                return _reachable(bench, places(bench, s, inner, r), furniture, s, r)

            yield "pick up", lambda s, r: picks(bench, s, index, r), serves
            yield "put in", lambda s, r: places(bench, s, inner, r), None
            yield "close drawer", lambda s, r: operations(bench, s, handle, 0.0, r), None
        else:  # an open box: nothing to open
            yield "put in", lambda s, r: places(bench, s, inner, r), None

    def first_contacts(
        self, bench: Workbench, action: BoundAction, state: State, rng: np.random.Generator
    ) -> Iterator[Manipulation]:
        """Of the first step."""
        for _, contacts, _ in self._steps(bench, action.bindings[0], action.bindings[1]):
            return contacts(state, rng)
        return iter(())

    def impossible(self, bench: Workbench, action: BoundAction, state: State) -> Failure | None:
        """There must be a volume that the item fits into, and a place to put it meanwhile."""
        thing, furniture = action.bindings[:2]
        region = region_of(bench, furniture)
        if region is None or region.kind != "volume":
            return no_such_region(furniture.object, "inside to stow things in")
        item = bench.scene.item(thing.target)
        failed = fits(item, region)
        if failed is None and furniture.handle is not None:
            if furniture.staging is None:
                return no_such_region(furniture.object, "staging surface beside its drawer")
            failed = fits(item, bench.scene.region(furniture.staging))
        return failed


def _step(
    builder: Builder,
    name: str,
    contacts: Contacts,
    furniture: Binding,
    accepts: Callable[[State, np.random.Generator], bool] | None,
) -> Failure | None:
    """One step: from where the base stands if that works, else from another stance."""
    bench, start, rng = builder.bench, builder.state, builder.rng
    done = len(builder.motions)
    tally = Tally()
    stance = stance_of(bench, furniture)
    failed: Failure | None = None
    paths = 0

    def candidates() -> Iterator[Reached | None]:
        if stance.contains(start.q[:3]):
            for manipulation in islice(contacts(start, rng), _TRIES_HERE):
                yield solve(bench, manipulation, start.q[:3], rng, tally)
        arms = folded(bench, start)
        # Stretched out over something, the arm may not find room to fold here, but elsewhere.
        arm = arms[0] if len(arms) else bench.tucked
        yield from stances(bench, contacts(start, rng), stance, arm, start, rng, tally)

    for reached in candidates():
        if reached is None:
            continue
        if paths >= _PATHS:
            break
        if accepts is not None and not accepts(reached.held_after, rng):
            tally.reasons["the next step can't follow"] += 1
            continue
        paths += 1
        failed = builder.run(reached, f"{name}: ")
        if failed is None:
            return None
        del builder.motions[done:]
        builder.state = start
    return failed or tally.failure(name)


def _reachable(
    bench: Workbench,
    contacts: Iterator[Manipulation],
    furniture: Binding,
    state: State,
    rng: np.random.Generator,
) -> bool:
    """Whether any candidate can be reached from some stance, by a short search."""
    stance = stance_of(bench, furniture)
    found = stances(bench, contacts, stance, bench.tucked, state, rng, Tally(), _AHEAD)
    return next(found, None) is not None
