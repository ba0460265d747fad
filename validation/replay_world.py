"""The PyBullet world in which logged states are replayed: scene and robot from primitive shapes.

It shares no code with the worlds of planning and execution. Furniture consists of single bodies
without joints, each placed separately.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from functools import cache
from itertools import product
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from galley.collision.backends.bullet import pybullet as pb
from galley.collision.backends.bullet import quiet
from galley.domain.frames import Array, frozen, to_pose7
from galley.domain.scene.model import Scene, Shape
from galley.robots.catalog import description_of
from galley.robots.inertials import with_inertials
from galley.robots.model import RobotModel
from galley.validation.verdict import Pair

_MOST_SHAPES = 16  # per PyBullet body, which drops further ones without notice
_ROUNDING = 1e-9  # m, a penetration up to which counts as none
_ANY_MASS = 1.0  # kg; Bullet ignores contacts between two bodies without mass
BodyLink = tuple[int, int]
"""PyBullet's index of a body, and of a link in it (-1: its base)."""


class ClosestPoint(NamedTuple):
    """The closest points of two bodies.

    Attributes:
        other: name of the second body, B.
        distance: signed distance, m; negative in penetration.
        normal: unit vector (3,) from B to the first body, A, in the world.
    """

    other: str
    distance: float
    normal: tuple[float, float, float]


