"""Exact ranges and lengths of piecewise polynomial curves.

A polynomial's extremes lie at its ends and at the roots of its derivative. Between two neighbouring
roots of *its* derivative that is monotone, so it has one root there or none: from the linear
derivative up all roots are bracketed.
"""

from __future__ import annotations

import numpy as np

from galley.compiled.jit import entry, kernel
from galley.domain.frames import Array

_STEPS = 80  # of a root; bisection alone needs 53
_NEWTON = 1e-15  # step below which a root is found
_HALVINGS = 60  # of an interval of integration
_ACCURACY = 1e-10  # of a length, relative
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)


@entry("f8:1 f8:3 i8 f8:1 f8:1")
@kernel
def ranges(breaks: Array, coefficients: Array, order: int, low: Array, high: Array) -> None:
    """The lowest and highest values (k,) of the derivative of ``order`` of a curve; both written.

    Args:
        breaks, coefficients: (n + 1,), (n, d + 1, k) of a ``Trajectory``.
    """
    n, size, k = coefficients.shape
    row, scratch = np.zeros(max(size - order, 1)), np.empty((2, size + 1))
    chain = np.empty((size, size))
    low[:] = np.inf
    high[:] = -np.inf
    for i in range(n):
        span = breaks[i + 1] - breaks[i]
        for j in range(k):
            for p in range(order, size):
                value = coefficients[i, p, j] * span ** (p - order)
                for r in range(order):
                    value *= p - r
                row[p - order] = value
            count = _turning_points(row, chain, scratch)
            for u in range(count + 2):
                at = scratch[0, u] if u < count else float(u - count)
                value = _value(row, len(row), at)
                low[j], high[j] = min(low[j], value), max(high[j], value)


@entry("f8:1 f8:3")
@kernel
def length(breaks: Array, coefficients: Array) -> float:
    """The integral of the Euclidean norm of a curve's derivative.

    Adaptive Gauss-Legendre quadrature between the turning points of the norm, where it may have
    kinks: a joint reverses while the others are at rest.
    """
    n, size, k = coefficients.shape
    if size < 2:
        return 0.0
    rates, squared = np.empty((size - 1, k)), np.empty(2 * size - 3)
    scratch, chain = np.empty((2, 2 * size)), np.empty((2 * size - 3, 2 * size - 3))
    stack = np.empty((_HALVINGS + 2, 3))
    rough, total = 0.0, 0.0
    for exact in (False, True):
        for i in range(n):
            span = breaks[i + 1] - breaks[i]
            squared[:] = 0.0
            for p in range(1, size):
                for j in range(k):
                    rates[p - 1, j] = coefficients[i, p, j] * p * span**p
                for q in range(1, p + 1):
                    twice = 1.0 if p == q else 2.0
                    for j in range(k):
                        squared[p + q - 2] += twice * rates[p - 1, j] * rates[q - 1, j]
            count = _turning_points(squared, chain, scratch)
            begin = 0.0
            for u in range(count + 1):
                end = scratch[0, u] if u < count else 1.0
                whole = _integral(rates, begin, end)
                if exact:
                    total += _refined(rates, begin, end, whole, _ACCURACY * rough / n, stack)
                else:
                    rough += whole
                begin = end
    return total


@kernel
def _refined(
    rates: Array, begin: float, end: float, whole: float, accuracy: float, stack: Array
) -> float:
    """The length between two parameters, halved where both halves don't add up to the whole."""
    total, depth = 0.0, 1
    stack[0, 0], stack[0, 1], stack[0, 2] = begin, end, whole
    while depth > 0:
        depth -= 1
        a, b, both = stack[depth, 0], stack[depth, 1], stack[depth, 2]
        middle = 0.5 * (a + b)
        left, right = _integral(rates, a, middle), _integral(rates, middle, b)
        if abs(left + right - both) <= accuracy or depth + 2 > _HALVINGS or b - a < _NEWTON:
            total += left + right
        else:
            stack[depth, 0], stack[depth, 1], stack[depth, 2] = middle, b, right
            stack[depth + 1, 0], stack[depth + 1, 1], stack[depth + 1, 2] = a, middle, left
            depth += 2
    return total


@kernel
def _integral(rates: Array, begin: float, end: float) -> float:
    """The integral of the norm of polynomials (d, k), by 8 Gauss points."""
    half, total = 0.5 * (end - begin), 0.0
    for g in range(len(_NODES)):
        u, squared = begin + half * (1.0 + _NODES[g]), 0.0
        for j in range(rates.shape[1]):
            value = 0.0
            for p in range(len(rates) - 1, -1, -1):
                value = value * u + rates[p, j]
            squared += value * value
        total += _WEIGHTS[g] * np.sqrt(squared)
    return total * half


@kernel
def _turning_points(row: Array, chain: Array, spots: Array) -> int:
    """Roots in (0, 1) of the derivative of a polynomial (d + 1,), lowest power first.

    Args:
        chain: scratch for its derivatives.
        spots: (2, d + 1 at least); the first row is written, in order.

    Returns:
        How many.
    """
    degree, count = len(row) - 1, 0
    if degree == 2:
        if row[2] != 0.0 and 0.0 < -0.5 * row[1] / row[2] < 1.0:
            spots[0, 0] = -0.5 * row[1] / row[2]
            return 1
        return 0
    for p in range(degree + 1):
        chain[0, p] = row[p]
    for r in range(1, degree + 1):
        for p in range(degree + 1 - r):
            chain[r, p] = chain[r - 1, p + 1] * (p + 1)
    for r in range(degree - 1, 0, -1):
        slope, size, found = chain[r], degree + 1 - r, 0
        a, at_a = 0.0, slope[0]
        for i in range(count + 1):
            b = spots[0, i] if i < count else 1.0
            at_b = _value(slope, size, b)
            if (at_a < 0.0 < at_b) or (at_b < 0.0 < at_a):
                spots[1, found] = _root(slope, chain[r + 1], size, a, b, at_a)
                found += 1
            elif at_b == 0.0 and b < 1.0:
                spots[1, found] = b
                found += 1
            a, at_a = b, at_b
        for i in range(found):
            spots[0, i] = spots[1, i]
        count = found
    return count


@kernel
def _root(row: Array, slope: Array, size: int, a: float, b: float, at_a: float) -> float:
    """The root of a polynomial that changes its sign between a and b: Newton's, kept inside."""
    u = 0.5 * (a + b)
    for _ in range(_STEPS):
        value = _value(row, size, u)
        if value == 0.0:
            break
        if (value < 0.0) == (at_a < 0.0):
            a = u
        else:
            b = u
        steep = _value(slope, size - 1, u)
        after = u - value / steep if steep != 0.0 else a
        if not a < after < b:
            after = 0.5 * (a + b)
        if abs(after - u) <= _NEWTON:
            break
        u = after
    return u


@kernel
def _value(row: Array, size: int, u: float) -> float:
    """A polynomial of ``size`` coefficients at u, by Horner's rule."""
    value = 0.0
    for p in range(size - 1, -1, -1):
        value = value * u + row[p]
    return value
