"""Every threshold of guards, sensing and recovery, with its unit, in one place."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Thresholds:
    """When a motion stops, when something counts as touched, and when the plan no longer fits.

    Free motions keep 5 mm of everything: what is off by less than that can't make them collide.

    Attributes:
        contact_force: N, against an item that is lowered, at which it has been put down.
        push_force: N, against a drawer pushed to its end, at which it is shut.
        pull_force: N, against a drawer on its way, at which it is stuck.
        stop_force: N, against the robot or what it holds from anything at all, at which it stops.
        grip_force: share of the fingers' force limit at which both must press for a grip.
        grip_time: s, for which they must.
        overtravel: m, that a guarded motion goes beyond its planned end in search of its contact.
        creep: m/s, at which it does.
        arrival_time: s, at most waited for the joints to be where they were told to be.
        settle_time: s, at most waited after letting go for everything to come to rest.
        at_rest_speed: m/s of a point, below which an item is at rest.
        item_moved: m, by which a standing item may be off the place where it is thought to be.
        item_turned: rad, likewise; also the tilt from which an upright item counts as toppled.
        slipped: m, by which a held item may have moved in the hand.
        slipped_turn: rad, likewise.
        joint_off: m (drawers) or rad (doors), by which a scene joint may be off.
        base_off: m, by which the base may be off. base_turned: rad, likewise.
        arm_off: rad, by which a joint of the arm may be off.
        held_force: N, that each finger must press with to hold something.
        recoveries: how often a run may plan anew.
    """

    contact_force: float = 3.0
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
    slipped: float = 0.006
    slipped_turn: float = 0.12
    joint_off: float = 0.004
    base_off: float = 0.004
    base_turned: float = 0.01
    arm_off: float = 0.02
    held_force: float = 2.0
    recoveries: int = 8


THRESHOLDS = Thresholds()