class ReplayWorld:
    """A physics client that sets states and measures distances; it never simulates.

    Args:
        scene: furniture, items and the robot's model.

    Attributes:
        scene: the scene.
        robot: the robot's model.
        client: PyBullet's client; -1 after ``close``.
        robot_id: PyBullet's index of the robot's body.
    """

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.robot: RobotModel = description_of(scene.robot)
        self.client = pb.connect(pb.DIRECT)
        pb.setGravity(*scene.physics.gravity, physicsClientId=self.client)
        self._pair = cache(self._named_pair)
        self._names: dict[BodyLink, str] = {}
        self._body_links: dict[str, list[BodyLink]] = {}
        self._placed: dict[str, list[float]] = {}
        for body in scene.bodies:
            self._build(body.name, body.shapes, 0.0)
        for item in scene.items:
            self._build(item.name, item.shapes, _ANY_MASS)
        self.robot_id = self._load_robot()

    def _build(self, name: str, shapes: tuple[Shape, ...], mass: float) -> None:
        """Build one PyBullet body per mesh, and one per 16 other shapes."""
        self._body_links[name] = []
        for shape in shapes:
            if shape.collision and shape.points is not None:
                pose = to_pose7(shape.X_BS)
                shape_id = pb.createCollisionShape(
                    pb.GEOM_MESH,
                    vertices=shape.points.tolist(),
                    collisionFramePosition=list(pose[:3]),
                    collisionFrameOrientation=list(pose[3:]),
                    physicsClientId=self.client,
                )
                index = self._keep(name, mass, shape_id)
                # Bullet grows meshes by a margin of 1 mm by default.
                pb.changeDynamics(index, -1, collisionMargin=0.0, physicsClientId=self.client)
        solid = [shape for shape in shapes if shape.collision and shape.points is None]
        for k in range(0, len(solid), _MOST_SHAPES):
            part = solid[k : k + _MOST_SHAPES]
            poses = [to_pose7(shape.X_BS) for shape in part]
            shape_id = pb.createCollisionShapeArray(
                shapeTypes=[_KINDS[shape.kind] for shape in part],
                # Of its arguments PyBullet takes those of each shape's kind.
                halfExtents=[[*(0.5 * shape.size).tolist(), 0.0, 0.0][:3] for shape in part],
                radii=[float(shape.size[0]) for shape in part],
                lengths=[float(shape.size[-1]) for shape in part],
                collisionFramePositions=[list(pose[:3]) for pose in poses],
                collisionFrameOrientations=[list(pose[3:]) for pose in poses],
                physicsClientId=self.client,
            )
            self._keep(name, mass, shape_id)

    def _keep(self, name: str, mass: float, shape_id: int) -> int:
        """Create a PyBullet body as a part of the named one; returns its index."""
        index = int(pb.createMultiBody(mass, shape_id, physicsClientId=self.client))
        self._names[index, -1] = name
        self._body_links[name].append((index, -1))
        return index

    def _load_robot(self) -> int:
        """Load the robot's URDF, and switch off collisions of pairs that may always touch.

        Returns:
            PyBullet's index of the robot's body.
        """
        flags = pb.URDF_USE_INERTIA_FROM_FILE | pb.URDF_USE_SELF_COLLISION
        flags |= pb.URDF_IGNORE_VISUAL_SHAPES
        client = self.client
        with tempfile.TemporaryDirectory() as folder, quiet():
            file = Path(folder) / "robot.urdf"
            file.write_text(with_inertials(self.robot.urdf, self.robot.inertials))
            body = int(
                pb.loadURDF(str(file), useFixedBase=True, flags=flags, physicsClientId=client)
            )
        joints: dict[str, int] = {}
        links: dict[str, int] = {}
        for k in range(pb.getNumJoints(body, physicsClientId=client)):
            info = pb.getJointInfo(body, k, physicsClientId=client)
            joints[info[1].decode()], links[info[12].decode()] = k, k
        for link in self.robot.links:
            self._names[body, links[link]] = link
            self._body_links[link] = [(body, links[link])]
        for a, b in self.robot.allowed_self_collisions:
            pb.setCollisionFilterPair(body, body, links[a], links[b], 0, physicsClientId=client)
        may_touch = [(furniture.name, furniture.may_touch) for furniture in self.scene.bodies]
        # A fixed foot may stand in the furniture that carries it, and wheels stand on the floor.
        may_touch += [(name, self.robot.standing_links) for name in self.scene.standing_bodies]
        may_touch += [(name, self.robot.wheels) for name in self.scene.floors]
        for name, touching in may_touch:
            for (other, part), link in product(self._body_links[name], touching):
                at = links[link]
                pb.setCollisionFilterPair(body, other, at, part, 0, physicsClientId=client)
        self._joints = [joints[name] for name in self.robot.joints]
        # Rank of each joint of q in the order in which PyBullet's dynamics take the joints.
        self._rank = np.argsort(np.argsort(self._joints))
        self._palms = [links[hand.palm] for hand in self.robot.hands]
        return body

    def set_state(self, q: Array, furniture: Mapping[str, Array], items: Array) -> None:
        """Set the robot to q (n,), furniture to X_WB (7,) by name, items to X_WI (ni, 7)."""
        pb.resetJointStatesMultiDof(
            self.robot_id, self._joints, q[:, None].tolist(), physicsClientId=self.client
        )
        for name, pose in furniture.items():
            self._place(name, pose.tolist())
        for name, values in zip(self.scene.item_index, items.tolist(), strict=True):
            self._place(name, values)

    def _place(self, name: str, values: list[float]) -> None:
        """Set all PyBullet bodies of a named body to a pose (7,)."""
        if self._placed.get(name) == values:
            return  # it has not moved since the last sample
        self._placed[name] = values
        for body, _ in self._body_links[name]:
            pb.resetBasePositionAndOrientation(
                body, values[:3], values[3:], physicsClientId=self.client
            )

    def hand_pose(self, hand: int = 0) -> Array:
        """The pose X_WH (7,) of the palm of a hand, by the hand's index."""
        palm = self._palms[hand]
        state = pb.getLinkState(
            self.robot_id, palm, computeForwardKinematics=1, physicsClientId=self.client
        )
        return frozen([*state[4], *state[5]])  # the link's frame, not its centre of mass

    def penetrations(
        self, deeper_than: float = 0.0
    ) -> dict[Pair, tuple[float, BodyLink, BodyLink]]:
        """The pairs that may penetrate, by their names.

        The robot is checked against everything and itself, items against everything. Furniture is
        never checked against furniture. Bullet caches contacts: the result has every pair that
        penetrates, but also some that did in an earlier state. ``penetration_depth`` is exact.

        Args:
            deeper_than: m; the dictionary is empty if no estimate is larger.

        Returns:
            For each pair an estimate of the depth (m), and the two PyBullet bodies.
        """
        pb.performCollisionDetection(physicsClientId=self.client)
        deepest: dict[Pair, tuple[float, BodyLink, BodyLink]] = {}
        points = pb.getContactPoints(physicsClientId=self.client)
        if min(map(_distance, points), default=0.0) >= -deeper_than:
            return deepest
        for point in points:
            depth = -point[8]
            if depth < _ROUNDING:
                continue
            pair = self._pair(point[1:5])
            if pair not in deepest or depth > deepest[pair][0]:
                deepest[pair] = depth, (point[1], point[3]), (point[2], point[4])
        return deepest

    def _named_pair(self, indices: tuple[int, int, int, int]) -> Pair:
        """The pair of names for PyBullet's bodies A and B, and links A and B."""
        body_a, body_b, link_a, link_b = indices
        return ordered_pair(self._names[body_a, link_a], self._names[body_b, link_b])

    def penetration_depth(self, a: BodyLink, b: BodyLink) -> float:
        """The exact penetration depth (m) of two PyBullet bodies; 0 if they are apart."""
        points = pb.getClosestPoints(a[0], b[0], 0.0, a[1], b[1], physicsClientId=self.client)
        return max((-point[8] for point in points), default=0.0)

    def closest_points(self, a: str, b: str, within: float) -> list[ClosestPoint]:
        """The closest points of two named bodies that are nearer than ``within`` (m)."""
        points = []
        for body_a, link_a in self._body_links[a]:
            for body_b, link_b in self._body_links[b]:
                points += pb.getClosestPoints(
                    body_a, body_b, within, link_a, link_b, physicsClientId=self.client
                )
        return [ClosestPoint(b, point[8], point[7]) for point in points]

    def closest_points_around(self, name: str, within: float) -> list[ClosestPoint]:
        """The closest points of all other bodies that are nearer than ``within`` (m) to this one.

        Uses the bounding boxes that ``penetrations`` computed last.
        """
        names = set()
        for body, link in self._body_links[name]:
            low, high = pb.getAABB(body, link, physicsClientId=self.client)
            overlapping = pb.getOverlappingObjects(
                [v - within for v in low], [v + within for v in high], physicsClientId=self.client
            )
            names |= {self._names[solid] for solid in overlapping or () if solid in self._names}
        return [
            near for b in sorted(names - {name}) for near in self.closest_points(name, b, within)
        ]

    def inverse_dynamics(self, q: list[float], v: list[float], a: list[float]) -> Array:
        """Joint torques (n,), N m and N, of the robot alone.

        Args:
            q: configuration (n,), m and rad.
            v: velocities (n,), m/s and rad/s.
            a: accelerations (n,), m/s^2 and rad/s^2.
        """
        motion = (self._in_order(values) for values in (q, v, a))
        torques = pb.calculateInverseDynamics(self.robot_id, *motion, physicsClientId=self.client)
        return np.array(torques)[self._rank]

    def _in_order(self, values: list[float]) -> list[float]:
        """Values of the joints (n,) in the order in which PyBullet's dynamics take them."""
        return [values[k] for k in np.argsort(self._rank)]

    def jacobian(self, q: list[float], p_WQ: Array, hand: int = 0) -> Array:
        """The Jacobian dp_WQ / dq (3, n) of a point of a hand, at the current configuration."""
        client, zero, palm = self.client, [0.0] * len(q), self._palms[hand]
        # PyBullet takes the point in the link's frame, although its manual says centre of mass.
        pose = self.hand_pose(hand)
        back, turn = pb.invertTransform(pose[:3].tolist(), pose[3:].tolist())
        local, _ = pb.multiplyTransforms(back, turn, p_WQ.tolist(), (0.0, 0.0, 0.0, 1.0))
        linear, _ = pb.calculateJacobian(
            self.robot_id, palm, local, self._in_order(q), zero, zero, physicsClientId=client
        )
        return np.array(linear)[:, self._rank]

    def close(self) -> None:
        """End the physics client; a second call has no effect."""
        if self.client >= 0:
            pb.disconnect(self.client)
            self.client = -1

    def __enter__(self) -> ReplayWorld:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def ordered_pair(a: str, b: str) -> Pair:
    """Two names in alphabetical order."""
    return (a, b) if a < b else (b, a)


_distance = itemgetter(8)  # of a contact point

_KINDS = {"box": pb.GEOM_BOX, "cylinder": pb.GEOM_CYLINDER, "sphere": pb.GEOM_SPHERE}
