"""Finds base and arm configurations for a Manipulation, collisions checked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from galley.domain.frames import Array
from galley.domain.scene.model import Stance
from galley.domain.state import State
from galley.reachability.placement import MobileArm, Placer, Weights, drive, facing
from galley.robots.model import RobotModel
from galley.skills.manipulation.lines import (
    Segment,
    Tally,
    follow_lines,
    free_at_contact,
    manipulation_parts,
)
from galley.skills.manipulation.manipulation import Line, Manipulation, Stroke
from galley.skills.solving.context import PlanningContext
from galley.skills.solving.proof import holding_contact_pairs

_REDUNDANT = 12  # values of the redundant joint tried at a contact
_REDUNDANT_FIRST = 6  # the same to score base poses
_SOLUTIONS = 6  # free arm configurations tried at a contact
_BASES = 16  # base poses drawn for one manipulation
_WEIGHTS = Weights(travel=1.0)  # of the drive to a base pose
_RANK = ("best", "second best")  # of them, those that are solved


@dataclass(frozen=True)
class ManipulationSolution:
    """A Manipulation with base and arm configurations.

    Attributes:
        manipulation: the lines and strokes.
        base: pose (3,). segments: one for each Line, in order.
        reason: why this base, if there was a choice.
    """

    manipulation: Manipulation
    base: Array
    segments: tuple[Segment, ...]
    reason: str = ""

    @property
    def before(self) -> Array:
        """Arm configuration (7,) at the beginning of the first line."""
        return self.segments[0].path.start

    def state_after(self, robot: RobotModel) -> State:
        """The State after the last line, except that base and arm are where they were before."""
        last = self.manipulation.steps[-1]
        assert isinstance(last, Line)
        strokes = [s for s in self.manipulation.steps if isinstance(s, Stroke)]
        q = last.state.q.copy()
        q[robot.slice("fingers")] = strokes[-1].opening if strokes else self.manipulation.opening
        return last.state.with_robot(q)


def solve_manipulation(
    context: PlanningContext,
    manipulation: Manipulation,
    base: Array,
    rng: np.random.Generator,
    tally: Tally,
) -> ManipulationSolution | None:
    """Arm configurations for all lines from a base pose (3,), or None."""
    tally.tried += 1
    context.tries["pairs"] += 1
    solution = _solved(context, manipulation, base, rng, tally)
    context.listener.tried(base, manipulation.contact, solution is not None)
    return solution


def _solved(
    context: PlanningContext,
    manipulation: Manipulation,
    base: Array,
    rng: np.random.Generator,
    tally: Tally,
) -> ManipulationSolution | None:
    kinematics = context.robot.kinematics
    redundant = kinematics.redundant_values(_REDUNDANT, rng)
    options = kinematics.configurations(manipulation.contact, base, redundant)
    if not len(options):
        tally.reasons["out of the arm's reach"] += 1
        return None
    # The contact is checked first, for it is the likeliest to collide.
    steps = manipulation_parts(context, manipulation)
    options = free_at_contact(context, steps, base, rng.permutation(options), tally)
    for q in options[:_SOLUTIONS]:
        segments = follow_lines(context, manipulation, base, q, tally, steps)
        if segments is not None:
            return ManipulationSolution(manipulation, base, segments)
    return None


def solve_from_stances(
    context: PlanningContext,
    manipulations: Iterator[Manipulation],
    stance: Stance,
    arm_q: Array,
    state: State,
    rng: np.random.Generator,
    tally: Tally,
    limit: int | None = None,
    forward: int = 0,
) -> Iterator[ManipulationSolution]:
    """Manipulations solved from random base poses of a stance set, lazily.

    For each manipulation many base poses are sampled at once; the first that solves it counts.

    Args:
        arm_q: the folded configuration (7,) in which the base arrives; it must be free there.
        limit: number of tries; default: the settings'.
        forward: first tries, in which the base faces where it comes to; later any heading is drawn.
    """
    limit = context.settings.placements if limit is None else limit
    for manipulation in manipulations:
        if tally.tried >= limit:
            return
        for base, reason in _candidate_bases(
            context, manipulation, stance, arm_q, state, rng, tally, tally.tried < forward
        ):
            reached = solve_manipulation(context, manipulation, base, rng, tally)
            if reached is not None:
                yield replace(reached, reason=reason)
                break


def _candidate_bases(
    context: PlanningContext,
    manipulation: Manipulation,
    stance: Stance,
    arm_q: Array,
    state: State,
    rng: np.random.Generator,
    tally: Tally,
    forward: bool,
) -> list[tuple[Array, str]]:
    """The best base poses (3,) from which the arm reaches the contact and the robot is free.

    Best by the greatest manipulability times root of joint margin of a configuration there, and by
    a short drive with little turning, forward rather than backwards. With each the reason for it.
    """
    robot = context.robot

    def stands(bases: Array) -> NDArray[np.bool_]:
        checker = context.checker(state, holding_contact_pairs(context, state))
        return checker.free_many(robot.with_groups(state.q, base=bases, arm=arm_q))

    arm = MobileArm(robot, robot.kinematics.redundant_values(_REDUNDANT_FIRST, rng))
    placer = Placer(arm, [manipulation.contact], weights=_WEIGHTS, stands=stands, travel=drive)
    start = state.q[robot.slice("base")]
    bases = arm.sample(manipulation.contact, stance, _BASES, rng)
    if forward:
        bases = facing(bases, start, stance)
    options = placer.score(bases, start)
    if not len(options):
        tally.tried += 1
        reason = "no room for the base" if options.drawn else "no stance there"
        tally.reasons["out of the arm's reach" if options.standing else reason] += 1
    return [
        (
            each.base,
            f"{rank} of the free draws ({len(options)}) for '{manipulation.name}', {each.reason()}",
        )
        for rank, each in zip(_RANK, options, strict=False)
    ]
