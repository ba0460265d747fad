"""Lengths, points and copies of polygonal paths (n, k)."""

from __future__ import annotations

import math

import numpy as np

from galley.compiled.annotations import Configuration, Configurations, Float
from galley.compiled.jit import bare_kernel, inlined, kernel
from galley.domain.frames import Array


@bare_kernel
def distance(a: Configuration, b: Configuration, weights: Configuration) -> float:
    """|weights * (a - b)|, the distance of two configurations (k,) in the metric of the box."""
    total = 0.0
    for j in range(len(a)):
        off = weights[j] * (a[j] - b[j])
        total += off * off
    return math.sqrt(total)


@inlined
def length(path: Configurations, n: int, weights: Configuration) -> float:
    """Length of the path through the first ``n`` rows of ``path``, in the metric of ``weights``."""
    total = 0.0
    for i in range(1, n):
        total += distance(path[i - 1], path[i], weights)
    return total


@bare_kernel
def copy(a: Configuration, out: Configuration) -> None:
    """Fill out (k,) with a (k,)."""
    # ``out[:] = a`` would allocate, in case the two overlap.
    for j in range(len(a)):
        out[j] = a[j]


@bare_kernel
def interpolate(a: Configuration, b: Configuration, share: float, out: Configuration) -> None:
    """Fill out (k,) with the point at ``share``, in [0, 1], of the straight line from a to b."""
    for j in range(len(a)):
        out[j] = a[j] + share * (b[j] - a[j])


@bare_kernel
def steer(a: Configuration, b: Configuration, gap: float, radius: float, out: Float) -> None:
    """Fill out (k,) with b, or with the point at distance ``radius`` from a towards b if nearer.

    ``gap`` is the distance between a and b.
    """
    if gap <= radius:
        # b itself rather than a share of the way: rounding would miss it.
        copy(b, out)
    else:
        interpolate(a, b, radius / gap, out)


@kernel
def first_rows(path: Configurations, n: int) -> Array:
    """A copy (n, k) of the first ``n`` rows of ``path``."""
    rows = np.empty((n, path.shape[1]))
    for i in range(n):
        copy(path[i], rows[i])
    return rows


@inlined
def without_duplicates(path: Configurations) -> Array:
    """The path without rows equal to the row before (within 1e-12); at least one row is left."""
    n, k = path.shape
    rows = np.empty(path.shape)
    copy(path[0], rows[0])
    m = 1
    for i in range(1, n):
        same = True
        for j in range(k):
            same = same and abs(path[i, j] - rows[m - 1, j]) <= 1e-12
        if not same:
            copy(path[i], rows[m])
            m += 1
    if m > 1:
        copy(path[n - 1], rows[m - 1])  # the last waypoint is kept to the last bit
    return first_rows(rows, m)
