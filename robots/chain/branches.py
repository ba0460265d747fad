"""Starts for Newton's method: all branches of a simplified arm by EAIK, or points of a grid.

EAIK (Ostermeier, Kuelz, Althoff 2025, "Automatic geometric decomposition for analytical inverse
kinematics") solves arms of six turning joints whose axes meet or are parallel in certain ways. In a
URDF that is so only up to its rounding, and some arms have small offsets besides. So axes that
nearly meet are moved to meet, and axes that are nearly parallel are turned to be; Newton's method
leads from EAIK's solutions to the arm's own. Of seven joints one is locked.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from galley.domain.frames import Array

_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
_GENERIC = 0.37  # rad, a locked joint's value at which no axes meet by chance
_NUDGES = (0.0, 1e-3)  # rad, added to a locked joint at which EAIK can't tell how the axes lie
# The angle (rad) and the length (m) by which axes are moved at most; then rad or m by which EAIK's
# solutions miss the arm's own at most.
_ROUNDING = (1e-4, 1e-5, 0.01)
_OFFSETS = (1e-2, 0.02, 1.0)


@dataclass(frozen=True, eq=False)
class Branches:
    """A simplified arm that EAIK solves.

    Attributes:
        locked: index of the redundant joint; -1: none.
        frames: poses of the joints and the hand at zero, in the base (n + 1, 4, 4); z is the axis.
        near: rad or m, by which EAIK's solutions miss the arm's own at most.
    """

    locked: int
    frames: Array
    near: float

    def answers(self, X_BH: Array, redundant: Array) -> Array:
        """EAIK's configurations (m, n) for each value of the redundant joint.

        They include least-squares solutions, which may miss the pose: Newton's method decides.

        Args:
            X_BH: pose of the hand in the base (4, 4).
            redundant: values of the redundant joint, rad; ignored if there is none.
        """
        target, solutions = X_BH.copy(), [np.empty((0, len(self.frames) - 1))]
        target[:3, :3] = X_BH[:3, :3] @ self.frames[-1, :3, :3].T  # EAIK's hand is unturned at zero
        for value in redundant if self.locked >= 0 else (0.0,):
            solver = _solver(self, float(value))
            if solver is not None:
                solutions.append(np.array(solver.IK(target).Q, order="C"))
                if self.locked >= 0:
                    solutions[-1][:, self.locked] = value
        return np.concatenate(solutions)


@lru_cache(maxsize=256)
def _solver(branches: Branches, value: float) -> Any:
    """EAIK's robot with the redundant joint locked at about a value (rad); None if it has none."""
    from eaik.IK_HP import HPRobot

    axes, points = branches.frames[:-1, :3, 2], branches.frames[:, :3, 3]
    offsets = np.diff(points, axis=0, prepend=np.zeros((1, 3)))
    for nudge in _NUDGES:
        fixed = [(branches.locked, value + nudge)] if branches.locked >= 0 else []
        try:
            robot = HPRobot(axes, offsets, fixed)
        except RuntimeError:  # two of its axes are parallel by chance
            continue
        if robot.hasKnownDecomposition():
            return robot
    return None


def branches_of(X: Array, locks: list[int]) -> Branches | None:
    """An arm of turning joints, simplified as little as EAIK needs; None if EAIK can't solve it.

    Args:
        X: pose of each joint's frame at zero in the one before, then the hand's (n + 1, 4, 4).
        locks: indices of joints to lock, the best first; -1: none.
    """
    for angle, length, near in (_ROUNDING, _OFFSETS):
        frames = _simplified(X, angle, length)
        for locked in locks:
            branches = Branches(locked, frames, near)
            if _solver(branches, _GENERIC) is not None:
                return branches
    return None


def even(lower: Array, upper: Array, count: int) -> Array:
    """Evenly spread points (count, n) between limits (n,), n <= 12, the same at each call.

    Multiples of the square roots of primes, less whole ones (Kronecker's sequence).
    """
    turns = np.outer(np.arange(1, count + 1), np.sqrt(_PRIMES[: len(lower)]))
    return np.asarray(lower + (upper - lower) * (turns % 1.0))


def _simplified(X: Array, angle: float, length: float) -> Array:
    """Poses (n + 1, 4, 4) in the base of joints and hand at zero, axes that nearly meet made to.

    Two neighbours that are parallel or at a right angle to within ``angle`` (rad) are made exactly
    so. Two that meet to within ``length`` (m) are made to meet, and three in one point. All frames
    behind move with the later one of the two.
    """
    frames = np.array(list(itertools.accumulate(X, np.matmul)))
    met: Array | None = None  # where the last axis meets the one before
    for k in range(1, len(X) - 1):
        before, rest = frames[k - 1], frames[k:]
        h, g = before[:3, 2], rest[0, :3, 2]
        cosine, sine = float(h @ g), float(np.linalg.norm(np.cross(h, g)))
        # Turn the later axis g to be parallel or square to the earlier one h.
        if min(sine, abs(cosine)) < angle:
            _turn(rest, g, h * np.sign(cosine) if sine < angle else (g - cosine * h) / sine)
        g, apart = rest[0, :3, 2], rest[0, :3, 3] - before[:3, 3]
        across = np.cross(h, g) / max(sine, angle)
        off = across * (apart @ across)  # from one axis to the other, along their common normal
        if sine < angle or np.linalg.norm(off) > length:
            met = None
            continue
        # The point of h nearest to g; where three axes nearly meet in a point, that point.
        here = before[:3, 3] + h * (np.cross(apart, g) @ across / sine)
        if met is not None and np.linalg.norm(here - met) < length:
            off, here = off + here - met, met
        rest[:, :3, 3] -= off
        met = here
    return frames


def _turn(frames: Array, g: Array, wanted: Array) -> None:
    """Turn poses (m, 4, 4) about the origin of the first, such that ``g`` (3,) becomes ``wanted``.

    By Rodrigues' formula; both are unit vectors.
    """
    v, origin = np.cross(g, wanted), frames[0, :3, 3].copy()
    skew = np.cross(np.eye(3), v)
    R = np.eye(3) + skew + skew @ skew / (1.0 + g @ wanted)
    frames[:, :3, :3] = R @ frames[:, :3, :3]
    frames[:, :3, 3] = (frames[:, :3, 3] - origin) @ R.T + origin
