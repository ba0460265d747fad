"""Timing: from a path to a trajectory within a joint group's limits."""

from __future__ import annotations

import itertools

import numpy as np

from galley.domain.frames import Array
from galley.motion.path import Path
from galley.motion.trajectory import Trajectory, limit_ratios, slowed
from galley.robots.model import JointGroup

# The quintic s(u) = 10 u^3 - 15 u^4 + 6 u^5 rests at u = 0 and 1 (minimum jerk: T. Flash and
# N. Hogan, 1985). Peaks on [0, 1]: |s'| = 15/8, |s''| = 10/sqrt(3), |s'''| = 60.
_QUINTIC = np.array([0.0, 0.0, 0.0, 10.0, -15.0, 6.0])
_PEAKS = (1.875, 10.0 / np.sqrt(3.0), 60.0)
_STILL = 0.02  # s, how long a motion lasts that goes nowhere
_NEWTON_STEPS = 5  # to rounding, from anywhere in [0, 1]


def rest_to_rest(path: Path, group: JointGroup, scale: float = 1.0) -> Trajectory:
    """Straight between the waypoints, at rest at each corner; the path is kept exactly.

    Args:
        path: over ``group``; waypoints on a straight line between corners cost nothing.
        group: whose velocity, acceleration and jerk limits hold.
        scale: share of the limits to use, in (0, 1].
    """
    if not 0.0 < scale <= 1.0:
        raise ValueError(f"scale must lie in (0, 1], got {scale}")
    points = corners(path.waypoints)
    if len(points) == 1:
        return _standing(path.group, points[0])
    limits = (group.velocity, group.acceleration, group.jerk)
    breaks, pieces = [0.0], []
    for a, b in itertools.pairwise(points):
        d = b - a
        span = max(
            float((peak * np.abs(d) / (scale * limit)).max()) ** (1.0 / (k + 1))
            for k, (peak, limit) in enumerate(zip(_PEAKS, limits, strict=True))
        )
        piece = (_QUINTIC / span ** np.arange(6))[:, None] * d
        piece[0] = a
        pieces.append(piece)
        breaks.append(breaks[-1] + span)
    return Trajectory(path.group, np.array(breaks), np.array(pieces))


def through(path: Path, group: JointGroup, duration: float, scale: float = 1.0) -> Trajectory:
    """A smooth run through all waypoints without a stop, at rest at both ends.

    For finely sampled curves (a straight line of the hand). A clamped cubic spline in time
    interpolates the waypoints, whose times follow the quintic law along the joint path; then all
    is slowed until velocity, acceleration and jerk keep ``scale`` of their limits.

    Args:
        duration: shortest time to take, seconds.
    """
    keep = np.ones(len(path.waypoints), dtype=bool)
    keep[1:] = np.abs(np.diff(path.waypoints, axis=0)).max(axis=1) > 1e-9
    points = path.waypoints[keep]
    if len(points) == 1:
        return _standing(path.group, points[0])
    along = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(points, axis=0)).max(axis=1))])
    times = _quintic_times(along / along[-1]) * max(duration, 0.1)
    trajectory = _clamped_spline(path.group, times, points)
    ratios = limit_ratios(trajectory, group)
    worst = max((r / scale) ** (1.0 / (k + 1)) for k, r in enumerate(ratios))
    return slowed(trajectory, worst) if worst > 1.0 else trajectory


def corners(points: Array) -> Array:
    """The waypoints (m, k) at which a polygonal path turns, both ends included."""
    kept = [points[0]]
    for k in range(1, len(points) - 1):
        ahead, behind = points[k + 1] - points[k], points[k] - kept[-1]
        size = float(np.linalg.norm(ahead)) * float(np.linalg.norm(behind))
        if size > 0.0 and float(ahead @ behind) < size * (1.0 - 1e-12):
            kept.append(points[k])
    if np.abs(points[-1] - kept[-1]).max() > 1e-12:
        kept.append(points[-1])
    return np.array(kept)


def _standing(group: str, q: Array) -> Trajectory:
    return Trajectory(group, np.array([0.0, _STILL]), q[None, None, :])


def _quintic_times(s: Array) -> Array:
    """u in [0, 1] (n,) with quintic(u) = s.

    By Newton's method on the cube root of both sides for the nearer half, which is almost straight
    there: s(u) = u^3 h(u) with h = 10 - 15 u + 6 u^2, and s(1 - u) = 1 - s(u).
    """
    late = s > 0.5
    root = np.cbrt(np.where(late, 1.0 - s, s))
    u = root / np.cbrt(10.0)
    for _ in range(_NEWTON_STEPS):
        h = 10.0 + u * (6.0 * u - 15.0)
        k = np.cbrt(h)
        u = u - (u * k - root) / (k + u * (4.0 * u - 5.0) * k / h)
    return np.asarray(np.where(late, 1.0 - u, u))


def _clamped_spline(group: str, times: Array, points: Array) -> Trajectory:
    """The C2 cubic spline through ``points`` at ``times`` with zero velocity at both ends."""
    n = len(times)
    h = np.diff(times)
    slope = np.diff(points, axis=0) / h[:, None]
    # Continuity of the second derivative at inner knots, for the velocities v at the knots.
    A, b, inner = np.eye(n), np.zeros((n, points.shape[1])), np.arange(1, n - 1)
    A[inner, inner - 1], A[inner, inner + 1] = h[1:], h[:-1]
    A[inner, inner] = 2.0 * (h[:-1] + h[1:])
    b[1:-1] = 3.0 * (h[1:, None] * slope[:-1] + h[:-1, None] * slope[1:])
    v = np.linalg.solve(A, b)
    c = np.stack(
        [
            points[:-1],
            v[:-1],
            (3.0 * slope - 2.0 * v[:-1] - v[1:]) / h[:, None],
            (v[:-1] + v[1:] - 2.0 * slope) / h[:, None] ** 2,
        ],
        axis=1,
    )
    return Trajectory(group, times, c)
