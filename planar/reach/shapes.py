"""Circles and polygons in the plane, and their distances to many points and segments at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import cos, isfinite, sin
from typing import Protocol

import numpy as np
import shapely
from numpy.typing import ArrayLike, NDArray

from galley.domain.frames import Array, frozen
from galley.planar.geometry import polygon as outline
from galley.planar.geometry.segments import to_segments


class Shape(Protocol):
    """A filled shape. Points and ends of segments are (..., 2), distances (...,) (m)."""

    @property
    def point(self) -> Array:
        """Some point (2,) of it."""

    def contains(self, p: Array) -> NDArray[np.bool_]:
        """Whether points p are within."""

    def distance(self, a: Array, b: Array) -> Array:
        """From segments a to b (which may be points); 0 where they touch or overlap."""


@dataclass(frozen=True)
class Circle:
    """A disc about ``center`` (2,) of ``radius`` > 0 (m).

    Raises:
        ValueError: a radius that is not positive, or a centre that is not finite.
    """

    center: Array
    radius: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "center", _points(self.center, (2,), "center"))
        if not (isfinite(self.radius) and self.radius > 0.0):
            raise ValueError(f"radius must be positive, got {self.radius:g}")

    @property
    def point(self) -> Array:
        """Its centre."""
        return self.center

    def contains(self, p: Array) -> NDArray[np.bool_]:
        """Whether points p are within."""
        return np.asarray(np.linalg.norm(p - self.center, axis=-1) <= self.radius)

    def distance(self, a: Array, b: Array) -> Array:
        """From segments a to b; 0 where they overlap."""
        return np.maximum(to_segments(self.center, a, b) - self.radius, 0.0)


@dataclass(frozen=True)
class Polygon:
    """A simple polygon, convex or not, with ``corners`` (n, 2), n >= 3, in either order.

    Raises:
        ValueError: fewer than three corners, some that are not finite, or edges that
            cross or touch.
    """

    corners: Array

    def __post_init__(self) -> None:
        shape = np.shape(self.corners)
        if len(shape) != 2 or shape[0] < 3:
            raise ValueError(f"corners must be (n, 2) with n >= 3, got {shape}")
        object.__setattr__(self, "corners", _points(self.corners, (shape[0], 2), "corners"))
        outline.Polygon(self.corners)

    @property
    def point(self) -> Array:
        """Its first corner."""
        return np.asarray(self.corners[0])

    def contains(self, p: Array) -> NDArray[np.bool_]:
        """Whether points p are within."""
        return np.asarray(shapely.intersects_xy(self._region, p[..., 0], p[..., 1]))

    def distance(self, a: Array, b: Array) -> Array:
        """From segments a to b; 0 where they overlap."""
        lines = shapely.linestrings(np.stack(np.broadcast_arrays(a, b), axis=-2))
        return np.asarray(shapely.distance(self._region, lines))

    @cached_property
    def _region(self) -> shapely.Polygon:
        return shapely.Polygon(self.corners)


def box(center: ArrayLike, size: ArrayLike, angle: float = 0.0) -> Polygon:
    """A rectangle of ``size`` (2,) (m), turned by ``angle`` (rad) about its ``center`` (2,).

    Raises:
        ValueError: a size that is not positive.
    """
    sides = _points(size, (2,), "size")
    if not (sides > 0.0).all():
        raise ValueError(f"size must be positive, got {size!r}")
    corners = 0.5 * sides * np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])
    R = np.array([[cos(angle), -sin(angle)], [sin(angle), cos(angle)]])
    return Polygon(corners @ R.T + _points(center, (2,), "center"))


Figure = tuple[str, tuple[float, ...]]
"""A shape as plain data: its kind and its numbers, see ``shape_of``."""


def shape_of(kind: str, numbers: Sequence[float]) -> Shape:
    """A circle x, y, radius; a box x, y, width, height and perhaps angle; a polygon's corners.

    Raises:
        ValueError: another kind, too many or too few numbers, or numbers that make no shape.
    """
    n = len(numbers)
    if kind == "circle" and n == 3:
        return Circle(np.array(numbers[:2]), numbers[2])
    if kind == "box" and n in (4, 5):
        return box(numbers[:2], numbers[2:4], *numbers[4:])
    if kind == "polygon" and n >= 6 and n % 2 == 0:
        return Polygon(np.reshape(numbers, (-1, 2)))
    raise ValueError(
        "shapes are circle X Y RADIUS, box X Y WIDTH HEIGHT [ANGLE] and polygon X Y X Y X Y ..., "
        f"got {kind} {' '.join(f'{each:g}' for each in numbers)}"
    )


def _points(values: ArrayLike, shape: tuple[int, ...], name: str) -> Array:
    points = frozen(values)
    if points.shape != shape or not np.isfinite(points).all():
        raise ValueError(f"{name} must be {shape} finite numbers, got {values!r}")
    return points
