"""Shortens paths by local changes whose new edges are free.

Three changes, each made only if it shortens the path; the ends stay:

- *drop*: vertices between two that a free edge joins are left out,
- *cut*: two random points of the path are joined (R. Geraerts and M. Overmars, "Creating
  high-quality paths for motion planning", 2007),
- *relax*: one joint moves evenly between two random points, the others as before (the "partial
  shortcut" of the same paper).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from galley.compiled.jit import bare_kernel, entry, inlined, kernel
from galley.domain.frames import Array
from galley.motion.kernel.checks import edge_free, edges_free
from galley.motion.kernel.polyline import (
    between,
    copy,
    distance,
    first_rows,
    length,
    without_doubles,
)
from galley.motion.kernel.rules import BOX, RULES, Box, Rules
from galley.motion.kernel.sampling import below, seeded, uniform

_GAIN = 5e-3  # share of the length; a smaller gain is not worth its collision checks
_RELAX = 0.7  # share of the tries; the rest are cuts. With cuts alone, paths of an arm stay longer.


@kernel
def shorten(
    table: Any,
    box: Box,
    rules: Rules,
    path: Array,
    tries: int,
    patience: int,
    state: Any,
) -> Array:
    """A path with the same ends, never longer, whose new edges are free.

    Args:
        path: (n, k), its edges free.
        tries: random changes at most.
        patience: stops after this many tries in a row without a gain.
        state: of the random generator; advanced.
    """
    points = without_doubles(path)
    n, k = points.shape
    if n < 3:
        return points
    room = n + 2 * tries + 2
    buffer, spare = np.empty((room, k)), np.empty((room, k))
    for i in range(n):
        copy(points[i], buffer[i])
    gaps, scratch = np.empty(room), np.empty((3, k))
    n = drop(table, rules, buffer, n)
    n = _improve(table, box, rules, buffer, spare, gaps, scratch, n, tries, patience, state)
    return first_rows(buffer, n)


@bare_kernel
def drop(table: Any, rules: Rules, points: Array, n: int) -> int:
    """Removes vertices, trying the longest edge from each first; the number of vertices left."""
    i = 0
    while i + 2 < n:
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
    table: Any,
    box: Box,
    rules: Rules,
    points: Array,
    spare: Array,
    gaps: Array,
    scratch: Array,
    n: int,
    tries: int,
    patience: int,
    state: Any,
) -> int:
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
    return drop(table, rules, points, n) if changed else n


@bare_kernel
def _measure(points: Array, n: int, weights: Array, gaps: Array) -> float:
    """Fill gaps with the lengths of the edges and return their sum."""
    total = 0.0
    for i in range(n - 1):
        gaps[i] = distance(points[i], points[i + 1], weights)
        total += gaps[i]
    return total


@bare_kernel
def _place(points: Array, gaps: Array, n: int, s: float, out: Array) -> tuple[int, float]:
    """Fill out (k,) with the point at length s; the edge it is on, and the share of that edge."""
    i = 0
    while i < n - 2 and s > gaps[i]:
        s -= gaps[i]
        i += 1
    share = min(1.0, s / gaps[i]) if gaps[i] > 0.0 else 0.0
    between(points[i], points[i + 1], share, out)
    return i, share


@inlined
def _cut(
    table: Any,
    box: Box,
    rules: Rules,
    points: Array,
    n: int,
    gaps: Array,
    scratch: Array,
    total: float,
    state: Any,
) -> int:
    """Joins two random points of the path; the new number of vertices, 0 without a change."""
    low, high = uniform(state) * total, uniform(state) * total
    if high < low:
        low, high = high, low
    a, b = scratch[0], scratch[1]
    i, _ = _place(points, gaps, n, low, a)
    j, _ = _place(points, gaps, n, high, b)
    if i == j or high - low - distance(a, b, box.weights) < _GAIN * total:
        return 0
    if n - (j - i) + 2 > len(points) or not edge_free(table, rules, a, b):
        return 0
    _splice(points, n, j + 1, i + 3)
    copy(a, points[i + 1])
    copy(b, points[i + 2])
    return n - (j - i) + 2


@bare_kernel
def _splice(points: Array, n: int, first: int, to: int) -> None:
    """Move the rows ``first`` to n - 1 so that they begin at row ``to``."""
    if to <= first:
        for m in range(n - first):
            copy(points[first + m], points[to + m])
    else:
        for m in range(n - first - 1, -1, -1):
            copy(points[first + m], points[to + m])


@inlined
def _relax(
    table: Any,
    box: Box,
    rules: Rules,
    points: Array,
    spare: Array,
    n: int,
    gaps: Array,
    total: float,
    state: Any,
) -> int:
    """Moves one joint evenly between two random points; the new number of vertices, or 0."""
    low, high = uniform(state) * total, uniform(state) * total
    if high < low:
        low, high = high, low
    joint = below(state, points.shape[1])
    i, share = _place(points, gaps, n, low, spare[0])
    j, _ = _place(points, gaps, n, high, spare[1])
    if i == j or n + 2 > len(points):
        return 0
    m = j - i + 2  # points of the new part: i's, the vertices between, j's
    copy(spare[1], spare[m - 1])
    for v in range(1, m - 1):
        copy(points[i + v], spare[v])
    begin, end = spare[0, joint], spare[m - 1, joint]
    done = (1.0 - share) * gaps[i]
    for v in range(1, m - 1):
        spare[v, joint] = begin + (end - begin) * done / (high - low)
        done += gaps[i + v]
    if high - low - length(spare, m, box.weights) < _GAIN * total:
        return 0
    if not edges_free(table, rules, spare, m):
        return 0
    _splice(points, n, j + 1, i + 1 + m)
    for v in range(m):
        copy(spare[v], points[i + 1 + v])
    return n + 2


@entry("i8:2", BOX, RULES, "f8:2 i8 i8 i8")
@kernel
def shorten_seeded(
    table: Any,
    box: Box,
    rules: Rules,
    path: Array,
    tries: int,
    patience: int,
    seed: int,
) -> Array:
    """``shorten`` with a seed instead of a generator's state: an entry for Python."""
    return shorten(table, box, rules, path, tries, patience, seeded(seed, 0))
