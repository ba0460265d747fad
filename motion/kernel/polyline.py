"""Lengths, points and copies of polygonal paths (n, k)."""

from __future__ import annotations

import math

import numpy as np

from galley.compiled.jit import bare_kernel, inlined, kernel
from galley.domain.frames import Array


@bare_kernel
def distance(a: Array, b: Array, weights: Array) -> float:
    """|weights * (a - b)|."""
    total = 0.0
    for j in range(len(a)):
        off = weights[j] * (a[j] - b[j])
        total += off * off
    return math.sqrt(total)


@inlined
def length(path: Array, n: int, weights: Array) -> float:
    """Length of the path through the first ``n`` rows."""
    total = 0.0
    for i in range(1, n):
        total += distance(path[i - 1], path[i], weights)
    return total


@bare_kernel
def copy(a: Array, out: Array) -> None:
    """Fill out (k,) with a; ``out[:] = a`` would allocate, in case the two overlap."""
    for j in range(len(a)):
        out[j] = a[j]


@bare_kernel
def between(a: Array, b: Array, share: float, out: Array) -> None:
    """Fill out (k,) with the point at ``share`` of the way from a to b."""
    for j in range(len(a)):
        out[j] = a[j] + share * (b[j] - a[j])


@bare_kernel
def steer(a: Array, b: Array, gap: float, radius: float, out: Array) -> None:
    """Fill out (k,) with b, or with the point ``radius`` from a towards it if ``gap`` is more.

    ``gap`` is the distance of a and b.
    """
    if gap <= radius:
        copy(b, out)
    else:
        between(a, b, radius / gap, out)


@kernel
def first_rows(path: Array, n: int) -> Array:
    """A copy of the first ``n`` rows."""
    rows = np.empty((n, path.shape[1]))
    for i in range(n):
        copy(path[i], rows[i])
    return rows


@inlined
def without_doubles(path: Array) -> Array:
    """The path without rows equal to the one before (within 1e-12); at least one row is left."""
    n, k = path.shape
    kept = np.empty(path.shape)
    copy(path[0], kept[0])
    m = 1
    for i in range(1, n):
        same = True
        for j in range(k):
            same = same and abs(path[i, j] - kept[m - 1, j]) <= 1e-12
        if not same:
            copy(path[i], kept[m])
            m += 1
    if m > 1:
        copy(path[n - 1], kept[m - 1])  # the end stays what it was, to the last bit
    return first_rows(kept, m)
