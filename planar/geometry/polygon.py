"""Simple polygons: mass, intersection, and the distance of points.

Vertices are (n, 2) in metres, in either orientation; a ``Polygon`` keeps them counter-clockwise.
Any simple polygon will do, convex or not. ``polygon_kernel`` has what compiled code calls, on
``Polygon.vertices_ccw`` and ``Polygon.table``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from galley.compiled.build import POLYGONS, ensure
from galley.domain.frames import Array, frozen
from galley.domain.parameters import MASS
from galley.planar.geometry.segments import segments_apart

_TOUCHING = 1e-12  # of the polygon's size: edges so near touch, and so thin a polygon has no area
_FLAT = 1e-15  # of the squared size: a triangle that counts as none


@dataclass(frozen=True)
class MassProperties:
    """Of a plate of uniform density.

    Attributes:
        area: m^2.
        centroid: (2,) m, the centre of mass.
        inertia: kg m^2, about the centroid.
    """

    area: float
    centroid: Array
    inertia: float


@dataclass(frozen=True, eq=False)
class Polygon:
    """A simple polygon.

    Attributes:
        vertices: (n, 2) m; read-only and counter-clockwise, whatever was given.

    Raises:
        ValueError: less than three vertices, one that is not finite or equals the one before, edges
            that cross, touch or fold back, or no area. The message names vertex or edge, counted
            from 0; edge i runs from vertex i to the next.
    """

    vertices: Array

    def __post_init__(self) -> None:
        vertices = _checked(self.vertices)
        if _double_area(vertices) < 0.0:
            vertices = vertices[::-1]
        object.__setattr__(self, "vertices", frozen(vertices))

    @property
    def area(self) -> float:
        """m^2."""
        return 0.5 * _double_area(self.vertices)

    def mass_properties(self, mass: float) -> MassProperties:
        """Area, centroid and inertia about it, by Green's theorem.

        Raises:
            ValueError: a mass (kg) that is not positive.
        """
        mass = MASS.checked("mass", mass)
        base = self.vertices.mean(axis=0)  # near the centroid, where nothing cancels
        p = self.vertices - base
        q = np.roll(p, -1, axis=0)
        cross = p[:, 0] * q[:, 1] - q[:, 0] * p[:, 1]
        area = 0.5 * float(cross.sum())
        centroid = cross @ (p + q) / (6.0 * area)
        second = float(cross @ (p * p + p * q + q * q).sum(axis=1)) / 12.0
        inertia = mass * (second / area - float(centroid @ centroid))
        return MassProperties(area, frozen(base + centroid), inertia)

    def moved(self, pose: ArrayLike) -> Polygon:
        """The polygon at a pose (3,) x, y (m), theta (rad) of its frame."""
        x, y, theta = np.asarray(pose, dtype=np.float64)
        c, s = np.cos(theta), np.sin(theta)
        return Polygon(self.vertices @ np.array([[c, s], [-s, c]]) + np.array([x, y]))

    @cached_property
    def parts(self) -> tuple[Array, ...]:
        """Convex polygons (m, 2), counter-clockwise, that together are this one.

        Triangles by ear clipping, joined across diagonals as long as they stay convex (Hertel and
        Mehlhorn, 1983): at most four times as many as necessary, and no new vertices.
        """
        return tuple(self.vertices[part] for part in _joined(self.vertices, _ears(self.vertices)))

    @cached_property
    def vertices_ccw(self) -> Array:
        """The vertices as compiled code takes them: writable, but not to be written."""
        return np.array(self.vertices)

    @cached_property
    def table(self) -> tuple[Array, NDArray[np.int64]]:
        """The convex parts as compiled code takes them, ``points`` and ``starts``; see there."""
        sizes = [len(part) for part in self.parts]
        return np.concatenate(self.parts), np.cumsum([0, *sizes]).astype(np.int64)


def mass_properties(vertices: ArrayLike, mass: float) -> MassProperties:
    """Area, centroid and inertia about it (kg m^2) of a plate of ``mass`` (kg).

    Args:
        vertices: (n, 2) m, of a simple polygon, in either orientation.

    Raises:
        ValueError: not a simple polygon (see ``Polygon``), or a mass that is not positive.
    """
    return Polygon(np.asarray(vertices)).mass_properties(mass)


def intersection_area(a: Polygon, b: Polygon, pose: ArrayLike = (0.0, 0.0, 0.0)) -> float:
    """Area (m^2) that ``a`` at ``pose`` (3,) (x, y, theta; m, rad) shares with ``b``."""
    ensure(POLYGONS)
    from galley.planar.geometry.polygon_kernel import overlap

    x, y, theta = (float(each) for each in np.asarray(pose, dtype=np.float64))
    return float(overlap(*a.table, x, y, theta, *b.table, room(a, b)))


def room(a: Polygon, b: Polygon) -> Array:
    """Scratch space in which compiled code clips parts of ``a`` with parts of ``b``."""
    return np.empty((2, sum(max(map(len, each.parts)) for each in (a, b)), 2))


def signed_distance(polygon: Polygon, points: ArrayLike) -> tuple[Array, Array, Array]:
    """Distances to the boundary, negative inside, with nearest points and normals.

    A normal is the gradient of the distance there: it points out of the polygon, and a point inside
    leaves along it by the near side.

    Args:
        points: (..., 2) m.

    Returns:
        distance (...,) m, nearest (..., 2) m, normal (..., 2).
    """
    ensure(POLYGONS)
    from galley.planar.geometry.polygon_kernel import point_distances

    asked = np.asarray(points, dtype=np.float64)
    flat = np.array(asked.reshape(-1, 2))
    out = np.empty((len(flat), 5))
    point_distances(polygon.vertices_ccw, flat, out)
    out = out.reshape(*asked.shape[:-1], 5)
    return out[..., 0], out[..., 1:3], out[..., 3:5]


def _double_area(p: Array) -> float:
    """Twice the area (m^2), negative where the vertices run clockwise."""
    p = p - p[0]
    q = np.roll(p, -1, axis=0)
    return float((p[:, 0] * q[:, 1] - q[:, 0] * p[:, 1]).sum())


def _checked(given: ArrayLike) -> Array:
    """Vertices as floats, once they are known to be those of a simple polygon."""
    vertices = np.array(given, dtype=np.float64)
    if vertices.ndim != 2 or vertices.shape[1:] != (2,) or len(vertices) < 3:
        raise ValueError(f"vertices must be (n, 2) with n >= 3, got shape {vertices.shape}")
    for i, vertex in enumerate(vertices):
        if not np.isfinite(vertex).all():
            raise ValueError(f"vertex {i} = ({vertex[0]:g}, {vertex[1]:g}) is not finite")
    size = float(np.ptp(vertices, axis=0).max())
    slack = _TOUCHING * size
    edges = np.roll(vertices, -1, axis=0) - vertices
    lengths = np.hypot(*edges.T)
    for i in np.nonzero(lengths <= slack)[0].tolist():
        after = (i + 1) % len(vertices)
        raise ValueError(f"vertex {after} equals vertex {i} before it: leave one out")
    following = np.roll(edges, -1, axis=0)
    cross = edges[:, 0] * following[:, 1] - edges[:, 1] * following[:, 0]
    folds = (np.abs(cross) <= slack * lengths) & ((edges * following).sum(axis=1) < 0.0)
    for i in np.nonzero(folds)[0].tolist():
        raise ValueError(f"edge {(i + 1) % len(vertices)} folds back along edge {i}")
    ends = np.roll(vertices, -1, axis=0)
    for i in range(len(vertices)):
        # Those that don't share a vertex with edge i, each pair once.
        others = np.arange(i + 2, len(vertices) - (1 if i == 0 else 0))
        apart = segments_apart(vertices[i], ends[i], vertices[others], ends[others])
        for j in others[apart <= slack]:
            raise ValueError(f"edge {j} crosses or touches edge {i}: the outline must be simple")
    if abs(_double_area(vertices)) <= slack * size:
        raise ValueError(f"the polygon has no area: its size is {size:g} m")
    return vertices


def _ears(vertices: Array) -> list[list[int]]:
    """Triangles, as counter-clockwise indices, by clipping the ear with the widest least angle.

    Vertices within a straight side are left out first.
    """
    left, found = list(range(len(vertices))), []
    flat = _FLAT * float(np.ptp(vertices, axis=0).max()) ** 2
    while len(left) > 2:
        p = vertices[left]
        back, ahead = np.roll(p, 1, axis=0) - p, np.roll(p, -1, axis=0) - p
        cross = ahead[:, 0] * back[:, 1] - ahead[:, 1] * back[:, 0]
        if np.abs(cross).min() <= flat:
            del left[int(np.argmin(np.abs(cross)))]
            continue
        chord = ahead - back
        sides = np.sort([np.hypot(*each.T) for each in (back, ahead, chord)], axis=0)
        sine = cross / (sides[1] * sides[2])  # of the least angle, for triangles
        order = [int(i) for i in np.argsort(-sine, kind="stable") if sine[i] > 0.0]
        at = next((i for i in order if _is_ear(vertices, left, i, cross <= 0.0)), order[0])
        found.append([left[at - 1], left[at], left[(at + 1) % len(left)]])
        del left[at]
    return found


def _is_ear(vertices: Array, left: list[int], at: int, reflex: NDArray[np.bool_]) -> bool:
    """Whether no reflex vertex lies in the triangle of vertex ``at`` and its neighbours."""
    n = len(left)
    corners = (at - 1) % n, at, (at + 1) % n
    inside = np.array([i for i in np.nonzero(reflex)[0] if i not in corners], dtype=np.int64)
    if not len(inside):
        return True
    p = vertices[left]
    within = np.ones(len(inside), dtype=bool)
    for i, j in zip(corners, (*corners[1:], corners[0]), strict=True):
        u, v = p[j] - p[i], p[inside] - p[i]
        within &= u[0] * v[:, 1] - u[1] * v[:, 0] >= 0.0
    return not within.any()


def _joined(vertices: Array, parts: list[list[int]]) -> list[list[int]]:
    """Convex parts joined across shared edges as long as the result is convex."""
    parts, k = [list(part) for part in parts], 0
    while k < len(parts):
        for other in range(k + 1, len(parts)):
            if (both := _union(vertices, parts[k], parts[other])) is not None:
                parts[k] = both
                del parts[other]
                break
        else:
            k += 1
    return parts


def _union(vertices: Array, a: list[int], b: list[int]) -> list[int] | None:
    """Two convex parts as one if they share an edge and it is convex, else None."""
    for i in range(len(a)):
        start, end = a[i], a[(i + 1) % len(a)]
        for j in range(len(b)):
            if b[j] == end and b[(j + 1) % len(b)] == start:
                # a from ``end`` round to ``start``, then what b has between them.
                ring = a[i + 1 :] + a[: i + 1]
                ring += (b[j + 2 :] + b[:j]) if j + 2 <= len(b) else b[1:j]
                p = vertices[ring]
                u, v = p - np.roll(p, 1, axis=0), np.roll(p, -1, axis=0) - p
                convex = u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0] >= 0.0
                return ring if convex.all() else None
    return None
