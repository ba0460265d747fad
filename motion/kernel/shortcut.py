"""Shortcutting: shortens a path by local changes whose new edges are free.

There are three changes. Each is made only if it shortens the path, and keeps the path's ends:

- *drop*: where a free edge joins two vertices, those between them are removed,
- *cut*: a straight edge joins two random points of the path (R. Geraerts and M. Overmars,
  "Creating high-quality paths for motion planning", 2007),
- *relax*: between two random points one joint moves evenly and the others as before (the "partial
  shortcut" of the same paper).

``shorten`` drops vertices first, then tries random cuts and relaxations until its budget is spent
or several in a row gain nothing, and drops once more. Nothing is allocated after the start: the
path is changed in place in a buffer with room for all tries.
"""

from __future__ import annotations

import numpy as np

from galley.compiled.annotations import Configuration, Configurations, Float, Int, Matrix, Vector
from galley.compiled.jit import bare_kernel, entry, inlined, kernel
from galley.domain.frames import Array
from galley.motion.kernel.checks import edge_free, edges_free
from galley.motion.kernel.polyline import (
    copy,
    distance,
    first_rows,
    interpolate,
    length,
    without_duplicates,
)
from galley.motion.kernel.rules import BOX, RULES, Rules, SearchBox
from galley.motion.kernel.sampling import RandomState, below, seeded, uniform

_GAIN = 5e-3  # share of the length; a smaller gain is not worth its collision checks
_RELAX = 0.7  # share of the tries; the rest are cuts. With cuts alone, paths of an arm stay longer.


@kernel
def shorten(
    table: Int,
    box: SearchBox,
    rules: Rules,
    path: Configurations,
    tries: int,
    patience: int,
    state: RandomState,
) -> Array:
    """A path (m, k) with the same ends, never longer, whose new edges are free.

    Args:
        table: the collision view's table of addresses (rows, 3).
        box: gives the metric in which the path is shortened.
        rules: what counts as a free edge.
        path: (n, k), its edges free.
        tries: most random changes to try.
        patience: tries in a row without a gain after which it stops.
        state: of the random generator (4,); advanced.
    """
    # Doubles are edges of no length, which would only cost collision checks.
    points = without_duplicates(path)
    n, k = points.shape
    if n < 3:
        return points
    # A change adds at most two vertices.
    room = n + 2 * tries + 2
    buffer, spare = np.empty((room, k)), np.empty((room, k))
    for i in range(n):
        copy(points[i], buffer[i])
    gaps, scratch = np.empty(room), np.empty((3, k))
    n = drop(table, rules, buffer, n)
    n = _improve(table, box, rules, buffer, spare, gaps, scratch, n, tries, patience, state)
    return first_rows(buffer, n)


@bare_kernel
def drop(table: Int, rules: Rules, points: Configurations, n: int) -> int:
    """Removes vertices from the first n rows of ``points``; returns how many are left.

    From each vertex it tries the longest edge first.
    """
    i = 0
    while i + 2 < n:
        # From the path's end backwards: the first free edge then removes the most vertices. The
        # edge to the next vertex is part of the path, so it needs no check.
        for j in range(n - 1, i + 1, -1):
            if edge_free(table, rules, points[i], points[j]):
                for m in range(n - j):
                    copy(points[j + m], points[i + 1 + m])
                n -= j - i - 1
                break
        i += 1
    return n


@inlined
def _improve(
    table: Int,
    box: SearchBox,
    rules: Rules,
    points: Configurations,
    spare: Configurations,
    gaps: Vector,
    scratch: Matrix,
    n: int,
    tries: int,
    patience: int,
    state: RandomState,
) -> int:
    """Random cuts and relaxations of the first n rows of ``points``; returns how many it has then.

    ``points`` (room, k) is changed in place; ``spare`` (room, k), ``gaps`` (room,) and ``scratch``
    (3, k) are overwritten.
    """
    weights = box.weights
    total = _measure(points, n, weights, gaps)
    idle, changed = 0, False
    for _ in range(tries):
        if n < 3 or idle >= patience:
            break
        if uniform(state) < _RELAX:
            m = _relax(table, box, rules, points, spare, n, gaps, total, state)
        else:
            m = _cut(table, box, rules, points, n, gaps, scratch, total, state)
        idle += 1
        if m > 0:
            n = m
            idle = 0
            changed = True
            total = _measure(points, n, weights, gaps)
    # Changes may have brought vertices into sight of each other. Without one, the drop before this
    # call has tried every edge already.
    return drop(table, rules, points, n) if changed else n


@bare_kernel
def _measure(points: Configurations, n: int, weights: Configuration, gaps: Vector) -> float:
    """Fill ``gaps`` (room,) with the lengths of the n - 1 edges and return their sum."""
    total = 0.0
    for i in range(n - 1):
        gaps[i] = distance(points[i], points[i + 1], weights)
        total += gaps[i]
    return total


