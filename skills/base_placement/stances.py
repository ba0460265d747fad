"""Base poses worth trying for a hand pose, and distance bounds that prove a point out of reach."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from galley.domain.frames import Array, plane_poses, wrap
from galley.domain.scene.model import Stance
from galley.robots.model import RobotModel


def sample_stances(
    X_WH: Array, stance: Stance, robot: RobotModel, n: int, rng: np.random.Generator
) -> Array:
    """Random base poses (k, 3) of a stance set from which the hand pose X_WH may be in reach.

    n are drawn from the stance set within the base's limits, cut to a square about the ring about C
    (see ``ReachBounds``) that the arm can span. The k whose shoulder is in the ring are uniform
    over all such base poses.
    """
    reach, base = robot.kinematics.reach, robot.group("base")
    p_WC, p_BS = _C(robot, X_WH), reach.p_BS
    least, most = reach.too_near**2, reach.to_C**2 - (float(p_WC[2]) - p_BS[2]) ** 2
    if most <= least:
        return np.empty((0, 3))
    half, allowed = np.sqrt(most) + np.hypot(p_BS[0], p_BS[1]), places(stance, robot)
    low, high = np.maximum(allowed[0], p_WC[:2] - half), np.minimum(allowed[1], p_WC[:2] + half)
    if (low > high).any():
        return np.empty((0, 3))
    if (base.lower == base.upper).all():  # the one place where it stands
        bases = base.lower[None] if stance.contains(base.lower) else np.empty((0, 3))
    else:
        bases = np.empty((n, 3))
        bases[:, :2] = low + (high - low) * rng.random((n, 2))
        bases[:, 2] = sample_headings(stance, n, rng)
    square = _square_distance(p_WC, bases, p_BS)
    near = (square >= least) & (square <= most)
    near &= (bases[:, 2] >= base.lower[2]) & (bases[:, 2] <= base.upper[2])
    return np.asarray(bases[near])


def bases_below(x: Array, y: Array, heading: Array, p_BS: Array) -> Array:
    """Base poses (..., 3) with these headings, whose fixed point p_BS (>= 2,) is at x, y."""
    x, y, heading = np.broadcast_arrays(x, y, heading)
    c, s = np.cos(heading), np.sin(heading)
    return np.stack(
        [x - (c * p_BS[0] - s * p_BS[1]), y - (s * p_BS[0] + c * p_BS[1]), heading], axis=-1
    )


def in_ring(X_WH: Array, bases: Array, robot: RobotModel) -> NDArray[np.bool_]:
    """Which base poses (m, 3) are near enough for the stretched arm to reach X_WH (4, 4): (m,)."""
    reach = robot.kinematics.reach
    p_WC = _C(robot, X_WH)
    height = float(p_WC[2]) - reach.p_BS[2]
    return np.asarray(_square_distance(p_WC, bases, reach.p_BS) <= reach.to_C**2 - height**2)


def sample_headings(stance: Stance, n: int, rng: np.random.Generator) -> Array:
    """Headings (n,) of the stance set, uniform, in [-pi, pi); its range may pass pi."""
    low = float(stance.lower[2])
    return wrap(low + rng.random(n) * min(float(stance.upper[2]) - low, 2.0 * np.pi))


def shortfall(p_W: Array, stance: Stance, robot: RobotModel) -> float:
    """Lower bound (m) on the distance of the hand's origin to p_W (3,) from anywhere in the stance.

    0 means "may be in reach".
    """
    return float(beyond(p_W[None], *shoulders(stance, robot), robot.kinematics.reach.to_hand)[0])


def _square_distance(p_W: Array, bases: Array, p_BS: Array) -> Array:
    """Square of the horizontal distance (m^2) from the shoulder of bases (m, 3) to p_W (>= 2,)."""
    c, s = np.cos(bases[:, 2]), np.sin(bases[:, 2])
    x = bases[:, 0] + c * p_BS[0] - s * p_BS[1] - p_W[0]
    y = bases[:, 1] + s * p_BS[0] + c * p_BS[1] - p_W[1]
    return np.asarray(x * x + y * y)


def _C(robot: RobotModel, X_WH: Array) -> Array:
    """C in the world (3,), on the hand's z axis."""
    return np.asarray(X_WH[:3, 3] + robot.kinematics.reach.p_HC[2] * X_WH[:3, 2])


def places(stance: Stance, robot: RobotModel) -> tuple[Array, Array]:
    """Corners (2,) of where the base's centre may be: the stance set within the base's limits."""
    base = robot.group("base")
    low, high = base.lower[:2], base.upper[:2]
    return np.maximum(stance.lower[:2], low), np.minimum(stance.upper[:2], high)


def shoulders(stance: Stance, robot: RobotModel) -> tuple[Array, Array, float, float]:
    """Where the shoulder may be: at most a distance from a box.

    Returns:
        The box's corners (2,), that distance, horizontally, and the shoulder's height, m.
    """
    (low, high), p_BS = places(stance, robot), robot.kinematics.reach.p_BS
    if robot.standing_links:  # it stands where it is, and is not turned
        at = (plane_poses(robot.group("base").lower) @ [*p_BS, 1.0])[:2]
        return at, at, 0.0, float(p_BS[2])
    return low, high, float(np.linalg.norm(p_BS[:2])), float(p_BS[2])


def beyond(
    p_W: Array, low: Array, high: Array, aside: float, height: float, length: float
) -> Array:
    """How far points (n, 3) are beyond ``length`` (m) from wherever the shoulder can be: (n,).

    For the other arguments see ``shoulders``.
    """
    away = np.linalg.norm(p_W[:, :2] - np.clip(p_W[:, :2], low, high), axis=1)
    horizontal = np.maximum(0.0, away - aside)
    return np.asarray(np.maximum(0.0, np.hypot(horizontal, p_W[:, 2] - height) - length))
