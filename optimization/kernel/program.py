"""The quadratic program of a round of ``smooth``, by a primal-dual interior-point method.

minimise 1/2 z H z + c z subject to A z <= b, where z is the steps of the control points, the change
of tau, and the slacks. A row of A depends on four consecutive control points at most, on tau, and
on the slack of its own state. So in Newton's matrix H + A' W A the slacks are eliminated one by
one, tau is a border, and the rest is a narrow band, factorised by Cholesky's method.

S. Mehrotra, "On the implementation of a primal-dual interior point method" (1992); J. Nocedal and
S. Wright, "Numerical Optimization" (2006), 16.6, for quadratic programs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from galley.compiled.jit import entry, fast_kernel
from galley.domain.frames import Array

WIDTH = 4  # consecutive control points on which a row depends
FIXED = 3  # control points at each end that don't move
_ITERATIONS = 60
_SHARE = 0.99  # of the way to the nearest bound
_FASTER = 0.1  # change of tau at the start
_NEARER = 1e-3  # least room of limits and bounds at the start
_CENTRE = 0.2  # room times multiplier at the start, in units of tau
_BISECTIONS = 12
_PAD = 3  # zeros in front of a row of the band
_FLAT = 1e-3  # of the cost's gradient, for which the cost has weights of 1 and more


class _Program(NamedTuple):
    """Arguments of ``solve`` under the same names; ``shape``: (m, k)."""

    shape: tuple[int, int]
    limits: Array
    limits_at: NDArray[np.int64]
    order: NDArray[np.int64]
    shares: Array
    states: Array
    states_at: NDArray[np.int64]
    pairs: NDArray[np.int64]
    gradient: Array
    pull: Array
    turn: Array


@entry(
    "f8:2 i8:1 i8:1 f8:2 f8:2 f8:2 i8:1 i8:1 f8:2 f8:1 f8:2 f8:2 f8:2 f8:2 f8:2 f8:1 f8 f8 f8 f8:2"
)
@fast_kernel
def solve(
    limits: Array,
    limits_at: NDArray[np.int64],
    order: NDArray[np.int64],
    shares: Array,
    values: Array,
    states: Array,
    states_at: NDArray[np.int64],
    pairs: NDArray[np.int64],
    gradient: Array,
    room: Array,
    pull: Array,
    turn: Array,
    cost: Array,
    low: Array,
    high: Array,
    taus: Array,
    price: float,
    gap: float,
    infeasible: float,
    out: Array,
) -> int:
    """The best steps of m control points of k joints; returns the iterations, -1 without a result.

    Args:
        limits: (l, 4) from control points ``limits_at`` (l,) and the next three to a control point
            of the derivative of ``order`` (l,); times ``shares[order]`` (4, k) that is a multiple
            of the limit, ``values`` (l, k) at present.
        states: (r, 4) from control points ``states_at`` (r,) to configurations that have near
            pairs: ``pairs`` (r + 1,) is where each one's begin in ``gradient`` (p, k) and ``room``
            (p,), metres beyond what is wanted.
        pull: (m - 1, k) weights of half the squared steps between control points.
        turn: (m, m) Hessian of the last joint's own cost, or (0, 0).
        cost: (m, k) gradient of all costs at present.
        low, high: (m, k) bounds of the steps. taus: (2,) of the change of the duration.
        price: of a metre of slack.
        gap, infeasible: tolerances of the cost and of the rows.
        out: (m, k) written. The three at each end stay 0.
    """
    m, k = out.shape
    program = _Program(
        (m, k), limits, limits_at, order, shares, states, states_at, pairs, gradient, pull, turn
    )
    n, P, R = m * k, len(room), len(states)
    first, last = FIXED * k, n - FIXED * k
    z, c = np.zeros(n + 1 + R), np.full(n + 1 + R, price)
    c[:n], c[n] = cost.ravel(), 1.0
    z[n] = _FASTER
    one, none = values.ravel(), np.zeros(R)
    b = np.concatenate((1.0 - one, 1.0 + one, taus * np.array([-1.0, 1.0])))
    scaled = len(b)
    b = np.concatenate((b, room, high.ravel(), -low.ravel(), none))
    rows = len(b)
    Az, t, y, w = np.empty(rows), np.empty(rows), np.empty(rows), np.empty(rows)
    dt, dy, both, other = np.empty(rows), np.empty(rows), np.empty(rows), np.empty(rows)
    dz, slope, right = np.empty(len(z)), np.empty(len(z)), np.empty(len(z))
    K, border = np.zeros((n, _PAD + WIDTH * k)), np.empty((2, n + 1))
    blocks, coupling, stiff = np.empty((m, WIDTH, k * k)), np.empty((R, k)), np.empty(R)
    _product(program, z, Az)
    whole = 0.0
    for i in range(scaled - 2):
        whole += order[(i % (scaled // 2 - 1)) // k] / max(b[i] - Az[i], _NEARER)
    centre = max(1.0 / whole, _CENTRE * price * max(0.0, -room.min() if P else 0.0))
    for r in range(R):
        z[n + 1 + r] = _slack(room[pairs[r] : pairs[r + 1]], centre, price)
    _product(program, z, Az)
    for i in range(rows):
        t[i] = b[i] - Az[i]
        if i < scaled or scaled + len(room) <= i < rows - R:
            t[i] = max(t[i], _NEARER)
        y[i] = centre / t[i]
    for iteration in range(_ITERATIONS):
        _transposed(program, y, slope)
        value = 0.5 * _add_cost(program, z, slope)
        centre = broken = steep = 0.0
        for i in range(len(z)):
            slope[i] += c[i]
            value += c[i] * z[i]
            if first <= i < last or i >= n:
                steep = max(steep, abs(slope[i]))
        for i in range(rows):
            centre += t[i] * y[i]
            broken = max(broken, abs(Az[i] + t[i] - b[i]))
            w[i] = y[i] / t[i]
        if broken <= infeasible and steep <= _FLAT and centre <= gap * max(1.0, abs(value)):
            for i in range(first, last):
                out[i // k, i % k] = z[i]
            return iteration
        centre /= rows
        _normal(program, w, blocks, K, border[0], coupling, stiff)
        _factor(K, first, last)
        border[1] = border[0]
        _substitute(K, first, last, border[1])
        for i in range(rows):
            both[i] = t[i] * y[i]
        size = 0.0
        for corrected in (False, True):
            for i in range(rows):
                other[i] = w[i] * (Az[i] + t[i] - b[i]) - both[i] / t[i]
            _transposed(program, other, right)
            for i in range(len(z)):
                right[i] = -slope[i] - right[i]
            _direction(program, K, border, coupling, stiff, right, dz)
            _product(program, dz, other)
            size = 1.0
            for i in range(rows):
                dt[i] = b[i] - Az[i] - t[i] - other[i]
                dy[i] = -(both[i] + y[i] * dt[i]) / t[i]
                if dt[i] < 0.0:
                    size = min(size, -_SHARE * t[i] / dt[i])
                if dy[i] < 0.0:
                    size = min(size, -_SHARE * y[i] / dy[i])
            if not corrected:
                after = 0.0
                for i in range(rows):
                    after += (t[i] + size * dt[i]) * (y[i] + size * dy[i])
                after /= rows
                wanted = after * (after / centre) ** 2
                for i in range(rows):
                    both[i] += dt[i] * dy[i] - wanted
        for i in range(len(z)):
            z[i] += size * dz[i]
        for i in range(rows):
            t[i] += size * dt[i]
            y[i] += size * dy[i]
            Az[i] += size * other[i]
    return -1


@fast_kernel
def _slack(room: Array, centre: float, price: float) -> float:
    """The slack on the central path: price = centre / s + sum centre / (room + s)."""
    low = max(0.0, -room.min()) + centre / price
    high = low + centre / price * len(room)
    for _ in range(_BISECTIONS):
        s = 0.5 * (low + high)
        total = centre / s
        for i in range(len(room)):
            total += centre / (room[i] + s)
        low, high = (s, high) if total > price else (low, s)
    return float(high)


@fast_kernel
def _product(program: _Program, z: Array, out: Array) -> None:
    """A z: limits of both signs, the bounds of tau, the pairs, the steps' bounds, the slacks'."""
    m, k = program.shape
    n, L = m * k, len(program.limits) * k
    tau = z[n]
    for i in range(len(program.limits)):
        at, p = program.limits_at[i] * k, program.order[i]
        for j in range(k):
            value = 0.0
            for a in range(WIDTH):
                value += program.limits[i, a] * z[at + a * k + j]
            value *= program.shares[p, j]
            out[i * k + j] = value - p * tau
            out[L + i * k + j] = -value - p * tau
    out[2 * L], out[2 * L + 1] = -tau, tau
    row = 2 * L + 2
    step = np.empty(k)
    for r in range(len(program.states)):
        at = program.states_at[r] * k
        for j in range(k):
            step[j] = 0.0
            for a in range(WIDTH):
                step[j] += program.states[r, a] * z[at + a * k + j]
        for i in range(program.pairs[r], program.pairs[r + 1]):
            value = z[n + 1 + r]
            for j in range(k):
                value += program.gradient[i, j] * step[j]
            out[row + i] = -value
    row += len(program.gradient)
    for i in range(n):
        out[row + i], out[row + n + i] = z[i], -z[i]
    row += 2 * n
    for r in range(len(program.states)):
        out[row + r] = -z[n + 1 + r]


@fast_kernel
def _transposed(program: _Program, y: Array, out: Array) -> None:
    """A' y."""
    m, k = program.shape
    n, L = m * k, len(program.limits) * k
    row = 2 * L + 2 + len(program.gradient)
    for i in range(n):
        out[i] = y[row + i] - y[row + n + i]
    tau = y[2 * L + 1] - y[2 * L]
    for i in range(len(program.limits)):
        at, p = program.limits_at[i] * k, program.order[i]
        for j in range(k):
            plus, minus = y[i * k + j], y[L + i * k + j]
            tau -= p * (plus + minus)
            value = (plus - minus) * program.shares[p, j]
            for a in range(WIDTH):
                out[at + a * k + j] += program.limits[i, a] * value
    out[n] = tau
    first, row = 2 * L + 2, row + 2 * n
    step = np.empty(k)
    for r in range(len(program.states)):
        at = program.states_at[r] * k
        step[:] = 0.0
        slack = y[row + r]
        for i in range(program.pairs[r], program.pairs[r + 1]):
            slack += y[first + i]
            for j in range(k):
                step[j] += program.gradient[i, j] * y[first + i]
        for a in range(WIDTH):
            for j in range(k):
                out[at + a * k + j] -= program.states[r, a] * step[j]
        out[n + 1 + r] = -slack


