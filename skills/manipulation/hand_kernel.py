"""Compiled: how deep a convex polyhedron overlaps another one, at many poses."""

from __future__ import annotations

import math

import numpy as np

from galley.compiled.jit import entry, kernel
from galley.domain.frames import Array

_PARALLEL = 1e-6  # a cross product of unit vectors this short has no direction


@kernel
def _overlap(axis: Array, a: Array, b: Array) -> float:
    """Overlap of the projections of points a (n, 3) and b (m, 3) on an axis (3,)."""
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
    a: Array,
    normals: Array,
    edges: Array,
    X: Array,
    b: Array,
    b_normals: Array,
    b_edges: Array,
    out: Array,
) -> None:
    """Write the depth of polyhedron a at poses X (n, 4, 4) in b, 0 where they are apart, to (n,).

    Args:
        a, normals, edges: vertices, and directions of faces and edges (m, 3), see ``Polyhedron``.
        b, b_normals, b_edges: likewise.
    """
    points, faces, ridges = np.empty_like(b), np.empty_like(b_normals), np.empty_like(b_edges)
    axis = np.empty(3)
    for n in range(len(X)):
        R, p = X[n, :3, :3], X[n, :3, 3]
        for i in range(3):  # b in the frame of a
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
                for i in range(3):
                    j, h = (i + 1) % 3, (i + 2) % 3
                    axis[i] = edges[k, j] * ridges[m, h] - edges[k, h] * ridges[m, j]
                length = math.sqrt(axis[0] ** 2 + axis[1] ** 2 + axis[2] ** 2)
                if length > _PARALLEL:
                    for i in range(3):
                        axis[i] /= length
                    least = min(least, _overlap(axis, a, points))
        out[n] = max(0.0, least)
