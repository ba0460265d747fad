"""The scene and the robot under PyBullet's dynamics: surfaces, joints, motors.

No constraint ties one body to another: items are carried by friction, and a drawer moves because
something pushes or pulls it. The only constraints are the gears between the finger joints, which
the real hand has too.
"""

from __future__ import annotations

import tempfile
import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from galley.collision.backends.bullet import pybullet as pb
from galley.collision.backends.bullet import quiet
from galley.collision.backends.pybullet_world import load_bullet_scene
from galley.domain.frames import Array
from galley.domain.scene.model import Scene
from galley.domain.state import State, item_poses
from galley.robots.inertials import with_inertials
from galley.robots.model import RobotModel
from galley.robots.urdf_reader import link_shapes

SOLVER_ITERATIONS = 100  # at most; with 25 a grip at 960 Hz creeps, with 60 it does not
SOLVER_RESIDUAL = 1e-6  # where the solver stops; with 1e-7 it is a third slower, grips no firmer
# Share of a shape's radius; a contact point that has moved further is dropped. With Bullet's 0.02
# old points linger and an item turns in the grip. With 1e-6 each step drops all points, and except
# for boxes Bullet finds one point per step: items on a round or many-sided bottom rock at 10 to
# 60 mm/s.
CONTACT_BREAKING = 1e-3
SPINNING_FRICTION = 0.003  # m, effective radius of the patch on which a finger pad turns
ROLLING_FRICTION = 0.0005  # m, of items: a can that fell over comes to rest eventually
HULL_MARGIN = 1e-3  # m, by which Bullet grows the hull of a link's mesh on all sides
POSITION_GAIN = 0.3  # share of a position error that is corrected within a step
LEAST_TORQUE = 1.0  # N m that each motor of an arm that yields keeps, however small its share
GEAR_FORCE = 100.0  # N, the largest force of the gear between the fingers
# kg m^2 about a turning finger joint: the motor's own inertia behind its gears, which URDFs leave
# out. With it the solver settles the linkage's gears; without it a held item creeps by 0.1 mm/s.
ARMATURE = 1e-3


class JointStates(NamedTuple):
    """The state of the robot's joints, each (n,).

    Attributes:
        q: configuration, m and rad.
        velocity: m/s and rad/s.
        torque: of the motors, N and N m.
    """

    q: Array
    velocity: Array
    torque: Array


def with_fitted_fingers(robot: RobotModel) -> RobotModel:
    """The robot with the meshes of its fingers shrunk by the margin that Bullet adds.

    Otherwise the open hand would be 2 mm narrower than its joints say. Bullet can set the margin of
    a body's base, but not that of a link. Faces perpendicular to the mesh's axes, such as the pads,
    end up exactly where they belong.
    """
    root, shapes = ET.fromstring(robot.urdf), link_shapes(robot.urdf)
    for link in root.iter("link"):
        own = (shape for shape in shapes if shape.link == link.get("name"))
        if not any(link.get("name") in hand.fingers for hand in robot.hands):
            continue
        for collision, shape in zip(link.findall("collision"), own, strict=True):
            mesh, origin = collision.find("geometry/mesh"), collision.find("origin")
            if mesh is None or shape.hull is None:
                continue
            low, high = shape.hull.vertices.min(axis=0), shape.hull.vertices.max(axis=0)
            smaller = np.maximum(0.0, 1.0 - 2.0 * HULL_MARGIN / (high - low))
            scale = np.array([float(v) for v in mesh.get("scale", "1 1 1").split()]) * smaller
            middle = shape.X_LS[:3, :3] @ ((1.0 - smaller) * (low + high) / 2.0)
            if origin is None:
                origin = ET.SubElement(collision, "origin")
            origin.set("xyz", " ".join(map(repr, (shape.X_LS[:3, 3] + middle).tolist())))
            mesh.set("scale", " ".join(map(repr, scale.tolist())))
    return replace(robot, urdf=ET.tostring(root, encoding="unicode"))


