"""Convex polyhedra: separation, penetration depth, and first contact of a sliding polyhedron.

By the separating axis theorem (Gottschalk, Lin and Manocha, OBBTree, 1996): two are apart exactly
if their projections on a face normal, or on the cross product of an edge of each, are apart. The
least overlap along these axes is the penetration depth. Cylinders and spheres become polyhedra
within them, smaller by at most 1 % of the radius.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from galley.collision.kernel.arrays import BOX, CYLINDER, SPHERE
from galley.collision.solids import Solid, of_shape
from galley.domain.frames import Array
from galley.domain.meshes import Hull, hull
from galley.domain.scene.model import Shape

_SIDES = 24  # sides of the prism within a cylinder
_POINTS = 200  # vertices of the polyhedron within a sphere
_PARALLEL = 1e-9  # a cross product this short has no direction


@dataclass(frozen=True)
class Polyhedron:
    """A convex polyhedron: vertices, and the directions that can separate it from others.

    Attributes:
        vertices: its corners (v, 3), metres.
        normals: unit normals of its faces (f, 3), one of each parallel pair.
        edges: unit directions of its edges (e, 3), one of each parallel pair.
    """

    vertices: Array
    normals: Array
    edges: Array

    def moved(self, X: Array) -> Polyhedron:
        """The polyhedron transformed by X (4, 4)."""
        R = X[:3, :3].T
        return Polyhedron(self.vertices @ R + X[:3, 3], self.normals @ R, self.edges @ R)

    @cached_property
    def arrays(self) -> tuple[Array, Array, Array]:
        """Vertices, normals and edges as compiled functions take them."""
        vertices, normals, edges = (
            np.array(rows, order="C") for rows in (self.vertices, self.normals, self.edges)
        )
        return vertices, normals, edges

    def section(self, z: float) -> Array:
        """Points (n, 2) whose hull is the horizontal section at a height z, m.

        They are where lines between a vertex below and one above cross that height.
        """
        v = self.vertices
        below, above = v[v[:, 2] <= z][:, None], v[v[:, 2] > z][None]
        share = (z - below[..., 2:]) / (above[..., 2:] - below[..., 2:])
        return np.asarray((below + share * (above - below))[..., :2].reshape(-1, 2))

    @cached_property
    def box(self) -> tuple[Array, Array]:
        """Lowest and highest corner (3,) of its bounding box."""
        return self.vertices.min(axis=0), self.vertices.max(axis=0)


def polyhedron(shape: Shape) -> Polyhedron:
    """The polyhedron within a shape of the scene, in the frame of its body."""
    if shape.points is not None:
        return _of_mesh(shape.points.tobytes()).moved(shape.X_BS)
    solid = of_shape(shape)
    return unposed(solid).moved(solid.X)


@lru_cache(maxsize=64)
def _of_mesh(points: bytes) -> Polyhedron:
    """The hull of a mesh's corners, the bytes of (n, 3) float64; cached, for it takes a while."""
    return of_hull(hull(np.frombuffer(points).reshape(-1, 3)))


def separation(a: Polyhedron, b: Polyhedron) -> float:
    """The widest gap (m) along any axis: a lower bound on the distance; negative: the depth."""
    low_a, high_a, low_b, high_b = _projections(a, b, _axes(a, b))
    return float(np.maximum(low_b - high_a, low_a - high_b).max())


def first_contact(a: Polyhedron, b: Polyhedron, u: Array, slack: float) -> float:
    """How far (m) ``a`` slides along the unit vector u (3,) until it meets ``b``, or inf.

    0 if they touch at the start and ``a`` moves into ``b``.

    Args:
        a, b: the polyhedra.
        u: the direction.
        slack: overlaps up to this depth (m) don't count.
    """
    axes = _axes(a, b)
    low_a, high_a, low_b, high_b = _projections(a, b, axes)
    rate = axes @ u
    # Does it meet at all, when overlaps up to the slack don't count?
    if not _meets(low_a + slack, high_a - slack, low_b, high_b, rate)[0] < np.inf:
        return np.inf
    start, end = _meets(low_a, high_a, low_b, high_b, rate)
    return max(0.0, start) if start < end else np.inf