@bare_kernel
def _point_at(points: Float, gaps: Float, n: int, s: float, out: Float) -> tuple[int, float]:
    """Fill out (k,) with the point at length s along the path ``points`` (room, k).

    Returns the index of the edge that the point is on, and how far along it is as a share of the
    edge. ``gaps`` (room,) holds the lengths of the edges.
    """
    i = 0
    # The last edge takes what rounding leaves of s.
    while i < n - 2 and s > gaps[i]:
        s -= gaps[i]
        i += 1
    share = min(1.0, s / gaps[i]) if gaps[i] > 0.0 else 0.0
    interpolate(points[i], points[i + 1], share, out)
    return i, share


@inlined
def _cut(
    table: Int,
    box: SearchBox,
    rules: Rules,
    points: Configurations,
    n: int,
    gaps: Vector,
    scratch: Matrix,
    total: float,
    state: RandomState,
) -> int:
    """Joins two random points of the path by a straight edge, if that is shorter and free.

    ``gaps`` (room,) holds the lengths of the edges and ``total`` their sum; ``scratch`` (3, k) is
    overwritten. Returns the new number of vertices, or 0 without a change.
    """
    # Uniform along the path's length, so that longer edges are chosen more often.
    low, high = uniform(state) * total, uniform(state) * total
    if high < low:
        low, high = high, low
    a, b = scratch[0], scratch[1]
    i, _ = _point_at(points, gaps, n, low, a)
    j, _ = _point_at(points, gaps, n, high, b)
    # On one edge there is nothing to gain. The gain costs nothing to compute, the edge's collision
    # check a lot: so the gain is looked at first.
    if i == j or high - low - distance(a, b, box.weights) < _GAIN * total:
        return 0
    if n - (j - i) + 2 > len(points) or not edge_free(table, rules, a, b):
        return 0
    # Vertices i + 1 to j give way to a and b. What is left of the edges i and j is free, as they
    # were.
    _splice(points, n, j + 1, i + 3)
    copy(a, points[i + 1])
    copy(b, points[i + 2])
    return n - (j - i) + 2


@bare_kernel
def _splice(points: Configurations, n: int, first: int, to: int) -> None:
    """Move the rows ``first`` to n - 1 of ``points`` so that they begin at row ``to``."""
    # The old and the new rows overlap: go in the order that never overwrites a row still to move.
    if to <= first:
        for m in range(n - first):
            copy(points[first + m], points[to + m])
    else:
        for m in range(n - first - 1, -1, -1):
            copy(points[first + m], points[to + m])


@inlined
def _relax(
    table: Int,
    box: SearchBox,
    rules: Rules,
    points: Configurations,
    spare: Configurations,
    n: int,
    gaps: Vector,
    total: float,
    state: RandomState,
) -> int:
    """Moves one joint evenly between two random points of the path, if that is shorter and free.

    The other joints move as before. ``gaps`` (room,) holds the lengths of the edges and ``total``
    their sum; ``spare`` (room, k) is overwritten. Returns the new number of vertices, or 0 without
    a change.
    """
    low, high = uniform(state) * total, uniform(state) * total
    if high < low:
        low, high = high, low
    joint = below(state, points.shape[1])
    i, share = _point_at(points, gaps, n, low, spare[0])
    j, _ = _point_at(points, gaps, n, high, spare[1])
    if i == j or n + 2 > len(points):
        return 0
    m = j - i + 2  # points of the new part: the first one, the vertices between, the second one
    copy(spare[1], spare[m - 1])
    for v in range(1, m - 1):
        copy(points[i + v], spare[v])
    # The joint's values become proportional to the length of the old path up to each vertex.
    begin, end = spare[0, joint], spare[m - 1, joint]
    done = (1.0 - share) * gaps[i]
    for v in range(1, m - 1):
        spare[v, joint] = begin + (end - begin) * done / (high - low)
        done += gaps[i + v]
    # As in ``_cut``: the gain first, because it needs no collision checks.
    if high - low - length(spare, m, box.weights) < _GAIN * total:
        return 0
    if not edges_free(table, rules, spare, m):
        return 0
    # The new part replaces vertices i + 1 to j.
    _splice(points, n, j + 1, i + 1 + m)
    for v in range(m):
        copy(spare[v], points[i + 1 + v])
    return n + 2


@entry("i8:2", BOX, RULES, "f8:2 i8 i8 i8")
@kernel
def shorten_seeded(
    table: Int,
    box: SearchBox,
    rules: Rules,
    path: Configurations,
    tries: int,
    patience: int,
    seed: int,
) -> Array:
    """``shorten`` for Python: takes a seed instead of a generator's state."""
    return shorten(table, box, rules, path, tries, patience, seeded(seed, 0))
