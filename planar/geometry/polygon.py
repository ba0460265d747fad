"""Simple polygons: mass properties, convex parts, and signed distances of points.

Vertices are (n, 2) in metres, in either orientation; a ``SimplePolygon`` keeps them
counter-clockwise. A polygon may be concave, but must be simple. ``polygon_kernel`` has the
functions for compiled code, which take ``SimplePolygon.vertices_ccw`` and ``SimplePolygon.table``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from galley.compiled.build import POLYGONS, ensure
from galley.domain.frames import Array, frozen
from galley.domain.parameters import MASS

_TOUCHING = 1e-12  # share of the size: nearer vertices are equal; a thinner polygon has no area
_FLAT = 1e-12  # share of the area by which the hull of a convex part may be larger


@dataclass(frozen=True)
class MassProperties:
    """Mass properties of a plate of uniform density.

    Attributes:
        area: m^2.
        centroid: (2,), the centre of mass, m.
        inertia: moment of inertia about the centroid, kg m^2.
    """

    area: float
    centroid: Array
    inertia: float


@dataclass(frozen=True, eq=False)
class SimplePolygon:
    """A simple polygon, convex or concave.

    Attributes:
        vertices: (n, 2), m, read-only; counter-clockwise, even if given clockwise.

    Raises:
        ValueError: fewer than three vertices, a vertex that isn't finite or equals the one before,
            edges that cross, touch or fold back, or no area. The message says where; vertices are
            counted from 0.
    """

    vertices: Array

    def __post_init__(self) -> None:
        vertices = _checked(self.vertices)
        if _double_area(vertices) < 0.0:
            vertices = vertices[::-1]
        object.__setattr__(self, "vertices", frozen(vertices))

    @property
    def area(self) -> float:
        """Area of the polygon, m^2."""
        return 0.5 * _double_area(self.vertices)

    def mass_properties(self, mass: float) -> MassProperties:
        """Area, centroid and inertia of a plate of a mass (kg), by Green's theorem.

        Raises:
            ValueError: the mass isn't positive.
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

    def moved(self, pose: ArrayLike) -> SimplePolygon:
        """The polygon at a pose (3,) of its frame: x, y (m), theta (rad)."""
        x, y, theta = np.asarray(pose, dtype=np.float64)
        c, s = np.cos(theta), np.sin(theta)
        return SimplePolygon(self.vertices @ np.array([[c, s], [-s, c]]) + np.array([x, y]))

    @cached_property
    def parts(self) -> tuple[Array, ...]:
        """A partition into convex polygons (m, 2), counter-clockwise.

        They are triangles of the constrained Delaunay triangulation, joined while the union stays
        convex.
        """
        import shapely

        parts = list(shapely.constrained_delaunay_triangles(shapely.Polygon(self.vertices)).geoms)
        flat, k = _FLAT * self.area, 0
        while k < len(parts):
            for other in range(k + 1, len(parts)):
                both = shapely.union(parts[k], parts[other])
                if both.geom_type == "SimplePolygon" and both.convex_hull.area <= both.area + flat:
                    parts[k] = both
                    del parts[other]
                    break
            else:
                k += 1
        rings = (np.array(part.exterior.coords)[:-1] for part in parts)
        return tuple(ring if _double_area(ring) > 0.0 else ring[::-1] for ring in rings)

    @cached_property
    def vertices_ccw(self) -> Array:
        """The vertices (n, 2) for compiled code, which takes only writable arrays; don't write."""
        return np.array(self.vertices)

    @cached_property
    def table(self) -> tuple[Array, NDArray[np.int64]]:
        """The convex parts for compiled code: ``points`` and ``starts`` of ``polygon_kernel``."""
        sizes = [len(part) for part in self.parts]
        return np.concatenate(self.parts), np.cumsum([0, *sizes]).astype(np.int64)


def room(a: SimplePolygon, b: SimplePolygon) -> Array:
    """Scratch space (2, k, 2) in which compiled code clips parts of ``a`` with parts of ``b``."""
    return np.empty((2, sum(max(map(len, polygon.parts)) for polygon in (a, b)), 2))


def signed_distance(polygon: SimplePolygon, points: ArrayLike) -> tuple[Array, Array, Array]:
    """Signed distances of points to the boundary, negative inside, with nearest points and normals.

    A normal is the gradient of the distance at the point. It points out of the polygon; from a
    point inside, it is the shortest way out.

    Args:
        polygon: the polygon.
        points: (..., 2), m.

    Returns:
        Distances (...,), m; nearest points of the boundary (..., 2), m; normals (..., 2).
    """
    ensure(POLYGONS)
    from galley.planar.geometry.polygon_kernel import point_distances

    queries = np.asarray(points, dtype=np.float64)
    flat = np.array(queries.reshape(-1, 2))
    out = np.empty((len(flat), 5))
    point_distances(polygon.vertices_ccw, flat, out)
    out = out.reshape(*queries.shape[:-1], 5)
    return out[..., 0], out[..., 1:3], out[..., 3:5]


def _double_area(p: Array) -> float:
    """Twice the area (m^2) of vertices (n, 2), negative if they run clockwise."""
    p = p - p[0]
    q = np.roll(p, -1, axis=0)
    return float((p[:, 0] * q[:, 1] - q[:, 0] * p[:, 1]).sum())


def _checked(given: ArrayLike) -> Array:
    """Vertices (n, 2) as floats; raises ValueError if they aren't those of a simple polygon."""
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
        reason = shapely.is_valid_reason(outline)  # such as Self-intersection[0.5 0.5]
        raise ValueError(f"the outline crosses, touches or folds back on itself: {reason}")
    if abs(_double_area(vertices)) <= slack * size:
        raise ValueError(f"the polygon has no area: its size is {size:g} m")
    return vertices


Polygon = SimplePolygon  # its documented name
