"""Compiled: kinematics of a serial arm of any joints, and Newton's method for hand poses.

An arm of n joints is two arrays. ``X`` (n + 1, 4, 4): the pose of each joint's frame at zero in the
frame before, the first in the base's, the last that of the hand behind the last joint; z is the
axis. ``table`` (n, 3): lower limit, upper limit, and 1 for a joint that slides, 0 for one that
turns. Poses are in the base's frame B unless they are called X_WH.
"""

from __future__ import annotations

import math

import numpy as np

from galley.compiled.jit import entry, kernel
from galley.domain.frames import Array

_ACCURACY = 1e-9  # m and rad: of what counts as a solution
_GOAL = 1e-12  # m and rad, below which no more steps are taken
_STRIDE = 0.5  # rad or m, the most that a joint moves in one step
_ALIKE = 1e-6  # rad or m: solutions that differ by less in every joint are the same


@kernel
def _place(q: Array, X: Array, table: Array, out: Array) -> None:
    """Write the poses of the joints' moved frames and of the hand (n + 1, 4, 4)."""
    n = table.shape[0]
    for k in range(n + 1):
        c, s, d = 1.0, 0.0, 0.0
        if k < n and table[k, 2] == 0.0:
            c, s = math.cos(q[k]), math.sin(q[k])
        elif k < n:
            d = q[k]
        for i in range(3):
            r0, r1, r2, p = X[k, i, 0], X[k, i, 1], X[k, i, 2], X[k, i, 3]
            if k:
                a, b, e = out[k - 1, i, 0], out[k - 1, i, 1], out[k - 1, i, 2]
                r0 = a * X[k, 0, 0] + b * X[k, 1, 0] + e * X[k, 2, 0]
                r1 = a * X[k, 0, 1] + b * X[k, 1, 1] + e * X[k, 2, 1]
                r2 = a * X[k, 0, 2] + b * X[k, 1, 2] + e * X[k, 2, 2]
                p = a * X[k, 0, 3] + b * X[k, 1, 3] + e * X[k, 2, 3] + out[k - 1, i, 3]
            out[k, i, 0], out[k, i, 1] = c * r0 + s * r1, c * r1 - s * r0
            out[k, i, 2], out[k, i, 3] = r2, p + d * r2


@kernel
def _jacobian(frames: Array, table: Array, J: Array) -> None:
    """Write the columns (n, 6) of the Jacobian of the hand: its velocity, then its turning rate."""
    n = table.shape[0]
    for k in range(n):
        zx, zy, zz = frames[k, 0, 2], frames[k, 1, 2], frames[k, 2, 2]
        J[k, 3] = J[k, 4] = J[k, 5] = 0.0
        if table[k, 2] != 0.0:
            J[k, 0], J[k, 1], J[k, 2] = zx, zy, zz
            continue
        x = frames[n, 0, 3] - frames[k, 0, 3]
        y = frames[n, 1, 3] - frames[k, 1, 3]
        z = frames[n, 2, 3] - frames[k, 2, 3]
        J[k, 0], J[k, 1], J[k, 2] = zy * z - zz * y, zz * x - zx * z, zx * y - zy * x
        J[k, 3], J[k, 4], J[k, 5] = zx, zy, zz


@kernel
def _error(target: Array, at: Array, e: Array) -> float:
    """Write how the pose ``at`` must move and turn (6,) to the target; return the greater norm."""
    for i in range(3):
        e[i] = target[i, 3] - at[i, 3]
        e[3 + i] = 0.0
    trace = 0.0
    for j in range(3):
        a0, a1, a2 = at[0, j], at[1, j], at[2, j]
        t0, t1, t2 = target[0, j], target[1, j], target[2, j]
        e[3] += 0.5 * (a1 * t2 - a2 * t1)
        e[4] += 0.5 * (a2 * t0 - a0 * t2)
        e[5] += 0.5 * (a0 * t1 - a1 * t0)
        trace += a0 * t0 + a1 * t1 + a2 * t2
    sine = math.sqrt(e[3] * e[3] + e[4] * e[4] + e[5] * e[5])
    angle = math.atan2(sine, 0.5 * (trace - 1.0))
    if sine > 1e-12:
        for i in range(3, 6):
            e[i] *= angle / sine
    return max(math.sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2]), angle)


