"""Impacts that ``contact.guard`` predicts beside those that PyBullet measures.

    python bench/guard_impulses.py

A chain of three links, its motors off, comes down on a floor with its tip. The force is the mean
over PyBullet's step of 1/240 s in which they touch.
"""

from __future__ import annotations

import numpy as np
from planning_runs import table

from galley.contact.guard import Approach, reflected_mass
from galley.worlds.engines.bullet import pybullet as pb

DT = 1.0 / 240.0
POSES = ((0.3, 0.5, 0.0), (-0.4, 1.2, 0.3), (0.1, 2.0, 0.0))
SPEEDS = (0.05, 0.3)


def arm(client: int) -> int:
    """A chain of three links with a ball at its tip, about parallel axes, in PyBullet."""
    ball = pb.createCollisionShape(pb.GEOM_SPHERE, radius=0.02, physicsClientId=client)
    return pb.createMultiBody(
        0.0,
        linkMasses=[2.0, 1.2, 0.7],
        linkCollisionShapeIndices=[-1, -1, ball],
        linkVisualShapeIndices=[-1] * 3,
        linkPositions=[[0, 0, 0], [0.5, 0, 0], [0.4, 0, 0]],
        linkOrientations=[[0, 0, 0, 1]] * 3,
        linkInertialFramePositions=[[0.25, 0, 0], [0.2, 0, 0], [0.0, 0, 0]],
        linkInertialFrameOrientations=[[0, 0, 0, 1]] * 3,
        linkParentIndices=[0, 1, 2],
        linkJointTypes=[pb.JOINT_REVOLUTE] * 3,
        linkJointAxis=[[0, 1, 0]] * 3,
        physicsClientId=client,
    )


def measured_force(q: tuple[float, ...], speed: float) -> tuple[float, float]:
    """Reflected mass (kg) at a pose, and the force (N) at which the tip lands at a speed (m/s)."""
    client = pb.connect(pb.DIRECT)
    try:
        body = arm(client)
        for k, value in enumerate(q):
            pb.setJointMotorControl2(
                body, k, pb.VELOCITY_CONTROL, force=0.0, physicsClientId=client
            )
            pb.changeDynamics(
                body,
                k,
                linearDamping=0,
                angularDamping=0,
                jointDamping=0,
                restitution=0,
                lateralFriction=0,
                physicsClientId=client,
            )
            pb.resetJointState(body, k, value, physicsClientId=client)
        matrix = np.array(pb.calculateMassMatrix(body, list(q), physicsClientId=client))
        J = np.array(
            pb.calculateJacobian(
                body, 2, [0, 0, 0], list(q), [0] * 3, [0] * 3, physicsClientId=client
            )[0]
        )
        down = np.array([0.0, 0.0, -1.0])
        mass = reflected_mass(matrix, J, down)
        rates = np.linalg.solve(matrix, J.T @ down) * mass * speed  # at which the tip comes down
        for k, rate in enumerate(rates):
            pb.resetJointState(body, k, q[k], rate, physicsClientId=client)
        tip = np.array(pb.getLinkState(body, 2, True, True, physicsClientId=client)[4])
        floor = pb.createMultiBody(
            0.0,
            pb.createCollisionShape(
                pb.GEOM_BOX, halfExtents=[0.5, 0.5, 0.1], physicsClientId=client
            ),
            # Bullet lets bodies overlap by 10 um before they touch, its linear slop.
            basePosition=tip - np.array([0.0, 0.0, 0.12 - 1e-5]),
            physicsClientId=client,
        )
        pb.stepSimulation(physicsClientId=client)
        points = pb.getContactPoints(body, floor, physicsClientId=client)
        measured = sum(point[9] for point in points)
        return mass, measured
    finally:
        pb.disconnect(client)


def main() -> None:
    rows = []
    for q in POSES:
        for speed in SPEEDS:
            mass, force = measured_force(q, speed)
            predicted = Approach(mass, speed).mean_force(DT)
            off = f"{100 * (force / predicted - 1):+.1f} %"
            rows.append(
                [str(q), f"{mass:.2f}", str(speed), f"{predicted:.2f}", f"{force:.2f}", off]
            )
    table(["pose", "kg", "m/s", "predicted N", "PyBullet N", "off by"], rows)


if __name__ == "__main__":
    main()
