"""Checks by bounding boxes alone whether an item can stand somewhere.

Deliberately simpler than the collision worlds: disturbances must not depend on the code that plans
the run. Every shape counts as its bounding box, so the check is conservative.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from galley.domain.frames import Array, inverse, rotation_z, transform
from galley.domain.scene.model import Item, Scene

TOUCHING = 1e-4  # m of overlap that still counts as contact


@dataclass(frozen=True)
class BoxSet:
    """Oriented boxes.

    Attributes:
        X: poses (n, 4, 4) of their centres in the world.
        half: half the lengths of their sides (n, 3), metres.
    """

    X: Array
    half: Array


def item_box(item: Item, X_WI: Array) -> BoxSet:
    """The bounding box of an item at its pose (4, 4)."""
    return BoxSet(X_WI[None], item.size[None] / 2.0)


def obstacles(
    scene: Scene, scene_q: Array, poses: Sequence[Array], without: Collection[int]
) -> BoxSet:
    """The boxes of the furniture and of the items, except the items with indices in ``without``.

    Args:
        scene: the scene.
        scene_q: scene joint values (nj,), m and rad.
        poses: the pose X_WI (4, 4) of each item.
        without: indices of items to leave out.
    """
    boxes = [BoxSet(*scene.furniture_boxes(scene_q))]
    for k, (item, X_WI) in enumerate(zip(scene.items, poses, strict=True)):
        if k not in without:
            boxes.append(item_box(item, X_WI))
    return BoxSet(np.concatenate([b.X for b in boxes]), np.concatenate([b.half for b in boxes]))


def overlaps(box: BoxSet, others: BoxSet) -> Array:
    """Penetration depth (n,), m, of one box in each of n others.

    A negative depth is minus a lower bound on the gap. By separating axes: 3 + 3 face normals and 9
    cross products of edges (Gottschalk, Lin and Manocha, 1996).
    """
    R, S = box.X[0, :3, :3], others.X[:, :3, :3]
    d = others.X[:, :3, 3] - box.X[0, :3, 3]
    n = len(d)
    faces = np.broadcast_to(R.T, (n, 3, 3))
    edges = np.cross(R.T[None, :, None, :], np.swapaxes(S, 1, 2)[:, None, :, :]).reshape(n, 9, 3)
    axes = np.concatenate([faces, np.swapaxes(S, 1, 2), edges], axis=1)  # (n, 15, 3), rows
    length = np.linalg.norm(axes, axis=2)
    axes = axes / np.maximum(length, 1e-12)[..., None]
    # On each axis: the extents of both boxes, less the distance of their centres.
    own = np.abs(axes @ R) @ box.half[0]
    theirs = np.einsum("naj,nj->na", np.abs(axes @ S), others.half)
    depth = own + theirs - np.abs(np.einsum("nai,ni->na", axes, d))
    depth[length < 1e-6] = np.inf  # parallel edges define no axis
    return np.asarray(depth.min(axis=1))


def displaced(X_WI: Array, offset: Array, yaw: float = 0.0) -> Array:
    """X_WI (4, 4) moved by ``offset`` (2,), m, in the plane and turned by ``yaw``, rad, about the
    vertical through its centre."""
    return transform(rotation_z(yaw) @ X_WI[:3, :3], X_WI[:3, 3] + np.array([*offset, 0.0]))


def is_free_placement(
    scene: Scene, scene_q: Array, item: Item, before: Array, now: Array, around: BoxSet
) -> bool:
    """Whether an item can be moved from one pose to another.

    It can if it then reaches no further out of any region that its centre was over, and penetrates
    none of the boxes deeper than before.

    Args:
        scene: the scene, for its regions.
        scene_q: scene joint values (nj,), m and rad.
        item: the item.
        before: its pose X_WI (4, 4).
        now: its new pose X_WI (4, 4).
        around: the boxes of everything else.
    """
    for region in scene.regions:
        X_BW = inverse(scene.body_pose(region.body, scene_q))
        for low, high in region.boxes[:, :, :2]:
            centre = (X_BW @ before)[:2, 3]
            if (centre < low).any() or (centre > high).any():
                continue
            was, out = (_beyond(item, X_BW @ X, low, high) for X in (before, now))
            if out > max(was, 0.0) + 1e-9:
                return False
    deep, deep_before = (overlaps(item_box(item, X), around) for X in (now, before))
    return bool((deep <= np.maximum(deep_before, 0.0) + TOUCHING).all())


def _beyond(item: Item, X_BI: Array, low: Array, high: Array) -> float:
    """The length (m) by which an item at X_BI (4, 4) reaches out of a rectangle in the plane.

    ``low`` and ``high`` (2,) are the rectangle's corners. Negative: the smallest margin within.
    """
    half = np.abs(X_BI[:2, :3]) @ item.size / 2.0
    return float((np.maximum(low - X_BI[:2, 3], X_BI[:2, 3] - high) + half).max())
