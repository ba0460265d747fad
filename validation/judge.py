"""Judges a whole run: every check, one verdict."""

from __future__ import annotations

import numpy as np

from galley.domain.log import Log
from galley.domain.scene.model import Scene
from galley.validation.circumstances import taken
from galley.validation.ending import ending
from galley.validation.goal import Final, Goal, judged
from galley.validation.items import jumps, moved_alone, own_motion, slips
from galley.validation.limits import Load, borne, limited, rates, tracked, within_efforts
from galley.validation.mechanics.support import Support
from galley.validation.poses import furniture_poses
from galley.validation.replay import Progress, bumps, replay
from galley.validation.stage import Stage
from galley.validation.tolerances import Tolerances, tolerances
from galley.validation.usable import incomplete, misshapen
from galley.validation.verdict import Verdict, unusable

_LIMITS = ("position", "velocity", "acceleration", "torque")


def validate_run(
    scene: Scene,
    log: Log,
    goal: Goal | None = None,
    progress: Progress = lambda share: None,
    allowed: Tolerances | None = None,
) -> Verdict:
    """Judge a run from its log and the scene alone.

    Args:
        scene: in which it was executed.
        log: what was executed, by any executor.
        goal: what was asked for; without one nothing is said of it.
        progress: hears what share of the states has been checked.
        allowed: tolerances other than those of the log's mode.

    Returns:
        The verdict; of a log that can't be read (an empty one, one of another scene) with nothing
        but the reasons.
    """
    limits = allowed or tolerances(log.mode)
    with Stage(scene) as stage:
        faults = misshapen(scene, stage.robot, log)
        if faults:
            return unusable(faults)
        return _judged(stage, log, goal, progress, limits)


def _judged(
    stage: Stage, log: Log, goal: Goal | None, progress: Progress, limits: Tolerances
) -> Verdict:
    scene, robot = stage.scene, stage.robot
    furniture = furniture_poses(scene, log.scene_q)
    carried = {name: X for name, X in furniture.items() if np.ptp(X, axis=0).any()}

    def put(k: int) -> None:
        stage.put(log.q[k], {name: poses[k] for name, poses in carried.items()}, log.items[k])

    recorded = bool(np.isfinite(log.torque).any())
    load, support = Load(scene, log), Support(stage, log, limits)
    states = replay(stage, log, furniture, limits, (load, support), progress)
    end = ending(stage, log, limits)  # the stage shows the last sample
    torques = within_efforts(
        robot,
        log,
        log.torque if recorded else load.torques,
        "recorded" if recorded else "inverse dynamics",
        limits,
    )
    joints, track = limited(scene, robot, log, limits), tracked(robot, log, limits)
    pushed, held = bumps(scene, robot, log, limits), slips(scene, log, states.hands, limits)
    violations = [
        *incomplete(log, limits),
        *states.violations,
        *pushed.violations,
        *support.violations,
        *support.ledger.violations,
        *joints.violations,
        *rates(robot, log, limits),
        *torques.violations,
        *borne(scene, robot, log, load.torques, limits),
        *track.violations,
        *held.violations,
        *jumps(scene, log, limits),
        *own_motion(scene, log, furniture, limits),
        *moved_alone(stage, put, log, furniture, limits),
        *end.violations,
    ]
    violations.sort(key=lambda violation: violation.time)
    final = Final(
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
        max_penetration_m=states.worst,
        deepest=states.deepest,
        max_declared_penetration_m=states.declared,
        max_undeclared_force_n=pushed.most,
        limit_violations=sum(violation.kind in _LIMITS for violation in violations),
        max_velocity_ratio=joints.velocity,
        max_acceleration_ratio=joints.acceleration,
        max_torque_ratio=torques.ratio,
        torques=torques.source,
        tracking_error_rad=track.arm,
        tracking_error_base_m=track.base,
        max_slip_m=held.most,
        at_rest=end.at_rest,
        violations=tuple(violations),
        events=tuple(sorted((*pushed.events, *held.events), key=lambda event: event.time)),
        taken=taken(log),
        goal_facts=() if goal is None else judged(goal, final),
        goal_given=goal is not None,
    )
