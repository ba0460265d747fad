"""How far two convex solids are apart, in which direction, and where: for gradients.

``separation`` answers only whether they are far enough; this keeps the corners that the nearest
points lie between, so that those can be told. Where they overlap, the depth is the least along any
face's normal and the line of centres: at least the true one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from galley.compiled.jit import bare_kernel
from galley.worlds.kernel.arrays import BOX, CYLINDER, HULL
from galley.worlds.kernel.separation import extreme, nearest_in, separation, support

_ROUNDS = 40
_TINY = 1e-14
SCRATCH = 12 + 6 * (_ROUNDS + 1)
"""Numbers of room to work in: a simplex, and every corner with the point of A behind it."""


@bare_kernel
def witness(A: Any, i: int, X: Any, B: Any, j: int, Y: Any, limit: float, W: Any) -> Any:
    """Distance of solid i of A at pose X (12,) from solid j of B at Y (12,), and where.

    Args:
        limit: metres beyond which nothing is wanted: then the distance returned is ``limit``.
        W: (SCRATCH,) numbers of room.

    Returns:
        (d, nx, ny, nz, px, py, pz): distance in metres, negative where they overlap; the unit
        normal from B to A; the point of A that is nearest to B. To first order d grows by n (v_A -
        v_B), with the velocities of what lies at p and at p - d n.
    """
    x, y, z = X[9] - Y[9], X[10] - Y[10], X[11] - Y[11]
    if x * x + y * y + z * z < 1e-12:
        x, y, z = 1.0, 0.0, 0.0
    ax, ay, az = extreme(A, i, X, -x, -y, -z)
    bx, by, bz = extreme(B, j, Y, x, y, z)
    x, y, z = ax - bx, ay - by, az - bz
    W[0], W[1], W[2] = x, y, z
    met, size, best = 0, 1, -1.0
    met = _remember(W, met, x, y, z, ax, ay, az)
    for _ in range(_ROUNDS):
        square = x * x + y * y + z * z
        if square < _TINY:
            return _overlap(A, i, X, B, j, Y)
        ax, ay, az = extreme(A, i, X, -x, -y, -z)
        bx, by, bz = extreme(B, j, Y, x, y, z)
        u, v, w = ax - bx, ay - by, az - bz
        along = x * u + y * v + z * w
        best = max(best, along)
        if along > 0.0 and along * along > limit * limit * square:
            return limit, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        if square - along <= 1e-10 * square + _TINY:
            break
        again = False
        for k in range(size):
            if W[3 * k] == u and W[3 * k + 1] == v and W[3 * k + 2] == w:
                again = True
        if again:
            break
        W[3 * size], W[3 * size + 1], W[3 * size + 2] = u, v, w
        met = _remember(W, met, u, v, w, ax, ay, az)
        kept, px, py, pz = nearest_in(W, size + 1)
        if kept == 4:
            if best > 0.0:  # a flat simplex only seems to hold the origin: the last one will do
                break
            return _overlap(A, i, X, B, j, Y)
        size, x, y, z = kept, px, py, pz
    d = np.sqrt(x * x + y * y + z * z)
    if d < 1e-7:
        return _overlap(A, i, X, B, j, Y)
    px, py, pz = _point(W, size, met, x, y, z)
    return d, x / d, y / d, z / d, px, py, pz


@bare_kernel
def apart(A: Any, i: int, X: Any, B: Any, j: int, Y: Any, W: Any) -> float:
    """Distance (m) of solid i of A at X (12,) from solid j of B at Y; minus an overlap's depth.

    Args:
        W: (12,) numbers of room.
    """
    d = separation(A, i, X, B, j, Y, -1.0, W)
    return d if d >= 0.0 else _overlap(A, i, X, B, j, Y)[0]


@bare_kernel
def _remember(
    W: Any, met: int, u: float, v: float, w: float, ax: float, ay: float, az: float
) -> int:
    """Keeps a corner of the set of differences with the point of A that it comes from."""
    at = 12 + 6 * met
    W[at], W[at + 1], W[at + 2] = u, v, w
    W[at + 3], W[at + 4], W[at + 5] = ax, ay, az
    return met + 1


@bare_kernel
def _behind(W: Any, met: int, k: int) -> int:
    """Where the point of A behind corner k of the simplex stands in W."""
    for m in range(met):
        at = 12 + 6 * m
        if W[at] == W[3 * k] and W[at + 1] == W[3 * k + 1] and W[at + 2] == W[3 * k + 2]:
            return at + 3
    return 15


@bare_kernel
def _point(W: Any, size: int, met: int, x: float, y: float, z: float) -> Any:
    """The point of A that belongs to the point (x, y, z) of the simplex."""
    a = _behind(W, met, 0)
    if size == 1:
        return W[a], W[a + 1], W[a + 2]
    b = _behind(W, met, 1)
    ux, uy, uz = W[3] - W[0], W[4] - W[1], W[5] - W[2]
    rx, ry, rz = x - W[0], y - W[1], z - W[2]
    uu, ur = ux * ux + uy * uy + uz * uz, ux * rx + uy * ry + uz * rz
    s, t = ur / max(uu, 1e-30), 0.0
    c = a
    if size == 3:
        c = _behind(W, met, 2)
        vx, vy, vz = W[6] - W[0], W[7] - W[1], W[8] - W[2]
        vv, uv = vx * vx + vy * vy + vz * vz, ux * vx + uy * vy + uz * vz
        vr = vx * rx + vy * ry + vz * rz
        det = uu * vv - uv * uv
        if det > 1e-12 * uu * vv:
            s, t = (vv * ur - uv * vr) / det, (uu * vr - uv * ur) / det
    first = 1.0 - s - t
    return (
        first * W[a] + s * W[b] + t * W[c],
        first * W[a + 1] + s * W[b + 1] + t * W[c + 1],
        first * W[a + 2] + s * W[b + 2] + t * W[c + 2],
    )


@bare_kernel
def _overlap(A: Any, i: int, X: Any, B: Any, j: int, Y: Any) -> Any:
    """As ``witness`` for solids that overlap: the shallowest way out along a face's normal."""
    best, nx, ny, nz = -1e9, 0.0, 0.0, 1.0
    # From centre to centre: for solids that have no faces.
    x, y, z = float(X[9] - Y[9]), float(X[10] - Y[10]), float(X[11] - Y[11])
    size = np.sqrt(x * x + y * y + z * z)
    if size > 1e-6:
        nx, ny, nz = x / size, y / size, z / size
        best = -support(A, i, X, -nx, -ny, -nz) - support(B, j, Y, nx, ny, nz)
    for side in range(2):
        S, row, P, sign = (B, j, Y, 1.0) if side == 0 else (A, i, X, -1.0)
        kind = S.shape[row, 0]
        first, last = 0, 0
        if kind == BOX:
            last = 6
        elif kind == CYLINDER:
            first, last = 4, 6
        elif kind == HULL:
            last = int(S.shape[row, 5] - S.shape[row, 4])
        for k in range(first, last):
            if kind == HULL:
                n = S.planes[int(S.shape[row, 4]) + k]
                a, b, c = sign * n[0], sign * n[1], sign * n[2]
            else:
                way = 1.0 if k % 2 == 0 else -1.0
                a = way if k // 2 == 0 else 0.0
                b = way if k // 2 == 1 else 0.0
                c = way if k // 2 == 2 else 0.0
            x = P[0] * a + P[1] * b + P[2] * c
            y = P[3] * a + P[4] * b + P[5] * c
            z = P[6] * a + P[7] * b + P[8] * c
            d = -support(A, i, X, -x, -y, -z) - support(B, j, Y, x, y, z)
            if d > best:
                best, nx, ny, nz = d, x, y, z
    px, py, pz = extreme(A, i, X, -nx, -ny, -nz)
    return min(best, 0.0), nx, ny, nz, px, py, pz
