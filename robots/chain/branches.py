"""Where Newton's method begins: all branches of a simplified arm by EAIK, or a grid.

EAIK (Ostermeier, Kuelz, Althoff 2025, "Automatic geometric decomposition for analytical inverse
kinematics") solves arms of six turning joints whose axes meet or are parallel in certain ways. A
URDF says so only up to its rounding, and some arms have small offsets besides. So axes that nearly
meet, or are nearly parallel, are made to; Newton's method leads from its solutions to the arm's
own. Of seven joints one is locked.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from galley.domain.frames import Array

_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
_GENERIC = 0.37  # rad, of a locked joint, so that no axes meet by chance
_NUDGES = (0.0, 1e-3)  # rad, of a locked joint with which EAIK can't tell how axes lie
# rad and m by which axes are moved; rad and m by which EAIK's solutions miss the arm's own at most.
_ROUNDING = (1e-4, 1e-5, 0.01)
_OFFSETS = (1e-2, 0.02, 1.0)


@dataclass(frozen=True, eq=False)
class Branches:
    """A simplified arm that EAIK solves.

    Attributes:
        locked: the redundant joint; -1: none.
        frames: poses of its joints and its hand at zero, in the base (n + 1, 4, 4); z is the axis.
        near: rad or m, by which its solutions miss the arm's own at most.
    """

    locked: int
    frames: Array
    near: float

    def answers(self, X_BH: Array, redundant: Array) -> Array:
        """Configurations (m, n) for each value of the redundant joint.

        Least-squares ones are among them: whether they serve is seen later.
        """
        target, found = X_BH.copy(), [np.empty((0, len(self.frames) - 1))]
        target[:3, :3] = X_BH[:3, :3] @ self.frames[-1, :3, :3].T  # EAIK's hand is unturned at zero
        for value in redundant if self.locked >= 0 else (0.0,):
            solver = _solver(self, float(value))
            if solver is not None:
                found.append(np.array(solver.IK(target).Q, order="C"))
                if self.locked >= 0:
                    found[-1][:, self.locked] = value
        return np.concatenate(found)


@lru_cache(maxsize=256)
def _solver(branches: Branches, value: float) -> Any:
    """EAIK's robot for about a value of the redundant joint, or None."""
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
    """An arm of turning joints X (n + 1, 4, 4), simplified as little as EAIK needs; or None.

    Args:
        locks: joints to lock, the best first; -1: none.
    """
    for angle, length, near in (_ROUNDING, _OFFSETS):
        frames = _simplified(X, angle, length)
        for locked in locks:
            found = Branches(locked, frames, near)
            if _solver(found, _GENERIC) is not None:
                return found
    return None


def even(lower: Array, upper: Array, count: int) -> Array:
    """Evenly spread points (count, n) between limits (n,), n <= 12, the same at each call."""
    turns = np.outer(np.arange(1, count + 1), np.sqrt(_PRIMES[: len(lower)]))
    return np.asarray(lower + (upper - lower) * (turns % 1.0))


def _simplified(X: Array, angle: float, length: float) -> Array:
    """Poses (n + 1, 4, 4) in the base of joints and hand at zero, with nearly met axes met.

    Two neighbours that are parallel or at a right angle but for ``angle`` (rad) are made so; two
    that meet but for ``length`` (m) are made to meet, and three in one point. Whatever is behind
    moves with the later one.
    """
    frames = np.array(list(itertools.accumulate(X, np.matmul)))
    met: Array | None = None  # where the last axis meets the one before
    for k in range(1, len(X) - 1):
        before, rest = frames[k - 1], frames[k:]
        h, g = before[:3, 2], rest[0, :3, 2]
        cosine, sine = float(h @ g), float(np.linalg.norm(np.cross(h, g)))
        if min(sine, abs(cosine)) < angle:
            _turn(rest, g, h * np.sign(cosine) if sine < angle else (g - cosine * h) / sine)
        g, apart = rest[0, :3, 2], rest[0, :3, 3] - before[:3, 3]
        across = np.cross(h, g) / max(sine, angle)
        off = across * (apart @ across)
        if sine < angle or np.linalg.norm(off) > length:
            met = None
            continue
        here = before[:3, 3] + h * (np.cross(apart, g) @ across / sine)
        if met is not None and np.linalg.norm(here - met) < length:
            off, here = off + here - met, met
        rest[:, :3, 3] -= off
        met = here
    return frames


def _turn(frames: Array, g: Array, wanted: Array) -> None:
    """Turn poses (m, 4, 4) about the origin of the first, from one unit vector to another."""
    v, origin = np.cross(g, wanted), frames[0, :3, 3].copy()
    skew = np.cross(np.eye(3), v)
    R = np.eye(3) + skew + skew @ skew / (1.0 + g @ wanted)
    frames[:, :3, :3] = R @ frames[:, :3, :3]
    frames[:, :3, 3] = (frames[:, :3, 3] - origin) @ R.T + origin
