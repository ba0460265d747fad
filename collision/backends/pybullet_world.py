"""The scene and the robot in PyBullet: sets states, finds contacts.

``load_bullet_scene`` loads them into any client. ``PyBulletWorld`` has a client of its own, in
which nothing is simulated: states are set.
"""

from __future__ import annotations

import tempfile
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from galley.collision.backends.bullet import pybullet as pb
from galley.collision.backends.bullet import quiet
from galley.collision.backends.urdf import furniture_urdf, item_urdf, loaded_parts, without_visuals
from galley.collision.checker import MARGIN, ContactPair, Pair, pair, unchecked_pairs
from galley.domain.frames import Array, from_pose7, frozen, inverse, to_pose7
from galley.domain.scene.model import WORLD, Scene
from galley.domain.state import State, item_pose, item_poses
from galley.robots.model import RobotModel


@dataclass(frozen=True)
class BulletScene:
    """The ids of what was loaded into a client, and how to set it.

    Attributes:
        client: the physics client.
        furniture_id: body id of the furniture; of the part that moves, if fixed furniture was
            loaded separately.
        robot_id: body id of the robot.
        item_ids: body ids of the items, in the order of the scene.
        names: names of links, by (body id, link index); an item is link -1.
        robot_joints: joint indices in the order of q.
        scene_joints: joint indices in the order of scene_q.
        X_IC: for each item, the pose (4, 4) of its centre of mass frame in its own frame. The base
            poses of PyBullet are those of the centre of mass.
    """

    client: int
    furniture_id: int
    robot_id: int
    item_ids: tuple[int, ...]
    names: Mapping[tuple[int, int], str]
    robot_joints: tuple[int, ...]
    scene_joints: tuple[int, ...]
    X_IC: tuple[Array, ...]

    def set_robot(self, q: Array) -> None:
        """Set the robot's joints to q (n,)."""
        self._set_joints(self.robot_id, self.robot_joints, q)

    def set_furniture(self, scene_q: Array) -> None:
        """Set drawers and doors to scene_q (nj,)."""
        if self.scene_joints:
            self._set_joints(self.furniture_id, self.scene_joints, scene_q)

    def _set_joints(self, body: int, joints: tuple[int, ...], q: Array) -> None:
        pb.resetJointStatesMultiDof(body, joints, [[v] for v in q], physicsClientId=self.client)

    def link_pose(self, body: int, link: int) -> Array:
        """X_WL (4, 4) of the URDF frame of a body's link, both by index."""
        state = pb.getLinkState(
            body, link, computeForwardKinematics=True, physicsClientId=self.client
        )
        return from_pose7(np.array([*state[4], *state[5]]))

    @cached_property
    def _X_CI(self) -> tuple[Array, ...]:
        return tuple(map(inverse, self.X_IC))

    def item_pose(self, index: int) -> Array:
        """X_WI (4, 4) of an item, by its index, where it is in the client."""
        p, q = pb.getBasePositionAndOrientation(self.item_ids[index], physicsClientId=self.client)
        return from_pose7(np.array([*p, *q])) @ self._X_CI[index]

    def set_item(self, index: int, X_WI: Array) -> None:
        """Put an item, by its index, at X_WI (4, 4)."""
        pose = to_pose7(X_WI @ self.X_IC[index])
        pb.resetBasePositionAndOrientation(
            self.item_ids[index], pose[:3], pose[3:], physicsClientId=self.client
        )

    def body(self, name: str) -> tuple[int, int]:
        """Body id and link index of a piece of furniture, a link or an item."""
        return next(key for key, loaded in self.names.items() if loaded == name)

    def link(self, body: int, name: str) -> int:
        """The index of a body's link, by its name."""
        return next(k for (b, k), n in self.names.items() if b == body and n == name)


