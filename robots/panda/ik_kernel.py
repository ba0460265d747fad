"""Compiled kinematics of the Panda; the derivation of the inverse is in ``ik``.

One call of ``solve`` handles one pose with one value of joint 7. Past joint 4, sines and cosines
come straight from the vectors that they stand for, and an angle is computed only for a branch that
may be within the limits. An angle is within [m - h, m + h] if its direction has at least cos h in
common with the direction of m, which takes two products.
"""

from __future__ import annotations

import math

import numpy as np

from galley.compiled.annotations import (
    Configurations,
    Indices,
    Matrix,
    Transform,
    Transforms,
    Vector,
)
from galley.compiled.jit import entry, fast_kernel, kernel
from galley.domain.frames import Array
from galley.robots.panda.ik import A4, A7, ANGLE_AT_ZERO, D1, D3, D5, DF, DH, FORE, UPPER

BRANCHES = 8  # configurations at most of one pose and one value of joint 7
_TAN_EIGHTH = math.tan(math.pi / 8.0)
_TURN = 2.0 * math.pi

# How far (m) a pose may be out of reach by rounding and still count as stretched to the limit.
_REACH_TOLERANCE = 1e-10
# Below this (cosine, or m^2), two mirror branches are one: the difference between them would be the
# square root of a rounding error.
_MERGE = 1e-15
# Below this sine of q2 the axes of joints 1 and 3 coincide, and only q1 + q3 means something. It is
# also how far (rad) the flange may be turned to keep them within their limits.
_SHOULDER_SINGULAR = 1e-10
# A joint may overshoot its limit by this (rad); it is then put on the limit.
_LIMIT_TOLERANCE = 1e-9
# Wrist branches less than this (rad) apart are one.
_SAME = 1e-7
# A direction whose cosine is less than this from that of a limit needs the angle itself to decide.
# No correction near a singular pose turns a joint by more than 5e-5 rad, unless the sine of q2 is
# below _SHOULDER_SLOW.
_NEAR = 1e-4
_SHOULDER_SLOW = 1e-5

# cos gamma = (UPPER^2 + FORE^2 - |SW|^2) / (2 UPPER FORE), gamma = q4 + ANGLE_AT_ZERO.
_ELBOW_SCALE = 1.0 / (2.0 * UPPER * FORE)
_ELBOW_OFFSET = (UPPER**2 + FORE**2) * _ELBOW_SCALE
_FARTHEST = (UPPER + FORE + _REACH_TOLERANCE) ** 2
_NEAREST = (FORE - UPPER - _REACH_TOLERANCE) ** 2
_COS_ZERO = math.cos(ANGLE_AT_ZERO)
_SIN_ZERO = math.sin(ANGLE_AT_ZERO)

# One row a joint: a, alpha in quarter turns, and d of the DH table.
DH_TURNS = tuple((a, float(round(2.0 * alpha / math.pi)), d) for a, alpha, d in DH)

# The numbers of a pose that do not depend on q7: the axes x, y, z of the flange in A; then, with u
# the vector from the point 107 mm behind the flange to the shoulder, x.u, y.u and -z.u.
Terms = tuple[float, float, float, float, float, float, float, float, float, float, float, float]


@entry("f8:1 f8:1")
@kernel
def limit_table(lower: Vector, upper: Vector) -> Array:
    """(7, 6) for each joint: limits, their middle m, cos m, sin m and the cosine of half the range.

    Args:
        lower, upper: position limits, rad (7,).
    """
    table = np.empty((7, 6))
    for joint in range(7):
        middle = 0.5 * (lower[joint] + upper[joint])
        table[joint, 0] = lower[joint]
        table[joint, 1] = upper[joint]
        table[joint, 2] = middle
        table[joint, 3] = math.cos(middle)
        table[joint, 4] = math.sin(middle)
        table[joint, 5] = math.cos(min(math.pi, 0.5 * (upper[joint] - lower[joint])))
    return table


