"""Compiled kinematics of the mobile Panda, for hand poses X_WH and base poses (x, y, heading).

Arguments that most functions have: ``p_BA`` (3,), the arm's foot in the base; ``X_HF`` (4, 4), the
flange in the hand; ``table`` (7, 6), the limits, from ``ik_kernel.limit_table``; ``q7``, values of
joint 7 to try, rad.
"""

from __future__ import annotations

import math

import numpy as np

from galley.compiled.annotations import Configuration, Matrix, Point, Transform, Transforms, Vector
from galley.compiled.jit import entry, kernel
from galley.domain.frames import Array
from galley.robots.panda.ik_kernel import BRANCHES, DH_TURNS, pose_terms, solve, wrapped


@kernel
def _flange_in_arm(
    X_WH: Transform, X_HF: Transform, X_WA: Transform, X_WF: Transform, X_AF: Transform
) -> None:
    """Writes X_AF = X_WA^-1 X_WH X_HF (4, 4); X_WF (4, 4) is room to work in.

    The base stands upright on the floor: X_WA turns about z only.
    """
    for i in range(3):
        for j in range(3):
            X_WF[i, j] = X_WH[i, 0] * X_HF[0, j] + X_WH[i, 1] * X_HF[1, j] + X_WH[i, 2] * X_HF[2, j]
        X_WF[i, 3] = (
            X_WH[i, 0] * X_HF[0, 3]
            + X_WH[i, 1] * X_HF[1, 3]
            + X_WH[i, 2] * X_HF[2, 3]
            + X_WH[i, 3]
            - X_WA[i, 3]
        )
    c, s = X_WA[0, 0], X_WA[1, 0]
    for j in range(4):
        X_AF[0, j] = c * X_WF[0, j] + s * X_WF[1, j]
        X_AF[1, j] = c * X_WF[1, j] - s * X_WF[0, j]
        X_AF[2, j] = X_WF[2, j]


@kernel
def _place_arm(base: Vector, p_BA: Point, X_WA: Transform) -> None:
    """Writes the pose of ``panda_link0`` (4, 4) for a base (x, y, heading) (3,).

    ``X_WA`` must be zero where this writes nothing.
    """
    c, s = math.cos(base[2]), math.sin(base[2])
    X_WA[0, 0] = c
    X_WA[1, 0] = s
    X_WA[0, 3] = base[0] + c * p_BA[0] - s * p_BA[1]
    X_WA[1, 3] = base[1] + s * p_BA[0] + c * p_BA[1]
    X_WA[2, 3] = p_BA[2]


@entry("f8:2 f8:1 f8:1 f8:2 f8:2 f8:1")
@kernel
def solve_pose(
    X_WH: Transform, base: Vector, p_BA: Point, X_HF: Transform, table: Matrix, q7: Vector
) -> tuple[Array, int]:
    """Configurations (c, 7) with the hand at X_WH (4, 4), and how many of the rows were written.

    Ordered by value of joint 7, then by branch.
    """
    X = np.zeros((3, 4, 4))
    _place_arm(base, p_BA, X[0])
    _flange_in_arm(X_WH, X_HF, X[0], X[1], X[2])
    terms = pose_terms(X[2])
    size = BRANCHES * q7.shape[0]
    out, branch = np.empty((size, 7)), np.empty(size, np.int64)
    count = 0
    for angle in q7:
        count = solve(terms, angle, math.sin(angle), math.cos(angle), table, out, branch, count)
    return out, count


@kernel
def _nearest(options: Matrix, count: int, q: Configuration) -> tuple[int, float]:
    """The row of options (count, 7) in which the joint that moves most moves least from q (7,).

    Returns:
        The row, -1 if there is none, and by how much that joint moves, rad.
    """
    best, least = -1, 1e300
    for k in range(count):
        jump = 0.0
        for joint in range(7):
            jump = max(jump, abs(options[k, joint] - q[joint]))
        if jump < least:
            best, least = k, jump
    return best, least


