"""Rounds the corners of a polygonal path, so that it can be followed without stops.

A parabola cuts each corner: it starts on one segment and ends on the next, tangent to both. It is
as large as is useful and can be proven free.

The path parameter s is scaled on each segment so that at ds/dt = 1 the slowest joint moves at its
velocity limit. On a parabola no joint then exceeds its limit, because the slopes there are averages
of the two segments' slopes. So metres and radians need no conversion. The time law comes from
``path_timing``.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from galley.collision.view import View
from galley.domain.frames import Array
from galley.motion.path import Path
from galley.motion.trajectory.timing import corners
from galley.robots.model import JointGroup

DEVIATION = 0.01  # m or rad, largest deviation of a joint at a corner without a proof
_HALVINGS = 7  # of a cut, before the corner is left sharp
_SHORTEST = 1e-9  # of s: nearer waypoints are merged
_SLIVER = 1e-12  # share of the range of s; shorter pieces are rounding errors


@dataclass(frozen=True)
class RoundedPath:
    """A curve over a parameter s of linear and quadratic pieces, with a continuous derivative.

    Attributes:
        group: name of the joint group.
        breaks: values of s (n + 1,), increasing from 0.
        coefficients: (n, 3, k): on piece i, q is the sum over p of
            ``coefficients[i, p] * (s - breaks[i]) ** p``.
        corner: index of the corner that each piece rounds (n,); -1 for straight pieces.
        stops: indices of the breaks at which the derivative jumps.
    """

    group: str
    breaks: Array
    coefficients: Array
    corner: NDArray[np.int64]
    stops: tuple[int, ...] = ()

    def parts(self) -> tuple[RoundedPath, ...]:
        """The parts between stops, each with s from 0."""
        ends = (0, *self.stops, len(self.coefficients))
        parts = []
        for i, j in itertools.pairwise(ends):
            breaks = self.breaks[i : j + 1] - self.breaks[i]
            parts.append(RoundedPath(self.group, breaks, self.coefficients[i:j], self.corner[i:j]))
        return tuple(parts)


def polygon_corners(path: Path, group: JointGroup) -> Array:
    """The corners (m, k) of a path with both ends; a single one if the path does not move.

    Steps of less than a nanosecond at full speed are left out.
    """
    points = corners(path.waypoints)
    line = [points[0]]
    for q in points[1:-1]:
        if (np.abs(q - line[-1]) / group.velocity).max() > _SHORTEST:
            line.append(q)
    # The path's end stays exactly; corners too near it go instead.
    while len(line) > 1 and (np.abs(points[-1] - line[-1]) / group.velocity).max() <= _SHORTEST:
        line.pop()
    line.append(points[-1])
    if len(line) == 2 and (np.abs(line[1] - line[0]) / group.velocity).max() <= _SHORTEST:
        return points[:1]
    # Without the short steps the neighbours of a corner may lie on one line.
    return corners(np.array(line))


def useful_cuts(points: Array, group: JointGroup) -> Array:
    """Largest useful cut (m - 2,), in s on either side of each corner of a polygon (m, k).

    It is twice the cut of the parabola that can be passed at ds/dt = 1: larger ones gain next to
    nothing. Two corners that compete for a segment get at least half of it each.
    """
    slopes, spans = _segments(points, group)
    ideal = (np.abs(np.diff(slopes, axis=0)) / group.acceleration).max(axis=1, initial=0.0)
    # What the neighbouring corners leave of the two segments; the path's ends take nothing.
    before = np.concatenate([[0.0], ideal])[: len(ideal)]
    behind = np.concatenate([ideal, [0.0]])[1:]
    left = np.maximum(0.5 * spans[:-1], spans[:-1] - before)
    right = np.maximum(0.5 * spans[1:], spans[1:] - behind)
    return np.asarray(np.minimum(ideal, np.minimum(left, right)))


def limited_cuts(points: Array, group: JointGroup, cuts: Array, deviation: float) -> Array:
    """Cuts (m - 2,) reduced so that no joint deviates by more than ``deviation`` at a corner."""
    slopes, _ = _segments(points, group)
    # Its middle is a quarter of (slope behind - slope before) * cut away from the corner.
    turn = np.abs(np.diff(slopes, axis=0)).max(axis=1, initial=0.0)
    return np.asarray(np.minimum(cuts, 4.0 * deviation / np.maximum(turn, 1e-300)))


def proven_cuts(
    view: View, points: Array, group: JointGroup, cuts: Array, required: float | None
) -> Array:
    """Cuts (m - 2,), each halved until its parabola is proven free; 0 if none is."""
    slopes, _ = _segments(points, group)

    def free(i: int, size: float) -> bool:
        piece = _parabola(points[i + 1], slopes[i], slopes[i + 1], size)
        breaks = np.array([0.0, 2.0 * size])
        return view.curve_unproven(breaks, piece[None], required) is None

    def largest(i: int) -> float:
        size = float(cuts[i])
        for halvings in range(_HALVINGS):
            if free(i, size):
                # The cut of twice this size failed, but one between the two may pass.
                more = (1.5 * size, 1.25 * size) if halvings else ()
                return next((larger for larger in more if free(i, larger)), size)
            size *= 0.5
        return 0.0

    return np.array([largest(i) for i in range(len(cuts))])


def round_corners(name: str, points: Array, cuts: Array, group: JointGroup) -> RoundedPath:
    """The polygon (m, k) with corner i rounded from ``cuts[i]`` before to ``cuts[i]`` after it."""
    slopes, spans = _segments(points, group)
    around = np.concatenate([[0.0], cuts, [0.0]])
    sliver = _SLIVER * float(spans.sum())
    lengths: list[float] = []
    pieces: list[Array] = []
    corner: list[int] = []
    stops: list[int] = []
    for i, (slope, span) in enumerate(zip(slopes, spans, strict=True)):
        straight = span - around[i] - around[i + 1]
        if straight > sliver:
            begin = points[i] + slope * around[i]
            pieces.append(np.array([begin, slope, np.zeros_like(slope)]))
            lengths.append(straight)
            corner.append(-1)
        if i + 1 < len(slopes):
            if around[i + 1] > sliver:
                pieces.append(_parabola(points[i + 1], slope, slopes[i + 1], around[i + 1]))
                lengths.append(2.0 * around[i + 1])
                corner.append(i)
            else:
                stops.append(len(pieces))
    breaks = np.concatenate([[0.0], np.cumsum(lengths)])
    turns = sorted(set(stops) - {0, len(pieces)})
    return RoundedPath(name, breaks, np.array(pieces), np.array(corner), tuple(turns))


def _segments(points: Array, group: JointGroup) -> tuple[Array, Array]:
    """Slopes dq/ds (m - 1, k) and lengths in s (m - 1,) of a polygon's segments."""
    steps = np.diff(points, axis=0)
    spans = (np.abs(steps) / group.velocity).max(axis=1)
    return steps / spans[:, None], spans


def _parabola(corner: Array, before: Array, behind: Array, size: float) -> Array:
    """Coefficients (3, k) over s in [0, 2 size], tangent to both segments at its ends."""
    return np.array([corner - size * before, before, (behind - before) / (4.0 * size)])
