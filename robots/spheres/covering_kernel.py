"""The inner loops of ``covering``: spheres inside a grown hull, fitted to what they cover.

A sphere about c may have the radius r(c) = excess + depth(c), depth(c) = min_j (o_j - n_j . c).
For a fixed set of points, the least slack f(c) = min_x (r(c) - |x - c|) is concave in c: depth is a
minimum of linear functions, and a distance is convex. So a subgradient ascent finds the best c.

Points are samples of the hull first (``fit``), then the corners of its parts in the cells of the
spheres' power diagram (``polish``). The cell of sphere k holds the points whose |x - c|^2 - r^2 is
least for k; planes bound it. Every corner of the polytope's part in it lies on a triangle of the
surface, or on one of those planes. So clipping each triangle, and a square on each plane, against
all other planes gives all corners.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from galley.compiled.jit import entry, fast_kernel, kernel
from galley.domain.frames import Array

Ints = NDArray[np.int64]
_STEPS = 24  # of an ascent


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
def _copy(rows: Array, into: Array) -> None:
    """Copy rows (n, 3). For ``into[:] = rows`` Numba compiles texts of errors, for seconds."""
    for i in range(len(rows)):
        for axis in range(3):
            into[i, axis] = rows[i, axis]


@entry("f8:2 f8:2 f8:1 i8:1")
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
def _sort_by_owner(owner: Ints, order: Ints, ends: Ints) -> None:
    """Write the points sphere by sphere to ``order`` (n,), and where each ends to ``ends`` (k,)."""
    for k in range(len(ends)):
        ends[k] = 0
    for i in range(len(owner)):
        ends[owner[i]] += 1
    start = 0
    for k in range(len(ends)):
        start, ends[k] = start + ends[k], start
    for i in range(len(owner)):
        order[ends[owner[i]]] = i
        ends[owner[i]] += 1


@kernel
def recentre(points: Array, planes: Array, excess: float, centre: Array, step: float) -> float:
    """Move a centre (3,), in place, to where its least slack over its points is largest.

    Args:
        points: what the sphere has to cover (3, k), m.
        planes: the hull's (4, m), see ``depth``.
        excess: how far the sphere may reach beyond the hull, m.
        centre: where to start, inside the hull.
        step: length of the first step, m; the later ones shrink by a constant factor.

    Returns:
        The slack there, m; negative where the sphere can't cover its points.
    """
    x, y, z = centre[0], centre[1], centre[2]
    best = -1e9
    for _ in range(_STEPS):
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


@entry("f8:2 f8:2 f8 f8:2 i8 i8 f8")
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
    owner, order = np.empty(len(points), np.int64), np.empty(len(points), np.int64)
    ends = np.empty(count, np.int64)
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
            _copy(centres, kept)
            for k in range(count):
                kept_radii[k] = radii[k]
        if least <= goal or sweep == sweeps or stale > patience:
            break
        step = excess * max(0.05, 0.9**sweep)
        _sort_by_owner(owner, order, ends)
        for k in range(count):
            start, end = (ends[k - 1] if k > 0 else 0), ends[k]
            if end > start:
                own = np.empty((3, end - start))
                for i in range(end - start):
                    for axis in range(3):
                        own[axis, i] = points[order[start + i], axis]
                recentre(own, planes, excess, centres[k], step)
    _copy(kept, centres)
    return least, kept_radii


@kernel
def clip(polygon: Array, count: int, a: float, b: float, c: float, o: float, out: Array) -> int:
    """The part of a convex polygon where a x + b y + c z <= o (Sutherland and Hodgman, 1974).

    It has at most one corner more. Returns how many; -1 where ``out`` is too small.
    """
    made = 0
    for i in range(count):
        j = i + 1 if i + 1 < count else 0
        here = a * polygon[i, 0] + b * polygon[i, 1] + c * polygon[i, 2] - o
        there = a * polygon[j, 0] + b * polygon[j, 1] + c * polygon[j, 2] - o
        if here <= 0.0:
            for axis in range(3):
                out[made, axis] = polygon[i, axis]
            made += 1
        if (here < 0.0 < there) or (there < 0.0 < here):
            share = here / (here - there)
            for axis in range(3):
                out[made, axis] = polygon[i, axis] + share * (polygon[j, axis] - polygon[i, axis])
            made += 1
        if made + 2 > len(out):  # rounding has bent a polygon: no proof comes of that
            return -1
    return made


@kernel
def _cuts(polygon: Array, count: int, a: float, b: float, c: float, o: float) -> bool:
    """Whether a plane cuts anything off a polygon."""
    most = o
    for i in range(count):
        most = max(most, a * polygon[i, 0] + b * polygon[i, 1] + c * polygon[i, 2])
    return most > o


@kernel
def _bisectors(centres: Array, radii: Array, k: int, cuts: Array) -> int:
    """Planes (count, 4) around the cell of sphere k; returns -1 where a concentric one hides it."""
    count = 0
    gap = np.empty(len(centres))
    for j in range(len(centres)):
        if j == k:
            continue
        nx = centres[j, 0] - centres[k, 0]
        ny = centres[j, 1] - centres[k, 1]
        nz = centres[j, 2] - centres[k, 2]
        size = np.sqrt(nx * nx + ny * ny + nz * nz)
        power = 0.0
        for axis in range(3):
            power += centres[j, axis] ** 2 - centres[k, axis] ** 2
        power = 0.5 * (power - radii[j] ** 2 + radii[k] ** 2)
        if size < 1e-12:
            if radii[j] > radii[k] or (radii[j] == radii[k] and j < k):
                return -1
            continue
        cuts[count, 0] = nx / size
        cuts[count, 1] = ny / size
        cuts[count, 2] = nz / size
        cuts[count, 3] = power / size
        gap[count] = cuts[count, 3]
        for axis in range(3):
            gap[count] -= cuts[count, axis] * centres[k, axis]
        count += 1
    # The nearest first: they cut off most, and what is cut off needs no further cuts.
    order, found = np.argsort(gap[:count]), cuts[:count].copy()
    for i in range(count):
        for j in range(4):
            cuts[i, j] = found[order[i], j]
    return count


@kernel
def cell_corners(
    triangles: Array, planes: Array, centres: Array, radii: Array, k: int, out: Array
) -> int:
    """Corners of a polytope's part in the cell of sphere k, some of them several times.

    Args:
        triangles: the polytope's surface (t, 3, 3), m.
        planes: its facets (4, m), rows n_x, n_y, n_z, o.
        centres, radii: of the spheres (n, 3), (n,), m.
        k: which one.
        out: room for corners (N, 3).

    Returns:
        How many corners were written; -1 where ``out`` is too small.
    """
    cuts = np.empty((len(centres), 4))
    count = _bisectors(centres, radii, k, cuts)
    if count < 0:
        return 0
    largest = 8 + count + planes.shape[1]  # each cut adds one corner at most
    first, second = np.empty((largest, 3)), np.empty((largest, 3))
    size = _size(triangles)
    made = 0
    for t in range(len(triangles) + count):
        own = t - len(triangles)
        if own < 0:
            _copy(triangles[t], first)
            corners = 3
        else:
            corners = _square(cuts[own], triangles, size, first)
        for j in range(count):
            x, y, z, o = cuts[j, 0], cuts[j, 1], cuts[j, 2], cuts[j, 3]
            if j != own and _cuts(first, corners, x, y, z, o):
                corners = clip(first, corners, x, y, z, o, second)
                first, second = second, first
                if corners <= 0:
                    break
        if own >= 0 and corners > 0:
            for j in range(planes.shape[1]):
                x, y, z, o = planes[0, j], planes[1, j], planes[2, j], planes[3, j]
                if _cuts(first, corners, x, y, z, o):
                    corners = clip(first, corners, x, y, z, o, second)
                    first, second = second, first
                    if corners <= 0:
                        break
        if corners < 0 or made + corners > len(out):
            return -1
        _copy(first[:corners], out[made:])
        made += corners
    return made


@kernel
def _size(triangles: Array) -> float:
    """Twice the largest distance of a corner from the first one."""
    x, y, z = triangles[0, 0, 0], triangles[0, 0, 1], triangles[0, 0, 2]
    square = 0.0
    for t in range(len(triangles)):
        for i in range(3):
            dx, dy, dz = triangles[t, i, 0] - x, triangles[t, i, 1] - y, triangles[t, i, 2] - z
            square = max(square, dx * dx + dy * dy + dz * dz)
    return float(2.0 * np.sqrt(square))


@kernel
def _square(plane: Array, triangles: Array, size: float, out: Array) -> int:
    """A square on a plane (4,), of the polytope's ``_size`` and across from its first corner."""
    x, y, z = triangles[0, 0, 0], triangles[0, 0, 1], triangles[0, 0, 2]
    a, b, c = plane[0], plane[1], plane[2]
    off = a * x + b * y + c * z - plane[3]
    if off > size or off < -size:
        return 0
    # Two directions in the plane, from the axis that is most across it.
    if abs(a) <= abs(b) and abs(a) <= abs(c):
        ux, uy, uz = 0.0, -c, b
    elif abs(b) <= abs(c):
        ux, uy, uz = c, 0.0, -a
    else:
        ux, uy, uz = -b, a, 0.0
    length = np.sqrt(ux * ux + uy * uy + uz * uz) / size
    ux, uy, uz = ux / length, uy / length, uz / length
    vx, vy, vz = b * uz - c * uy, c * ux - a * uz, a * uy - b * ux
    x, y, z = x - off * a, y - off * b, z - off * c
    for i in range(4):
        s = 1.0 if i == 0 or i == 3 else -1.0
        t = 1.0 if i < 2 else -1.0
        out[i, 0] = x + s * ux + t * vx
        out[i, 1] = y + s * uy + t * vy
        out[i, 2] = z + s * uz + t * vz
    return 4


