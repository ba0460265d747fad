"""Runs all checks on a log and collects them in one verdict.

The validator doesn't trust the run: it builds the scene again from primitive shapes, replays every
logged state and evaluates the goal by its own code. A run has two independent results: whether it
broke a physical rule (``Verdict.passed``), and whether its goal holds (``Verdict.goal_reached``).
"""

from __future__ import annotations

import numpy as np

from galley.domain.log import Log
from galley.domain.scene.model import Scene
from galley.validation.forces import check_contact_forces, check_guarded_forces, contact_pairs
from galley.validation.goal import FinalState, Goal, evaluate_goal
from galley.validation.items import SupportCheck, check_rest, check_slips
from galley.validation.joints import RequiredTorques, check_limits, check_torques, check_tracking
from galley.validation.log_format import check_completeness, check_format
from galley.validation.poses import furniture_poses
from galley.validation.replay import Progress, replay
from galley.validation.replay_world import ReplayWorld
from galley.validation.tolerances import Tolerances, tolerances
from galley.validation.verdict import Verdict, rejected

_LIMITS = ("position", "velocity", "acceleration", "torque")


def validate_run(
    scene: Scene,
    log: Log,
    goal: Goal | None = None,
    progress: Progress = lambda share: None,
) -> Verdict:
    """Judge a run from its log and the scene alone.

    Args:
        scene: the scene in which the run was executed.
        log: the log of the run, by any executor. Its mode selects the tolerances.
        goal: the goal to check in the final state, or None.
        progress: called with the share of states that have been checked, in [0, 1].

    Returns:
        The verdict. For a malformed log (empty, or of another scene) it has only the reasons.
    """
    with ReplayWorld(scene) as world:
        malformed = check_format(scene, world.robot, log)
        if malformed:
            return rejected(malformed)
        return _judge(world, log, goal, progress, tolerances(log.mode))


def _judge(
    world: ReplayWorld, log: Log, goal: Goal | None, progress: Progress, limits: Tolerances
) -> Verdict:
    """The verdict on a well-formed log.

    1. Replay every sample in ``world``: search for penetrations, check that each loose item is
       supported and each held one is at the fingers, and compute torques if the log has none.
    2. In the last sample, check that everything is at rest, and which items are gripped.
    3. Check the columns of the log: limits of joints, torques, tracking of commands, contact
       forces, and slip in the hand.
    4. Collect the violations in the order of time. A slip in the hand, or a hit of an item, is an
       event instead if it led to a recovery.
    5. Evaluate the goal in the final geometry.
    """
    scene, robot = world.scene, world.robot
    furniture = furniture_poses(scene, log.scene_q)
    # A kinematic run has no torques: they are computed from its motion.
    measured = bool(np.isfinite(log.torque).all())
    support, required = SupportCheck(world, log, limits), RequiredTorques(scene, log)
    checks = (support.check,) if measured else (support.check, required.check)
    hands, depths = replay(world, log, furniture, limits, checks, progress)
    # The replay has left the world in the state of the last sample.
    still, gripped, moving = check_rest(world, log, limits)
    torques = log.torque if measured else required.torques
    torque_ratio, too_strong = check_torques(robot, log, torques, limits)
    velocity_ratio, acceleration_ratio, beyond = check_limits(scene, robot, log, limits)
    arm_error, base_error, astray = check_tracking(robot, log, limits)
    pairs = contact_pairs(log)
    force, pushed, push_events = check_contact_forces(scene, robot, log, pairs, limits)
    slip, slipped, slip_events = check_slips(scene, log, hands, limits)
    violations = [
        *check_completeness(log, limits),
        *depths.violations,
        *pushed,
        *check_guarded_forces(scene, robot, log, pairs, limits),
        *support.violations,
        *beyond,
        *too_strong,
        *astray,
        *slipped,
        *moving,
    ]
    violations.sort(key=lambda violation: violation.time)
    final = FinalState(
        scene,
        log.q[-1, robot.slice("base")],
        log.scene_q[-1],
        {name: poses[-1] for name, poses in furniture.items()},
        log.items[-1],
        gripped,
        still,
    )
    return Verdict(
        states_checked=len(log.time),
        max_penetration_m=depths.max_undeclared,
        deepest=depths.deepest,
        max_declared_penetration_m=depths.max_declared,
        max_undeclared_force_n=force,
        limit_violations=sum(violation.kind in _LIMITS for violation in violations),
        max_velocity_ratio=velocity_ratio,
        max_acceleration_ratio=acceleration_ratio,
        max_torque_ratio=torque_ratio,
        torques="recorded" if measured else "inverse dynamics",
        tracking_error_rad=arm_error,
        tracking_error_base_m=base_error,
        max_slip_m=slip,
        at_rest=not moving,
        violations=tuple(violations),
        events=tuple(sorted((*push_events, *slip_events), key=lambda event: event.time)),
        goal_facts=() if goal is None else evaluate_goal(goal, final),
        goal_given=goal is not None,
    )
