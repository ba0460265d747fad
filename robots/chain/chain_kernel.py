"""Compiled: kinematics of a serial arm of any joints, and Newton's method for hand poses.

An arm of n joints is two arrays. ``X`` (n + 1, 4, 4): the pose of each joint's frame at zero in the
frame before, the first in the base's, the last that of the hand behind the last joint; z is the
axis. ``table`` (n, 4): lower limit, upper limit, 1 for a joint that slides and 0 for one that
turns, and a value that a turning joint should be within half a turn of, if limits allow.
"""

from __future__ import annotations

import math

import numpy as np

from galley.compiled.jit import entry, kernel
from galley.domain.frames import Array

_ACCURACY = 1e-9  # m and rad: of what counts as a solution
_GOAL = 1e-12  # m and rad, below which no more steps are taken
_STEPS = 30  # of Newton's method, at most
_PATIENCE = 8  # steps in which the error must be halved
_STRIDE = 0.5  # rad or m, the most that a joint moves in one step
_ALIKE = 1e-6  # rad or m: solutions that differ by less in every joint are the same
_NEAR = 1e-5  # m, of what counts as a solution where the hand may be turned a little
_WEIGHT = 1e-3  # m that a radian counts as there: the position comes first
_JUMP = 0.15  # rad or m, the most that a joint may move between two poses of a line


@kernel
def _place(q: Array, X: Array, table: Array, out: Array) -> None:
    """Write the base's pose, those of the joints' moved frames, and the hand's (n + 2, 4, 4)."""
    n = table.shape[0]
    out[0, 0, 0] = out[0, 1, 1] = out[0, 2, 2] = 1.0
    for k in range(n + 1):
        value, slides = (q[k], table[k, 2]) if k < n else (0.0, 0.0)
        c, s = math.cos(value * (1.0 - slides)), math.sin(value * (1.0 - slides))
        frame, before, fixed = out[k + 1], out[k], X[k]
        for i in range(3):
            a, b, e = before[i, 0], before[i, 1], before[i, 2]
            for j in range(4):
                frame[i, j] = a * fixed[0, j] + b * fixed[1, j] + e * fixed[2, j]
            x, y = frame[i, 0], frame[i, 1]
            frame[i, 0], frame[i, 1] = c * x + s * y, c * y - s * x
            frame[i, 3] += before[i, 3] + value * slides * frame[i, 2]
        frame[3, 3] = 1.0


@kernel
def _jacobian(frames: Array, table: Array, J: Array) -> None:
    """Write the columns (n, 6) of the Jacobian of the hand: its velocity, then its turning rate."""
    n = table.shape[0]
    for k in range(n):
        at, slides = frames[k + 1], table[k, 2] != 0.0
        for i in range(3):
            a, b = (i + 1) % 3, (i + 2) % 3
            lever = at[a, 2] * (frames[n + 1, b, 3] - at[b, 3])
            lever -= at[b, 2] * (frames[n + 1, a, 3] - at[a, 3])
            J[k, i] = at[i, 2] if slides else lever
            J[k, 3 + i] = 0.0 if slides else at[i, 2]


@kernel
def _error(target: Array, at: Array, e: Array) -> float:
    """Write how the pose ``at`` must move and turn (6,) to the target; return the greater norm."""
    off, sine, trace = 0.0, 0.0, 0.0
    for i in range(3):
        a, b = (i + 1) % 3, (i + 2) % 3
        e[i], e[3 + i] = target[i, 3] - at[i, 3], 0.0
        for j in range(3):
            e[3 + i] += 0.5 * (at[a, j] * target[b, j] - at[b, j] * target[a, j])
            trace += at[i, j] * target[i, j]
        off += e[i] * e[i]
        sine += e[3 + i] * e[3 + i]
    sine = math.sqrt(sine)
    angle = math.atan2(sine, 0.5 * (trace - 1.0))
    for i in range(3, 6):
        e[i] *= angle / sine if sine > 1e-12 else 1.0
    return max(math.sqrt(off), angle)


@kernel
def _eliminate(J: Array, e: Array, held: Array, damping: float, A: Array) -> float:
    """Solve (J^T J + damping I) y = e for the columns (n, 6) that aren't held; write y to A (6, 7).

    Returns:
        The matrix's determinant; for less than six joints, of its rows that are independent.
    """
    n, found = J.shape[0], 1.0
    for i in range(6):
        for j in range(i, 6):
            A[i, j] = damping if i == j else 0.0
            for k in range(n):
                A[i, j] += held[k] * J[k, i] * J[k, j]
            A[j, i] = A[i, j]
        A[i, 6] = e[i]
    for i in range(6):
        pivot = max(A[i, i], 1e-14)
        found *= pivot if n > 5 or pivot > 1e-12 else 1.0
        for j in range(i, 7):
            A[i, j] /= pivot
        for row in range(6):
            share = 0.0 if row == i else A[row, i]
            for j in range(i, 7):
                A[row, j] -= share * A[i, j]
    return found


