"""Compiled: how deep a convex polyhedron penetrates another one, at many poses.

By the separating axis theorem (see ``polyhedra``): the least overlap of the projections on all face
normals and on all cross products of edges is the penetration depth.
"""

from __future__ import annotations

import math

import numpy as np

from galley.compiled.annotations import Float, Point, Points, Vector
from galley.compiled.jit import entry, kernel

_PARALLEL = 1e-6  # a cross product of unit vectors this short has no direction


@kernel
def _overlap(axis: Point, a: Points, b: Points) -> float:
    """Overlap of the projections of points ``a`` (n, 3) and ``b`` (m, 3) on an axis (3,).

    Negative if the projections are apart: then so are the hulls of the points.
    """
    low_a = low_b = math.inf
    high_a = high_b = -math.inf
    for k in range(len(a)):
        on = axis[0] * a[k, 0] + axis[1] * a[k, 1] + axis[2] * a[k, 2]
        low_a, high_a = min(low_a, on), max(high_a, on)
    for k in range(len(b)):
        on = axis[0] * b[k, 0] + axis[1] * b[k, 1] + axis[2] * b[k, 2]
        low_b, high_b = min(low_b, on), max(high_b, on)
    return min(high_a - low_b, high_b - low_a)


@entry("f8:2 f8:2 f8:2 f8:3 f8:2 f8:2 f8:2 f8:1")
@kernel
def depths(
    a: Points,
    normals: Points,
    edges: Points,
    X: Float,
    b: Points,
    b_normals: Points,
    b_edges: Points,
    out: Vector,
) -> None:
    """Write how deep polyhedron ``a`` at poses X penetrates ``b`` to ``out`` (n,), in metres.

    0 where they are apart.

    Args:
        a: vertices of the moving polyhedron, in its own frame (v, 3).
        normals: its face normals (f, 3), one of each parallel pair, see ``Polyhedron``.
        edges: directions of its edges (e, 3), likewise.
        X: its poses (n, 4, 4).
        b: vertices of the other polyhedron, in the world (w, 3).
        b_normals: its face normals (g, 3).
        b_edges: directions of its edges (h, 3).
        out: the depths (n,).
    """
    points, faces, ridges = np.empty_like(b), np.empty_like(b_normals), np.empty_like(b_edges)
    axis = np.empty(3)
    for n in range(len(X)):
        R, p = X[n, :3, :3], X[n, :3, 3]
        # Transform b into the frame of a, where the arrays of a hold for every pose.
        for i in range(3):
            for k in range(len(b)):
                points[k, i] = 0.0
                for j in range(3):
                    points[k, i] += (b[k, j] - p[j]) * R[j, i]
            for k in range(len(b_normals)):
                faces[k, i] = 0.0
                for j in range(3):
                    faces[k, i] += b_normals[k, j] * R[j, i]
            for k in range(len(b_edges)):
                ridges[k, i] = 0.0
                for j in range(3):
                    ridges[k, i] += b_edges[k, j] * R[j, i]
        # Try the axes in the order of cost. As soon as one separates the two, the rest is skipped.
        least = math.inf
        for k in range(len(faces)):
            if least > 0.0:
                least = min(least, _overlap(faces[k], a, points))
        for k in range(len(normals)):
            if least > 0.0:
                least = min(least, _overlap(normals[k], a, points))
        for k in range(len(edges)):
            for m in range(len(ridges)):
                if least <= 0.0:
                    break
                # The cross product of the two edges; parallel edges give no new axis.
                for i in range(3):
                    j, h = (i + 1) % 3, (i + 2) % 3
                    axis[i] = edges[k, j] * ridges[m, h] - edges[k, h] * ridges[m, j]
                length = math.sqrt(axis[0] ** 2 + axis[1] ** 2 + axis[2] ** 2)
                if length > _PARALLEL:
                    for i in range(3):
                        axis[i] /= length
                    least = min(least, _overlap(axis, a, points))
        out[n] = max(0.0, least)
