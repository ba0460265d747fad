"""How far two convex solids are apart: a bound from below, by looking along chosen directions.

Along any unit direction d the gap between two bodies, min over B of d x minus max over A of d x, is
at most their distance. The largest gap over the directions of the separating axis theorem (face
normals, and products of edges) and over the direction between nearest points, found by projecting
to and fro, is what ``gap`` returns. It is exact where a face, or the nearest points of boxes,
cylinders and spheres decide; overlapping bodies give minus their depth along those directions.
S. Gottschalk, M. Lin, D. Manocha, "OBBTree" (1996), for the axes of boxes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from galley.compiled.jit import bare_kernel
from galley.worlds.kernel.arrays import BOX, CYLINDER, HULL, SPHERE

_ROUNDS = 16  # of projecting to and fro
_TINY = 1e-9


@bare_kernel
def support(solids: Any, row: int, X: Any, x: float, y: float, z: float) -> float:
    """The largest value of d p over the points p of a solid at pose X (12,), d = (x, y, z)."""
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
def _along(A: Any, i: int, X: Any, B: Any, j: int, Y: Any, x: float, y: float, z: float) -> float:
    return -support(B, j, Y, -x, -y, -z) - support(A, i, X, x, y, z)


@bare_kernel
def _both(A: Any, i: int, X: Any, B: Any, j: int, Y: Any, x: float, y: float, z: float) -> float:
    """The larger of the gaps along a direction and against it."""
    return max(_along(A, i, X, B, j, Y, x, y, z), _along(A, i, X, B, j, Y, -x, -y, -z))


@bare_kernel
def _faces(A: Any, i: int, X: Any, B: Any, j: int, Y: Any) -> float:
    """The largest gap along the face normals of A."""
    best = -1e9
    kind = A.shape[i, 0]
    if kind == BOX:
        for k in range(3):
            best = max(best, _both(A, i, X, B, j, Y, X[k], X[3 + k], X[6 + k]))
    elif kind == CYLINDER:
        best = _both(A, i, X, B, j, Y, X[2], X[5], X[8])
    elif kind == HULL:
        for k in range(int(A.shape[i, 4]), int(A.shape[i, 5])):
            n = A.planes[k]
            x = X[0] * n[0] + X[1] * n[1] + X[2] * n[2]
            y = X[3] * n[0] + X[4] * n[1] + X[5] * n[2]
            z = X[6] * n[0] + X[7] * n[1] + X[8] * n[2]
            best = max(best, _along(A, i, X, B, j, Y, x, y, z))
    return best


@bare_kernel
def _edges(A: Any, i: int, X: Any, B: Any, j: int, Y: Any) -> float:
    """The largest gap across pairs of edges (a cylinder's axis counts as one)."""
    best = -1e9
    first, last = (0, 3) if A.shape[i, 0] == BOX else (2, 3)
    start, stop = (0, 3) if B.shape[j, 0] == BOX else (2, 3)
    for k in range(first, last):
        ax, ay, az = X[k], X[3 + k], X[6 + k]
        for m in range(start, stop):
            bx, by, bz = Y[m], Y[3 + m], Y[6 + m]
            x, y, z = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
            size = np.sqrt(x * x + y * y + z * z)
            if size > 1e-6:
                best = max(best, _both(A, i, X, B, j, Y, x / size, y / size, z / size))
    return best


@bare_kernel
def _projected(S: Any, row: int, X: Any, x: float, y: float, z: float) -> Any:
    """The point of a box, cylinder or sphere nearest to (x, y, z), all in the world."""
    size = S.shape[row, 1:4]
    x, y, z = x - X[9], y - X[10], z - X[11]
    a = X[0] * x + X[3] * y + X[6] * z
    b = X[1] * x + X[4] * y + X[7] * z
    c = X[2] * x + X[5] * y + X[8] * z
    if S.shape[row, 0] == BOX:
        a = min(max(a, -size[0]), size[0])
        b = min(max(b, -size[1]), size[1])
        c = min(max(c, -size[2]), size[2])
    elif S.shape[row, 0] == CYLINDER:
        share = min(1.0, size[0] / max(np.sqrt(a * a + b * b), _TINY))
        a, b, c = a * share, b * share, min(max(c, -size[1]), size[1])
    else:
        share = min(1.0, size[0] / max(np.sqrt(a * a + b * b + c * c), _TINY))
        a, b, c = a * share, b * share, c * share
    return (
        X[0] * a + X[1] * b + X[2] * c + X[9],
        X[3] * a + X[4] * b + X[5] * c + X[10],
        X[6] * a + X[7] * b + X[8] * c + X[11],
    )


@bare_kernel
def gap(A: Any, i: int, X: Any, B: Any, j: int, Y: Any, enough: float) -> float:
    """At most the distance (m) between solid i of A at pose X (12,) and solid j of B at Y (12,).

    Looks no further once it has found ``enough``.
    """
    best = max(_faces(A, i, X, B, j, Y), _faces(B, j, Y, A, i, X))
    if best >= enough:
        return best
    if A.shape[i, 0] != HULL and B.shape[j, 0] != HULL:
        if A.shape[i, 0] != SPHERE and B.shape[j, 0] != SPHERE:
            best = max(best, _edges(A, i, X, B, j, Y))
            if best >= enough:
                return best
        x, y, z = float(Y[9]), float(Y[10]), float(Y[11])
        for _ in range(_ROUNDS):
            a, b, c = _projected(A, i, X, x, y, z)
            x, y, z = _projected(B, j, Y, a, b, c)
        x, y, z = x - a, y - b, z - c
    else:
        x, y, z = float(Y[9] - X[9]), float(Y[10] - X[10]), float(Y[11] - X[11])
    size = np.sqrt(x * x + y * y + z * z)
    if size > _TINY:
        best = max(best, _along(A, i, X, B, j, Y, x / size, y / size, z / size))
    return best