@kernel
def _newton(
    q: Array, target: Array, X: Array, table: Array, tilt: float, locked: int, near: float
) -> float:
    """Move q (n,) by damped Newton steps within the limits until the hand is at the target (4, 4).

    A joint that is at a limit and would pass it is held there. Steps are of least norm, so a
    redundant arm drifts no further than it must.

    Args:
        tilt: rad, by which the hand may stay turned from the target; it is turned as little as
            possible.
        locked: a joint that keeps its value; -1: none.
        near: an error (m and rad) at the beginning for which no step is taken.

    Returns:
        The error that is left, m and rad; 0 if it is within ``tilt``.
    """
    n, error, mark, moved = q.shape[0], 0.0, 1e300, 1.0
    frames, J, A = np.zeros((n + 2, 4, 4)), np.empty((n, 6)), np.empty((6, 7))
    e, dq, held = np.empty(6), np.empty(n), np.empty(n)
    for step in range(_STEPS + 1):
        _place(q, X, table, frames)
        error = _error(target, frames[n + 1], e)
        off = math.sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2])
        if tilt > 0.0 and off < _NEAR and error <= tilt and moved < _ALIKE:
            return 0.0
        if error < _GOAL or step == _STEPS or (step == 0 and error > near):
            break
        if step % _PATIENCE == 0:  # it leads nowhere
            left = error if tilt == 0.0 else off + _WEIGHT * error
            if left > 0.5 * mark:
                break
            mark = left
        _jacobian(frames, table, J)
        damping = 1e-3 * min(error * error, 0.1)
        if tilt > 0.0:
            damping = 1e-3 * min(off * off, 0.1) + 1e-12
            for i in range(3, 6):
                e[i] *= _WEIGHT
                for k in range(n):
                    J[k, i] *= _WEIGHT
        for k in range(n):
            held[k] = 0.0 if k == locked else 1.0
        again = True
        while again:
            _eliminate(J, e, held, damping, A)
            again, longest = False, _STRIDE
            for k in range(n):
                dq[k] = 0.0
                for i in range(6):
                    dq[k] += held[k] * J[k, i] * A[i, 6]
                longest = max(longest, abs(dq[k]))
                if (dq[k] < 0.0 and q[k] <= table[k, 0]) or (dq[k] > 0.0 and q[k] >= table[k, 1]):
                    held[k], again = 0.0, True
        moved = 0.0
        for k in range(n):
            q[k] = min(max(q[k] + dq[k] * _STRIDE / longest, table[k, 0]), table[k, 1])
            moved = max(moved, abs(dq[k]))
    return error


@entry("f8:2 f8:3 f8:2")
@kernel
def hand_poses(Q: Array, X: Array, table: Array) -> Array:
    """The hand's pose (m, 4, 4) for configurations (m, >= n), further joints left out."""
    n = table.shape[0]
    out, frames = np.empty((Q.shape[0], 4, 4)), np.zeros((n + 2, 4, 4))
    for i in range(Q.shape[0]):
        _place(Q[i], X, table, frames)
        out[i] = frames[n + 1]
    return out


@entry("f8:2 f8:2 f8:3 f8:2 f8 i8 f8 i8")
@kernel
def settle(
    starts: Array,
    X_BH: Array,
    X: Array,
    table: Array,
    tilt: float,
    locked: int,
    near: float,
    most: int,
) -> tuple[Array, int]:
    """The distinct configurations (c, n) to which Newton's method leads from each start (m, n).

    Args:
        tilt: rad, by which the hand may stay turned from X_BH.
        locked: a joint that keeps its value; -1: none.
        near: starts whose hand is further (m or rad) from X_BH are dropped, and those that are
            further (rad or m) beyond a limit; others beyond one begin at the limit.
        most: configurations after which no more starts are tried.

    Returns:
        Rows in the order of their starts, and how many were written.
    """
    n, count, turn = X.shape[0] - 1, 0, 2.0 * math.pi
    out = np.empty((starts.shape[0], n))
    for start in starts:
        q, new = out[count], True
        for k in range(n):
            q[k] = start[k]
            if table[k, 2] == 0.0 and k != locked:
                q[k] -= turn * math.floor((q[k] - table[k, 3]) / turn + 0.5)
                q[k] -= turn if q[k] > table[k, 1] + near else 0.0
                q[k] += turn if q[k] < table[k, 0] - near else 0.0
            new = new and table[k, 0] - near <= q[k] <= table[k, 1] + near
            q[k] = min(max(q[k], table[k, 0]), table[k, 1])
        new = new and _newton(q, X_BH, X, table, tilt, locked, near) <= _ACCURACY
        for j in range(count if new else 0):
            apart = 0.0
            for k in range(n):
                apart = max(apart, abs(q[k] - out[j, k]))
            new = new and apart > _ALIKE
        count += 1 if new else 0
        if count == most:
            break
    return out, count


@entry("f8:1 f8:3 f8:3 f8:2 f8")
@kernel
def follow_line(
    start: Array, poses: Array, X: Array, table: Array, tilt: float
) -> tuple[Array, int]:
    """Configurations along hand poses X_BH (m, 4, 4), continuous from ``start`` (n,).

    Returns:
        Configurations (m, n), and how many of them were found before a joint would have to jump,
        or no Newton step led on.
    """
    m, n = poses.shape[0], start.shape[0]
    path = np.empty((max(m, 1), n))
    path[0] = start
    for i in range(1, m):
        path[i] = path[i - 1]
        if not _newton(path[i], poses[i], X, table, tilt, -1, 1e300) <= _ACCURACY:
            return path, i
        for k in range(n):
            if not abs(path[i, k] - path[i - 1, k]) <= _JUMP:
                return path, i
    return path, path.shape[0]


@entry("f8:2 f8:3 f8:2 f8:1")
@kernel
def manipulabilities(Q: Array, X: Array, table: Array, share: Array) -> Array:
    """sqrt(det(J J^T)) (m,) of configurations (m, n) (Yoshikawa 1985).

    Args:
        share: 1 for each joint that moves, 0 for one that is locked (n,).
    """
    m, n = Q.shape
    frames, J, A, out = np.zeros((n + 2, 4, 4)), np.empty((n, 6)), np.empty((6, 7)), np.empty(m)
    for row in range(m):
        _place(Q[row], X, table, frames)
        _jacobian(frames, table, J)
        out[row] = math.sqrt(_eliminate(J, np.zeros(6), share, 0.0, A))
    return out
