"""Final trajectories, and the figures for the report, once all Motions of a plan are found.

During refinement most candidates are rejected, so it makes quick trajectories and measures nothing.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from galley.domain.failure import Failure
from galley.domain.state import State
from galley.motion.certify import CAP
from galley.motion.effects import effects, state_after, with_acting_hand
from galley.motion.guarded_approach import driven_mass, fastest
from galley.motion.motion import Motion
from galley.motion.thresholds import THRESHOLDS
from galley.motion.trajectory.trajectory import limit_ratios, slowed
from galley.skills.base_placement.placement import SIDESTEP
from galley.skills.manipulation.context import PlanningContext
from galley.skills.manipulation.manipulation import shifted
from galley.skills.manipulation.proof import free_view

if TYPE_CHECKING:  # pydrake loads late
    from galley.collision.view import View
    from galley.optimization.time_optimal import OptimizedTrajectory
    from galley.optimization.torques import TorqueModel

IN_CONTACT = ("straight", "direct")  # planners of lines and strokes; motions of others are free
TORQUE_SHARE = 0.8  # share of the torque limits that plans use; the rest is for control
_TORQUE_RATE = 50.0  # Hz, samples of the torque; the share covers the times between them
_ASTERN = 2.0  # s that a metre backwards counts more than a metre forward
_TOLERANCE = 0.03  # relative gain below which the optimization of a drive ends
_NUDGE = 1e-3  # m, a step of the hand along a guard that gives the ratios of the joints' speeds
_STEP = 0.01  # rad or m between states whose clearance is measured


def optimize_trajectories(
    context: PlanningContext, motions: tuple[Motion, ...], state: State
) -> tuple[Motion, ...]:
    """Successive motions with final trajectories and with the figures in their records.

    A free motion gets its trajectory by ``settings.optimize``; if that fails, it stops at each
    corner of its path. Lines and strokes keep theirs. The paths are unchanged. Free motions are
    optimized in parallel; the trajectories don't depend on the number of threads.

    Args:
        context: the context of the refinement.
        motions: the motions, from ``Skill.refine``.
        state: the State in which the first one begins.
    """
    states = []
    for motion in motions:
        states.append(with_acting_hand(context.robot.acting(motion.hand), state))
        state = state_after(context.scene, context.robot, motion, state)
    timed = zip(_optimized(context, motions, states), states, strict=True)
    return tuple(_finished(context.acting(motion.hand), motion, at) for motion, at in timed)


def _finished(context: PlanningContext, motion: Motion, state: State) -> Motion:
    """A motion kept within torque and contact limits, with its figures in the record."""
    motion = _guarded(context, _within_torque_limits(context, motion, state), state)
    velocity, acceleration, jerk = limit_ratios(
        motion.trajectory, context.robot.group(motion.group)
    )
    return replace(
        motion,
        record=replace(
            motion.record,
            min_clearance_m=_clearance(context, motion, state),
            velocity_ratio=velocity,
            acceleration_ratio=acceleration,
            jerk_ratio=jerk,
        ),
    )


def _optimized(
    context: PlanningContext, motions: Sequence[Motion], states: Sequence[State]
) -> list[Motion]:
    """The motions, free ones with the trajectory that the settings name; else unchanged.

    ``smooth`` and ``time-optimal`` are proven on the kernel, whichever checker the path had.
    """
    method = context.settings.optimize
    timed = list(motions)
    free = [
        k
        for k, motion in enumerate(motions)
        if motion.record.planner not in IN_CONTACT
        and not context.acting(motion.hand).robot.group(motion.group).differential  # it would slip
    ]
    if method not in ("smooth", "time-optimal"):
        return timed
    # Late: SciPy takes longer to load than many a task takes to be refused.
    from galley.optimization.program import Weights
    from galley.optimization.smooth import SmoothOptions, smooth
    from galley.optimization.time_optimal import time_optimal

    forward = SmoothOptions(tolerance=_TOLERANCE, weights=Weights(astern=_ASTERN))
    # A view has scratch of its own, so those motions that share one go one after the other.
    views: dict[View, list[int]] = {}
    for k in free:
        motion, margin = motions[k], motions[k].record.margin_m or context.robot.spacing.margin
        own = context.acting(motion.hand)
        view = free_view(own, states[k], motion.group, motion.allowed, margin)
        views.setdefault(view, []).append(k)

    def of_view(entry: tuple[View, list[int]]) -> None:
        """Optimize all motions that share a view, one after the other."""
        view, rows = entry
        for k in rows:
            motion, began = motions[k], perf_counter()
            group = context.acting(motion.hand).robot.group(motion.group)
            scale = context.speed(states[k], motion.group)
            if method == "time-optimal":
                result = time_optimal(view, motion.path, group, scale)
            else:
                options = forward if _goes_far(motion) else None
                result = smooth(view, motion.path, group, scale, options=options)
            timed[k] = _with_trajectory(motion, result, 1e3 * (perf_counter() - began))

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(of_view, views.items()))
    return timed


def _goes_far(motion: Motion) -> bool:
    """Whether a motion is a drive so long that the base should face the direction of travel."""
    apart = motion.path.end - motion.path.start
    return motion.group == "base" and float(np.hypot(apart[0], apart[1])) > SIDESTEP


def _with_trajectory(motion: Motion, result: OptimizedTrajectory | Failure, ms: float) -> Motion:
    """The motion with the result of an optimization that took ``ms`` milliseconds."""
    spent = motion.record.optimization_ms + ms
    if isinstance(result, Failure):
        note = f"stops at each corner: {result.message}"
        return replace(motion, record=replace(motion.record, optimizer=note, optimization_ms=spent))
    return replace(
        motion,
        trajectory=result.trajectory,
        record=replace(
            motion.record,
            optimizer=f"{result.method} ({result.note})" if result.note else result.method,
            optimization_ms=spent,
            length_optimized=result.trajectory.length(),
        ),
    )


def _within_torque_limits(context: PlanningContext, motion: Motion, state: State) -> Motion:
    """A motion of the arm, slowed down if it would exceed the torque limits.

    Its path stays the same, so its proof stays valid. If gravity alone exceeds the limits, slowing
    down doesn't help and the motion is unchanged.
    """
    if "arm" not in motion.group:
        return motion
    state = effects(context.scene, context.robot, motion, state).state
    model = _dynamics(context, state)
    if model.check(motion.trajectory, state.q, TORQUE_SHARE, _TORQUE_RATE).passed:
        return motion
    factor = model.slowdown(motion.trajectory, state.q, TORQUE_SHARE, _TORQUE_RATE)
    if isinstance(factor, Failure):
        return motion
    return replace(
        motion,
        trajectory=slowed(motion.trajectory, factor),
        record=replace(motion.record, torque_slowdown=factor),
    )


def _guarded(context: PlanningContext, motion: Motion, state: State) -> Motion:
    """A motion that seeks contact, with its guard's speed limited so that contact is gentle enough.

    The limit on the force is ``impact_force`` with an item in the hand. With an empty hand it is
    the force with which the motors push, plus half of the amount by which the guard's force may be
    exceeded. The moving mass is that of the arm, its motors in step and the base locked, along the
    end of the line, or along the guard for an empty hand. The impact is plastic. The hand keeps the
    speed that the skill gave when it leads a handle.
    """
    guard, limits, robot = motion.guard, THRESHOLDS, context.robot
    leads = any(attachment.kind == "joint" for attachment in motion.attachments)
    if guard is None or "arm" not in motion.group or (leads and guard.speed is not None):
        return motion
    state = effects(context.scene, robot, motion, state).state
    before, end = robot.with_groups(state.q, **{motion.group: motion.path.waypoints[-2:]})
    hand, most, push = robot.kinematics.hand_pose, limits.impact_force, 0.0
    if state.held is None:
        push = guard.force + limits.push_excess
        most = push + 0.5 * max(limits.overshoot, limits.overshoot_share * guard.force)
        poses = np.stack([shifted(hand(end), -_NUDGE * guard.direction), hand(end)])
        arms = robot.kinematics.follow(end[robot.slice("arm")], poses[::-1], end[:3])
        before = end if arms is None else robot.with_groups(end, arm=arms[-1:])[0]
    way = float(guard.direction @ (hand(end) - hand(before))[:3, 3])
    if way <= 0.0:  # the hand doesn't move along the guard: no limit on its speed follows
        return motion
    mass = driven_mass(_dynamics(context, state).mass_matrix(end), end - before, way)
    speed = fastest(most, mass, limits.impact_window, push)
    given = speed if guard.speed is None else guard.speed
    return replace(motion, guard=replace(guard, speed=min(given, speed)))


def _dynamics(context: PlanningContext, state: State) -> TorqueModel:
    """The dynamics of the robot with the item that it holds in ``state``; cached."""
    from galley.optimization.torques import HeldItem, TorqueModel

    index = state.held
    held = None if index is None else HeldItem(context.scene.items[index], state.items[index].X_PI)
    key = None if held is None else (index, held.X_HI.tobytes())
    model = context.torque_models.get(key)
    if model is None:
        model = context.torque_models[key] = TorqueModel(context.robot, held)
    return model


def _clearance(context: PlanningContext, motion: Motion, state: State) -> float | None:
    """Least clearance (m) along the motion, measured on the kernel.

    The clearance of the record stays if a joint or a pushed item moves with the hand, or if
    PyBullet's proof has measured it.
    """
    proven: float | None = motion.record.min_clearance_m
    led = any(a.kind == "joint" for a in motion.attachments) or motion.slide is not None
    curved = motion.record.optimizer.startswith(("smooth", "time-optimal"))  # away from the path
    if proven is None or led or not (context.compiled or curved):
        return proven
    moving = effects(context.scene, context.robot, motion, state).state
    states = (
        motion.trajectory.resampled(_STEP)[1] if curved else motion.path.resampled(_STEP).waypoints
    )
    view = free_view(context, moving, motion.group, motion.allowed, context.robot.spacing.margin)
    measured = float(view.clearances(states, CAP).min())
    return measured if curved else max(proven, measured)
