"""Plans the Motions of one manipulation, and looks ahead to the actions after it.

The current stance is tried first, then others of the furniture's stance set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np

from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import Array, nearest_turn
from galley.domain.scene.model import Binding
from galley.domain.state import State
from galley.motion.effects import after, seen_by
from galley.motion.motion import Motion
from galley.skills.manipulation.contacts import place_manipulations
from galley.skills.manipulation.context import PlanningContext
from galley.skills.manipulation.escape import escape
from galley.skills.manipulation.free_motion import free_motion
from galley.skills.manipulation.lines import Tally, stroke_motion, stroke_states
from galley.skills.manipulation.manipulation import Line, Manipulation, Stroke
from galley.skills.manipulation.proof import holding_contact_pairs
from galley.skills.manipulation.reach import (
    ManipulationSolution,
    solve_from_stances,
    solve_manipulation,
    widest_first,
)
from galley.skills.placing.placements import LaterItem
from galley.skills.skill import BoundAction, Skill, acting_hand, region_of, stance_of


@dataclass
class MotionBuilder:
    """Plans an action's Motions one by one; ``state`` is the State after the last one.

    Methods return None if they added their Motions, else a Failure.
    """

    context: PlanningContext
    state: State
    action_index: int
    rng: np.random.Generator
    motions: list[Motion] = field(default_factory=list)

    def add(self, motion: Motion) -> None:
        """Append a Motion and update the State."""
        touching = self.context.always_touching(self.state)
        hand, allowed = self.context.robot.hand, motion.allowed | touching
        if touching or hand:
            motion = replace(motion, allowed=allowed, hand=hand)
        self.motions.append(motion)
        self.state = after(self.context.scene, self.context.robot, motion, self.state)

    def move_base(self, goal: Array, step: str, reason: str = "") -> Failure | None:
        """Fold the arm if necessary, then drive to ``goal`` (3,), for a ``reason`` or none."""
        q = self.state.q[self.context.robot.slice("base")]
        base = self.context.robot.group("base")
        heading = nearest_turn(goal[2], q[2], base.lower[2], base.upper[2])
        goal = np.array([*goal[:2], heading])
        if np.abs(q - goal).max() < 1e-9:
            return None
        lying = self.context.lying_on_base(self.state)
        if lying:
            names = tuple(sorted(set().union(*lying) & set(self.context.scene.item_index)))
            message = f"{' and '.join(names)} on the robot's base would drive along"
            return Failure(FailureKind.BUDGET, message, names).within(f"{step}drive")
        aside = escape(self.context, self.state)  # what stands beside the robot, at the start say
        if isinstance(aside, Failure):
            return aside.within(f"{step}give way")
        for motion in aside:
            self.add(replace(motion, action_index=self.action_index, phase=step + motion.phase))
        failed = self.fold(f"{step}fold the arm", goal)
        return failed or self.free("base", goal[None], f"{step}drive", reason)

    def fold(self, phase: str, base: Array | None = None) -> Failure | None:
        """Move the arm into a folded configuration, unless it is in one.

        Into one that is free at another ``base`` (3,), too, if there is any.
        """
        context, robot = self.context, self.context.robot
        arm, goals = self.state.q[robot.slice("arm")], folded_configurations(context, self.state)
        if base is not None and len(goals):
            checker = context.checker(self.state, holding_contact_pairs(context, self.state))
            there = checker.free_many(robot.with_groups(self.state.q, base=base, arm=goals))
            goals = goals[there] if there.any() else goals
        if len(goals) and np.abs(goals - arm).max(axis=1).min() <= 1e-6:
            return None
        return self.free("arm", goals, phase) if len(goals) else _no_room(phase)

    def free(self, group: str, goals: Array, phase: str, reason: str = "") -> Failure | None:
        """Move a joint group to one of some goals (m, k), without contact."""
        motion = free_motion(
            self.context, self.state, group, goals, phase, self.action_index, self.rng
        )
        if isinstance(motion, Failure):
            return motion
        self.add(replace(motion, record=replace(motion.record, reason=reason)))
        return None

    def run(self, reached: ManipulationSolution, step: str = "") -> Failure | None:
        """The whole manipulation: drive, reach, lines and strokes."""
        opening = reached.manipulation.opening
        failed = self.move_base(reached.base, step, reached.reason)
        if failed is not None:
            return failed
        # Where obstacles are close, the fingers open only after the arm has moved.
        opens_first = self._room_for(opening)
        if opens_first:
            self.move_fingers(opening, step)
        failed = self.free("arm", reached.before[None], f"{step}reach")
        if failed is not None:
            return failed
        if not opens_first:
            if not self._room_for(opening):
                return Failure(
                    FailureKind.BUDGET, "no room to open the fingers, neither here nor there"
                ).within(f"{step}open fingers")
            self.move_fingers(opening, step)
        segments = iter(reached.segments)
        for part in reached.manipulation.steps:
            if isinstance(part, Line):
                line = next(segments).motion(part, self.action_index, step + part.phase)
                self.add(line)
            else:
                self._stroke(part, step)
        return None

    def move_fingers(self, opening: float, step: str) -> None:
        """Move the empty fingers to ``opening`` (m each)."""
        robot = self.context.robot
        q = self.state.q[robot.slice("fingers")]
        if self.state.held is None and np.abs(q - robot.fingers_at(opening)).max() > 1e-9:
            verb = "open" if opening > robot.half_width(q) else "partly close"
            self._stroke(Stroke(f"{verb} fingers", opening, frozenset(), ()), step)

    def _stroke(self, part: Stroke, step: str) -> None:
        q = self.state.q
        self.add(stroke_motion(self.context, q, part, self.action_index, step + part.phase))

    def _room_for(self, opening: float) -> bool:
        """Whether the empty fingers can move to ``opening`` at the current pose."""
        Q = stroke_states(self.context, self.state.q, opening)
        if self.state.held is not None or np.abs(Q[-1] - Q[0]).max() <= 1e-9:
            return True
        return bool(self.context.checker(self.state).free_many(Q).all())


def _no_room(phase: str) -> Failure:
    return Failure(FailureKind.BUDGET, "the folded arm finds no room").within(phase)


def at_rest(
    context: PlanningContext, state: State, action_index: int, rng: np.random.Generator
) -> tuple[tuple[Motion, ...], State]:
    """Motions that fold the arms of the hands which do not act in ``context``, and what they leave.

    First that of the hand that acted last. Where one finds no way it stays.
    """
    robot, motions = context.robot, list[Motion]()
    for hand in dict.fromkeys((state.hand, *robot.views)):
        if hand != robot.hand:
            other = context.acting(hand)
            builder = MotionBuilder(other, seen_by(other.robot, state), action_index, rng)
            builder.fold(f"rest the {hand} arm")
            motions, state = motions + builder.motions, builder.state
    return tuple(motions), seen_by(robot, state)


def folded_configurations(context: PlanningContext, state: State) -> Array:
    """Folded arm configurations (m, n) that are free at the current stance, best first.

    Variants of the start's configuration leave room for a held item; empty if none is free.
    """
    checker = context.checker(state, holding_contact_pairs(context, state))
    group = context.robot.group("arm")
    for arms in context.robot.kinematics.folded(context.folded_arm):
        arms = arms[((arms >= group.lower) & (arms <= group.upper)).all(axis=1)]
        arms = arms[checker.free_many(context.robot.with_groups(state.q, arm=arms))]
        if len(arms):
            break
    return arms


HERE = 16  # manipulations tried from the current stance before others are sampled
PATHS = 4  # solved manipulations for which free motions are planned
RETRIES = 3  # of a step of a compound action
_AHEAD = 60  # tries of a look ahead
_REJECTIONS = 12  # solutions rejected by ``accepts``; after that any is accepted, and the next step
# fails and says why

Contacts = Callable[[State, np.random.Generator], Iterator[Manipulation]]
"""Makes the possible manipulations in a State, lazily, in random order."""

Accepts = Callable[[State, np.random.Generator], bool]
"""Whether the next step is possible from the State after the manipulation."""


@dataclass(frozen=True)
class SkillStep:
    """A choice of manipulations, one of which is to be executed.

    Attributes:
        contacts: makes them.
        place: the furniture in whose stance set the base must stand.
        name: of a step of a compound action; empty if the step is the whole action.
        accepts: looks ahead from the State afterwards; None: every solution is accepted.
    """

    contacts: Contacts
    place: Binding
    name: str = ""
    accepts: Accepts | None = None


def carry_out(
    context: PlanningContext,
    action: BoundAction,
    steps: Iterable[SkillStep],
    state: State,
    rng: np.random.Generator,
) -> tuple[Motion, ...] | Failure:
    """The Motions of an action's steps, one after another.

    The steps of a compound action have names; a Failure says in which step it occurred.
    """
    builder = MotionBuilder(context, state, action.index, rng)
    compound = False
    for step in steps:
        compound = compound or bool(step.name)
        failed: Failure | None = None
        for _ in range(RETRIES if step.name else 1):
            failed = plan_step(builder, step, step.name or str(action))
            if failed is None or "tries" in failed.numbers:
                break  # all tries are used up: more won't help
        if failed is not None:
            return failed.within(step.name) if step.name else failed
    if compound:
        builder.fold("fold the arm")  # if it has room; else before the next drive
    return tuple(builder.motions)


def plan_step(builder: MotionBuilder, step: SkillStep, what: str) -> Failure | None:
    """Add the Motions of one step; if it fails, the builder is unchanged.

    Args:
        builder: gets the Motions.
        step: the step.
        what: the step or action, for messages.
    """
    context, start, rng = builder.context, builder.state, builder.rng
    done = len(builder.motions)
    tally = Tally()
    failed: Failure | None = None
    paths = rejected = 0
    for reached in widest_first(
        _candidates(context, step, start, rng, tally), context.robot.spacing.margin
    ):
        if paths >= PATHS:
            break
        if (
            step.accepts is not None
            and rejected < _REJECTIONS
            and not step.accepts(reached.state_after(context.robot), rng)
        ):
            rejected += 1
            tally.reasons["the next step can't follow"] += 1
            continue
        paths += 1
        failed = builder.run(reached, f"{step.name}: " if step.name else "")
        if failed is None:
            return None
        del builder.motions[done:]
        builder.state = start
    return failed or tally.failure(what)


def _candidates(
    context: PlanningContext, step: SkillStep, start: State, rng: np.random.Generator, tally: Tally
) -> Iterator[ManipulationSolution]:
    yield from from_current_stance(
        context, step.contacts(start, rng), step.place, start, rng, tally
    )
    stance = stance_of(context, step.place)
    arms = folded_configurations(context, start)
    # At the current stance the arm may have no room to fold; elsewhere it may.
    arm = arms[0] if len(arms) else context.folded_arm
    yield from solve_from_stances(
        context, step.contacts(start, rng), stance, arm, start, rng, tally
    )


def from_current_stance(
    context: PlanningContext,
    contacts: Iterator[Manipulation],
    place: Binding,
    state: State,
    rng: np.random.Generator,
    tally: Tally,
    limit: int = HERE,
) -> Iterator[ManipulationSolution]:
    """Solutions of the first ``limit`` contacts from the current stance.

    Empty if the base is not near the furniture.
    """
    base = state.q[context.robot.slice("base")]
    if not stance_of(context, place).contains(base):
        return
    for manipulation in islice(contacts, limit):
        reached = solve_manipulation(context, manipulation, base, rng, tally)
        if reached is not None:
            yield reached


def any_reachable(
    context: PlanningContext,
    contacts: Iterator[Manipulation],
    place: Binding,
    state: State,
    rng: np.random.Generator,
) -> bool:
    """Whether a short search solves any contact from some stance of the furniture."""
    stance = stance_of(context, place)
    solutions = solve_from_stances(
        context, contacts, stance, context.folded_arm, state, rng, Tally(), _AHEAD
    )
    return next(solutions, None) is not None


def placed_later(
    context: PlanningContext,
    upcoming: Sequence[BoundAction],
    skills: Mapping[str, Skill],
    region: str | None,
    but: str,
) -> tuple[LaterItem, ...]:
    """The items that later actions put into a region, except the one named ``but``."""
    later: dict[str, LaterItem] = {}
    for action in upcoming:
        thing, place = _put(action, skills)
        if thing is None or place is None or place.region != region or thing.target == but:
            continue
        later.setdefault(thing.target, LaterItem(context.scene.item(thing.target), place.spot))
    return tuple(later.values())


def can_be_placed_later(
    context: PlanningContext,
    upcoming: Sequence[BoundAction],
    skills: Mapping[str, Skill],
    index: int,
) -> Accepts | None:
    """A check that an item can be put down, as it is held, where the plan puts it next.

    A grasp that takes an item out may not do for putting it down. None if the plan doesn't put it
    down, if another hand does, or if the action also opens furniture.
    """
    item = context.scene.items[index]
    for k, action in enumerate(upcoming):
        if acting_hand(context.robot, (action,)) not in ("", context.robot.hand):
            if item.name in (binding.target for binding in action.bindings):
                return None
            continue
        thing, place = _put(action, skills)
        if thing is None or place is None or thing.target != item.name:
            continue
        region = region_of(context, place)
        if region is None or skills[action.name].role.opens is not None:
            return None
        later = placed_later(context, upcoming[k + 1 :], skills, region.name, item.name)
        return lambda s, r: any_reachable(
            context, place_manipulations(context, s, region, r, later, place.spot), place, s, r
        )
    return None


def _put(action: BoundAction, skills: Mapping[str, Skill]) -> tuple[Binding | None, Binding | None]:
    """The item that an action puts or pushes, and the furniture; None for each that it lacks."""
    skill = skills.get(action.name)
    if skill is None or skill.role.sets is None:
        return None, None
    place = skill.role.place
    return action.bindings[skill.role.sets], None if place is None else action.bindings[place]