@kernel
def pose_terms(X: Transform) -> Terms:
    """The numbers of a flange pose X_AF (4, 4) that ``solve`` needs."""
    xx, xy, xz = X[0, 0], X[1, 0], X[2, 0]
    yx, yy, yz = X[0, 1], X[1, 1], X[2, 1]
    zx, zy, zz = X[0, 2], X[1, 2], X[2, 2]
    ux, uy, uz = DF * zx - X[0, 3], DF * zy - X[1, 3], D1 + DF * zz - X[2, 3]
    along_x = xx * ux + xy * uy + xz * uz
    along_y = yx * ux + yy * uy + yz * uz
    against_z = -(zx * ux + zy * uy + zz * uz)
    return xx, xy, xz, yx, yy, yz, zx, zy, zz, along_x, along_y, against_z


@fast_kernel
def arc_tangent(y: float, x: float) -> float:
    """atan2 (not of 0, 0) in (-pi, pi], to 4e-16 rad, in a third of the C library's time.

    The angle is folded into [-pi/8, pi/8] by symmetry and atan u = pi/4 + atan((u - 1) / (u + 1)).
    There, (atan t - t) / t^3 is a polynomial in t^2 that interpolates at Chebyshev's nodes.
    """
    above, beside = abs(y), abs(x)
    low, high = min(above, beside), max(above, beside)
    middle = low > _TAN_EIGHTH * high
    t = (low - high) / (low + high) if middle else low / high
    z = t * t
    z2 = z * z
    z4 = z2 * z2
    tail = (0.0585814891280221 - 0.0508544973794026 * z) + z2 * (
        0.03923165829558719 - 0.01917688711906226 * z
    )
    head = (-0.3333333333333333 + 0.1999999999999552 * z) + z2 * (
        -0.14285714284666542 + 0.11111111015256361 * z
    )
    body = -0.09090904578123903 + 0.07692183190826087 * z - 0.06664511447381948 * z2
    angle = t + t * z * (head + z4 * (body + z2 * z * tail))
    if middle:
        angle += 0.25 * math.pi
    if above > beside:
        angle = 0.5 * math.pi - angle
    if x < 0.0:
        angle = math.pi - angle
    return math.copysign(angle, y)


@kernel
def wrapped(q: float, middle: float) -> float:
    """``q`` plus the multiple of 2 pi that brings it nearest to ``middle``."""
    return q - _TURN * math.floor((q - middle + math.pi) / _TURN)


@kernel
def _clipped(q: float, limits: Vector) -> float:
    """``q`` put on the nearer limit if it is beyond; rad."""
    return min(max(q, limits[0]), limits[1])


@kernel
def _within(q: float, limits: Vector) -> bool:
    """Whether ``q`` is within the joint's range, give or take rounding."""
    return limits[0] - _LIMIT_TOLERANCE <= q <= limits[1] + _LIMIT_TOLERANCE


@kernel
def _toward(sine: float, cosine: float, limits: Vector) -> float:
    """How far an angle's direction is inside the joint's range, as a difference of cosines.

    Negative outside. ``limits`` (6,) is the joint's row of ``limit_table``.
    """
    return cosine * limits[3] + sine * limits[4] - limits[5]


