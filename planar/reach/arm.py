"""A two-link planar arm on a mobile base, with closed-form inverse kinematics.

The hand is at b + R(psi) (L1 u(theta1) + L2 u(theta1 + theta2)), u(a) = (cos a, sin a).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import pi

import numpy as np
from numpy.typing import ArrayLike, NDArray

from galley.domain.frames import Array
from galley.planar.arm import Limits, PlanarChain

# Part of L1 + L2 within which a distance counts as that of a rim. Rounding in the target's
# coordinates moves it by as much; the hand is off by no more.
RIM = 5e-13


@dataclass(frozen=True)
class PlanarArm:
    """Links of lengths ``l1`` and ``l2`` (m) on a base (x, y, psi).

    Attributes:
        limits: ((lo1, hi1), (lo2, hi2)) (rad) of theta1 and theta2, or None.
        chain: the same as an arm of N links.

    Raises:
        ValueError: a length that is not positive, or empty limits.
    """

    l1: float
    l2: float
    limits: Limits | None = None
    chain: PlanarChain = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        chain = PlanarChain((self.l1, self.l2), self.limits)
        object.__setattr__(self, "chain", chain)
        object.__setattr__(self, "l1", chain.lengths[0])
        object.__setattr__(self, "l2", chain.lengths[1])
        object.__setattr__(self, "limits", chain.limits)

    @property
    def inner(self) -> float:
        """The least distance |L1 - L2| (m) that the hand can have from the base."""
        return abs(self.l1 - self.l2)

    @property
    def outer(self) -> float:
        """The greatest distance L1 + L2 (m)."""
        return self.l1 + self.l2

    def fk(self, base: ArrayLike, theta: ArrayLike) -> Array:
        """The hand in the world (..., 2) for base poses (..., 3) and joint angles (..., 2)."""
        return self.chain.fk(base, theta)

    def ik_batch(self, bases: ArrayLike, targets: ArrayLike) -> tuple[Array, NDArray[np.bool_]]:
        """Joint angles theta (m, 2, 2) and which of them are solutions, valid (m, 2).

        Axis 1 is the elbow, + then -. Where the two coincide, only + is valid; theta is zero where
        not valid. theta1 is in [-pi, pi] and theta2 too, or whole turns beside where the limits
        want it. Distances within 5e-13 (L1 + L2) of a rim count as the rim's. Where L1 = L2 and the
        target is at the base, theta1 is free: it is 0, or the limit next to 0.

        Args:
            bases: (m, 3) x, y, psi. targets: (m, 2) or (2,), in the world.
        """
        bases = np.asarray(bases, dtype=np.float64)
        offset = np.asarray(targets, dtype=np.float64) - bases[:, :2]  # from the base, world axes
        if not (np.isfinite(offset).all() and np.isfinite(bases).all()):
            raise ValueError("bases and targets must be finite")
        r = np.hypot(offset[:, 0], offset[:, 1])
        slack = RIM * self.outer
        stretched, folded = np.abs(self.outer - r) <= slack, np.abs(r - self.inner) <= slack
        gamma, beta = self.triangle(r)
        gamma[stretched], gamma[folded] = 0.0, pi
        beta[stretched], beta[folded] = 0.0, 0.0 if self.l1 >= self.l2 else pi
        local = np.arctan2(offset[:, 1], offset[:, 0]) - bases[:, 2]
        theta = np.empty((len(bases), 2, 2))
        for i, sign in enumerate((1.0, -1.0)):
            theta[:, i, 0] = turn(local - sign * beta)
            theta[:, i, 1] = sign * gamma
        theta, valid = self.chain.in_limits(theta)
        valid &= ((r >= self.inner - slack) & (r <= self.outer + slack))[:, None]
        valid[:, 1] &= ~(stretched | folded)
        at_base = np.nonzero(r <= slack)[0]
        if self.inner <= slack and len(at_base):
            fold, inside = self.chain.in_limits(np.array([self._free_theta1(), pi]))
            theta[at_base, 0], valid[at_base, 0] = fold, inside
        return np.where(valid[..., None], theta, 0.0), valid

    def triangle(self, r: Array) -> tuple[Array, Array]:
        """Angles gamma = |theta2| and beta (rad), for distances r (m, in reach, else clamped).

        beta is the angle at the base between link 1 and the line to the hand. By half angles, so
        that both keep their digits at either rim, where arccos loses half of them.
        """
        out, back = self.outer, self.inner
        # Four times the triangle's area by Heron is P N with P^2 = out^2 - r^2, N^2 = r^2 - back^2.
        P = np.sqrt(np.maximum((out - r) * (out + r), 0.0))
        N = np.sqrt(np.maximum((r - back) * (r + back), 0.0))
        gamma = 2.0 * np.arctan2(P, N)
        # tan(beta) = 2 L1 r sin(beta) / (2 L1 r cos(beta)), by the law of cosines.
        beta = np.arctan2(P * N, r * r + (self.l1 - self.l2) * out)
        return np.asarray(gamma), np.asarray(beta)

    def distance(self, gamma: Array) -> Array:
        """r (m) for the angle gamma = |theta2|, without cancellation near either rim."""
        c, s = np.cos(0.5 * gamma), np.sin(0.5 * gamma)
        return np.asarray(np.hypot(self.outer * c, self.inner * s))

    def folds(self, elbow: int) -> list[tuple[float, float]]:
        """The intervals of gamma in [0, pi] that leave theta2 = elbow gamma within its limits."""
        if self.limits is None:
            return [(0.0, pi)]
        a, b = sorted(elbow * edge for edge in self.limits[1])
        turns = 2.0 * pi * np.arange(np.ceil((a - pi) / (2.0 * pi)), np.floor(b / (2.0 * pi)) + 1.0)
        return [(max(a - turn, 0.0), min(b - turn, pi)) for turn in turns.tolist()]

    def manipulability(self, theta: ArrayLike) -> Array:
        """|det J| = L1 L2 |sin theta2| (m^2) (...,) for joint angles (..., 2)."""
        return np.asarray(self.l1 * self.l2 * np.abs(np.sin(np.asarray(theta)[..., 1])))

    def _free_theta1(self) -> float:
        """theta1 where every value does."""
        return float(np.clip(0.0, *self.limits[0])) if self.limits is not None else 0.0


def turn(angle: Array) -> Array:
    """Angles taken to [-pi, pi] by whole turns; several times as fast as ``frames.wrap``."""
    return np.asarray(angle - 2.0 * pi * np.rint(angle / (2.0 * pi)))
