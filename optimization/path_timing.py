"""The fastest time law for a path within velocity and acceleration limits (TOPP-RA).

The two passes of the method are in ``kernel.path_timing``. Here the grid is made for them, and
their result becomes a time law and a trajectory.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from galley.compiled.build import TIMING, ensure
from galley.domain.frames import Array
from galley.motion.trajectory.trajectory import Trajectory
from galley.optimization.rounding import RoundedPath
from galley.robots.model import JointGroup

_FINEST = 32  # intervals of the grid on a parabola that turns a joint about at full speed
_INTERVALS = 240  # on all parabolas together, and at least 2 on each


@dataclass(frozen=True)
class TimeLaw:
    """A time law s(t) along a path: ds/dt at grid points, d2s/dt2 constant between them.

    Attributes:
        grid: values of s (m + 1,), all breaks of the path included.
        piece: index of the path's piece for each interval (m,).
        squares: (ds/dt)^2 at the grid points (m + 1,), 0 at both ends.
    """

    grid: Array
    piece: NDArray[np.int64]
    squares: Array

    @property
    def rates(self) -> Array:
        """The rate ds/dt at the grid points (m + 1,), 1/s."""
        return np.asarray(np.sqrt(self.squares))

    @property
    def times(self) -> Array:
        """Times of the grid points (m + 1,), in seconds from 0."""
        rate = self.rates
        # The rate is linear in time on each interval, so its mean there is that of both ends.
        steps = 2.0 * np.diff(self.grid) / (rate[:-1] + rate[1:])
        return np.concatenate([[0.0], np.cumsum(steps)])


def fastest_time_law(
    path: RoundedPath, group: JointGroup, scale: float = 1.0, plateau: float = 0.0
) -> TimeLaw:
    """The fastest time law from rest to rest, without jerk limits.

    It is optimal up to the grid. The limits hold between grid points too (``kernel.path_timing``).

    Args:
        path: without stops (one of ``RoundedPath.parts``).
        group: gives the limits of velocity and acceleration.
        scale: share of the limits to use, in (0, 1].
        plateau: least time (s) at constant speed on a straight piece, where there is room. 0 is the
            fastest; with more, a shorter moving average is enough to bound the jerk.

    Raises:
        ValueError: the scale is out of range, the path has stops or a segment of no length, or the
            limits are so far apart that rounding leaves no speed at all.
    """
    from galley.optimization.kernel.path_timing import rates

    if not 0.0 < scale <= 1.0:
        raise ValueError(f"scale must lie in (0, 1], got {scale}")
    if path.stops:
        raise ValueError("a path with stops is timed part by part")
    velocity, acceleration = scale * group.velocity, scale * group.acceleration
    grid, piece = _grid(path, group)
    local = grid[:-1] - path.breaks[piece]
    spans = np.diff(grid)
    bends = 2.0 * path.coefficients[piece, 2]
    slopes = path.coefficients[piece, 1] + local[:, None] * bends
    squares = np.empty(len(grid))
    # q'' is constant on a piece, so the slope at an interval's end is exact.
    ensure(TIMING)
    feasible = rates(
        slopes, slopes + spans[:, None] * bends, bends, spans, velocity, acceleration, squares
    )
    if not feasible:
        raise ValueError("the path stands still somewhere: a segment of no length")
    straight = path.corner[piece] < 0
    sizes = np.maximum(np.abs(slopes), 1e-100)
    top_square = (velocity / sizes).min(axis=1) ** 2
    steepest = (acceleration / sizes).min(axis=1)
    bounds = top_square, steepest
    law = _merged(path, *_with_peaks(grid, piece, squares, straight, bounds, plateau))
    if not (law.squares[:-1] + law.squares[1:] > 0.0).all():
        raise ValueError("the limits are too far apart: rounding leaves no speed somewhere")
    return law


def timed_trajectory(path: RoundedPath, law: TimeLaw) -> Trajectory:
    """The trajectory q(s(t)), exact: of degree 2 on straight pieces and 4 on parabolas."""
    piece, rate = law.piece, law.rates[:-1, None]
    spans = np.diff(law.grid)
    u = (0.5 * np.diff(law.squares) / spans)[:, None]
    local = (law.grid[:-1] - path.breaks[piece])[:, None]
    a, b, c = np.moveaxis(path.coefficients[piece], 1, 0)
    slope = b + 2.0 * local * c
    rows = [a + local * (b + local * c), slope * rate, 0.5 * slope * u + c * rate**2]
    if (path.corner >= 0).any():
        rows += [c * rate * u, 0.25 * c * u**2]
    return Trajectory(path.group, law.times, np.stack(rows, axis=1))


def _grid(path: RoundedPath, group: JointGroup) -> tuple[Array, NDArray[np.int64]]:
    """Grid points (m + 1,), and the index of the piece for each interval (m,).

    A straight piece is one interval; a parabola has more, the sharper it turns a joint about.
    """
    bends = np.abs(path.coefficients[:, 2]) * (2.0 * np.diff(path.breaks)[:, None])
    turn = 0.5 * (bends / group.velocity).max(axis=1)  # 1: from full speed to full speed backwards
    share = np.sqrt(turn) * _FINEST
    share *= min(1.0, _INTERVALS / max(float(share.sum()), 1.0))
    counts = np.where(path.corner < 0, 1, np.maximum(np.ceil(share), 2)).astype(np.int64)
    piece = np.repeat(np.arange(len(counts)), counts)
    first = np.repeat(np.cumsum(counts) - counts, counts)
    part = (np.arange(len(piece)) - first) / counts[piece]
    grid = path.breaks[piece] + part * np.diff(path.breaks)[piece]
    return np.concatenate([grid, path.breaks[-1:]]), piece


def _with_peaks(
    grid: Array,
    piece: NDArray[np.int64],
    squares: Array,
    straight: NDArray[np.bool_],
    bounds: tuple[Array, Array],
    plateau: float,
) -> tuple[Array, NDArray[np.int64], Array]:
    """Adds two grid points to each straight interval: where acceleration and constant speed end.

    Args:
        grid: values of s (m + 1,).
        piece: index of the path's piece for each interval (m,).
        squares: (ds/dt)^2 at the grid points (m + 1,).
        straight: which intervals are straight pieces (m,).
        bounds: the greatest (ds/dt)^2 and |d2s/dt2| on each interval, if straight: two (m,).
        plateau: least time (s) at constant speed, where there is room.

    Returns:
        The first three arguments, with the points added.
    """
    fast, hard = bounds
    spans = np.diff(grid)
    begin, end = squares[:-1], squares[1:]
    # Up to a rate r, constant for the plateau, and down again: r^2 / hard + plateau r = room, a
    # quadratic equation for r.
    room = spans + 0.5 * (begin + end) / hard
    rate = 0.5 * hard * (np.sqrt(plateau**2 + 4.0 * room / hard) - plateau)
    peak = np.minimum(fast, np.maximum(rate**2, np.maximum(begin, end)))
    rise, fall = (peak - begin) / (2.0 * hard), (peak - end) / (2.0 * hard)
    at_rise, at_fall = grid[:-1] + rise, grid[1:] - fall
    tiny = 1e-7 * spans  # leaving these out only lowers the acceleration
    up = straight & (rise > tiny) & (at_rise < grid[1:] - tiny)
    down = straight & (fall > tiny) & (at_fall > at_rise + tiny) & (at_fall > grid[:-1] + tiny)
    s = np.concatenate([grid, at_rise[up], at_fall[down]])
    x = np.concatenate([squares, peak[up], peak[down]])
    owner = np.concatenate([piece, piece[-1:], piece[up], piece[down]])
    order = np.argsort(s, kind="stable")
    return s[order], owner[order][:-1], x[order]


def _merged(path: RoundedPath, s: Array, piece: NDArray[np.int64], x: Array) -> TimeLaw:
    """The time law, without grid points at which neither acceleration nor piece changes."""
    u = np.diff(x) / np.diff(s)
    change = np.abs(np.diff(u)) > 1e-7 * np.abs(u).max()
    keep = np.concatenate([[True], change | (piece[1:] != piece[:-1]), [True]])
    return TimeLaw(s[keep], piece[keep[:-1]], x[keep])
