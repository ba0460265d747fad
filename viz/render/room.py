"""What surrounds a scene in films: a room, and what casts contact shadows.

Neither is part of the scene's meshes: collision worlds, learners' pictures and replays have none.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from galley.domain.frames import Array, transform
from galley.domain.scene.model import Scene, Shape
from galley.viz.render.meshes import VisualMesh, joined, plain
from galley.viz.render.scene_meshes import SceneMeshes

_SPACE = 2.5  # m from where the robot stands to a wall
_TALL, _WIDE = 1.8, 1.5  # m, from which on something is a wall of the scene's own
_NEAR = 0.05  # m
_HEIGHT = 2.7  # m, at least
_SKIRTING = 0.08  # m
_PROUD = 0.005  # m between a wall and what is drawn on it
_BELOW = 0.01  # m, of the floor under the scene's own
_HUGE = 60.0  # m, of which no more is furnished with walls
_FLOOR, _WALL, _FOOT = (0.66, 0.60, 0.53), (0.84, 0.82, 0.77), (0.93, 0.92, 0.89)
_CEILING = (0.97, 0.97, 0.96)
LAMP = (0.62, 0.34, 0.70)  # towards the lamp that lights the scene, in the world
_SIGNS = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])


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


@dataclass(frozen=True)
class Occluder:
    """A shape that casts a contact shadow.

    Attributes:
        body: its index in ``SceneMeshes.meshes``. X_BS: its pose in that body (4, 4).
        shape: half sides of a box (3), radius by which it is grown, and 1 for a sphere or else 0.
        radius: m, how far from a surface it occludes it.
    """

    body: int
    X_BS: Array
    shape: Array
    radius: float

    @property
    def reach(self) -> float:
        """How far from it its shadow ends, m."""
        return 2.0 * self.radius

    @property
    def corners(self) -> Array:
        """Corners (8, 3) of the box that holds its shadow, in the body's frame."""
        half = self.shape[:3] + self.reach + self.shape[3] * np.array([1, 1, self.shape[4]])
        return np.asarray(half * _SIGNS @ self.X_BS[:3, :3].T + self.X_BS[:3, 3])


def occluders(meshes: SceneMeshes, scene: Scene) -> tuple[Occluder, ...]:
    """Those of the robot's links, as boxes around them, and of the items' shapes."""
    first = len(meshes.meshes) - len(scene.items)
    found = []
    for body in range(meshes.first_link, first):
        points = meshes.meshes[body].points
        low, high = points.min(axis=0), points.max(axis=0)
        box = np.array([*(0.5 * (high - low)), 0.0, 0.0])
        found.append(Occluder(body, transform(None, 0.5 * (low + high)), box, _radius(box)))
    for k, item in enumerate(scene.items):
        for shape in item.shapes:
            found.append(_occluder(first + k, shape))
    return tuple(found)


def _occluder(body: int, shape: Shape) -> Occluder:
    half, X = shape.half_extents, shape.X_BS @ transform(None, shape.middle)
    if shape.kind == "sphere":
        values = np.array([0.0, 0.0, 0.0, half[0], 1.0])
    elif shape.kind == "cylinder":
        values = np.array([0.0, 0.0, half[2], half[0], 0.0])
    else:
        values = np.array([*half, 0.0, 0.0])
    return Occluder(body, X, values, _radius(half))


def _radius(half: Array) -> float:
    return float(np.clip(half[:3].mean(), 0.02, 0.16))
