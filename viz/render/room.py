"""What surrounds a scene in films and pictures: a room, and the lamp that casts shadows.

Neither is part of the scene's meshes: collision worlds, learners' pictures and replays have none.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from galley.domain.frames import Array
from galley.domain.scene.model import Scene
from galley.viz.render.meshes import VisualMesh, joined, plain
from galley.viz.render.view import Camera

_SPACE = 2.5  # m from where the robot stands to a wall
_TALL, _WIDE = 1.8, 1.5  # m, from which on something is a wall of the scene's own
_NEAR = 0.05  # m
_HEIGHT = 2.7  # m, at least
_SKIRTING = 0.08  # m
_PROUD = 0.005  # m between a wall and what is drawn on it
_BELOW = 0.01  # m, of the floor under the scene's own
_HUGE = 60.0  # m, of which no more is furnished with walls
_WORK = 0.6  # m, height of the middle of what the lamp lights
_REACH = 1.3  # m around places of items and robot
_FAR = 100.0  # m from there to the lamp
_FLOOR, _WALL, _FOOT = (0.66, 0.60, 0.53), (0.84, 0.82, 0.77), (0.93, 0.92, 0.89)
_CEILING = (0.97, 0.97, 0.96)
LAMP = (0.50, 0.30, 0.81)  # towards the lamp that lights the scene, in the world


def room_mesh(scene: Scene) -> VisualMesh:
    """Floor, walls and ceiling around a scene, each seen from inside only.

    They end where the scene's own walls stand, if it has some, and have space for a camera.
    """
    low, high = _bounds(scene)
    size = high - low
    parts = []
    for axis, side in product(range(3), (0, 1)):
        inward = np.zeros(3)
        inward[axis] = 1.0 - 2.0 * side
        square = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
        shares = np.insert(square, axis, side, axis=1)
        corners = low + shares * size
        color = _WALL if axis < 2 else (_FLOOR, _CEILING)[side]
        parts.append(_rectangle(corners, inward).painted(color))
        if axis < 2:
            foot = corners + _PROUD * inward
            foot[:, 2] = np.minimum(foot[:, 2], low[2] + _BELOW + _SKIRTING)
            parts.append(_rectangle(foot, inward).painted(_FOOT))
    return joined(parts)


def _bounds(scene: Scene) -> tuple[Array, Array]:
    """Lower and upper corner (3,) of the room, world frame, metres."""
    start = np.array([joint.start for joint in scene.joints])
    solids = [
        shape.bounds(scene.body_pose(body.name, start))
        for body in scene.bodies
        for shape in body.shapes
    ]
    solids += [shape.bounds(item.X_WI) for item in scene.items for shape in item.shapes]
    solids.append((scene.robot.q[[0, 1, 1]] * (1, 1, 0), scene.robot.q[[0, 1, 1]] * (1, 1, 0)))
    lower, upper = (np.array(corners) for corners in zip(*solids, strict=True))
    low, high = lower.min(axis=0), upper.max(axis=0)
    stood = [each.lower[:2] for each in scene.stances] + [scene.robot.q[:2]]
    space_low = np.min(stood, axis=0) - _SPACE
    space_high = np.max([each.upper[:2] for each in scene.stances] + stood, axis=0) + _SPACE
    tall = upper[:, 2] - lower[:, 2] > _TALL
    for axis in (0, 1):
        wide = tall & (upper[:, 1 - axis] - lower[:, 1 - axis] > _WIDE)
        if not (wide & (lower[:, axis] < low[axis] + _NEAR)).any():  # no wall of its own there
            low[axis] = min(low[axis], space_low[axis])
        if not (wide & (upper[:, axis] > high[axis] - _NEAR)).any():
            high[axis] = max(high[axis], space_high[axis])
    low, high = np.maximum(low, -_HUGE), np.minimum(high, _HUGE)
    return np.array([*low[:2], -_BELOW]), np.array([*high[:2], max(_HEIGHT, high[2])])


def _rectangle(corners: Array, inward: Array) -> VisualMesh:
    """A rectangle (4, 3) that is seen from the side to which ``inward`` (3,) points."""
    normal = np.cross(corners[1] - corners[0], corners[2] - corners[0])
    if normal @ inward < 0:
        corners = corners[::-1]
    # Leant towards the lamp: a room's walls light each other, none is black.
    leant = 0.8 * inward + 0.5 * np.array(LAMP)
    normals = np.tile(leant / np.linalg.norm(leant), (4, 1))
    return plain(corners, normals, [(0, 1, 2), (0, 2, 3)])


def lamp_camera(scene: Scene) -> Camera:
    """The lamp as a camera far away, which sees all that the robot can reach."""
    places = [scene.robot.q[:2], *(item.X_WI[:2, 3] for item in scene.items)]
    places += [corner[:2] for stance in scene.stances for corner in (stance.lower, stance.upper)]
    low, high = np.min(places, axis=0), np.max(places, axis=0)
    middle = np.array([*(0.5 * (low + high)), _WORK])
    radius = min(0.5 * float(np.linalg.norm(high - low)) + _REACH, _HUGE)
    away = _FAR * np.array(LAMP) / np.linalg.norm(LAMP)
    return Camera(middle + away, middle, 2.0 * float(np.arctan(radius / _FAR)))
