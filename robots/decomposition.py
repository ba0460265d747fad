"""Convex parts of a mesh that wastes much of its convex hull: an arm with an offset, an elbow.

The mesh is cut by planes, greedily: always the cut that takes most off the volume of the hulls.
Whatever a plane cuts off, the hull of its surface covers the solid behind it, too, as the outline
of the section belongs to both sides. So the parts' hulls together cover all that the mesh does.
"""

from __future__ import annotations

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
    worth = WORTH * _hull_volume(mesh)
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
    whole, best = _hull_volume(mesh), _Cut(0.0)
    low, high = mesh.points.min(axis=0), mesh.points.max(axis=0)
    for axis in np.eye(3):
        for at in np.linspace(low @ axis, high @ axis, _PLACES + 2)[1:-1]:
            halves = tuple(_side(mesh, sign * axis, at * axis) for sign in (1.0, -1.0))
            saved = whole - sum(map(_hull_volume, halves))
            if saved > best.saved and all(_hull_volume(half) > 0.0 for half in halves):
                best = _Cut(saved, halves)
    return best


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


def _hull_volume(mesh: CollisionMesh) -> float:
    """Of the convex hull, m^3; 0 if it is flat."""
    try:
        return float(ConvexHull(mesh.points).volume)
    except (QhullError, ValueError):
        return 0.0
