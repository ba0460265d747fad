"""How far a pose is beyond the Panda's reach: a bound that proves ``unreachable``."""

from __future__ import annotations

import numpy as np

from galley.domain.frames import Array
from galley.robots.panda_ik import A7, ANGLE_AT_ZERO, D1, DF, FORE, LIMITS, UPPER, Limits

# Less than this (m) is rounding, and within what the inverse kinematics still accepts as stretched.
_ROUNDING = 1e-9


def stretch(limits: Limits = LIMITS) -> tuple[float, float]:
    """Least and greatest distance from shoulder S to wrist centre W, metres.

    |SW| depends on q4 alone: |SW|^2 = u^2 + f^2 - 2 u f cos(q4 + c), by the law of cosines in the
    triangle of shoulder, joint 4 and wrist centre. Its extremes are at the ends of joint 4's range,
    or where the angle passes 0 (folded) or pi (stretched).
    """
    low, high = limits.lower[3] + ANGLE_AT_ZERO, limits.upper[3] + ANGLE_AT_ZERO
    angles = [low, high]
    angles += [k * np.pi for k in range(-2, 3) if low < k * np.pi < high]
    squares = UPPER**2 + FORE**2 - 2.0 * UPPER * FORE * np.cos(angles)
    return float(np.sqrt(squares.min())), float(np.sqrt(squares.max()))


def reach_shortfall(X: Array, limits: Limits = LIMITS) -> float:
    """Lower bound on how far the flange must be moved, without turning it, to be reachable.

    Whatever q7 is, the wrist centre lies on a circle of radius 88 mm about the point 107 mm behind
    the flange, in the plane across the flange's z axis. A configuration exists only if that circle
    meets the shell of the distances that the elbow allows around the shoulder. The gap between
    circle and shell changes by at most d when the pose is shifted by d, so it bounds the shift from
    below.

    The converse does not hold: 0 promises nothing, since the bound ignores all limits but joint
        4's.

    Args:
        X: pose of the flange in ``panda_link0``, X_AF (4, 4).
        limits: position limits; joint 4's range is used.

    Returns:
        Metres, >= 0; 0 where the bound proves nothing.
    """
    z = X[:3, 2]
    p_CS = np.array([0.0, 0.0, D1]) - (X[:3, 3] - DF * z)  # C: centre of the circle
    height = float(p_CS @ z)
    radius = float(np.linalg.norm(p_CS - height * z))
    nearest = np.hypot(height, radius - A7)
    farthest = np.hypot(height, radius + A7)
    least, greatest = stretch(limits)
    gap = float(max(nearest - greatest, least - farthest))
    return gap if gap > _ROUNDING else 0.0
