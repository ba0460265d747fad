"""A holonomic base's heading against its course: what driving backwards or sideways costs.

The shortest curve through x, y and heading turns evenly from one end to the other, so that the base
drives much of its way backwards or sideways. Turning early mostly takes no longer.
"""

from __future__ import annotations

import numpy as np

from galley.domain.frames import Array
from galley.optimization.spline import FIXED


def astern(poses: Array) -> float:
    """Metres of a drive through base poses (n, 3), each 0 forward, a half sideways, 1 backwards."""
    way, off = _off_course(poses)
    return float(way @ (0.5 - 0.5 * np.cos(off)))


def astern_cost(basis: Array, points: Array) -> tuple[Array, Array]:
    """Hessian (f, f) and gradient (f,), at zero, of ``astern`` over the inner headings.

    1 - cos(d) <= d^2 / 2, where d is the heading less the course; that of the current control
    points (m, 3), whole turns added to come near the headings of both ends.

    Args:
        basis: (s, m), from control points to poses along the drive.
    """
    way, off = _off_course(basis @ points)
    between = 0.5 * (basis[1:] + basis[:-1])
    inner = between[:, FIXED:-FIXED]
    rest = off - inner @ points[FIXED:-FIXED, 2]  # of the fixed control points, less the course
    return 0.5 * (inner.T * way) @ inner, 0.5 * inner.T @ (way * rest)


def _off_course(poses: Array) -> tuple[Array, Array]:
    """Lengths (n,) of the steps between base poses (n + 1, 3), and headings less courses (n,)."""
    steps = np.diff(poses[:, :2], axis=0)
    way = np.hypot(steps[:, 0], steps[:, 1])
    course = np.unwrap(np.arctan2(steps[:, 1], steps[:, 0]))
    middle = 0.5 * (poses[0, 2] + poses[-1, 2]) - way @ course / max(float(way.sum()), 1e-9)
    course += 2.0 * np.pi * np.round(middle / (2.0 * np.pi))
    return way, 0.5 * (poses[1:, 2] + poses[:-1, 2]) - course
