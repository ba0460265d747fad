"""The pusher arm's inverse kinematics as SciPy solves it: a peer, and an oracle of the tests."""

from __future__ import annotations

import numpy as np
import shapely
from numpy.typing import ArrayLike
from scipy.optimize import least_squares

from galley.domain.frames import Array
from galley.planar.pushing.arm import PushArm


def residuals(theta: Array, target: Array, arm: PushArm) -> Array:
    """(2 + pairs,) m, of angles (N,): the tip's error, then that of each pair of links."""
    p = arm.points(theta)
    first, second = np.triu_indices(len(arm.config.links), 2)
    links = shapely.linestrings(np.stack([p[:-1], p[1:]], axis=1))
    d = shapely.distance(links[first], links[second])
    short = np.maximum(arm.config.threshold - d, 0.0)
    return np.concatenate([p[-1] - target, np.sqrt(arm.config.weight * short)])


def cost(arm: PushArm, theta: ArrayLike, target: ArrayLike) -> float:
    """E (m^2) of angles (N,), see ``planar.pushing.arm``."""
    return float((residuals(np.asarray(theta), np.asarray(target), arm) ** 2).sum())


def ik(arm: PushArm, start: ArrayLike, target: ArrayLike) -> Array:
    """Angles (N,) for a target (2,) m, from a start (N,)."""
    to = np.asarray(target, dtype=np.float64)
    found = least_squares(residuals, np.asarray(start, dtype=np.float64), args=(to, arm))
    return np.asarray(found.x)
