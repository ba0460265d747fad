"""All tolerances of validation, with units and reasons."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Tolerances:
    """All tolerances. The defaults are for runs without forces (``kinematic``).

    Attributes:
        time: s, of a sample from its place k * period: rounding.
        penetration: m, of a pair that may not touch: Bullet grows meshes by 1 mm on both sides.
        declared_penetration: m, of a pair that may touch: a grip presses, but not right through.
        force: N, between an undeclared pair with a robot link or held item: a graze is less than a
            quarter of the weight of any item here.
        overshoot: N, by which a declared contact of the hand may exceed the force that the guard of
            its motion asks for, until the arm has stopped; or overshoot_share of that force, if
            that is more.
        overshoot_held: N, likewise of an item in the hand: its support may be higher than it was
            thought to be, by noise or as it slipped, and at 40 N every motion stops.
        impact_time: s, for which a falling item goes on, in a run with forces, before it feels the
            impact: one simulation step. The penetration by then is no violation.
        impact_memory: s, within which it is pushed out again.
        position_angle, position_length: rad and m beyond a joint's limit.
        velocity: share of the limit. Differences of samples round it up.
        sideways: m/s of a differential base across its heading.
        acceleration: share of the limit.
        acceleration_window: s, over which accelerations are averaged: an impact accelerates joints
            for one simulation step, and not by their motors.
        torque: share of the effort limit.
        tracking_arm, tracking_base, tracking_heading, tracking_fingers: rad, m, rad, m, of a joint
            from its command. Fingers count by their pads, and only while they may touch nothing.
        slip, slip_turn: m and rad, of a held item in the hand during one motion.
        support: m, within which a body below an item carries it.
        support_time: s, after which an item without support floats: a grip that is let go, and an
            item that bounces, are shorter.
        grip: m, within which a finger holds an item.
        rest_time: s, at the end, for which all must be at rest. rest_speed: m/s of an item or
            drawer, rad/s of a door. rest_joint: share of a joint's velocity limit.
        rest_window: s, over which these speeds are averaged.
    """

    time: float = 1e-6
    penetration: float = 0.002
    declared_penetration: float = 0.005
    force: float = 2.0
    overshoot: float = 20.0
    overshoot_share: float = 0.5
    overshoot_held: float = 40.0
    impact_time: float = 0.0
    impact_memory: float = 0.1
    position_angle: float = 1e-6
    position_length: float = 1e-6
    velocity: float = 1.02
    sideways: float = 0.02
    acceleration: float = 1.02
    acceleration_window: float = 0.0
    torque: float = 1.0
    tracking_arm: float = 0.05
    tracking_base: float = 0.02
    tracking_heading: float = 0.03
    tracking_fingers: float = 0.01
    slip: float = 1e-4
    slip_turn: float = 1e-3
    support: float = 0.005
    support_time: float = 0.1
    grip: float = 0.005
    rest_time: float = 0.25
    rest_speed: float = 0.01
    rest_joint: float = 0.02
    rest_window: float = 0.025


KINEMATIC = Tolerances()

PHYSICS = replace(
    KINEMATIC,
    position_angle=2e-3,
    position_length=1e-3,
    velocity=1.05,
    acceleration=1.05,
    acceleration_window=0.05,
    impact_time=1.0 / 240.0,
    slip=0.015,
    slip_turn=0.35,
)
"""With forces: joints are compliant, contacts vibrate, a grip by friction creeps."""


def tolerances(mode: str) -> Tolerances:
    """The tolerances for a log's ``mode``."""
    return PHYSICS if mode == "physics" else KINEMATIC


@dataclass(frozen=True)
class GoalTolerances:
    """When a predicate holds in the geometry (docs/domain.md).

    Attributes:
        gap: m, between an item's underside and its support; also by which an item may stick out
            of a drawer's inner volume.
        tilt: rad, of an item's z axis from its support's normal.
        closed: m or rad; a drawer or door that is open by less counts as closed.
        spot: m in the plane, of an item from its exact place. spot_turn: rad, of its yaw.
    """

    gap: float = 0.005
    tilt: float = 0.08726646259971647
    closed: float = 0.005
    spot: float = 0.010
    spot_turn: float = 0.08726646259971647


GOAL = GoalTolerances()
