"""Convex shapes with poses: constructors for users, tables for the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import ArrayLike

from galley.collision.kernel.arrays import BOX, CYLINDER, HULL, SPHERE, Floats, Ints, Solids
from galley.domain.frames import Array, as_numbers, as_pose, frozen
from galley.domain.meshes import Hull, hull
from galley.domain.scene.model import Shape
from galley.robots.urdf_reader import LinkShape


@dataclass(frozen=True, eq=False)
class Solid:
    """A convex shape at a pose.

    Made by ``box``, ``cylinder``, ``sphere`` and ``convex``.

    Attributes:
        kind: BOX, CYLINDER, SPHERE or HULL.
        size: (3,) metres: a box's half extents, a cylinder's radius and half length, or a sphere's
            radius, padded with zeros.
        X: its pose (4, 4), in the world unless said otherwise.
        hull: the hull of a HULL, else None.
    """

    kind: int
    size: Array
    X: Array
    hull: Hull | None = None

    def __post_init__(self) -> None:
        as_pose(self.X, "X of a solid")


def box(size: ArrayLike, at: ArrayLike = (0.0, 0.0, 0.0), turned: ArrayLike | None = None) -> Solid:
    """A box of full extents ``size`` (3,), its middle ``at`` (3,), turned by R (3, 3); metres."""
    return Solid(BOX, 0.5 * _sizes(size, 3), _placed(at, turned))


def cylinder(
    radius: float, length: float, at: ArrayLike = (0.0, 0.0, 0.0), turned: ArrayLike | None = None
) -> Solid:
    """A cylinder along its own z, its middle ``at`` (3,), turned by R (3, 3); metres."""
    return Solid(CYLINDER, _sizes((radius, 0.5 * length), 2), _placed(at, turned))


def sphere(radius: float, at: ArrayLike = (0.0, 0.0, 0.0)) -> Solid:
    """A sphere with its centre ``at`` (3,); metres."""
    return Solid(SPHERE, _sizes((radius,), 1), _placed(at, None))


def convex(
    points: ArrayLike, at: ArrayLike = (0.0, 0.0, 0.0), turned: ArrayLike | None = None
) -> Solid:
    """The convex hull of ``points`` (n, 3), turned by R (3, 3), then moved to ``at``; metres."""
    X = _placed(at, turned)
    return Solid(HULL, frozen(np.zeros(3)), X, hull(np.asarray(points, dtype=np.float64)))


def _sizes(values: ArrayLike, count: int) -> Array:
    """``count`` positive numbers, padded to (3,) with zeros; read-only."""
    given = np.asarray(values, dtype=np.float64)
    if given.shape != (count,) or not all(0.0 < v < inf for v in given.tolist()):
        raise ValueError(f"sizes must be {count} positive numbers, got {given.tolist()}")
    size = np.zeros(3)
    size[:count] = given
    size.setflags(write=False)
    return size


def _placed(at: ArrayLike, turned: ArrayLike | None) -> Array:
    """The pose X (4, 4) of a position (3,) and a rotation (3, 3), by default none; read-only."""
    X = np.eye(4)
    X[:3, 3] = as_numbers(at, "at", (3,))
    if turned is not None:
        X[:3, :3] = as_numbers(turned, "turned", (3, 3))
    X.setflags(write=False)
    return X


def check_finite(names: Sequence[str], owner: Ints, *rows: Floats) -> None:
    """Raises a ValueError if rows (m, ...) are not finite, with the name of the first one's owner.

    Args:
        names: of the owners.
        owner: (m,) index of each row's owner.
    """
    for numbers in rows:
        if not np.isfinite(numbers).all():
            bad = int(np.argmin(np.isfinite(numbers).all(axis=1)))
            name = names[owner[bad]]
            raise ValueError(f"'{name}' has a size or place that is NaN or beyond float32")


def of_shape(shape: Shape) -> Solid:
    """A shape of a scene as a solid, whose pose X is X_BS, in the body's frame."""
    own = None if shape.points is None else hull(shape.points)
    return _of_kind(shape.kind, shape.size, shape.X_BS, own)


def of_link_shape(shape: LinkShape, X: Array) -> Solid:
    """A shape of a robot's link as a solid, at pose X (4, 4)."""
    return _of_kind(shape.kind, shape.size, X, shape.hull)


def _of_kind(kind: str, size: Array, X: Array, own: Hull | None) -> Solid:
    """A hull; or a ``box``, ``cylinder`` or ``sphere`` of the size that scenes and URDFs give."""
    if own is not None:
        return Solid(HULL, frozen(np.zeros(3)), X, own)
    if kind == "box":
        return Solid(BOX, frozen(size / 2.0), X)
    if kind == "cylinder":
        return Solid(CYLINDER, frozen([size[0], size[1] / 2.0, 0.0]), X)
    return Solid(SPHERE, frozen([size[0], 0.0, 0.0]), X)


def extent(solid: Solid) -> tuple[Array, float]:
    """A ball around a solid in its own frame: centre (3,) and radius, metres."""
    if solid.kind == HULL:
        assert solid.hull is not None
        centre = solid.hull.centre
        return centre, float(np.linalg.norm(solid.hull.vertices - centre, axis=1).max())
    if solid.kind == CYLINDER:
        return np.zeros(3), float(np.hypot(solid.size[0], solid.size[1]))
    return np.zeros(3), float(np.linalg.norm(solid.size))


def bounds(solids: Solids, X: Array) -> tuple[Floats, Floats]:
    """The axis-parallel boxes around m solids at X (m, 4, 4): lowest and highest corners (m, 3)."""
    shape, R = solids.shape, X[:, :3, :3]
    kind, size = shape[:, 0], shape[:, 1:4].astype(np.float64)
    reach = (np.abs(R) @ size[:, :, None])[:, :, 0]  # of boxes
    middle = X[:, :3, 3]
    kinds = set(kind.tolist())
    if CYLINDER in kinds:
        rows = kind == CYLINDER
        axis = R[rows, :, 2]
        # A disc whose axis has the component a along x reaches r sqrt(1 - a^2) along x.
        across = np.sqrt(np.maximum(0.0, 1.0 - axis**2))
        reach[rows] = size[rows, :1] * across + size[rows, 1:2] * np.abs(axis)
    if SPHERE in kinds:
        rows = kind == SPHERE
        reach[rows] = size[rows, :1]
    if HULL in kinds:
        middle = np.array(middle)
        for row in np.nonzero(kind == HULL)[0]:
            first, last = shape[row, 6:8].astype(int)
            points = solids.vertices[first:last] @ R[row].T
            low, high = points.min(axis=0), points.max(axis=0)
            middle[row] += 0.5 * (low + high)
            reach[row] = 0.5 * (high - low)
    return (middle - reach).astype(np.float32), (middle + reach).astype(np.float32)


def row12(X: Array) -> Array:
    """A pose (..., 4, 4) as the kernel's rows (..., 12): R row by row, then p."""
    X = np.asarray(X)
    R = X[..., :3, :3].reshape(*X.shape[:-2], 9)
    return np.concatenate([R, X[..., :3, 3]], axis=-1)


def table(solids: Sequence[Solid]) -> Solids:
    """The kernel's tables of shapes, without their poses."""
    planes, vertices = [np.zeros((0, 4))], [np.zeros((0, 3))]
    shape = np.zeros((len(solids), 8), dtype=np.float32)
    if solids:
        shape[:, 0] = [solid.kind for solid in solids]
        shape[:, 1:4] = [solid.size for solid in solids]
    n = k = 0  # rows of planes and of vertices so far
    for row, solid in enumerate(solids):
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
