"""Thresholds of guards, sensing and recovery, with units."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Thresholds:
    """When a motion stops, what counts as a grasp, and which deviations require a recovery.

    Free motions keep 5 mm clearance, so smaller deviations can't make them collide.

    Attributes:
        force_noise: N, standard deviation of the force that is felt on the hand.
        false_contact: probability that noise ends a put-down.
        impact_force: N, mean over ``impact_window`` (s), that sets the speed at which an item that
            is put down seeks contact beyond the planned end.
        overshoot: N, beyond a guard's force, that its contact may reach while the arm stops.
        overshoot_share: of the guard's force, likewise; the larger of the two counts.
        push_excess: N, beyond a guard's force, with which the motors of an arm whose fingers grip
            nothing push at most.
        back_off: m, that the hand yields when it has put an item down: then it no longer presses.
        push_force: N, on a drawer being pushed: it is closed.
        pull_force: N, on a drawer being pulled: it is stuck.
        stop_force: N, on the robot or what it holds, from anything: the motion stops.
        grip_force: share of the fingers' force limit that both must reach for a grasp.
        grip_time: s, for which they must.
        overtravel: m, that a guarded motion goes beyond its planned end in search of its contact.
        creep: m/s, at which it does.
        arrival_time: s, waited at most for the joints to reach their targets.
        settle_time: s, waited at most after a release for everything to come to rest.
        at_rest_speed: m/s of a point, below which an item is at rest.
        item_moved: m, tolerated deviation of a standing item.
        item_turned: rad, likewise; also the tilt from which an upright item counts as toppled.
        slid: m, tolerated deviation of an item that was pushed. slid_turn: rad, likewise.
        slipped: m, tolerated deviation of a held item in the hand.
        slipped_turn: rad, likewise.
        joint_off: m (drawers) or rad (doors), tolerated deviation of a scene joint.
        base_off: m, tolerated deviation of the base. base_turned: rad, likewise.
        arm_off: rad, tolerated deviation of a joint of the arm.
        held_force: N, with which each finger must press to hold something.
        recoveries: how often a run may replan.
    """

    force_noise: float = 0.5
    false_contact: float = 1e-3
    impact_force: float = 30.0
    impact_window: float = 1.0 / 240.0
    overshoot: float = 20.0
    overshoot_share: float = 0.5
    push_excess: float = 5.0
    back_off: float = 5e-5
    push_force: float = 20.0
    pull_force: float = 35.0
    stop_force: float = 40.0
    grip_force: float = 0.5
    grip_time: float = 0.05
    overtravel: float = 0.012
    creep: float = 0.02
    arrival_time: float = 0.25
    settle_time: float = 1.0
    at_rest_speed: float = 0.01
    item_moved: float = 0.004
    item_turned: float = 0.10
    slid: float = 0.003
    slid_turn: float = 0.035
    slipped: float = 0.006
    slipped_turn: float = 0.12
    joint_off: float = 0.004
    base_off: float = 0.004
    base_turned: float = 0.01
    arm_off: float = 0.02
    held_force: float = 2.0
    recoveries: int = 8


THRESHOLDS = Thresholds()
