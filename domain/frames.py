"""Rigid transforms as 4x4 arrays, in monogram notation: ``X_AB`` is the pose of B in A.

``X_AC = X_AB @ X_BC`` and ``p_AQ = X_AB[:3, :3] @ p_BQ + X_AB[:3, 3]``. Lengths in metres,
angles in radians.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

_EYE = np.eye(4)


def frozen(values: ArrayLike) -> Array:
    """A read-only float copy of ``values``, as stored in frozen dataclasses."""
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array


def as_input(values: ArrayLike) -> Array:
    """A writeable copy in C order.

    Numba compiles a kernel again for read-only and for strided arrays.
    """
    return np.array(values, dtype=np.float64, order="C")


def as_numbers(
    values: ArrayLike, what: str, shape: tuple[int, ...] = (), least: float = -np.inf
) -> Array:
    """``values`` as finite floats of a given shape.

    Arguments of compiled code are checked by this function: in its comparisons a NaN would count as
    collision-free and as within limits.

    Args:
        values: the numbers.
        what: names them in the message.
        shape: the expected shape. If it begins with -1, any number of rows is allowed, and an empty
            list stands for none.
        least: the smallest number allowed.

    Raises:
        ValueError: another shape, or a number that is not finite or less than ``least``.
    """
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{what} must be numbers, got {type(values).__name__}") from None
    if array.size == 0 and shape[:1] == (-1,):
        return np.empty((0, *shape[1:]))
    if array.ndim != len(shape) or any(
        n not in (-1, m) for n, m in zip(shape, array.shape, strict=True)
    ):
        raise ValueError(f"{what} must have the shape {shape}, got {array.shape}")
    good = np.isfinite(array) & (array >= least)
    if not good.all():
        bound = "" if least == -np.inf else f" from {least:g}"
        first = np.argwhere(~good)[0].tolist()
        at = f" at {first}" if shape else ""
        raise ValueError(f"{what} must be finite{bound}, got {array[tuple(first)]:g}{at}")
    return array


def as_pose(X: ArrayLike, what: str = "this") -> Array:
    """Poses X (..., 4, 4) as floats, checked; ``what`` names them in the message.

    Raises:
        ValueError: another shape, numbers that are not finite, R no rotation matrix or mirrored, or
            a last row that is not 0, 0, 0, 1.
    """
    X = np.asarray(X, dtype=np.float64)
    if X.shape[-2:] == (4, 4) and np.isfinite(X).all():
        R = X[..., :3, :3]
        off = np.abs(R @ R.swapaxes(-1, -2) - _EYE[:3, :3]).max(initial=0.0)
        last = np.abs(X[..., 3, :] - _EYE[3]).max(initial=0.0)
        if off <= 1e-6 and last <= 1e-9 and (np.linalg.det(R) > 0.0).all():
            return X
    raise ValueError(
        f"{what} is not a pose (4, 4): finite numbers, a rotation matrix (not mirrored) and a last "
        "row of 0, 0, 0, 1 are needed"
    )


def transform(rotation: ArrayLike | None = None, translation: ArrayLike | None = None) -> Array:
    """The pose X (4, 4) with rotation R (3, 3) and translation p (3,); the identity if omitted."""
    X = np.eye(4)
    if rotation is not None:
        X[:3, :3] = rotation
    if translation is not None:
        X[:3, 3] = translation
    return X


def inverse(X_AB: Array) -> Array:
    """The inverse X_BA (4, 4) of a pose X_AB: [R^T, -R^T p]."""
    R = X_AB[:3, :3]
    return transform(R.T, -R.T @ X_AB[:3, 3])


def rotation_about(axis: ArrayLike, angle: float) -> Array:
    """R (3, 3) about a unit ``axis`` (3,) by ``angle`` (rad), by Rodrigues' formula."""
    x, y, z = np.asarray(axis, dtype=np.float64)
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.asarray(np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * (K @ K))


def rotation_z(angle: float) -> Array:
    """R (3, 3) about z by ``angle`` (rad)."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def rotation_rpy(roll: float, pitch: float, yaw: float) -> Array:
    """R (3, 3) = Rz(yaw) Ry(pitch) Rx(roll), URDF's convention."""
    return rotation_z(yaw) @ rotation_about((0, 1, 0), pitch) @ rotation_about((1, 0, 0), roll)


def rpy(R: Array) -> Array:
    """(roll, pitch, yaw) (3,) of R (3, 3), pitch in [-pi/2, pi/2]: ``rotation_rpy``'s inverse."""
    pitch = np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0]))
    if np.cos(pitch) < 1e-9:  # gimbal lock: roll and yaw share an axis; all goes into yaw
        return np.array([0.0, pitch, np.arctan2(-R[0, 1], R[1, 1])])
    return np.array([np.arctan2(R[2, 1], R[2, 2]), pitch, np.arctan2(R[1, 0], R[0, 0])])


def quaternion(R: Array) -> Array:
    """The unit quaternion (x, y, z, w) (..., 4) of R (..., 3, 3), with w >= 0; PyBullet's order."""
    if R.ndim > 2:
        return np.asarray(_quaternions(R.reshape(-1, 3, 3)).reshape(*R.shape[:-2], 4))
    # Divide by the largest component, for numerical accuracy.
    a, b, c = R.diagonal()
    t = np.array([1 + a - b - c, 1 - a + b - c, 1 - a - b + c, 1 + a + b + c])
    k = int(np.argmax(t))
    if k == 3:
        q = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1], t[3]])
    else:
        i, j, q = (k + 1) % 3, (k + 2) % 3, np.empty(4)
        q[[k, i, j, 3]] = t[k], R[k, i] + R[i, k], R[k, j] + R[j, k], R[j, i] - R[i, j]
    q /= np.linalg.norm(q)
    return -q if q[3] < 0 else q


