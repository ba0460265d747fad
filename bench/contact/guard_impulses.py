"""Impacts as ``motion.guarded_approach`` has them, m v / dt, beside those that PyBullet measures.

    python bench/contact/guard_impulses.py [--seeds N]

A chain of three links, its motors off, comes down on a floor with its tip; the force is the mean
over PyBullet's step of 1/240 s in which they touch. Then the put-downs of the default task, whose
motors hold the arm's joints in step: the largest mean over 1/240 s.
"""

from __future__ import annotations

import argparse

import numpy as np

from galley import engine
from galley.bench.report import table
from galley.collision.backends.bullet import pybullet as pb
from galley.execution.physics.executor import PhysicsExecutor
from galley.execution.physics.sensing import force_on, measure_contacts
from galley.motion.thresholds import THRESHOLDS
from galley.robots.catalog import robot_of
from galley.stages import Solution

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


def reflected_mass(mass_matrix: np.ndarray, jacobian: np.ndarray, direction: np.ndarray) -> float:
    """The mass (kg) along a unit vector of what joints move that give way: 1 / (n^T J M^-1 J^T n).

    The operational-space inertia (Khatib 1987) for M (n, n) and the point's Jacobian J (3, n).
    """
    along = jacobian.T @ direction
    return 1.0 / float(along @ np.linalg.solve(mass_matrix, along))


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


class Landings:
    """Stands where a fault would, and measures in each step what a held item is put down with."""

    def __init__(self) -> None:
        self.item: int | None = None
        self.forces: list[float] = []  # N, upwards, from outside on hand and item
        self.speeds: list[float] = []  # m/s, of the item, downwards

    def motion_begins(self, world, motion) -> None:
        self.forces, self.speeds = [], []

    def before_step(self, world, motion, name, t) -> None:
        if self.item is not None:
            item = world.scene.items[self.item].name
            members = frozenset({world.robot.palm, *world.robot.fingers, item})
            self.forces.append(float(force_on(members, measure_contacts(world))[2]))
            self.speeds.append(-float(world.item_velocity(self.item)[0][2]))

    def external_forces(self) -> dict[str, float]:
        return {}


def put_downs(seed: int) -> list[list[str]]:
    """Rows of a table: item, mass of arm and item (kg), speed, forces, the guard's speed."""
    solution = engine.solve(engine.load(), seed)
    assert isinstance(solution, Solution), solution
    scene, landings, rows = solution.task.scene, Landings(), []
    robot = robot_of(scene.robot)
    executor = PhysicsExecutor(scene, robot, solution.task.start, fault=landings)
    try:
        for motion in solution.motion_plan.motions:
            guard, held = motion.guard, executor.observe().held
            lands = held is not None and guard is not None and guard.seek > 0.0
            landings.item = held if lands else None
            executor.execute(motion, motion.phase)
            if lands:
                forces = np.array(landings.forces)
                k, touch = round(DT / executor.world.dt), int(np.argmax(forces > 0.5))
                speed = landings.speeds[max(touch - 1, 0)]
                mass = THRESHOLDS.impact_force * DT / guard.speed
                means = np.convolve(forces, np.ones(k) / k, "valid")
                predicted = mass * max(speed, 0.0) / DT
                row = [
                    f"{mass:.1f}",
                    f"{1e3 * speed:.1f}",
                    f"{predicted:.1f}",
                    f"{means.max():.1f}",
                ]
                name = scene.items[held].name
                rows.append([str(seed), name, *row, f"{1e3 * guard.speed:.0f}"])
    finally:
        executor.close()
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=3, help="default: %(default)s")
    seeds = range(parser.parse_args().seeds)
    rows = []
    for q in POSES:
        for speed in SPEEDS:
            mass, force = measured_force(q, speed)
            predicted = mass * speed / DT
            off = f"{100 * (force / predicted - 1):+.1f} %"
            rows.append(
                [str(q), f"{mass:.2f}", str(speed), f"{predicted:.2f}", f"{force:.2f}", off]
            )
    table(["pose", "kg", "m/s", "predicted N", "PyBullet N", "off by"], rows)
    head = ["seed", "item", "kg", "mm/s", "predicted N", "PyBullet N", "guard mm/s"]
    table(head, [row for seed in seeds for row in put_downs(seed)])


if __name__ == "__main__":
    main()
