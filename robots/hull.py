"""Convex hulls as vertices and half-spaces: what every engine makes of a collision mesh."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from galley.domain.frames import Array, frozen

# Two facets whose unit normals agree to this in every component are one facet.
_SAME_NORMAL = 1e-7
# A hull thinner than this fraction of its extent is refused as flat.
_FLAT = 1e-9


@dataclass(frozen=True)
class Hull:
    """A convex polytope: the points x with ``normals @ x <= offsets``.

    Attributes:
        vertices: its corners (n, 3), metres.
        normals: outward unit normals of the facets (m, 3), coplanar triangles merged.
        offsets: each facet's ``normal @ x`` (m,), metres; no vertex lies beyond any of them.
    """

    vertices: Array
    normals: Array
    offsets: Array

    @cached_property
    def centre(self) -> Array:
        """Middle of the axis-aligned bounding box (3,)."""
        return frozen(0.5 * (self.vertices.min(axis=0) + self.vertices.max(axis=0)))

    def support(self, directions: ArrayLike) -> Array:
        """Largest ``direction @ x`` of any point x of the hull, for directions (..., 3): (...,)."""
        d = np.asarray(directions, dtype=np.float64)
        return np.asarray((d @ self.vertices.T).max(axis=-1))

    def distance(self, points: ArrayLike) -> Array:
        """Signed distance of points (..., 3) to the surface, negative inside: (...,), metres.

        Exact inside, where the nearest facet's plane is the nearest point's: the depth. Outside,
        the distance to the farthest plane, which is never more than the distance to the hull.
        """
        x = np.asarray(points, dtype=np.float64)
        return np.asarray((x @ self.normals.T - self.offsets).max(axis=-1))


def hull(points: ArrayLike) -> Hull:
    """The convex hull of points (n, 3), metres, by Qhull.

    Raises:
        ValueError: fewer than four points, one that is not finite, or all in one plane.
    """
    from scipy.spatial import ConvexHull, QhullError

    x = np.asarray(points, dtype=np.float64)
    if x.ndim != 2 or x.shape[1] != 3 or len(x) < 4:
        raise ValueError(f"a hull needs at least four points in space, not an array {x.shape}")
    if not np.isfinite(x).all():
        raise ValueError("a hull needs finite points")
    try:
        found = ConvexHull(x)
    except QhullError as error:
        raise ValueError("the points lie in one plane: they have no hull with a volume") from error
    vertices = x[found.vertices]
    normals = _distinct(found.equations[:, :3])
    offsets = (vertices @ normals.T).max(axis=0)
    width = offsets + (vertices @ -normals.T).max(axis=0)
    if width.min() <= _FLAT * float(np.ptp(vertices, axis=0).max()):
        raise ValueError("the points lie in one plane: they have no hull with a volume")
    return Hull(frozen(vertices), frozen(normals), frozen(offsets))


def _distinct(normals: Array) -> Array:
    """One normal for each group of equal ones, in the order in which they first come."""
    kept: list[Array] = []
    for normal in normals:
        if not kept or np.abs(np.array(kept) - normal).max(axis=1).min() > _SAME_NORMAL:
            kept.append(normal)
    return np.array(kept)
