"""Feasibility checks of a plan before any motion is planned: impossible actions, reach, and room.

The checks, in order: can any ground action of the plan be done at all; is each item that the plan
takes in reach where it was found; and is there room for each placement? For the last, the
footprints of the items that stand in the region, and of those that the plan has put there before,
must fit together. A plan that fails a check is dropped at once and yields constraints.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations, product
from typing import Any

import numpy as np

from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import Array
from galley.domain.pddl.formula import Fact, Formula, Literal
from galley.domain.predicates import SPOT_RADIUS
from galley.domain.scene.model import Binding, Item, Region, Spot
from galley.domain.state import State
from galley.motion.effects import with_acting_hand
from galley.planning import GroundAction
from galley.skills.infeasibility.refusals import out_of_reach_as_found
from galley.skills.manipulation.context import PlanningContext
from galley.skills.placing.footprints import Footprint, Upright, circle, furniture_on, gaps, placed
from galley.skills.placing.packing import (
    GAP,
    in_every_pose,
    packable,
    packing_certificate,
    turned_together,
)
from galley.skills.placing.placements import placements
from galley.skills.skill import BoundAction, acting_hand
from galley.tamp.binding import bind_plan, lies_within, movable_items
from galley.tamp.feedback.constraints import ConstrainedTask, LearnedConstraint

_PREDICATE = {
    FailureKind.DOES_NOT_FIT: "no-room",
    FailureKind.UNREACHABLE: "no-stance",
    FailureKind.BLOCKED: "blocked-by",
}
_MOST = 3  # items left out together, at most, to find out which ones must make room
_SEED = 20_000  # part of the key of the random streams of packing


@dataclass
class FeasibilityCheck:
    """Checks plans without a search; answers are cached.

    Attributes:
        context: the scene, robot and settings.
        task: the extended task, which names the facts.
        start: the State at the start of the task.
        room: the check of the room that plans need.
    """

    context: PlanningContext
    task: ConstrainedTask
    start: State
    _asked: dict[GroundAction, Failure | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.room = Occupancy(self.task, self.start, self.context.settings.seed)

    def constraints(self, plan: Sequence[BoundAction]) -> list[LearnedConstraint] | None:
        """Why the plan is infeasible, as constraints; None if it may be feasible.

        An empty list also rejects the plan: no fact states the reason.
        """
        constraints: list[LearnedConstraint] = []
        for name in dict.fromkeys(action.name for action in plan):
            # If one action of this name is impossible, reject all that are. Else the next plan
            # would try another one.
            if any(self._impossible(a) for a in plan if a.name == name):
                constraints += self._all_impossible(name)
        moved: set[str] = set()  # no longer as found
        for action in plan:
            role = self.task.skills[action.name].role
            if role.removes is not None:
                thing = action.bindings[role.removes].object
                constraints += self._out_of_reach(action) if thing not in moved else []
                moved.add(thing)
        return constraints or self.room.constraints(plan)

    def goal_conflict(self) -> Failure | None:
        """A proof that the goal needs more room than there is, or None."""
        return self.room.goal_conflict(self.task.problem.goal)

    def _impossible(self, action: BoundAction) -> Failure | None:
        """The skill's proof that an action is impossible at any time, or None; cached."""
        ground = GroundAction(action.name, tuple(b.object for b in action.bindings))
        if ground not in self._asked:
            context = self.context.acting(acting_hand(self.context.robot, (action,)))
            state = with_acting_hand(context.robot, self.start)
            failed = self.task.skills[action.name].impossible(context, action, state)
            self._asked[ground] = None if failed is None else failed.within(str(action))
        return self._asked[ground]

    def _all_impossible(self, name: str) -> list[LearnedConstraint]:
        """Constraints that forbid all impossible ground actions of one name."""
        constraints = []
        for operator in self.task.grounded().operators:
            if operator.action.name == name:
                (action,) = bind_plan((operator.action,), self.task.bindings)
                failed = self._impossible(action)
                if failed is not None:
                    args = [b.object for b in action.bindings if b.kind != "hand"]
                    args += failed.objects if failed.kind is FailureKind.BLOCKED else ()
                    takes = self.task.skills[name].role.takes is not None
                    # A taken item that does not fit the hand is no matter of room.
                    fits = failed.kind is not FailureKind.DOES_NOT_FIT or not takes
                    known = _PREDICATE.get(failed.kind, "impossible") if fits else "impossible"
                    fact = Fact(known, tuple(args))
                    constraints.append(LearnedConstraint(fact, failed, (operator.action,)))
        return constraints

    def _out_of_reach(self, action: BoundAction) -> list[LearnedConstraint]:
        """The constraint if an item can't be reached where it was found, else none."""
        role = self.task.skills[action.name].role
        if role.takes is None or role.place is None:
            return []
        context = self.context.acting(acting_hand(self.context.robot, (action,)))
        state = with_acting_hand(context.robot, self.start)
        failed = out_of_reach_as_found(context, state, action, self.task.skills[action.name])
        if failed is None:
            return []
        fact = self.task.no_stance(action, context.robot)
        return [LearnedConstraint(fact, failed.within(str(action)))]


