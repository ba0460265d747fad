"""All tolerances of validation, with units and reasons."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Tolerances:
    """All tolerances. The defaults are for runs without forces (``kinematic``).

    Attributes:
        time: s, of a sample from its place k * period: rounding.
        quaternion: of its norm from 1: rounding.
        angle_step, length_step: rad and m; states are interpolated so that no joint and no loose
            item moves further between two checked states. At 120 samples a second, speeds up to
            2.6 rad/s need none.
        penetration: m, of a pair that may not touch: Bullet grows meshes by 1 mm on both sides.
        declared_penetration: m, of a pair that may touch: a grip presses, but not right through.
        force: N, between an undeclared pair with a robot link or held item: a graze is less than a
            quarter of the weight of any item here.
        overshoot: N, by which a declared contact of the hand may exceed the force that the guard of
            its motion asks for, until the arm has stopped; or overshoot_share of that force, if
            that is more.
        overshoot_held: N, likewise of an item in the hand: its support may be higher than it was
            thought to be, by noise or as it slipped, and at 40 N every motion stops.
        unrecorded: m, of a robot link that penetrates something without a recorded contact, in a
            run with forces. A grip presses 0.2 mm deep at most.
        impact_time: s, for which a falling item goes on, in a run with forces, before it feels the
            impact: one simulation step. The penetration by then is no violation.
        impact_memory: s, within which it is pushed out again.
        position_angle, position_length: rad and m beyond a joint's limit.
        velocity: share of the limit. Differences of samples round it up.
        acceleration: share of the limit.
        acceleration_window: s, over which accelerations are averaged: an impact accelerates joints
            for one simulation step, and not by their motors.
        velocity_residual: share of (acceleration limit x period) by which the mean of the velocity
            column over ``velocity_window`` may differ from that of q's differences. A column
            shifted by one sample differs by 1. Simulation adds 1/4: its positions follow the
            velocity at the end of each step, two of which make a period.
        velocity_window: s.
        torque: share of the effort limit.
        tracking_arm, tracking_base, tracking_heading, tracking_fingers: rad, m, rad, m, of a joint
            from its command. Fingers count only while they may touch nothing.
        slip, slip_turn: m and rad, of a held item in the hand during one motion.
        slip_step: m, likewise from one sample to the next.
        jump: m/s, by which an item's speed may grow from one sample to the next beyond free fall.
            A grip and a put-down change it by 0.04; 0.5 is 4 mm in one sample.
        drift: m, of a corner of an item, or of a drawer, since something near could push it last:
            most items creep by 0.1 mm in a run.
        creep: m/s, in addition, since then: one box in 102 runs crept by 0.04 mm/s for a minute.
        kinematic_drift: m, between two samples in a run without forces, in which only the hand and
            drawers move items; infinite with forces.
        push_distance: m, within which a body may push another one.
        rest_time: s, at the end, for which all must be at rest. rest_speed: m/s of an item or
            drawer, rad/s of a door. rest_joint: share of a joint's velocity limit.
        rest_window: s, over which these speeds are averaged.
        contact_margin: m, within which an item is in contact with a body. grip_margin: m, likewise
            with a finger.
        friction_factor: on the scene's coefficient, for noise and cones that are pyramids.
        support_residual: m/s^2, of an item's acceleration that no contact forces explain: 9.8 for a
            floating item, 0 for twice the moderate noise.
        support_time: s, for which the residual must last: impacts are shorter.
        weight_residual: share of an item's weight by which recorded forces may miss it: masses are
            noisy.
        finger_force_factor: on the force that a finger may exert, in the mean of some samples: 1.6
            while a drawer is pulled, for the arm adds to it.
        contact_distance: m, of a recorded contact distance from the geometry: 3 mm in an impact.
        external_push: share of the force needed to move an item or drawer that an external push
            must have to explain its motion.
        torque_residual: share of the effort limit by which a recorded torque, averaged over
            ``torque_window`` (s), may differ from what the motion requires: 0.02, and 0.03 more
            for noisy masses.
        exact_commands: samples in which a moving joint may be exactly at its command.
    """

    time: float = 1e-6
    quaternion: float = 1e-6
    angle_step: float = 0.025
    length_step: float = 0.005
    penetration: float = 0.002
    declared_penetration: float = 0.005
    force: float = 2.0
    overshoot: float = 20.0
    overshoot_share: float = 0.5
    overshoot_held: float = 40.0
    unrecorded: float = 0.001
    impact_time: float = 0.0
    impact_memory: float = 0.1
    position_angle: float = 1e-6
    position_length: float = 1e-6
    velocity: float = 1.02
    acceleration: float = 1.02
    acceleration_window: float = 0.0
    velocity_residual: float = 0.25
    velocity_window: float = 0.0
    torque: float = 1.0
    tracking_arm: float = 0.05
    tracking_base: float = 0.02
    tracking_heading: float = 0.03
    tracking_fingers: float = 0.01
    slip: float = 1e-4
    slip_turn: float = 1e-3
    slip_step: float = 1e-4
    jump: float = 0.5
    drift: float = 0.002
    creep: float = 5e-5
    kinematic_drift: float = 1e-5
    push_distance: float = 0.01
    rest_time: float = 0.25
    rest_speed: float = 0.01
    rest_joint: float = 0.02
    rest_window: float = 0.025
    contact_margin: float = 0.005
    grip_margin: float = 0.005
    friction_factor: float = 1.5
    support_residual: float = 3.0
    support_time: float = 0.1
    weight_residual: float = 0.5
    finger_force_factor: float = 2.5
    contact_distance: float = 0.005
    external_push: float = 0.4
    torque_residual: float = 0.08
    torque_window: float = 0.1
    exact_commands: int = 5


KINEMATIC = Tolerances()

PHYSICS = replace(
    KINEMATIC,
    position_angle=2e-3,
    position_length=1e-3,
    velocity=1.05,
    acceleration=1.05,
    acceleration_window=0.05,
    velocity_residual=0.35,
    velocity_window=0.1,
    impact_time=1.0 / 240.0,
    slip=0.015,
    slip_turn=0.35,
    slip_step=0.002,
    kinematic_drift=float("inf"),
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
