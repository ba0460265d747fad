"""Feasibility checks of a plan before any motion is planned: impossible actions, reach, and room.

For each placement, the footprints of what stands there and of what the plan has put there must fit
into the region. A plan without room is dropped at once and yields constraints.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np

from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import Array
from galley.domain.pddl.formula import Fact, Formula, Literal
from galley.domain.predicates import SPOT_RADIUS
from galley.domain.scene.model import Binding, Item, Region
from galley.domain.state import State
from galley.planning import GroundAction
from galley.skills.infeasibility.refusals import out_of_reach_as_found
from galley.skills.manipulation.context import PlanningContext
from galley.skills.placing.footprints import Footprint, Upright, furniture_on, placed
from galley.skills.placing.packing import packable, packing_certificate
from galley.skills.placing.placements import placements
from galley.skills.skill import BoundAction
from galley.tamp.binding import bind_plan, movable_items
from galley.tamp.feedback.constraints import ConstrainedTask, LearnedConstraint

_PREDICATE = {
    FailureKind.DOES_NOT_FIT: "no-room",
    FailureKind.UNREACHABLE: "no-stance",
    FailureKind.BLOCKED: "blocked-by",
}
_MOST = 3  # items removed together to find out what makes room
_SEED = 20_000  # of packing's own random stream


@dataclass
class FeasibilityCheck:
    """Checks plans without a search; answers are kept.

    Attributes:
        context: scene, robot, settings. task: with the names of the facts.
        start: the State at the start.
    """

    context: PlanningContext
    task: ConstrainedTask
    start: State
    _asked: dict[GroundAction, Failure | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._room = Occupancy(self.task, self.start, self.context.settings.seed)

    def constraints(self, plan: Sequence[BoundAction]) -> list[LearnedConstraint] | None:
        """Why the plan is infeasible: constraints, perhaps none; None if it may be feasible."""
        found: list[LearnedConstraint] = []
        for name in dict.fromkeys(action.name for action in plan):
            if any(self._impossible(a) for a in plan if a.name == name):
                found += self._all_impossible(name)
        moved: set[str] = set()  # no longer as found
        for action in plan:
            role = self.task.skills[action.name].role
            if role.takes is not None:
                thing = action.bindings[role.takes].object
                found += self._out_of_reach(action) if thing not in moved else []
                moved.add(thing)
        return found or self._room.constraints(plan)

    def goal_conflict(self) -> Failure | None:
        """A proof that the goal needs more room than there is, or None."""
        return self._room.goal_conflict(self.task.problem.goal)

    def _impossible(self, action: BoundAction) -> Failure | None:
        ground = GroundAction(action.name, tuple(b.object for b in action.bindings))
        if ground not in self._asked:
            failed = self.task.skills[action.name].impossible(self.context, action, self.start)
            self._asked[ground] = None if failed is None else failed.within(str(action))
        return self._asked[ground]

    def _all_impossible(self, name: str) -> list[LearnedConstraint]:
        """All ground actions of one name that are impossible, so that the next plan has none."""
        found = []
        for operator in self.task.grounded().operators:
            if operator.action.name == name:
                (action,) = bind_plan((operator.action,), self.task.bindings)
                failed = self._impossible(action)
                if failed is not None:
                    args = [b.object for b in action.bindings if b.kind != "hand"]
                    args += failed.objects if failed.kind is FailureKind.BLOCKED else ()
                    takes = self.task.skills[name].role.takes is not None
                    fits = failed.kind is not FailureKind.DOES_NOT_FIT or not takes
                    known = _PREDICATE.get(failed.kind, "impossible") if fits else "impossible"
                    fact = Fact(known, tuple(args))
                    found.append(LearnedConstraint(fact, failed, (operator.action,)))
        return found

    def _out_of_reach(self, action: BoundAction) -> list[LearnedConstraint]:
        """Constraint for an item that can't be reached where it stands as found."""
        role = self.task.skills[action.name].role
        if role.takes is None or role.place is None:
            return []
        failed = out_of_reach_as_found(
            self.context, self.start, action, self.task.skills[action.name]
        )
        if failed is None:
            return []
        names = (action.bindings[role.takes].object, action.bindings[role.place].object)
        return [LearnedConstraint(self.task.fact("no-stance", *names), failed.within(str(action)))]


@dataclass(frozen=True)
class _PlannedPlacement:
    """An item that a plan places: its PDDL name, index in the scene and the place."""

    thing: str
    index: int
    place: Binding


