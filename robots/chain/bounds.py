"""Distances that no configuration of a serial arm exceeds.

One point is chosen on each joint's axis. It is fixed to the links on both sides of the joint, so
the points two joints apart are as far from each other as the one joint between them makes them:
the greatest distance over its range is exact. A bound on the distance of any two points of the arm
is the shortest chain of such distances. Any choice of points gives bounds that hold; the choice
makes them tight.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from galley.domain.frames import Array, frozen
from galley.robots.chain.chain import Chain
from galley.robots.kinematics import ReachBounds

_TOO_NEAR = 0.25  # of the reach: nearer to its own axis, an arm is mostly in its own way


@dataclass(frozen=True, eq=False)
class Radii:
    """Bounds (m) on the distance from each joint's axis of what it moves, 1 for a sliding joint.

    The first is for the base's heading, then come the arm's n joints.

    Attributes:
        links: of any point of the robot (n + 1,).
        hand: of the hand's origin (n + 1,).
    """

    links: Array
    hand: Array

    def with_held(self, held_reach: float) -> Array:
        """The same (n + 1,) with an item in the hand that reaches so far (m) from its origin."""
        return np.maximum(self.links, self.hand + held_reach * (held_reach > 0.0))


def reach_of(chain: Chain) -> ReachBounds:
    """S is where on the first joint's axis, and C where on the hand's, the bound is least."""
    n = len(chain.joints)

    def length(values: Array) -> float:
        return _Points(chain, values[:n]).to_hand(1, values[n])

    best = _least(length, n + 1)
    points = _Points(chain, best[:n])
    first = best[:1]

    def to_hand(rest: Array) -> float:
        return _Points(chain, np.concatenate([first, rest])).to_hand(1, 0.0)

    shoulder = points.seen[1].mean(axis=0)
    aside = float(np.linalg.norm(points.seen[1] - shoulder, axis=1).max())  # if it slides
    to_C = aside + length(best)
    return ReachBounds(
        p_BS=frozen(shoulder),
        p_HC=frozen([0.0, 0.0, best[n]]),
        to_C=to_C,
        to_hand=min(aside + to_hand(_least(to_hand, n - 1)), to_C + abs(float(best[n]))),
        too_near=_TOO_NEAR * to_C,
    )


def radii_of(chain: Chain) -> Radii:
    """For bounds on travel."""
    n = len(chain.joints)

    def total(values: Array) -> float:
        return float(_Points(chain, values).radii(n, _origin(chain)).sum())

    points = _Points(chain, _least(total, n))
    found = [points.radii(k, each) for k, each in enumerate(chain.points) if len(each)]
    hand = points.radii(n, _origin(chain))
    slides = np.concatenate([[False], chain.prismatic])
    links = np.max([*found, hand], axis=0)
    return Radii(frozen(np.where(slides, 1.0, links)), frozen(np.where(slides, 1.0, hand)))


def _origin(chain: Chain) -> Array:
    """The hand's in frame n (1, 3)."""
    return np.asarray(chain.X[-1, None, :3, 3])


def _least(function: Callable[[Array], float], size: int) -> Array:
    """Where a sum of distances is about least (size,), by Powell's method, from zero."""
    from scipy.optimize import minimize

    options = {"xtol": 1e-5, "ftol": 1e-7, "maxfev": 300 * size}
    return np.asarray(minimize(function, np.zeros(size), method="Powell", options=options).x)


class _Points:
    """A point on each axis, of the heading and of the arm's joints: at ``along`` (n,), the first 0.

    Attributes:
        seen: each point in the frame before its joint: (2, 3), at both ends of a sliding joint.
    """

    def __init__(self, chain: Chain, along: Array) -> None:
        self.chain, n = chain, len(chain.joints)
        self._X = np.concatenate([np.eye(4)[None], chain.X[:n]])
        self._ends = [(-np.pi, np.pi), *zip(chain.lower, chain.upper, strict=True)]
        self._slides = [False, *chain.prismatic]
        self._at = np.zeros((n + 1, 3))
        self._at[1:, 2] = along
        self.seen = []
        for k in range(n + 1):
            z = np.array([self._ends[k] if self._slides[k] else (0.0, 0.0)]).T
            moved = self._at[k] + z * np.array([0.0, 0.0, 1.0])
            self.seen.append(moved @ self._X[k, :3, :3].T + self._X[k, :3, 3])
        apart = [self._at[k] - self.seen[k + 1] for k in range(n)]
        self._next = [float(np.linalg.norm(each, axis=1).max()) for each in apart]
        self._over = [self._farthest(k + 1, self.seen[k + 2]) for k in range(n - 1)]

    def _farthest(self, k: int, points: Array) -> float:
        """From the point of joint k - 1 to points (m, 3) of frame k, wherever joint k is."""
        at = self._X[k, :3, :3].T @ (self._at[k - 1] - self._X[k, :3, 3])
        low, high = self._ends[k]
        if self._slides[k]:
            moved = [points + np.array([0.0, 0.0, end]) for end in (low, high)]
            return float(np.linalg.norm(np.concatenate(moved) - at, axis=1).max())
        # By the law of cosines: farthest where the angle between the two is nearest to pi.
        between = np.arctan2(points[:, 1], points[:, 0]) - np.arctan2(at[1], at[0])
        opposite = np.ceil((low + between - np.pi) / (2.0 * np.pi)) * 2.0 * np.pi + np.pi
        cosine = np.minimum(np.cos(low + between), np.cos(high + between))
        cosine[opposite <= high + between] = -1.0
        r, s = np.hypot(points[:, 0], points[:, 1]), np.hypot(at[0], at[1])
        square = r * r + s * s - 2.0 * r * s * cosine + (points[:, 2] - at[2]) ** 2
        return float(np.sqrt(square.max()))

    def _lengths(self, i: int, k: int, points: Array) -> float:
        """From the point of joint i to points (m, 3) of frame k."""
        before, length = np.inf, 0.0
        for j in range(i, k):
            step = min(length + self._next[j], before + self._over[j - 1] if j > i else np.inf)
            before, length = length, step
        direct = length + float(np.linalg.norm(points - self._at[k], axis=1).max())
        return min(direct, before + self._farthest(k, points)) if k > i else direct

    def to_hand(self, i: int, c: float) -> float:
        """From the point of joint i to the point of the hand at (0, 0, c)."""
        X = self.chain.X[-1]
        return self._lengths(i, len(self._next), (X[:3, 3] + c * X[:3, 2])[None])

    def radii(self, k: int, points: Array) -> Array:
        """Of points (m, 3) of frame k, about each axis (n + 1,): 0 for those behind."""
        found = np.zeros(len(self._at))
        for i in range(k):
            axis = float(np.hypot(*self.seen[i + 1][:, :2].T).max())
            found[i] = min(axis + self._lengths(i + 1, k, points), self._lengths(i, k, points))
        found[k] = np.hypot(points[:, 0], points[:, 1]).max()
        return found
