"""Simple polygons: mass, convex parts, and the distance of points.

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

_TOUCHING = 1e-12  # of the polygon's size: vertices so near are one, and so thin it has no area
_FLAT = 1e-12  # of the area: what a convex part's hull may have more


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
            that cross, touch or fold back, or no area. The message says where; vertices are counted
            from 0.
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

        Triangles (Delaunay's, constrained to the outline), joined as long as they stay convex.
        """
        import shapely

        parts = list(shapely.constrained_delaunay_triangles(shapely.Polygon(self.vertices)).geoms)
        flat, k = _FLAT * self.area, 0
        while k < len(parts):
            for other in range(k + 1, len(parts)):
                both = shapely.union(parts[k], parts[other])
                if both.geom_type == "Polygon" and both.convex_hull.area <= both.area + flat:
                    parts[k] = both
                    del parts[other]
                    break
            else:
                k += 1
        rings = (np.array(each.exterior.coords)[:-1] for each in parts)
        return tuple(ring if _double_area(ring) > 0.0 else ring[::-1] for ring in rings)

    @cached_property
    def vertices_ccw(self) -> Array:
        """The vertices as compiled code takes them: writable, but not to be written."""
        return np.array(self.vertices)

    @cached_property
    def table(self) -> tuple[Array, NDArray[np.int64]]:
        """The convex parts as compiled code takes them, ``points`` and ``starts``; see there."""
        sizes = [len(part) for part in self.parts]
        return np.concatenate(self.parts), np.cumsum([0, *sizes]).astype(np.int64)


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
    import shapely

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
    if not (outline := shapely.Polygon(vertices)).is_valid:
        where = shapely.is_valid_reason(outline)  # such as Self-intersection[0.5 0.5]
        raise ValueError(f"the outline crosses, touches or folds back on itself: {where}")
    if abs(_double_area(vertices)) <= slack * size:
        raise ValueError(f"the polygon has no area: its size is {size:g} m")
    return vertices
