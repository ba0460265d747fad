"""push(item, from, to, hand) and push_aside(item, surface, hand): push an item over its support.

The item gets several straight pushes of the closed hand, which are planned together. Execution
observes the item after each one and replans from where it really is, for no prediction of friction
is exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice, product
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import Array, wrap
from galley.domain.predicates import SPOT_RADIUS
from galley.domain.scene.model import Region
from galley.domain.state import State, item_pose
from galley.motion.motion import Motion, Slide
from galley.skills.infeasibility.refusals import (
    does_not_fit,
    no_such_region,
    region_out_of_reach,
    wrong_in_hand,
)
from galley.skills.manipulation.contacts import with_room
from galley.skills.manipulation.context import PlanningContext
from galley.skills.manipulation.grasps import grasps_at, is_upright
from galley.skills.manipulation.lines import RejectionCounts
from galley.skills.manipulation.manipulation import Manipulation
from galley.skills.manipulation.motion_builder import MotionBuilder
from galley.skills.manipulation.overhang import is_flat, overhanging, top_below
from galley.skills.manipulation.pushes import STRONGEST, PushedItem, half_width, surface_about
from galley.skills.manipulation.step import (
    SkillStep,
    can_be_placed_later,
    placed_later,
    plan_step,
    solve_from_stances,
)
from galley.skills.pick import pick_manipulations
from galley.skills.place import is_placed
from galley.skills.placing.footprints import gaps, padded
from galley.skills.placing.placements import FINGERS
from galley.skills.skill import BoundAction, LookaheadSkill, Role, region_of, stance_of

if TYPE_CHECKING:
    from galley.planar.pushing.straight import StraightPush as StraightPush

_EXACT = 0.006, float(np.radians(3.0))  # m, rad; tolerance of an exact goal: predicates allow more
_ROUGH = 0.02, 0.35  # tolerance of a goal anywhere on a surface
_EDGE = 0.008, float(np.radians(5.0))  # tolerance of a goal where the item sticks out over an edge
_EDGES, _TRIES, _WAYS = 8, 60, 6  # such goals that are checked, and the tries and grasps at each
_NEAR = 96  # the nearest such goals, which are considered at all: on a floor there are very many
_BELOW = 0.5  # part of the hand's direction along an item's axis, above which it comes from below
_ANY = 4.0  # rad, tolerance of a goal with any yaw
_SHARE = 0.7  # share of the strongest push that friction may take
_DRAWN, _TRIED = 200, 3  # places drawn on a surface, and how many of them are tried as goals
_TURN = 0.15  # m that a turn of 1 rad counts as when they are ranked
_HERE, _MOST = 4, 8  # most pushes, from where the base stands and from anywhere
_PLANS = 3  # plans of pushes tried, the later ones without pushes that the arm can't do
_BANNED = 0.02  # m, a push with ends this near to those of one that the arm can't do is left out


class _Goal(NamedTuple):
    """A goal of pushes.

    Attributes:
        pose: x, y, yaw of the item in the world (3,).
        tolerance: distance (m) and angle (rad) that may be left.
        over: how far the item may stick out over an edge, m.
    """

    pose: Array
    tolerance: tuple[float, float]
    over: float = 0.0

    @classmethod
    def of(cls, slide: Slide, pushed: PushedItem) -> _Goal:
        """The goal to which an interrupted slide was bringing the item."""
        over = float(pushed.over(pushed.outlines(slide.goal[None]))[0])
        inside = over <= _EDGE[0]
        return cls(slide.goal, _ROUGH) if inside else cls(slide.goal, _EDGE, over + _EDGE[0])

    def left(self, pose: Array) -> tuple[float, float]:
        """The distance (m) and angle (rad) between the goal and a pose (3,)."""
        away = float(np.hypot(*(pose[:2] - self.pose[:2])))
        return away, abs(float(wrap(pose[2] - self.pose[2])))

    def holds(self, pose: Array) -> bool:
        """Whether a pose (3,) is within the tolerance."""
        return bool((np.array(self.left(pose)) <= self.tolerance).all())


class Push(LookaheadSkill):
    """Pushes an item to another place on its support."""

    parameters: ClassVar[tuple[str, ...]] = ("item", "furniture", "furniture", "hand")
    role: ClassVar[Role] = Role(pushes=0, source=1, place=2)
    least: ClassVar[float] = 0.0  # m, least distance that it is pushed if any place will do

    def refine(
        self,
        context: PlanningContext,
        action: BoundAction,
        upcoming: tuple[BoundAction, ...],
        state: State,
        rng: np.random.Generator,
    ) -> tuple[Motion, ...] | Failure:
        """Plan the pushes that bring the item to its goal; no Motions if it is there.

        If the arm can't carry out one of the pushes, the rest is planned again without it.
        """
        failed = wrong_in_hand(context, state, None)
        if failed is not None or self._is_done(context, action, state):
            return failed or ()
        builder, banned = MotionBuilder(context, state, action.index, rng), list[Array]()
        for _ in range(_PLANS):
            plan = self._plan(context, action, upcoming, builder.state, rng, banned)
            if isinstance(plan, Failure):
                return failed or plan
            for push in plan[0]:
                pushed = self._pushed(context, action, builder.state)
                contacts = partial(pushed.manipulations, push, plan[1].pose)
                name = f"push {1 + sum(each.slide is not None for each in builder.motions)}"
                failed = plan_step(builder, SkillStep(contacts, action.bindings[1], name), name)
                if failed is not None:
                    banned.append(np.concatenate([push.start, push.end]))
                    break
            else:
                return tuple(builder.motions)
        assert failed is not None
        return failed

    def _plan(
        self,
        context: PlanningContext,
        action: BoundAction,
        upcoming: Sequence[BoundAction],
        state: State,
        rng: np.random.Generator,
        banned: Sequence[Array] = (),
    ) -> tuple[tuple[StraightPush, ...], _Goal] | Failure:
        """Pushes that bring the item to a goal, and the goal; or a Failure that says how near.

        Pushes from where the base stands are tried first, then from anywhere in the stance set.

        Args:
            banned: start and end (4,) of pushes that the arm can't carry out.
        """
        from galley.planar.pushing.straight import plan_pushes

        stance = stance_of(context, action.bindings[1])
        pushed = self._pushed(context, action, state)
        if not pushed.in_reach:
            message = f"the arm is too short to push {pushed.item.name} where it lies"
            return Failure(FailureKind.BUDGET, message, (pushed.item.name,))
        here = state.q[None, context.robot.slice("base")]
        bases = [(here, _HERE)] if stance.contains(here[0]) else []
        bases.append((pushed.bases(stance, rng), _MOST))
        plan = partial(plan_pushes, pushed.slider, pushed.pose)
        nearest = [(np.inf, 0.0)]
        goals = islice(self._goals(context, action, upcoming, pushed, rng), _TRIED)
        for goal, (starts, most) in product(goals, bases):

            def reachable(
                a: Array, b: Array, picks: NDArray[np.int64], starts: Array = starts
            ) -> NDArray[np.bool_]:
                """Whether hand and arm can carry out pushes from a to b (n, 2), none banned."""
                good = pushed.room(a, b, picks, starts)
                for away in banned:
                    good &= np.abs(np.hstack([a, b]) - away).max(axis=1) > _BANNED
                return good

            clear = partial(pushed.clear, most=goal.over)
            pushes = plan(
                goal.pose, rng, clear=clear, reachable=reachable, most=most,
                tolerance=goal.tolerance,
            )  # fmt: skip
            if pushes and goal.holds(pushes[-1].poses[-1]):
                return pushes, goal
            nearest += map(goal.left, (pushed.pose, *(push.poses[-1] for push in pushes[-1:])))
        away, turn = min(nearest)
        message, numbers = f"no room found to push {pushed.item.name}", {}
        if away < np.inf:
            message = f"no pushes found that bring {pushed.item.name} nearer to its goal than "
            message += f"{1e3 * away:.0f} mm and {np.degrees(turn):.0f} degrees"
            numbers = {"left_m": away, "left_rad": turn}
        message += f"; beside it: {', '.join(pushed.beside)}" if pushed.beside else ""
        return Failure(FailureKind.BUDGET, message, (pushed.item.name, *pushed.beside), numbers)

    def _goals(
        self,
        context: PlanningContext,
        action: BoundAction,
        upcoming: Sequence[BoundAction],
        pushed: PushedItem,
        rng: np.random.Generator,
    ) -> Iterator[_Goal]:
        """Yield goals, the first choice first: the spot, or places on the surface.

        Places on the surface are ranked by distance and turn. They leave the spots of later items
        free.
        """
        to, spot = action.bindings[-2], action.bindings[-2].spot
        region = region_of(context, to) or pushed.surface
        if spot is not None:
            pose = pushed.in_world(np.array([[*spot.xy, spot.yaw or 0.0]]))[0]
            if spot.yaw is None:
                pose[2] = pushed.pose[2]
            yield _Goal(pose, _EXACT if spot.yaw is not None else (_EXACT[0], _ANY))
            return
        if context.slide is not None and context.slide.item == pushed.item.name:
            yield _Goal.of(context.slide, pushed)  # it was on its way there
        box = rng.choice(len(region.boxes), _DRAWN)
        low, high = region.boxes[box, 0, :2], region.boxes[box, 1, :2]
        xy = low + rng.random((_DRAWN, 2)) * (high - low)
        poses = pushed.in_world(np.column_stack([xy, np.zeros(_DRAWN)]))
        poses[:, 2] = pushed.pose[2] + rng.choice([0.0, np.pi / 2.0, -np.pi / 2.0], _DRAWN)
        outlines, away = pushed.outlines(poses), np.hypot(*(poses - pushed.pose)[:, :2].T)
        good = (pushed.over(outlines, region) <= 0.0) & pushed.clear(poses) & (away > self.least)
        later = placed_later(context, upcoming, self.skills, region.name, pushed.item.name)
        reserved = [item.footprint(region).outline for item in later if item.spot is not None]
        if reserved:
            good &= gaps(outlines, padded(reserved)).min(axis=1) >= FINGERS
        cost = away + _TURN * np.abs(wrap(poses[:, 2] - pushed.pose[2]))
        yield from (_Goal(poses[k], _ROUGH) for k in np.argsort(cost) if good[k])

    def _is_done(self, context: PlanningContext, action: BoundAction, state: State) -> bool:
        """Whether the item is at its spot, or near enough to the goal of its interrupted slide."""
        if action.bindings[-2].spot is not None:
            return is_placed(context, "on", action.bindings[0], action.bindings[-2], state)
        slide, pushed = context.slide, self._pushed(context, action, state)
        if slide is None or slide.item != pushed.item.name:
            return False
        goal = _Goal.of(slide, pushed)
        away, turn = goal.tolerance
        return goal._replace(tolerance=(1.5 * away, 1.5 * turn)).holds(pushed.pose)

    def _to(self, context: PlanningContext, action: BoundAction, state: State) -> Region | None:
        """The region to which the item is pushed; None if the furniture has none."""
        return region_of(context, action.bindings[-2])

    def _pushed(self, context: PlanningContext, action: BoundAction, state: State) -> PushedItem:
        """The item to be pushed, on its surface."""
        index, region = _index(context, action), self._to(context, action, state)
        assert region is not None, "impossible() has refused this already"
        return PushedItem.of(context, state, index, region)

    def first_contacts(
        self, context: PlanningContext, action: BoundAction, state: State, rng: np.random.Generator
    ) -> Iterator[Manipulation]:
        """Yield ways to carry out the first push, if pushes to a goal are found."""
        if not self._is_done(context, action, state):
            plan = self._plan(context, action, (), state, rng)
            if not isinstance(plan, Failure):
                pushed = self._pushed(context, action, state)
                yield from pushed.manipulations(plan[0][0], plan[1].pose, state, rng)

    def resumes(self, context: PlanningContext, action: BoundAction, state: State) -> bool:
        """True while the item rests on its support and the hand is empty."""
        return state.held is None and self._pushed(context, action, state).rests

    def impossible(
        self, context: PlanningContext, action: BoundAction, state: State
    ) -> Failure | None:
        """A refusal if the item can't be pushed there.

        The two places may be on different surfaces; the item may be too heavy, tip over, or stick
        out over the edge; or the place may be too small or out of reach.
        """
        source, to = action.bindings[1], action.bindings[-2]
        begin, region = region_of(context, source), self._to(context, action, state)
        if region is None or region.kind != "surface":
            return no_such_region(to.object, "surface to push things to")
        pushed = self._pushed(context, action, state)
        name, spot = pushed.item.name, to.spot
        if source == to:
            begin = region  # pushed aside
        if begin is not None and not _same(
            *(surface_about(context.scene, r) for r in (begin, region))
        ):
            text = f"{source.object} and {to.object} are not parts of one surface over which {name}"
            proof: dict[str, Any] = {"kind": "scene", "surfaces": [begin.name, region.name]}
            names = source.object, to.object
            return Failure(FailureKind.CONTRADICTION, f"{text} could be pushed", names, {}, proof)
        lies = pushed.item.upright and not is_upright(pushed.X_WI)
        if begin is None and (lies or not pushed.rests):
            why = "lies, and would not stand there" if lies else "is not on that surface"
            text = f"{name} can't be pushed to {to.object}: it {why}"
            proof = {"kind": "scene", "surfaces": [region.name]}
            return Failure(FailureKind.CONTRADICTION, text, (name, to.object), {}, proof)
        numbers = {"friction_N": pushed.force, "most_N": _SHARE * STRONGEST}
        if pushed.force > _SHARE * STRONGEST:
            text = f"{name} is too heavy to push: {pushed.force:.0f} N of friction, and the hand"
            text += f" pushes with {_SHARE * STRONGEST:.0f} N at most"
            proof = {"kind": "friction", "mass_kg": pushed.item.mass, "friction": pushed.friction}
            return Failure(FailureKind.UNSTABLE, text, (name,), numbers, proof | numbers)
        least = half_width(pushed.outline, pushed.slider.middle)
        if pushed.friction * pushed.lowest > least:
            text = f"{name} would tip over: the hand has to push it {pushed.lowest:.3f} m above its"
            text += f" support, and its middle is {least:.3f} m from its edge"
            numbers = {"height_m": pushed.lowest, "edge_m": least, "friction": pushed.friction}
            proof = {"kind": "tipping", **numbers}
            return Failure(FailureKind.UNSTABLE, text, (name,), numbers, proof)
        near = stance_of(context, source)
        if spot is None:
            failed = does_not_fit(pushed.item, region)
            return failed or region_out_of_reach(context, pushed.item, region, near)
        yaws = np.radians(np.arange(360.0)) if spot.yaw is None else np.array([spot.yaw])
        poses = np.column_stack([np.tile(spot.xy, (len(yaws), 1)), yaws])
        over = float(pushed.over(pushed.outlines(pushed.in_world(poses))).min())
        if over > SPOT_RADIUS:
            text = f"{name} would stick out over the edge of its support by {over:.3f} m"
            numbers, names = {"over_edge_m": over}, (name, to.object)
            proof = {"kind": "edge", "outline_m": pushed.outline.tolist(), **numbers}
            text += f" at {to.object}"
            return Failure(FailureKind.DOES_NOT_FIT, text, names, numbers, proof)
        return region_out_of_reach(context, pushed.item, region, near, None, spot)


class PushAside(Push):
    """Pushes an item elsewhere on its surface."""

    parameters: ClassVar[tuple[str, ...]] = ("item", "furniture", "hand")
    role: ClassVar[Role] = Role(pushes=0, source=1, place=1)
    least: ClassVar[float] = 0.1

    def _goals(
        self, context: PlanningContext, action: BoundAction, upcoming: Sequence[BoundAction],
        pushed: PushedItem, rng: np.random.Generator,
    ) -> Iterator[_Goal]:  # fmt: skip
        """Yield goals, for a flat item first those where it sticks out over an edge.

        There it must be possible to take it, and to put it down where the plan puts it next. If the
        next action takes it, these are all; else the goals of any push follow.
        """
        scene, robot, index = context.scene, context.robot, pushed.index
        if context.slide is None and is_flat(context, pushed.state, index, rng):
            rows, region = overhanging(pushed), region_of(context, action.bindings[1])
            if region is not None:  # it stays on it
                rows = rows[pushed.over(pushed.in_body(rows[:, None, :2]), region) <= 0.0]
            away = rows[:, :3] - pushed.pose
            cost = np.hypot(*away[:, :2].T) + _TURN * np.abs(wrap(away[:, 2]))
            fits = can_be_placed_later(context, upcoming, self.skills, index)
            stance, arm, looked = stance_of(context, action.bindings[1]), context.folded_arm, 0
            for *pose, over in rows[np.argsort(cost, kind="stable")[:_NEAR]]:
                state = pushed.moved(np.array(pose))
                grasps = grasps_at(scene, state, index, robot.gripper)
                if pushed.item.upright:  # it must stand again, without the hand below it
                    grasps = tuple(g for g in grasps if g.X_IT[2, 2] < _BELOW)
                if looked < _EDGES and any(with_room(context, state, index, grasps, rng)):
                    looked += 1
                    picks = pick_manipulations(context, state, index, rng)
                    about = context, picks, stance, arm, state, rng, RejectionCounts(), _TRIES
                    ways = solve_from_stances(*about)
                    after = (solution.state_after(robot) for solution in islice(ways, _WAYS))
                    if any(fits is None or fits(solution, rng) for solution in after):
                        yield _Goal(np.array(pose), _EDGE, over + _EDGE[0])
            takes = self.skills[upcoming[0].name].role.takes if upcoming else None
            if takes is not None and upcoming[0].bindings[takes].target == pushed.item.name:
                return
        yield from super()._goals(context, action, upcoming, pushed, rng)

    def _to(self, context: PlanningContext, action: BoundAction, state: State) -> Region | None:
        """The region; for an item that lies the whole top, up to its edges."""
        region, index = region_of(context, action.bindings[1]), _index(context, action)
        if state.held == index or is_upright(item_pose(context.scene, state, index, np.eye(4))):
            return region
        return top_below(context.scene, state, index) or region


def _index(context: PlanningContext, action: BoundAction) -> int:
    """Index in the scene of the item that the action pushes."""
    return context.scene.item_index[action.bindings[0].target]


def _same(a: Region, b: Region) -> bool:
    """Whether two regions are the same boxes of one body."""
    return (a.body, a.kind) == (b.body, b.kind) and np.array_equal(a.boxes, b.boxes)
