"""Compiled inverse kinematics of a planar arm, with a penalty where its links come close.

The cost of joint angles theta, for a tip at p and links i, j that share no joint, d_ij apart:

    E = |p - target|^2 + sum_ij weight max(threshold - d_ij, 0)

Link i runs from point i to point i + 1; joints 0 to i move it. In all functions ``theta`` (n,) are
the joint angles (rad), ``lengths`` (n,) those of the links (m), ``base`` (3,) is the base's x, y
(m) and heading (rad), and ``p`` (n + 1, 2) are the joints and the tip (m).
"""

from __future__ import annotations

import math

import numpy as np

from galley.compiled.jit import entry, kernel
from galley.domain.frames import Array

_STEPS = 200  # of a descent, at most
_DONE = 1e-14  # m^2 above the least possible cost at which a descent ends
_ENOUGH = 1e-10  # m^2 above it that isn't worth another start


@kernel
def _nearest(p: Array, i: int, j: int, nearest: Array) -> float:
    """Distance (m) of links i and j; writes the nearest points of both to ``nearest`` (4,).

    It is 0 if they cross. Otherwise the nearest point of one of them is an end.
    """
    ax, ay, bx, by = p[i, 0], p[i, 1], p[i + 1, 0], p[i + 1, 1]
    cx, cy, dx, dy = p[j, 0], p[j, 1], p[j + 1, 0], p[j + 1, 1]
    ux, uy, vx, vy = bx - ax, by - ay, dx - cx, dy - cy
    c_side, d_side = ux * (cy - ay) - uy * (cx - ax), ux * (dy - ay) - uy * (dx - ax)
    a_side, b_side = vx * (ay - cy) - vy * (ax - cx), vx * (by - cy) - vy * (bx - cx)
    # They cross if the ends of each are on different sides of the other.
    if c_side * d_side < 0.0 and a_side * b_side < 0.0:
        return 0.0
    uu, vv = ux * ux + uy * uy, vx * vx + vy * vy
    least = 1e300
    for k in range(4):
        if k < 2:  # an end of link j against link i
            qx, qy = (cx, cy) if k == 0 else (dx, dy)
            t = min(max(((qx - ax) * ux + (qy - ay) * uy) / uu, 0.0), 1.0)
            px, py = ax + t * ux, ay + t * uy
        else:
            px, py = (ax, ay) if k == 2 else (bx, by)
            t = min(max(((px - cx) * vx + (py - cy) * vy) / vv, 0.0), 1.0)
            qx, qy = cx + t * vx, cy + t * vy
        square = (px - qx) * (px - qx) + (py - qy) * (py - qy)
        if square < least:
            least = square
            nearest[0], nearest[1], nearest[2], nearest[3] = px, py, qx, qy
    return math.sqrt(least)


@kernel
def _place(theta: Array, lengths: Array, base: Array, p: Array) -> None:
    """Write the joints and, last, the tip to ``p``: forward kinematics."""
    angle = base[2]
    p[0, 0], p[0, 1] = base[0], base[1]
    for i in range(len(lengths)):
        angle += theta[i]
        p[i + 1, 0] = p[i, 0] + lengths[i] * math.cos(angle)
        p[i + 1, 1] = p[i, 1] + lengths[i] * math.sin(angle)


@entry("f8:1 f8:1 f8:1")
@kernel
def clearance(theta: Array, lengths: Array, base: Array) -> float:
    """Least distance (m) of links that share no joint: 0 if two cross, 1e300 if there are none."""
    n = len(lengths)
    p, nearest = np.empty((n + 1, 2)), np.empty(4)
    _place(theta, lengths, base, p)
    least = 1e300
    for i in range(n):
        for j in range(i + 2, n):
            least = min(least, _nearest(p, i, j, nearest))
    return least


@entry("f8:1 f8:1 f8:1 f8:1 f8 f8 f8:2 f8:1")
@kernel
def cost(
    theta: Array,
    lengths: Array,
    base: Array,
    target: Array,
    threshold: float,
    weight: float,
    p: Array,
    gradient: Array,
) -> float:
    """E (m^2); writes the points to ``p`` and the penalty's gradient (n,) to ``gradient``."""
    n = len(lengths)
    _place(theta, lengths, base, p)
    ex, ey = p[n, 0] - target[0], p[n, 1] - target[1]
    total = ex * ex + ey * ey
    for k in range(n):
        gradient[k] = 0.0
    nearest = np.empty(4)
    for i in range(n):
        for j in range(i + 2, n):
            d = _nearest(p, i, j, nearest)
            if d >= threshold:
                continue
            total += weight * (threshold - d)
            if d > 0.0:
                # Joints up to i move both links alike. Those after i, up to j, move link j alone;
                # its nearest point q moves along (-(q - joint)_y, (q - joint)_x).
                nx, ny = (nearest[2] - nearest[0]) / d, (nearest[3] - nearest[1]) / d
                for k in range(i + 1, j + 1):
                    rx, ry = nearest[2] - p[k, 0], nearest[3] - p[k, 1]
                    gradient[k] -= weight * (nx * -ry + ny * rx)
    return total