@kernel
def _step(J: Array, e: Array, held: Array, damping: float, A: Array, y: Array, dq: Array) -> None:
    """Write the step dq (n,) = J^T (J J^T + damping I)^-1 e, joints that are held left out."""
    n = J.shape[0]
    for i in range(6):
        for j in range(i + 1):
            value = damping if i == j else 0.0
            for k in range(n):
                value += held[k] * J[k, i] * J[k, j]
            for k in range(j):
                value -= A[i, k] * A[j, k]
            A[i, j] = math.sqrt(max(value, 1e-14)) if i == j else value / A[j, j]
    for i in range(6):
        y[i] = e[i]
        for k in range(i):
            y[i] -= A[i, k] * y[k]
        y[i] /= A[i, i]
    for i in range(5, -1, -1):
        for k in range(i + 1, 6):
            y[i] -= A[k, i] * y[k]
        y[i] /= A[i, i]
    for k in range(n):
        dq[k] = 0.0
        for i in range(6):
            dq[k] += held[k] * J[k, i] * y[i]


@kernel
def _newton(
    q: Array, target: Array, X: Array, table: Array, locked: int, steps: int, near: float
) -> float:
    """Move q (n,) by damped Newton steps within the limits until the hand is at the target (4, 4).

    A joint that is at a limit and would pass it is held there. Steps are of least norm, so a
    redundant arm drifts no further than it must.

    Args:
        locked: a joint that keeps its value; -1: none.
        near: an error (m and rad) at the beginning for which no step is taken.

    Returns:
        The error that is left, m and rad.
    """
    n = q.shape[0]
    frames, J, A = np.zeros((n + 1, 4, 4)), np.empty((n, 6)), np.empty((6, 6))
    e, y, dq, held = np.empty(6), np.empty(6), np.empty(n), np.empty(n)
    for step in range(steps + 1):
        _place(q, X, table, frames)
        error = _error(target, frames[n], e)
        if error < _GOAL or step == steps or not error < near:
            return error
        near = 1e300
        _jacobian(frames, table, J)
        for k in range(n):
            held[k] = 0.0 if k == locked else 1.0
        damping = 1e-3 * min(error * error, 0.1)
        again = True
        while again:
            _step(J, e, held, damping, A, y, dq)
            again = False
            for k in range(n):
                outward = dq[k] < 0.0 if q[k] <= table[k, 0] else dq[k] > 0.0
                if held[k] == 1.0 and outward and not table[k, 0] < q[k] < table[k, 1]:
                    held[k], again = 0.0, True
        longest = 1e-300
        for k in range(n):
            longest = max(longest, abs(dq[k]))
        share = min(1.0, _STRIDE / longest)
        for k in range(n):
            q[k] = min(max(q[k] + share * dq[k], table[k, 0]), table[k, 1])
    return 1e300


@kernel
def _into_base(X_WH: Array, base: Array, X_BH: Array) -> None:
    """Write X_BH (4, 4) for a base at (x, y, heading) (3,)."""
    c, s = math.cos(base[2]), math.sin(base[2])
    for j in range(4):
        x = X_WH[0, j] - (base[0] if j == 3 else 0.0)
        y = X_WH[1, j] - (base[1] if j == 3 else 0.0)
        X_BH[0, j], X_BH[1, j] = c * x + s * y, c * y - s * x
        X_BH[2, j], X_BH[3, j] = X_WH[2, j], X_WH[3, j]


@entry("f8:2 f8:3 f8:2")
@kernel
def hand_poses(Q: Array, X: Array, table: Array) -> Array:
    """X_WH (m, 4, 4) for rows x, y, heading of the base and joints of the arm (m, >= 3 + n)."""
    n = table.shape[0]
    out, frames = np.zeros((Q.shape[0], 4, 4)), np.zeros((n + 1, 4, 4))
    for i in range(Q.shape[0]):
        _place(Q[i, 3:], X, table, frames)
        c, s = math.cos(Q[i, 2]), math.sin(Q[i, 2])
        for j in range(4):
            x, y = frames[n, 0, j], frames[n, 1, j]
            out[i, 0, j], out[i, 1, j], out[i, 2, j] = c * x - s * y, s * x + c * y, frames[n, 2, j]
        out[i, 0, 3] += Q[i, 0]
        out[i, 1, 3] += Q[i, 1]
        out[i, 3, 3] = 1.0
    return out


