"""Whether the things that a plan puts into a place can stand there together: seen before it moves.

Only outlines in the plane are looked at, for each action that puts something down: what stands
there as found, and what the plan has put there. A plan without room is dropped at once, and says
why as a lesson.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from galley.domain.failure import Failure, FailureKind
from galley.domain.formula import Fact
from galley.domain.scene import Binding, Item, Region, Scene
from galley.domain.state import State
from galley.planning import GroundAction
from galley.skills import BoundAction, Skill
from galley.skills.footprints import Footprint, Upright, furniture_on, placed
from galley.skills.packing import packable, packing_certificate
from galley.skills.placements import placements
from galley.skills.refusals import no_grasp
from galley.tamp.augment import Augmented
from galley.tamp.lessons import Lesson

_SEED = 20_000  # of its own stream: packing is a side question, the answer kept


@dataclass(frozen=True)
class _Put:
    """An item that a plan puts somewhere: its PDDL name, index in the scene and the place."""

    thing: str
    index: int
    place: Binding


@dataclass
class Occupancy:
    """Judges plans by the room that they need.

    Attributes:
        scene, start: where things stand as found.
        task: with the names of the facts.
        bindings: what the PDDL objects are.
        skills: with the roles of the actions.
        seed: of the run.
    """

    scene: Scene
    start: State
    task: Augmented
    bindings: Mapping[str, Binding]
    skills: Mapping[str, Skill]
    seed: int
    _known: dict[object, bool | None] = field(default_factory=dict)

    def lessons(self, plan: Sequence[BoundAction]) -> list[Lesson] | None:
        """Why the plan finds no room for something: lessons, perhaps none; None if it finds it."""
        put: dict[int, _Put] = {}
        moved: set[int] = set()
        for action in plan:
            role = self.skills[action.name].role
            if role.takes is not None:
                index = self._index(action.bindings[role.takes])
                moved.add(index)
                put.pop(index, None)
            if role.puts is not None and role.place is not None:
                thing, place = action.bindings[role.puts], action.bindings[role.place]
                new = _Put(thing.object, self._index(thing), place)
                moved.add(new.index)
                there = [each for each in put.values() if each.place.region == place.region]
                if place.region is not None and self._room(new, there, moved) is not True:
                    return self._why(action, new, there, moved)
                put[new.index] = new
        return None

    def _index(self, thing: Binding) -> int:
        return self.scene.item_index[thing.target]

    def _outlines(self, region: Region, gone: set[int]) -> dict[int, Footprint]:
        """Footprints of the items that stand in the region as found, ``gone`` left out."""
        found = {}
        for index in range(len(self.scene.items)):
            if index not in gone:
                outline = Footprint.of(self.scene, self.start, index, region, np.eye(4))
                if outline is not None:
                    found[index] = outline
        return found

    def _room(self, new: _Put, there: Sequence[_Put], gone: set[int]) -> bool | None:
        """Whether all can stand together: True, False (proven) or None (not found)."""
        everyone = [*there, new]
        who = frozenset((each.index, each.place.object) for each in everyone)
        key = (who, new.index, frozenset(gone))
        if key not in self._known:
            self._known[key] = self._pack(everyone, new, gone)
        return self._known[key]

    def _pack(self, everyone: Sequence[_Put], new: _Put, gone: set[int]) -> bool | None:
        assert new.place.region is not None
        region = self.scene.region(new.place.region)
        taken = list(self._outlines(region, gone).values())
        tallest = max(float(self.scene.items[each.index].size[2]) for each in everyone)
        taken += furniture_on(self.scene, self.start.scene_q, region, tallest)
        rng = np.random.default_rng((self.seed, _SEED, len(self._known)))
        loose: list[Item] = []
        for each in everyone:
            item = self.scene.items[each.index]
            if each.place.spot is None:
                loose.append(item)
                continue
            X_BI = next(placements(item, region, taken, (), each.place.spot, rng), None)
            if X_BI is None:
                return None
            yaw = float(np.arctan2(X_BI[1, 0], X_BI[0, 0]))
            outline = placed(Upright.of(item).outline, np.array([[*X_BI[:2, 3], yaw]]))[0]
            taken.append(Footprint(outline, item.name))
        return packable(loose, region, taken, rng) if loose else True

    def _why(
        self, action: BoundAction, new: _Put, there: Sequence[_Put], gone: set[int]
    ) -> list[Lesson]:
        """Lessons: no room at all, a pair that never fits together, or what must go first."""
        assert new.place.region is not None
        region, place = self.scene.region(new.place.region), new.place.object
        sure = self._never(action, new, region)
        if sure is not None:
            return [sure]
        nobody = set(range(len(self.scene.items)))
        for other in there:
            if other.place.object == place and self._room(new, [other], nobody) is not True:
                failure = self._failure(region, [new, other])
                pairs = ((new.thing, other.thing), (other.thing, new.thing))
                return [Lesson(self.task.fact("too-small", place, *p), failure) for p in pairs]
        if self._room(new, there, nobody) is not True:
            return []  # three or more: no fact says so, the plan is dropped all the same
        names = {self._index(b): b.object for b in self.bindings.values() if b.kind == "item"}
        standing = [i for i in self._outlines(region, gone) if i in names]
        for count in range(1, len(standing) + 1):
            for some in combinations(standing, count):
                if self._room(new, there, gone | set(some)) is True:
                    return [self._no_room(new, names[i], region) for i in some]
        return []

    def _never(self, action: BoundAction, new: _Put, region: Region) -> Lesson | None:
        """That there is no room beside what no plan can move away; None where it isn't proven."""
        item = self.scene.items[new.index]
        named = {self._index(b) for b in self.bindings.values() if b.kind == "item"}
        movable = {i for i in named if no_grasp(self.scene.items[i]) is None}
        taken = list(self._outlines(region, movable | {new.index}).values())
        taken += furniture_on(self.scene, self.start.scene_q, region, float(item.size[2]))
        certificate = packing_certificate([item], region, taken)
        if certificate is None:
            return None
        names = tuple(dict.fromkeys(each.name for each in taken))
        what = f"{region.name} has no room for {new.thing} beside {', '.join(names) or 'nothing'}"
        failure = Failure(
            FailureKind.BLOCKED if names else FailureKind.DOES_NOT_FIT,
            what,
            names or (new.thing, region.name),
            certificate=certificate,
        )
        args = tuple(binding.object for binding in action.bindings)
        fact = Fact("no-room", (new.thing, new.place.object))
        return Lesson(fact, failure, (GroundAction(action.name, args),))

    def _no_room(self, new: _Put, other: str, region: Region) -> Lesson:
        what = f"no room for {new.thing} on {region.name} beside {other} where it stands"
        failure = Failure(FailureKind.BLOCKED, what, (other,))
        return Lesson(self.task.fact("no-room", new.thing, new.place.object, other), failure)

    def _failure(self, region: Region, puts: Sequence[_Put]) -> Failure:
        items = [self.scene.items[each.index] for each in puts]
        names = tuple(each.thing for each in puts)
        certificate = packing_certificate(items, region)
        what = f"{region.name} can't hold {' and '.join(names)} together"
        if certificate is None:
            what = f"no way found for {' and '.join(names)} to stand together on {region.name}"
        return Failure(
            FailureKind.DOES_NOT_FIT, what, (*names, region.name), certificate=certificate
        )
