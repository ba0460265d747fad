"""The same three motions in one, two and three dimensions, beside the closed form.

    python bench/contact/tiers.py [FIGURE]

The finger (1D, exact events), contact in the plane (2D, a penalty, implicit steps) and PyBullet
(3D, impulses, 240 Hz) get their numbers from one ``Finger``: a head-on impact, a block that slides
to a stop, a block on a slope. The figure is that of docs/contact.md.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import brentq

from galley.bench.report import table
from galley.collision.backends.bullet import pybullet as pb
from galley.planar.contact import Body2D, Box, Circle, Contact, HalfPlane, World, simulate
from galley.planar.finger import Drag, Finger, Start
from galley.planar.finger import simulate as simulate_finger
from galley.viz.figures import figure_file

GRAVITY = 9.81  # m/s^2
DT = 1.0 / 240.0  # s, of PyBullet and in the plane
TIERS = ("finger, 1D", "plane, 2D", "PyBullet, 3D")
_RADIUS = 0.2  # m, of what collides
_HALF = (0.3, 0.1)  # m, of the block that slides
_NONE = Drag(0.0, 0.0)


@dataclass(frozen=True)
class Case:
    """A motion that all tiers and the closed form know.

    Attributes:
        name: with its numbers. finger: whose parameters all take. speed: m/s, at the start: of the
            finger in an impact, of the block otherwise. angle: rad, of the slope. end: s.
        exact: velocity (m/s) of the object at times (n,) s.
    """

    name: str
    finger: Finger
    speed: float
    angle: float
    end: float
    exact: Callable[[Any], Any]

    @property
    def times(self) -> Any:
        """Of PyBullet's steps, from 0, s."""
        return np.arange(round(self.end / DT) + 1) * DT

    @property
    def mu(self) -> float:
        """Of a block on a plane that resists as the finger's object does."""
        push = self.finger.object_mass * GRAVITY * np.cos(self.angle)
        return float(self.finger.kinetic_friction / push)


def impact() -> Case:
    """A finger hits an object that nothing holds."""
    finger = Finger(
        finger_mass=1.0,
        object_mass=2.0,
        restitution=0.5,
        static_friction=0.0,
        kinetic_friction=0.0,
        finger_drag=_NONE,
        object_drag=_NONE,
        gap=0.1,
    )
    speed = 1.0
    after = finger.finger_mass * (1.0 + finger.restitution) * speed
    after /= finger.finger_mass + finger.object_mass
    touch = finger.gap / speed
    return Case(
        "head-on impact, restitution 0.5",
        finger,
        speed,
        0.0,
        0.3,
        lambda t: np.where(t > touch, after, 0.0),
    )


def slide() -> Case:
    """An object slides to a stop."""
    finger = Finger(
        object_mass=2.0,
        static_friction=5.0,
        kinetic_friction=5.0,
        object_drag=_NONE,
    )
    rate = finger.kinetic_friction / finger.object_mass
    name = "sliding block, 5 N of friction"
    return Case(name, finger, 1.5, 0.0, 0.8, lambda t: np.maximum(1.5 - rate * t, 0.0))


def incline() -> Case:
    """An object slides down a slope: in one dimension, it is pushed by its weight along it."""
    angle, mass, mu = np.radians(25.0), 2.0, 0.3
    friction = mu * mass * GRAVITY * np.cos(angle)
    finger = Finger(
        finger_mass=1e-6,
        object_mass=mass,
        restitution=0.0,
        static_friction=friction,
        kinetic_friction=friction,
        finger_drag=_NONE,
        object_drag=_NONE,
        gap=0.0,
    )
    rate = GRAVITY * (np.sin(angle) - mu * np.cos(angle))
    return Case("slope of 25 deg, mu 0.3", finger, 0.0, angle, 0.8, lambda t: rate * t)


CASES = {"impact": impact, "slide": slide, "incline": incline}


def damping_for(restitution: float, speed: float, stiffness: float) -> float:
    """k_d (N s/m^2) with which two bodies that close at ``speed`` part at ``restitution`` times it.

    The force k_n d + k_d d d' takes u / (1 + c u) du = -k_n d dd / m with c = k_d / k_n (Hunt
    and Crossley, 1975), so x = c u has the same x - ln(1 + x) at both ends: at x and at -e x.
    """
    if restitution >= 1.0:
        return 0.0

    def difference(x: float) -> float:
        return float((1.0 + restitution) * x - np.log((1.0 + x) / (1.0 - restitution * x)))

    x = brentq(difference, 1e-6, (1.0 - 1e-12) / restitution)
    return float(x * stiffness / speed)


def finger_velocity(case: Case) -> Any:
    """In one dimension (n,), m/s."""
    if case.name.startswith("head"):
        trace = simulate_finger(case.finger, 0.0, case.end, Start(case.speed, 0.0))
    elif case.angle:
        push = case.finger.object_mass * GRAVITY * np.sin(case.angle)
        trace = simulate_finger(case.finger, push, case.end)
    else:
        trace = simulate_finger(case.finger, 0.0, case.end, Start(0.0, case.speed))
    return trace.at(np.minimum(case.times, trace.end)).object_velocity


