"""The scene and the robot under PyBullet's dynamics: surfaces, joints, motors, contacts.

Nothing here ties one body to another: what is carried is carried by friction, and a drawer moves
because something pushes or pulls it. The one constraint is the gripper's own: its two fingers are
geared to each other, as they are in the real hand.
"""

from __future__ import annotations

import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from galley.domain.frames import Array
from galley.domain.scene.model import Scene
from galley.domain.state import State, item_poses
from galley.robots.model import RobotModel
from galley.robots.panda.mobile import hand_pose
from galley.robots.panda.urdf import set_identified
from galley.worlds.checker import Pair, pair
from galley.worlds.engines.bullet import pybullet as pb
from galley.worlds.engines.bullet import quiet
from galley.worlds.engines.pybullet_world import load_bullet_scene

SOLVER_ITERATIONS = 100  # at most; with 25 a grip at 960 Hz creeps, with 60 it does not
SOLVED = 1e-6  # residual at which the solver stops; with 1e-7 a third slower and grips no firmer
# Of a shape's radius; a contact point that has moved farther is dropped. With Bullet's 0.02 old
# points linger, and a grip turns. With 1e-6 each step forgets them, and of all but boxes Bullet
# finds one point a step: what stands on a round or many-sided bottom rocks at 10 to 60 mm/s.
BREAKING = 1e-3
SPINNING_FRICTION = 0.003  # m; the radius, in effect, of the patch on which a finger pad turns
ROLLING_FRICTION = 0.0005  # m, of items: a can that fell over comes to rest at last
POSITION_GAIN = 0.3  # share of a position error that is taken back within a step
GEAR_FORCE = 100.0  # N that the gear between the fingers can take


class Touch:
    """What two bodies do to each other at one time: nearest distance (m), normal force (N) summed
    over their points, and the force (3,) on the first of the pair, friction included."""

    __slots__ = ("distance", "force", "normal")

    def __init__(self) -> None:
        self.distance = np.inf
        self.normal = 0.0
        self.force = np.zeros(3)


def weighed(robot: RobotModel) -> RobotModel:
    """The robot with its links' identified masses and inertias, where there are any.

    The URDF's are placeholders, so large at the wrist that joint 5 could not follow its own limits.
    """
    root = ET.fromstring(robot.urdf)
    if not set_identified(root):
        return robot
    return replace(robot, urdf=ET.tostring(root, encoding="unicode"))


