"""Compiled kinematics of any serial arm, and Newton's method for its inverse.

An arm of n joints is two arrays. ``X`` (n + 1, 4, 4): the pose of each joint's frame at zero in the
frame before it. The first is in the base's frame, the last is the hand's, in the last joint's; z is
the axis. ``table`` (n, 4): lower limit, upper limit, 1 for a joint that slides and 0 for one that
turns, and a value that a turning joint should be within half a turn of, if limits allow.
"""

from __future__ import annotations

import math

import numpy as np

from galley.compiled.annotations import Configuration, Configurations, Matrix, Transform, Transforms
from galley.compiled.jit import entry, kernel
from galley.domain.frames import Array

_ACCURACY = 1e-9  # m and rad: the error at which a configuration counts as a solution
_GOAL = 1e-12  # m and rad: the error below which no more steps are taken
_STEPS = 30  # the most steps of Newton's method
_PATIENCE = 8  # steps in which the error must be halved
_STRIDE = 0.5  # rad or m, the most that a joint moves in one step
_ALIKE = 1e-6  # rad or m: solutions that differ by less in every joint are the same
_NEAR = 1e-5  # m: the error of a solution where the hand may stay turned a little
_WEIGHT = 1e-3  # m that a radian counts as in that case: the position comes first
_JUMP = 0.15  # rad or m, the most that a joint may move between two poses of a line


@kernel
def _place(q: Configuration, X: Transforms, table: Matrix, out: Transforms) -> None:
    """Forward kinematics: writes the poses (n + 2, 4, 4) of the base, the joints and the hand.

    In the base's frame. ``out`` must be zero where it was not written before.
    """
    n = table.shape[0]
    out[0, 0, 0] = out[0, 1, 1] = out[0, 2, 2] = 1.0
    for k in range(n + 1):
        # The hand is one more frame, behind a joint that stands still.
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
def _jacobian(frames: Transforms, table: Matrix, J: Matrix) -> None:
    """Writes the hand's Jacobian, a row for each joint (n, 6): velocity, then angular velocity."""
    n = table.shape[0]
    for k in range(n):
        at, slides = frames[k + 1], table[k, 2] != 0.0
        for i in range(3):
            a, b = (i + 1) % 3, (i + 2) % 3
            # z x (hand - origin), the velocity by turning about the joint's axis.
            lever = at[a, 2] * (frames[n + 1, b, 3] - at[b, 3])
            lever -= at[b, 2] * (frames[n + 1, a, 3] - at[a, 3])
            J[k, i] = at[i, 2] if slides else lever
            J[k, 3 + i] = 0.0 if slides else at[i, 2]


@kernel
def _error(target: Transform, at: Transform, e: Array) -> float:
    """Writes how the pose ``at`` must move (m) and turn (rad) to the target (6,).

    Returns:
        The greater of the distance and the angle between the two.
    """
    off, sine, trace = 0.0, 0.0, 0.0
    for i in range(3):
        a, b = (i + 1) % 3, (i + 2) % 3
        e[i], e[3 + i] = target[i, 3] - at[i, 3], 0.0
        for j in range(3):
            e[3 + i] += 0.5 * (at[a, j] * target[b, j] - at[b, j] * target[a, j])
            trace += at[i, j] * target[i, j]
        off += e[i] * e[i]
        sine += e[3 + i] * e[3 + i]
    # So far the turn is axis times sine; it must be axis times angle.
    sine = math.sqrt(sine)
    angle = math.atan2(sine, 0.5 * (trace - 1.0))
    for i in range(3, 6):
        e[i] *= angle / sine if sine > 1e-12 else 1.0
    return max(math.sqrt(off), angle)