@entry("f8:2 f8:2 f8:3 f8:2 f8:1 i8 f8 f8 i8 i8")
@kernel
def settle(
    starts: Array,
    X_BH: Array,
    X: Array,
    table: Array,
    about: Array,
    locked: int,
    slack: float,
    near: float,
    steps: int,
    most: int,
) -> tuple[Array, int]:
    """The distinct configurations (c, n) to which Newton's method leads from each start (m, n).

    Args:
        about: turning joints start within half a turn of these angles (n,), if limits allow.
        locked: a joint that keeps its value; -1: none.
        slack: starts further (rad or m) beyond a limit are dropped; others begin at the limit.
        near: starts whose hand is further (m or rad) from X_BH are dropped.
        steps: of Newton's, at most.
        most: configurations after which no more starts are tried.

    Returns:
        Rows in the order of their starts, and how many were written.
    """
    m, n = starts.shape
    out, count, turn = np.empty((m, n)), 0, 2.0 * math.pi
    for i in range(m):
        q, within = out[count], True
        for k in range(n):
            q[k] = starts[i, k]
            if table[k, 2] == 0.0 and k != locked:
                q[k] -= turn * math.floor((q[k] - about[k]) / turn + 0.5)
                if q[k] > table[k, 1] + slack:
                    q[k] -= turn
                elif q[k] < table[k, 0] - slack:
                    q[k] += turn
            if not table[k, 0] - slack <= q[k] <= table[k, 1] + slack:
                within = False
            q[k] = min(max(q[k], table[k, 0]), table[k, 1])
        if not within or not _newton(q, X_BH, X, table, locked, steps, near) <= _ACCURACY:
            continue
        for j in range(count):
            apart = 0.0
            for k in range(n):
                apart = max(apart, abs(q[k] - out[j, k]))
            within = within and apart > _ALIKE
        count += 1 if within else 0
        if count == most:
            break
    return out, count


@entry("f8:1 f8:3 f8:1 f8:3 f8:2 f8")
@kernel
def follow_line(
    start: Array, poses: Array, base: Array, X: Array, table: Array, jump: float
) -> tuple[Array, int]:
    """Configurations along hand poses X_WH (m, 4, 4), continuous from ``start`` (n,).

    Returns:
        Configurations (m, n), and how many of them were found before a joint would have to move
        more than ``jump`` (rad or m) from one pose to the next, or no Newton step led on.
    """
    m, n = poses.shape[0], start.shape[0]
    path, X_BH = np.empty((max(m, 1), n)), np.empty((4, 4))
    for k in range(n):
        path[0, k] = start[k]
    for i in range(1, m):
        _into_base(poses[i], base, X_BH)
        for k in range(n):
            path[i, k] = min(max(path[i - 1, k], table[k, 0]), table[k, 1])
        if not _newton(path[i], X_BH, X, table, -1, 12, 1e300) <= _ACCURACY:
            return path, i
        for k in range(n):
            if not abs(path[i, k] - path[i - 1, k]) <= jump:
                return path, i
    return path, path.shape[0]


@entry("f8:2 f8:3 f8:2 i8")
@kernel
def qualities(Q: Array, X: Array, table: Array, locked: int) -> Array:
    """Of configurations (m, n): manipulability, and the least margin of a joint (m, 2).

    The manipulability is the root of the determinant of J J^T, or of J^T J for less than six
    joints (Yoshikawa 1985), without the joint ``locked`` (-1: of all). The margin is the distance
    to the nearest limit as a share of half the range.
    """
    m, n = Q.shape
    frames, J, out = np.zeros((n + 1, 4, 4)), np.empty((n, 6)), np.empty((m, 2))
    size = min(6, n if locked < 0 else n - 1)
    A = np.empty((6, 6))
    for row in range(m):
        margin = 1.0
        for k in range(n):
            low, high = table[k, 0], table[k, 1]
            margin = min(margin, 2.0 * min(Q[row, k] - low, high - Q[row, k]) / (high - low))
        out[row, 0], out[row, 1] = 1.0, max(margin, 0.0)
        _place(Q[row], X, table, frames)
        _jacobian(frames, table, J)
        if 0 <= locked < n:  # the last joint takes its place, and is left out
            for i in range(6):
                J[locked, i], J[n - 1, i] = J[n - 1, i], 0.0
        for i in range(size):
            for j in range(i + 1):
                value = 0.0
                for k in range(max(n, 6)):
                    if n >= 6 and size == 6:
                        value += J[k, i] * J[k, j]
                    elif k < 6:
                        value += J[i, k] * J[j, k]
                for k in range(j):
                    value -= A[i, k] * A[j, k]
                A[i, j] = math.sqrt(max(value, 1e-18)) if i == j else value / A[j, j]
            out[row, 0] *= A[i, i]
    return out