@entry("f8:3 f8:2 f8:2 f8:1 f8:1 f8:1")
@kernel
def needed(
    triangles: Array, planes: Array, centres: Array, radii: Array, need: Array, worst: Array
) -> float:
    """For each sphere the distance of its farthest corner, m; 0 where its cell is empty.

    Args:
        triangles, planes, centres, radii: as in ``cell_corners``.
        need: where the distances are written (n,).
        worst: where the corner farthest outside its sphere is written (3,).

    Returns:
        How far that corner is outside, m (negative: all are inside, and the polytope is covered);
        1e9 where there was no room for the corners.
    """
    out = np.empty((40 * (len(triangles) + len(centres)), 3))
    most = -1e9
    for k in range(len(centres)):
        count = cell_corners(triangles, planes, centres, radii, k, out)
        if count < 0:
            return 1e9
        need[k] = 0.0
        for i in range(count):
            dx = out[i, 0] - centres[k, 0]
            dy = out[i, 1] - centres[k, 1]
            dz = out[i, 2] - centres[k, 2]
            distance = np.sqrt(dx * dx + dy * dy + dz * dz)
            need[k] = max(need[k], distance)
            if distance - radii[k] > most:
                most = distance - radii[k]
                for axis in range(3):
                    worst[axis] = out[i, axis]
    return most