@kernel
def _eliminate(J: Matrix, e: Array, held: Configuration, damping: float, A: Matrix) -> float:
    """Solves (J^T J + damping I) y = e by Gauss-Jordan elimination; y is A[:, 6].

    Args:
        J: (n, 6) a row for each joint.
        e: (6,) right-hand side.
        held: (n,) 1 for a joint that takes part, 0 for one that is held.
        damping: keeps the step short near a singular configuration.
        A: (6, 7) room to work in.

    Returns:
        The matrix's determinant; for less than six joints, of its rows that are independent.
    """
    n, determinant = J.shape[0], 1.0
    for i in range(6):
        for j in range(i, 6):
            A[i, j] = damping if i == j else 0.0
            for k in range(n):
                A[i, j] += held[k] * J[k, i] * J[k, j]
            A[j, i] = A[i, j]
        A[i, 6] = e[i]
    for i in range(6):
        pivot = max(A[i, i], 1e-14)
        determinant *= pivot if n > 5 or pivot > 1e-12 else 1.0
        for j in range(i, 7):
            A[i, j] /= pivot
        for row in range(6):
            share = 0.0 if row == i else A[row, i]
            for j in range(i, 7):
                A[row, j] -= share * A[i, j]
    return determinant


@kernel
def _newton(
    q: Configuration,
    target: Transform,
    X: Transforms,
    table: Matrix,
    tilt: float,
    locked: int,
    near: float,
) -> float:
    """Moves q (n,) by damped Newton steps within the limits until the hand is at the target.

    A joint that is at a limit and would pass it is held there. Steps are of least norm, so a
    redundant arm drifts no further than it must.

    Args:
        q: the start, changed in place; rad or m.
        target: pose of the hand in the base's frame (4, 4).
        X, table: the arm.
        tilt: rad, by which the hand may stay turned from the target; it is turned as little as
            possible.
        locked: a joint that keeps its value; -1: none.
        near: error (m and rad) of the start beyond which no step is taken.

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
        # With a tilt, the position decides, and the direction once the joints have come to rest.
        if tilt > 0.0 and off < _NEAR and error <= tilt and moved < _ALIKE:
            return 0.0
        if error < _GOAL or step == _STEPS or (step == 0 and error > near):
            break
        if step % _PATIENCE == 0:  # the error was not halved: give up
            left = error if tilt == 0.0 else off + _WEIGHT * error
            if left > 0.5 * mark:
                break
            mark = left
        # Damping falls with the error, so that the last steps converge as Newton's do.
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
        # The step; if it leads a joint beyond its limit, once more with that joint held.
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
        # Shortened as a whole, so that the direction stays.
        moved = 0.0
        for k in range(n):
            q[k] = min(max(q[k] + dq[k] * _STRIDE / longest, table[k, 0]), table[k, 1])
            moved = max(moved, abs(dq[k]))
    return error


@entry("f8:2 f8:3 f8:2")
@kernel
def hand_poses(Q: Configurations, X: Transforms, table: Matrix) -> Array:
    """The hand's poses (m, 4, 4) for configurations (m, n or more); further joints don't count."""
    n = table.shape[0]
    out, frames = np.empty((Q.shape[0], 4, 4)), np.zeros((n + 2, 4, 4))
    for i in range(Q.shape[0]):
        _place(Q[i], X, table, frames)
        out[i] = frames[n + 1]
    return out


@entry("f8:2 f8:2 f8:3 f8:2 f8 i8 f8 i8")
@kernel
def settle(
    starts: Configurations,
    X_BH: Transform,
    X: Transforms,
    table: Matrix,
    tilt: float,
    locked: int,
    near: float,
    most: int,
) -> tuple[Array, int]:
    """The distinct configurations (c, n) to which Newton's method leads from starts (m, n).

    Args:
        starts: configurations (m, n), rad or m.
        X_BH: pose of the hand in the base's frame (4, 4).
        X, table: the arm.
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
    start: Configuration, poses: Transforms, X: Transforms, table: Matrix, tilt: float
) -> tuple[Array, int]:
    """Configurations along hand poses X_BH (m, 4, 4), continuous from ``start`` (n,).

    Each is found by Newton's method from the one before.

    Args:
        start: reaches the first pose.
        poses: of the hand, in the base's frame.
        X, table: the arm.
        tilt: rad, by which the hand may stay turned from its poses.

    Returns:
        Configurations (m, n), and how many of them were found before a joint would have to jump,
        or Newton's method failed.
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
def manipulabilities(Q: Configurations, X: Transforms, table: Matrix, share: Array) -> Array:
    """Manipulability sqrt(det(J J^T)) (m,) of configurations (m, n) (Yoshikawa 1985).

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
