"""Square pictures of a run's states, from cameras such as a robot's observations have.

- ``front``: the room, from behind the robot's start
- ``top``: the same from above, without overhead furniture
- ``hand``: on the hand, beside its palm; it sees the fingers and what lies before them
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat

import numpy as np

from galley.domain.frames import Array
from galley.domain.scene.model import Scene
from galley.robots.model import RobotModel
from galley.viz.film.camera import hand_poses
from galley.viz.render.renderer import Renderer
from galley.viz.render.scene_picture import front_camera, top_camera, without_overhead
from galley.viz.render.view import Camera, Image

CAMERAS = ("front", "top", "hand")
# Where manufacturers mount one: off the palm, across the fingers' motion, turned to what they hold.
_EYE_H = np.array([0.12, 0.0, -0.08])  # m
_BEYOND_H = np.array([0.0, 0.0, 0.05])  # m from the grasp centre to the picture's
_HAND_FOV = float(np.radians(70.0))


def pictures(
    camera: str,
    size: int,
    scene: Scene,
    robot: RobotModel,
    states: tuple[Array, Array, Array],
) -> Iterator[Image]:
    """Yield the pictures (size, size, 3) of T states.

    Args:
        camera: one of ``CAMERAS``. size: pixels a side.
        scene, robot: what to draw.
        states: robot configurations (T, n), scene joint values (T, nj), item poses (T, ni, 7).

    Raises:
        ValueError: no such camera.
    """
    if camera not in CAMERAS:
        raise ValueError(f"no camera '{camera}', there are {', '.join(CAMERAS)}")
    q, scene_q, items = states
    cameras: Iterator[Camera]
    if camera == "hand":
        cameras = (_hand_camera(robot, X_WH) for X_WH in hand_poses(robot, q))
    elif camera == "front":
        cameras = repeat(front_camera(scene, size, size))
    else:
        every, scene = scene.joints, without_overhead(scene)
        kept = {joint.name for joint in scene.joints}
        scene_q = scene_q[:, [joint.name in kept for joint in every]]
        cameras = repeat(top_camera(scene, size, size))
    drawer = Renderer(scene, robot, size, size)
    # A fixed camera is repeated without end.
    for row, drawers, poses, at in zip(q, scene_q, items, cameras, strict=False):
        yield drawer.render(row, drawers, poses, at)


def _hand_camera(robot: RobotModel, X_WH: Array) -> Camera:
    R, p = X_WH[:3, :3], X_WH[:3, 3]
    return Camera(R @ _EYE_H + p, R @ (robot.p_HT + _BEYOND_H) + p, _HAND_FOV, up=R[:, 0])
