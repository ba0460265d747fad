"""Polynomials by the row: ranges, bounds and subdivision, many at once.

A row (d + 1,) holds a polynomial's coefficients, lowest power first, over the unit interval.
"""

from __future__ import annotations

from functools import cache
from math import comb

import numpy as np

from galley.domain.frames import Array


def derived(rows: Array) -> Array:
    """Coefficients (m, d) of the derivatives of polynomials (m, d + 1), lowest power first."""
    if rows.shape[1] == 1:
        return np.zeros_like(rows)
    return np.asarray(rows[:, 1:] * np.arange(1, rows.shape[1]))


def turning_points(rows: Array) -> Array:
    """Points in [0, 1] (m, d) at which polynomials (m, d + 1) may turn; spare places hold 0.

    Of roots of the derivative that aren't real the real part is given, too: a double root that
    rounding has moved off the axis must not be lost.
    """
    slopes = derived(rows)
    scale = np.abs(slopes).max(axis=1, initial=0.0)
    solid = np.abs(slopes) > 1e-12 * scale[:, None]
    degree = np.where(solid.any(axis=1), slopes.shape[1] - 1 - solid[:, ::-1].argmax(axis=1), 0)
    found = np.zeros((len(rows), slopes.shape[1]))
    for d in range(1, slopes.shape[1]):
        of = np.nonzero(degree == d)[0]
        if len(of):
            found[of, :d] = _real_parts(slopes[of, : d + 1])
    return np.clip(found, 0.0, 1.0)


def ranges(rows: Array) -> tuple[Array, Array]:
    """The lowest and the highest value (m,), (m,) on [0, 1] of polynomials (m, d + 1).

    Exact up to rounding: extremes lie at the ends and at the roots of the derivative.
    """
    if rows.shape[1] <= 2:  # constant or straight: the ends say it all
        ends = np.stack([rows[:, 0], rows.sum(axis=1)])
        return np.asarray(ends.min(axis=0)), np.asarray(ends.max(axis=0))
    if rows.shape[1] == 3:  # a parabola turns once
        bend = 2.0 * rows[:, 2]
        turn = np.clip(-rows[:, 1] / np.where(bend == 0.0, 1.0, bend), 0.0, 1.0)
        middle = rows[:, 0] + turn * (rows[:, 1] + turn * rows[:, 2])
        three = np.stack([rows[:, 0], middle, rows.sum(axis=1)])
        return np.asarray(three.min(axis=0)), np.asarray(three.max(axis=0))
    u = np.column_stack([turning_points(rows), np.zeros(len(rows)), np.ones(len(rows))])
    values = np.zeros_like(u)
    for p in range(rows.shape[1] - 1, -1, -1):  # Horner
        values = values * u + rows[:, p : p + 1]
    return np.asarray(values.min(axis=1)), np.asarray(values.max(axis=1))


def largest(rows: Array) -> Array:
    """The largest magnitude (m,) on [0, 1] of polynomials (m, d + 1)."""
    low, high = ranges(rows)
    return np.maximum(-low, high)


def bounds(rows: Array, cells: int) -> Array:
    """Upper bounds (m, cells) of polynomials' magnitudes on ``cells`` equal parts of [0, 1].

    The largest Bernstein coefficient of each part: never too low, and with growing ``cells`` the
    excess vanishes with their square (G. Farin, Curves and Surfaces for CAGD, section 6.10).
    """
    matrices = _to_bernstein(rows.shape[1] - 1, cells)
    return np.asarray(np.abs(np.einsum("cip,mp->mci", matrices, rows)).max(axis=2))


@cache
def _to_bernstein(degree: int, cells: int) -> Array:
    """(cells, degree + 1, degree + 1): from powers on [0, 1] to Bernstein form on each cell."""
    n = degree + 1
    convert = np.array([[comb(i, p) / comb(degree, p) for p in range(n)] for i in range(n)])
    found = np.empty((cells, n, n))
    for c in range(cells):
        start, size = c / cells, 1.0 / cells
        # u = start + size w: the coefficient of w^p that u^s brings.
        shift = [
            [comb(s, p) * start ** (s - p) * size**p if s >= p else 0.0 for s in range(n)]
            for p in range(n)
        ]
        found[c] = convert @ np.array(shift)
    found.setflags(write=False)
    return found


def _real_parts(rows: Array) -> Array:
    """The real parts (m, d) of the roots of polynomials (m, d + 1), the last of them not 0."""
    d = rows.shape[1] - 1
    if d == 1:
        return np.asarray(-rows[:, :1] / rows[:, 1:])
    companion = np.zeros((len(rows), d, d))
    companion[:, np.arange(1, d), np.arange(d - 1)] = 1.0
    companion[:, :, -1] = -rows[:, :-1] / rows[:, -1:]
    return np.asarray(np.linalg.eigvals(companion).real)
