"""Final trajectories, and the figures for the report, once a plan has all of its motions.

Refinement turns most of what it tries down, so it makes quick trajectories and measures nothing.
"""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

from galley.domain.failure import Failure
from galley.domain.state import State
from galley.motion.certify import CAP
from galley.motion.effects import after, effects
from galley.motion.motion import Motion, Record
from galley.motion.trajectory.trajectory import limit_ratios, slowed
from galley.skills.solving.context import PlanningContext
from galley.skills.solving.proof import free_view

IN_CONTACT = ("straight", "direct")  # planners of lines and strokes: all others move freely
TORQUE_SHARE = 0.8  # of the motors' limits, for what is planned; the rest is for what disturbs it
_TORQUE_RATE = 50.0  # samples a second that are looked at; the share leaves room for those between
_LOOK = 0.01  # rad or m between the states whose clearance is measured


def optimize_trajectory(context: PlanningContext, motion: Motion, state: State) -> Motion:
    """A refined motion with the trajectory that is run and the figures of its record.

    A free motion gets its trajectory by ``settings.optimize``; where that fails, or is not asked
    for, it runs its path with a stop at each corner. Lines and strokes stay as they are. The path
    stays, and the trajectory's ends are the path's.

    Args:
        context: with the settings that the motion was refined with.
        motion: as ``Skill.refine`` gave it.
        state: in which the motion begins (``motion.effects.after`` of the one before it).
    """
    if motion.record.planner not in IN_CONTACT:
        motion = _optimized(context, motion, state)
    motion = _strong_enough(context, motion, state)
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


def optimize_trajectories(
    context: PlanningContext, motions: tuple[Motion, ...], state: State
) -> tuple[Motion, ...]:
    """``optimize_trajectory`` for each of a plan's motions; the first begins in ``state``."""
    found = []
    for motion in motions:
        found.append(optimize_trajectory(context, motion, state))
        state = after(context.scene, context.robot, motion, state)
    return tuple(found)


def _optimized(context: PlanningContext, motion: Motion, state: State) -> Motion:
    """A free motion with the trajectory that the settings ask for, or else as it is.

    ``smooth`` and ``time-optimal`` are proven by the kernel, whatever planned the path.
    """
    method = context.settings.optimize
    if method not in ("smooth", "time-optimal"):
        return motion
    # Late: SciPy takes longer to load than many a task takes to be refused.
    from galley.optimization.smooth import smooth
    from galley.optimization.time_optimal import time_optimal

    began = perf_counter()
    group, scale = context.robot.group(motion.group), context.speed(state, motion.group)
    view = free_view(context, state, motion.group, motion.allowed)
    optimize = smooth if method == "smooth" else time_optimal
    found = optimize(view, motion.path, group, scale)
    spent = motion.record.optimization_ms + 1e3 * (perf_counter() - began)
    if isinstance(found, Failure):
        note = f"stops at each corner: {found.message}"
        record = replace(motion.record, optimizer=note, optimization_ms=spent)
        return replace(motion, record=record)
    return replace(
        motion,
        trajectory=found.trajectory,
        record=replace(
            motion.record,
            optimizer=f"{found.method} ({found.note})" if found.note else found.method,
            optimization_ms=spent,
            length_optimized=found.trajectory.length(),
        ),
    )


def _strong_enough(context: PlanningContext, motion: Motion, state: State) -> Motion:
    """A motion of the arm, slowed where its motors could not follow it otherwise.

    The path stays, and with it what was proven of it. Where gravity alone is too much no slowness
    helps: execution will show that, or has been refused before.
    """
    if "arm" not in motion.group:
        return motion
    from galley.optimization.torques import Held, TorqueModel

    state = effects(context.scene, context.robot, motion, state).state
    index = state.held
    held = None if index is None else Held(context.scene.items[index], state.items[index].X_PI)
    key = None if held is None else (index, held.X_HI.tobytes())
    model = context.torque_models.get(key)
    if model is None:
        model = context.torque_models[key] = TorqueModel(context.robot, held)
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


def _clearance(context: PlanningContext, motion: Motion, state: State) -> float | None:
    """Least clearance (m) measured along the motion.

    The record's figure where there is nothing better: with PyBullet the proof has measured it,
    fingers close on what they may touch, and a moving drawer would count as still here.
    """
    proven: float | None = motion.record.min_clearance_m
    if proven is None or any(a.kind == "joint" for a in motion.attachments):
        return proven
    if not context.compiled and not _curved(motion.record):
        return proven
    moving = effects(context.scene, context.robot, motion, state).state
    curved = _curved(motion.record)
    states = (
        motion.trajectory.resampled(_LOOK)[1] if curved else motion.path.resampled(_LOOK).waypoints
    )
    view = free_view(context, moving, motion.group, motion.allowed)
    measured = float(view.clearances(states, CAP).min())
    return measured if curved else max(proven, measured)


def _curved(record: Record) -> bool:
    """Whether the trajectory leaves the path, so that the path's figure is not its own."""
    return record.optimizer.startswith(("smooth", "time-optimal"))
