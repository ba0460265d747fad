"""Stable poses: the faces of its bounding box on which an item stays at rest.

A face is stable if the item falls back onto it from a tilt of 5 degrees: its centre of mass is then
still above the part that touches the floor. So the side of a cylinder is not stable: it rolls.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from galley.domain.frames import Array, frozen, transform
from galley.domain.scene.model import Item, Shape

_TILT = float(np.tan(np.radians(5.0)))
_TOUCHING = 5e-4  # m above the lowest point, up to which a point touches the floor
_SIDES = 24  # of the polygon that stands for a circle
_X, _Y, _Z = np.eye(3)
# For each face below, the directions of the item's axes (the columns of a rotation): upright,
# upside down, and the four sides.
_TURNS = (
    (_X, _Y, _Z),
    (_X, -_Y, -_Z),
    (_Z, -_Y, _X),
    (-_Z, _Y, _X),
    (_X, _Z, -_Y),
    (_X, -_Z, _Y),
)


@dataclass(frozen=True, eq=False)
class StablePose:
    """An item at rest on one of its faces.

    Attributes:
        R_SI: rotation (3, 3) from the item's frame to a frame S with that face below; the identity
            if upright. The heading of S is that of the item's x axis, or of its z axis if x is
            vertical.
        item: the item with its shapes turned by ``R_SI``: when upright, it lies on the face.
    """

    R_SI: Array
    item: Item

    @property
    def down(self) -> Array:
        """The outward normal (3,) of the face that is below, in the item's frame."""
        return np.asarray(-self.R_SI[2])

    @property
    def box(self) -> tuple[float, ...]:
        """The shorter and the longer side (m) of its box on the floor, and its height."""
        short, long = sorted(self.item.size[:2].tolist())
        return round(short, 9), round(long, 9), round(float(self.item.size[2]), 9)


@lru_cache(maxsize=256)
def stable_poses(item: Item) -> tuple[StablePose, ...]:
    """All poses in which an item stays at rest, after the upright one, which is not checked."""
    upright, *others = (np.stack(columns, axis=1) for columns in _TURNS)
    poses = [StablePose(frozen(upright), item)]
    for R_SI in others:
        X_SI = transform(R_SI, np.zeros(3))
        shapes = tuple(replace(shape, X_BS=frozen(X_SI @ shape.X_BS)) for shape in item.shapes)
        size = frozen(np.abs(R_SI) @ item.size)
        turned = replace(item, size=size, shapes=shapes, grasps=(), upright=True)
        if _at_rest(turned):
            poses.append(StablePose(frozen(R_SI), turned))
    return tuple(poses)


def allowed_poses(item: Item) -> tuple[StablePose, ...]:
    """The stable poses in which an item may be put down: upright, or all of them."""
    return stable_poses(item)[: 1 if item.upright else None]


def tilt(item: Item, R_BI: Array) -> float:
    """The smallest angle (rad) between a face of an allowed pose and the floor, for R_BI (3, 3)."""
    below = [float(-(R_BI[2] @ pose.down)) for pose in allowed_poses(item)]
    return float(np.arccos(np.clip(max(below), -1.0, 1.0)))


def heading_axis(item: Item, R_BI: Array) -> int:
    """Index of the axis that defines the item's yaw: x, or z if it may lie and x is vertical."""
    return 2 if not item.upright and abs(R_BI[2, 0]) > np.cos(np.pi / 4.0) else 0


def _at_rest(item: Item) -> bool:
    """Whether an item stays on the face that is below in its own frame.

    Its centre of mass, that of the shapes' bounding boxes by volume, must be over the hull of the
    points that touch the floor, with a margin of tan(5 degrees) times its height.
    """
    points = np.concatenate([_points(shape) for shape in item.solid])
    low = points[:, 2].min()
    below = points[points[:, 2] < low + _TOUCHING, :2]
    volumes = [float(np.prod(shape.half_extents)) for shape in item.solid]
    middles = [(shape.X_BS @ [*shape.middle, 1.0])[:3] for shape in item.solid]
    x, y, z = np.average(middles, axis=0, weights=volumes)
    angle = np.arange(72) * np.pi / 36.0
    ways = np.stack([np.cos(angle), np.sin(angle)])
    # The distance from the centre of mass to the hull's edge is the smallest over all directions.
    margin = ((below - [x, y]) @ ways).max(axis=0).min()
    return bool(margin > _TILT * (z - low))


def _points(shape: Shape) -> Array:
    """Points (n, 3) of a shape whose hull touches a level floor where the shape does."""
    if shape.points is not None:
        points = shape.points
    elif shape.kind == "box":
        points = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, 8).T * shape.size / 2
    elif shape.kind == "sphere":
        return np.asarray(shape.X_BS[:3, 3] + shape.size[0] * np.vstack([np.eye(3), -np.eye(3)]))
    else:
        angle = np.arange(_SIDES) * 2.0 * np.pi / _SIDES
        ring = shape.size[0] * np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=1)
        points = np.concatenate([ring + end * shape.size[1] / 2.0 * _Z for end in (-1.0, 1.0)])
    return np.asarray(points @ shape.X_BS[:3, :3].T + shape.X_BS[:3, 3])
