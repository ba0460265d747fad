"""Sampling of base poses for a hand pose, and distance bounds that prove a point out of reach."""

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

    The shoulder must be in a ring about C (see ``ReachBounds``), which the arm can span. n poses
    are drawn from the stance set within the base's limits, in a square around that ring. The k
    whose shoulder is in the ring are returned; they are uniform over all such base poses.
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
    """Base poses (..., 3) at which a fixed point of the base is at x, y.

    Args:
        heading: headings of the base, rad.
        p_BS: the point in the base's frame, metres (>= 2,).
    """
    x, y, heading = np.broadcast_arrays(x, y, heading)
    c, s = np.cos(heading), np.sin(heading)
    return np.stack(
        [x - (c * p_BS[0] - s * p_BS[1]), y - (s * p_BS[0] + c * p_BS[1]), heading], axis=-1
    )


def in_ring(X_WH: Array, bases: Array, robot: RobotModel) -> NDArray[np.bool_]:
    """Whether the stretched arm could reach X_WH (4, 4) from each of some base poses (m, 3): (m,).

    This is a distance bound, without regard to the orientation.
    """
    reach = robot.kinematics.reach
    p_WC = _C(robot, X_WH)
    height = float(p_WC[2]) - reach.p_BS[2]
    return np.asarray(_square_distance(p_WC, bases, reach.p_BS) <= reach.to_C**2 - height**2)


def sample_headings(stance: Stance, n: int, rng: np.random.Generator) -> Array:
    """Uniform random headings (n,) of the stance set, in [-pi, pi); its range may cross pi."""
    low = float(stance.lower[2])
    return wrap(low + rng.random(n) * min(float(stance.upper[2]) - low, 2.0 * np.pi))


def shortfall(p_W: Array, stance: Stance, robot: RobotModel) -> float:
    """How far (m) the hand's origin stays from p_W (3,) at least, from anywhere in a stance set.

    0 means that the point may be in reach.
    """
    return float(beyond(p_W[None], *shoulders(stance, robot), robot.kinematics.reach.to_hand)[0])


def _square_distance(p_W: Array, bases: Array, p_BS: Array) -> Array:
    """Square of the horizontal distance (m^2) from the shoulder of bases (m, 3) to p_W (>= 2,)."""
    c, s = np.cos(bases[:, 2]), np.sin(bases[:, 2])
    x = bases[:, 0] + c * p_BS[0] - s * p_BS[1] - p_W[0]
    y = bases[:, 1] + s * p_BS[0] + c * p_BS[1] - p_W[1]
    return np.asarray(x * x + y * y)


def _C(robot: RobotModel, X_WH: Array) -> Array:
    """The point C of ``ReachBounds`` in the world (3,); it is on the hand's z axis."""
    return np.asarray(X_WH[:3, 3] + robot.kinematics.reach.p_HC[2] * X_WH[:3, 2])


def places(stance: Stance, robot: RobotModel) -> tuple[Array, Array]:
    """Lowest and highest x, y (2,) of the base: the stance set within the base's limits."""
    base = robot.group("base")
    low, high = base.lower[:2], base.upper[:2]
    return np.maximum(stance.lower[:2], low), np.minimum(stance.upper[:2], high)


def shoulders(stance: Stance, robot: RobotModel) -> tuple[Array, Array, float, float]:
    """Where the shoulder may be from anywhere in a stance set: at most a distance from a box.

    Returns:
        The box's corners (2,), the horizontal distance, and the shoulder's height, m.
    """
    (low, high), p_BS = places(stance, robot), robot.kinematics.reach.p_BS
    if robot.standing_links:  # the base stands still, and doesn't turn
        at = (plane_poses(robot.group("base").lower) @ [*p_BS, 1.0])[:2]
        return at, at, 0.0, float(p_BS[2])
    return low, high, float(np.linalg.norm(p_BS[:2])), float(p_BS[2])


def beyond(
    p_W: Array, low: Array, high: Array, aside: float, height: float, length: float
) -> Array:
    """How far (m) points (n, 3) are beyond ``length`` (m) from all places of the shoulder: (n,).

    0 for points within. For the other arguments see ``shoulders``.
    """
    away = np.linalg.norm(p_W[:, :2] - np.clip(p_W[:, :2], low, high), axis=1)
    horizontal = np.maximum(0.0, away - aside)
    return np.asarray(np.maximum(0.0, np.hypot(horizontal, p_W[:, 2] - height) - length))
