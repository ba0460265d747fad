"""The exact distance of two convex solids (GJK), for where spheres are too near.

E. Gilbert, D. Johnson, S. Keerthi, "A fast procedure for computing the distance between complex
objects in three-dimensional space" (1988). The distance of the solids A and B is the distance of
the origin from the set of their differences a - b, which is convex too. Its extreme point in a
direction is the difference of two extreme points, so the set itself is never made. The search keeps
a simplex of up to four such points:

1. Find v, the point of the simplex nearest to the origin; drop the corners that v does not need.
2. Find the extreme point w of the set in the direction -v, which has the least v w.
3. The whole set lies beyond the plane through w with the normal v, so v w / |v| is a lower bound of
   the distance, and |v| an upper bound. If they are equal, up to rounding, |v| is the distance.
4. Else w joins the simplex.

If the simplex comes to hold the origin, the solids overlap. The lower bound is what is returned: it
holds in spite of rounding.

``gjk_distance`` only decides whether they are far enough apart. ``gjk_witness`` also gives the
direction and the nearest points, for gradients. Where solids overlap, its depth is the least along
any face's normal and the line of centres: an upper bound of the true one.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from galley.collision.kernel.arrays import BOX, CYLINDER, HULL, SPHERE, Solids
from galley.compiled.annotations import Pose, Triple, Vector
from galley.compiled.jit import bare_kernel

OVERLAP = -1.0  # m, what ``gjk_distance`` returns for solids that overlap
_ROUNDS = 40  # at most; a search ends earlier unless rounding keeps it going
_TINY = 1e-14  # m^2, a squared distance so small that the solids touch
# Size of the scratch of ``gjk_witness``: a simplex, and every corner with its point of A.
WITNESS_SCRATCH = 12 + 6 * (_ROUNDS + 1)
# d, then the normal and the point on A: see ``gjk_witness``.
Witness: TypeAlias = tuple[float, float, float, float, float, float, float]


@bare_kernel
def extreme(solids: Solids, row: int, X: Pose, x: float, y: float, z: float) -> Triple:
    """The point of a solid at pose X (12,) that lies farthest along (x, y, z), or one of them."""
    shape = solids.shape[row]
    # The direction in the solid's own frame, R^T d; below, (a, b, c) becomes the point there.
    a = X[0] * x + X[3] * y + X[6] * z
    b = X[1] * x + X[4] * y + X[7] * z
    c = X[2] * x + X[5] * y + X[8] * z
    kind = shape[0]
    if kind == BOX:
        a = shape[1] if a >= 0.0 else -shape[1]
        b = shape[2] if b >= 0.0 else -shape[2]
        c = shape[3] if c >= 0.0 else -shape[3]
    elif kind == CYLINDER:
        share = shape[1] / max(np.sqrt(a * a + b * b), 1e-12)
        a, b = a * share, b * share
        c = shape[2] if c >= 0.0 else -shape[2]
    elif kind == SPHERE:
        share = shape[1] / max(np.sqrt(a * a + b * b + c * c), 1e-12)
        a, b, c = a * share, b * share, c * share
    else:
        first, last = int(shape[6]), int(shape[7])
        vertices = solids.vertices
        best, farthest = -1e30, first
        for k in range(first, last):
            along = a * vertices[k, 0] + b * vertices[k, 1] + c * vertices[k, 2]
            if along > best:
                best, farthest = along, k
        v = vertices[farthest]
        a, b, c = float(v[0]), float(v[1]), float(v[2])
    return (
        X[0] * a + X[1] * b + X[2] * c + X[9],
        X[3] * a + X[4] * b + X[5] * c + X[10],
        X[6] * a + X[7] * b + X[8] * c + X[11],
    )


@bare_kernel
def support(solids: Solids, row: int, X: Pose, x: float, y: float, z: float) -> float:
    """The largest value of d p over the points p of a solid at pose X (12,), d = (x, y, z).

    The support function. For a unit vector d: metres from the world's origin to the plane that
    touches the solid.
    """
    size = solids.shape[row, 1:4]
    a = X[0] * x + X[3] * y + X[6] * z
    b = X[1] * x + X[4] * y + X[7] * z
    c = X[2] * x + X[5] * y + X[8] * z
    kind = solids.shape[row, 0]
    if kind == BOX:
        local = abs(a) * size[0] + abs(b) * size[1] + abs(c) * size[2]
    elif kind == CYLINDER:
        local = np.sqrt(a * a + b * b) * size[0] + abs(c) * size[1]
    elif kind == SPHERE:
        local = np.sqrt(a * a + b * b + c * c) * size[0]
    else:
        local = -1e9
        for k in range(int(solids.shape[row, 6]), int(solids.shape[row, 7])):
            v = solids.vertices[k]
            local = max(local, a * v[0] + b * v[1] + c * v[2])
    return local + x * X[9] + y * X[10] + z * X[11]


@bare_kernel
def gjk_distance(
    A: Solids, i: int, X: Pose, B: Solids, j: int, Y: Pose, limit: float, W: Vector
) -> float:
    """A lower bound on the distance (m) of two solids, tight to rounding; OVERLAP if they overlap.

    Args:
        A, i, X: a solid, row i of A, at pose X (12,).
        B, j, Y: the other one.
        limit: m. The search ends once it is known whether they are this far apart, so the bound is
            at least ``limit`` if they are, and less if not. Negative: for the distance itself.
        W: (12,) scratch: the corners of a simplex.
    """
    # The first direction is from frame to frame; any will do.
    x, y, z = X[9] - Y[9], X[10] - Y[10], X[11] - Y[11]
    if x * x + y * y + z * z < 1e-12:
        x, y, z = 1.0, 0.0, 0.0
    ax, ay, az = extreme(A, i, X, -x, -y, -z)
    bx, by, bz = extreme(B, j, Y, x, y, z)
    x, y, z = ax - bx, ay - by, az - bz
    W[0], W[1], W[2] = x, y, z
    size = 1
    best = OVERLAP
    for _ in range(_ROUNDS):
        square = x * x + y * y + z * z
        if square < _TINY:
            return OVERLAP
        length = np.sqrt(square)
        if length < limit:  # the nearest points are no farther apart than this
            return min(best, length)
        ax, ay, az = extreme(A, i, X, -x, -y, -z)
        bx, by, bz = extreme(B, j, Y, x, y, z)
        u, v, w = ax - bx, ay - by, az - bz
        along = x * u + y * v + z * w
        # Bounds need not rise from round to round: the best one so far counts.
        best = max(best, along / length)
        if (limit >= 0.0 and best >= limit) or square - along <= 1e-12 * square + _TINY:
            return best
        for k in range(size):  # the same corner again: only rounding would go on
            if W[3 * k] == u and W[3 * k + 1] == v and W[3 * k + 2] == w:
                return best
        W[3 * size], W[3 * size + 1], W[3 * size + 2] = u, v, w
        size, x, y, z = nearest_in(W, size + 1)
        if size == 4:
            # A flat simplex may seem to hold the origin: not if a direction separates the two.
            return best if best > 0.0 else OVERLAP
    return best


@bare_kernel
def nearest_in(W: Vector, size: int) -> tuple[int, float, float, float]:
    """The point of a simplex nearest to the origin; ``W`` keeps the corners that it lies between.

    Args:
        W: scratch, whose first ``size`` corners are the simplex; reordered.
        size: 2 for a segment, 3 for a triangle, 4 for a tetrahedron.

    Returns:
        (corners kept, x, y, z); 4 corners if the origin lies inside.
    """
    if size == 2:
        return _on_segment(W, 0, 1)
    if size == 3:
        return _on_triangle(W, 0, 1, 2)
    # A tetrahedron: the nearest of the faces that the origin lies beyond.
    best, corners = 1e30, 4  # 4: the origin is beyond no face
    bx = by = bz = 0.0
    c0 = c1 = c2 = c3 = c4 = c5 = c6 = c7 = c8 = 0.0
    for face in range(4):
        a = 0 if face < 3 else 1
        b = 1 if face < 2 else 2
        c = 2 if face == 0 else 3
        d = 3 - face  # the corner that this face lacks
        if _beyond(W, a, b, c, d):
            # On a copy: corners are put aside, since a face rearranges them.
            s0, s1, s2 = W[0], W[1], W[2]
            s3, s4, s5 = W[3], W[4], W[5]
            s6, s7, s8 = W[6], W[7], W[8]
            s9, s10, s11 = W[9], W[10], W[11]
            n, x, y, z = _on_triangle(W, a, b, c)
            square = x * x + y * y + z * z
            if square < best:
                best, corners, bx, by, bz = square, n, x, y, z
                c0, c1, c2 = W[0], W[1], W[2]
                c3, c4, c5 = W[3], W[4], W[5]
                c6, c7, c8 = W[6], W[7], W[8]
            W[0], W[1], W[2] = s0, s1, s2
            W[3], W[4], W[5] = s3, s4, s5
            W[6], W[7], W[8] = s6, s7, s8
            W[9], W[10], W[11] = s9, s10, s11
    if corners < 4:
        W[0], W[1], W[2] = c0, c1, c2
        W[3], W[4], W[5] = c3, c4, c5
        W[6], W[7], W[8] = c6, c7, c8
    return corners, bx, by, bz


@bare_kernel
def _beyond(W: Vector, a: int, b: int, c: int, d: int) -> bool:
    """Whether the plane through corners a, b, c separates the origin from corner d, or nearly."""
    ux, uy, uz = W[3 * b] - W[3 * a], W[3 * b + 1] - W[3 * a + 1], W[3 * b + 2] - W[3 * a + 2]
    vx, vy, vz = W[3 * c] - W[3 * a], W[3 * c + 1] - W[3 * a + 1], W[3 * c + 2] - W[3 * a + 2]
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    own = -(nx * W[3 * a] + ny * W[3 * a + 1] + nz * W[3 * a + 2])
    other = (
        nx * (W[3 * d] - W[3 * a])
        + ny * (W[3 * d + 1] - W[3 * a + 1])
        + nz * (W[3 * d + 2] - W[3 * a + 2])
    )
    return own * other <= 0.0


@bare_kernel
def _on_segment(W: Vector, a: int, b: int) -> tuple[int, float, float, float]:
    """As ``nearest_in``, for the segment of corners a and b; those kept come first in W."""
    ax, ay, az = W[3 * a], W[3 * a + 1], W[3 * a + 2]
    bx, by, bz = W[3 * b], W[3 * b + 1], W[3 * b + 2]
    ux, uy, uz = bx - ax, by - ay, bz - az
    square = ux * ux + uy * uy + uz * uz
    # Where the line comes nearest, 0 at a and 1 at b.
    t = -(ax * ux + ay * uy + az * uz) / max(square, 1e-30)
    if t <= 0.0:
        W[0], W[1], W[2] = ax, ay, az
        return 1, ax, ay, az
    if t >= 1.0:
        W[0], W[1], W[2] = bx, by, bz
        return 1, bx, by, bz
    W[0], W[1], W[2] = ax, ay, az
    W[3], W[4], W[5] = bx, by, bz
    return 2, ax + t * ux, ay + t * uy, az + t * uz


@bare_kernel
def _on_triangle(W: Vector, a: int, b: int, c: int) -> tuple[int, float, float, float]:
    """As ``nearest_in``, for the triangle of corners a, b and c; those kept come first in W.

    By the regions of C. Ericson, "Real-time collision detection" (2005), 5.1.5.
    """
    ax, ay, az = W[3 * a], W[3 * a + 1], W[3 * a + 2]
    bx, by, bz = W[3 * b], W[3 * b + 1], W[3 * b + 2]
    cx, cy, cz = W[3 * c], W[3 * c + 1], W[3 * c + 2]
    ux, uy, uz = bx - ax, by - ay, bz - az
    vx, vy, vz = cx - ax, cy - ay, cz - az
    d1, d2 = -(ux * ax + uy * ay + uz * az), -(vx * ax + vy * ay + vz * az)
    d3, d4 = -(ux * bx + uy * by + uz * bz), -(vx * bx + vy * by + vz * bz)
    d5, d6 = -(ux * cx + uy * cy + uz * cz), -(vx * cx + vy * cy + vz * cz)
    # Barycentric coordinates of the origin's projection, times one positive number.
    alone_c, alone_b, alone_a = d1 * d4 - d3 * d2, d5 * d2 - d1 * d6, d3 * d6 - d5 * d4
    W[0], W[1], W[2] = ax, ay, az
    W[3], W[4], W[5] = bx, by, bz
    W[6], W[7], W[8] = cx, cy, cz
    if alone_c > 0.0 and alone_b > 0.0 and alone_a > 0.0:
        share = 1.0 / (alone_a + alone_b + alone_c)
        s, t = alone_b * share, alone_c * share
        return 3, ax + s * ux + t * vx, ay + s * uy + t * vy, az + s * uz + t * vz
    # The projection is outside: the nearest point of the three sides. Each is put first in W, and
    # the best one again at the end, as the others have overwritten it.
    _, x, y, z = _on_segment(W, 0, 1)
    best = x * x + y * y + z * z
    W[0], W[1], W[2] = ax, ay, az
    W[3], W[4], W[5] = cx, cy, cz
    _, u, v, w = _on_segment(W, 0, 1)
    first = u * u + v * v + w * w
    W[0], W[1], W[2] = bx, by, bz
    W[3], W[4], W[5] = cx, cy, cz
    k, p, q, r = _on_segment(W, 0, 1)
    second = p * p + q * q + r * r
    if second <= best and second <= first:
        return k, p, q, r
    if first <= best:
        W[0], W[1], W[2] = ax, ay, az
        W[3], W[4], W[5] = cx, cy, cz
        return _on_segment(W, 0, 1)
    W[0], W[1], W[2] = ax, ay, az
    W[3], W[4], W[5] = bx, by, bz
    return _on_segment(W, 0, 1)


@bare_kernel
def gjk_witness(
    A: Solids, i: int, X: Pose, B: Solids, j: int, Y: Pose, limit: float, W: Vector
) -> Witness:
    """Distance of solid i of A at pose X (12,) from solid j of B at Y (12,), and where it is.

    Args:
        limit: metres; where the distance is greater, it is ``limit`` that is returned, and zeros.
        W: (WITNESS_SCRATCH,) scratch.

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
    met, size, best = 0, 1, -1.0  # corners met so far; of the simplex; the greatest v w
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
        if along > 0.0 and along * along > limit * limit * square:  # the lower bound is beyond it
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
            if best > 0.0:  # a flat simplex only seems to hold the origin: keep the last one
                break
            return _overlap(A, i, X, B, j, Y)
        size, x, y, z = kept, px, py, pz
    d = np.sqrt(x * x + y * y + z * z)
    if d < 1e-7:  # too near for the direction to mean anything
        return _overlap(A, i, X, B, j, Y)
    px, py, pz = _point(W, size, met, x, y, z)
    return d, x / d, y / d, z / d, px, py, pz


