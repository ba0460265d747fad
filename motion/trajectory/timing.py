"""Timing: makes trajectories from paths, within a joint group's limits; bounds jerk by averaging.

The moving average A(t) = 1/w * (integral of q from t - w to t) of a curve at rest before and after:

- is piecewise polynomial again, of one degree more, and w seconds longer;
- keeps every bound on velocity and acceleration: an average is never larger than the largest;
- stays in every convex set that q stays in (joint limits; a straight line, so straight segments
  stay straight);
- has the jerk (a(t) - a(t - w)) / w, so at most 2 max|a| / w, and rests with zero acceleration at
  both ends.

L. Biagiotti and C. Melchiorri, "FIR filters for online trajectory planning with time- and
frequency-domain specifications" (2012), build whole motions of such averages.
"""

from __future__ import annotations

import itertools
from math import comb

import numpy as np

from galley.domain.frames import Array
from galley.motion.path import Path
from galley.motion.trajectory.trajectory import Trajectory, limit_ratios, slowed
from galley.robots.model import JointGroup

# The quintic s(u) = 10 u^3 - 15 u^4 + 6 u^5 rests at u = 0 and 1 (minimum jerk: T. Flash and
# N. Hogan, 1985). Peaks on [0, 1]: |s'| = 15/8, |s''| = 10/sqrt(3), |s'''| = 60.
_QUINTIC = np.array([0.0, 0.0, 0.0, 10.0, -15.0, 6.0])
_PEAKS = (1.875, 10.0 / np.sqrt(3.0), 60.0)
_STILL = 0.02  # s, duration of a motion without movement
_NEWTON_STEPS = 5  # converges to rounding everywhere in [0, 1]
LEAST_WINDOW = 0.004  # s, shortest window of an average
_SAME = 1e-9  # s, breaks nearer than this are merged
_TRIES = 6  # windows tried before the one that is always long enough