@dataclass(frozen=True)
class _PlannedPlacement:
    """An item that a plan puts down: its PDDL name, its index in the scene, and the place."""

    thing: str
    index: int
    place: Binding


@dataclass
class Occupancy:
    """Checks the room that plans need.

    Attributes:
        task: the extended task, which names the facts.
        start: the State at the start, with all items as found.
        seed: the seed of the run.
        crowded: why the last plan lacked room, if no constraint states it; else empty.
    """

    task: ConstrainedTask
    start: State
    seed: int
    crowded: str = ""
    _known: dict[str, bool | None] = field(default_factory=dict)

    def constraints(self, plan: Sequence[BoundAction]) -> list[LearnedConstraint] | None:
        """Why the plan lacks room, as constraints; None if there is room for all placements.

        An empty list: there is no room, but no fact states the reason.
        """
        put: dict[int, _PlannedPlacement] = {}
        moved: set[int] = set()
        # Follow the plan: ``put`` are the items that it has placed and not taken since, ``moved``
        # all that no longer stand as found.
        for action in plan:
            role = self.task.skills[action.name].role
            if role.removes is not None:
                index = self._index(action.bindings[role.removes])
                moved.add(index)
                put.pop(index, None)
            if role.sets is not None and role.place is not None:
                thing, place = action.bindings[role.sets], action.bindings[role.place]
                new = _PlannedPlacement(thing.object, self._index(thing), place)
                moved.add(new.index)
                there = [other for other in put.values() if other.place.region == place.region]
                if place.region is not None and self._room(new, there, moved) is not True:
                    return self._why(action, new, there, moved)
                put[new.index] = new
        return None

    def _index(self, thing: Binding) -> int:
        return self.task.scene.item_index[thing.target]

    def _item(self, put: _PlannedPlacement) -> Item:
        return self.task.scene.items[put.index]

    def _region(self, place: Binding) -> Region:
        assert place.region is not None
        return self.task.scene.region(place.region)

    @property
    def _everything(self) -> set[int]:
        """Indices of all items: with these gone, a region is empty as found."""
        return set(range(len(self.task.scene.items)))

    def _outlines(self, region: Region, gone: set[int]) -> dict[int, Footprint]:
        """Footprints of the items that stand in the region as found, without those ``gone``."""
        scene, start = self.task.scene, self.start
        left = self._everything - gone
        shapes = {i: Footprint.from_item(scene, start, i, region) for i in sorted(left)}
        return {i: footprint for i, footprint in shapes.items() if footprint is not None}

    def _furniture(self, region: Region, height: float) -> list[Footprint]:
        """Footprints of the furniture in a region that is there whatever is opened or shut.

        Args:
            height: of the highest item to be placed, m; furniture above it doesn't count.
        """
        footprints = furniture_on(self.task.scene, self.start.scene_q, region, height)
        if self.task.scene.carried(region.body):
            return list(footprints)  # it rides along
        return [f for f in footprints if not self.task.scene.carried(f.name)]

    def _room(
        self, new: _PlannedPlacement, there: Sequence[_PlannedPlacement], gone: set[int]
    ) -> bool | None:
        """Whether a new item fits beside others that the plan has put there; cached.

        True: an arrangement was found. False: proven that there is none. None: neither. ``gone``
        are the items that no longer stand as found.
        """
        everyone = sorted((put.index, put.place.object) for put in (*there, new))
        question = repr((everyone, sorted(gone)))
        if question not in self._known:
            rng = np.random.default_rng((self.seed, _SEED, zlib.crc32(question.encode())))
            self._known[question] = self._pack([*there, new], gone, rng)
        return self._known[question]

    def _pack(
        self, everyone: Sequence[_PlannedPlacement], gone: set[int], rng: np.random.Generator
    ) -> bool | None:
        """Whether the items fit together, lying as they may; those with exact places go first."""
        region = self._region(everyone[-1].place)

        def upright(items: Sequence[Item]) -> bool | None:
            """Whether the items, turned so that they stand upright, fit together."""
            taken = list(self._outlines(region, gone).values())
            taken += self._furniture(region, max(float(item.size[2]) for item in items))
            loose: list[Item] = []
            for put, item in zip(everyone, items, strict=True):
                if put.place.spot is None:
                    loose.append(item)
                    continue
                X_BI = next(placements(item, region, taken, (), put.place.spot, rng), None)
                if X_BI is None:
                    return None
                yaw = float(np.arctan2(X_BI[1, 0], X_BI[0, 0]))
                outline = placed(Upright.of(item).outline, np.array([[*X_BI[:2, 3], yaw]]))[0]
                taken.append(Footprint(outline, item.name))
            return packable(loose, region, taken, rng) if loose else True

        answers = []
        for turned in turned_together([self._item(put) for put in everyone]):
            answers.append(None if turned is None else upright(turned))
            if answers[-1]:
                return True
        return None if None in answers else False

    def _why(
        self,
        action: BoundAction,
        new: _PlannedPlacement,
        there: Sequence[_PlannedPlacement],
        gone: set[int],
    ) -> list[LearnedConstraint]:
        """Constraints that state why there is no room for a new item.

        Either there never is room, whatever is moved; or the items that the plan puts on one place
        don't fit together, even on an empty region; or items as found must be moved first.
        """
        region, place = self._region(new.place), new.place.object
        sure = self._never(action, new, region)
        if sure is not None:
            return [sure]
        nobody = self._everything
        beside = [other for other in there if other.place.object == place]
        if beside and self._room(new, beside, nobody) is not True:
            return self._too_small(new, beside, region)
        if self._room(new, there, nobody) is not True:
            self.crowded = f"no room was found for {new.thing} at {place}, {1e3 * GAP:.0f} mm "
            self.crowded += "from what stands there"
            return []  # several places share the region: no fact states that
        names = {i: item.name for i, item in enumerate(self.task.scene.items)}
        names |= {self._index(b): b.object for b in self.task.bindings.values() if b.kind == "item"}
        standing = list(self._outlines(region, gone))
        # The fewest items as found without which there is room must be moved first.
        for count in range(1, min(len(standing), _MOST) + 1):
            for some in combinations(standing, count):
                if self._room(new, there, gone | set(some)) is True:
                    return [self._no_room(new, names[i], region) for i in some]
        return [self._no_room(new, names[i], region) for i in standing]

    def _too_small(
        self, new: _PlannedPlacement, beside: Sequence[_PlannedPlacement], region: Region
    ) -> list[LearnedConstraint]:
        """Constraints that a place can't hold these items together.

        Items without which the others don't fit either are left out first.
        """
        needed = list(beside)
        for other in beside:
            fewer = [put for put in needed if put is not other]
            if fewer and self._room(new, fewer, self._everything) is not True:
                needed = fewer
        failure = self._failure(region, [new, *needed])
        things = sorted(put.thing for put in [new, *needed])
        facts = (
            self.task.fact("too-small", new.place.object, thing, *(t for t in things if t != thing))
            for thing in things
        )
        return [LearnedConstraint(fact, failure) for fact in facts]

    def _never(
        self, action: BoundAction, new: _PlannedPlacement, region: Region
    ) -> LearnedConstraint | None:
        """The constraint that an action is impossible, with a proof, or None.

        There is no room for the item even if all that can be moved is moved.
        """
        item, place = self._item(new), new.place
        stuck = self._outlines(region, movable_items(self.task, self.start) | {new.index})
        beside: dict[str, None] = {}

        def proof(turned: Sequence[Item]) -> dict[str, Any] | None:
            """A certificate for the item turned as given; notes what it names in ``beside``."""
            fixed = [*stuck.values(), *self._furniture(region, float(turned[0].size[2]))]
            if place.spot is None or region.kind != "surface":
                beside.update(dict.fromkeys(footprint.name for footprint in fixed))
                return packing_certificate(turned, region, fixed)
            there, certificate = _taken_spot(turned[0], place.spot, fixed)
            beside.update(dict.fromkeys(there))
            return certificate

        certificate, names = in_every_pose([item], proof), tuple(beside)
        if place.spot is not None and region.kind == "surface":
            message = f"{place.object} has no room for {new.thing} beside {', '.join(names)}"
            where = place.object
        else:
            where, message = region.name, f"{region.name} has no room for {new.thing}"
            message += f" beside {', '.join(names)}" if names else ""
        if certificate is None:
            return None
        kind = FailureKind.BLOCKED if names else FailureKind.DOES_NOT_FIT
        failure = Failure(kind, message, (*names, new.thing, where), certificate=certificate)
        args = tuple(binding.object for binding in action.bindings)
        fact = Fact("no-room", (new.thing, place.object))
        return LearnedConstraint(fact, failure, (GroundAction(action.name, args),))

    def goal_conflict(self, goal: Sequence[Formula]) -> Failure | None:
        """A proof that the goal puts items into one region that don't fit there, or None."""
        wanted: dict[str, dict[int, _PlannedPlacement]] = {}
        for part in goal:
            if not isinstance(part, Literal) or not part.positive:
                continue
            if part.predicate not in ("on", "in", "inside") or len(part.args) != 2:
                continue
            thing, place = (self.task.bindings[name] for name in part.args)
            if thing.kind == "item" and place.kind == "furniture" and place.region is not None:
                put = _PlannedPlacement(thing.object, self._index(thing), place)
                outline = self._outlines(self._region(place), set()).get(put.index)
                if outline and not lies_within(outline.outline, self._region(place)):
                    continue  # as found it sticks out, and may stay so
                wanted.setdefault(place.region, {})[put.index] = put
        for puts in wanted.values():
            *there, new = puts.values()
            if there and self._room(new, there, self._everything) is not True:
                failure = self._failure(self._region(new.place), [*there, new])
                if failure.certificate is not None:
                    return failure
        return None

    def _no_room(self, new: _PlannedPlacement, other: str, region: Region) -> LearnedConstraint:
        """The suspicion that a new item has no room while another stands as found."""
        where = region.name if new.place.spot is None else new.place.object
        text = f"no room for {new.thing} on {where} beside {other} where it stands"
        failure = Failure(FailureKind.BLOCKED, text, (other,))
        return LearnedConstraint(
            self.task.fact("no-room", new.thing, new.place.object, other), failure
        )

    def _failure(self, region: Region, puts: Sequence[_PlannedPlacement]) -> Failure:
        """A Failure: items can't stand in a region together; certified if that can be proven."""
        items = [self._item(put) for put in puts]
        names = tuple(put.thing for put in puts)
        sized = [f"{p.thing} ({_millimetres(i.size)})" for p, i in zip(puts, items, strict=True)]
        said = ", ".join(sized[:-1]) + f" and {sized[-1]}"
        certificate = self._one_spot(puts)
        where: tuple[str, ...] = (region.name,)
        exact = [put.place.object for put in puts if put.place.spot is not None]
        if certificate is not None:
            names = tuple(certificate["things"])
            where = tuple(dict.fromkeys(p.place.object for p in puts if p.thing in names))
            text = f"{' and '.join(names)} can't both stand at {' and '.join(where)}"
        elif not exact or region.kind != "surface":  # an exactly placed item may stick out

            def proof(turned: Sequence[Item]) -> dict[str, Any] | None:
                """A certificate for the items turned as given."""
                shortest = min(float(item.size[2]) for item in turned)
                return packing_certificate(turned, region, self._furniture(region, shortest))

            certificate = in_every_pose(items, proof)
            parts = " and ".join(_millimetres(high - low) for low, high in region.boxes)
            text = f"{region.name} ({parts}) can't hold {said} together"
        if certificate is None:
            where = tuple(exact) or where
            text = f"no way found for {said} to stand together on {' and '.join(where)}"
        return Failure(FailureKind.DOES_NOT_FIT, text, (*names, *where), certificate=certificate)

    def _one_spot(self, puts: Sequence[_PlannedPlacement]) -> dict[str, Any] | None:
        """A certificate that two items on exact spots overlap however they are turned, or None."""
        for a, b in combinations(puts, 2):
            one, other = a.place.spot, b.place.spot
            if one is None or other is None or a.place.region != b.place.region:
                continue
            apart = float(np.linalg.norm(one.xy - other.xy)) + 2.0 * SPOT_RADIUS
            things = [a.thing, b.thing]
            proof = in_every_pose([self._item(a), self._item(b)], partial(_overlap, things, apart))
            if proof is not None:
                return proof
        return None