@dataclass
class Occupancy:
    """Checks the room that plans need.

    Attributes:
        task: with the names of the facts. start: where things stand as found.
        seed: of the run.
    """

    task: ConstrainedTask
    start: State
    seed: int
    _known: dict[object, bool | None] = field(default_factory=dict)

    def constraints(self, plan: Sequence[BoundAction]) -> list[LearnedConstraint] | None:
        """Why the plan lacks room: constraints, perhaps none; None if there is room."""
        put: dict[int, _PlannedPlacement] = {}
        moved: set[int] = set()
        for action in plan:
            role = self.task.skills[action.name].role
            if role.takes is not None:
                index = self._index(action.bindings[role.takes])
                moved.add(index)
                put.pop(index, None)
            if role.puts is not None and role.place is not None:
                thing, place = action.bindings[role.puts], action.bindings[role.place]
                new = _PlannedPlacement(thing.object, self._index(thing), place)
                moved.add(new.index)
                there = [each for each in put.values() if each.place.region == place.region]
                if place.region is not None and self._room(new, there, moved) is not True:
                    return self._why(action, new, there, moved)
                put[new.index] = new
        return None

    def _index(self, thing: Binding) -> int:
        return self.task.scene.item_index[thing.target]

    def _outlines(self, region: Region, gone: set[int]) -> dict[int, Footprint]:
        """Footprints of the items that stand in the region as found, ``gone`` left out."""
        found = {}
        for index in range(len(self.task.scene.items)):
            if index not in gone:
                outline = Footprint.from_item(self.task.scene, self.start, index, region)
                if outline is not None:
                    found[index] = outline
        return found

    def _furniture(self, region: Region, height: float) -> list[Footprint]:
        """Footprints of furniture in a region, whatever is opened or shut meanwhile."""
        found = furniture_on(self.task.scene, self.start.scene_q, region, height)
        if self.task.scene.carried(region.body):
            return list(found)  # it rides along
        return [each for each in found if not self.task.scene.carried(each.name)]

    def _room(
        self, new: _PlannedPlacement, there: Sequence[_PlannedPlacement], gone: set[int]
    ) -> bool | None:
        """Whether all can stand together: True, False (proven) or None (not found)."""
        everyone = [*there, new]
        who = frozenset((each.index, each.place.object) for each in everyone)
        key = (who, new.index, frozenset(gone))
        if key not in self._known:
            self._known[key] = self._pack(everyone, new, gone)
        return self._known[key]

    def _pack(
        self, everyone: Sequence[_PlannedPlacement], new: _PlannedPlacement, gone: set[int]
    ) -> bool | None:
        assert new.place.region is not None
        region = self.task.scene.region(new.place.region)
        taken = list(self._outlines(region, gone).values())
        tallest = max(float(self.task.scene.items[each.index].size[2]) for each in everyone)
        taken += self._furniture(region, tallest)
        question = repr(sorted((p.index, p.place.object) for p in everyone)) + repr(sorted(gone))
        rng = np.random.default_rng((self.seed, _SEED, zlib.crc32(question.encode())))
        loose: list[Item] = []
        for each in everyone:
            item = self.task.scene.items[each.index]
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
        self,
        action: BoundAction,
        new: _PlannedPlacement,
        there: Sequence[_PlannedPlacement],
        gone: set[int],
    ) -> list[LearnedConstraint]:
        """Constraints: no room at all, a pair that never fits, or what must be moved first."""
        assert new.place.region is not None
        region, place = self.task.scene.region(new.place.region), new.place.object
        sure = self._never(action, new, region)
        if sure is not None:
            return [sure]
        nobody = set(range(len(self.task.scene.items)))
        beside = [other for other in there if other.place.object == place]
        if beside and self._room(new, beside, nobody) is not True:
            return self._too_small(new, beside, region, nobody)
        if self._room(new, there, nobody) is not True:
            return []  # with exact places in one region: no fact states that
        names = {i: item.name for i, item in enumerate(self.task.scene.items)}
        names |= {self._index(b): b.object for b in self.task.bindings.values() if b.kind == "item"}
        standing = list(self._outlines(region, gone))
        for count in range(1, min(len(standing), _MOST) + 1):
            for some in combinations(standing, count):
                if self._room(new, there, gone | set(some)) is True:
                    return [self._no_room(new, names[i], region) for i in some]
        return [self._no_room(new, names[i], region) for i in standing]

    def _too_small(
        self,
        new: _PlannedPlacement,
        beside: Sequence[_PlannedPlacement],
        region: Region,
        gone: set[int],
    ) -> list[LearnedConstraint]:
        """Constraints: the place can't hold these items, of which none can be left out."""
        kept = list(beside)
        for other in beside:
            fewer = [each for each in kept if each is not other]
            if fewer and self._room(new, fewer, gone) is not True:
                kept = fewer
        failure = self._failure(region, [new, *kept])
        things = sorted(each.thing for each in [new, *kept])
        place = new.place.object
        return [
            LearnedConstraint(
                self.task.fact("too-small", place, thing, *(t for t in things if t != thing)),
                failure,
            )
            for thing in things
        ]

    def _never(
        self, action: BoundAction, new: _PlannedPlacement, region: Region
    ) -> LearnedConstraint | None:
        """A proof that there is no room beside what can't be moved, or None."""
        if new.place.spot is not None and region.kind == "surface":
            return self._never_at(action, new, region)
        item = self.task.scene.items[new.index]
        stuck = self._outlines(region, movable_items(self.task, self.start) | {new.index})
        furniture = self._furniture(region, float(item.size[2]))
        certificate = packing_certificate([item], region, [*stuck.values(), *furniture])
        if certificate is None and all(_within(each.outline, region) for each in stuck.values()):
            # Wherever in the region they stood: this bound is tighter than that of footprints.
            things = [item, *(self.task.scene.items[i] for i in stuck)]
            certificate = packing_certificate(things, region, furniture)
        if certificate is None:
            return None
        names = tuple(dict.fromkeys(each.name for each in [*stuck.values(), *furniture]))
        what = f"{region.name} has no room for {new.thing}"
        what += f" beside {', '.join(names)}" if names else ""
        kind = FailureKind.BLOCKED if names else FailureKind.DOES_NOT_FIT
        failure = Failure(kind, what, (*names, new.thing, region.name), certificate=certificate)
        return self._ruled_out(action, new, failure)

    @staticmethod
    def _ruled_out(
        action: BoundAction, new: _PlannedPlacement, failure: Failure
    ) -> LearnedConstraint:
        """Constraint: the action can never place its item there."""
        args = tuple(binding.object for binding in action.bindings)
        fact = Fact("no-room", (new.thing, new.place.object))
        return LearnedConstraint(fact, failure, (GroundAction(action.name, args),))

    def _never_at(
        self, action: BoundAction, new: _PlannedPlacement, region: Region
    ) -> LearnedConstraint | None:
        """The same for an exact place on a surface, which something immovable overlaps."""
        spot, item = new.place.spot, self.task.scene.items[new.index]
        assert spot is not None
        radius = max((r for _, _, r in _cores(item)), default=0.0) - SPOT_RADIUS
        stuck = self._outlines(region, movable_items(self.task, self.start) | {new.index})
        for each in [*stuck.values(), *self._furniture(region, float(item.size[2]))]:
            if each.layers and radius > 0.0 and _distance(each.outline, spot.xy) < radius:
                what = f"{new.place.object} has no room for {new.thing}: {each.name} stands there"
                certificate = {
                    "kind": "spot",
                    "spot_m": spot.xy.tolist(),
                    "inner_radius_m": radius,
                    "outline_m": each.outline.tolist(),
                }
                names = (each.name, new.thing, new.place.object)
                failure = Failure(FailureKind.BLOCKED, what, names, certificate=certificate)
                return self._ruled_out(action, new, failure)
        return None

    def goal_conflict(self, goal: Sequence[Formula]) -> Failure | None:
        """A proof that items of the goal can't stand in one region together, or None."""
        wanted: dict[str, dict[int, _PlannedPlacement]] = {}
        for part in goal:
            if not isinstance(part, Literal) or not part.positive:
                continue
            if part.predicate not in ("on", "in", "inside") or len(part.args) != 2:
                continue
            thing, place = (self.task.bindings[name] for name in part.args)
            if thing.kind == "item" and place.kind == "furniture" and place.region is not None:
                put = _PlannedPlacement(thing.object, self._index(thing), place)
                outline = self._outlines(self.task.scene.region(place.region), set()).get(put.index)
                if outline and not _within(outline.outline, self.task.scene.region(place.region)):
                    continue  # as found it sticks out, and may stay so
                wanted.setdefault(place.region, {})[put.index] = put
        for name, puts in wanted.items():
            if len(puts) > 1:
                found = self._together(self.task.scene.region(name), list(puts.values()))
                if found is not None:
                    return found
        return None

    def _together(self, region: Region, puts: Sequence[_PlannedPlacement]) -> Failure | None:
        """A proof that items can't stand in a region together, or None."""
        if all(each.place.spot is None for each in puts):
            # Finding an arrangement is quicker than searching for a proof.
            items = [self.task.scene.items[each.index] for each in puts]
            tallest = max(float(item.size[2]) for item in items)
            rng = np.random.default_rng((self.seed, _SEED))
            if packable(items, region, self._furniture(region, tallest), rng) is True:
                return None
        failure = self._failure(region, puts)
        if failure.certificate is None:
            heights = [float(self.task.scene.items[each.index].size[2]) for each in puts]
            furniture = self._furniture(region, min(heights))
            if any(each.place.spot is not None for each in puts) and region.kind == "surface":
                return None  # exactly placed things may stick out
            items = [self.task.scene.items[each.index] for each in puts]
            certificate = packing_certificate(items, region, furniture) if furniture else None
            failure = replace(failure, certificate=certificate)
        return failure if failure.certificate is not None else None

    def _no_room(self, new: _PlannedPlacement, other: str, region: Region) -> LearnedConstraint:
        where = region.name if new.place.spot is None else new.place.object
        what = f"no room for {new.thing} on {where} beside {other} where it stands"
        failure = Failure(FailureKind.BLOCKED, what, (other,))
        return LearnedConstraint(
            self.task.fact("no-room", new.thing, new.place.object, other), failure
        )

    def _failure(self, region: Region, puts: Sequence[_PlannedPlacement]) -> Failure:
        items = [self.task.scene.items[each.index] for each in puts]
        names = tuple(each.thing for each in puts)
        sized = [f"{p.thing} ({_millimetres(i.size)})" for p, i in zip(puts, items, strict=True)]
        said = ", ".join(sized[:-1]) + f" and {sized[-1]}"
        certificate = self._one_spot(puts)
        where: tuple[str, ...] = (region.name,)
        exact = [each.place.object for each in puts if each.place.spot is not None]
        if certificate is not None:
            names = tuple(certificate["things"])
            where = tuple(dict.fromkeys(p.place.object for p in puts if p.thing in names))
            what = f"{' and '.join(names)} can't both stand at {' and '.join(where)}"
        elif not exact or region.kind != "surface":  # exactly placed things may stick out
            certificate = packing_certificate(items, region)
            parts = " and ".join(_millimetres(high - low) for low, high in region.boxes)
            what = f"{region.name} ({parts}) can't hold {said} together"
        if certificate is None:
            where = tuple(exact) or where
            what = f"no way found for {said} to stand together on {' and '.join(where)}"
        return Failure(FailureKind.DOES_NOT_FIT, what, (*names, *where), certificate=certificate)

    def _one_spot(self, puts: Sequence[_PlannedPlacement]) -> dict[str, Any] | None:
        """Certificate: two items overlap on exact spots, however they are turned; or None."""
        for a, b in combinations(puts, 2):
            one, other = a.place.spot, b.place.spot
            if one is None or other is None or a.place.region != b.place.region:
                continue
            apart = float(np.linalg.norm(one.xy - other.xy)) + 2.0 * SPOT_RADIUS
            pair = (self.task.scene.items[a.index], self.task.scene.items[b.index])
            radii = _inner_radii(*pair)
            if sum(radii) > apart:
                return {
                    "kind": "spots",
                    "things": [a.thing, b.thing],
                    "most_apart_m": apart,
                    "inner_radii_m": radii,
                }
        return None


