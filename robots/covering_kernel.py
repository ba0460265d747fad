"""The inner loops of ``covering``: spheres inside a grown hull, fitted to the points they cover.

A sphere about c may have the radius r(c) = excess + depth(c), depth(c) = min_j (o_j - n_j . c).
For a fixed set of points, the least slack f(c) = min_x (r(c) - |x - c|) is concave in c: depth is a
minimum of linear functions, and a distance is convex. So a subgradient ascent finds the best c.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from galley.compiled.jit import fast_kernel, kernel
from galley.domain.frames import Array

Ints = NDArray[np.int64]


@fast_kernel
def depth(planes: Array, x: float, y: float, z: float) -> float:
    """Depth (m) of a point inside planes (4, m), rows n_x, n_y, n_z, o; negative outside."""
    nx, ny, nz, o = planes[0], planes[1], planes[2], planes[3]
    least = 1e9
    for j in range(len(o)):
        least = min(least, o[j] - nx[j] * x - ny[j] * y - nz[j] * z)
    return least


@kernel
def nearest_plane(planes: Array, x: float, y: float, z: float) -> int:
    """The plane that ``depth`` is measured to."""
    below = depth(planes, x, y, z) + 1e-12
    for j in range(planes.shape[1]):
        if planes[3, j] - planes[0, j] * x - planes[1, j] * y - planes[2, j] * z <= below:
            return j
    return 0


@fast_kernel
def farthest(points: Array, x: float, y: float, z: float) -> float:
    """Largest squared distance of points (3, n) from (x, y, z), m^2."""
    px, py, pz = points[0], points[1], points[2]
    most = 0.0
    for i in range(len(px)):
        dx, dy, dz = px[i] - x, py[i] - y, pz[i] - z
        most = max(most, dx * dx + dy * dy + dz * dz)
    return most


@kernel
def assign(points: Array, centres: Array, radii: Array, owner: Ints) -> float:
    """Give each point (n, 3) to the sphere that it is deepest in; the largest |x - c| - r (m)."""
    worst = -1e9
    for i in range(len(points)):
        best, at = 1e9, 0
        for k in range(len(centres)):
            dx = points[i, 0] - centres[k, 0]
            dy = points[i, 1] - centres[k, 1]
            dz = points[i, 2] - centres[k, 2]
            out = np.sqrt(dx * dx + dy * dy + dz * dz) - radii[k]
            if out < best:
                best, at = out, k
        owner[i] = at
        worst = max(worst, best)
    return worst


@kernel
def recentre(
    points: Array, planes: Array, excess: float, centre: Array, step: float, steps: int
) -> float:
    """Move a centre (3,), in place, to where its least slack over its points is largest.

    Args:
        points: what the sphere has to cover (3, k), m.
        planes: the hull's (4, m), see ``depth``.
        excess: how far the sphere may reach beyond the hull, m.
        centre: where to start, inside the hull.
        step: length of the first step, m; the later ones shrink by a constant factor.
        steps: how many.

    Returns:
        The slack there, m; negative where the sphere can't cover its points.
    """
    x, y, z = centre[0], centre[1], centre[2]
    best = -1e9
    for _ in range(steps):
        inside = depth(planes, x, y, z)
        square = farthest(points, x, y, z)
        far = np.sqrt(square)
        if inside >= 0.0 and excess + inside - far > best:
            best = excess + inside - far
            centre[0], centre[1], centre[2] = x, y, z
        j = nearest_plane(planes, x, y, z)
        gx, gy, gz = -planes[0, j], -planes[1, j], -planes[2, j]
        if inside >= 0.0 and far > 0.0:  # outside, the only way is back in
            for i in range(points.shape[1]):
                dx, dy, dz = points[0, i] - x, points[1, i] - y, points[2, i] - z
                if dx * dx + dy * dy + dz * dz >= square * (1.0 - 1e-12):
                    gx += dx / far
                    gy += dy / far
                    gz += dz / far
                    break
        x += step * gx
        y += step * gy
        z += step * gz
        step *= 0.85
    return best


@kernel
def fit(
    points: Array,
    planes: Array,
    excess: float,
    centres: Array,
    sweeps: int,
    patience: int,
    goal: float,
) -> tuple[float, Array]:
    """Alternate between giving points to spheres and recentring the spheres, as Lloyd does.

    Args:
        points: what has to be covered (n, 3), m.
        planes, excess: as in ``recentre``.
        centres: start (k, 3), inside the hull; changed in place to the best found.
        sweeps: how often, at most.
        patience: stop after so many sweeps without progress.
        goal: stop where no point is further outside the union than this (m).

    Returns:
        How far the worst point is outside the union (m, negative: inside), and the radii (k,).
    """
    count = len(centres)
    owner = np.zeros(len(points), dtype=np.int64)
    radii = np.empty(count)
    kept = centres.copy()
    kept_radii = np.empty(count)
    least = 1e9
    stale = 0
    for sweep in range(sweeps + 1):
        for k in range(count):
            radii[k] = excess + depth(planes, centres[k, 0], centres[k, 1], centres[k, 2])
        worst = assign(points, centres, radii, owner)
        stale += 1
        if worst < least - 0.003 * excess:
            stale = 0
        if worst < least:
            least = worst
            kept[:] = centres
            kept_radii[:] = radii
        if least <= goal or sweep == sweeps or stale > patience:
            break
        step = excess * max(0.05, 0.9**sweep)
        order = np.argsort(owner, kind="mergesort")
        start = 0
        for k in range(count):
            end = start
            while end < len(order) and owner[order[end]] == k:
                end += 1
            if end > start:
                own = np.empty((3, end - start))
                for i in range(end - start):
                    for axis in range(3):
                        own[axis, i] = points[order[start + i], axis]
                recentre(own, planes, excess, centres[k], step, 24)
            start = end
    centres[:] = kept
    return least, kept_radii