def _overlap(things: list[str], apart: float, items: Sequence[Item]) -> dict[str, Any] | None:
    """A certificate that two upright items overlap if their centres are ``apart`` (m) or nearer.

    They do if circles that both fill at one height overlap. None if no such circles do.
    """
    for (low, high, r), (other_low, other_high, other_r) in product(*map(_inner_circles, items)):
        if low < other_high and other_low < high and r + other_r > apart:
            radii = [r, other_r]
            return {
                "kind": "spots",
                "things": things,
                "most_apart_m": apart,
                "inner_radii_m": radii,
            }
    return None


def _millimetres(size: Array) -> str:
    """The first two sides of a size (2 or 3,) in metres as ``89 x 38 mm``."""
    return f"{1e3 * size[0]:.0f} x {1e3 * size[1]:.0f} mm"


def _taken_spot(
    item: Item, spot: Spot, fixed: Sequence[Footprint]
) -> tuple[tuple[str, ...], dict[str, Any] | None]:
    """The name of what overlaps an item on its exact spot however it is turned, and a certificate.

    An empty tuple and None if nothing does.
    """
    for footprint in fixed:
        for _, _, radius in _inner_circles(item):
            inner = radius - SPOT_RADIUS
            if inner <= 0.0 or not footprint.layers:
                continue
            disc = spot.xy + circle(inner, outside=False)
            if gaps(disc[None], footprint.outline[None])[0, 0] < 0.0:
                return (footprint.name,), {
                    "kind": "spot",
                    "spot_m": spot.xy.tolist(),
                    "inner_radius_m": inner,
                    "outline_m": footprint.outline.tolist(),
                }
    return (), None


def _inner_circles(item: Item) -> list[tuple[float, float, float]]:
    """Circles about its axis that an upright item fills: lower and upper height, and radius, m.

    For each layer the radius is the distance from the axis to the nearest edge of its polygon.
    """
    circles = []
    for layer in Upright.of(item).layers:
        after = np.roll(layer.polygon, -1, axis=0)
        edges, across = after - layer.polygon, layer.polygon
        twice = across[:, 0] * after[:, 1] - across[:, 1] * after[:, 0]
        circles.append((layer.low, layer.high, float((twice / np.hypot(*edges.T)).min())))
    return circles
