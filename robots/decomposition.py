"""Convex parts of a mesh that wastes much of its convex hull: an arm with an offset, an elbow.

The mesh is cut by planes, greedily: always the cut that takes most off the volume of the hulls.
Whatever a plane cuts off, the hull of its surface covers the solid behind it, too, as the outline
of the section belongs to both sides. So the parts' hulls together cover all that the mesh does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from galley.domain.frames import Array
from galley.domain.meshes import CollisionMesh

WORTH = 0.02
"""A cut must take off at least this share of the whole mesh's hull."""
_PLACES = 12  # cuts tried along each axis


@dataclass(frozen=True)
class _Cut:
    saved: float  # m^3 of hull
    halves: tuple[CollisionMesh, ...] = ()


def convex_parts(mesh: CollisionMesh, most: int) -> list[CollisionMesh]:
    """Parts of a mesh whose convex hulls together cover it; itself if no cut is worth it.

    Cuts are square to the axes of the mesh's frame. Deterministic.

    Args:
        mesh: triangles; they need not be watertight.
        most: parts.
    """
    worth = WORTH * _hull(mesh.points)[1]
    parts = [mesh]
    cuts = [_best_cut(mesh) if len(mesh.triangles) else _Cut(0.0)]
    while len(parts) < most:
        k = max(range(len(cuts)), key=lambda i: cuts[i].saved)
        if not cuts[k].halves or cuts[k].saved < worth:
            break
        halves = cuts[k].halves
        parts[k : k + 1] = halves
        cuts[k : k + 1] = map(_best_cut, halves)
    return parts


def _best_cut(mesh: CollisionMesh) -> _Cut:
    whole, best, place = _hull(mesh.points)[1], 0.0, None
    for axis in np.eye(3):
        height = mesh.points @ axis
        planes = np.linspace(height.min(), height.max(), _PLACES + 2)[1:-1]
        for at, volume in zip(planes, _volumes(mesh, height, planes), strict=True):
            if whole - volume > best:
                best, place = whole - volume, (axis, at)
    if place is None:
        return _Cut(0.0)
    axis, at = place
    return _Cut(best, tuple(_side(mesh, sign * axis, at * axis) for sign in (1.0, -1.0)))


def _volumes(mesh: CollisionMesh, height: Array, planes: Array) -> list[float]:
    """The sum of both halves' hulls, m^3, for each of the planes; infinite if one has none.

    A half's hull is that of the corners of its slabs' hulls, so no cut looks at all points again.

    Args:
        height: of the mesh's points (n,), m, ascending planes (k,) being at given heights.
    """
    edges = mesh.triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    ends = height[edges]
    outlines = []  # points of the surface on each plane: both sides have them
    for at in planes:
        across = (ends.min(axis=1) < at) & (ends.max(axis=1) >= at)
        (a, b), (low, high) = mesh.points[edges[across]].swapaxes(0, 1), ends[across].T
        outlines.append(_hull(a + ((at - low) / (high - low))[:, None] * (b - a))[0])
    nothing = np.empty((0, 3))
    slab = np.searchsorted(planes, height, side="right")
    slabs = [
        _hull(np.vstack([mesh.points[slab == k], below, above]))[0]
        for k, (below, above) in enumerate(
            zip([nothing, *outlines], [*outlines, nothing], strict=True)
        )
    ]
    below, above = ([volume for _, volume in _grown(row)] for row in (slabs[:-1], slabs[:0:-1]))
    pairs = zip(below, above[::-1], strict=True)
    return [a + b if min(a, b) > 0.0 else np.inf for a, b in pairs]


def _grown(slabs: list[Array]) -> Iterator[tuple[Array, float]]:
    """Corners and volume of the hulls of the first slab, the first two, the first three, ..."""
    corners = np.empty((0, 3))
    for slab in slabs:
        corners, volume = _hull(np.vstack([corners, slab]))
        yield corners, volume


def _side(mesh: CollisionMesh, normal: Array, origin: Array) -> CollisionMesh:
    """What lies beyond a plane on the side of its normal (3,)."""
    height = ((mesh.points - origin) @ normal)[mesh.triangles]
    inside = height >= 0.0
    count = inside.sum(axis=1)
    whole = mesh.points[mesh.triangles[count == 3]]
    cut = (count == 1) | (count == 2)
    # The corner that is alone on its side comes first: the plane cuts the edges that meet there.
    alone = np.where(count == 1, inside.argmax(axis=1), inside.argmin(axis=1))[cut]
    order = (alone[:, None] + np.arange(3)) % 3
    corners = mesh.points[np.take_along_axis(mesh.triangles[cut], order, axis=1)]
    h = np.take_along_axis(height[cut], order, axis=1)
    a, b, c = corners.transpose(1, 0, 2)
    ab = a + (h[:, :1] / (h[:, :1] - h[:, 1:2])) * (b - a)
    ac = a + (h[:, :1] / (h[:, :1] - h[:, 2:])) * (c - a)
    tip = count[cut] == 1
    pieces = (
        whole,
        np.stack([a, ab, ac], axis=1)[tip],
        np.stack([ab, b, c], axis=1)[~tip],
        np.stack([ab, c, ac], axis=1)[~tip],
    )
    points, triangles = np.unique(
        np.concatenate(pieces).reshape(-1, 3), axis=0, return_inverse=True
    )
    return CollisionMesh(points, triangles.reshape(-1, 3).astype(np.int64))


def _hull(points: Array) -> tuple[Array, float]:
    """Corners of the convex hull of points (n, 3) and its volume, m^3; all and 0 if it is flat."""
    try:
        found = ConvexHull(points)
    except (QhullError, ValueError):
        return points, 0.0
    return np.asarray(points[found.vertices]), float(found.volume)
