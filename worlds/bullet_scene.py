"""The scene and the robot loaded into a PyBullet client, and under which ids and names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from galley.domain.frames import Array, from_pose7, frozen, inverse, to_pose7
from galley.domain.scene import Scene
from galley.robots.model import RobotModel
from galley.worlds.bullet import pybullet as pb
from galley.worlds.urdf import furniture_urdf, item_urdf, moves, standing_urdf


@dataclass(frozen=True)
class BulletScene:
    """What was loaded.

    Attributes:
        client: the physics client.
        furniture_id, robot_id: body ids. item_ids: in the order of the scene. Where what never
            moves was loaded apart, ``furniture_id`` is the rest.
        names: of links, by (body id, link index); an item is link -1.
        robot_joints: joint indices in the order of q. scene_joints: of scene_q.
        X_IC: of each item the pose (4, 4) of its centre of mass frame in its own frame: PyBullet's
            base poses are those of the centre of mass.
    """

    client: int
    furniture_id: int
    robot_id: int
    item_ids: tuple[int, ...]
    names: Mapping[tuple[int, int], str]
    robot_joints: tuple[int, ...]
    scene_joints: tuple[int, ...]
    X_IC: tuple[Array, ...]

    def item_pose(self, index: int) -> Array:
        """X_WI (4, 4) of an item as it is now."""
        p, q = pb.getBasePositionAndOrientation(self.item_ids[index], physicsClientId=self.client)
        return from_pose7(np.array([*p, *q])) @ inverse(self.X_IC[index])

    def set_item(self, index: int, X_WI: Array) -> None:
        """Put an item at X_WI (4, 4)."""
        pose = to_pose7(X_WI @ self.X_IC[index])
        pb.resetBasePositionAndOrientation(
            self.item_ids[index], pose[:3], pose[3:], physicsClientId=self.client
        )

    def body(self, name: str) -> tuple[int, int]:
        """Body id and link index of a piece of furniture, a link or an item."""
        return next(key for key, found in self.names.items() if found == name)

    def link(self, body: int, name: str) -> int:
        """The index of a body's link."""
        return next(k for (b, k), n in self.names.items() if b == body and n == name)


def load_bullet_scene(
    client: int,
    scene: Scene,
    robot: RobotModel,
    folder: Path,
    self_collision: bool = False,
    apart: bool = False,
) -> BulletScene:
    """Load furniture (one multibody), robot (one multibody) and items into a client.

    Args:
        folder: for the files that PyBullet reads; may go when this returns.
        self_collision: whether the robot's links collide with each other, allowed pairs aside.
        apart: load what never moves as bodies of their own: dynamics then takes half of the time,
            for in Bullet every contact with a multibody goes through all of its joints.
    """
    flags = pb.URDF_USE_INERTIA_FROM_FILE | pb.URDF_IGNORE_VISUAL_SHAPES
    flags |= pb.URDF_USE_IMPLICIT_CYLINDER  # else a polygon with a margin of 1 mm all round

    def load(name: str, urdf: str, fixed: bool, more: int = 0) -> int:
        path = folder / f"{name}.urdf"
        path.write_text(urdf)
        return int(
            pb.loadURDF(str(path), useFixedBase=fixed, flags=flags | more, physicsClientId=client)
        )

    own = pb.URDF_USE_SELF_COLLISION if self_collision else 0
    furniture_id = load("furniture", furniture_urdf(scene, folder, moving_only=apart), True)
    standing = {
        load(f"standing_{body.name}", standing_urdf(body, folder), True): body.name
        for body in scene.bodies
        if apart and not moves(scene, body)
    }
    robot_id = load("robot", robot.urdf, True, own)
    item_ids = tuple(
        load(f"item_{item.name}", item_urdf(item, folder), False) for item in scene.items
    )
    _slide_freely(client, furniture_id, tuple(standing))
    names = {(body_id, -1): name for body_id, name in standing.items()}
    for body in (furniture_id, robot_id):
        for k in range(pb.getNumJoints(body, physicsClientId=client)):
            names[body, k] = pb.getJointInfo(body, k, physicsClientId=client)[12].decode()
    for item, body in zip(scene.items, item_ids, strict=True):
        names[body, -1] = item.name
    loaded = BulletScene(
        client,
        furniture_id,
        robot_id,
        item_ids,
        names,
        _joints(client, robot_id, robot.joints),
        _joints(client, furniture_id, tuple(joint.name for joint in scene.joints)),
        tuple(_mass_frame(client, body) for body in item_ids),
    )
    if self_collision:
        filter_self_collisions(client, robot_id, robot, loaded)
    return loaded


def filter_self_collisions(client: int, body: int, robot: RobotModel, loaded: BulletScene) -> None:
    """Let the pairs that the robot allows pass through each other; ``body`` is the robot."""
    for a, b in robot.allowed_self_collisions:
        i, j = loaded.link(loaded.robot_id, a), loaded.link(loaded.robot_id, b)
        pb.setCollisionFilterPair(body, body, i, j, 0, physicsClientId=client)


def _slide_freely(client: int, furniture_id: int, standing: tuple[int, ...]) -> None:
    """Drawers run in their slots: what moves passes through what stands, as in one multibody."""
    for link in range(-1, pb.getNumJoints(furniture_id, physicsClientId=client)):
        for body in standing:
            pb.setCollisionFilterPair(furniture_id, body, link, -1, 0, physicsClientId=client)


def _joints(client: int, body: int, names: tuple[str, ...]) -> tuple[int, ...]:
    found = {}
    for k in range(pb.getNumJoints(body, physicsClientId=client)):
        found[pb.getJointInfo(body, k, physicsClientId=client)[1].decode()] = k
    return tuple(found[name] for name in names)


def _mass_frame(client: int, body: int) -> Array:
    """X_IC (4, 4) of a free body."""
    info = pb.getDynamicsInfo(body, -1, physicsClientId=client)
    return frozen(from_pose7(np.array([*info[3], *info[4]])))
