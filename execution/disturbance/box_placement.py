"""Whether an item can stand somewhere, decided by bounding boxes alone.

Deliberately simpler than the collision worlds: disturbances must not depend on the code that plans
the run. Every shape counts as its bounding box, so the check is conservative.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from galley.domain.frames import Array, inverse, rotation_z, transform
from galley.domain.scene.model import Item, Scene, Shape

TOUCHING = 1e-4  # m of overlap that still counts as contact
LEVEL = 0.005  # m between an item's lowest corners and the top of its support


@dataclass(frozen=True)
class BoxSet:
    """Oriented boxes.

    Attributes:
        X: poses of their centres in the world (n, 4, 4). half: half their sides (n, 3), metres.
    """

    X: Array
    half: Array

    def joined(self, other: BoxSet) -> BoxSet:
        """The boxes of both sets."""
        return BoxSet(np.concatenate([self.X, other.X]), np.concatenate([self.half, other.half]))


def furniture_boxes(scene: Scene, scene_q: Array) -> BoxSet:
    """The bounding box of every collision shape of the furniture, for scene joint values (nj,)."""
    poses, halves = [np.empty((0, 4, 4))], [np.empty((0, 3))]
    for body in scene.bodies:
        X_WB = scene.body_pose(body.name, scene_q)
        for shape in body.shapes:
            if shape.collision:
                X_BC, half = _bounds(shape)
                poses.append((X_WB @ X_BC)[None])
                halves.append(half[None])
    return BoxSet(np.concatenate(poses), np.concatenate(halves))


def item_boxes(items: Sequence[Item], poses: Sequence[Array]) -> BoxSet:
    """The bounding boxes of items at their poses X_WI (4, 4)."""
    sizes = np.array([item.size / 2.0 for item in items]).reshape(-1, 3)
    return BoxSet(np.array(poses).reshape(-1, 4, 4), sizes)


def overlaps(box: BoxSet, others: BoxSet) -> Array:
    """Penetration depth (n,), m, of one box in each of n others; negative: a bound on the gap.

    Separating axes: 3 + 3 face normals and 9 products of edges (Gottschalk, Lin and Manocha,
    1996).
    """
    R, S = box.X[0, :3, :3], others.X[:, :3, :3]
    d = others.X[:, :3, 3] - box.X[0, :3, 3]
    n = len(d)
    faces = np.broadcast_to(R.T, (n, 3, 3))
    edges = np.cross(R.T[None, :, None, :], np.swapaxes(S, 1, 2)[:, None, :, :]).reshape(n, 9, 3)
    axes = np.concatenate([faces, np.swapaxes(S, 1, 2), edges], axis=1)  # (n, 15, 3), rows
    length = np.linalg.norm(axes, axis=2)
    axes = axes / np.maximum(length, 1e-12)[..., None]
    own = np.abs(axes @ R) @ box.half[0]
    theirs = np.einsum("naj,nj->na", np.abs(axes @ S), others.half)
    depth = own + theirs - np.abs(np.einsum("nai,ni->na", axes, d))
    depth[length < 1e-6] = np.inf  # parallel edges define no axis
    return np.asarray(depth.min(axis=1))


def displaced(X_WI: Array, offset: Array, yaw: float = 0.0) -> Array:
    """X_WI (4, 4) moved by ``offset`` (2,), m, in the plane and turned by ``yaw``, rad, about the
    vertical through its centre."""
    return transform(rotation_z(yaw) @ X_WI[:3, :3], X_WI[:3, 3] + np.array([*offset, 0.0]))


def collides(item: Item, before: Array, now: Array, others: BoxSet) -> bool:
    """Whether an item moved from ``before`` to ``now`` penetrates anything deeper than it did."""
    if not len(others.X):
        return False
    depth = overlaps(item_boxes([item], [now]), others)
    limit = np.full(len(depth), TOUCHING)
    if (depth > limit).any():
        limit = np.maximum(overlaps(item_boxes([item], [before]), others), 0.0) + TOUCHING
    return bool((depth > limit).any())


def supported_corners(item: Item, X_WI: Array, supports: BoxSet) -> Array:
    """Which of n boxes support each of the item's lowest corners, and the middle between them.

    Returns:
        (k + 1, n) truth values, the middle last. Only boxes with a level top support anything.
    """
    signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, 8).T
    corners = (signs * item.size / 2.0) @ X_WI[:3, :3].T + X_WI[:3, 3]
    corners = corners[corners[:, 2] < corners[:, 2].min() + LEVEL]
    points = np.vstack([corners, corners.mean(axis=0)])
    up: Array = np.abs(supports.X[:, 2, :3])  # vertical component of each box's axes
    level = up.max(axis=1) > 1.0 - 1e-6
    tops = supports.X[:, 2, 3] + np.einsum("nj,nj->n", up, supports.half)
    local = np.einsum(
        "nji,pnj->pni", supports.X[:, :3, :3], points[:, None] - supports.X[None, :, :3, 3]
    )
    inside = np.abs(local) <= supports.half + LEVEL  # height included, which is checked below
    flat = np.argmax(up, axis=1)
    for axis in range(3):  # no tolerance sideways: nothing may hang over an edge
        exact = np.abs(local[:, :, axis]) <= supports.half[:, axis] + 1e-9
        inside[:, :, axis] = np.where(flat == axis, inside[:, :, axis], exact)
    high = np.abs(points[:, None, 2] - tops) <= LEVEL
    return np.asarray(inside.all(axis=2) & high & level)


def is_supported(
    scene: Scene, scene_q: Array, item: Item, before: Array, now: Array, solids: BoxSet
) -> bool:
    """Whether an item moved from ``before`` to ``now`` keeps its support: as many corners as
    before, and its centre over every region that it was over."""
    were, are = (np.any(supported_corners(item, X, solids), axis=1).tolist() for X in (before, now))
    if sum(are[:-1]) < sum(were[:-1]) or (were[-1] and not are[-1]):
        return False
    return all(_stays_over_regions(scene, scene_q, before, now))


def is_free_placement(
    scene: Scene,
    scene_q: Array,
    item: Item,
    before: Array,
    now: Array,
    solids: BoxSet,
    obstacles: BoxSet,
) -> bool:
    """Whether an item moved from ``before`` to ``now`` is supported and clear of ``obstacles``."""
    return is_supported(scene, scene_q, item, before, now, solids) and not collides(
        item, before, now, obstacles
    )


def _stays_over_regions(scene: Scene, scene_q: Array, before: Array, now: Array) -> list[bool]:
    """For each box of a region that an item's centre was over or in, whether it still is."""
    stays = []
    for region in scene.regions:
        X_BW = inverse(scene.body_pose(region.body, scene_q))
        p, q = ((X_BW @ X)[:2, 3] for X in (before, now))
        for lower, upper in region.boxes:
            if (p >= lower[:2]).all() and (p <= upper[:2]).all():
                stays.append(bool((q >= lower[:2]).all() and (q <= upper[:2]).all()))
    return stays


def _bounds(shape: Shape) -> tuple[Array, Array]:
    """X_BC (4, 4) and half extents (3,) of the box around a shape, in its body's frame."""
    return shape.X_BS @ transform(None, shape.middle), shape.half_extents