class PhysicsWorld:
    """A client whose bodies obey forces. Use ``close`` when done.

    Args:
        scene: as it truly is, which may differ from the one that was planned with.
        robot: any RobotModel with base, arm and fingers.
        state: where everything begins, at rest.

    Attributes:
        dt: seconds in a step.
        command: what the motors were last told (n,), the base as it believes to stand.
        base_shift: how far the base stands from where it believes to stand (3,): m, m, rad.
        base_limp: the base's motors are off.
    """

    def __init__(self, scene: Scene, robot: RobotModel, state: State) -> None:
        self.scene, self.robot = scene, robot
        self.client = pb.connect(pb.DIRECT)
        with tempfile.TemporaryDirectory() as folder, quiet():
            self.loaded = load_bullet_scene(
                self.client, scene, weighed(robot), Path(folder), dynamic=True
            )
        self.robot_id, self.furniture_id = self.loaded.robot_id, self.loaded.furniture_id
        self.item_ids = self.loaded.item_ids
        self.robot_joints = list(self.loaded.robot_joints)
        self.scene_joints = list(self.loaded.scene_joints)
        self.names = self.loaded.names
        self.hand_link = self.loaded.link(self.robot_id, robot.palm)
        self.finger_links = tuple(self.loaded.link(self.robot_id, f) for f in robot.fingers)
        self.efforts = self._efforts()
        self.command = np.array(state.q)  # what the motors were last told, in the world
        self.base_shift = np.zeros(3)
        self.base_limp = False
        self._set(state)
        self._surfaces()
        self._damping()
        self._joint_friction = np.array([joint.friction for joint in scene.joints])
        self._gear = self._make_gear()
        pb.setPhysicsEngineParameter(
            numSolverIterations=SOLVER_ITERATIONS,
            solverResidualThreshold=SOLVED,
            deterministicOverlappingPairs=1,
            physicsClientId=self.client,
        )
        pb.setGravity(*scene.physics.gravity, physicsClientId=self.client)
        self.set_step(scene.physics.time_step)

    def set_step(self, dt: float) -> None:
        """Let a step last ``dt`` seconds from now on.

        Bullet keeps the limits of motors as impulses, so those that are not told anew at each step
        are told now.
        """
        self.dt = dt
        pb.setPhysicsEngineParameter(fixedTimeStep=dt, physicsClientId=self.client)
        for index, force in enumerate(self._joint_friction):
            self.set_joint_friction(index, float(force))
        pb.changeConstraint(
            self._gear, gearRatio=-1, erp=0.2, maxForce=GEAR_FORCE, physicsClientId=self.client
        )

    # -- set-up ----------------------------------------------------------------------------------

    def _set(self, state: State) -> None:
        self.loaded.set_robot(state.q)
        self.loaded.set_furniture(state.scene_q)
        X_WH = hand_pose(state.q, self.scene.robot.base)
        for index, X_WI in enumerate(item_poses(self.scene, state, X_WH)):
            self.loaded.set_item(index, X_WI)

    def _surfaces(self) -> None:
        """Friction and bounce of everything. Bullet multiplies the two friction coefficients."""
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
            )
        pads = {"lateralFriction": self.scene.physics.finger_friction, "restitution": 0.0}
        for link in self.finger_links:
            self._dynamics(self.robot_id, link, spinningFriction=SPINNING_FRICTION, **pads)

    def _dynamics(self, body: int, link: int, **values: float) -> None:
        pb.changeDynamics(body, link, **values, physicsClientId=self.client)

    def set_item_friction(self, index: int, friction: float) -> None:
        """Change an item's Coulomb coefficient."""
        self._dynamics(self.item_ids[index], -1, lateralFriction=friction)

    def set_joint_friction(self, index: int, force: float) -> None:
        """Change the dry friction (N or N m) of a scene joint: a motor that wants to stand."""
        self._joint_friction[index] = force
        pb.setJointMotorControl2(
            self.furniture_id,
            self.scene_joints[index],
            pb.VELOCITY_CONTROL,
            targetVelocity=0.0,
            force=force,
            physicsClientId=self.client,
        )

    def _damping(self) -> None:
        """Damping of the scene's joints."""
        for index, joint in enumerate(self.scene.joints):
            self._dynamics(self.furniture_id, self.scene_joints[index], jointDamping=joint.damping)

    def _make_gear(self) -> int:
        """The fingers open and close together."""
        left, right = self.robot_joints[self.robot.slice("fingers")]
        return int(
            pb.createConstraint(
                self.robot_id,
                left,
                self.robot_id,
                right,
                jointType=pb.JOINT_GEAR,
                jointAxis=[1, 0, 0],
                parentFramePosition=[0, 0, 0],
                childFramePosition=[0, 0, 0],
                physicsClientId=self.client,
            )
        )

    def _efforts(self) -> Array:
        """The motors' limits (n,), N m or N, of the robot's URDF; the fingers' of the scene."""
        info = [
            pb.getJointInfo(self.robot_id, k, physicsClientId=self.client)
            for k in self.robot_joints
        ]
        efforts = np.array([each[10] for each in info])
        efforts[self.robot.slice("fingers")] = self.scene.physics.finger_force
        return efforts

    # -- motors ----------------------------------------------------------------------------------

    def drive(self, where: Sequence[int], positions: Array, velocities: Array) -> None:
        """Position control of some joints, given as indices into q, with their effort limits.

        Args:
            where: indices (k,). positions, velocities: targets (k,), of now and until the next
                step.
        """
        where = list(where)
        self.command[where] = positions
        forces, targets = self.efforts[where], np.array(positions)
        base = [i for i, j in enumerate(where) if j < 3]
        if base:
            targets[base] += self.base_shift[[where[i] for i in base]]
            if self.base_limp:
                forces[base] = 0.0
        pb.setJointMotorControlArray(
            self.robot_id,
            [self.robot_joints[j] for j in where],
            pb.POSITION_CONTROL,
            targetPositions=targets.tolist(),
            targetVelocities=velocities.tolist(),
            forces=forces.tolist(),
            positionGains=[POSITION_GAIN] * len(where),
            velocityGains=[1.0] * len(where),
            physicsClientId=self.client,
        )

    def jacobian(self) -> Array:
        """Of the grasp centre's velocity, world frame, by the joints: (6, n), linear rows first."""
        # Bullet measures the point from the link's own frame, whatever its guide says of the centre
        # of mass.
        rates = [0.0] * len(self.robot_joints)
        linear, angular = pb.calculateJacobian(
            self.robot_id,
            self.hand_link,
            self.robot.p_HT.tolist(),
            self.q().tolist(),
            rates,
            rates,
            physicsClientId=self.client,
        )
        return np.vstack([linear, angular])

    def press(self, velocity: float, force: float) -> None:
        """Both fingers move at ``velocity`` (m/s, negative closes) with at most ``force`` (N)."""
        pb.setJointMotorControlArray(
            self.robot_id,
            self.robot_joints[self.robot.slice("fingers")],
            pb.VELOCITY_CONTROL,
            targetVelocities=[velocity] * 2,
            forces=[force] * 2,
            physicsClientId=self.client,
        )

    def push_item(self, index: int, force: Array, point: Array) -> None:
        """A force (3,) in N on an item at a point (3,), both in the world, during the next step."""
        self._push(self.item_ids[index], -1, force.tolist(), point.tolist())

    def push_base(self, force: Sequence[float], torque: Sequence[float]) -> None:
        """A force (3,), N, and a torque (3,), N m, on the chassis' centre during the next step."""
        body, link = self.robot_id, self.loaded.link(self.robot_id, "chassis")
        at = pb.getLinkState(body, link, physicsClientId=self.client)[0]
        self._push(body, link, force, at)
        pb.applyExternalTorque(body, link, torque, pb.WORLD_FRAME, physicsClientId=self.client)

    def _push(self, body: int, link: int, force: Sequence[float], at: Sequence[float]) -> None:
        pb.applyExternalForce(body, link, force, at, pb.WORLD_FRAME, physicsClientId=self.client)

    def step(self) -> None:
        """``dt`` seconds pass."""
        # Bullet has one such number for all clients of a process, and others want another.
        pb.setPhysicsEngineParameter(contactBreakingThreshold=BREAKING, physicsClientId=self.client)
        pb.stepSimulation(physicsClientId=self.client)

    # -- readings --------------------------------------------------------------------------------

    def joints(self) -> tuple[Array, Array, Array]:
        """q, its rates and the motors' torques, each (n,)."""
        found = pb.getJointStates(self.robot_id, self.robot_joints, physicsClientId=self.client)
        return (
            np.array([each[0] for each in found]),
            np.array([each[1] for each in found]),
            np.array([each[3] for each in found]),
        )

    def q(self) -> Array:
        """The robot's configuration (n,)."""
        return self.joints()[0]

    def scene_q(self) -> Array:
        """Scene joint values (nj,)."""
        if not self.scene_joints:
            return np.zeros(0)
        found = pb.getJointStates(self.furniture_id, self.scene_joints, physicsClientId=self.client)
        return np.array([each[0] for each in found])

    def item_pose(self, index: int) -> Array:
        """X_WI (4, 4)."""
        return self.loaded.item_pose(index)

    def ground_friction(self, index: int) -> float:
        """The friction coefficient between an item and what it stands on; Bullet multiplies both.

        Where it touches nothing, with a surface as the scene has it by default.
        """
        body = self.item_ids[index]
        under = [
            self._friction(point[2], point[4])
            for point in pb.getContactPoints(bodyA=body, physicsClientId=self.client)
            if point[2] != self.robot_id
        ]
        return self._friction(body, -1) * (max(under) if under else self.scene.physics.friction)

    def _friction(self, body: int, link: int) -> float:
        return float(pb.getDynamicsInfo(body, link, physicsClientId=self.client)[1])

    def item_velocity(self, index: int) -> Array:
        """Linear velocity (3,) of an item, m/s."""
        return np.array(pb.getBaseVelocity(self.item_ids[index], physicsClientId=self.client)[0])

    def pressed(self, index: int) -> float:
        """N with which the robot presses on an item, over all contacts."""
        points = pb.getContactPoints(
            bodyA=self.robot_id, bodyB=self.item_ids[index], physicsClientId=self.client
        )
        return float(sum(point[9] for point in points))

    def item_speed(self, index: int) -> float:
        """m/s of the point of an item that moves fastest, at most."""
        v, w = pb.getBaseVelocity(self.item_ids[index], physicsClientId=self.client)
        radius = 0.5 * float(np.linalg.norm(self.scene.items[index].size))
        return float(np.linalg.norm(v) + radius * np.linalg.norm(w))

    def hand_pose(self) -> Array:
        """X_WH (4, 4)."""
        return self.loaded.link_pose(self.robot_id, self.hand_link)

    def touches(self) -> dict[Pair, Touch]:
        """Everything in contact now, by names in alphabetical order."""
        found: dict[Pair, Touch] = {}
        for point in pb.getContactPoints(physicsClientId=self.client):
            if point[8] > 0.0 and point[9] <= 0.0:
                continue  # near, not touching
            a, b = self.names[point[1], point[3]], self.names[point[2], point[4]]
            key = pair(a, b)
            touch = found.get(key)
            if touch is None:
                touch = found[key] = Touch()
            touch.distance = min(touch.distance, point[8])
            touch.normal += point[9]
            # Bullet gives the normal on B, towards A; friction acts on B along its two directions.
            on_a = point[9] * np.array(point[7])
            on_a += point[10] * np.array(point[11]) + point[12] * np.array(point[13])
            touch.force += on_a if key[0] == a else -on_a
        return found

    def close(self) -> None:
        """End the physics client."""
        if self.client >= 0:
            pb.disconnect(self.client)
            self.client = -1
