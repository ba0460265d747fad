"""The Panda arm: forward and inverse kinematics, and its hand.

Frames: A is ``panda_link0`` (the arm's base), F the flange ``panda_link8``, H ``panda_hand``, T the
grasp centre between the fingertips. Compiled at the first call. Lengths, limits and derivation
are in ``ik``.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from galley.compiled.build import KINEMATICS, module_of
from galley.domain.frames import Array, as_input, as_numbers, as_pose, frozen, rotation_z, transform
from galley.robots.model import JointGroup
from galley.robots.panda.ik import ANGLE_AT_ZERO, FORE, LIMITS, UPPER

JOINTS = LIMITS.joints

# Pose of the hand in the flange: it is bolted on turned by -45 degrees.
X_FH: Array = frozen(transform(rotation_z(-np.pi / 4)))

# z of the finger links' frames in H, metres.
FINGER_HEIGHT = 0.0584

# How far each finger opens from the middle, metres.
FINGER_STROKE = 0.04

# Grasp centre in H, metres. The pads reach from 36.2 to 53.8 mm in the finger meshes: 45 mm is
# their middle, and the finger frames stand 58.4 mm from the hand's. They slide along H's y axis.
p_HT: Array = frozen([0.0, 0.0, 0.1034])

Indices = NDArray[np.int64]


class Solutions(NamedTuple):
    """IK solutions of many poses, ordered by pose, then q7, then branch.

    Attributes:
        q: joint angles, rad (k, 7), within the limits.
        pose: index of the pose that each solution reaches (k,).
        seven: index of each solution's value of joint 7 (k,).
        branch: 4 * elbow + 2 * wrist + shoulder of each (k,). Elbow 0 is the bent arm, 1 the
            over-stretched; wrist 0 has cos q5 >= 0; shoulder 0 has q2 >= 0. Along a curve of
            configurations the branch stays, unless the curve passes a singular pose.
    """

    q: Array
    pose: Indices
    seven: Indices
    branch: Indices


def link_frames(q: ArrayLike) -> Array:
    """X_AL of every link L, from Franka's DH table (modified convention).

    Args:
        q: joint angles, rad (..., 7).

    Returns:
        Poses in ``panda_link0`` (..., 9, 4, 4): of ``panda_link0`` to 7, then of the flange.
    """
    q = as_input(q)
    frames: Array = module_of(KINEMATICS).link_frames(q.reshape(-1, 7))
    return frames.reshape(*q.shape[:-1], 9, 4, 4)


def forward(q: ArrayLike) -> Array:
    """X_AF: pose of the flange (``panda_link8``) in ``panda_link0``.

    Args:
        q: joint angles, rad (..., 7).

    Returns:
        Pose (..., 4, 4), metres.
    """
    return link_frames(q)[..., 8, :, :].copy()


def inverse(X: Array, q7: float, limits: JointGroup = LIMITS) -> Array:
    """Every configuration that puts the flange at ``X`` with joint 7 at ``q7``.

    Args:
        X: pose of the flange in ``panda_link0``, X_AF (4, 4).
        q7: angle of joint 7, rad.
        limits: position limits; each range must be under 2 pi wide.

    Returns:
        Joint angles, rad (k, 7), 0 <= k <= 8. Where configurations form a continuum (q2 = 0), it is
        the one with q1 = q3.
    """
    return inverse_batch(X, np.array([q7]), limits).q


def inverse_batch(X: Array, q7: ArrayLike, limits: JointGroup = LIMITS) -> Solutions:
    """Every configuration for each pose combined with each value of joint 7.

    Args:
        X: poses of the flange in ``panda_link0``, X_AF (4, 4) or (n, 4, 4).
        q7: angles of joint 7, rad (m,).
        limits: position limits; each range must be under 2 pi wide.

    Returns:
        Solutions, with the pose, the value of joint 7 and the branch of each.

    Raises:
        ValueError: X is no pose, or a number is not finite.
    """
    table = _table() if limits is LIMITS else limit_table(limits)
    X_AF = as_input(as_pose(X, "X")).reshape(-1, 4, 4)
    angles = as_input(as_numbers(np.reshape(q7, -1), "q7", (-1,)))
    q, indices, count = module_of(KINEMATICS).solve_batch(X_AF, angles, table)
    return Solutions(q[:count].copy(), *indices[:, :count].copy())


def limit_table(limits: JointGroup) -> Array:
    """The table of limits (7, 6) for the compiled functions: see ``ik_kernel.limit_table``.

    Raises:
        ValueError: a range is 2 pi wide or more.
    """
    if np.any(limits.upper - limits.lower >= 2.0 * np.pi):
        raise ValueError("a joint's range must be under 2 pi wide")
    table: Array = module_of(KINEMATICS).limit_table(as_input(limits.lower), as_input(limits.upper))
    return table


@cache
def _table() -> Array:
    return limit_table(LIMITS)


def stretch() -> tuple[float, float]:
    """Least and greatest distance from shoulder S to wrist centre W, metres.

    |SW| depends on q4 alone: |SW|^2 = u^2 + f^2 - 2 u f cos(q4 + c), by the law of cosines in the
    triangle of shoulder, joint 4 and wrist centre. Its extremes are at the ends of joint 4's range,
    or where the angle passes 0 (folded) or pi (stretched).
    """
    low, high = LIMITS.lower[3] + ANGLE_AT_ZERO, LIMITS.upper[3] + ANGLE_AT_ZERO
    angles = [low, high]
    angles += [k * np.pi for k in range(-2, 3) if low < k * np.pi < high]
    squares = UPPER**2 + FORE**2 - 2.0 * UPPER * FORE * np.cos(angles)
    return float(np.sqrt(squares.min())), float(np.sqrt(squares.max()))
