"""Compiled overlap of polygons, and signed distance of a point.

Vertices (n, 2) are in metres and counter-clockwise. For clipping, a polygon is a table of convex
parts: ``points`` (m, 2) are the vertices of all parts one after another, those of part k from
``starts[k]`` up to ``starts[k + 1]``; see ``polygon.Polygon.table``.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from galley.compiled.jit import entry, kernel
from galley.domain.frames import Array

Ints = NDArray[np.int64]


@kernel
def _cut(points: Array, count: int, x: float, y: float, ex: float, ey: float, out: Array) -> int:
    """Cut a convex polygon by a line through (x, y) along (ex, ey), and keep its left part.

    It is one step of Sutherland and Hodgman, Reentrant Polygon Clipping, 1974. The polygon is the
    first ``count`` rows of ``points``; the part is written to ``out``. Returns its number of
    vertices.
    """
    size = 0
    px, py = points[count - 1, 0], points[count - 1, 1]
    before = ex * (py - y) - ey * (px - x)
    for i in range(count):
        qx, qy = points[i, 0], points[i, 1]
        side = ex * (qy - y) - ey * (qx - x)
        if (before < 0.0) != (side < 0.0):  # the edge crosses the line
            t = before / (before - side)
            out[size, 0] = px + t * (qx - px)
            out[size, 1] = py + t * (qy - py)
            size += 1
        if side >= 0.0:
            out[size, 0] = qx
            out[size, 1] = qy
            size += 1
        px, py, before = qx, qy, side
    return size


@kernel
def _clip(room: Array, count: int, points: Array, first: int, end: int) -> int:
    """Clip ``room[0, :count]`` in place by the convex polygon ``points[first:end]``.

    Each edge cuts from one half of ``room`` (2, k, 2) into the other. Returns the number of
    vertices.
    """
    now = 0
    x, y = points[end - 1, 0], points[end - 1, 1]
    for j in range(first, end):
        u, v = points[j, 0], points[j, 1]
        count = _cut(room[now], count, x, y, u - x, v - y, room[1 - now])
        now = 1 - now
        if count == 0:
            return 0
        x, y = u, v
    if now == 1:  # the result is in the other half
        for i in range(count):
            room[0, i, 0] = room[1, i, 0]
            room[0, i, 1] = room[1, i, 1]
    return count


@entry("f8:2 i8:1 f8 f8 f8 f8:2 i8:1 f8:3")
@kernel
def overlap(
    points_a: Array,
    starts_a: Ints,
    x: float,
    y: float,
    theta: float,
    points_b: Array,
    starts_b: Ints,
    room: Array,
) -> float:
    """Area (m^2) of the intersection of polygon b with polygon a at a pose in b's frame.

    It is the sum over all pairs of convex parts.

    Args:
        points_a, starts_a: table of a, in its own frame.
        x, y, theta: pose of a, m and rad.
        points_b, starts_b: table of b.
        room: (2, k, 2), scratch space, with k at least the vertices of a's and b's largest parts.
    """
    c, s = math.cos(theta), math.sin(theta)
    total = 0.0
    for k in range(len(starts_a) - 1):
        for l in range(len(starts_b) - 1):
            count = starts_a[k + 1] - starts_a[k]
            for i in range(count):
                u, v = points_a[starts_a[k] + i, 0], points_a[starts_a[k] + i, 1]
                room[0, i, 0] = x + c * u - s * v
                room[0, i, 1] = y + s * u + c * v
            count = _clip(room, count, points_b, starts_b[l], starts_b[l + 1])
            x0, y0 = room[0, 0, 0], room[0, 0, 1]  # areas relative to it, to lose no digits
            double = 0.0
            for i in range(1, count - 1):
                double += (room[0, i, 0] - x0) * (room[0, i + 1, 1] - y0)
                double -= (room[0, i + 1, 0] - x0) * (room[0, i, 1] - y0)
            total += 0.5 * double
    return total


@kernel
def point_distance(vertices: Array, x: float, y: float) -> tuple[float, float, float, float, float]:
    """Signed distance (m) of a point to a polygon, the nearest point, and the normal there.

    Inside, the distance is negative. The normal is the distance's gradient, so it points out of the
    polygon. At a vertex the sign of the distance comes from the mean normal of both edges
    (Baerentzen and Aanaes, 2005).

    Returns:
        distance, nearest x and y, normal x and y.
    """
    n = len(vertices)
    least, edge, share = 1e300, 0, 0.0  # squared distance, nearest edge, and where along it
    for i in range(n):
        j = i + 1 if i + 1 < n else 0
        ax, ay = vertices[i, 0], vertices[i, 1]
        ex, ey = vertices[j, 0] - ax, vertices[j, 1] - ay
        t = ((x - ax) * ex + (y - ay) * ey) / (ex * ex + ey * ey)
        t = min(max(t, 0.0), 1.0)
        dx, dy = x - ax - t * ex, y - ay - t * ey
        square = dx * dx + dy * dy
        if square < least:
            least, edge, share = square, i, t
    j = edge + 1 if edge + 1 < n else 0
    ax, ay = vertices[edge, 0], vertices[edge, 1]
    ex, ey = vertices[j, 0] - ax, vertices[j, 1] - ay
    length = math.sqrt(ex * ex + ey * ey)
    nx, ny = ey / length, -ex / length
    if 0.0 < share < 1.0:  # within an edge its own normal gives the sign
        distance = (x - ax) * nx + (y - ay) * ny
        return distance, x - distance * nx, y - distance * ny, nx, ny
    at = edge if share == 0.0 else j
    other = at - 1 if share == 0.0 else at + 1  # the other end of the vertex's other edge
    other = n - 1 if other < 0 else other if other < n else 0
    qx, qy = vertices[at, 0], vertices[at, 1]
    distance = math.sqrt(least)
    if distance <= 1e-14 * length:  # at the vertex itself there is no direction to it
        return 0.0, qx, qy, nx, ny
    fx, fy = vertices[other, 0] - qx, vertices[other, 1] - qy
    if share == 0.0:
        fx, fy = -fx, -fy  # both edges run counter-clockwise
    width = math.sqrt(fx * fx + fy * fy)
    out = (x - qx) * (nx + fy / width) + (y - qy) * (ny - fx / width)
    if out < 0.0:
        distance = -distance
    return distance, qx, qy, (x - qx) / distance, (y - qy) / distance


@entry("f8:2 f8:2 f8:2")
@kernel
def point_distances(vertices: Array, points: Array, out: Array) -> None:
    """Write ``point_distance`` of each point (k, 2) to a row of ``out`` (k, 5)."""
    for i in range(len(points)):
        values = point_distance(vertices, points[i, 0], points[i, 1])
        out[i, 0], out[i, 1], out[i, 2], out[i, 3], out[i, 4] = values