@kernel
def solve(
    terms: Terms,
    q7: float,
    sin7: float,
    cos7: float,
    table: Matrix,
    out: Configurations,
    branch: Indices,
    count: int,
) -> int:
    """Writes every configuration for one pose and one value of joint 7, in order of branch.

    The steps of the derivation in ``ik``, one loop each: elbow, wrist, shoulder. A branch is left
    as soon as a joint of it is beyond its limits.

    Args:
        terms: those of the pose, from ``pose_terms``.
        q7, sin7, cos7: joint 7, rad, with its sine and cosine.
        table: the limits, from ``limit_table``.
        out: configurations (c, 7), rad, written from row ``count`` on.
        branch: the branch of each (c,).
        count: how many rows are taken already; c >= count + 8.

    Returns:
        How many rows are taken now.
    """
    if not _within(q7, table[6]):
        return count
    xx, xy, xz, yx, yy, yz, zx, zy, zz, along_x, along_y, vy = terms
    # v, p_WS in frame 6, whose axes are the turned x axis, -z and the turned y axis of frame 7.
    vx = cos7 * along_x - sin7 * along_y + A7
    vz = sin7 * along_x + cos7 * along_y
    across = vx * vx + vy * vy
    square = across + vz * vz  # |SW|^2
    if not _NEAREST < square < _FARTHEST:  # NaN is turned down here as well
        return count
    # The elbow's angle by the law of cosines; stretched, its two ways to bend are one.
    cos_gamma = _ELBOW_OFFSET - _ELBOW_SCALE * square
    stretched = cos_gamma < -1.0 + _MERGE
    cos_gamma = -1.0 if stretched else min(cos_gamma, 1.0)
    sin_gamma = math.sqrt((1.0 - cos_gamma) * (1.0 + cos_gamma))
    gamma = arc_tangent(sin_gamma, cos_gamma)

    # The turned axes: first and third column of R_A6.
    ax, ay, az = cos7 * xx - sin7 * yx, cos7 * xy - sin7 * yy, cos7 * xz - sin7 * yz
    bx, by, bz = sin7 * xx + cos7 * yx, sin7 * xy + cos7 * yy, sin7 * xz + cos7 * yz

    for elbow in range(1 if stretched else 2):
        q4 = (gamma if elbow == 0 else _TURN - gamma) - ANGLE_AT_ZERO
        if not _within(q4, table[3]):
            continue
        side = sin_gamma if elbow == 0 else -sin_gamma
        c4 = cos_gamma * _COS_ZERO + side * _SIN_ZERO
        s4 = side * _COS_ZERO - cos_gamma * _SIN_ZERO
        # p_WS in frame 4, (a, b, 0): S is at Rz(-q4) (-A4, -D3), W at (-A4, D5).
        a = A4 * (1.0 - c4) - D3 * s4
        b = A4 * s4 - D3 * c4 - D5
        difference = (a - vz) * (a + vz)  # (a cos q5)^2
        if difference < -2.0 * abs(a) * _REACH_TOLERANCE:
            continue  # W can't be turned to where the pose wants it
        merged = difference < _MERGE
        root = 0.0 if merged else math.sqrt(difference)
        norm = 1.0 / math.sqrt((root * root + b * b) * across)
        start, q5_before, q6_before = count, 0.0, 0.0
        for wrist in range(1 if merged else 2):
            a_cos5 = root if (wrist == 0) == (a > 0.0) else -root
            # Rz(-q6) turns (a cos q5, b) into (v_x, v_y).
            c6 = (a_cos5 * vx + b * vy) * norm
            s6 = (b * vx - a_cos5 * vy) * norm
            spare = _toward(s6, c6, table[5])
            if spare < -_NEAR:  # certainly beyond the limits of joint 6
                continue
            s5, c5 = vz / a, a_cos5 / a
            if merged:
                s5 = 1.0 if s5 > 0.0 else -1.0
            q6 = wrapped(arc_tangent(s6, c6), table[5, 2])
            if spare < _NEAR:
                # Near cos q5 = 0, rounding in the pose turns joints 5 and 6 far, and may turn joint
                # 6 over its limit. Put it back on it then, where p_WS moves by less than counts,
                # and let q5 follow.
                excess = q6 - _clipped(q6, table[5])
                if excess != 0.0 and (abs(excess) * max(root, abs(excess * b)) < _REACH_TOLERANCE):
                    q6 -= excess
                    c6, s6 = math.cos(q6), math.sin(q6)
                    a_cos5 = c6 * vx - s6 * vy
                    norm5 = 1.0 / math.copysign(math.hypot(vz, a_cos5), a)
                    s5, c5 = vz * norm5, a_cos5 * norm5
                elif not _within(q6, table[5]):
                    continue
            if _toward(s5, c5, table[4]) < -_NEAR:
                continue
            q5 = wrapped(arc_tangent(s5, c5), table[4, 2])
            if not _within(q5, table[4]):
                continue
            if wrist == 0:
                q5_before, q6_before = q5, q6
            elif count > start and max(abs(q5 - q5_before), abs(q6 - q6_before)) < _SAME:
                continue  # put on joint 6's limit, it has become the other branch

            # Rows of R_36 = Rx(pi/2) Rz(q4) Rx(-pi/2) Rz(q5) Rx(pi/2) Rz(q6), multiplied out.
            e00, e01, e02 = c4 * c5 * c6 - s4 * s6, -c4 * c5 * s6 - s4 * c6, c4 * s5
            e10, e11, e12 = s5 * c6, -s5 * s6, -c5
            e20, e21, e22 = s4 * c5 * c6 + c4 * s6, c4 * c6 - s4 * c5 * s6, s4 * s5
            # R = R_A3 = R_A6 R_36^T = Rz(q1) Ry(q2) Rz(q3).
            r22 = e20 * az - e21 * zz + e22 * bz
            r02 = e20 * ax - e21 * zx + e22 * bx
            r12 = e20 * ay - e21 * zy + e22 * by
            sine = math.sqrt(r02 * r02 + r12 * r12)
            if max(_toward(sine, r22, table[1]), _toward(-sine, r22, table[1])) < -_NEAR:
                continue  # neither sign of q2 is within the limits
            r00 = e00 * ax - e01 * zx + e02 * bx
            r10 = e00 * ay - e01 * zy + e02 * by
            r01 = e10 * ax - e11 * zx + e12 * bx
            r11 = e10 * ay - e11 * zy + e12 * by
            singular = sine < _SHOULDER_SINGULAR and r22 > 0.0
            slow = sine < _SHOULDER_SLOW
            first = bend = s3 = c3 = s1 = c1 = 0.0
            if not slow:
                c1, s1 = r02 / sine, r12 / sine
                s3, c3 = c1 * r10 - s1 * r00, c1 * r11 - s1 * r01
            known = False  # whether the angles are computed: both signs share them
            for shoulder in range(1 if singular else 2):
                # Near a limit the angles decide, not their directions.
                near = slow
                if not slow:
                    sign = 1.0 if shoulder == 0 else -1.0
                    spare = min(
                        _toward(sign * sine, r22, table[1]),
                        _toward(sign * s1, sign * c1, table[0]),
                        _toward(sign * s3, sign * c3, table[2]),
                    )
                    if spare < -_NEAR:
                        continue
                    near = spare < _NEAR
                if not known:
                    known = True
                    bend = 0.0 if singular else arc_tangent(sine, r22)
                    if singular:  # only q1 + q3 means something: halve it
                        first = 0.5 * arc_tangent(r10 - r01, r00 + r11)
                    else:
                        first = arc_tangent(r12, r02)
                q2 = bend if shoulder == 0 else -bend
                q1 = wrapped(first if shoulder == 0 else first + math.pi, table[0, 2])
                if near:
                    q1, q3 = _shoulder_near_limits(q1, sine, r00, r01, r10, r11, table)
                    if not (
                        _within(q1, table[0]) and _within(q2, table[1]) and _within(q3, table[2])
                    ):
                        continue
                else:
                    q3 = arc_tangent(s3, c3)
                    q3 = wrapped(q3 if shoulder == 0 else q3 + math.pi, table[2, 2])
                out[count, 0] = _clipped(q1, table[0])
                out[count, 1] = _clipped(q2, table[1])
                out[count, 2] = _clipped(q3, table[2])
                out[count, 3] = _clipped(q4, table[3])
                out[count, 4] = _clipped(q5, table[4])
                out[count, 5] = _clipped(q6, table[5])
                out[count, 6] = _clipped(q7, table[6])
                branch[count] = 4 * elbow + 2 * wrist + shoulder
                count += 1
    return count