@bare_kernel
def _remember(
    W: Vector, met: int, u: float, v: float, w: float, ax: float, ay: float, az: float
) -> int:
    """Notes a corner (u, v, w) and the point of A that it comes from, behind the simplex in W.

    Returns:
        How many corners are noted, ``met`` and this one.
    """
    at = 12 + 6 * met
    W[at], W[at + 1], W[at + 2] = u, v, w
    W[at + 3], W[at + 4], W[at + 5] = ax, ay, az
    return met + 1


@bare_kernel
def _behind(W: Vector, met: int, k: int) -> int:
    """Index in W of the point of A that corner k of the simplex comes from."""
    for m in range(met):
        at = 12 + 6 * m
        if W[at] == W[3 * k] and W[at + 1] == W[3 * k + 1] and W[at + 2] == W[3 * k + 2]:
            return at + 3
    return 15


@bare_kernel
def _point(W: Vector, size: int, met: int, x: float, y: float, z: float) -> Triple:
    """The point of A that belongs to the point (x, y, z) of the simplex.

    It has the same barycentric coordinates among the points of A that the corners come from.
    """
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
        det = uu * vv - uv * uv  # 0 for a flat triangle, of which one side is enough
        if det > 1e-12 * uu * vv:
            s, t = (vv * ur - uv * vr) / det, (uu * vr - uv * ur) / det
    first = 1.0 - s - t
    return (
        first * W[a] + s * W[b] + t * W[c],
        first * W[a + 1] + s * W[b + 1] + t * W[c + 1],
        first * W[a + 2] + s * W[b + 2] + t * W[c + 2],
    )