@entry("f8:1 f8:3 f8:1 f8:1 f8:2 f8:2 f8:1 f8")
@kernel
def follow_line(
    start: Configuration,
    poses: Transforms,
    base: Vector,
    p_BA: Point,
    X_HF: Transform,
    table: Matrix,
    drift: Vector,
    jump: float,
) -> tuple[Array, int]:
    """Configurations along hand poses X_WH (n, 4, 4), continuous from ``start`` (7,).

    Joint 7 keeps its value (put within its limits) where a configuration there is at most ``jump``
    (rad, any joint) away; else it takes the value among its own plus each of ``drift`` (d,) that
    gives the nearest one.

    Returns:
        Configurations (n, 7), and how many of them were found before a joint would have to jump,
        or a pose was out of reach.
    """
    n = poses.shape[0]
    path = np.empty((max(n, 1), 7))
    for joint in range(7):
        path[0, joint] = start[joint]
    X = np.zeros((3, 4, 4))
    _place_arm(base, p_BA, X[0])
    size = BRANCHES * drift.shape[0]
    out, branch = np.empty((size, 7)), np.empty(size, np.int64)
    lower, upper = table[6, 0], table[6, 1]
    seven = min(max(start[6], lower), upper)
    s7, c7 = math.sin(seven), math.cos(seven)
    for i in range(1, n):
        _flange_in_arm(poses[i], X_HF, X[0], X[1], X[2])
        terms = pose_terms(X[2])
        count = solve(terms, seven, s7, c7, table, out, branch, 0)
        best, least = _nearest(out, count, path[i - 1])
        if best < 0 or least > jump:
            count = 0
            for change in drift:
                angle = min(max(path[i - 1, 6] + change, lower), upper)
                sine, cosine = math.sin(angle), math.cos(angle)
                count = solve(terms, angle, sine, cosine, table, out, branch, count)
            best, least = _nearest(out, count, path[i - 1])
            if best < 0 or least > jump:
                return path, i
            seven = out[best, 6]
            s7, c7 = math.sin(seven), math.cos(seven)
        for joint in range(7):
            path[i, joint] = out[best, joint]
    return path, path.shape[0]


@entry("f8:3 f8:2 f8 f8:2 f8:2 f8:1 f8:1")
@kernel
def heading_gaps(
    hands: Transforms,
    feet: Matrix,
    height: float,
    X_HF: Transform,
    table: Matrix,
    first: Vector,
    q7: Vector,
) -> Array:
    """The headings of the arm's foot from which it reaches none of several hand poses.

    Turning the foot by psi adds -psi to joint 1 and changes nothing else. Of each configuration
    with joint 1 free, the headings that put joint 1 beyond its limits are therefore an arc; the
    headings from which nothing is reached are the intersection of these arcs.

    Args:
        hands: X_WH (g, 4, 4).
        feet: where the arm stands (m, 2), m.
        height: of its foot, m.
        X_HF: the flange in the hand (4, 4).
        table: the limits, but with the whole circle for joint 1.
        first: limits of joint 1 (2,), rad, more than pi apart.
        q7: values of joint 7 (k,), rad.

    Returns:
        Middle and half of the width of each gap (m, 2), rad; pi: no heading reaches; 0: all do.
    """
    X = np.zeros((3, 4, 4))
    out, branch = np.empty((BRANCHES, 7)), np.empty(BRANCHES, np.int64)
    base, p_BA, gaps = np.zeros(3), np.zeros(3), np.zeros((feet.shape[0], 2))
    p_BA[2] = height
    half = math.pi - 0.5 * (first[1] - first[0])
    turns = np.empty((q7.shape[0], 2))
    for j in range(q7.shape[0]):
        turns[j, 0], turns[j, 1] = math.sin(q7[j]), math.cos(q7[j])
    for i in range(feet.shape[0]):
        base[0], base[1] = feet[i, 0], feet[i, 1]
        _place_arm(base, p_BA, X[0])
        middle, width = 0.0, math.pi
        for g in range(hands.shape[0]):
            if width == 0.0:  # every heading reaches something already
                break
            _flange_in_arm(hands[g], X_HF, X[0], X[1], X[2])
            terms = pose_terms(X[2])
            for j in range(q7.shape[0]):
                if width == 0.0:
                    break
                count = solve(terms, q7[j], turns[j, 0], turns[j, 1], table, out, branch, 0)
                for k in range(count):
                    at = wrapped(out[k, 0] - 0.5 * (first[0] + first[1]) + math.pi, 0.0)
                    # The arc that this configuration leaves out, about ``at``; the first one is
                    # taken as it is, each later one cuts.
                    if width == math.pi:
                        middle, width = at, half
                        continue
                    apart = wrapped(at - middle, 0.0)
                    low, high = max(-width, apart - half), min(width, apart + half)
                    middle = wrapped(middle + 0.5 * (low + high), 0.0)
                    width = max(0.0, 0.5 * (high - low))
        gaps[i, 0], gaps[i, 1] = middle, width
    return gaps