@kernel
def _shoulder_near_limits(
    q1: float, sine: float, r00: float, r01: float, r10: float, r11: float, table: Matrix
) -> tuple[float, float]:
    """q1 and q3 (rad) where rounding may have turned them over their limits.

    Near q2 = 0, rounding in the pose turns joints 1 and 3 far in opposite directions, and may turn
    one over its limit. Both are turned back then, if that moves the flange by too little to count.

    Args:
        q1: rad, as computed.
        sine: of q2.
        r00, r01, r10, r11: elements of R_A3.
        table: the limits, from ``limit_table``.
    """
    excess = q1 - _clipped(q1, table[0])
    if abs(excess) * sine < _SHOULDER_SINGULAR:
        q1 -= excess
    # From R and q1, not from R's last row: q3 then makes up for the rounding of q1 near q2 = 0.
    c1, s1 = math.cos(q1), math.sin(q1)
    q3 = wrapped(arc_tangent(c1 * r10 - s1 * r00, c1 * r11 - s1 * r01), table[2, 2])
    excess = q3 - _clipped(q3, table[2])
    if abs(excess) * sine < _SHOULDER_SINGULAR:
        q1 += excess
        q3 -= excess
    return q1, q3


@entry("f8:3 f8:1 f8:2")
@kernel
def solve_batch(X: Transforms, q7: Vector, table: Matrix) -> tuple[Array, Indices, int]:
    """Every configuration of each pose with each value of joint 7.

    Ordered by pose, then by value of joint 7, then by branch.

    Args:
        X: flange poses X_AF (n, 4, 4).
        q7: values of joint 7, rad (m,).
        table: the limits, from ``limit_table``.

    Returns:
        Configurations (c, 7); index of the pose, index of q7 and branch of each (3, c); and how
        many of these rows were written.
    """
    # A value's sine and cosine serve all poses.
    m = q7.shape[0]
    turns = np.empty((m, 2))
    for j in range(m):
        turns[j, 0], turns[j, 1] = math.sin(q7[j]), math.cos(q7[j])
    size, count = BRANCHES * m * X.shape[0], 0
    out, indices = np.empty((size, 7)), np.empty((3, size), np.int64)
    for i in range(X.shape[0]):
        terms = pose_terms(X[i])
        for j in range(m):
            before = count
            count = solve(terms, q7[j], turns[j, 0], turns[j, 1], table, out, indices[2], count)
            for k in range(before, count):
                indices[0, k], indices[1, k] = i, j
    return out, indices, count


