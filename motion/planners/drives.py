"""Drives of a differential base: along its heading, forwards or back, and turns on the spot.

Such a base can follow any free path as closely as needed (J.-P. Laumond, P. Jacobs, M. Taix and
R. Murray, "A motion planner for nonholonomic mobile robots", 1994).

1. The planner finds a path as if the base could drive in every direction.
2. Each part of the path is replaced by one or two drives with the turns that they need, if those
   are free; if not, the part is halved (``_part``). One drive needs room to turn into its course.
   Two drives, whose headings differ little from those at the ends, stay near the part, the nearer
   the shorter it is: so halving ends wherever there is some room.
3. Drives between waypoints further apart shorten the result (``_shortened``).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from galley.domain.frames import Array
from galley.robots.model import JointGroup

_HALVINGS = 8  # of a part of the path, after which there is no room to turn along it
_COURSES = 4  # headings of a single drive that are tried, forwards and backwards
_SLANTS = (0.1, -0.1, 0.3, -0.3, 0.8, -0.8)  # rad from the mean heading, of one of two drives
_PARALLEL = 0.05  # sine of the angle between two headings, below which two drives don't differ
_JOINS = 3  # ways tried between two waypoints to shorten the drive
_SAME_SPOT = 1e-6  # m
_ASTERN = 1.0  # s that a metre backwards counts more than a metre forwards

Free = Callable[[Array], bool]


def drivable(points: Array, base: JointGroup, free: Free) -> Array | None:
    """Turns and straight drives that follow a path; None if the path leaves no room to turn.

    Args:
        points: poses (n, 3) of the base, x, y (m) and heading (rad), on a free polygonal line.
        base: the base's joint group.
        free: tells whether the polygonal line through poses (m, 3) is free.

    Returns:
        Poses (m, 3) with the same ends. Between two of them it turns or drives, never both.
    """
    way = points[:1]
    for a, b in itertools.pairwise(points):
        part = _part(a, b, base, free, _HALVINGS)
        if part is None:
            return None
        way = np.vstack([way, part[1:]])
    return _turned_once(_shortened(way, base, free))


def drive_time(points: Array, base: JointGroup) -> float:
    """A lower bound on the time of a drive through poses (m, 3); a metre backwards counts more."""
    steps = np.diff(points, axis=0)
    heading = points[:-1, 2]
    ahead = steps[:, 0] * np.cos(heading) + steps[:, 1] * np.sin(heading)
    turns = np.abs(steps[:, 2]).sum() / base.velocity[2]
    return float(
        turns + np.abs(ahead).sum() / base.velocity[0] + _ASTERN * -ahead.clip(max=0.0).sum()
    )


def _part(a: Array, b: Array, base: JointGroup, free: Free, halvings: int) -> Array | None:
    """A free way (m, 3) from pose a to pose b, in at most 2^halvings parts; None without one."""
    for way in _ways(a, b, base):
        if free(way):
            return way
    if not halvings:
        return None
    # Shorter drives stay nearer to the straight line from a to b, which is free.
    middle = 0.5 * (a + b)
    first = _part(a, middle, base, free, halvings - 1)
    second = None if first is None else _part(middle, b, base, free, halvings - 1)
    return None if first is None or second is None else np.vstack([first, second[1:]])


def _ways(a: Array, b: Array, base: JointGroup) -> list[Array]:
    """Ways from pose a to pose b by one or two drives, each (4 to 6, 3), the fastest first."""
    x, y = b[:2] - a[:2]
    if np.hypot(x, y) < _SAME_SPOT:
        return [np.stack([a, b])]
    # One drive, along the line from a to b: all headings of that line within the joint's range.
    course = np.arctan2(y, x)
    low, high = (base.lower[2] - course) / np.pi, (base.upper[2] - course) / np.pi
    half_turns = np.arange(np.ceil(low), np.floor(high) + 1.0)  # odd: astern
    ways = [_way(a, b, (course + np.pi * k,), (b[:2],)) for k in half_turns]
    ways = sorted(ways, key=lambda way: drive_time(way, base))[:_COURSES]
    # Two drives: along both ends' headings, or one of these and a heading near their mean.
    pairs = [(a[2], b[2])]
    slanted = 0.5 * (a[2] + b[2]) + np.array(_SLANTS)
    for m in slanted[(slanted >= base.lower[2]) & (slanted <= base.upper[2])]:
        pairs += [(m, b[2]), (a[2], m)]
    for first, second in pairs:
        if abs(np.sin(second - first)) > _PARALLEL:
            # The spot between them: a + s u_1 = b - t u_2, solved for s and t.
            u = np.array([[np.cos(h), np.sin(h)] for h in (first, second)])
            between = a[:2] + np.linalg.solve(u.T, (x, y))[0] * u[0]
            if ((between >= base.lower[:2]) & (between <= base.upper[:2])).all():
                ways.append(_way(a, b, (first, second), (between, b[:2])))
    return sorted(ways, key=lambda way: drive_time(way, base))


def _way(a: Array, b: Array, headings: Sequence[float], spots: Sequence[Array]) -> Array:
    """Poses (m, 3) from a to b: turns into each heading and then drives to its spot (2,)."""
    points, spot = [a], a[:2]
    for heading, following in zip(headings, spots, strict=True):
        points += [np.append(spot, heading), np.append(following, heading)]
        spot = following
    return np.array([*points, b])


def _shortened(way: Array, base: JointGroup, free: Free) -> Array:
    """The way with shorter drives: joins each pose to one as far ahead as a faster free way allows.

    From each pose it tries the end, then half as far, and so on.
    """
    k = 0
    while k < len(way) - 2:
        ahead = len(way) - 1 - k
        while ahead > 1:
            now = drive_time(way[k : k + ahead + 1], base) - 1e-6
            joins = _ways(way[k], way[k + ahead], base)[:_JOINS]
            direct = next((j for j in joins if drive_time(j, base) < now and free(j)), None)
            if direct is not None:
                way = np.vstack([way[:k], direct, way[k + ahead + 1 :]])
                break
            ahead //= 2
        k += 1
    return way


def _turned_once(way: Array) -> Array:
    """The way with turns in a row on one spot merged into one.

    The single turn needs no check: it sweeps no more than the turns together did.
    """
    poses = [way[0]]
    for k in range(1, len(way)):
        here = np.hypot(*(way[k, :2] - poses[-1][:2])) < _SAME_SPOT
        again = len(poses) > 1 and np.hypot(*(poses[-1][:2] - poses[-2][:2])) < _SAME_SPOT
        if here and again:
            poses.pop()
        poses.append(way[k])
    return np.array(poses)
