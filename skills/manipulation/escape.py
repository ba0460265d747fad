"""Escape: motions out of contact after an interrupted motion, to where free motions can begin.

The hand may be close to something, with the fingers around it, or a held item may be displaced. The
hand opens unless it holds or has pushed an item. Then it moves back, up, aside or the way it came,
by as little as necessary.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from galley.collision.checker import Pair
from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import Array
from galley.domain.log import OPEN
from galley.domain.state import State
from galley.motion.effects import state_after
from galley.motion.motion import Motion, Record
from galley.motion.path import Path
from galley.motion.trajectory.timing import rest_to_rest
from galley.skills.manipulation.context import PlanningContext
from galley.skills.manipulation.lines import (
    RejectionCounts,
    gripper_motion,
    gripper_states,
    proven_line,
)
from galley.skills.manipulation.manipulation import (
    CARRY_SPEED,
    GripperMotion,
    Line,
    shifted,
    straight,
)
from galley.skills.manipulation.proof import (
    CONTACT_CLEARANCE,
    held_attachment,
    holding_contact_pairs,
    prove,
)

_LENGTHS = (0.10, 0.05, 0.02)  # m, lengths of a leg; the first that the arm can follow is tried
_LEAST = 0.02  # m, least length of a leg
_TOUCHING = 0.002  # m, pairs nearer than this at a leg's beginning may touch along it
_DEEPER = 0.0005  # m that such a pair may penetrate deeper along the leg
_BASE_STEPS = (0.02, 0.05, 0.10)  # m that the base moves away from things that are too near
_SLOW = 0.25  # share of the limits for the base
_ACTION = 0  # action index: the motions belong to no action of the plan


def escape(
    context: PlanningContext, state: State, motion: Motion | None = None
) -> tuple[Motion, ...] | Failure:
    """Motions to a State in which the robot keeps the margin of free motions.

    A held item stays in the hand. Pairs that touch at the beginning may touch on the way out, but
    not penetrate deeper; all others are proven to stay clear.

    Args:
        context: the scene, robot and settings.
        state: the observed State.
        motion: the interrupted motion, to be tried backwards; or None.

    Returns:
        The motions, none if the robot is free already; or a ``budget`` Failure.
    """
    if _free(context, state):
        return ()
    pushed = motion is not None and motion.slide is not None
    opened, tried = () if pushed else _open_fingers(context, state), 0
    # First with open fingers, then as they are.
    for first in (opened, ()) if opened else ((),):
        here = state_after(context.scene, context.robot, first[0], state) if first else state
        if first and _free(context, here):
            return first
        for leg in _legs(context, here, motion):
            tried += 1
            if leg is not None:
                return (*first, leg)
    near = context.checker(state, holding_contact_pairs(context, state)).contacts(state.q)
    names = tuple(dict.fromkeys(name for c in near for name in (c.a, c.b)))
    message = f"the robot finds no way out of contact ({tried} tried"
    message += f"; too near: {near[0].a} and {near[0].b})" if near else ")"
    return Failure(FailureKind.BUDGET, message, names, {"tries": float(tried)})


def _free(context: PlanningContext, state: State) -> bool:
    """Whether the robot keeps the margin, so that free motions can start in the State."""
    return bool(context.checker(state, holding_contact_pairs(context, state)).free(state.q))


def _touching(context: PlanningContext, state: State) -> frozenset[Pair]:
    """The pairs that touch, or are nearer than ``_TOUCHING``: they may touch along a leg."""
    held = holding_contact_pairs(context, state) | context.always_touching(state)
    near = context.checker(state, held).contacts(state.q, within=_TOUCHING)
    return held | {(c.a, c.b) for c in near}


def _open_fingers(context: PlanningContext, state: State) -> tuple[Motion, ...]:
    """The stroke that opens empty fingers as far as possible; empty if they touch nothing."""
    now = float(context.robot.half_width(state.q[context.robot.slice("fingers")]))
    most = context.robot.gripper.open
    if state.held is not None or now > most - 1e-4:
        return ()
    allowed = _touching(context, state)
    fingers = frozenset(context.robot.fingers)
    if not any(fingers & set(pair) for pair in allowed):
        return ()
    checker = context.checker(state, allowed, CONTACT_CLEARANCE)
    for wider in (most, *(now + d for d in (0.015, 0.01, 0.005, 0.002))):
        opening = min(wider, most)
        if checker.free_many(gripper_states(context, state.q, opening)).all():
            opened = GripperMotion(f"escape: {OPEN}", opening, allowed, ())
            return (gripper_motion(context, state.q, opened, _ACTION, opened.phase),)
    return ()


def _legs(context: PlanningContext, state: State, motion: Motion | None) -> Iterator[Motion | None]:
    """Yield the legs tried from a State; None for one without a proof, or that doesn't end free."""
    allowed = _touching(context, state)
    for arms, phase in _arm_ways(context, state, motion):
        yield _arm_leg(context, state, arms, phase, allowed)
    # If the base is too near to something, it gives way in one of several directions.
    near = context.checker(state, holding_contact_pairs(context, state)).contacts(state.q)
    lying = context.lying_on_base(state)
    if not lying and any({c.a, c.b} & set(context.robot.base_links) for c in near):
        angles = np.arange(8) * (np.pi / 4.0)
        if context.robot.group("base").differential:
            angles = state.q[context.robot.slice("base")][2] + np.array([0.0, np.pi])
        for length, angle in product(_BASE_STEPS, angles):
            step = length * np.array([np.cos(angle), np.sin(angle), 0.0])
            yield _base_leg(context, state, step, allowed)


