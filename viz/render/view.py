"""A pinhole camera, its projection, and tests of lines of sight.

Frames: W the world; C the camera, x to the right of the picture, y down, z away from the viewer.

In these tests the bounding boxes of its shapes stand for the furniture, and capsules along the
links for the robot. So whole arrays of rays are tested without a collision engine.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from galley.domain.frames import Array, frozen, inverse, transform
from galley.domain.scene.model import Scene

Image = NDArray[np.uint8]
"""A picture (h, w, 3): red, green, blue, rows from the top."""

FOV = float(np.radians(42.0))
LINK_RADIUS = 0.09  # m, about the radius of the arm's links
_FAR = 1e9  # stands for infinity


@dataclass(frozen=True)
class Camera:
    """A pinhole camera, by default held level (the world's z is up in the picture).

    Attributes:
        position: the camera's position p_WC (3,), metres.
        target: the point (3,) at the centre of the picture, metres, in the world. It must not be
            straight along ``up`` from the camera.
        fov: the vertical field of view, radians.
        up: the direction (3,) in the world that is up in the picture.
    """

    position: Array
    target: Array
    fov: float = FOV
    up: Array = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))

    def __post_init__(self) -> None:
        for name in ("position", "target", "up"):
            object.__setattr__(self, name, frozen(getattr(self, name)))
        if np.linalg.norm(np.cross(self.target - self.position, self.up)) < 1e-6:
            raise ValueError("a camera can't look straight along 'up': its roll would be undefined")

    @property
    def X_WC(self) -> Array:
        """Pose (4, 4) of the camera frame C in the world."""
        z = self.target - self.position
        z = z / np.linalg.norm(z)
        x = np.cross(z, self.up)
        x /= np.linalg.norm(x)
        return transform(np.stack([x, np.cross(z, x), z], axis=1), self.position)

    def focal(self, height: int) -> float:
        """Focal length in pixels for a picture of this height."""
        return float(0.5 * height / np.tan(0.5 * self.fov))

    def same(self, other: Camera) -> bool:
        """Whether both cameras are equal, number by number."""
        return all(np.array_equal(value, getattr(other, k)) for k, value in vars(self).items())

    def project(self, points: Array, width: int, height: int) -> tuple[Array, Array]:
        """Project points of the world into a picture.

        Args:
            points: the points (k, 3), world frame, metres.
            width, height: the size of the picture, pixels.

        Returns:
            Pixels (k, 2): column and row from the top left corner, NaN behind the camera.
            Depths (k,) along the camera's z, metres.
        """
        X = self.X_WC
        p_C = (np.asarray(points, dtype=np.float64) - X[:3, 3]) @ X[:3, :3]
        depth = p_C[:, 2]
        ahead = np.where(depth > 1e-6, depth, np.nan)
        centre = np.array([0.5 * width, 0.5 * height])
        return centre + self.focal(height) * p_C[:, :2] / ahead[:, None], depth


def unit_vector(azimuth: Array, elevation: Array) -> Array:
    """Unit vectors (r, 3) towards azimuth and elevation (r,), radians."""
    flat = np.cos(elevation)
    return np.stack([flat * np.cos(azimuth), flat * np.sin(azimuth), np.sin(elevation)], axis=-1)


@dataclass(frozen=True)
class Occluders:
    """Oriented boxes that may block a line of sight.

    Attributes:
        X_BW: (k, 4, 4), the pose of the world in each box's frame; a box is centred at its origin.
        halves: (k, 3), half the sides of each box, metres.
    """

    X_BW: Array
    halves: Array

    def hit(self, starts: Array, ends: Array) -> Array:
        """Whether each segment from ``starts`` to ``ends`` (r, 3) meets a box: (r,), 0.0 or 1.0."""
        blocked = np.zeros(len(starts))
        for X, half in zip(self.X_BW, self.halves, strict=True):
            a = starts @ X[:3, :3].T + X[:3, 3]
            d = ends @ X[:3, :3].T + X[:3, 3] - a
            # The slab test (T. Kay, J. Kajiya, Ray tracing complex scenes, 1986): where along the
            # segment, 0 to 1, its line enters and leaves each pair of faces. A line parallel to a
            # pair is between its faces everywhere or nowhere.
            with np.errstate(divide="ignore", invalid="ignore"):
                t0, t1 = (-half - a) / d, (half - a) / d
            inside = np.abs(a) <= half
            parallel = np.abs(d) < 1e-12
            low = np.where(parallel, np.where(inside, -_FAR, _FAR), np.minimum(t0, t1)).max(axis=1)
            high = np.where(parallel, np.where(inside, _FAR, -_FAR), np.maximum(t0, t1)).min(axis=1)
            blocked[(low <= high) & (high >= 0.0) & (low <= 1.0)] = 1.0
        return blocked

    def distance(self, points: Array) -> Array:
        """Distance (r,) from points (r, 3) to the nearest box, 0 inside, metres."""
        nearest = np.full(len(points), _FAR)
        for X, half in zip(self.X_BW, self.halves, strict=True):
            p = points @ X[:3, :3].T + X[:3, 3]
            gap = np.linalg.norm(np.maximum(np.abs(p) - half, 0.0), axis=1)
            nearest = np.minimum(nearest, gap)
        return nearest


def furniture_boxes(scene: Scene, scene_q: Array) -> Occluders:
    """Bounding boxes of the furniture's shapes, with drawers and doors at scene_q (nj,)."""
    X_WS, halves = scene.furniture_boxes(scene_q)
    return Occluders(np.array([inverse(X) for X in X_WS]).reshape(-1, 4, 4), halves)


def visible_from(eyes: Array, target: Array, furniture: Occluders, links: Array) -> Array:
    """Which viewpoints see a target: (r,), 1.0 where it is visible and 0.0 where it is hidden.

    Args:
        eyes: the viewpoints (r, 3), metres.
        target: the point (3,) to see, metres.
        furniture: boxes that may hide the target.
        links: origins (m, 3) of the robot's links, from the base up, metres. A row of balls joins
            each two neighbours. Links near the target are ignored, as they are part of it.
    """
    # Stop short of the target, which may be on a surface or in the hand.
    ends = eyes + 0.93 * (target - eyes)
    blocked = furniture.hit(eyes, ends)
    away, length = ends - eyes, np.maximum(((ends - eyes) ** 2).sum(axis=1), 1e-12)
    for a, b in pairwise(links):
        if min(np.linalg.norm(a - target), np.linalg.norm(b - target)) > 0.20:
            shares = np.linspace(0.0, 1.0, 2 + int(np.linalg.norm(b - a) / LINK_RADIUS))[:, None]
            # For each ball, its distance from the nearest point of each line of sight.
            from_eyes = (a + shares * (b - a))[:, None] - eyes  # (balls, r, 3)
            along = np.clip((from_eyes * away).sum(axis=2) / length, 0.0, 1.0)
            gaps = np.linalg.norm(from_eyes - along[..., None] * away, axis=2)
            blocked[gaps.min(axis=0) < LINK_RADIUS] = 1.0
    return 1.0 - blocked