@fast_kernel
def _add_cost(program: _Program, z: Array, out: Array) -> float:
    """Adds H z to ``out``; returns z H z."""
    m, k = program.shape
    total = 0.0
    for i in range((m - 1) * k):
        step = z[i + k] - z[i]
        value = program.pull[i // k, i % k] * step
        out[i] -= value
        out[i + k] += value
        total += step * value
    for e in range(len(program.turn)):
        value = 0.0
        for f in range(max(0, e - WIDTH + 1), min(m, e + WIDTH)):
            value += program.turn[e, f] * z[f * k + k - 1]
        out[e * k + k - 1] += value
        total += value * z[e * k + k - 1]
    return total


@fast_kernel
def _normal(
    program: _Program,
    w: Array,
    blocks: Array,
    K: Array,
    border: Array,
    coupling: Array,
    stiff: Array,
) -> None:
    """Newton's matrix H + A' W A, the slacks eliminated.

    Args:
        w: (rows,) the diagonal of W.
        blocks: (m, 4, k k) scratch: the pairs' part, a block for two control points.
        K: (n, pad + 4 k) written: row i holds columns i - 4 k + 1 to i of the steps' part, behind
            a pad of zeros.
        border: (n + 1,) written: tau's column.
        coupling, stiff: (r, k), (r,) written: of each slack, what it has to do with its state and
            with itself.
    """
    m, k = program.shape
    n, L, end = m * k, len(program.limits) * k, K.shape[1] - 1
    _add_pairs(program, w, blocks, coupling, stiff)
    for i in range(m):
        for d in range(min(i + 1, WIDTH)):
            for j in range(k):
                for h in range(k if d > 0 else j + 1):
                    K[i * k + j, end - d * k - j + h] = blocks[i, d, j * k + h]
        for j in range(k):
            K[i * k + j, : end - (WIDTH - 1) * k - j] = 0.0
    border[:] = 0.0
    row = 2 * L + 2 + len(program.gradient)
    for i in range(n):
        K[i, end] += w[row + i] + w[row + n + i]
    for i in range((m - 1) * k):
        pull = program.pull[i // k, i % k]
        K[i, end] += pull
        K[i + k, end] += pull
        K[i + k, end - k] -= pull
    for e in range(len(program.turn)):
        for f in range(max(0, e - WIDTH + 1), e + 1):
            K[e * k + k - 1, end - (e - f) * k] += program.turn[e, f]
    border[n] = w[2 * L] + w[2 * L + 1]
    for i in range(len(program.limits)):
        at, p = program.limits_at[i] * k, program.order[i]
        for j in range(k):
            share = program.shares[p, j]
            plus, minus = w[i * k + j], w[L + i * k + j]
            border[n] += p * p * (plus + minus)
            for a in range(WIDTH):
                value = program.limits[i, a] * share
                border[at + a * k + j] -= p * (plus - minus) * value
                value *= (plus + minus) * share
                for e in range(a + 1):
                    K[at + a * k + j, end - (a - e) * k] += value * program.limits[i, e]


@fast_kernel
def _add_pairs(program: _Program, w: Array, blocks: Array, coupling: Array, stiff: Array) -> None:
    """The part of the near pairs, the slacks eliminated; arguments of ``_normal``."""
    m, k = program.shape
    first = 2 * len(program.limits) * k + 2
    row = first + len(program.gradient) + 2 * m * k
    blocks[:] = 0.0
    G = np.empty(k * k)
    for r in range(len(program.states)):
        G[:] = 0.0
        coupling[r] = 0.0
        stiff[r] = w[row + r]
        for i in range(program.pairs[r], program.pairs[r + 1]):
            weight = w[first + i]
            stiff[r] += weight
            for j in range(k):
                value = weight * program.gradient[i, j]
                coupling[r, j] += value
                for h in range(k):
                    G[j * k + h] += value * program.gradient[i, h]
        for j in range(k):
            for h in range(k):
                G[j * k + h] -= coupling[r, j] * coupling[r, h] / stiff[r]
        for a in range(WIDTH):
            for e in range(a + 1):
                both = program.states[r, a] * program.states[r, e]
                for i in range(k * k):
                    blocks[program.states_at[r] + a, a - e, i] += both * G[i]


@fast_kernel
def _factor(K: Array, first: int, last: int) -> None:
    """The Cholesky factor of rows ``first`` to ``last``, in place; its diagonal inverted."""
    size = K.shape[1] - _PAD
    end = K.shape[1] - 1
    for i in range(first, min(first + size, last)):
        K[i, : end - i + first] = 0.0  # what has to do with control points that don't move
    for i in range(first, last):
        for j in range(max(first, i - size + 1), i + 1):
            # Products of the rows' common part, in fours and from the right: the pad is zero.
            a, b = end - (i - j), end
            s0 = s1 = s2 = s3 = 0.0
            while a > _PAD:
                a, b = a - 4, b - 4
                s0 += K[i, a] * K[j, b]
                s1 += K[i, a + 1] * K[j, b + 1]
                s2 += K[i, a + 2] * K[j, b + 2]
                s3 += K[i, a + 3] * K[j, b + 3]
            value = K[i, end - (i - j)] - ((s0 + s1) + (s2 + s3))
            if j < i:
                K[i, end - (i - j)] = value * K[j, end]
            else:
                K[i, end] = 1.0 / np.sqrt(max(value, 1e-12))


@fast_kernel
def _substitute(K: Array, first: int, last: int, x: Array) -> None:
    """Solves with the factor of ``_factor``, in place."""
    size, end = K.shape[1] - _PAD, K.shape[1] - 1
    for i in range(first, last):
        value = x[i]
        for j in range(max(first, i - size + 1), i):
            value -= K[i, end - i + j] * x[j]
        x[i] = value * K[i, end]
    for i in range(last - 1, first - 1, -1):
        x[i] *= K[i, end]
        value = x[i]
        for j in range(max(first, i - size + 1), i):
            x[j] -= K[i, end - i + j] * value


@fast_kernel
def _direction(
    program: _Program,
    K: Array,
    border: Array,
    coupling: Array,
    stiff: Array,
    right: Array,
    out: Array,
) -> None:
    """Newton's step for a right side; ``border``: tau's column, and solved for by the factor."""
    m, k = program.shape
    n = m * k
    first, last = FIXED * k, n - FIXED * k
    out[:] = 0.0
    out[first:last] = right[first:last]
    for r in range(len(program.states)):
        at, value = program.states_at[r] * k, right[n + 1 + r] / stiff[r]
        for a in range(WIDTH):
            for j in range(k):
                i = at + a * k + j
                if first <= i < last:
                    out[i] -= program.states[r, a] * coupling[r, j] * value
    _substitute(K, first, last, out)
    tau, corner = right[n], border[0, n]
    for i in range(first, last):
        tau -= border[0, i] * out[i]
        corner -= border[0, i] * border[1, i]
    tau /= corner
    for i in range(first, last):
        out[i] -= tau * border[1, i]
    out[n] = tau
    for r in range(len(program.states)):
        at, value = program.states_at[r] * k, right[n + 1 + r]
        for a in range(WIDTH):
            for j in range(k):
                value -= program.states[r, a] * coupling[r, j] * out[at + a * k + j]
        out[n + 1 + r] = value / stiff[r]
