"""What the actions that follow mean for the one at hand: what needs room, and what must be held."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from galley.domain.scene import Binding, Region
from galley.domain.state import State
from galley.skills.contacts import Later, places
from galley.skills.skill import BoundAction, Skill, region_of
from galley.skills.step import Accepts, reachable
from galley.skills.workbench import Workbench


def put_later(
    bench: Workbench,
    upcoming: Sequence[BoundAction],
    skills: Mapping[str, Skill],
    region: str | None,
    but: str,
) -> tuple[Later, ...]:
    """The items, other than the one named ``but``, that later actions put into a region."""
    found: dict[str, Later] = {}
    for action in upcoming:
        thing, place = _put(action, skills)
        if thing is None or place is None or place.region != region or thing.target == but:
            continue
        found.setdefault(thing.target, Later(bench.scene.item(thing.target), place.spot))
    return tuple(found.values())


def serves(
    bench: Workbench,
    upcoming: Sequence[BoundAction],
    skills: Mapping[str, Skill],
    index: int,
) -> Accepts | None:
    """Whether an item, as it is held, can be put where the plan puts it next.

    A grasp may be good for taking a thing out and no good for putting it down elsewhere. None
    where the plan doesn't put it anywhere, or has the hand do more than put it down.
    """
    item = bench.scene.items[index]
    for k, action in enumerate(upcoming):
        thing, place = _put(action, skills)
        if thing is None or place is None or thing.target != item.name:
            continue
        region = region_of(bench, place)
        if region is None or skills[action.name].role.opens is not None:
            return None
        later = put_later(bench, upcoming[k + 1 :], skills, region.name, item.name)
        return _can_be_put(bench, place, region, later)
    return None


def _can_be_put(
    bench: Workbench, place: Binding, region: Region, later: tuple[Later, ...]
) -> Accepts:
    def accepts(state: State, rng: np.random.Generator) -> bool:
        ways = places(bench, state, region, rng, later, place.spot)
        return reachable(bench, ways, place, state, rng)

    return accepts


def _put(action: BoundAction, skills: Mapping[str, Skill]) -> tuple[Binding | None, Binding | None]:
    """The item that an action puts down and the furniture, or None for what it doesn't say."""
    skill = skills.get(action.name)
    if skill is None or skill.role.puts is None:
        return None, None
    place = skill.role.place
    return action.bindings[skill.role.puts], None if place is None else action.bindings[place]