@bare_kernel
def _overlap(A: Solids, i: int, X: Pose, B: Solids, j: int, Y: Pose) -> Witness:
    """As ``gjk_witness`` for solids that overlap: the shortest way out along a face's normal."""
    best, nx, ny, nz = -1e9, 0.0, 0.0, 1.0
    # From centre to centre: for solids that have no faces.
    x, y, z = float(X[9] - Y[9]), float(X[10] - Y[10]), float(X[11] - Y[11])
    size = np.sqrt(x * x + y * y + z * z)
    if size > 1e-6:
        nx, ny, nz = x / size, y / size, z / size
        best = -support(A, i, X, -nx, -ny, -nz) - support(B, j, Y, nx, ny, nz)
    # The faces of B, then those of A with the normal turned round, so that it leads from B to A.
    for side in range(2):
        S, row, P, sign = (B, j, Y, 1.0) if side == 0 else (A, i, X, -1.0)
        kind = S.shape[row, 0]
        # Faces of a box: both ways along x, y and z; of a cylinder only along z.
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
            # The gap between the two along (x, y, z); negative: how far A must move that way.
            d = -support(A, i, X, -x, -y, -z) - support(B, j, Y, x, y, z)
            if d > best:
                best, nx, ny, nz = d, x, y, z
    px, py, pz = extreme(A, i, X, -nx, -ny, -nz)
    return min(best, 0.0), nx, ny, nz, px, py, pz
