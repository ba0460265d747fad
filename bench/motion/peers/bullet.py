"""The library ``pybullet-planning``: its birrt on its own collision function."""

from __future__ import annotations

import random
from collections.abc import Callable
from time import perf_counter

import numpy as np

from galley.bench.motion.peers.planners import Answer
from galley.bench.motion.queries import Query
from galley.collision.backends.bullet import pybullet as pb
from galley.collision.backends.bullet import quiet
from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.domain.scene.model import Scene
from galley.robots.model import RobotModel

with quiet():
    import pybullet_planning as pp

_STEP = 0.05  # rad between checked states, the library's default
_ITERATIONS = 1000  # before it starts anew; its default, 20, gives up early


class BulletScene:
    """The scene in PyBullet's first client, the only one that the library knows.

    Raises:
        RuntimeError: another client is open already.
    """

    def __init__(self, scene: Scene, robot: RobotModel) -> None:
        self.world = PyBulletWorld(scene, robot)
        if self.world.client != 0:
            self.world.close()
            raise RuntimeError("pybullet-planning needs PyBullet's first client; it is taken")
        body, client = self.world.robot_id, self.world.client
        self.links: dict[str, int] = {}
        joints: dict[str, int] = {}
        for k in range(pb.getNumJoints(body, physicsClientId=client)):
            info = pb.getJointInfo(body, k, physicsClientId=client)
            self.links[info[12].decode()] = joints[info[1].decode()] = k
        self.joints = [joints[name] for name in robot.group("arm").joints]
        self.allowed = {(self.links[a], self.links[b]) for a, b in robot.allowed_self_collisions}
        self._users = 0

    def collision(self, query: Query) -> Callable[..., bool]:
        """The library's collision function in the query's state."""
        world, body = self.world, self.world.robot_id
        world.set_state(query.state)
        held = query.state.held
        items = [item for k, item in enumerate(world.item_ids) if k != held]
        attachments, fingers = [], set()
        if held is not None:
            item = world.item_ids[held]
            attachments.append(pp.create_attachment(body, world.hand_link, item))
            fingers = {((body, self.links[f]), (item, -1)) for f in world.robot.fingers}
        found: Callable[..., bool] = pp.get_collision_fn(
            body,
            self.joints,
            obstacles=[world.furniture_id, *items],
            attachments=attachments,
            self_collisions=True,
            disabled_collisions=self.allowed,
            extra_disabled_collisions=fingers,
        )
        return found

    def opened(self) -> None:
        """Count one more user."""
        self._users += 1

    def close(self) -> None:
        """Close the client when the last user has gone."""
        self._users -= 1
        if self._users == 0:
            self.world.close()


class Birrt:
    """The library's bidirectional RRT, with its default smoothing or none."""

    def __init__(self, name: str, shared: BulletScene, smooth: bool) -> None:
        self.name = name
        self.shared = shared
        self.options = {} if smooth else {"smooth": None}
        shared.opened()

    def prepare(self, query: Query) -> None:
        """See ``Planner``."""
        body, joints = self.shared.world.robot_id, self.shared.joints
        self._functions = (
            pp.get_distance_fn(body, joints),
            pp.get_sample_fn(body, joints),
            pp.get_extend_fn(body, joints, resolutions=np.full(7, _STEP)),
            self.shared.collision(query),
        )

    def plan(self, query: Query, seed: int, limit: float) -> Answer:
        """See ``Planner``."""
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002 - the library draws from it
        began = perf_counter()
        path = pp.birrt(
            tuple(query.start),
            tuple(query.goal),
            *self._functions,
            max_iterations=_ITERATIONS,
            max_time=limit,
            **self.options,
        )
        seconds = perf_counter() - began
        return Answer(None if path is None else np.array(path), seconds)

    def close(self) -> None:
        """See ``Planner``."""
        self.shared.close()
