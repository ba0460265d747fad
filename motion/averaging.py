"""The moving average of a trajectory: the same limits, and a bounded jerk.

The average of q over the last w seconds, A(t) = 1/w * (integral of q from t - w to t), of a curve
that stands still before and after:

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

from math import comb

import numpy as np

from galley.domain.frames import Array
from galley.motion.trajectory import Trajectory

LEAST_WINDOW = 0.004  # s
_SAME = 1e-9  # s, breaks nearer than this are one: what happens between them can't be seen
_TRIES = 6


def averaged(trajectory: Trajectory, window: float) -> Trajectory:
    """The moving average over ``window`` seconds.

    Args:
        trajectory: at rest at both ends; it may start and stop with any acceleration. It must be
            continuous.
        window: seconds, more than 0.

    Returns:
        A trajectory with exactly the same ends, ``window`` seconds longer.
    """
    if not window > 0.0:
        raise ValueError(f"a window must be longer than 0 s, got {window}")
    breaks, rows = _extended(trajectory, window)
    inner = trajectory.breaks
    times = _distinct(np.concatenate([inner, inner + window]))
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
    # Rounding adds up over the pieces (1e-12); spread, so that the end is the end.
    values += np.linspace(0.0, 1.0, n + 1)[:, None] * (end - values[-1])
    out[:, 0] = values[:-1]
    return Trajectory(trajectory.group, times, out)


def jerk_limited(trajectory: Trajectory, jerk: Array, least: float = LEAST_WINDOW) -> Trajectory:
    """The average over a window as short as the jerk limits allow, or nearly.

    2 a / j is always long enough, where a is the trajectory's peak acceleration. Where the
    acceleration doesn't jump from one limit to the opposite one within the window, less will do.

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
        result = averaged(trajectory, window)
        ratio = float((result.peaks(3) / jerk).max())
        if ratio <= 1.0:
            return result
        window *= ratio * (1.0 + 1e-9)
    return averaged(trajectory, max(enough * (1.0 + 1e-9), least))


def _extended(trajectory: Trajectory, window: float) -> tuple[Array, Array]:
    """Where pieces begin (n + 2,) and coefficients (n + 2, d + 1, k), with rest at both ends."""
    rows = trajectory.coefficients
    rests = np.zeros((2, *rows.shape[1:]))
    rests[0, 0], rests[1, 0] = trajectory(0.0), trajectory(trajectory.duration)
    begins = np.concatenate([[-window], trajectory.breaks])
    return begins, np.concatenate([rests[:1], rows, rests[1:]])


def _distinct(times: Array) -> Array:
    """Sorted, and of times nearer than ``_SAME`` to each other only one; both ends are kept."""
    times = np.sort(times)
    kept = np.concatenate([[True], np.diff(times) > _SAME])
    found = times[kept]
    if not kept[-1]:
        found[-1] = times[-1]
    return np.asarray(found)


def _shifted(rows: Array, by: Array) -> Array:
    """Coefficients (n, d + 1, k) of the same polynomials about an origin ``by`` (n,) later."""
    size = rows.shape[1]
    powers = by[:, None] ** np.arange(size)
    out = np.zeros_like(rows)
    for p in range(size):
        for r in range(p, size):
            out[:, p] += comb(r, p) * powers[:, r - p, None] * rows[:, r]
    return out
