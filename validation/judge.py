"""Runs all checks on a log and collects them in one verdict."""

from __future__ import annotations

import numpy as np

from galley.domain.log import OUTSIDE, Log
from galley.domain.scene.model import Scene
from galley.validation.goal import FinalState, Goal, evaluate_goal
from galley.validation.joints import (
    RequiredTorques,
    check_limits,
    check_recorded_torques,
    check_torques,
    check_tracking,
    check_velocity_column,
)
from galley.validation.log_format import check_completeness, check_format
from galley.validation.mechanics.items import (
    check_drift,
    check_jumps,
    check_kinematic_drift,
    check_slips,
)
from galley.validation.mechanics.rest import check_rest
from galley.validation.mechanics.support import SupportCheck
from galley.validation.poses import furniture_poses, item_corners
from galley.validation.replay import (
    Progress,
    check_contact_forces,
    check_guarded_forces,
    replay,
)
from galley.validation.replay_world import ReplayWorld
from galley.validation.sample_masks import ends_in_recovery
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
        scene: in which the run was executed.
        log: of the run, by any executor.
        goal: to check in the final state, or None.
        progress: called with the share of states that have been checked.

    Returns:
        The verdict; for a malformed log (empty, or of another scene) only the reasons.
    """
    with ReplayWorld(scene) as world:
        malformed = check_format(scene, world.robot, log)
        if malformed:
            return rejected(malformed)
        return _judge(world, log, goal, progress, tolerances(log.mode))


def unverified(log: Log) -> tuple[str, ...]:
    """What the verdict takes from this log without a check, with the reasons."""
    columns = ["declared: the pairs that may touch are those for which the motions were planned"]
    if log.mode != "physics":
        return tuple(columns)
    columns += [
        "guards: the force that each guarded motion was to stop at",
        "command: only checked to be near the measured positions and not a copy of them",
        "contact_force of the robot on furniture, up to what the fingers can exert: neither a"
        " weight nor a motion determines it",
        "torque of base and fingers, and of the arm while the hand is in contact: the contact"
        " force adds to it",
    ]
    if (log.names == OUTSIDE).any():
        columns.append(
            "contacts with 'outside': their cause is not in the scene; those too weak for the"
            " motion that they should explain don't count"
        )
    if ends_in_recovery(log).any():
        columns.append("recoveries: the names of the motions say that a mishap was noticed")
    return tuple(columns)


def _judge(
    world: ReplayWorld, log: Log, goal: Goal | None, progress: Progress, limits: Tolerances
) -> Verdict:
    scene, robot = world.scene, world.robot
    furniture = furniture_poses(scene, log.scene_q)
    moving = {name: X for name, X in furniture.items() if np.ptp(X, axis=0).any()}

    def set_sample(k: int) -> None:
        world.set_state(log.q[k], {name: poses[k] for name, poses in moving.items()}, log.items[k])

    measured = bool(np.isfinite(log.torque).any())
    places = item_corners(scene, log.items)
    required, support = RequiredTorques(scene, log), SupportCheck(world, log, places, limits)
    recorded = support.recorded_contacts
    states = replay(world, log, furniture, limits, recorded, (required, support), progress)
    end = check_rest(world, log, limits)  # the world is in the state of the last sample
    torques = check_torques(
        robot,
        log,
        log.torque if measured else required.torques,
        "recorded" if measured else "inverse dynamics",
        limits,
    )
    limit_use = check_limits(scene, robot, log, limits)
    tracking = check_tracking(robot, log, limits)
    forces = check_contact_forces(scene, robot, log, recorded.pairs, limits)
    slips = check_slips(scene, log, states.hands, limits)
    violations = [
        *check_completeness(log, limits),
        *states.violations,
        *forces.violations,
        *check_guarded_forces(scene, robot, log, recorded.pairs, limits),
        *support.violations,
        *recorded.violations,
        *limit_use.violations,
        *check_velocity_column(robot, log, limits),
        *torques.violations,
        *check_recorded_torques(scene, robot, log, required.torques, limits),
        *tracking.violations,
        *slips.violations,
        *check_jumps(scene, log, places, limits),
        *check_kinematic_drift(scene, log, moving, places, limits),
        *check_drift(world, set_sample, log, moving, places, limits),
        *end.violations,
    ]
    violations.sort(key=lambda violation: violation.time)
    final = FinalState(
        scene,
        log.q[-1, robot.slice("base")],
        log.scene_q[-1],
        {name: poses[-1] for name, poses in furniture.items()},
        log.items[-1],
        end.gripped,
        tuple(bool(still) for still in end.still),
    )
    return Verdict(
        states_checked=states.checked,
        max_penetration_m=states.max_undeclared,
        deepest=states.deepest,
        max_declared_penetration_m=states.max_declared,
        max_undeclared_force_n=forces.most,
        limit_violations=sum(violation.kind in _LIMITS for violation in violations),
        max_velocity_ratio=limit_use.velocity,
        max_acceleration_ratio=limit_use.acceleration,
        max_torque_ratio=torques.ratio,
        torques=torques.source,
        tracking_error_rad=tracking.arm,
        tracking_error_base_m=tracking.base,
        max_slip_m=slips.most,
        at_rest=end.at_rest,
        violations=tuple(violations),
        events=tuple(sorted((*forces.events, *slips.events), key=lambda event: event.time)),
        unverified=unverified(log),
        goal_facts=() if goal is None else evaluate_goal(goal, final),
        goal_given=goal is not None,
    )