def planar_velocity(case: Case) -> Any:
    """In two dimensions (n,), m/s."""
    finger, n = case.finger, len(case.times) - 1
    if case.name.startswith("head"):
        stiffness, fine = 4e4, 8  # 13 ms of contact, 25 steps
        law = Contact(
            stiffness=stiffness,
            damping=damping_for(finger.restitution, case.speed, stiffness),
            friction=0.0,
            softness=1e-6,
        )
        apart = 2.0 * _RADIUS + finger.gap
        bodies = [
            Body2D(
                Circle(_RADIUS),
                finger.finger_mass,
                pose=(-apart, 0.0, 0.0),
                velocity=(case.speed, 0.0, 0.0),
            ),
            Body2D(Circle(_RADIUS), finger.object_mass),
        ]
        run = simulate(World(bodies, law, (0.0, 0.0)), h=DT / fine, n=n * fine)
        assert run.failure() is None
        return run.velocity[::fine, 1, 0]
    # At rest from the start: at depth 0 the two of four corners that touch bear the weight.
    stiffness, weight = 1e6, finger.object_mass * GRAVITY * np.cos(case.angle)
    law = Contact(
        stiffness=stiffness,
        damping=1e4,
        friction=case.mu,
        softness=weight / (0.5 * stiffness),
        still=1e-4,
    )
    block = Body2D(
        Box(_HALF),
        finger.object_mass,
        pose=(0.0, _HALF[1], 0.0),
        velocity=(case.speed, 0.0, 0.0),
    )
    down = GRAVITY * np.array([np.sin(case.angle), -np.cos(case.angle)])
    run = simulate(World([block, Body2D(HalfPlane())], law, down), h=DT, n=n)
    assert run.failure() is None
    return run.velocity[:, 0, 0]


def bullet_velocity(case: Case) -> Any:
    """In three dimensions (n,), m/s."""
    client = pb.connect(pb.DIRECT)
    try:
        return _bullet(case, client)
    finally:
        pb.disconnect(client)


def _bullet(case: Case, client: int) -> Any:
    finger = case.finger
    pb.setTimeStep(DT, physicsClientId=client)

    def body(shape: int, mass: float, x: Any, speed: float, **dynamics: float) -> int:
        made = int(pb.createMultiBody(mass, shape, basePosition=x, physicsClientId=client))
        pb.changeDynamics(
            made, -1, linearDamping=0, angularDamping=0, physicsClientId=client, **dynamics
        )
        pb.resetBaseVelocity(made, [speed, 0, 0], physicsClientId=client)
        return made

    if case.name.startswith("head"):
        ball = pb.createCollisionShape(pb.GEOM_SPHERE, radius=_RADIUS, physicsClientId=client)
        smooth = {"lateralFriction": 0.0}
        apart = 2.0 * _RADIUS + finger.gap
        body(ball, finger.finger_mass, [-apart, 0, 0], case.speed, restitution=1.0, **smooth)
        watched = body(
            ball, finger.object_mass, [0, 0, 0], 0.0, restitution=finger.restitution, **smooth
        )
    else:
        pb.setGravity(
            GRAVITY * np.sin(case.angle), 0, -GRAVITY * np.cos(case.angle), physicsClientId=client
        )
        plane = pb.createCollisionShape(pb.GEOM_PLANE, physicsClientId=client)
        body(plane, 0.0, [0, 0, 0], 0.0, lateralFriction=1.0)
        half = [_HALF[0], 0.2, _HALF[1]]
        box = pb.createCollisionShape(pb.GEOM_BOX, halfExtents=half, physicsClientId=client)
        place = [0, 0, _HALF[1]]
        watched = body(box, finger.object_mass, place, case.speed, lateralFriction=case.mu)
    found = []
    for _ in case.times:
        found.append(pb.getBaseVelocity(watched, physicsClientId=client)[0][0])
        pb.stepSimulation(physicsClientId=client)
    return np.array(found)


RUNS = dict(zip(TIERS, (finger_velocity, planar_velocity, bullet_velocity), strict=True))


def draw(found: dict[str, tuple[Case, dict[str, Any]]], path: Path) -> None:
    """Velocities over time, a panel for each case."""
    styles = (("#1b6ca8", "-", 3.2), ("#c62828", "--", 1.8), ("#3c8c3c", ":", 2.2))
    with figure_file(path, (12.0, 3.8)) as figure:
        for axis, (case, runs) in zip(figure.subplots(1, 3), found.values(), strict=True):
            axis.plot(
                case.times, case.exact(case.times), color="#999999", lw=6, label="closed form"
            )
            for (name, v), (color, dash, width) in zip(runs.items(), styles, strict=True):
                axis.plot(case.times, v, color=color, ls=dash, lw=width, label=name)
            axis.set_title(case.name, fontsize=11)
            axis.set_xlabel("time, s")
            axis.grid(alpha=0.25)
        figure.axes[0].set_ylabel("object's velocity, m/s")
        figure.axes[0].legend(fontsize=9)
        figure.tight_layout()


def main() -> None:
    """Run all, print the largest errors at the end and on the way, draw the figure if named."""
    found = {}
    for name, make in CASES.items():
        case = make()
        found[name] = case, {tier: run(case) for tier, run in RUNS.items()}
    rows = []
    for case, runs in found.values():
        exact = case.exact(case.times)
        for tier, v in runs.items():
            off = abs(v - exact)
            rows.append([case.name, tier, f"{off[-1]:.1e}", f"{np.median(off):.1e}"])
    table(["motion", "tier", "error at the end m/s", "median error m/s"], rows)
    if len(sys.argv) > 1:
        draw(found, Path(sys.argv[1]))


if __name__ == "__main__":
    main()