@entry("f8:2")
@kernel
def link_frames(q: Configurations) -> Array:
    """X_AL (k, 9, 4, 4) of ``panda_link0`` to 7 and of the flange, for q (k, 7), rad."""
    X = np.zeros((q.shape[0], 9, 4, 4))
    for i in range(q.shape[0]):
        for axis in range(4):
            X[i, 0, axis, axis] = 1.0
        for joint in range(7):
            a, turn, d = DH_TURNS[joint]
            c, s = math.cos(q[i, joint]), math.sin(q[i, joint])
            for row in range(3):
                # By a quarter turn about x, y and z trade places.
                x, y, z = X[i, joint, row, 0], X[i, joint, row, 1], X[i, joint, row, 2]
                if turn != 0.0:
                    y, z = turn * z, -turn * y
                X[i, joint + 1, row, 0] = c * x + s * y
                X[i, joint + 1, row, 1] = c * y - s * x
                X[i, joint + 1, row, 2] = z
                X[i, joint + 1, row, 3] = X[i, joint, row, 3] + a * x + d * z
            X[i, joint + 1, 3, 3] = 1.0
        for row in range(4):
            for column in range(4):
                X[i, 8, row, column] = X[i, 7, row, column]
            X[i, 8, row, 3] += DF * X[i, 7, row, 2]
    return X
