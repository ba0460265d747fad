"""Circles and polygons in the plane, and their distances to many points and segments at once."""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, isfinite, sin
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from galley.domain.frames import Array, frozen


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
        ValueError: fewer than three corners, or some that are not finite.
    """

    corners: Array

    def __post_init__(self) -> None:
        shape = np.shape(self.corners)
        if len(shape) != 2 or shape[0] < 3:
            raise ValueError(f"corners must be (n, 2) with n >= 3, got {shape}")
        object.__setattr__(self, "corners", _points(self.corners, (shape[0], 2), "corners"))

    @property
    def point(self) -> Array:
        """Its first corner."""
        return np.asarray(self.corners[0])

    def contains(self, p: Array) -> NDArray[np.bool_]:
        """Whether points p are within: a ray to the right crosses an odd number of sides."""
        odd = np.zeros(p.shape[:-1], dtype=bool)
        for a, b in self._edges():
            if a[1] != b[1]:
                spans = (a[1] > p[..., 1]) != (b[1] > p[..., 1])
                at = a[0] + (p[..., 1] - a[1]) * (b[0] - a[0]) / (b[1] - a[1])
                odd ^= spans & (p[..., 0] < at)
        return odd

    def distance(self, a: Array, b: Array) -> Array:
        """From segments a to b; 0 where they overlap."""
        gaps = [segments_apart(a, b, c, d) for c, d in self._edges()]
        return np.where(self.contains(a), 0.0, np.min(gaps, axis=0))

    def _edges(self) -> zip[tuple[Array, Array]]:
        return zip(self.corners, np.roll(self.corners, -1, axis=0), strict=True)


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


def to_segments(p: Array, a: Array, b: Array) -> Array:
    """Distance (...,) of points p from segments a to b, each (..., 2)."""
    along, to_p = b - a, p - a
    square = np.sum(along * along, axis=-1)
    t = np.sum(to_p * along, axis=-1) / np.where(square > 0.0, square, 1.0)
    return np.asarray(np.linalg.norm(to_p - np.clip(t, 0.0, 1.0)[..., None] * along, axis=-1))


def segments_apart(a: Array, b: Array, c: Array, d: Array) -> Array:
    """Distance (...,) of segments a to b from segments c to d; 0 where they cross.

    Of two that don't cross, one's end is a nearest point.
    """
    ends = [to_segments(a, c, d), to_segments(b, c, d), to_segments(c, a, b), to_segments(d, a, b)]
    crossing = (_side(a, b, c) * _side(a, b, d) < 0.0) & (_side(c, d, a) * _side(c, d, b) < 0.0)
    return np.where(crossing, 0.0, np.min(ends, axis=0))


def _side(a: Array, b: Array, p: Array) -> Array:
    """Positive where p is to the left of the line from a to b, negative to the right."""
    u, v = b - a, p - a
    return np.asarray(u[..., 0] * v[..., 1] - u[..., 1] * v[..., 0])


def _points(values: ArrayLike, shape: tuple[int, ...], name: str) -> Array:
    points = frozen(values)
    if points.shape != shape or not np.isfinite(points).all():
        raise ValueError(f"{name} must be {shape} finite numbers, got {values!r}")
    return points
