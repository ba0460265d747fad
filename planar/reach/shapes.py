"""Circles and polygons in the plane, and their distances to many points and segments at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, isfinite, sin
from typing import Any

import numpy as np
import shapely
from numpy.typing import ArrayLike, NDArray

from galley.domain.frames import Array, as_numbers
from galley.planar.geometry.polygon import Polygon as Outline


@dataclass(frozen=True)
class Shape:
    """All points within ``radius`` (m) of a geometry: a disc about a point, or a polygon.

    Attributes:
        core: of shapely.
    """

    core: Any
    radius: float = 0.0

    def contains(self, p: Array) -> NDArray[np.bool_]:
        """Whether points p (..., 2) are within."""
        return self.apart(shapely.points(p)) <= 0.0

    def distance(self, a: Array, b: Array) -> Array:
        """From segments a to b, (..., 2) each, which may be points; 0 where they touch (...,)."""
        lines = shapely.linestrings(np.stack(np.broadcast_arrays(a, b), axis=-2))
        return np.maximum(self.apart(lines), 0.0)

    def apart(self, geometries: Any) -> Array:
        """From geometries of shapely (m); not positive where they touch."""
        return np.asarray(shapely.distance(self.core, geometries) - self.radius)


def circle(center: ArrayLike, radius: float) -> Shape:
    """A disc about ``center`` (2,) of ``radius`` (m).

    Raises:
        ValueError: a radius that is not positive, or a centre that is not finite.
    """
    if not (isfinite(radius) and radius > 0.0):
        raise ValueError(f"radius must be positive, got {radius:g}")
    return Shape(shapely.Point(as_numbers(center, "center", (2,))), radius)


def polygon(corners: ArrayLike) -> Shape:
    """A simple polygon, convex or not, with ``corners`` (n, 2), in either order.

    Raises:
        ValueError: fewer than three corners, some that are not finite, or edges that
            cross or touch.
    """
    return Shape(shapely.Polygon(Outline(as_numbers(corners, "corners", (-1, 2))).vertices))


def box(center: ArrayLike, size: ArrayLike, angle: float = 0.0) -> Shape:
    """A rectangle of ``size`` (2,) (m), turned by ``angle`` (rad) about its ``center`` (2,).

    Raises:
        ValueError: a size that is not positive.
    """
    sides = as_numbers(size, "size", (2,))
    if not (sides > 0.0).all():
        raise ValueError(f"size must be positive, got {size!r}")
    corners = 0.5 * sides * np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])
    R = np.array([[cos(angle), -sin(angle)], [sin(angle), cos(angle)]])
    return polygon(corners @ R.T + as_numbers(center, "center", (2,)))


Figure = tuple[str, tuple[float, ...]]
"""A shape as plain data: its kind and its numbers, see ``shape_of``."""


def shape_of(kind: str, numbers: Sequence[float]) -> Shape:
    """A circle x, y, radius; a box x, y, width, height and perhaps angle; a polygon's corners.

    Raises:
        ValueError: another kind, too many or too few numbers, or numbers that make no shape.
    """
    n = len(numbers)
    if kind == "circle" and n == 3:
        return circle(numbers[:2], numbers[2])
    if kind == "box" and n in (4, 5):
        return box(numbers[:2], numbers[2:4], *numbers[4:])
    if kind == "polygon" and n >= 6 and n % 2 == 0:
        return polygon(np.reshape(numbers, (-1, 2)))
    raise ValueError(
        "shapes are circle X Y RADIUS, box X Y WIDTH HEIGHT [ANGLE] and polygon X Y X Y X Y ..., "
        f"got {kind} {' '.join(f'{each:g}' for each in numbers)}"
    )
