"""Whether an item can stand somewhere, decided by bounding boxes alone.

Deliberately simpler than the collision worlds: disturbances must not depend on the code that plans
the run. Every shape counts as its bounding box, so the check is conservative.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from galley.domain.frames import Array, inverse, rotation_z, transform
from galley.domain.scene.model import Item, Scene

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
    poses, halves = [], []
    for body in scene.bodies:
        X_WB = scene.body_pose(body.name, scene_q)
        for shape in body.shapes:
            if shape.collision:
                poses.append(X_WB @ shape.X_BS @ transform(None, shape.middle))
                halves.append(shape.half_extents)
    return BoxSet(np.array(poses).reshape(-1, 4, 4), np.array(halves).reshape(-1, 3))


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


def carried_points(item: Item, X_WI: Array, supports: BoxSet) -> Array:
    """Which of n boxes carry each of the item's lowest corners, and the middle between them.

    Returns:
        (k + 1, n) truth values, the middle last. Only boxes with a level top carry anything.
    """
    signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, 8).T
    corners = (signs * item.size / 2.0) @ X_WI[:3, :3].T + X_WI[:3, 3]
    corners = corners[corners[:, 2] < corners[:, 2].min() + LEVEL]
    points = np.vstack([corners, corners.mean(axis=0)])
    up: Array = np.abs(supports.X[:, 2, :3])  # vertical component of each box's axes
    level = up.max(axis=1) > 1.0 - 1e-6
    tops = supports.X[:, 2, 3] + np.einsum("nj,nj->n", up, supports.half)
    arms = points[:, None] - supports.X[None, :, :3, 3]
    local = np.abs(np.einsum("nji,pnj->pni", supports.X[:, :3, :3], arms))
    upright = np.arange(3) == np.argmax(up, axis=1)[:, None]  # the axis whose height counts
    above = (local <= supports.half + 1e-9) | upright  # nothing may hang over an edge
    return np.asarray(above.all(axis=2) & (np.abs(points[:, 2:] - tops) <= LEVEL) & level)


def is_free_placement(
    scene: Scene,
    scene_q: Array,
    item: Item,
    before: Array,
    now: Array,
    solids: BoxSet,
    obstacles: BoxSet,
) -> bool:
    """Whether an item can be moved from ``before`` to ``now``, both X_WI (4, 4).

    As many of its corners stand on ``solids`` as before, and the middle if it did; its centre stays
    over every region that it was over, and it is no deeper in any of the ``obstacles``.
    """
    were, are = (np.any(carried_points(item, X, solids), axis=1).tolist() for X in (before, now))
    for region in scene.regions:
        X_BW = inverse(scene.body_pose(region.body, scene_q))
        for low, high in region.boxes[:, :, :2]:
            was_in, is_in = (
                bool(((X_BW @ X)[:2, 3] >= low).all() and ((X_BW @ X)[:2, 3] <= high).all())
                for X in (before, now)
            )
            if was_in and not is_in:
                return False
    deep, deep_before = (overlaps(item_boxes([item], [X]), obstacles) for X in (now, before))
    stands = are[-1] >= were[-1] and sum(are[:-1]) >= sum(were[:-1])
    return bool(stands and (deep <= np.maximum(deep_before, 0.0) + TOUCHING).all())
