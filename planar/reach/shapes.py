"""Circles and polygons in the plane, and their distances from many points and segments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, sin
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

from galley.domain.frames import Array, as_numbers
from galley.planar.geometry.polygon import SimplePolygon as Outline


@dataclass(frozen=True)
class Region2D:
    """All points within ``radius`` (m) of a geometry: a disc about a point, or a polygon.

    Attributes:
        core: the geometry, an object of shapely.
        radius: m; 0: the geometry itself.
    """

    core: Any
    radius: float = 0.0

    def contains(self, p: Array) -> NDArray[np.bool_]:
        """Whether points p (..., 2), m, are in the shape: (...,)."""
        return self.apart(shapely.points(p)) <= 0.0

    def distance(self, a: Array, b: Array) -> Array:
        """Distances (...,), m, from segments a to b (..., 2) or points; 0 if they touch."""
        lines = shapely.linestrings(np.stack(np.broadcast_arrays(a, b), axis=-2))
        return np.maximum(self.apart(lines), 0.0)

    def apart(self, geometries: Any) -> Array:
        """Distances (m) from geometries of shapely; at most 0 if they touch."""
        return np.asarray(shapely.distance(self.core, geometries) - self.radius)


Figure = tuple[str, tuple[float, ...]]
"""A shape as plain data: its kind and its numbers, see ``shape_of``."""


def shape_of(kind: str, numbers: Sequence[float]) -> Region2D:
    """The shape of a kind and its numbers.

    Args:
        kind: ``circle``, ``box`` or ``polygon``.
        numbers: of a circle x, y, radius; of a box x, y, width, height and optionally an angle; of
            a simple polygon the corners x, y, in either orientation. Lengths in m, angle in rad.

    Raises:
        ValueError: an unknown kind, a wrong number of numbers, or numbers that aren't a shape.
    """
    n = len(numbers)
    if kind == "circle" and n == 3:
        x, y, radius = as_numbers(numbers, "circle", (3,))
        if radius <= 0.0:
            raise ValueError(f"radius must be positive, got {radius:g}")
        return Region2D(shapely.Point(x, y), radius)
    if kind == "box" and n in (4, 5):
        x, y, width, height, angle = as_numbers([*numbers, 0.0][:5], "box", (5,))
        if min(width, height) <= 0.0:
            raise ValueError(f"width and height must be positive, got {width:g} and {height:g}")
        R = np.array([[cos(angle), -sin(angle)], [sin(angle), cos(angle)]])
        half = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]]) * (0.5 * width, 0.5 * height)
        corners = half @ R.T + (x, y)
    elif kind == "polygon" and n >= 6 and n % 2 == 0:
        corners = as_numbers(np.reshape(numbers, (-1, 2)), "corners", (-1, 2))
    else:
        raise ValueError(
            "shapes are circle X Y RADIUS, box X Y WIDTH HEIGHT [ANGLE] and polygon X Y X Y X Y "
            f"..., got {kind} {' '.join(f'{number:g}' for number in numbers)}"
        )
    return Region2D(shapely.Polygon(Outline(corners).vertices))
