"""A two-link planar arm on a mobile base, with closed-form inverse kinematics.

The hand is at b + R(psi) (L1 u(theta1) + L2 u(theta1 + theta2)), with u(a) = (cos a, sin a).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import pi

import numpy as np
from numpy.typing import ArrayLike, NDArray

from galley.domain.frames import Array
from galley.planar.arm import Limits, PlanarChain

# Share of L1 + L2 within which a distance counts as that of a rim. Rounding of the target's
# coordinates changes it by as much, and the hand is off by no more.
RIM = 5e-13


@dataclass(frozen=True)
class PlanarArm:
    """A two-link arm on a base (x, y, psi).

    Attributes:
        l1, l2: lengths of the links, m.
        limits: ((lo1, hi1), (lo2, hi2)) of theta1 and theta2, rad; None: both turn freely.
        chain: the arm as a chain of N links.

    Raises:
        ValueError: a length isn't positive, or limits are empty.
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
        """Least distance |L1 - L2| (m) of the hand from the base."""
        return abs(self.l1 - self.l2)

    @property
    def outer(self) -> float:
        """Greatest distance L1 + L2 (m) of the hand from the base."""
        return self.l1 + self.l2

    def fk(self, base: ArrayLike, theta: ArrayLike) -> Array:
        """Position of the hand (..., 2), m, for base poses (..., 3) and joint angles (..., 2)."""
        return self.chain.fk(base, theta)

    def ik_batch(self, bases: ArrayLike, targets: ArrayLike) -> tuple[Array, NDArray[np.bool_]]:
        """Inverse kinematics: joint angles (m, 2, 2), rad, and which are solutions (m, 2).

        Axis 1 is the elbow, + then -. If both solutions are the same, only + is valid; angles that
        aren't valid are 0. Angles are in [-pi, pi], or turned by whole turns into the limits.
        Distances within 5e-13 (L1 + L2) of a rim count as the rim's. If L1 = L2 and the target is
        at the base, theta1 is free: it is 0, or the limit nearest to 0.

        Args:
            bases: (m, 3), x, y, psi, m and rad.
            targets: (m, 2) or (2,), in the world, m.
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
        valid[:, 1] &= ~(stretched | folded)  # at a rim both elbows are the same
        at_base = np.nonzero(r <= slack)[0]
        if self.inner <= slack and len(at_base):
            fold, inside = self.chain.in_limits(np.array([self._free_theta1(), pi]))
            theta[at_base, 0], valid[at_base, 0] = fold, inside
        return np.where(valid[..., None], theta, 0.0), valid

    def triangle(self, r: Array) -> tuple[Array, Array]:
        """Angles gamma = |theta2| and beta (rad) for distances r (m), clamped to the reach.

        beta is the angle at the base between link 1 and the line to the hand. Both come from half
        angles, which stay exact at the rims; arccos would lose half of the digits there.
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
        """Distance r (m) for the angle gamma = |theta2|, without cancellation near the rims."""
        c, s = np.cos(0.5 * gamma), np.sin(0.5 * gamma)
        return np.asarray(np.hypot(self.outer * c, self.inner * s))

    def folds(self, elbow: int) -> list[tuple[float, float]]:
        """Intervals of gamma in [0, pi] for which theta2 = elbow gamma is within its limits."""
        if self.limits is None:
            return [(0.0, pi)]
        a, b = sorted(elbow * edge for edge in self.limits[1])
        turns = 2.0 * pi * np.arange(np.ceil((a - pi) / (2.0 * pi)), np.floor(b / (2.0 * pi)) + 1.0)
        return [(max(a - turn, 0.0), min(b - turn, pi)) for turn in turns.tolist()]

    def manipulability(self, theta: ArrayLike) -> Array:
        """|det J| = L1 L2 |sin theta2| (m^2) (...,) for joint angles (..., 2)."""
        return np.asarray(self.l1 * self.l2 * np.abs(np.sin(np.asarray(theta)[..., 1])))

    def _free_theta1(self) -> float:
        """theta1 (rad) if any value is a solution: 0, or the limit nearest to 0."""
        return float(np.clip(0.0, *self.limits[0])) if self.limits is not None else 0.0


def turn(angle: Array) -> Array:
    """Angles turned into [-pi, pi] by whole turns; several times as fast as ``frames.wrap``."""
    return np.asarray(angle - 2.0 * pi * np.rint(angle / (2.0 * pi)))
