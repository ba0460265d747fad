"""What is around the robot: obstacles, places where its base may not stand, and what it can see."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite, pi

import numpy as np
import shapely
from numpy.typing import NDArray

from galley.domain.frames import Array, wrap
from galley.planar.reach.arm import PlanarArm
from galley.planar.reach.shapes import Shape

# The robot's outline, m: its base is a rectangle about (x, y) with its length along the heading; a
# disc stands about the middle of the front side, where the camera is too; links have round ends.
_LENGTH, _WIDTH = 0.3, 0.2
_FRONT = 0.05  # radius of the disc
_LINK = 0.02  # half the width of a link


@dataclass(frozen=True)
class Context:
    """A world around the arm; called with rows and targets it is a weight for ``Weighted``.

    Attributes:
        obstacles: neither links nor base may come closer than ``margin`` (m).
        forbidden: where the base's centre (x, y) may not be.
        view: the camera's field of view (rad, the whole angle) in which the target must be, with no
            obstacle between; None where it need not be seen.

    Raises:
        ValueError: a view outside (0, 2 pi], or a negative margin.
    """

    arm: PlanarArm
    obstacles: tuple[Shape, ...] = ()
    forbidden: tuple[Shape, ...] = ()
    view: float | None = None
    margin: float = 0.0

    def __post_init__(self) -> None:
        if self.view is not None and not 0.0 < self.view <= 2.0 * pi:
            raise ValueError(f"view must be in (0, 2 pi], got {self.view:g}")
        if not (isfinite(self.margin) and self.margin >= 0.0):
            raise ValueError(f"margin must not be negative, got {self.margin:g}")

    def __call__(self, q: Array, target: Array) -> Array:
        """1 where the row is free of obstacles, allowed, and sees the target, else 0 (m,)."""
        free = ~self.is_forbidden(q[:, :3]) & (self.clearance(q, target) > self.margin)
        if self.view is not None:
            free &= self.visibility(q, target, self.view) > 0.0
        return free.astype(np.float64)

    def is_forbidden(self, base: Array) -> NDArray[np.bool_]:
        """Whether base poses (m, 3) are centred in a forbidden region (m,)."""
        found = np.zeros(len(base), dtype=bool)
        for each in self.forbidden:
            found |= each.contains(base[:, :2])
        return found

    def clearance(self, q: Array, target: Array) -> Array:
        """The gap (m,) (m) between robot and nearest obstacle; <= 0 where they touch, inf of none.

        Exact where positive; how far they overlap is not measured.
        """
        gap = np.full(len(q), inf)
        if not self.obstacles:
            return gap
        base = q[:, :3]
        links = shapely.linestrings(self.arm.chain.points(base, q[:, 3:]))
        front, rectangle = shapely.points(_camera(base)), shapely.polygons(_corners(base))
        for each in self.obstacles:
            parts = [each.apart(links) - _LINK, each.apart(front) - _FRONT]
            gap = np.minimum.reduce([gap, *parts, each.apart(rectangle)])
        return gap

    def visibility(self, q: Array, target: Array, view: float) -> Array:
        """1 where the camera looks straight at the target, 0 from the view's edge on or if hidden.

        Linear in the bearing between. An obstacle hides the target where it touches the line of
        sight; a target in an obstacle is hidden. ``view`` (rad) is the whole angle; (m,).
        """
        camera = _camera(q[:, :3])
        sight = target - camera
        bearing = wrap(np.arctan2(sight[:, 1], sight[:, 0]) - q[:, 2])
        seen = np.maximum(0.0, 1.0 - np.abs(bearing) / (0.5 * view))
        for each in self.obstacles:
            seen *= each.distance(camera, target) > 0.0
        return np.asarray(seen)


def _camera(base: Array) -> Array:
    """The middle of the front side (m, 2) for base poses (m, 3)."""
    ahead = np.column_stack([np.cos(base[:, 2]), np.sin(base[:, 2])])
    return np.asarray(base[:, :2] + 0.5 * _LENGTH * ahead)


def _corners(base: Array) -> Array:
    """The rectangle's corners (m, 4, 2), anticlockwise, front left first."""
    c, s = np.cos(base[:, 2]), np.sin(base[:, 2])
    ahead = 0.5 * _LENGTH * np.column_stack([c, s])
    left = 0.5 * _WIDTH * np.column_stack([-s, c])
    turns = ((1, 1), (-1, 1), (-1, -1), (1, -1))
    return np.stack([base[:, :2] + i * ahead + j * left for i, j in turns], axis=1)
