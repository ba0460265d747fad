"""Distances of points and line segments in the plane, many at once."""

from __future__ import annotations

import numpy as np

from galley.domain.frames import Array


def to_segments(p: Array, a: Array, b: Array) -> Array:
    """Distance (...,) of points p from segments a to b, each (..., 2)."""
    along, to_p = b - a, p - a
    square = np.einsum("...i,...i", along, along)
    t = np.einsum("...i,...i", to_p, along) / np.where(square > 0.0, square, 1.0)
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
