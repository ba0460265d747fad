"""Compiled: inverse kinematics of a planar arm, with a penalty where its links come close.

The cost of joint angles theta, for a tip at p and links i, j that share no joint, d_ij apart:

    E = |p - target|^2 + sum_ij weight max(threshold - d_ij, 0)

Link i runs from point i to point i + 1; joints 0 to i move it.
"""

from __future__ import annotations

import math

import numpy as np

from galley.compiled.jit import entry, kernel
from galley.domain.frames import Array

_STEPS = 200
_DONE = 1e-14  # m^2 above the least possible cost: as good as it gets
_ENOUGH = 1e-10  # m^2: the same, but not worth another start


@kernel
def _nearest(p: Array, i: int, j: int, found: Array) -> float:
    """Distance (m) of links i and j; writes the nearest points of both to ``found`` (4,).

    0 where they cross. Else an end of one is nearest.
    """
    ax, ay, bx, by = p[i, 0], p[i, 1], p[i + 1, 0], p[i + 1, 1]
    cx, cy, dx, dy = p[j, 0], p[j, 1], p[j + 1, 0], p[j + 1, 1]
    ux, uy, vx, vy = bx - ax, by - ay, dx - cx, dy - cy
    c_side, d_side = ux * (cy - ay) - uy * (cx - ax), ux * (dy - ay) - uy * (dx - ax)
    a_side, b_side = vx * (ay - cy) - vy * (ax - cx), vx * (by - cy) - vy * (bx - cx)
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
            found[0], found[1], found[2], found[3] = px, py, qx, qy
    return math.sqrt(least)


@kernel
def _place(theta: Array, lengths: Array, base: Array, p: Array) -> None:
    """Write the joints and, last, the tip (n + 1, 2)."""
    angle = base[2]
    p[0, 0], p[0, 1] = base[0], base[1]
    for i in range(len(lengths)):
        angle += theta[i]
        p[i + 1, 0] = p[i, 0] + lengths[i] * math.cos(angle)
        p[i + 1, 1] = p[i, 1] + lengths[i] * math.sin(angle)


@entry("f8:1 f8:1 f8:1")
@kernel
def clearance(theta: Array, lengths: Array, base: Array) -> float:
    """The least distance (m) of links that share no joint; 0 where two cross, 1e300 if none."""
    n = len(lengths)
    p, found = np.empty((n + 1, 2)), np.empty(4)
    _place(theta, lengths, base, p)
    least = 1e300
    for i in range(n):
        for j in range(i + 2, n):
            least = min(least, _nearest(p, i, j, found))
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
    """E (m^2); writes the points to ``p`` (n + 1, 2) and the penalty's gradient (n,)."""
    n = len(lengths)
    _place(theta, lengths, base, p)
    ex, ey = p[n, 0] - target[0], p[n, 1] - target[1]
    total = ex * ex + ey * ey
    for k in range(n):
        gradient[k] = 0.0
    found = np.empty(4)
    for i in range(n):
        for j in range(i + 2, n):
            d = _nearest(p, i, j, found)
            if d >= threshold:
                continue
            total += weight * (threshold - d)
            if d > 0.0:
                # Joints up to i move both links alike. Those after i, up to j, move link j alone:
                # its nearest point q goes along (-(q - joint)_y, (q - joint)_x).
                nx, ny = (found[2] - found[0]) / d, (found[3] - found[1]) / d
                for k in range(i + 1, j + 1):
                    rx, ry = found[2] - p[k, 0], found[3] - p[k, 1]
                    gradient[k] -= weight * (nx * -ry + ny * rx)
    return total


@kernel
def _descend(
    theta: Array, lengths: Array, base: Array, target: Array,
    threshold: float, weight: float, least: float,
    trial: Array, p: Array, p_trial: Array, g: Array, g_trial: Array,
) -> float:  # fmt: skip
    """Improve angles in place by Levenberg's and Marquardt's method; returns their cost.

    The model of E is |e + J x|^2 + g . x + damping |x|^2 / 2, e the tip's error and g the penalty's
    gradient. Its minimum needs no more than the inverse of a 2 x 2 matrix:

        x = -J^T S e - (g - J^T S J g) / damping,    S = (J J^T + damping / 2)^-1
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
        if size < 2.0:  # else the model says nothing
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
    """Joint angles for many targets, in place of where the search for each starts.

    Args:
        theta: (m, n) rad. lengths: (n,) m. base: (3,) x, y, heading. targets: (m, 2) m.
        starts: (s, n) rad, added to theta for another try where the first leaves a penalty.
        costs: (m,) m^2, written.
    """
    n = len(lengths)
    room, points = np.empty((4, n)), np.empty((2, n + 1, 2))
    stretch, longest = 0.0, 0.0
    for length in lengths:
        stretch, longest = stretch + length, max(longest, length)
    for i in range(len(targets)):
        far = math.hypot(targets[i, 0] - base[0], targets[i, 1] - base[1])
        short = max(far - stretch, 2.0 * longest - stretch - far, 0.0)
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