def rest_to_rest(path: Path, group: JointGroup, scale: float = 1.0) -> Trajectory:
    """A trajectory that follows the path exactly: straight to each corner, and at rest there.

    Args:
        path: over ``group``; the motion does not stop at waypoints on a straight line.
        group: gives the limits of velocity, acceleration and jerk.
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
        way = np.abs(d)
        # A differential base drives along its heading: its limits hold for the speed, not for x
        # and y one by one.
        if group.differential:
            way[:2] = np.hypot(d[0], d[1])
        span = max(
            float((peak * way / (scale * limit)).max()) ** (1.0 / (k + 1))
            for k, (peak, limit) in enumerate(zip(_PEAKS, limits, strict=True))
        )
        piece = (_QUINTIC / span ** np.arange(6))[:, None] * d
        piece[0] = a
        pieces.append(piece)
        breaks.append(breaks[-1] + span)
    return Trajectory(path.group, np.array(breaks), np.array(pieces))


def spline_through(
    path: Path, group: JointGroup, duration: float, scale: float = 1.0
) -> Trajectory:
    """A smooth trajectory through all waypoints without a stop, at rest at both ends.

    For finely sampled curves (a straight line of the hand). A clamped cubic spline in time
    interpolates the waypoints, whose times follow the quintic law along the path. Then it is slowed
    until velocity, acceleration and jerk keep ``scale`` of their limits.

    Args:
        path: over ``group``.
        group: gives the limits of velocity, acceleration and jerk.
        duration: shortest time to take, seconds.
        scale: share of the limits to use, in (0, 1].
    """
    from scipy.interpolate import CubicSpline

    if not 0.0 < scale <= 1.0:
        raise ValueError(f"scale must lie in (0, 1], got {scale}")
    keep = np.ones(len(path.waypoints), dtype=bool)
    keep[1:] = np.abs(np.diff(path.waypoints, axis=0)).max(axis=1) > 1e-9
    points = path.waypoints[keep]
    if len(points) == 1:
        return _standing(path.group, points[0])
    along = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(points, axis=0)).max(axis=1))])
    times = _quintic_times(along / along[-1]) * max(duration, 0.1)
    rows = CubicSpline(times, points, bc_type="clamped").c  # the highest power first
    trajectory = Trajectory(path.group, times, np.moveaxis(rows[::-1], 0, 1))
    # Slowed by f, the p-th derivative falls by f^p.
    ratios = limit_ratios(trajectory, group)
    worst = max((r / scale) ** (1.0 / (k + 1)) for k, r in enumerate(ratios))
    return slowed(trajectory, worst) if worst > 1.0 else trajectory


def corners(points: Array) -> Array:
    """The waypoints (m, k) at which a polygonal path turns, both ends included."""
    turns = [points[0]]
    for k in range(1, len(points) - 1):
        ahead, behind = points[k + 1] - points[k], points[k] - turns[-1]
        size = float(np.linalg.norm(ahead)) * float(np.linalg.norm(behind))
        if size > 0.0 and float(ahead @ behind) < size * (1.0 - 1e-12):
            turns.append(points[k])
    if np.abs(points[-1] - turns[-1]).max() > 1e-12:
        turns.append(points[-1])
    return np.array(turns)


def moving_average(trajectory: Trajectory, window: float) -> Trajectory:
    """The moving average of a trajectory over ``window`` seconds.

    Args:
        trajectory: continuous and at rest at both ends; it may start and stop with any
            acceleration.
        window: seconds, more than 0. With a longer one, the jerk is lower and the motion longer.

    Returns:
        A trajectory with exactly the same ends, ``window`` seconds longer.
    """
    if not window > 0.0:
        raise ValueError(f"a window must be longer than 0 s, got {window}")
    breaks, rows = _extended(trajectory, window)
    inner = trajectory.breaks
    times = _distinct(np.concatenate([inner, inner + window]))
    # Between two of these times, the pieces at t and at t - w stay the same.
    middle = 0.5 * (times[:-1] + times[1:])
    last = len(rows) - 1
    ahead = np.clip(np.searchsorted(breaks, middle, side="right") - 1, 0, last)
    behind = np.clip(np.searchsorted(breaks, middle - window, side="right") - 1, 0, last)
    begins = times[:-1]
    entering = _shifted(rows[ahead], begins - breaks[ahead])
    leaving = _shifted(rows[behind], begins - window - breaks[behind])
    # A' = (q(t) - q(t - w)) / w, power by power.
    n, size, k = entering.shape
    powers = np.arange(1.0, size + 1.0)[None, :, None]
    out = np.empty((n, size + 1, k))
    out[:, 1:] = (entering - leaving) / (window * powers)
    spans = np.diff(times)
    gains = np.einsum("ndk,nd->nk", out[:, 1:], spans[:, None] ** powers[0, :, 0])
    first, end = trajectory(0.0), trajectory(trajectory.duration)
    values = first + np.concatenate([np.zeros((1, k)), np.cumsum(gains, axis=0)])
    # Rounding adds up over the pieces (1e-12); spread it, so that the end is exact.
    values += np.linspace(0.0, 1.0, n + 1)[:, None] * (end - values[-1])
    out[:, 0] = values[:-1]
    return Trajectory(trajectory.group, times, out)


def jerk_limited(trajectory: Trajectory, jerk: Array, least: float = LEAST_WINDOW) -> Trajectory:
    """The moving average over the shortest window, or nearly, that keeps the jerk limits.

    A window of 2 a / j is always long enough, where a is the trajectory's peak acceleration and j
    the limit. If the acceleration doesn't jump from one limit to the opposite one within the
    window, a shorter one is enough.

    Args:
        trajectory: at rest at both ends.
        jerk: limits (k,), per s^3.
        least: seconds, the shortest window to use.
    """
    enough = float((2.0 * trajectory.peaks(2) / jerk).max())
    window = max(0.5 * enough, least)
    for _ in range(_TRIES):
        if window >= enough:
            break
        result = moving_average(trajectory, window)
        ratio = float((result.peaks(3) / jerk).max())
        if ratio <= 1.0:
            return result
        # With the same jump in acceleration, the jerk falls as the window grows.
        window *= ratio * (1.0 + 1e-9)
    return moving_average(trajectory, max(enough * (1.0 + 1e-9), least))


def _standing(group: str, q: Array) -> Trajectory:
    """A short trajectory that stays at q (k,)."""
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


def _extended(trajectory: Trajectory, window: float) -> tuple[Array, Array]:
    """The pieces with one at rest before and one after: where they begin, and their coefficients.

    Returns:
        times (n + 2,), from ``-window``, and coefficients (n + 2, d + 1, k).
    """
    rows = trajectory.coefficients
    rests = np.zeros((2, *rows.shape[1:]))
    rests[0, 0], rests[1, 0] = trajectory(0.0), trajectory(trajectory.duration)
    begins = np.concatenate([[-window], trajectory.breaks])
    return begins, np.concatenate([rests[:1], rows, rests[1:]])


def _distinct(times: Array) -> Array:
    """The times, sorted; of times nearer to each other than ``_SAME`` only one. Keeps both ends."""
    times = np.sort(times)
    apart = np.concatenate([[True], np.diff(times) > _SAME])
    distinct = times[apart]
    if not apart[-1]:
        distinct[-1] = times[-1]
    return np.asarray(distinct)


def _shifted(rows: Array, by: Array) -> Array:
    """Coefficients (n, d + 1, k) of the same polynomials about an origin ``by`` (n,) later."""
    size = rows.shape[1]
    powers = by[:, None] ** np.arange(size)
    out = np.zeros_like(rows)
    for p in range(size):
        for r in range(p, size):
            out[:, p] += comb(r, p) * powers[:, r - p, None] * rows[:, r]
    return out
