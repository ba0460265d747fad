"""Convex shapes with poses: constructors for users, tables for the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from galley.domain.frames import Array, frozen, transform
from galley.domain.meshes import Hull, hull
from galley.domain.scene.model import Shape
from galley.robots.urdf_reader import LinkShape
from galley.worlds.kernel.arrays import BOX, CYLINDER, HULL, SPHERE, Solids


@dataclass(frozen=True, eq=False)
class Solid:
    """A convex shape at a pose.

    Made by ``box``, ``cylinder``, ``sphere`` and ``convex``.

    Attributes:
        kind: BOX, CYLINDER, SPHERE or HULL.
        size: half extents (3,), or radius and half length, or radius; padded with zeros. Metres.
        X: its pose (4, 4), in the world unless said otherwise.
        hull: of a HULL.
    """

    kind: int
    size: Array
    X: Array
    hull: Hull | None = None


def box(size: ArrayLike, at: ArrayLike = (0.0, 0.0, 0.0), turned: ArrayLike | None = None) -> Solid:
    """A box of full extents ``size`` (3,), its middle ``at`` (3,), R (3, 3) ``turned``; metres."""
    return _solid(BOX, 0.5 * np.asarray(size, dtype=np.float64), 3, at, turned)


def cylinder(
    radius: float, length: float, at: ArrayLike = (0.0, 0.0, 0.0), turned: ArrayLike | None = None
) -> Solid:
    """A cylinder along its own z, its middle ``at`` (3,), R (3, 3) ``turned``; metres."""
    return _solid(CYLINDER, np.array([radius, 0.5 * length]), 2, at, turned)


def sphere(radius: float, at: ArrayLike = (0.0, 0.0, 0.0)) -> Solid:
    """A sphere about ``at`` (3,); metres."""
    return _solid(SPHERE, np.array([radius]), 1, at, None)


def convex(
    points: ArrayLike, at: ArrayLike = (0.0, 0.0, 0.0), turned: ArrayLike | None = None
) -> Solid:
    """The convex hull of ``points`` (n, 3), placed ``at`` (3,) and ``turned`` (3, 3); metres."""
    solid = _solid(HULL, np.zeros(0), 0, at, turned)
    return Solid(HULL, solid.size, solid.X, hull(np.asarray(points, dtype=np.float64)))


def _solid(kind: int, size: Array, count: int, at: ArrayLike, turned: ArrayLike | None) -> Solid:
    if size.shape != (count,) or not np.isfinite(size).all() or (size <= 0.0).any():
        raise ValueError(f"sizes must be {count} positive numbers, got {size.tolist()}")
    X = transform(turned, at)
    R = X[:3, :3]
    if not np.isfinite(X).all() or np.abs(R @ R.T - np.eye(3)).max() > 1e-6:
        raise ValueError("a pose needs finite numbers and a rotation matrix")
    return Solid(kind, frozen(np.pad(size, (0, 3 - count))), frozen(X))


def of_shape(shape: Shape) -> Solid:
    """A scene's shape, its pose that in its body."""
    if shape.kind != "mesh":
        return _of_kind(shape.kind, shape.size, shape.X_BS)
    assert shape.points is not None
    return Solid(HULL, frozen(np.zeros(3)), shape.X_BS, hull(shape.points))


def of_link_shape(shape: LinkShape, X: Array) -> Solid:
    """A robot's link shape, at pose X (4, 4)."""
    if shape.kind != "hull":
        return _of_kind(shape.kind, shape.size, X)
    return Solid(HULL, frozen(np.zeros(3)), X, shape.hull)


def _of_kind(kind: str, size: Array, X: Array) -> Solid:
    """A ``box``, ``cylinder`` or ``sphere`` of the size that scenes and URDFs give it."""
    if kind == "box":
        return Solid(BOX, frozen(size / 2.0), X)
    if kind == "cylinder":
        return Solid(CYLINDER, frozen([size[0], size[1] / 2.0, 0.0]), X)
    return Solid(SPHERE, frozen([size[0], 0.0, 0.0]), X)


def extent(solid: Solid) -> tuple[Array, float]:
    """A ball around a solid in its own frame: centre (3,) and radius."""
    if solid.kind == HULL:
        assert solid.hull is not None
        centre = solid.hull.centre
        return centre, float(np.linalg.norm(solid.hull.vertices - centre, axis=1).max())
    if solid.kind == CYLINDER:
        return np.zeros(3), float(np.hypot(solid.size[0], solid.size[1]))
    return np.zeros(3), float(np.linalg.norm(solid.size))


def half_extents(solid: Solid, R: Array) -> tuple[Array, Array]:
    """Lowest and highest corner (3,) of a solid turned by R (3, 3), from its frame's origin."""
    if solid.kind == HULL:
        assert solid.hull is not None
        points = solid.hull.vertices @ R.T
        return points.min(axis=0), points.max(axis=0)
    if solid.kind == BOX:
        reach = np.abs(R) @ solid.size
    elif solid.kind == CYLINDER:
        across = np.sqrt(np.maximum(0.0, 1.0 - R[:, 2] ** 2))
        reach = solid.size[0] * across + solid.size[1] * np.abs(R[:, 2])
    else:
        reach = np.full(3, solid.size[0])
    return -reach, reach


def row12(X: Array) -> Array:
    """A pose (..., 4, 4) as the kernel's rows (..., 12): R row by row, then p."""
    X = np.asarray(X)
    R = X[..., :3, :3].reshape(*X.shape[:-2], 9)
    return np.concatenate([R, X[..., :3, 3]], axis=-1)


def table(solids: Sequence[Solid]) -> Solids:
    """The kernel's tables of shapes, without their poses."""
    planes, vertices = [np.zeros((0, 4))], [np.zeros((0, 3))]
    shape = np.zeros((len(solids), 8), dtype=np.float32)
    n = k = 0
    for row, solid in enumerate(solids):
        shape[row, 0] = solid.kind
        shape[row, 1:4] = solid.size
        if solid.hull is not None:
            planes.append(np.column_stack([solid.hull.normals, solid.hull.offsets]))
            vertices.append(solid.hull.vertices)
            shape[row, 4:] = n, n + len(planes[-1]), k, k + len(vertices[-1])
            n, k = n + len(planes[-1]), k + len(vertices[-1])
    return Solids(
        shape,
        np.ascontiguousarray(np.concatenate(planes), dtype=np.float32),
        np.ascontiguousarray(np.concatenate(vertices), dtype=np.float32),
    )