def _millimetres(size: Array) -> str:
    """``89 x 38 mm``, of a size (2 or 3,) in metres."""
    return f"{1e3 * size[0]:.0f} x {1e3 * size[1]:.0f} mm"


def _within(outline: Array, region: Region) -> bool:
    """Whether an outline (n, 2) lies in one of the region's boxes."""
    return any(
        (outline >= lower[:2] - 1e-9).all() and (outline <= upper[:2] + 1e-9).all()
        for lower, upper in region.boxes
    )


def _distance(polygon: Array, point: Array) -> float:
    """How far (m) a point (2,) is from a convex polygon (n, 2), counter-clockwise; 0 inside."""
    edges = np.roll(polygon, -1, axis=0) - polygon
    out = point - polygon
    if (edges[:, 0] * out[:, 1] - edges[:, 1] * out[:, 0] >= 0.0).all():
        return 0.0
    along = np.clip((out * edges).sum(axis=1) / (edges * edges).sum(axis=1), 0.0, 1.0)
    return float(np.linalg.norm(out - along[:, None] * edges, axis=1).min())


def _inner_radii(a: Item, b: Item) -> tuple[float, float]:
    """Radii (m) of circles about the centres that two upright items fill at one common height.

    The pair with the largest sum; zeros where no boxes or cylinders about the axes share a height.
    """
    best = (0.0, 0.0)
    for low, high, r in _cores(a):
        for other_low, other_high, other_r in _cores(b):
            if low < other_high and other_low < high and r + other_r > sum(best):
                best = (r, other_r)
    return best


def _cores(item: Item) -> list[tuple[float, float, float]]:
    """Lower and upper height above the floor and inner radius of shapes about an item's axis."""
    found = []
    floor = -float(item.size[2]) / 2.0
    for shape in item.shapes:
        centred = np.hypot(*shape.X_BS[:2, 3]) < 1e-9 and abs(shape.X_BS[2, 2]) > 1.0 - 1e-9
        if shape.collision and centred and shape.kind in ("box", "cylinder"):
            z, half = float(shape.X_BS[2, 3]) - floor, shape.half_extents
            found.append((z - float(half[2]), z + float(half[2]), float(half[:2].min())))
    return found
