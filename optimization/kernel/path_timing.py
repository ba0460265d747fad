"""The two passes of time-optimal path parametrisation (TOPP-RA), on lines and parabolas.

The backward pass finds at each grid point the largest x from which the rest of the path can be
followed within the limits. The forward pass then accelerates as hard as these values allow.

The state is x = (ds/dt)^2. The control u = d2s/dt2 is constant on an interval of the grid, where x
grows by 2 u per unit of s. On an interval of length D with slopes p = q'(s_i), e = q'(s_i+1) and
constant q'' = c, limits hold at *every* s if they hold for these values, all linear in (u, x):

- acceleration: p u + c x and e u + c (x + 2 D u), because q' u + c x is linear in s;
- velocity: the Bernstein coefficients of the cubic q'^2 x(s), which bound it.

A straight piece is one interval, within which the rate rises and falls again; the caller adds the
grid points of that.
"""

from __future__ import annotations

import numpy as np

from galley.compiled.annotations import Configuration, Matrix, Vector
from galley.compiled.jit import entry, inlined, kernel

_FLAT = 1e-12  # coefficients of u below this do not limit u
_STEPS = 60  # of Newton's method at most; it takes far fewer


@entry("f8:2 f8:2 f8:2 f8:1 f8:1 f8:1 f8:1")
@kernel
def rates(
    slopes: Matrix,
    ends: Matrix,
    bends: Matrix,
    spans: Vector,
    velocity: Configuration,
    acceleration: Configuration,
    x: Vector,
) -> bool:
    """The largest x (n + 1,) at the grid points, at rest at both ends; returns whether it exists.

    H. Pham and Q.-C. Pham, "A new approach to time-optimal path parameterization based on
    reachability analysis" (2018). Without dynamics the controllable sets begin at 0, so only their
    upper ends are kept.

    Args:
        slopes: q' at the beginning of each interval (n, k).
        ends: q' at the end of each interval (n, k).
        bends: q'' on each interval (n, k); all 0 on a straight piece.
        spans: lengths of the intervals (n,), in s.
        velocity: limits of the joints' velocities (k,).
        acceleration: limits of the joints' accelerations (k,).
        x: (n + 1,), overwritten.
    """
    n, k = slopes.shape
    rows = np.empty((8 * k + 2, 3))
    top = np.zeros(n + 1)  # backward pass: the controllable sets' upper ends
    for i in range(n - 1, -1, -1):
        # A straight piece needs no linear program: one joint limits the rate, one its change.
        if not bends[i].any():
            fastest, hardest = _straight_limits(slopes[i], velocity, acceleration)
            top[i + 1] = min(top[i + 1], fastest)
            top[i] = min(fastest, top[i + 1] + 2.0 * hardest * spans[i])
        else:
            _limits(
                slopes[i], ends[i], bends[i], spans[i], velocity, acceleration, top[i + 1], rows
            )
            top[i] = _greatest_x(rows)
    x[0] = 0.0  # forward pass: the largest u that leads into the next set
    for i in range(n):
        if not bends[i].any():
            _, hardest = _straight_limits(slopes[i], velocity, acceleration)
            x[i + 1] = min(top[i + 1], x[i] + 2.0 * hardest * spans[i])
        else:
            _limits(
                slopes[i], ends[i], bends[i], spans[i], velocity, acceleration, top[i + 1], rows
            )
            # Rounding may lead a little outside of [0, top]: it is cut off.
            _, u, _, _ = _range_of_u(rows, x[i])
            x[i + 1] = min(max(x[i] + 2.0 * spans[i] * u, 0.0), top[i + 1])
            if x[i] <= 0.0 and x[i + 1] <= 0.0:
                return False  # it would never leave rest
    return True


