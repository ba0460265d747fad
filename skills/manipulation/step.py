"""Plans the Motions of an action's manipulations, and looks ahead to the actions after it.

``plan_step`` is the core: it goes through solved manipulations (``reach``), those from the current
stance first, then those from other stances of the furniture's stance set. It drops those after
which the next step is impossible, and plans the free motions to the others. The first for which
all Motions are found is taken.
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
    """Plans an action's Motions one by one.

    Methods return None if they have added their Motions, else a Failure.

    Attributes:
        context: the scene, robot, world and settings.
        state: the State after the last Motion added.
        action_index: position of the action in the plan.
        rng: the source of randomness.
        motions: the Motions added so far.
    """

    context: PlanningContext
    state: State
    action_index: int
    rng: np.random.Generator
    motions: list[Motion] = field(default_factory=list)

    def add(self, motion: Motion) -> None:
        """Append a Motion, and update the State to the one after it."""
        touching = self.context.always_touching(self.state)
        hand, allowed = self.context.robot.hand, motion.allowed | touching
        if touching or hand:
            motion = replace(motion, allowed=allowed, hand=hand)
        self.motions.append(motion)
        self.state = after(self.context.scene, self.context.robot, motion, self.state)

    def move_base(self, goal: Array, step: str, reason: str = "") -> Failure | None:
        """Fold the arm if necessary, then drive to the base pose ``goal`` (3,).

        Nothing moves if the base is there.

        Args:
            step: prefix of the phases' names.
            reason: why this goal was chosen, for the report.
        """
        q = self.state.q[self.context.robot.slice("base")]
        base = self.context.robot.group("base")
        heading = nearest_turn(goal[2], q[2], base.lower[2], base.upper[2])
        goal = np.array([*goal[:2], heading])
        if np.abs(q - goal).max() < 1e-9:
            return None
        lying = self.context.lying_on_base(self.state)
        if lying:
            names = tuple(sorted(set().union(*lying) & set(self.context.scene.item_index)))
            message = f"{' and '.join(names)} on the robot's base would be carried along"
            return Failure(FailureKind.BUDGET, message, names).within(f"{step}drive")
        aside = escape(self.context, self.state)  # the robot may start too near to something
        if isinstance(aside, Failure):
            return aside.within(f"{step}give way")
        for motion in aside:
            self.add(replace(motion, action_index=self.action_index, phase=step + motion.phase))
        failed = self.fold(f"{step}fold the arm", goal)
        return failed or self.free("base", goal[None], f"{step}drive", reason)

    def fold(self, phase: str, base: Array | None = None) -> Failure | None:
        """Move the arm into a folded configuration, unless it is in one.

        If possible, into one that is free of collision at another base pose ``base`` (3,), too.
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
        """Move a joint group to one of the goals (m, k), without contact."""
        motion = free_motion(
            self.context, self.state, group, goals, phase, self.action_index, self.rng
        )
        if isinstance(motion, Failure):
            return motion
        self.add(replace(motion, record=replace(motion.record, reason=reason)))
        return None

    def run(self, reached: ManipulationSolution, step: str = "") -> Failure | None:
        """Add the Motions of a whole manipulation: drive, reach, lines and strokes."""
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
                    FailureKind.BUDGET, "no room to open the fingers, before or after the reach"
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
        """Move the empty fingers until each is ``opening`` (m) from the middle."""
        robot = self.context.robot
        q = self.state.q[robot.slice("fingers")]
        if self.state.held is None and np.abs(q - robot.fingers_at(opening)).max() > 1e-9:
            verb = "open" if opening > robot.half_width(q) else "partly close"
            self._stroke(Stroke(f"{verb} fingers", opening, frozenset(), ()), step)

    def _stroke(self, part: Stroke, step: str) -> None:
        """Add the Motion of a stroke."""
        q = self.state.q
        self.add(stroke_motion(self.context, q, part, self.action_index, step + part.phase))

    def _room_for(self, opening: float) -> bool:
        """Whether the empty fingers can move to ``opening`` (m) where the hand is."""
        Q = stroke_states(self.context, self.state.q, opening)
        if self.state.held is not None or np.abs(Q[-1] - Q[0]).max() <= 1e-9:
            return True
        return bool(self.context.checker(self.state).free_many(Q).all())


