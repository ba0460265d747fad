"""The Franka Emika Panda: its geometry, its limits and its forward kinematics.

Frames: A is ``panda_link0`` (the arm's base), F the flange ``panda_link8``, H ``panda_hand``, T the
    grasp
centre between the fingertips.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from galley.domain.frames import Array, frozen, rotation_z, transform

# Lengths of Franka's DH table (modified convention, after Craig), metres.
D1 = 0.333  # link0 to the shoulder, where the axes of joints 1, 2 and 3 meet
D3 = 0.316  # shoulder to the elbow, along the upper arm
A4 = 0.0825  # the elbow's sideways offset, out to joint 4's axis and back again behind it
D5 = 0.384  # elbow to the wrist centre, where the axes of joints 5 and 6 meet
A7 = 0.088  # joint 6's axis to joint 7's
DF = 0.107  # joint 7's frame to the flange

# One row a joint: a, alpha, d of the transform Rx(alpha) Tx(a) Rz(q) Tz(d) from the link before.
_DH = (
    (0.0, 0.0, D1),
    (0.0, -np.pi / 2, 0.0),
    (0.0, np.pi / 2, D3),
    (A4, np.pi / 2, 0.0),
    (-A4, -np.pi / 2, D5),
    (0.0, np.pi / 2, 0.0),
    (A7, np.pi / 2, 0.0),
)
JOINTS = tuple(f"panda_joint{k}" for k in range(1, 8))


@dataclass(frozen=True)
class Limits:
    """Limits of the seven joints, each (7,): rad, rad/s, rad/s^2, rad/s^3."""

    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array
    jerk: Array


LIMITS = Limits(
    lower=frozen([-2.8973, -1.7628, -2.8973, -3.0718, -2.8973, -0.0175, -2.8973]),
    upper=frozen([2.8973, 1.7628, 2.8973, -0.0698, 2.8973, 3.7525, 2.8973]),
    velocity=frozen([2.175, 2.175, 2.175, 2.175, 2.61, 2.61, 2.61]),
    acceleration=frozen([15.0, 7.5, 10.0, 12.5, 15.0, 20.0, 20.0]),
    jerk=frozen([7500.0, 3750.0, 5000.0, 6250.0, 7500.0, 10000.0, 10000.0]),
)
"""The real arm's limits, from Franka's published table. The URDF's hard limits are wider."""

X_FH: Array = frozen(transform(rotation_z(-np.pi / 4)))
"""The hand in the flange: it is bolted on turned by -45 degrees."""

FINGER_HEIGHT = 0.0584
"""z of the finger links' frames in H, metres."""

FINGER_STROKE = 0.04
"""How far each finger opens from the middle, metres."""

p_HT: Array = frozen([0.0, 0.0, 0.1034])
"""Grasp centre in H, metres. The pads reach from 36.2 to 53.8 mm in the finger meshes: 45 mm is
their middle, and the finger frames stand 58.4 mm from the hand's. They slide along H's y axis."""


def link_frames(q: ArrayLike) -> Array:
    """X_AL of every link L, from Franka's DH table (modified convention).

    Args:
        q: joint angles, rad (..., 7).

    Returns:
        Poses in ``panda_link0`` (..., 9, 4, 4): of ``panda_link0`` to 7, then of the flange.
    """
    q = np.asarray(q, dtype=np.float64)
    X = np.zeros((*q.shape[:-1], 9, 4, 4))
    X[..., 0, :, :] = np.eye(4)
    cosine, sine = np.cos(q), np.sin(q)
    for k, (a, alpha, d) in enumerate(_DH):
        ca, sa = round(np.cos(alpha)), round(np.sin(alpha))  # quarter turns: exact, no 6e-17
        c, s = cosine[..., k], sine[..., k]
        step = np.zeros((*q.shape[:-1], 4, 4))
        step[..., 0, 0], step[..., 0, 1], step[..., 0, 3] = c, -s, a
        step[..., 1, 0], step[..., 1, 1] = s * ca, c * ca
        step[..., 1, 2], step[..., 1, 3] = -sa, -sa * d
        step[..., 2, 0], step[..., 2, 1] = s * sa, c * sa
        step[..., 2, 2], step[..., 2, 3] = ca, ca * d
        step[..., 3, 3] = 1.0
        X[..., k + 1, :, :] = X[..., k, :, :] @ step
    X[..., 8, :, :] = X[..., 7, :, :]
    X[..., 8, :3, 3] += DF * X[..., 7, :3, 2]
    return X


def forward(q: ArrayLike) -> Array:
    """X_AF: pose of the flange (``panda_link8``) in ``panda_link0``.

    Args:
        q: joint angles, rad (..., 7).

    Returns:
        Pose (..., 4, 4), metres.
    """
    return link_frames(q)[..., 8, :, :].copy()
