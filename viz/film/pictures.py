"""Square pictures of single states, from cameras such as a robot has for its observations.

- ``front``: shows the room from behind the robot's start
- ``top``: shows the room from above, without overhead furniture
- ``hand``: is mounted beside the palm and shows the fingers and the space in front of them
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from galley.domain.frames import Array
from galley.domain.scene.model import Scene
from galley.robots.model import RobotModel
from galley.viz.film.camera import hand_poses
from galley.viz.render.renderer import Renderer
from galley.viz.render.scene_picture import front_camera, top_camera, without_overhead
from galley.viz.render.view import Camera, Image

CAMERAS = ("front", "top", "hand")
# The hand camera is where manufacturers mount one: beside the palm, across the fingers' motion, and
# turned towards the held item. All in the hand frame H.
_EYE_H = np.array([0.12, 0.0, -0.08])  # m, position of the camera
_BEYOND_H = np.array([0.0, 0.0, 0.05])  # m from the grasp centre to the picture's centre
_HAND_FOV = float(np.radians(70.0))


def drawer(
    camera: str, size: int, scene: Scene, robot: RobotModel
) -> Callable[[Array, Array, Array], Image]:
    """Make the function that draws a camera's pictures.

    Args:
        camera: one of ``CAMERAS``.
        size: pixels along a side of the picture.
        scene, robot: what to draw.

    Returns:
        A function of the robot's configuration (n,), the scene joints (nj,) and the item poses
        (ni, 7). It returns the picture (size, size, 3).

    Raises:
        ValueError: there is no such camera.
    """
    if camera not in CAMERAS:
        raise ValueError(f"no camera '{camera}', there are {', '.join(CAMERAS)}")
    shown = without_overhead(scene) if camera == "top" else scene
    names = {joint.name for joint in shown.joints}
    drawers = np.array([joint.name in names for joint in scene.joints], dtype=bool)
    fixed = (top_camera if camera == "top" else front_camera)(shown, size, size)
    renderer = Renderer(shown, robot, size, size)

    def draw(q: Array, scene_q: Array, items: Array) -> Image:
        """The camera's picture of one state."""
        at = _hand_camera(robot, hand_poses(robot, q[None])[0]) if camera == "hand" else fixed
        return renderer.render(q, scene_q[drawers], items, at)

    return draw


def _hand_camera(robot: RobotModel, X_WH: Array) -> Camera:
    """The camera on a hand with the pose X_WH (4, 4)."""
    R, p = X_WH[:3, :3], X_WH[:3, 3]
    return Camera(R @ _EYE_H + p, R @ (robot.p_HT + _BEYOND_H) + p, _HAND_FOV, up=R[:, 0])
