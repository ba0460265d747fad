"""Drives of a differential base: along its heading, forwards or back, and turns on the spot.

Such a base can come as near to any free path as is wanted (J.-P. Laumond, P. Jacobs, M. Taix and
R. Murray, "A motion planner for nonholonomic mobile robots", 1994). So a path of a base that drives
every way is taken first, and each part of it replaced by a turn, a drive and a turn where those are
free; else the part is halved. Then drives between waypoints that lie further apart shorten it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from galley.domain.frames import Array
from galley.robots.model import JointGroup

_HALVINGS = 7  # of a part of the path: then there is no room to turn along it
_WAYS = 4  # tried between two poses
_SAME_SPOT = 1e-6  # m
_ASTERN = 1.0  # s that a metre backwards counts more than a metre forwards

Free = Callable[[Array], bool]


def drivable(points: Array, base: JointGroup, free: Free) -> Array | None:
    """Turns and straight drives that follow a path; None where it leaves no room to turn.

    Args:
        points: poses (n, 3) of the base, x, y (m) and heading (rad), on a free polygonal line.
        base: the joint group.
        free: whether the polygonal line through poses (m, 3) is free.

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


def seconds(points: Array, base: JointGroup) -> float:
    """A lower bound on the time of a drive through poses (m, 3); a metre backwards counts more."""
    steps = np.diff(points, axis=0)
    heading = points[:-1, 2]
    ahead = steps[:, 0] * np.cos(heading) + steps[:, 1] * np.sin(heading)
    turns = np.abs(steps[:, 2]).sum() / base.velocity[2]
    return float(
        turns + np.abs(ahead).sum() / base.velocity[0] + _ASTERN * -ahead.clip(max=0.0).sum()
    )


def _part(a: Array, b: Array, base: JointGroup, free: Free, halvings: int) -> Array | None:
    for way in _turn_drive_turn(a, b, base):
        if free(way):
            return way
    if not halvings:
        return None
    middle = 0.5 * (a + b)
    first = _part(a, middle, base, free, halvings - 1)
    second = None if first is None else _part(middle, b, base, free, halvings - 1)
    return None if first is None or second is None else np.vstack([first, second[1:]])


def _turn_drive_turn(a: Array, b: Array, base: JointGroup) -> list[Array]:
    """Ways (4, 3) from pose a to pose b, forwards and backwards, the fastest first."""
    x, y = b[:2] - a[:2]
    if np.hypot(x, y) < _SAME_SPOT:
        return [np.stack([a, b])]
    course = np.arctan2(y, x)
    low, high = (base.lower[2] - course) / np.pi, (base.upper[2] - course) / np.pi
    ways = []
    for half_turns in range(int(np.ceil(low)), int(np.floor(high)) + 1):  # odd: backwards
        heading = course + np.pi * half_turns
        ways.append(np.array([a, [*a[:2], heading], [*b[:2], heading], b]))
    return sorted(ways, key=lambda way: seconds(way, base))[:_WAYS]


def _shortened(way: Array, base: JointGroup, free: Free) -> Array:
    """Each pose joined to the farthest from which that is free and faster."""
    k = 0
    while k < len(way) - 2:
        for last in range(len(way) - 1, k + 1, -1):
            now = seconds(way[k : last + 1], base)
            direct = _turn_drive_turn(way[k], way[last], base)[0]
            if seconds(direct, base) < now - 1e-6 and free(direct):
                way = np.vstack([way[:k], direct, way[last + 1 :]])
                break
        k += 1
    return way


def _turned_once(way: Array) -> Array:
    """Turns on one spot in a row as one: what it sweeps, they swept."""
    kept = [way[0]]
    for k in range(1, len(way)):
        here = np.hypot(*(way[k, :2] - kept[-1][:2])) < _SAME_SPOT
        again = len(kept) > 1 and np.hypot(*(kept[-1][:2] - kept[-2][:2])) < _SAME_SPOT
        if here and again:
            kept.pop()
        kept.append(way[k])
    return np.array(kept)
