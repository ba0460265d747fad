"""Operations on arrays of poses (x, y, z, qx, qy, qz, qw), and the poses of furniture.

Frames: W the world, B a body, H the hand, I an item. Arrays broadcast over leading axes.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np

from galley.domain.frames import Array, to_pose7
from galley.domain.scene.model import WORLD, Joint, Scene

IDENTITY: Array = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])


_NEXT, _LAST = [1, 2, 0], [2, 0, 1]


def _cross(a: Array, b: Array) -> Array:
    """``np.cross`` to the last bit, but ten times as fast for single vectors."""
    return np.asarray(a[..., _NEXT] * b[..., _LAST] - a[..., _LAST] * b[..., _NEXT])


def rotated(quaternion: Array, vector: Array) -> Array:
    """Vectors (..., 3) rotated by unit quaternions (..., 4): v + 2 u x (u x v + w v)."""
    u, w = quaternion[..., :3], quaternion[..., 3:]
    return np.asarray(vector + 2.0 * _cross(u, _cross(u, vector) + w * vector))


def product(a: Array, b: Array) -> Array:
    """Hamilton product (..., 4) of quaternions: first b, then a."""
    u, s = a[..., :3], a[..., 3:]
    v, t = b[..., :3], b[..., 3:]
    vector = s * v + t * u + _cross(u, v)
    scalar = s * t - (u * v).sum(axis=-1, keepdims=True)
    return np.concatenate([vector, scalar], axis=-1)


def compose(X_AB: Array, X_BC: Array) -> Array:
    """The pose X_AC (..., 7) of C in A, from X_AB and X_BC (..., 7)."""
    p = X_AB[..., :3] + rotated(X_AB[..., 3:], X_BC[..., :3])
    return np.concatenate([p, product(X_AB[..., 3:], X_BC[..., 3:])], axis=-1)


def relative(X_WA: Array, X_WB: Array) -> Array:
    """The pose X_AB (..., 7) of B in A, from X_WA and X_WB (..., 7)."""
    # The conjugate of a unit quaternion is the inverse rotation.
    back = X_WA[..., 3:] * np.array([-1.0, -1.0, -1.0, 1.0])
    p = rotated(back, X_WB[..., :3] - X_WA[..., :3])
    return np.concatenate([p, product(back, X_WB[..., 3:])], axis=-1)


def rotation_angle(a: Array, b: Array) -> Array:
    """Angles (...) in [0, pi], rad, between unit quaternions (..., 4)."""
    difference = product(a * np.array([-1.0, -1.0, -1.0, 1.0]), b)
    sine = np.linalg.norm(difference[..., :3], axis=-1)
    return np.asarray(2.0 * np.arctan2(sine, np.abs(difference[..., 3])))


def item_corners(scene: Scene, items: Array) -> list[Array]:
    """The corners (T, 8, 3) of each item's bounding box in the world, for poses (T, ni, 7)."""
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
    return [
        X[:, None, :3] + rotated(X[:, None, 3:], 0.5 * item.size * signs)
        for X, item in zip(items.swapaxes(0, 1), scene.items, strict=True)
    ]


def displacement(joint: Joint, values: Array) -> Array:
    """The displacement (T, 7) of a joint's child from its pose at zero, for joint values (T,).

    It is in world coordinates: a shift along the axis, or a rotation about it at the pivot.
    """
    X = np.tile(IDENTITY, (len(values), 1))
    if joint.kind == "prismatic":
        X[:, :3] = values[:, None] * joint.axis
        return X
    half = 0.5 * values[:, None]
    X[:, 3:6], X[:, 6:] = np.sin(half) * joint.axis, np.cos(half)
    X[:, :3] = joint.pivot - rotated(X[:, 3:], joint.pivot)
    return X


def furniture_poses(scene: Scene, scene_q: Array) -> Mapping[str, Array]:
    """X_WB of every body for scene joint values (T, nj): (T, 7), or (1, 7) if it is static.

    The scene gives poses at joint values of zero, so a body is displaced by its own joint, then by
    those of its ancestors.
    """
    bodies = {body.name: body for body in scene.bodies}
    joints = {joint.name: k for k, joint in enumerate(scene.joints)}
    moved: dict[str, Array] = {WORLD: IDENTITY[None]}

    def displaced(name: str) -> Array:
        if name not in moved:
            body = bodies[name]
            X = displaced(body.parent)
            if body.joint is not None:
                k = joints[body.joint]
                X = compose(X, displacement(scene.joints[k], scene_q[:, k]))
            moved[name] = X
        return moved[name]

    return {b.name: compose(displaced(b.name), to_pose7(b.X_WB0)) for b in scene.bodies}
