"""Closed-form inverse kinematics of the Panda, with joint 7 as the free parameter.

Derivation, from the DH table in ``panda.py``. The axes of joints 1, 2, 3 meet in the shoulder S,
those of 5 and 6 in the wrist centre W. Given the flange's pose and q7, the transforms behind joint
6 are known, so X_A6 is; its origin is W. What is left:

1. Elbow: |SW| fixes q4 by the law of cosines in the triangle S, joint 4, W (two ways to bend).
2. Wrist: p_WS in frame 6, v, is known. In frame 4 it depends on q4 only; call it (a, b, 0) there.
   Joints 5 and 6 must turn one into the other, v_z = a sin q5 and
   (v_x, v_y) = Rz(-q6) (a cos q5, b): two signs of cos q5.
3. Shoulder: R_A3 = R_A6 R_36^T = Rz(q1) Ry(q2) Rz(q3), Euler angles z-y-z (two signs of q2).

Within the real limits a >= 0.022 m and b <= -0.057 m, so step 2 never degenerates. Merged branches
(arm stretched, cos q5 = 0, q2 = 0) come back once, as one representative with the lower branch id.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from galley.domain.frames import Array, wrap
from galley.robots.panda import A4, A7, D1, D3, D5, DF, LIMITS, Limits

UPPER = float(np.hypot(D3, A4))  # |S to joint 4|, metres
FORE = float(np.hypot(D5, A4))  # |joint 4 to W|, metres
# Angle at joint 4 between the two, at q4 = 0, measured through the side on which the arm folds.
ANGLE_AT_ZERO = 2.0 * np.pi - float(np.arctan2(D3, A4) + np.arctan2(D5, A4))

# How far (m) a pose may be out of reach by rounding and still count as stretched to the limit.
_REACH_TOLERANCE = 1e-10
# Below this (cosine, or m^2), two mirror branches are one: their difference is the root of rounding
# errors.
_MERGE = 1e-15
# Below this sine of q2 the axes of joints 1 and 3 coincide, and only q1 + q3 means something. It is
# also how far (rad) the flange may be turned to keep them within their limits.
_SHOULDER_SINGULAR = 1e-10
# A joint may overshoot its limit by this (rad); it is then put on the limit.
_LIMIT_TOLERANCE = 1e-9


class Solutions(NamedTuple):
    """IK solutions of many poses, ordered by pose, then q7, then branch.

    Attributes:
        q: joint angles, rad (k, 7), within the limits.
        pose: index of the pose that each one reaches (k,).
        branch: 4 * elbow + 2 * wrist + shoulder of each (k,). Elbow 0 is the bent arm, 1 the
            over-stretched; wrist 0 has cos q5 >= 0; shoulder 0 has q2 >= 0.
    """

    q: Array
    pose: NDArray[np.intp]
    branch: NDArray[np.intp]


def inverse(X: Array, q7: float, limits: Limits = LIMITS) -> Array:
    """Every configuration that puts the flange at ``X`` with joint 7 at ``q7``.

    Args:
        X: pose of the flange in ``panda_link0``, X_AF (4, 4).
        q7: angle of joint 7, rad.
        limits: position limits; each range must be under 2 pi wide.

    Returns:
        Joint angles, rad (k, 7), 0 <= k <= 8. Where configurations form a continuum (q2 = 0), the
        one with q1 = q3 stands for it.
    """
    return inverse_batch(X, np.array([q7]), limits).q


def inverse_batch(X: Array, q7: ArrayLike, limits: Limits = LIMITS) -> Solutions:
    """Every configuration for each pose combined with each value of joint 7.

    Args:
        X: poses of the flange in ``panda_link0``, X_AF (4, 4) or (n, 4, 4).
        q7: angles of joint 7, rad (m,).
        limits: position limits; each range must be under 2 pi wide.

    Returns:
        Solutions, with the pose and the branch of each.
    """
    X_AF = np.asarray(X, dtype=np.float64).reshape(-1, 4, 4)
    angle = np.atleast_1d(np.asarray(q7, dtype=np.float64))
    R_A6, p_AW = _frame6(X_AF, angle)  # (n, m, 3, 3), (n, m, 3)

    # Axes from here on: pose, q7, elbow, wrist, shoulder. Each branch is solved only where it
    # exists.
    p_WS = np.array([0.0, 0.0, D1]) - p_AW
    q4, exists = _elbow(np.sqrt(np.einsum("...i,...i", p_WS, p_WS)))  # (n, m, 2)
    inside = exists & _within(q4, 3, limits)
    pose, seven, elbow = np.nonzero(inside)
    q4 = q4[inside]  # (e,)
    R_A6, p_WS = R_A6[pose, seven], p_WS[pose, seven]
    v = np.einsum("kji,kj->ki", R_A6, p_WS)  # p_WS in frame 6

    q5, q6, exists = _wrist(q4, v, limits)  # (e, 2)
    inside = exists & _within(q5, 4, limits) & _within(q6, 5, limits)
    row, wrist = np.nonzero(inside)
    pose, seven, elbow = pose[row], seven[row], elbow[row]
    q4, q5, q6 = q4[row], q5[inside], q6[inside]

    q1, q2, q3, exists = _shoulder(R_A6[row], q4, q5, q6, limits)  # (w, 2)
    inside = (
        exists & _within(q1, 0, limits) & _within(q2, 1, limits) & _within(q3, 2, limits)
    ) & _within(angle[seven], 6, limits)[:, None]
    row, shoulder = np.nonzero(inside)
    q = np.stack(
        [q1[inside], q2[inside], q3[inside], q4[row], q5[row], q6[row], angle[seven[row]]], axis=1
    )
    np.clip(q, limits.lower, limits.upper, out=q)
    return Solutions(q, pose[row], 4 * elbow[row] + 2 * wrist[row] + shoulder)


def _frame6(X_AF: Array, q7: Array) -> tuple[Array, Array]:
    """Orientation (n, m, 3, 3) of frame 6 in A, and its origin, the wrist centre W (n, m, 3)."""
    R, p = X_AF[:, None, :3, :3], X_AF[:, None, :3, 3]
    c, s = np.cos(q7)[:, None], np.sin(q7)[:, None]
    # R_A6 = R_A7 Rz(-q7) Rx(-pi/2): its columns are the turned x axis, -z and the turned y axis of
    # frame 7.
    x = c * R[..., 0] - s * R[..., 1]
    y = s * R[..., 0] + c * R[..., 1]
    z = np.broadcast_to(R[..., 2], x.shape)
    return np.stack([x, -z, y], axis=-1), p - DF * z - A7 * x


def _elbow(distance: Array) -> tuple[Array, NDArray[np.bool_]]:
    """q4 (n, m, 2) for |SW| (n, m), and whether that branch exists."""
    cosine = (UPPER**2 + FORE**2 - distance**2) / (2.0 * UPPER * FORE)
    stretched = cosine < -1.0 + _MERGE
    gamma = np.arccos(np.clip(np.where(stretched, -1.0, cosine), -1.0, 1.0))
    q4 = np.stack([gamma - ANGLE_AT_ZERO, 2.0 * np.pi - gamma - ANGLE_AT_ZERO], axis=-1)
    reached = (distance < UPPER + FORE + _REACH_TOLERANCE) & (
        distance > FORE - UPPER - _REACH_TOLERANCE
    )
    return q4, np.stack([reached, reached & ~stretched], axis=-1)


def _wrist(q4: Array, v: Array, limits: Limits) -> tuple[Array, Array, NDArray[np.bool_]]:
    """q5, q6 (e, 2) for q4 (e,) and p_WS in frame 6 (e, 3), and whether that branch exists."""
    c4, s4 = np.cos(q4), np.sin(q4)
    # p_WS in frame 4: S is at Rz(-q4) (-A4, -D3), W at (-A4, D5).
    a = A4 * (1.0 - c4) - D3 * s4
    b = A4 * s4 - D3 * c4 - D5
    square = a**2 - v[:, 2] ** 2  # (a cos q5)^2
    merged = square < _MERGE
    exists = square > -2.0 * np.abs(a) * _REACH_TOLERANCE
    root = np.sqrt(np.where(merged, 0.0, square))
    a_cos5 = np.stack([root, -root], axis=-1) * np.sign(a)[:, None]
    q6 = np.arctan2(b[:, None], a_cos5) - np.arctan2(v[:, 1], v[:, 0])[:, None]
    q6 = _wrapped(q6, 5, limits)
    # Near cos q5 = 0, rounding in the pose turns joints 5 and 6 far, and may turn joint 6 over its
    # limit. Put it back on it then, where p_WS moves by less than counts, and let q5 follow.
    excess = _excess(q6, 5, limits)
    moved = np.abs(excess) * np.maximum(root[:, None], np.abs(excess * b[:, None]))
    slight = (excess != 0.0) & (moved < _REACH_TOLERANCE)
    q6 = np.where(slight, q6 - excess, q6)
    x, y = v[:, :1], v[:, 1:2]
    a_cos5 = np.where(slight, np.cos(q6) * x - np.sin(q6) * y, a_cos5)
    q5 = np.arctan2(v[:, 2:] / a[:, None], a_cos5 / a[:, None])
    return _wrapped(q5, 4, limits), q6, np.stack([exists, exists & ~merged], axis=-1)


def _shoulder(
    R_A6: Array, q4: Array, q5: Array, q6: Array, limits: Limits
) -> tuple[Array, Array, Array, NDArray[np.bool_]]:
    """q1, q2, q3 (w, 2) that complete R_A6 (w, 3, 3), and whether that branch exists."""
    c4, s4, c5, s5, c6, s6 = (f(q) for q in (q4, q5, q6) for f in (np.cos, np.sin))
    # R_46 = Rx(-pi/2) Rz(q5) Rx(pi/2) Rz(q6) and R_34 = Rx(pi/2) Rz(q4), multiplied out.
    R_46 = _matrix((c5 * c6, -c5 * s6, s5), (s6, c6, 0.0 * c6), (-s5 * c6, s5 * s6, c5))
    R_34 = _matrix((c4, -s4, 0.0 * c4), (0.0 * c4, 0.0 * c4, 0.0 * c4 - 1.0), (s4, c4, 0.0 * c4))
    R = R_A6 @ np.swapaxes(R_34 @ R_46, -1, -2)  # R_A3

    x, y = R[:, 0, 2], R[:, 1, 2]
    sine = np.hypot(x, y)
    singular = (sine < _SHOULDER_SINGULAR) & (R[:, 2, 2] > 0.0)
    q2 = np.where(singular, 0.0, np.arctan2(sine, R[:, 2, 2]))
    total = np.arctan2(R[:, 1, 0] - R[:, 0, 1], R[:, 0, 0] + R[:, 1, 1])  # q1 + q3, where q2 = 0
    first = np.where(singular, 0.5 * total, np.arctan2(y, x))
    q1 = _wrapped(np.stack([first, first + np.pi], axis=-1), 0, limits)
    # Near q2 = 0, rounding in the pose turns joints 1 and 3 far in opposite directions, and may
    # turn one over its limit. Turn both back then, where that moves the flange by less than counts.
    excess = _excess(q1, 0, limits)
    q1 = q1 - np.where(np.abs(excess) * sine[:, None] < _SHOULDER_SINGULAR, excess, 0.0)
    # q3 from R and q1, not from R's last row: rounding in q1 near q2 = 0 is then made up for by q3.
    c1, s1 = np.cos(q1), np.sin(q1)
    q3 = np.arctan2(
        c1 * R[:, None, 1, 0] - s1 * R[:, None, 0, 0], c1 * R[:, None, 1, 1] - s1 * R[:, None, 0, 1]
    )
    q3 = _wrapped(q3, 2, limits)
    excess = _excess(q3, 2, limits)
    excess = np.where(np.abs(excess) * sine[:, None] < _SHOULDER_SINGULAR, excess, 0.0)
    exists = np.stack([np.ones_like(singular), ~singular], axis=-1)
    return q1 + excess, np.stack([q2, -q2], axis=-1), q3 - excess, exists


def _matrix(*rows: tuple[Array, Array, Array]) -> Array:
    """(k, 3, 3) from three rows of three arrays (k,)."""
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def _wrapped(q: Array, joint: int, limits: Limits) -> Array:
    """``q`` plus the multiple of 2 pi that brings it nearest to the middle of the joint's range."""
    middle = 0.5 * (float(limits.lower[joint]) + float(limits.upper[joint]))
    return middle + wrap(q - middle)


def _excess(q: Array, joint: int, limits: Limits) -> Array:
    """How far ``q`` is over the joint's upper limit, or (negative) under its lower one."""
    return q - np.clip(q, float(limits.lower[joint]), float(limits.upper[joint]))


def _within(q: Array, joint: int, limits: Limits) -> NDArray[np.bool_]:
    """Whether ``q`` is within the joint's range, give or take rounding."""
    low, high = float(limits.lower[joint]), float(limits.upper[joint])
    return (q >= low - _LIMIT_TOLERANCE) & (q <= high + _LIMIT_TOLERANCE)
