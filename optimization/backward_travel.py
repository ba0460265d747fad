"""The cost of driving backwards or sideways, for a holonomic base: its heading against its course.

The shortest curve in x, y and heading turns evenly from one end to the other, so that the base
drives much of the way backwards or sideways. Turning early mostly takes no longer.
"""

from __future__ import annotations

import numpy as np

from galley.domain.frames import Array
from galley.optimization.spline import FIXED


def backward_travel(poses: Array) -> float:
    """Metres of a drive through base poses (n, 3) that count as backwards.

    A metre driven forward counts 0, sideways one half, backwards 1.
    """
    way, off = _off_course(poses)
    return float(way @ (0.5 - 0.5 * np.cos(off)))


def backward_travel_cost(basis: Array, points: Array) -> tuple[Array, Array]:
    """Hessian (f, f) and gradient (f,), at zero, of a bound on ``backward_travel``.

    They are of the inner control points' headings. The bound is 1 - cos(d) <= d^2 / 2, where d is
    the heading less the course. The course is that of the current control points, with whole turns
    added to come near the headings of both ends.

    Args:
        basis: the matrix (s, m) from control points to poses along the drive.
        points: the current control points (m, 3): x, y (m) and heading (rad).
    """
    way, off = _off_course(basis @ points)
    between = 0.5 * (basis[1:] + basis[:-1])
    inner = between[:, FIXED:-FIXED]
    # The headings that the fixed control points alone give, less the course: a constant here.
    rest = off - inner @ points[FIXED:-FIXED, 2]
    return 0.5 * (inner.T * way) @ inner, 0.5 * inner.T @ (way * rest)


def _off_course(poses: Array) -> tuple[Array, Array]:
    """Lengths (n,) of the steps between base poses (n + 1, 3), and headings less courses (n,)."""
    steps = np.diff(poses[:, :2], axis=0)
    way = np.hypot(steps[:, 0], steps[:, 1])
    course = np.unwrap(np.arctan2(steps[:, 1], steps[:, 0]))
    middle = 0.5 * (poses[0, 2] + poses[-1, 2]) - way @ course / max(float(way.sum()), 1e-9)
    # Headings are not wrapped, so the course is moved by whole turns to their mean.
    course += 2.0 * np.pi * np.round(middle / (2.0 * np.pi))
    return way, 0.5 * (poses[1:, 2] + poses[:-1, 2]) - course