@kernel
def _manipulability(q: Configuration, J: Matrix, A: Matrix) -> float:
    """sqrt(det(J J^T)) of joints q (7,), by Yoshikawa. J (7, 6), A (6, 6) are room to work in.

    It does not depend on the point of the hand whose velocity J gives: here the one that is in the
    arm's foot.
    """
    r0, r1, r2 = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    p0, p1, p2 = 0.0, 0.0, 0.0
    for joint in range(7):
        a, turn, d = DH_TURNS[joint]
        p0, p1, p2 = p0 + a * r0[0], p1 + a * r1[0], p2 + a * r2[0]
        if turn != 0.0:
            r0 = (r0[0], turn * r0[2], -turn * r0[1])
            r1 = (r1[0], turn * r1[2], -turn * r1[1])
            r2 = (r2[0], turn * r2[2], -turn * r2[1])
        c, s = math.cos(q[joint]), math.sin(q[joint])
        r0 = (c * r0[0] + s * r0[1], c * r0[1] - s * r0[0], r0[2])
        r1 = (c * r1[0] + s * r1[1], c * r1[1] - s * r1[0], r1[2])
        r2 = (c * r2[0] + s * r2[1], c * r2[1] - s * r2[0], r2[2])
        p0, p1, p2 = p0 + d * r0[2], p1 + d * r1[2], p2 + d * r2[2]
        J[joint, 0] = p1 * r2[2] - p2 * r1[2]
        J[joint, 1] = p2 * r0[2] - p0 * r2[2]
        J[joint, 2] = p0 * r1[2] - p1 * r0[2]
        J[joint, 3], J[joint, 4], J[joint, 5] = r0[2], r1[2], r2[2]
    # The product of the Cholesky factor's diagonal is the root of the determinant.
    root = 1.0
    for i in range(6):
        for j in range(i + 1):
            value = 0.0
            for k in range(7):
                value += J[k, i] * J[k, j]
            for k in range(j):
                value -= A[i, k] * A[j, k]
            if i > j:
                A[i, j] = value / A[j, j]
            elif value <= 1e-18:
                return 0.0
            else:
                A[i, i] = math.sqrt(value)
                root *= A[i, i]
    return root


@entry("f8:2 f8:2 f8:1 f8:2 f8:2 f8:1")
@kernel
def best_configurations(
    X_WH: Transform, bases: Matrix, p_BA: Point, X_HF: Transform, table: Matrix, q7: Vector
) -> tuple[Array, Array]:
    """The best configuration with the hand at X_WH (4, 4) from each base (m, 3).

    The best has the greatest manipulability times square root of margin.

    Returns:
        Configurations (m, 7), and for each (m, 2) its manipulability and its margin: the least
        share of a joint's half range that is left to its limits, 1 in the middle. Zeros where there
        is none.
    """
    X = np.zeros((3, 4, 4))
    out, branch = np.empty((BRANCHES, 7)), np.empty(BRANCHES, np.int64)
    J, A = np.empty((7, 6)), np.empty((6, 6))
    arms, scores = np.zeros((bases.shape[0], 7)), np.zeros((bases.shape[0], 2))
    turns = np.empty((q7.shape[0], 2))
    for j in range(q7.shape[0]):
        turns[j, 0], turns[j, 1] = math.sin(q7[j]), math.cos(q7[j])
    for i in range(bases.shape[0]):
        _place_arm(bases[i], p_BA, X[0])
        _flange_in_arm(X_WH, X_HF, X[0], X[1], X[2])
        terms = pose_terms(X[2])
        best = -1.0
        for j in range(q7.shape[0]):
            count = solve(terms, q7[j], turns[j, 0], turns[j, 1], table, out, branch, 0)
            for k in range(count):
                margin = 1.0
                for joint in range(7):
                    low, high = table[joint, 0], table[joint, 1]
                    spare = min(out[k, joint] - low, high - out[k, joint])
                    margin = min(margin, 2.0 * spare / (high - low))
                margin = max(margin, 0.0)
                freedom = _manipulability(out[k], J, A)
                score = freedom * math.sqrt(margin)
                if score > best:
                    best = score
                    scores[i, 0], scores[i, 1] = freedom, margin
                    for joint in range(7):
                        arms[i, joint] = out[k, joint]
    return arms, scores
