"""The robot's surroundings: obstacles, regions forbidden to its base, and visibility."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite, pi

import numpy as np
import shapely
from numpy.typing import NDArray

from galley.domain.frames import Array, wrap
from galley.planar.reach.arm import PlanarArm
from galley.planar.reach.shapes import Region2D

# The robot's outline, m. Its base is a rectangle about (x, y) with its length along the heading; a
# disc is at the middle of the front side, as the camera is. Links have round ends.
_LENGTH, _WIDTH = 0.3, 0.2
_FRONT = 0.05  # radius of the disc
_LINK = 0.02  # half the width of a link


@dataclass(frozen=True)
class Context:
    """Surroundings of the arm; called with rows and targets it is a weight for ``Weighted``.

    Attributes:
        arm: the robot's arm.
        obstacles: shapes from which links and base must keep a distance of more than ``margin``.
        forbidden: regions in which the base's centre (x, y) may not be.
        view: the camera's field of view, rad, the full angle. The target must be in it, with no
            obstacle in between. None: it needn't be visible.
        margin: clearance to obstacles, m.

    Raises:
        ValueError: a view outside (0, 2 pi], or a negative margin.
    """

    arm: PlanarArm
    obstacles: tuple[Region2D, ...] = ()
    forbidden: tuple[Region2D, ...] = ()
    view: float | None = None
    margin: float = 0.0

    def __post_init__(self) -> None:
        if self.view is not None and not 0.0 < self.view <= 2.0 * pi:
            raise ValueError(f"view must be in (0, 2 pi], got {self.view:g}")
        if not (isfinite(self.margin) and self.margin >= 0.0):
            raise ValueError(f"margin must not be negative, got {self.margin:g}")

    def __call__(self, q: Array, target: Array) -> Array:
        """1 for rows (m, 5) that are clear, allowed, and see the target (m, 2), else 0: (m,)."""
        free = ~self.is_forbidden(q[:, :3]) & (self.clearance(q, target) > self.margin)
        if self.view is not None:
            free &= self.visibility(q, target, self.view) > 0.0
        return free.astype(np.float64)

    def is_forbidden(self, base: Array) -> NDArray[np.bool_]:
        """Whether base poses (m, 3) are centred in a forbidden region (m,)."""
        inside = np.zeros(len(base), dtype=bool)
        for region in self.forbidden:
            inside |= region.contains(base[:, :2])
        return inside

    def clearance(self, q: Array, target: Array) -> Array:
        """Distance (m,), m, of the robot from the nearest obstacle; inf without obstacles.

        It is exact if positive. If they touch it is at most 0, but not the depth of the overlap.
        """
        gap = np.full(len(q), inf)
        if not self.obstacles:
            return gap
        base = q[:, :3]
        links = shapely.linestrings(self.arm.chain.points(base, q[:, 3:]))
        front, rectangle = shapely.points(_camera(base)), shapely.polygons(_corners(base))
        for obstacle in self.obstacles:
            parts = [obstacle.apart(links) - _LINK, obstacle.apart(front) - _FRONT]
            gap = np.minimum.reduce([gap, *parts, obstacle.apart(rectangle)])
        return gap

    def visibility(self, q: Array, target: Array, view: float) -> Array:
        """Visibility (m,): 1 if the camera looks straight at the target, 0 if it is out of view.

        It falls linearly with the bearing. It is also 0 if an obstacle touches the line of sight or
        contains the target. ``view`` is the full angle of the field of view, rad.
        """
        camera = _camera(q[:, :3])
        sight = target - camera
        bearing = wrap(np.arctan2(sight[:, 1], sight[:, 0]) - q[:, 2])
        seen = np.maximum(0.0, 1.0 - np.abs(bearing) / (0.5 * view))
        for obstacle in self.obstacles:
            seen *= obstacle.distance(camera, target) > 0.0
        return np.asarray(seen)


def _camera(base: Array) -> Array:
    """Positions of the camera, at the middle of the front side (m, 2), for base poses (m, 3)."""
    ahead = np.column_stack([np.cos(base[:, 2]), np.sin(base[:, 2])])
    return np.asarray(base[:, :2] + 0.5 * _LENGTH * ahead)


def _corners(base: Array) -> Array:
    """Corners of the base's rectangle (m, 4, 2), counter-clockwise from the front left one."""
    c, s = np.cos(base[:, 2]), np.sin(base[:, 2])
    ahead = 0.5 * _LENGTH * np.column_stack([c, s])
    left = 0.5 * _WIDTH * np.column_stack([-s, c])
    turns = ((1, 1), (-1, 1), (-1, -1), (1, -1))
    return np.stack([base[:, :2] + i * ahead + j * left for i, j in turns], axis=1)
