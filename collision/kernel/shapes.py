"""Squared distances from 16 points at once to solids: boxes, cylinders, spheres and hulls."""

from __future__ import annotations

import numpy as np

from galley.collision.kernel.arrays import BOX, CYLINDER, SPHERE, Solids
from galley.compiled.annotations import Lanes, Matrix
from galley.compiled.jit import bare_kernel
from galley.compiled.lanes import absolute, maximum, splat, square_root


@bare_kernel
def squared_local(solids: Solids, row: int, x: Lanes, y: Lanes, z: Lanes) -> Lanes:
    """Squared distance (m^2) from points in a solid's frame to it, 0 inside: lanes.

    Exact for boxes, cylinders and spheres. For hulls the largest distance to a plane, which is
    less than the distance where an edge or a corner is nearest: never too large.
    """
    zero = splat(np.float32(0.0))
    kind = solids.shape[row, 0]
    size = solids.shape[row, 1:4]
    if kind == BOX:  # beyond the faces, along each axis
        a = maximum(absolute(x) - splat(size[0]), zero)
        b = maximum(absolute(y) - splat(size[1]), zero)
        c = maximum(absolute(z) - splat(size[2]), zero)
        return a * a + b * b + c * c
    if kind == CYLINDER:  # beyond the side, and beyond the caps
        a = maximum(square_root(x * x + y * y) - splat(size[0]), zero)
        c = maximum(absolute(z) - splat(size[1]), zero)
        return a * a + c * c
    if kind == SPHERE:
        a = maximum(square_root(x * x + y * y + z * z) - splat(size[0]), zero)
        return a * a
    planes = solids.planes
    a = zero
    for k in range(int(solids.shape[row, 4]), int(solids.shape[row, 5])):
        a = maximum(
            a,
            splat(planes[k, 0]) * x
            + splat(planes[k, 1]) * y
            + splat(planes[k, 2]) * z
            - splat(planes[k, 3]),
        )
    return a * a


@bare_kernel
def squared(solids: Solids, pose: Matrix, row: int, x: Lanes, y: Lanes, z: Lanes) -> Lanes:
    """Squared distance from points in the world to the solid of a row: lanes.

    Args:
        pose: (m, 12) or wider: in its row, where that solid is.
    """
    X = pose[row]
    x = x - splat(X[9])
    y = y - splat(X[10])
    z = z - splat(X[11])
    zero, one = np.float32(0.0), np.float32(1.0)
    # Unrotated, like most furniture. Both conditions: the cosine of a small angle is 1 too.
    if X[0] == one and X[4] == one and X[1] == zero and X[2] == zero and X[5] == zero:
        return squared_local(solids, row, x, y, z)
    # Into its frame: R^T (x - p).
    return squared_local(
        solids,
        row,
        splat(X[0]) * x + splat(X[3]) * y + splat(X[6]) * z,
        splat(X[1]) * x + splat(X[4]) * y + splat(X[7]) * z,
        splat(X[2]) * x + splat(X[5]) * y + splat(X[8]) * z,
    )
