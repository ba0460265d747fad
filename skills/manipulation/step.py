"""One step of an action: which manipulation, from which base pose, with which arm configurations.

``plan_step`` is the core. It goes through solved manipulations, those from the current stance
first, then those from other stances of the furniture's stance set. It drops those after
which the next step is impossible, and plans the free motions to the others (``motion_builder``).
The first for which all Motions are found is taken.

``solve_manipulation`` finds the arm configurations of a manipulation from a given base pose:
inverse kinematics at the contact, then the lines (``lines``). ``solve_from_stances`` draws base
poses of a stance set and ranks them first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from galley.domain.failure import Failure
from galley.domain.frames import Array
from galley.domain.scene.model import Binding, Stance
from galley.domain.state import State
from galley.motion.motion import Motion
from galley.skills.base_placement.placement import facing, score_bases
from galley.skills.base_placement.stances import in_ring, sample_stances
from galley.skills.manipulation.contacts import place_manipulations
from galley.skills.manipulation.context import PlanningContext
from galley.skills.manipulation.lines import (
    OUT_OF_REACH,
    ManipulationSolution,
    RejectionCounts,
    follow_lines,
    free_at_contact,
    manipulation_parts,
)
from galley.skills.manipulation.manipulation import Manipulation
from galley.skills.manipulation.motion_builder import MotionBuilder, folded_configurations
from galley.skills.manipulation.proof import holding_contact_pairs
from galley.skills.placing.placements import LaterItem
from galley.skills.skill import BoundAction, Skill, acting_hand, region_of, stance_of

HERE = 16  # manipulations tried from the current stance before other stances are sampled
PATHS = 4  # solved manipulations for which free motions are planned
RETRIES = 3  # of a step of a compound action
_AHEAD = 60  # tries to solve the next step when looking ahead
_REJECTIONS = 12  # solutions that ``accepts`` may reject. After that any is accepted, and the next
# step fails and says why
_REDUNDANT = 12  # values of the redundant joint tried at a contact
_REDUNDANT_FIRST = 6  # the same when base poses are scored
_SOLUTIONS = 6  # free arm configurations from which the lines are tried
_BASES = 16  # free base poses compared for one manipulation
_DRAWN = 128  # base poses drawn at a time
_MOST_DRAWN = 4096  # base poses drawn for all manipulations of one step, at most
_RANK = ("best", "second best")  # the base poses of a comparison that are tried

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
    step gets three attempts, unless all tries for its manipulations are used up.
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
    tally = RejectionCounts()
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
    context: PlanningContext,
    step: SkillStep,
    start: State,
    rng: np.random.Generator,
    tally: RejectionCounts,
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
    tally: RejectionCounts,
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
        context, contacts, stance, context.folded_arm, state, rng, RejectionCounts(), _AHEAD
    )
    return next(solutions, None) is not None


def solve_from_stances(
    context: PlanningContext,
    manipulations: Iterator[Manipulation],
    stance: Stance,
    arm_q: Array,
    state: State,
    rng: np.random.Generator,
    tally: RejectionCounts,
    limit: int | None = None,
    forward: int = 0,
) -> Iterator[ManipulationSolution]:
    """Solve manipulations from random base poses of a stance set, lazily.

    For each manipulation many base poses are compared, and the best two are tried.

    Args:
        arm_q: the folded arm (7,) with which the base arrives; it must be free of collision there.
        limit: number of tries; by default that of the settings.
        forward: number of first tries in which the base has the heading of a straight drive from
            ``state``; later any heading is drawn.
    """
    limit = context.settings.placements if limit is None else limit
    ahead, bases = tally.tried < forward, None
    for manipulation in manipulations:
        if tally.tried >= limit:
            return
        # A new sampler when the first tries, which arrive forward, are used up.
        if bases is None or (ahead and tally.tried >= forward):
            ahead = tally.tried < forward
            bases = _FreeBases(context, stance, arm_q, state, rng, ahead)
        for base, reason in bases.best(manipulation, tally):
            reached = solve_manipulation(context, manipulation, base, rng, tally)
            if reached is not None:
                yield replace(reached, reason=reason)
                if reached.margin == context.robot.spacing.margin:
                    break


class _FreeBases:
    """Base poses of a stance set at which the robot is free with its arm folded, drawn as needed.

    Poses drawn for one manipulation serve the next, too: most ways to take an item are possible
    from the same places, and few of the places drawn have room for the base.

    Args:
        arm_q: the folded arm (7,).
        forward: whether the base is turned as a straight drive from ``state`` arrives there.
    """

    def __init__(
        self,
        context: PlanningContext,
        stance: Stance,
        arm_q: Array,
        state: State,
        rng: np.random.Generator,
        forward: bool,
    ) -> None:
        self._robot, self._stance, self._rng = context.robot, stance, rng
        self._forward, self._arm, self._q = forward, arm_q, state.q
        self._checker = context.checker(state, holding_contact_pairs(context, state))
        self._bases, self._drawn = np.empty((0, 3)), 0
        self._all = self._bases

    def best(self, manipulation: Manipulation, tally: RejectionCounts) -> list[tuple[Array, str]]:
        """The best two base poses (3,) of at most 16, with the reason for each.

        The score (``base_placement.placement``) prefers high manipulability and joint margin at the
        contact, and a short drive with little turning, forward rather than backwards. Poses from
        which the arm doesn't reach are left out; if none reaches, ``tally`` counts a try.
        """
        X_WH, robot = manipulation.contact, self._robot
        near = self._near(X_WH)
        if len(near) < _BASES and self._drawn < _MOST_DRAWN:
            self._draw(X_WH)
            near = self._near(X_WH)
        if len(near) > _BASES:
            near = near[self._rng.choice(len(near), _BASES, replace=False)]
        redundant = robot.kinematics.redundant_values(_REDUNDANT_FIRST, self._rng)
        options = score_bases(robot, X_WH, near, self._q[robot.slice("base")], redundant)
        if not len(options):
            tally.tried += 1
            blocked = not len(near) and bool(in_ring(X_WH, self._all, robot).any())
            tally.reasons["no room for the base" if blocked else OUT_OF_REACH] += 1
        draws = f"of the free draws ({len(options)}) for '{manipulation.name}'"
        ranked = zip(_RANK, options, strict=False)
        return [(option.base, f"{rank} {draws}, {option.reason()}") for rank, option in ranked]

    def _near(self, X_WH: Array) -> Array:
        """The free base poses (n, 3) near enough to X_WH (4, 4) for the stretched arm."""
        return np.asarray(self._bases[in_ring(X_WH, self._bases, self._robot)])

    def _draw(self, X_WH: Array) -> None:
        """Draw more base poses around X_WH (4, 4), and keep those free of collision."""
        bases = sample_stances(X_WH, self._stance, self._robot, _DRAWN, self._rng)
        self._drawn += _DRAWN
        if self._robot.standing_links and len(bases):  # a fixed base has only one pose
            self._drawn = _MOST_DRAWN
        if self._forward:
            bases = facing(bases, self._q[self._robot.slice("base")], self._stance)
        free = self._checker.free_many(self._robot.with_groups(self._q, base=bases, arm=self._arm))
        self._bases = np.vstack([self._bases, bases[free]])
        self._all = np.vstack([self._all, bases])


def solve_manipulation(
    context: PlanningContext,
    manipulation: Manipulation,
    base: Array,
    rng: np.random.Generator,
    tally: RejectionCounts,
) -> ManipulationSolution | None:
    """Solve a Manipulation from one base pose (3,); None if no solution is found.

    Inverse kinematics gives arm configurations at the contact. Those free of collision are tried
    as starts of the lines, until one keeps the full margin at both ends. ``tally`` counts why
    candidates are rejected.
    """
    tally.tried += 1
    context.effort.spend("ways")
    kinematics = context.robot.kinematics
    solution: ManipulationSolution | None = None
    redundant = kinematics.redundant_values(_REDUNDANT, rng)
    options = kinematics.configurations(manipulation.contact, base, redundant)
    if len(options):
        # The contact is checked first, since it is the most likely to collide.
        parts = manipulation_parts(manipulation)
        options = free_at_contact(context, parts[0], base, rng.permutation(options), tally)
        for q in options[:_SOLUTIONS]:
            segments = follow_lines(context, parts, base, q, tally)
            if segments is not None:
                solution = ManipulationSolution(manipulation, base, segments)
                # With less than the full margin keep looking, but keep this one.
                if solution.margin == context.robot.spacing.margin:
                    break
    else:
        tally.reasons[OUT_OF_REACH] += 1
    context.listener.tried(base, manipulation.contact, solution is not None)
    return solution


def widest_first(
    found: Iterator[ManipulationSolution], most: float
) -> Iterator[ManipulationSolution]:
    """Yield solutions as they come, but those with a smaller margin than ``most`` (m) last."""
    narrow = []
    for solution in found:
        if solution.margin == most:
            yield solution
        else:
            narrow.append(solution)
    yield from narrow


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
    """A check of whether an item can be put down, as it is held, where the plan puts it next.

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