def _meets(
    low_a: Array, high_a: Array, low_b: Array, high_b: Array, rate: Array
) -> tuple[float, float]:
    """Travel at which the intervals of a and b begin and cease to overlap on all axes.

    (inf, inf) if they never overlap on all at the same time. ``rate`` is how far a moves along each
    axis per unit of travel.
    """
    # An axis across the motion decides at once: the intervals overlap always or never.
    still = np.abs(rate) < _PARALLEL
    if (still & ((high_a <= low_b) | (low_a >= high_b))).any():
        return np.inf, np.inf
    speed = np.where(still, 1.0, rate)
    ends = np.stack([(low_b - high_a) / speed, (high_b - low_a) / speed])
    start = np.where(still, -np.inf, ends.min(axis=0)).max()
    end = np.where(still, np.inf, ends.max(axis=0)).min()
    if start >= end or end <= 0.0:
        return np.inf, np.inf
    return float(start), float(end)


def _axes(a: Polyhedron, b: Polyhedron) -> Array:
    """The axes (n, 3) that can separate two polyhedra: face normals, and edges crossed."""
    crossed = np.cross(a.edges[:, None], b.edges[None]).reshape(-1, 3)
    length = np.linalg.norm(crossed, axis=1)
    crossed = crossed[length > 1e-6] / length[length > 1e-6, None]
    return np.concatenate([a.normals, b.normals, crossed])


def _projections(a: Polyhedron, b: Polyhedron, axes: Array) -> tuple[Array, Array, Array, Array]:
    """Lowest and highest projection of a, then of b, on each axis: (n,) each."""
    on_a, on_b = axes @ a.vertices.T, axes @ b.vertices.T
    return on_a.min(axis=1), on_a.max(axis=1), on_b.min(axis=1), on_b.max(axis=1)


def unposed(solid: Solid) -> Polyhedron:
    """The polyhedron within a solid, in the solid's frame."""
    if solid.kind == BOX:
        signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, 8).T
        return Polyhedron(signs * solid.size, np.eye(3), np.eye(3))
    if solid.kind == CYLINDER:
        angle = 2.0 * np.pi * np.arange(_SIDES) / _SIDES
        ring = solid.size[0] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        half = np.full(_SIDES, solid.size[1])
        vertices = np.concatenate([np.column_stack([ring, -half]), np.column_stack([ring, half])])
        sides = np.roll(ring, -1, axis=0) - ring
        sides = sides[: _SIDES // 2] / np.linalg.norm(sides[0])
        flat = np.zeros(len(sides))
        up = np.array([[0.0, 0.0, 1.0]])
        normals = np.concatenate([up, np.column_stack([sides[:, 1], -sides[:, 0], flat])])
        return Polyhedron(vertices, normals, np.concatenate([up, np.column_stack([sides, flat])]))
    if solid.kind == SPHERE:
        # A Fibonacci lattice: points spread evenly over the sphere.
        k = np.arange(_POINTS) + 0.5
        z, angle = 1.0 - 2.0 * k / _POINTS, np.pi * (1.0 + 5.0**0.5) * k
        r = np.sqrt(1.0 - z * z)
        ball = np.column_stack([r * np.cos(angle), r * np.sin(angle), z])
        return of_hull(hull(solid.size[0] * ball))
    assert solid.hull is not None
    return of_hull(solid.hull)


def of_hull(shape: Hull) -> Polyhedron:
    """The polyhedron of a hull; two faces that share two corners meet in an edge."""
    touching = np.abs(shape.vertices @ shape.normals.T - shape.offsets) < 1e-7
    corners = touching.astype(np.float32)
    shared = corners.T @ corners  # of two faces
    i, j = np.nonzero(np.triu(shared >= 2, k=1))
    edges = np.cross(shape.normals[i], shape.normals[j])
    length = np.linalg.norm(edges, axis=1)
    keep = length > 1e-6
    return Polyhedron(shape.vertices, shape.normals, edges[keep] / length[keep, None])
