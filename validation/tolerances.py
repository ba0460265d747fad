"""All tolerances of the validator, with units and reasons."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Tolerances:
    """The tolerances of a run; a larger value is more lenient.

    The defaults are for runs without forces (``kinematic``).

    Attributes:
        time: s, deviation of a sample from its time k * period, by rounding.
        penetration: m, of a pair that may not touch. Bullet grows meshes by 1 mm on both sides.
        declared_penetration: m, of a pair that may touch. A grip presses, but not right through.
        force: N, of an unexpected contact of a robot link or held item. A graze is less than a
            quarter of the weight of any item here.
        overshoot: N, by which an allowed contact of the hand may exceed the force of its motion's
            guard until the arm has stopped; or ``overshoot_share``, if that is more.
        overshoot_share: share of the guard's force, see ``overshoot``.
        overshoot_held: N, in place of ``overshoot`` while the hand holds an item. Noise or a slip
            may make its support higher than expected, and at 40 N every motion stops.
        impact_time: s, for which a falling item moves on, in a run with forces, before it feels the
            impact: one simulation step. The penetration by then is no violation.
        impact_memory: s, within which the simulation pushes that item out again.
        position_angle: rad, of a turning joint beyond its limit.
        position_length: m, of a sliding joint beyond its limit.
        velocity: share of the limit. Differences of samples round it up.
        sideways: m/s, of a differential base across its heading.
        acceleration: share of the limit.
        acceleration_window: s, over which accelerations are averaged. An impact accelerates joints
            for one simulation step, which is not due to their motors.
        torque: share of the effort limit.
        tracking_arm: rad, of an arm joint from its command.
        tracking_base: m, of the base from its commanded x and from its commanded y.
        tracking_heading: rad, of the base from its commanded heading.
        tracking_fingers: m, of a finger's pad from its command, while it may touch nothing.
        slip: m, displacement of a held item in the hand during one motion.
        slip_turn: rad, rotation of a held item in the hand during one motion.
        support: m, distance within which a body below an item supports it.
        support_time: s, after which an item without support counts as floating. An item that is
            released or bounces is without support for less.
        grip: m, distance within which a finger holds an item.
        rest_time: s, the time at the end for which everything must be at rest.
        rest_speed: m/s of an item or drawer, rad/s of a door, below which it is at rest.
        rest_joint: share of a robot joint's velocity limit, below which it is at rest.
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
"""For runs with forces: joints are compliant, contacts vibrate, a grip by friction creeps."""


def tolerances(mode: str) -> Tolerances:
    """The tolerances for a log's ``mode``."""
    return PHYSICS if mode == "physics" else KINEMATIC


@dataclass(frozen=True)
class GoalTolerances:
    """Tolerances with which a predicate holds in the geometry (docs/domain.md).

    Attributes:
        gap: m, between an item's underside and its support; also the length by which an item may
            stick out of a drawer's inner volume.
        tilt: rad, of an item's axis from its support's normal.
        closed: m or rad; a drawer or door that is open by less counts as closed.
        spot: m in the plane, distance of an item from its exact place.
        spot_turn: rad, of an item's yaw from that of its exact place.
    """

    gap: float = 0.005
    tilt: float = 0.08726646259971647
    closed: float = 0.005
    spot: float = 0.010
    spot_turn: float = 0.08726646259971647


GOAL = GoalTolerances()
