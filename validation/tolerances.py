"""Every tolerance of validation, with its unit and its reason, in one place."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Tolerances:
    """What is still right. The defaults are for runs that set joint states (``kinematic``).

    Attributes:
        time: s, of a sample from its place k * period: rounding.
        quaternion: of its norm from 1: rounding.
        angle_step, length_step: rad and m; states are filled in so that from one checked state to
            the next no joint and no loose item moves more. At most 120 samples a second and 2.6
            rad/s need none.
        penetration: m, of an undeclared pair: Bullet grows meshes by 1 mm, both sides make 2.
        pressed: m, of a pair that may touch: a grip presses, but not right through.
        force: N, between an undeclared pair, one of them of the robot or held: less than a quarter
            of the weight of anything here is a graze.
        unrecorded: m, of a robot link that penetrates something without a recorded contact, in a
            run that has forces. There 0.2 mm is the deepest that a grip presses.
        impact_time: s. A loose item goes on for so long, in a run with forces, before an impact is
            felt: one step of simulation. What it penetrates by then is no fault of the run.
        impact_memory: s, within which it is pushed out again.
        position_angle, position_length: rad and m beyond a joint's limit.
        velocity: share of the limit. Differences of samples round it up.
        acceleration: share of the limit.
        acceleration_window: s, over which acceleration is a mean. Impacts of contact last one step
            of simulation, and no motor made them.
        rates: share of (acceleration limit x period) by which the mean of the velocity column over
            ``rates_window`` may differ from that of q's differences. A column that is shifted by
            one sample differs by the whole acceleration x period. Simulation adds 1/4 of that: its
            positions follow the velocity at the end of each step, two of which make a period.
        rates_window: s.
        torque: share of the effort limit.
        tracking_arm, tracking_base, tracking_heading, tracking_fingers: rad, m, rad, m, of a joint
            from its command. Fingers count only while they may touch nothing.
        slip, slip_turn: m and rad, that a held item may move in the hand during one motion.
        slip_step: m, likewise from one sample to the next.
        jump: m/s, by which an item's speed may grow from one sample to the next beyond free fall.
            A grip and a put-down change it by 0.04; 0.5 is 4 mm in a sample from nowhere.
        still: m, that a corner of an item, or a drawer, may move in all from where something that
            could push it was near last: items creep by 0.1 mm in a run.
        own_motion: m, between two samples, likewise in a run without forces, where only the hand
            and drawers move anything; infinite where there are forces.
        touching: m, nearer than which something may push something else.
        rest_time: s, at the end, for which all must be at rest. rest_speed: m/s of an item or
            drawer, rad/s of a door. rest_joint: share of a joint's velocity limit.
        rest_window: s, over which such a speed is a mean.
        support: m, within which an item and something else are in contact. grip: m, to either
            finger, likewise.
        friction: times the scene's coefficient that a contact may have: noise, and cones that are
            pyramids.
        unsupported: m/s^2 of an item's acceleration that no forces at its contacts explain. What
            hangs in the air lacks 9.8, twice the moderate noise nothing. unsupported_time: s, for
            which it must be so: impacts are shorter.
        weight: share of an item's weight by which recorded forces may miss it: masses are noisy.
        pressing: times the fingers' force, which one may press with in the mean of some samples:
            1.6 while a drawer is pulled, for the arm does part of it.
        recorded: m, of a recorded distance from that of the geometry: 3 mm in an impact.
        push: share of the force that moves an item or drawer, which something outside must have to
            explain that it moves.
        borne: share of the effort limit by which a recorded torque may be off from what the motion
            asks for, in the mean over ``borne_window`` (s): 0.02, and 0.03 more for noisy masses.
        exact: samples in which a moving joint may be exactly where it was told to be.
    """

    time: float = 1e-6
    quaternion: float = 1e-6
    angle_step: float = 0.025
    length_step: float = 0.005
    penetration: float = 0.002
    pressed: float = 0.005
    force: float = 2.0
    unrecorded: float = 0.001
    impact_time: float = 0.0
    impact_memory: float = 0.1
    position_angle: float = 1e-6
    position_length: float = 1e-6
    velocity: float = 1.02
    acceleration: float = 1.02
    acceleration_window: float = 0.0
    rates: float = 0.25
    rates_window: float = 0.0
    torque: float = 1.0
    tracking_arm: float = 0.05
    tracking_base: float = 0.02
    tracking_heading: float = 0.03
    tracking_fingers: float = 0.01
    slip: float = 1e-4
    slip_turn: float = 1e-3
    slip_step: float = 1e-4
    jump: float = 0.5
    still: float = 0.002
    own_motion: float = 1e-5
    touching: float = 0.01
    rest_time: float = 0.25
    rest_speed: float = 0.01
    rest_joint: float = 0.02
    rest_window: float = 0.025
    support: float = 0.005
    grip: float = 0.005
    friction: float = 1.5
    unsupported: float = 3.0
    unsupported_time: float = 0.1
    weight: float = 0.5
    pressing: float = 2.5
    recorded: float = 0.005
    push: float = 0.4
    borne: float = 0.08
    borne_window: float = 0.1
    exact: int = 5


KINEMATIC = Tolerances()

PHYSICS = replace(
    KINEMATIC,
    position_angle=2e-3,
    position_length=1e-3,
    velocity=1.05,
    acceleration=1.05,
    acceleration_window=0.05,
    rates=0.35,
    rates_window=0.1,
    impact_time=1.0 / 240.0,
    slip=0.015,
    slip_turn=0.35,
    slip_step=0.002,
    own_motion=float("inf"),
)
"""With forces: joints give way a little, contacts shake, a grip by friction creeps."""


def tolerances(mode: str) -> Tolerances:
    """Those for a log's ``mode``."""
    return PHYSICS if mode == "physics" else KINEMATIC


@dataclass(frozen=True)
class GoalTolerances:
    """When a predicate holds in the geometry (docs/domain.md).

    Attributes:
        gap: m, between an item's underside and what it stands on, and that it may stick out of a
            drawer's inner volume.
        tilt: rad, of an item's z axis from the normal of what it stands on.
        closed: m or rad, a drawer or door opened less counts as closed.
        spot: m in the plane, of an item from its exact place. spot_turn: rad, of its yaw.
    """

    gap: float = 0.005
    tilt: float = 0.08726646259971647
    closed: float = 0.005
    spot: float = 0.010
    spot_turn: float = 0.08726646259971647


GOAL = GoalTolerances()