def _quaternions(R: Array) -> Array:
    """The quaternions (m, 4) of many rotations (m, 3, 3), see ``quaternion``."""
    a, b, c = R[:, 0, 0], R[:, 1, 1], R[:, 2, 2]
    products = np.empty((len(R), 4, 4))  # 4 q_i q_j
    for k, value in enumerate((1 + a - b - c, 1 - a + b - c, 1 - a - b + c, 1 + a + b + c)):
        products[:, k, k] = value
    for i, j, value in (
        (0, 1, R[:, 0, 1] + R[:, 1, 0]),
        (0, 2, R[:, 0, 2] + R[:, 2, 0]),
        (1, 2, R[:, 1, 2] + R[:, 2, 1]),
        (0, 3, R[:, 2, 1] - R[:, 1, 2]),
        (1, 3, R[:, 0, 2] - R[:, 2, 0]),
        (2, 3, R[:, 1, 0] - R[:, 0, 1]),
    ):
        products[:, i, j] = products[:, j, i] = value
    largest = np.diagonal(products, axis1=1, axis2=2).argmax(axis=1)
    q = products[np.arange(len(R)), largest]
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    return np.asarray(np.where(q[:, 3:] < 0, -q, q))


def rotation_from_quaternion(q: ArrayLike) -> Array:
    """R (3, 3) of a quaternion (x, y, z, w), which need not be normalised.

    Raises:
        ValueError: it is not four finite numbers, or all are 0.
    """
    values = as_numbers(q, "a quaternion", (4,))
    if not values.any():
        raise ValueError("a quaternion of zeros is not a rotation")
    x, y, z, w = values / np.linalg.norm(values)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def to_pose7(X: Array) -> Array:
    """(x, y, z, qx, qy, qz, qw) (..., 7) of X (..., 4, 4), the pose format of logs."""
    return np.concatenate([X[..., :3, 3], quaternion(X[..., :3, :3])], axis=-1)


def continuous(quaternions: Array) -> Array:
    """The same rotations (T, ..., 4) without changes of sign from one quaternion to the next.

    The first has w >= 0; each other one gets the sign that is nearer to the previous one.
    """
    q = np.array(quaternions, dtype=np.float64)
    flips = np.concatenate([q[:1, ..., 3] < 0.0, (q[1:] * q[:-1]).sum(axis=-1) < 0.0])
    return np.where(np.logical_xor.accumulate(flips)[..., None], -q, q)


def from_pose7(pose: ArrayLike) -> Array:
    """X (4, 4) from (x, y, z, qx, qy, qz, qw)."""
    pose = np.asarray(pose, dtype=np.float64)
    return transform(rotation_from_quaternion(pose[3:]), pose[:3])


def angle_between(R_A: Array, R_B: Array) -> float:
    """Angle (rad, in [0, pi]) of the rotation that takes R_A to R_B; accurate near 0 and pi."""
    R = R_A.T @ R_B
    sine = 0.5 * np.linalg.norm([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    return float(np.arctan2(sine, 0.5 * (np.trace(R) - 1.0)))


def wrap(angle: ArrayLike) -> Array:
    """Angle(s) wrapped to [-pi, pi)."""
    wrapped = (np.asarray(angle, dtype=np.float64) + np.pi) % (2.0 * np.pi) - np.pi
    # The remainder of a tiny negative number may round up to a full turn.
    return np.where(wrapped < np.pi, wrapped, -np.pi)


def nearest_turn(angle: ArrayLike, to: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> Array:
    """The angles plus whole turns, as near to the angles ``to`` as the limits allow.

    An angle stays as it is if no number of turns takes it within its limits. The arguments are
    broadcast against each other.
    """
    angle, to, lower, upper = (np.asarray(v, np.float64) for v in (angle, to, lower, upper))
    # Two turns to either side of the best unlimited one, among which the limits choose.
    middle = np.round((np.clip(to, lower, upper) - angle) / (2.0 * np.pi))
    turned = angle + 2.0 * np.pi * np.stack([middle + k for k in range(-2, 3)])
    off = np.where((turned >= lower) & (turned <= upper), np.abs(turned - to), np.inf)
    best = np.take_along_axis(turned, off.argmin(axis=0)[None], axis=0)[0]
    return np.where(np.isfinite(off).any(axis=0), best, angle)


def plane_poses(poses: ArrayLike) -> Array:
    """The poses X (..., 4, 4) of x, y, yaw (..., 3), m and rad, in the plane z = 0."""
    at = np.asarray(poses, dtype=np.float64)
    X = np.zeros((*at.shape[:-1], 4, 4))
    X[..., 2, 2] = X[..., 3, 3] = 1.0
    X[..., 0, 0] = X[..., 1, 1] = np.cos(at[..., 2])
    X[..., 1, 0] = np.sin(at[..., 2])
    X[..., 0, 1] = -X[..., 1, 0]
    X[..., :2, 3] = at[..., :2]
    return X