@inlined
def _straight_limits(slope: Vector, velocity: Vector, acceleration: Vector) -> tuple[float, float]:
    """The largest x and the largest |u| on a straight piece of slope q' (k,)."""
    fastest, hardest = 1e300, 1e300
    for j in range(len(slope)):
        size = abs(slope[j])
        # Joints that hardly move limit nothing, and the division would overflow.
        if size * 1e150 > velocity[j]:
            fastest = min(fastest, (velocity[j] / size) ** 2)
            hardest = min(hardest, acceleration[j] / size)
    return fastest, hardest


@kernel
def _limits(
    slope: Configuration,
    end: Configuration,
    bend: Configuration,
    span: float,
    velocity: Configuration,
    acceleration: Configuration,
    top: float,
    rows: Matrix,
) -> None:
    """Write the constraints of one interval into rows (8 k + 2, 3): (a, b, c) is a u + b x <= c.

    Each joint has four rows for its acceleration and four for its velocity. The last two rows keep
    x at the interval's end within the next controllable set, [0, top].
    """
    m = 0
    for j in range(len(slope)):
        p, e, c = slope[j], end[j], bend[j]
        late = e + 2.0 * span * c
        for sign in (1.0, -1.0):
            rows[m, 0], rows[m, 1], rows[m, 2] = sign * p, sign * c, acceleration[j]
            rows[m + 1, 0], rows[m + 1, 1] = sign * late, sign * c
            rows[m + 1, 2] = acceleration[j]
            m += 2
        # The four Bernstein coefficients of q'^2 x(s), each at most the squared limit.
        square = velocity[j] ** 2
        rows[m, 0], rows[m, 1], rows[m, 2] = 0.0, p * p, square
        rows[m + 1, 0], rows[m + 1, 1] = 2.0 * span * p * p, p * p + 2.0 * p * e
        rows[m + 2, 0], rows[m + 2, 1] = 4.0 * span * p * e, e * e + 2.0 * p * e
        rows[m + 1, 2] = rows[m + 2, 2] = 3.0 * square
        rows[m + 3, 0], rows[m + 3, 1], rows[m + 3, 2] = 2.0 * span * e * e, e * e, square
        m += 4
    rows[m, 0], rows[m, 1], rows[m, 2] = 2.0 * span, 1.0, top
    rows[m + 1, 0], rows[m + 1, 1], rows[m + 1, 2] = -2.0 * span, -1.0, 0.0


@kernel
def _range_of_u(rows: Matrix, x: float) -> tuple[float, float, int, int]:
    """The smallest and the largest u that ``rows`` (r, 3) allow at x, and the rows that say so."""
    low, high, at_low, at_high = -1e300, 1e300, -1, -1
    for m in range(len(rows)):
        a = rows[m, 0]
        if a > _FLAT:
            u = (rows[m, 2] - rows[m, 1] * x) / a
            if u < high:
                high, at_high = u, m
        elif a < -_FLAT:
            u = (rows[m, 2] - rows[m, 1] * x) / a
            if u > low:
                low, at_low = u, m
    return low, high, at_low, at_high


@inlined
def _greatest_x(rows: Matrix) -> float:
    """Solves a linear program: the largest x for which ``rows`` (r, 3) allow a u.

    x = u = 0 is always feasible.

    The width of the range of u is concave and piecewise linear in x. Newton's method from the right
    never passes its root, and reaches it in finitely many steps: each drops a line.
    """
    x = 1e12
    for m in range(len(rows)):
        if abs(rows[m, 0]) <= _FLAT and rows[m, 1] * x > rows[m, 2]:
            x = rows[m, 2] / rows[m, 1]
    for _ in range(_STEPS):
        low, high, i, j = _range_of_u(rows, x)
        if low <= high:
            break
        # The two lines that cross bound u at this x; they meet at a smaller x, which is next.
        narrowing = rows[j, 1] / rows[j, 0] - rows[i, 1] / rows[i, 0]
        left = (rows[j, 2] / rows[j, 0] - rows[i, 2] / rows[i, 0]) / narrowing
        if not left < x:
            break
        x = max(left, 0.0)
    # A little less, so that rounding does not make x infeasible in the forward pass.
    return x * (1.0 - 1e-12)
