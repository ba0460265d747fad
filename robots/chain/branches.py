"""Where Newton's method begins: all branches of a simplified arm by EAIK, or a grid.

EAIK (Ostermeier, Kulz, Althoff 2025, "Automatic geometric decomposition for analytical inverse
kinematics") solves arms of six joints whose axes meet or are parallel in certain ways. A URDF says
so only up to its rounding, and some arms have small offsets besides. So axes that nearly meet, or
are nearly parallel, are made to; Newton's method then leads from its solutions to the arm's own.
Of seven joints one is locked: the one without which the arm keeps the most manipulability.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from galley.domain.frames import Array
from galley.robots.chain.chain import Chain

_ROUNDING = (1e-4, 1e-5)  # rad and m, of a URDF's figures
_OFFSETS = (1e-2, 0.02)  # rad and m, of arms whose axes nearly meet
_GENERIC = 0.37  # rad, of a locked joint, so that no axes meet by chance


@dataclass(frozen=True)
class Starts:
    """How Newton's method is to begin.

    Attributes:
        locked: the redundant joint; -1: none.
        lines: directions and points of the simplified arm's axes at zero (n, 3), (n, 3), and the
            pose of its hand (4, 4); None: EAIK can't solve it.
        exact: whether they are the arm's own but for rounding.
        slack: rad or m, by which starts may be beyond limits.
        near: rad or m, by which starts may miss.
        steps: of Newton's, at most.
    """

    locked: int
    lines: tuple[Array, Array, Array] | None = None
    exact: bool = False
    slack: float = 0.0
    near: float = 0.0
    steps: int = 0

    def solvers(self, redundant: Array) -> list[Any]:
        """EAIK's robots, one for each value of the redundant joint."""
        assert self.lines is not None
        if self.locked < 0:
            return [_robot(self.lines, [])]
        return [_robot(self.lines, [(self.locked, float(value))]) for value in redundant]

    def of_pose(self, solvers: list[Any], X_BH: Array) -> Array:
        """EAIK's answers (m, n), least-squares ones included: whether they serve is seen later."""
        assert self.lines is not None
        target = X_BH.copy()
        target[:3, :3] = X_BH[:3, :3] @ self.lines[2][:3, :3].T
        found = [solver.IK(target).Q for solver in solvers]
        return np.concatenate([np.reshape(Q, (-1, len(self.lines[0]))) for Q in found])


def starts_of(chain: Chain, joints: list[int]) -> Starts:
    """The simplest arm that EAIK solves, with the first of ``joints`` locked where it does.

    Args:
        joints: to lock, the best first; empty: the arm has no redundancy.
    """
    locks = joints or [-1]
    if not chain.prismatic.any():
        for tolerance, how in (
            (_ROUNDING, (True, 0.01, 0.01, 6)),
            (_OFFSETS, (False, 0.3, 0.5, 15)),
        ):
            lines = _simplified(chain, *tolerance)
            for locked in locks:
                fixed = [] if locked < 0 else [(locked, _GENERIC)]
                if _robot(lines, fixed).hasKnownDecomposition():
                    return Starts(locked, lines, *how)
    return Starts(locks[0])


def even(lower: Array, upper: Array, count: int) -> Array:
    """Evenly spread points (count, n) between limits (n,), the same at each call.

    The R sequence (Roberts 2018).
    """
    root = 2.0
    for _ in range(30):  # root^(d + 1) = root + 1
        root = (1.0 + root) ** (1.0 / (len(lower) + 1))
    steps = root ** -np.arange(1.0, len(lower) + 1.0)
    return np.asarray(lower + (upper - lower) * ((0.5 + np.outer(np.arange(count), steps)) % 1.0))


def _robot(lines: tuple[Array, Array, Array], fixed: list[tuple[int, float]]) -> Any:
    from eaik.IK_HP import HPRobot

    axes, points, hand = lines
    ends = np.concatenate([np.zeros((1, 3)), points, hand[None, :3, 3]])
    return HPRobot(axes, np.diff(ends, axis=0), fixed)


def _simplified(chain: Chain, angle: float, length: float) -> tuple[Array, Array, Array]:
    """The axes' directions and points at zero (n, 3) and the hand (4, 4), nearly met ones met.

    Two neighbours that are parallel or at a right angle but for ``angle`` (rad) are made so; two
    that meet but for ``length`` (m) are made to meet, and three in one point. Whatever is behind
    moves with the later one.
    """
    n, X = len(chain.joints), np.eye(4)
    frames = np.empty((n + 1, 4, 4))
    for k in range(n + 1):
        frames[k] = X = X @ chain.X[k]
    met: Array | None = None  # where the last axis meets the one before
    for k in range(1, n):
        h, g = frames[k - 1, :3, 2], frames[k, :3, 2]
        cosine, sine = float(h @ g), float(np.linalg.norm(np.cross(h, g)))
        if sine < angle:
            _turn(frames[k:], g, h * np.sign(cosine))
        elif abs(cosine) < angle:
            _turn(frames[k:], g, (g - cosine * h) / sine)
        g = frames[k, :3, 2]
        across = np.cross(h, g)
        square = float(across @ across)
        apart = frames[k, :3, 3] - frames[k - 1, :3, 3]
        off = across * (apart @ across) / max(square, 1e-30)
        if sine < angle or np.linalg.norm(off) > length:
            met = None
            continue
        here = frames[k - 1, :3, 3] + h * (np.cross(apart, g) @ across / square)
        if met is not None and np.linalg.norm(here - met) < length:
            off, here = off + here - met, met
        frames[k:, :3, 3] -= off
        met = here
    return frames[:n, :3, 2].copy(), frames[:n, :3, 3].copy(), frames[n].copy()


def _turn(frames: Array, g: Array, wanted: Array) -> None:
    """Turn poses (m, 4, 4) about the origin of the first, from one unit vector to another."""
    v, origin = np.cross(g, wanted), frames[0, :3, 3].copy()
    skew = np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])
    R = np.eye(3) + skew + skew @ skew / (1.0 + g @ wanted)
    frames[:, :3, :3] = R @ frames[:, :3, :3]
    frames[:, :3, 3] = (frames[:, :3, 3] - origin) @ R.T + origin