def load_bullet_scene(
    client: int, scene: Scene, robot: RobotModel, folder: Path | str, dynamic: bool = False
) -> BulletScene:
    """Load furniture (one multibody), robot (one multibody) and items into a client.

    Args:
        client: a physics client.
        scene: furniture, items and joints.
        robot: any RobotModel.
        folder: for the files that PyBullet reads; may be deleted afterwards.
        dynamic: for simulation. The robot's links collide with each other, except allowed pairs.
            Fixed furniture is loaded as separate bodies, which halves the time of a simulation
            step: in Bullet every contact with a multibody goes through all of its joints.
    """
    folder = Path(folder)
    flags = pb.URDF_USE_INERTIA_FROM_FILE
    flags |= pb.URDF_USE_IMPLICIT_CYLINDER  # else a polygon with a margin of 1 mm all round

    def load(name: str, urdf: str, fixed: bool, more: int = 0) -> int:
        path = folder / f"{name}.urdf"
        path.write_text(urdf)
        return int(
            pb.loadURDF(str(path), useFixedBase=fixed, flags=flags | more, physicsClientId=client)
        )

    own = pb.URDF_USE_SELF_COLLISION if dynamic else 0
    furniture_id = load("furniture", furniture_urdf(scene, folder, moving_only=dynamic), True)
    standing = {
        load(f"standing_{body.name}", item_urdf(body, folder, body.X_WB0), True): body.name
        for body in scene.bodies
        if dynamic and body.name in scene.standing_bodies
    }
    robot_id = load("robot", without_visuals(robot.urdf), True, own)
    item_ids = tuple(
        load(f"item_{item.name}", item_urdf(item, folder), False) for item in scene.items
    )
    # Moving and fixed furniture don't collide, as in one multibody: drawers run in their slots.
    drawers = range(-1, pb.getNumJoints(furniture_id, physicsClientId=client))
    for k, body in product(drawers, standing):
        pb.setCollisionFilterPair(furniture_id, body, k, -1, 0, physicsClientId=client)
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
    shapes = {body.name: body.shapes for body in scene.bodies}
    shapes |= {item.name: item.shapes for item in scene.items}
    for name, parts in shapes.items():
        if any(part.collision and part.kind == "mesh" for part in parts):
            # Else Bullet grows the hull by 1 mm: an item would rest that far above its support.
            pb.changeDynamics(*loaded.body(name), collisionMargin=0.0, physicsClientId=client)
    if dynamic:
        for pair_of_links in robot.allowed_self_collisions:
            i, j = (loaded.link(robot_id, name) for name in pair_of_links)
            pb.setCollisionFilterPair(robot_id, robot_id, i, j, 0, physicsClientId=client)
        for one, other in unchecked_pairs(scene, robot):
            a, b = loaded.body(one), loaded.body(other)
            pb.setCollisionFilterPair(a[0], b[0], a[1], b[1], 0, physicsClientId=client)
    return loaded


def _joints(client: int, body: int, names: tuple[str, ...]) -> tuple[int, ...]:
    """PyBullet's indices of a body's joints, by their names."""
    indices = {}
    for k in range(pb.getNumJoints(body, physicsClientId=client)):
        indices[pb.getJointInfo(body, k, physicsClientId=client)[1].decode()] = k
    return tuple(indices[name] for name in names)


def _mass_frame(client: int, body: int) -> Array:
    """X_IC (4, 4) of a free body: its centre of mass frame in its own."""
    info = pb.getDynamicsInfo(body, -1, physicsClientId=client)
    return frozen(from_pose7(np.array([*info[3], *info[4]])))


def _load(scene: Scene, robot: RobotModel) -> BulletScene:
    """Loads the scene and the robot into a new client."""
    with tempfile.TemporaryDirectory() as folder, quiet():
        return load_bullet_scene(pb.connect(pb.DIRECT), scene, robot, folder)


_idle: OrderedDict[object, BulletScene] = OrderedDict()
_KEPT = 4  # clients of closed worlds that are kept: a run opens three in a row