@kernel
def _descend(
    theta: Array, lengths: Array, base: Array, target: Array,
    threshold: float, weight: float, least: float,
    trial: Array, p: Array, p_trial: Array, g: Array, g_trial: Array,
) -> float:  # fmt: skip
    """Improve angles in place by the Levenberg-Marquardt method; returns their cost (m^2).

    The model of E is |e + J x|^2 + g . x + damping |x|^2 / 2, with the tip's error e and the
    penalty's gradient g. Its minimum needs only the inverse of a 2 x 2 matrix:

        x = -J^T S e - (g - J^T S J g) / damping,    S = (J J^T + damping / 2)^-1

    ``least`` is the least possible cost. ``trial`` (n,), ``p``, ``p_trial`` (n + 1, 2), ``g`` and
    ``g_trial`` (n,) are scratch space.
    """
    n = len(lengths)
    now = cost(theta, lengths, base, target, threshold, weight, p, g)
    damping = 1e-3
    for _ in range(_STEPS):
        if now <= least + _DONE:
            break
        ex, ey = p[n, 0] - target[0], p[n, 1] - target[1]
        xx = xy = yy = 0.5 * damping
        xy = 0.0
        gx = gy = 0.0
        for k in range(n):
            jx, jy = p[k, 1] - p[n, 1], p[n, 0] - p[k, 0]  # column k of J
            xx, xy, yy = xx + jx * jx, xy + jx * jy, yy + jy * jy
            gx, gy = gx + jx * g[k], gy + jy * g[k]
        det = xx * yy - xy * xy
        sx, sy = (yy * ex - xy * ey) / det, (xx * ey - xy * ex) / det
        tx, ty = (yy * gx - xy * gy) / det, (xx * gy - xy * gx) / det
        size = 0.0
        for k in range(n):
            jx, jy = p[k, 1] - p[n, 1], p[n, 0] - p[k, 0]
            x = -(jx * sx + jy * sy) - (g[k] - jx * tx - jy * ty) / damping
            size = max(size, abs(x))
            trial[k] = theta[k] + x
        if size < 1e-12:
            break
        new = 1e300
        if size < 2.0:  # rad; for a larger step the model is worthless, so the damping grows
            new = cost(trial, lengths, base, target, threshold, weight, p_trial, g_trial)
        if new < now:
            enough = now - new > 1e-13
            now = new
            for k in range(n):
                theta[k], g[k] = trial[k], g_trial[k]
            for k in range(n + 1):
                p[k, 0], p[k, 1] = p_trial[k, 0], p_trial[k, 1]
            damping = max(0.2 * damping, 1e-12)
            if not enough:
                break
        else:
            damping *= 5.0
            if damping > 1e9:
                break
    return now


@entry("f8:2 f8:1 f8:1 f8:2 f8 f8 f8:2 f8:1")
@kernel
def solve(
    theta: Array,
    lengths: Array,
    base: Array,
    targets: Array,
    threshold: float,
    weight: float,
    starts: Array,
    costs: Array,
) -> None:
    """Inverse kinematics for many targets.

    Args:
        theta: (m, n), where each search starts, rad; the results are written there.
        lengths: (n,), of the links, m.
        base: (3,), x, y, heading of the base.
        targets: (m, 2), of the tip, m.
        threshold: distance of links below which they are penalized, m.
        weight: penalty per metre below the threshold, m.
        starts: (s, n), rad, added to the first result for more descents if it has a penalty.
        costs: (m,), of the results, m^2; written.
    """
    n = len(lengths)
    room, points = np.empty((4, n)), np.empty((2, n + 1, 2))
    stretch, longest = 0.0, 0.0
    for length in lengths:
        stretch, longest = stretch + length, max(longest, length)
    for i in range(len(targets)):
        # A target beyond the stretched arm, or too near for its longest link, leaves an error.
        reach = math.hypot(targets[i, 0] - base[0], targets[i, 1] - base[1])
        short = max(reach - stretch, 2.0 * longest - stretch - reach, 0.0)
        least = short * short
        now = _descend(
            theta[i], lengths, base, targets[i], threshold, weight, least,
            room[0], points[0], points[1], room[1], room[2],
        )  # fmt: skip
        first = room[3]
        costs[i] = now
        if now <= least + _ENOUGH:
            continue
        for k in range(n):
            first[k] = theta[i, k]
        again = np.empty(n)
        for j in range(len(starts)):
            for k in range(n):
                again[k] = first[k] + starts[j, k]
            now = _descend(
                again, lengths, base, targets[i], threshold, weight, least,
                room[0], points[0], points[1], room[1], room[2],
            )  # fmt: skip
            if now < costs[i]:
                costs[i] = now
                for k in range(n):
                    theta[i, k] = again[k]
            if costs[i] <= least + _ENOUGH:
                break
