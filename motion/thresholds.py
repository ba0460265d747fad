"""Thresholds of guards, sensing and recovery: forces, speeds, times and tolerances, with units."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Thresholds:
    """When a motion stops, when a grasp has succeeded, and which deviations require a recovery.

    Free motions keep 5 mm clearance, so smaller deviations can't make them collide.

    Attributes:
        force_noise: standard deviation of the measured force on the hand, N.
        false_contact: probability that noise ends a put-down too early.
        impact_force: mean force over ``impact_window``, N. It sets the speed at which an item that
            is put down seeks contact beyond the planned end: with more, it is faster and harder.
        impact_window: time over which ``impact_force`` is averaged, s.
        overshoot: force beyond a guard's force that the contact may reach while the arm stops, N.
        overshoot_share: the same as a share of the guard's force; the larger of the two counts.
        push_excess: most by which an arm whose fingers grip nothing may push harder than a guard's
            force, N.
        back_off: distance that the hand yields when it has put an item down, so that it no longer
            presses, m.
        push_force: force on a drawer that is pushed at which it counts as closed, N.
        pull_force: force on a drawer that is pulled at which it counts as stuck, N.
        stop_force: force of any contact on the robot or its held item at which a motion stops, N.
        grip_force: share of the fingers' force limit that both must reach for a grasp.
        grip_time: time for which both fingers must keep that force, s.
        overtravel: distance beyond its planned end that a guarded motion may go to find contact, m.
        creep: speed of that search, m/s.
        arrival_time: longest wait for the joints to reach their targets, s.
        settle_time: longest wait after a release for everything to come to rest, s.
        at_rest_speed: speed of a point below which an item is at rest, m/s.
        item_moved: tolerated deviation of a standing item's position, m.
        item_turned: tolerated deviation of a standing item's orientation, rad; also the tilt from
            which an upright item counts as toppled.
        slid: tolerated deviation of a pushed item's position, m.
        slid_turn: tolerated deviation of a pushed item's orientation, rad.
        slipped: tolerated deviation of a held item's position in the hand, m.
        slipped_turn: tolerated deviation of a held item's orientation in the hand, rad.
        joint_off: tolerated deviation of a scene joint, m (drawers) or rad (doors).
        base_off: tolerated deviation of the base's position, m.
        base_turned: tolerated deviation of the base's heading, rad.
        arm_off: tolerated deviation of a joint of the arm, rad.
        held_force: force with which each finger must press for an item to count as held, N.
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
