"""Renderer on PyBullet's TinyRenderer: for machines without EGL."""

from __future__ import annotations

import numpy as np

from galley.domain.frames import Array, from_pose7
from galley.domain.scene import Scene
from galley.robots.model import RobotModel
from galley.viz.picture import Image
from galley.viz.view import Camera
from galley.worlds.pybullet_camera import PyBulletCamera
from galley.worlds.pybullet_world import PyBulletWorld


class TinyRenderer:
    """See ``Renderer``. Software only, about five frames a second at 720p."""

    name = "tiny"

    def __init__(self, scene: Scene, robot: RobotModel, width: int, height: int) -> None:
        self.reason = ""
        self._world = PyBulletWorld(scene, robot, visible=True)
        self._camera = PyBulletCamera(self._world, width, height)
        self._last: tuple[bytes, Image] | None = None

    def render(self, q: Array, scene_q: Array, items: Array, camera: Camera) -> Image:
        """See ``Renderer.render``."""
        state = np.concatenate([q, scene_q, items.ravel()])
        view = np.array([*camera.position, *camera.target, camera.fov])
        key = state.tobytes() + view.tobytes()
        if self._last is None or self._last[0] != key:
            self._world.set_scene(scene_q)
            self._world.set_robot(q)
            for index, pose in enumerate(items):
                self._world.set_item(index, from_pose7(pose))
            picture = self._camera.picture(camera.position, camera.target, camera.fov)
            picture.setflags(write=False)
            self._last = (key, picture)
        return self._last[1]

    def close(self) -> None:
        """See ``Renderer.close``."""
        self._world.close()