def _arm_ways(
    context: PlanningContext, state: State, motion: Motion | None
) -> Iterator[tuple[Array, str]]:
    """Yield arm configurations (n, 7) of the legs to try, with their names.

    Straight legs of the hand come first, then the path of the interrupted motion backwards.
    """
    base = state.q[context.robot.slice("base")]
    arm = state.q[context.robot.slice("arm")]
    X_WH = context.hand(state)(arm)
    directions = _directions(X_WH, state.held is not None)
    if motion is not None and motion.slide is not None:
        directions = ((-motion.slide.direction, "back off"), *directions)
    for direction, phase in directions:
        for length in _LENGTHS:
            poses = straight(X_WH, shifted(X_WH, length * direction), context.robot.spacing.step)
            arms = context.robot.kinematics.follow(arm, poses, base)
            if arms is not None:
                yield arms, f"escape: {phase}"
                break
    if motion is not None and motion.group == "arm":
        way = motion.path.waypoints
        nearest = int(np.argmin(np.abs(way - arm).max(axis=1)))
        back = np.vstack([arm, way[: nearest + 1][::-1]])
        if np.abs(np.diff(back, axis=0)).max() > 1e-6:
            yield Path("arm", back).resampled(0.05).waypoints, "escape: the way it came"


def _arm_leg(
    context: PlanningContext, state: State, arms: Array, phase: str, allowed: frozenset[Pair]
) -> Motion | None:
    """A leg up to its first free configuration that is at least ``_LEAST`` away, or to its end."""
    hand, Q = context.hand(state), context.robot.with_groups(state.q, arm=arms)
    poses = np.array([hand(arm) for arm in arms])
    away = np.linalg.norm(poses[:, :3, 3] - poses[0, :3, 3], axis=1) >= _LEAST - 1e-6
    away[-1] = True
    free = context.checker(state, holding_contact_pairs(context, state)).free_many(Q)
    ends = np.flatnonzero(free[1:] & away[1:]) + 2
    if not len(ends):
        return None
    arms, poses = arms[: ends[0]], poses[: ends[0]]
    if _deeper(context, state, "arm", arms, allowed):
        return None
    line = Line(phase, poses, state, allowed, held_attachment(context, state), CARRY_SPEED)
    segment = proven_line(context, line, state.q, arms, RejectionCounts())
    return None if segment is None else segment.motion(line, _ACTION, phase)


def _base_leg(
    context: PlanningContext, state: State, step: Array, allowed: frozenset[Pair]
) -> Motion | None:
    """A straight drive by a step (3,), or None if it can't be proven or doesn't end free."""
    group, start = context.robot.group("base"), state.q[context.robot.slice("base")]
    goal = start + step
    inside = (goal >= group.lower).all() and (goal <= group.upper).all()
    if not inside or not _free(
        context, state.with_robot(context.robot.with_groups(state.q, base=goal)[0])
    ):
        return None
    path = Path("base", np.linspace(start, goal, 6))
    if _deeper(context, state, "base", path.waypoints, allowed):
        return None
    if prove(context, state, path, allowed, CONTACT_CLEARANCE).hit is not None:
        return None
    ends = Path("base", np.stack([start, goal]))
    trajectory = rest_to_rest(ends, group, _SLOW)
    held, record = held_attachment(context, state), Record("straight", length_rrt=path.length)
    phase = "escape: give way"
    return Motion(_ACTION, phase, "base", ends, trajectory, held, allowed, record=record)


def _deeper(
    context: PlanningContext, state: State, group: str, way: Array, allowed: frozenset[Pair]
) -> bool:
    """Whether an allowed pair penetrates deeper along the leg than at its beginning.

    Args:
        way: configurations of the group along the leg (m, k).
    """
    held = holding_contact_pairs(context, state) | context.always_touching(state)
    checker = context.world.checker(state, held, 0.0)
    before: dict[Pair, float] | None = None
    for q in context.robot.with_groups(state.q, **{group: way}):
        near = {(c.a, c.b): c.distance for c in checker.contacts(q, within=_TOUCHING)}
        before = near if before is None else before
        for pair in (allowed - held) & set(near):
            if near[pair] < min(before.get(pair, 0.0), 0.0) - _DEEPER:
                return True
    return False


def _directions(X_WH: Array, holding: bool) -> tuple[tuple[Array, str], ...]:
    """Directions in which the hand may leave, unit vectors (3,) in the world, and their names.

    The first choice comes first: back, or with an item in the hand up.
    """
    back, up = -X_WH[:3, 2], np.array([0.0, 0.0, 1.0])
    aside = X_WH[:3, 0], -X_WH[:3, 0], X_WH[:3, 1], -X_WH[:3, 1]
    ways = [(back, "back off"), (up, "up")]
    if holding:
        ways.reverse()
    both = back + up
    if np.linalg.norm(both) > 0.3:
        ways.append((both / np.linalg.norm(both), "back and up"))
    ways += [(side, "aside") for side in aside]
    return tuple(ways)