class PhysicsWorld:
    """A PyBullet client with dynamics. Call ``close`` when done.

    Args:
        scene: the true scene, which may differ from the one used for planning.
        robot: any RobotModel with base, arm and fingers.
        state: the initial state, at rest.

    Attributes:
        robot: the robot's model with the acting hand, see ``act``.
        dt: time step, s.
        command: latest position command (n,), m and rad; the base's is by its odometry.
        rank: rank (n,) of each joint of q in PyBullet's order, in which its dynamics take values.
        base_shift: true pose of the base minus its odometry (3,): m, m, rad.
        feed: feed-forward torques (n,), N m or N, added to those of position control.
    """

    def __init__(self, scene: Scene, robot: RobotModel, state: State) -> None:
        self.scene, self.robot = scene, robot
        self.client = pb.connect(pb.DIRECT)
        self._set_contact_breaking()  # before the first contact, too: else the first run differs
        weighed = replace(robot, urdf=with_inertials(robot.urdf, robot.inertials))
        simulated = with_fitted_fingers(weighed)
        with tempfile.TemporaryDirectory() as folder, quiet():
            self.loaded = load_bullet_scene(
                self.client, scene, simulated, Path(folder), dynamic=True
            )
        self.robot_id, self.furniture_id = self.loaded.robot_id, self.loaded.furniture_id
        self.item_ids = self.loaded.item_ids
        self.robot_joints = list(self.loaded.robot_joints)
        self.scene_joints = list(self.loaded.scene_joints)
        self.names = self.loaded.names
        self._order = np.argsort(self.robot_joints)  # joints of q as PyBullet's dynamics take them
        self.rank = np.argsort(self._order)
        self._pressing: dict[str, tuple[object, list[float], list[float]]] = {}  # last commanded
        self.act(state.hand)
        self.feed = np.zeros(robot.size)
        self.command = np.array(state.q)
        self.base_shift = np.zeros(3)
        self._set_state(state)
        self.effort_limits = self._read_effort_limits()
        self._efforts = self.effort_limits  # of position control, now
        self._set_surfaces()
        for index, joint in enumerate(scene.joints):
            self._dynamics(self.furniture_id, self.scene_joints[index], jointDamping=joint.damping)
        self._joint_friction = np.array([joint.friction for joint in scene.joints])
        self._gears = self._make_gears()
        self._add_armature()
        pb.setPhysicsEngineParameter(
            numSolverIterations=SOLVER_ITERATIONS,
            solverResidualThreshold=SOLVER_RESIDUAL,
            deterministicOverlappingPairs=1,
            physicsClientId=self.client,
        )
        pb.setGravity(*scene.physics.gravity, physicsClientId=self.client)
        self.set_step(scene.physics.time_step)

    def act(self, hand: str) -> None:
        """Make a hand the acting one, by its name; an empty name keeps the current one."""
        self.robot = robot = self.robot.acting(hand)
        self.hand_link = self.loaded.link(self.robot_id, robot.palm)
        self.finger_links = tuple(self.loaded.link(self.robot_id, f) for f in robot.fingers)

    def set_step(self, dt: float) -> None:
        """Set the time step, s.

        Bullet stores force limits as impulses per step. So those that are not commanded in each
        step, of joint friction and gears, are set again here.
        """
        self.dt = dt
        pb.setPhysicsEngineParameter(fixedTimeStep=dt, physicsClientId=self.client)
        for index, force in enumerate(self._joint_friction):
            self.set_joint_friction(index, float(force))
        for gear, values in self._gears:
            pb.changeConstraint(
                gear, **values, erp=0.2, maxForce=GEAR_FORCE, physicsClientId=self.client
            )

    def _set_state(self, state: State) -> None:
        """Set robot, furniture and items to a State, before the simulation begins."""
        self.loaded.set_robot(state.q)
        self.loaded.set_furniture(state.scene_q)
        X_WH = self.robot.kinematics.hand_pose(state.q)  # of the hand that acts in ``state``
        for index, X_WI in enumerate(item_poses(self.scene, state, X_WH)):
            self.loaded.set_item(index, X_WI)

    def _set_surfaces(self) -> None:
        """Set friction and restitution. Bullet multiplies the friction of the two surfaces."""
        for body in self.scene.bodies:
            at = self.loaded.body(body.name)
            self._dynamics(*at, lateralFriction=body.friction, restitution=body.restitution)
        for item, body_id in zip(self.scene.items, self.item_ids, strict=True):
            self._dynamics(
                body_id,
                -1,
                lateralFriction=item.friction,
                restitution=item.restitution,
                rollingFriction=ROLLING_FRICTION,
                spinningFriction=SPINNING_FRICTION,
                linearDamping=0.0,
                angularDamping=0.0,
                frictionAnchor=1,  # else boxes at rest creep by up to 0.1 mm/s
            )
        pads = {"lateralFriction": self.scene.physics.finger_friction, "restitution": 0.0}
        for finger in (finger for hand in self.robot.hands for finger in hand.fingers):
            link = self.loaded.link(self.robot_id, finger)
            self._dynamics(self.robot_id, link, spinningFriction=SPINNING_FRICTION, **pads)

    def _dynamics(self, body: int, link: int, **values: Any) -> None:
        """``changeDynamics`` of a link of a PyBullet body (link -1: its base)."""
        pb.changeDynamics(body, link, **values, physicsClientId=self.client)

    def set_joint_friction(self, index: int, force: float) -> None:
        """Set the dry friction (N or N m) of a scene joint, as a motor with target velocity 0."""
        self._joint_friction[index] = force
        pb.setJointMotorControl2(
            self.furniture_id,
            self.scene_joints[index],
            pb.VELOCITY_CONTROL,
            targetVelocity=0.0,
            force=force,
            physicsClientId=self.client,
        )

    def _make_gears(self) -> list[tuple[int, dict[str, float]]]:
        """Constrain the other finger joints of each hand to move with its first one.

        Returns:
            PyBullet's constraints, with their parameters.
        """
        gears = []
        for hand in self.robot.hands:
            shut, wide = (hand.fingers_at(h) for h in (0.0, hand.gripper.open))
            gears += self._gears_of(self.robot_joints[hand.slice("fingers")], shut, wide)
        return gears

    def _gears_of(
        self, joints: list[int], shut: Array, wide: Array
    ) -> list[tuple[int, dict[str, float]]]:
        """The gears of one hand, each with its parameters.

        Bullet's gear keeps q_first + gearRatio q_other at ``relativePositionTarget``.

        Args:
            joints: PyBullet's indices (k,) of the finger joints.
            shut: their positions (k,) when the hand is closed, m or rad.
            wide: their positions (k,) when it is open.
        """
        first, *others = joints
        gears = []
        for k, other in enumerate(others, 1):
            ratio = float(-(wide[0] - shut[0]) / (wide[k] - shut[k]))
            gear = pb.createConstraint(
                self.robot_id,
                first,
                self.robot_id,
                other,
                jointType=pb.JOINT_GEAR,
                jointAxis=[1, 0, 0],
                parentFramePosition=[0, 0, 0],
                childFramePosition=[0, 0, 0],
                physicsClientId=self.client,
            )
            offset = float(shut[0] + ratio * shut[k])
            values = {"gearRatio": ratio, "relativePositionTarget": offset}
            gears.append((int(gear), values))
        return gears

    def _add_armature(self) -> None:
        """Add ``ARMATURE`` to the inertia of every turning finger joint."""
        units = [unit for group in self.robot.groups for unit in group.units]
        for joint in self.robot.every("fingers").tolist():
            link = self.robot_joints[joint]
            if units[joint] == "rad":
                info = pb.getDynamicsInfo(self.robot_id, link, physicsClientId=self.client)
                inertia = [moment + ARMATURE for moment in info[2]]
                self._dynamics(self.robot_id, link, localInertiaDiagonal=inertia)

    @staticmethod
    def _shares(robot: RobotModel, half: float, force: float) -> tuple[Array, Array]:
        """The rates and forces of the finger joints for a rate and a force of the fingers.

        Args:
            robot: the robot with the hand.
            half: half the width between the pads, m.
            force: the force that each of the two fingers exerts, N.

        Returns:
            The rate (k,) of each joint per rate of ``half``, and the force or torque (k,) of each
            joint, N or N m. By virtual work, the work of the joints equals that of both fingers,
            and each joint does the same part of it.
        """
        rates = robot.finger_rates(half)
        return rates, 2.0 * force / (np.abs(rates) * len(rates))

    def _read_effort_limits(self) -> Array:
        """The motors' effort limits (n,), N m or N, from the URDF; those of fingers from the scene.

        In position control, too, each finger presses with at most the scene's ``finger_force``.
        """
        info = [
            pb.getJointInfo(self.robot_id, k, physicsClientId=self.client)
            for k in self.robot_joints
        ]
        limits = np.array([joint[10] for joint in info])
        for hand in self.robot.hands:
            force = self.scene.physics.finger_force
            _, limits[hand.slice("fingers")] = self._shares(hand, hand.gripper.open, force)
        return limits

    def drive(
        self, positions: Array, velocities: Array, joints: NDArray[np.int64] | None = None
    ) -> None:
        """Command position control of k joints for the next step, within their effort limits.

        Args:
            positions: target positions (k,), m and rad; k >= 3, as the base's three come first.
            velocities: target velocities (k,), m/s and rad/s.
            joints: indices (k,) of the joints in q; None for the first k.
        """
        k, targets = len(positions), np.array(positions)
        which = np.arange(k) if joints is None else joints
        self.command[which] = positions
        targets[:3] += self.base_shift  # from the odometry's frame to the world's
        pb.setJointMotorControlArray(
            self.robot_id,
            [self.robot_joints[joint] for joint in which],
            pb.POSITION_CONTROL,
            targetPositions=targets.tolist(),
            targetVelocities=velocities.tolist(),
            forces=self._efforts[which].tolist(),
            positionGains=[POSITION_GAIN] * k,
            velocityGains=[1.0] * k,
            physicsClientId=self.client,
        )

    def limit_push_force(self, direction: Array, force: float) -> None:
        """Limit the force with which the arm pushes in the next step.

        Gravity is compensated by feed-forward torques (``feed``). A force F of the hand along d
        needs the torques J^T d F, so the motors' position control is limited to these.

        Args:
            direction: unit vector (3,), world frame.
            force: the largest force along ``direction``, N.
        """
        arm, still = self.robot.slice("arm"), [0.0] * self.robot.size
        held = pb.calculateInverseDynamics(
            self.robot_id, self.in_order(self.q()), still, still, physicsClientId=self.client
        )
        self.feed[arm] = np.array(held)[self.rank][arm]
        share = np.abs(direction @ grasp_jacobian(self)[:3, arm])
        self._efforts = np.array(self.effort_limits)
        self._efforts[arm] = np.minimum(
            np.maximum(share * force, LEAST_TORQUE), self.effort_limits[arm]
        )

    def end_push_limit(self) -> None:
        """End ``limit_push_force``: give the motors their full effort limits again."""
        self.feed[:] = 0.0
        self._efforts = self.effort_limits

    def press(self, hand: str, velocity: float, force: float) -> None:
        """Drive both fingers of a hand at a velocity, with a limited force, in the next step.

        Fingers that meet something can't reach the velocity, so they press with ``force``.

        Args:
            hand: the hand's name.
            velocity: of each finger, m/s; negative closes.
            force: the largest force of each finger, N.
        """
        robot = self.robot.acting(hand)
        half = self.half_width(robot) if robot.gripper.table else 0.0  # else it doesn't matter
        known, now = self._pressing.get(hand), (half, velocity, force)
        if known is None or known[0] != now:
            rates, shares = self._shares(robot, half, force)
            known = self._pressing[hand] = now, (velocity * rates).tolist(), shares.tolist()
        pb.setJointMotorControlArray(
            self.robot_id,
            self.robot_joints[robot.slice("fingers")],
            pb.VELOCITY_CONTROL,
            targetVelocities=known[1],
            forces=known[2],
            physicsClientId=self.client,
        )

    def step(self) -> None:
        """Simulate one time step, with the commands given since the last one."""
        self._set_contact_breaking()
        if self._efforts is not self.effort_limits:  # a torque lasts one step
            pb.setJointMotorControlArray(
                self.robot_id,
                self.robot_joints,
                pb.TORQUE_CONTROL,
                forces=self.feed.tolist(),
                physicsClientId=self.client,
            )
        pb.stepSimulation(physicsClientId=self.client)

    def _set_contact_breaking(self) -> None:
        """Set Bullet's threshold, which is global to a process: other clients set other values."""
        pb.setPhysicsEngineParameter(
            contactBreakingThreshold=CONTACT_BREAKING, physicsClientId=self.client
        )

    def set_finger_collisions(self, touch: bool) -> None:
        """Switch the collisions of items with the acting hand's fingers on or off.

        A step without collisions drops the contacts of a grip. Bullet keeps some whose normals are
        wrong, and an item would cling to a finger that leaves it.
        """
        for link, item in product(self.finger_links, self.item_ids):
            pb.setCollisionFilterPair(
                self.robot_id, item, link, -1, int(touch), physicsClientId=self.client
            )

    def joint_states(self) -> JointStates:
        """The current state of the robot's joints; the torques include ``feed``."""
        states = pb.getJointStates(self.robot_id, self.robot_joints, physicsClientId=self.client)
        q, velocity, torque = (np.array([joint[k] for joint in states]) for k in (0, 1, 3))
        return JointStates(q, velocity, torque + self.feed)

    def q(self) -> Array:
        """The robot's current configuration (n,), m and rad."""
        return self.joint_states().q

    def in_order(self, values: Array) -> list[float]:
        """Values of the joints (n,) in the order in which PyBullet's dynamics take them."""
        ordered: list[float] = np.asarray(values)[self._order].tolist()
        return ordered

    def half_width(self, robot: RobotModel | None = None) -> float:
        """Half the width (m) between the pads of a hand; None stands for the acting hand."""
        robot = robot or self.robot
        return float(robot.half_width(self.q()[robot.slice("fingers")]))

    def scene_q(self) -> Array:
        """The current scene joint values (nj,), m and rad."""
        if not self.scene_joints:
            return np.zeros(0)
        states = pb.getJointStates(
            self.furniture_id, self.scene_joints, physicsClientId=self.client
        )
        return np.array([joint[0] for joint in states])

    def item_pose(self, index: int) -> Array:
        """The pose X_WI (4, 4) of an item in the world."""
        return self.loaded.item_pose(index)

    def item_velocity(self, index: int) -> tuple[Array, Array]:
        """Linear (3,), m/s, and angular velocity (3,), rad/s, of an item, world frame."""
        v, w = pb.getBaseVelocity(self.item_ids[index], physicsClientId=self.client)
        return np.array(v), np.array(w)

    def hand_pose(self) -> Array:
        """The pose X_WH (4, 4) of the acting hand in the world."""
        return self.loaded.link_pose(self.robot_id, self.hand_link)

    def close(self) -> None:
        """End the physics client; a second call has no effect."""
        if self.client >= 0:
            pb.disconnect(self.client)
            self.client = -1


def grasp_jacobian(world: PhysicsWorld) -> Array:
    """The Jacobian (6, n) of the grasp centre in the world frame, linear velocity first."""
    # Bullet takes the point in the link's own frame, although its guide says centre of mass.
    rates = [0.0] * len(world.robot_joints)
    linear, angular = pb.calculateJacobian(
        world.robot_id,
        world.hand_link,
        world.robot.p_HT.tolist(),
        world.in_order(world.q()),
        rates,
        rates,
        physicsClientId=world.client,
    )
    return np.vstack([linear, angular])[:, world.rank]