def _no_room(phase: str) -> Failure:
    """The Failure if no folded configuration is free of collision."""
    return Failure(FailureKind.BUDGET, "the folded arm has no room").within(phase)


def at_rest(
    context: PlanningContext, state: State, action_index: int, rng: np.random.Generator
) -> tuple[tuple[Motion, ...], State]:
    """Motions that fold the arms of the hands which don't act, and the State after them.

    The arm of the hand that acted last is folded first. An arm for which no path is found stays
    where it is.
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

    They are variants of the arm's configuration at the start, which leave room for a held item.
    Empty if none is free.
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
_AHEAD = 60  # tries to solve the next step when looking ahead
_REJECTIONS = 12  # solutions that ``accepts`` may reject. After that any is accepted, and the next
# step fails and says why

Contacts = Callable[[State, np.random.Generator], Iterator[Manipulation]]
"""Yields the possible manipulations in a State, lazily, in random order."""

Accepts = Callable[[State, np.random.Generator], bool]
"""Tells whether the next step is possible from the State after a manipulation."""


@dataclass(frozen=True)
class SkillStep:
    """A choice of manipulations, one of which is to be executed.

    Attributes:
        contacts: yields the manipulations.
        place: the furniture in whose stance set the base must stand.
        name: name of a step of a compound action; empty if the step is the whole action.
        accepts: looks ahead from the State afterwards; with None every solution is accepted.
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
    """Plan the Motions of an action's steps, one after another.

    The steps of a compound action have names; a Failure tells in which step it occurred. Such a
    step is retried a few times, unless all tries for its manipulations are used up.
    """
    builder = MotionBuilder(context, state, action.index, rng)
    compound = False
    for step in steps:
        compound = compound or bool(step.name)
        failed: Failure | None = None
        for _ in range(RETRIES if step.name else 1):
            failed = plan_step(builder, step, step.name or str(action))
            if failed is None or "tries" in failed.numbers:
                break  # all manipulations have been tried: more tries won't help
        if failed is not None:
            return failed.within(step.name) if step.name else failed
    if compound:
        builder.fold("fold the arm")  # if it has room; else before the next drive
    return tuple(builder.motions)


def plan_step(builder: MotionBuilder, step: SkillStep, what: str) -> Failure | None:
    """Add the Motions of one step; if it fails, the builder is unchanged.

    Args:
        builder: where the Motions are added.
        step: the step.
        what: name of the step or action, for messages.
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
        # Look ahead: this grasp, say, may not allow the placement that comes next.
        if (
            step.accepts is not None
            and rejected < _REJECTIONS
            and not step.accepts(reached.state_after(context.robot), rng)
        ):
            rejected += 1
            tally.reasons["the next step would be impossible"] += 1
            continue
        paths += 1
        failed = builder.run(reached, f"{step.name}: " if step.name else "")
        if failed is None:
            return None
        # No free motion to this one: undo its Motions, and take the next.
        del builder.motions[done:]
        builder.state = start
    return failed or tally.failure(what)


def _candidates(
    context: PlanningContext, step: SkillStep, start: State, rng: np.random.Generator, tally: Tally
) -> Iterator[ManipulationSolution]:
    """Solved manipulations of a step: from the current stance, then from others."""
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
    """Solve the first ``limit`` contacts from where the base stands.

    Yields nothing if the base is outside the furniture's stance set.
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
    """The items that later actions put into a region, except the item named ``but``."""
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
    """A check whether an item can be put down, as it is held, where the plan puts it next.

    A grasp with which an item can be taken may not allow putting it down. None if the plan doesn't
    put it down, if another hand does, or if the action that does also opens furniture.
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
    """The item that an action puts down or pushes, and the furniture; None where it has none."""
    skill = skills.get(action.name)
    if skill is None or skill.role.sets is None:
        return None, None
    place = skill.role.place
    return action.bindings[skill.role.sets], None if place is None else action.bindings[place]