class PyBulletWorld:
    """A physics client with the floor, furniture, items and the robot, each under its name.

    The robot is one multibody (base, arm, fingers), and the furniture is one. Use it as a context
    manager, or call ``close``: loading takes long, so the next world of an equal scene uses the
    same client. At first all joints are at zero, and all items in the world's origin.

    Args:
        scene: furniture, items and joints.
        robot: any RobotModel.
    """

    def __init__(self, scene: Scene, robot: RobotModel) -> None:
        self.scene = scene
        self.robot = robot
        self._key = loaded_parts(scene), robot
        self.loaded = _idle.pop(self._key) if self._key in _idle else _load(scene, robot)
        self.client = self.loaded.client
        self._active: object = None
        self.furniture_id, self.robot_id = self.loaded.furniture_id, self.loaded.robot_id
        self.item_ids, self._names = self.loaded.item_ids, self.loaded.names
        self.hand_link = self.loaded.link(self.robot_id, robot.palm)
        self._own_pairs = [
            tuple(self.loaded.link(self.robot_id, name) for name in names)
            for names in combinations(robot.links, 2)
            if pair(*names) not in robot.allowed_self_collisions
        ]
        self._standing = unchecked_pairs(scene, robot)
        self.set_robot(np.zeros(robot.size))
        self.set_scene(np.zeros(len(scene.joints)))
        for index in range(len(scene.items)):
            self.set_item(index, np.eye(4))

    # -- states ---------------------------------------------------------------------------------

    def set_state(self, state: State) -> None:
        """Put everything where ``state`` says."""
        self._active = None
        self.set_scene(state.scene_q)
        self.set_robot(state.q)
        self.hand_link = self.loaded.link(self.robot_id, self.robot.acting(state.hand).palm)
        X_WH = np.eye(4) if state.held is None else self.hand_pose()
        for index, X_WI in enumerate(item_poses(self.scene, state, X_WH)):
            self.set_item(index, X_WI)

    def set_robot(self, q: Array) -> None:
        """Set the robot's joints to q (n,)."""
        self.loaded.set_robot(q)

    def set_scene(self, scene_q: Array) -> None:
        """Set drawers and doors to scene_q (nj,)."""
        self._active = None
        self.loaded.set_furniture(scene_q)

    def set_item(self, index: int, X_WI: Array) -> None:
        """Put an item, by its index, at X_WI (4, 4)."""
        self._active = None
        self.loaded.set_item(index, X_WI)

    def link_pose(self, name: str) -> Array:
        """X_WL (4, 4) of a robot link, an item or a piece of furniture, as the world is set.

        For furniture it is the pose of its link frame (``collision.backends.urdf.link_frame``).
        """
        if name in self.scene.item_index:
            return self.loaded.item_pose(self.scene.item_index[name])
        return self.loaded.link_pose(*self.loaded.body(name))

    def hand_pose(self) -> Array:
        """X_WH (4, 4) of the hand that acts."""
        return self.loaded.link_pose(self.robot_id, self.hand_link)

    # -- contacts -------------------------------------------------------------------------------

    def near_pairs(self, within: float, movers: tuple[int, ...] | None = None) -> dict[Pair, float]:
        """Every pair of names closer than ``within`` metres, with its signed distance.

        The robot against everything, items against everything and each other, and of the robot's
        own links those that penetrate (whatever ``within`` is). Furniture is not checked against
        itself (drawers run in their slots).

        Args:
            within: metres.
            movers: indices of the items that are checked against furniture and items; None: all.
        """
        distances: dict[Pair, float] = {}
        items = self.item_ids
        moving = items if movers is None else tuple(items[k] for k in movers)
        self._closest(self.robot_id, self.furniture_id, within, distances)
        for item in items:
            self._closest(self.robot_id, item, within, distances)
        for k, item in enumerate(moving):
            self._closest(item, self.furniture_id, within, distances)
            for other in items:
                if other != item and other not in moving[:k]:  # each pair of items once
                    self._closest(item, other, within, distances)
        for links in self._own_pairs:
            self._closest(self.robot_id, self.robot_id, 0.0, distances, *links)
        for names in self._standing:
            distances.pop(names, None)
        return distances

    def _closest(
        self, a: int, b: int, within: float, distances: dict[Pair, float], *links: int
    ) -> None:
        """Adds the pairs of two bodies that are closer than ``within`` metres, or of two links."""
        for point in pb.getClosestPoints(a, b, within, *links, physicsClientId=self.client):
            key = pair(self._names[a, point[3]], self._names[b, point[4]])
            distance = point[8]
            if distance < distances.get(key, np.inf):
                distances[key] = distance

    def checker(
        self, state: State, allowed: frozenset[Pair] = frozenset(), margin: float = MARGIN
    ) -> PyBulletChecker:
        """A Checker of the robot's configurations in ``state``; ``allowed`` pairs may touch."""
        return PyBulletChecker(self, state, allowed, margin)

    def close(self) -> None:
        """Gives up the physics client, which the next world of an equal scene may take."""
        if self.client < 0:
            return
        self.client = -1
        if self._key in _idle:
            pb.disconnect(_idle.pop(self._key).client)
        _idle[self._key] = self.loaded
        while len(_idle) > _KEPT:
            pb.disconnect(_idle.popitem(last=False)[1].client)

    def __enter__(self) -> PyBulletWorld:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class PyBulletChecker:
    """A ``Checker`` in a PyBulletWorld, for one State.

    Checkers of one world take turns: each sets its State if another was used in between.

    Args:
        world: where it checks.
        state: that of furniture and items.
        allowed: pairs that may touch.
        margin: metres to keep.
    """

    def __init__(
        self, world: PyBulletWorld, state: State, allowed: frozenset[Pair], margin: float
    ) -> None:
        self.world = world
        self.state = state
        self.margin = margin
        self._held = state.held
        in_hands = state.in_hands
        # Items in a drawer move with it, and rest on it.
        self._riders = tuple(
            k for k, item in enumerate(state.items) if item.parent != WORLD and k not in in_hands
        )
        rests = {pair(world.scene.items[k].name, state.items[k].parent) for k in self._riders}
        self.allowed = allowed | rests

    def free(self, q: Array, scene_q: Array | None = None) -> bool:
        return not self.contacts(q, scene_q)

    def free_many(self, Q: Array, scene_q: Array | None = None) -> NDArray[np.bool_]:
        moved = [None] * len(Q) if scene_q is None else list(scene_q)
        return np.array([self.free(q, s) for q, s in zip(Q, moved, strict=True)], dtype=bool)

    def contacts(
        self, q: Array, scene_q: Array | None = None, within: float | None = None
    ) -> tuple[ContactPair, ...]:
        world, state = self.world, self.state
        if world._active is not self:
            world.set_state(state)
        world.set_robot(q)
        movers = list(state.resting)
        for k in movers:  # items in hands that don't act move with the base
            world.set_item(k, item_pose(world.scene, state.with_robot(q), k, np.eye(4)))
        if self._held is not None:
            X_WH = world.hand_pose()
            world.set_item(self._held, X_WH @ state.items[self._held].X_PI)
            movers.append(self._held)
        if scene_q is not None:
            world.set_scene(scene_q)
            moved = state.with_scene(scene_q)
            for k in self._riders:
                world.set_item(k, item_pose(world.scene, moved, k, np.eye(4)))
                movers.append(k)
        # After furniture was moved, the next check sets the State again.
        world._active = self if scene_q is None else None
        near = world.near_pairs(self.margin if within is None else within, tuple(movers))
        hits = [ContactPair(a, b, d) for (a, b), d in near.items() if (a, b) not in self.allowed]
        return tuple(sorted(hits, key=lambda c: c.distance))