@entry("f8:3 f8:2 f8 f8:2 i8 i8 f8")
@kernel
def polish(
    triangles: Array,
    planes: Array,
    excess: float,
    centres: Array,
    sweeps: int,
    patience: int,
    goal: float,
) -> float:
    """Lloyd's alternation with the cells' own corners in place of sample points.

    Args:
        triangles, planes: as in ``cell_corners``.
        excess: how far a sphere may reach beyond the polytope, m.
        centres: start (n, 3), changed in place to the best found.
        sweeps: how often, at most.
        patience: stop after so many sweeps without progress.
        goal: stop where no corner is further outside its sphere than this, m.

    Returns:
        How far the worst corner is outside its sphere, m; negative: all are inside.
    """
    count = len(centres)
    radii = np.empty(count)
    corners = np.empty((40 * (len(triangles) + count), 3))
    kept, moved = centres.copy(), centres.copy()
    least = 1e9
    stale = 0
    for sweep in range(sweeps):
        step = excess * max(0.02, 0.9**sweep)
        for k in range(count):
            radii[k] = excess + depth(planes, centres[k, 0], centres[k, 1], centres[k, 2])
        worst = -1e9
        for k in range(count):
            found = cell_corners(triangles, planes, centres, radii, k, corners)
            _copy(centres[k : k + 1], moved[k:])
            if found <= 0:
                continue
            own = np.empty((3, found))
            far = 0.0
            for i in range(found):
                square = 0.0
                for axis in range(3):
                    own[axis, i] = corners[i, axis]
                    square += (corners[i, axis] - centres[k, axis]) ** 2
                far = max(far, square)
            worst = max(worst, np.sqrt(far) - radii[k])
            recentre(own, planes, excess, moved[k], step)
        stale += 1
        if worst < least - 0.002 * excess:
            stale = 0
        if worst < least:
            least = worst
            _copy(centres, kept)
        if least <= goal or stale > patience:
            break
        _copy(moved, centres)
    _copy(kept, centres)
    return least
