"""Corners of a polygonal path replaced by parabolas, so that it can be driven without a stop.

A corner is cut from a point before it to a point behind it; between them runs the parabola that
leaves along the one segment and arrives along the other. Each is as large as is useful, and no
larger than can be proven free.

Each segment has its own scale: its parameter s grows by 1 while the joint that takes longest goes
as far as its velocity limit lets it in 1 s. So at ds/dt = 1 a joint is at its limit on each
straight piece, and on a parabola no joint above it: slopes there are averages of the two. Metres
and radians need no exchange rate. It is only a parameter: the time law is ``path_timing``'s.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from galley.domain.frames import Array, frozen
from galley.motion.path import Path
from galley.motion.trajectory.timing import corners
from galley.robots.model import JointGroup
from galley.worlds.view import View

DEVIATION = 0.01  # m or rad from a corner, of any joint, where nothing can be proven
_HALVINGS = 7  # of a corner's cut until it is left as it is
_SHORTEST = 1e-9  # of s: what is nearer is one waypoint
_SLIVER = 1e-12  # of all of s: shorter pieces are rounding


@dataclass(frozen=True)
class RoundedPath:
    """A curve over a parameter s, piecewise of degree 1 or 2, with a continuous derivative.

    Attributes:
        group: name of the joint group.
        breaks: (n + 1,) values of s, increasing from 0.
        coefficients: (n, 3, k): on piece i, q is the sum over p of
            ``coefficients[i, p] * (s - breaks[i]) ** p``.
        corner: (n,) which corner of the polygon the piece rounds, from 0; -1 on straight pieces.
        stops: breaks (their indices) at which the path turns on the spot: its derivative jumps.
    """

    group: str
    breaks: Array
    coefficients: Array
    corner: NDArray[np.int64]
    stops: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "breaks", frozen(self.breaks))
        object.__setattr__(self, "coefficients", frozen(self.coefficients))
        object.__setattr__(self, "corner", frozen_indices(self.corner))

    def parts(self) -> tuple[RoundedPath, ...]:
        """The stretches between stops, each with its own s from 0."""
        cuts = (0, *self.stops, len(self.coefficients))
        return tuple(
            RoundedPath(
                self.group,
                self.breaks[i : j + 1] - self.breaks[i],
                self.coefficients[i:j],
                self.corner[i:j],
            )
            for i, j in itertools.pairwise(cuts)
        )


def frozen_indices(values: ArrayLike) -> NDArray[np.int64]:
    """A read-only copy."""
    array = np.array(values, dtype=np.int64)
    array.setflags(write=False)
    return array


def polygon(path: Path, group: JointGroup) -> Array:
    """The waypoints (m, k) at which a path turns, both ends included; one if it goes nowhere.

    Steps of less than a nanosecond at full speed are left out.
    """
    points = corners(path.waypoints)
    far = [points[0]]
    for q in points[1:-1]:
        if (np.abs(q - far[-1]) / group.velocity).max() > _SHORTEST:
            far.append(q)
    while len(far) > 1 and (np.abs(points[-1] - far[-1]) / group.velocity).max() <= _SHORTEST:
        far.pop()
    far.append(points[-1])
    if len(far) == 2 and (np.abs(far[1] - far[0]) / group.velocity).max() <= _SHORTEST:
        return points[:1]
    return corners(np.array(far))


def useful_cuts(points: Array, group: JointGroup) -> Array:
    """How much of s (m - 2,) to cut at most on either side of each corner of a polygon (m, k).

    Twice the parabola that can be passed at ds/dt = 1: larger ones gain next to nothing. Where two
    corners want more than the segment between them has, each gets at least half of it.
    """
    slopes, spans = _segments(points, group)
    wanted = (np.abs(np.diff(slopes, axis=0)) / group.acceleration).max(axis=1, initial=0.0)
    # What the corners at the other ends of the two segments leave; the path's ends want nothing.
    before = np.concatenate([[0.0], wanted])[: len(wanted)]
    behind = np.concatenate([wanted, [0.0]])[1:]
    left = np.maximum(0.5 * spans[:-1], spans[:-1] - before)
    right = np.maximum(0.5 * spans[1:], spans[1:] - behind)
    return np.asarray(np.minimum(wanted, np.minimum(left, right)))


def within(points: Array, group: JointGroup, cuts: Array, deviation: float) -> Array:
    """Those cuts (m - 2,), reduced so that no joint passes a corner by more than ``deviation``."""
    slopes, _ = _segments(points, group)
    # Its middle is a quarter of (slope behind - slope before) * cut away from the corner.
    turn = np.abs(np.diff(slopes, axis=0)).max(axis=1, initial=0.0)
    return np.asarray(np.minimum(cuts, 4.0 * deviation / np.maximum(turn, 1e-300)))


def proven_cuts(
    view: View, points: Array, group: JointGroup, cuts: Array, required: float | None
) -> Array:
    """Those cuts (m - 2,), each halved until its parabola is proven free; 0 where none is."""
    slopes, _ = _segments(points, group)

    def free(i: int, size: float) -> bool:
        piece = _parabola(points[i + 1], slopes[i], slopes[i + 1], size)
        breaks = np.array([0.0, 2.0 * size])
        return view.curve_unproven(breaks, piece[None], required) is None

    def largest(i: int) -> float:
        size = float(cuts[i])
        for halvings in range(_HALVINGS):
            if free(i, size):
                # Somewhat more than half may do, if all did not.
                more = (1.5 * size, 1.25 * size) if halvings else ()
                return next((each for each in more if free(i, each)), size)
            size *= 0.5
        return 0.0

    return np.array([largest(i) for i in range(len(cuts))])


def cut(name: str, points: Array, cuts: Array, group: JointGroup) -> RoundedPath:
    """The polygon (m, k) with corner i rounded from ``cuts[i]`` before it to as much behind it."""
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
