"""Shortcutting: replaces parts of a path by straight edges where those are free.

R. Geraerts and M. Overmars, "Creating high-quality paths for motion planning" (2007).
"""

from __future__ import annotations

import itertools

import numpy as np

from galley.domain.frames import Array
from galley.motion.edges import Free, edge_free
from galley.motion.path import Path
from galley.motion.space import Space


def shortcut(
    path: Path, space: Space, free: Free, rng: np.random.Generator, tries: int = 60
) -> Path:
    """A path with the same ends, never longer, whose new edges are free.

    Each try joins two random points of the path (not only waypoints) by a straight edge.
    """
    points = list(_without_doubles(path.waypoints))
    for _ in range(tries):
        if len(points) < 3:
            break
        lengths = [float(space.distance(a, b)) for a, b in itertools.pairwise(points)]
        ends = np.concatenate([[0.0], np.cumsum(lengths)])
        low, high = np.sort(rng.uniform(0.0, ends[-1], size=2))
        i = min(int(np.searchsorted(ends, low, side="right")) - 1, len(points) - 2)
        j = min(int(np.searchsorted(ends, high, side="right")) - 1, len(points) - 2)
        if i == j:
            continue
        a = _at(points, lengths, ends, i, float(low))
        b = _at(points, lengths, ends, j, float(high))
        saved = high - low - float(space.distance(a, b))
        if saved > 1e-6 * ends[-1] and edge_free(space, free, a, b):
            points = [*points[: i + 1], a, b, *points[j + 1 :]]
    return Path(path.group, np.array(_straightened(points, space, free)))


def _at(points: list[Array], lengths: list[float], ends: Array, k: int, s: float) -> Array:
    share = (s - float(ends[k])) / lengths[k] if lengths[k] > 0 else 0.0
    return np.asarray(points[k] + share * (points[k + 1] - points[k]))


def _straightened(points: list[Array], space: Space, free: Free) -> list[Array]:
    """Drops every waypoint whose neighbours can be joined directly, in one pass from the start."""
    kept = [points[0]]
    for k in range(1, len(points) - 1):
        if not edge_free(space, free, kept[-1], points[k + 1]):
            kept.append(points[k])
    kept.append(points[-1])
    return kept


def _without_doubles(points: Array) -> Array:
    keep = np.ones(len(points), dtype=bool)
    keep[1:] = np.abs(np.diff(points, axis=0)).max(axis=1) > 1e-12
    return points[keep] if keep.sum() > 1 else points[:1]
