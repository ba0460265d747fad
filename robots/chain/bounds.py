"""Distances that no configuration of a serial arm exceeds.

One point is chosen on each joint's axis. It is fixed to the links on both sides of the joint, so
the points two joints apart are as far from each other as the one joint between them makes them:
the greatest distance over its range is exact. A bound on the distance of any two points of the arm
is the shortest way along such distances. Any choice of points gives bounds that hold; a good one
makes them tight.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from galley.domain.frames import Array, frozen
from galley.robots.chain.chain import Chain
from galley.robots.kinematics import ReachBounds

_TOO_NEAR = 0.25  # of the reach: nearer to its own axis, an arm is mostly in its own way
_Z = np.array([0.0, 0.0, 1.0])


def reach_of(chain: Chain) -> ReachBounds:
    """Bounds on the reach of a chain's arm.

    S is the point on the first joint's axis, and C that on the hand's, for which the bound on their
    distance is least.
    """
    n, hand = len(chain.X) - 4, chain.X[-1]

    def to_C(values: Array) -> float:
        return _Points(chain, values[:n]).lengths(1, n, hand[:3, 3] + values[n] * hand[:3, 2])

    best = _least(to_C, n + 1)
    points = _Points(chain, best[:n])
    ends = points.seen[1]  # two, if the first joint slides
    aside = 0.5 * float(np.linalg.norm(ends[1] - ends[0]))
    most = to_C(best)
    to_hand = min(points.lengths(1, n, hand[:3, 3]), most + abs(float(best[n])))
    p_BS, p_HC = frozen(ends.mean(axis=0)), frozen(best[n] * _Z)
    return ReachBounds(p_BS, p_HC, aside + most, aside + to_hand, _TOO_NEAR * most)


def radii_of(chain: Chain) -> tuple[Array, Array]:
    """Bounds (m) on the distance from each joint's axis of what it moves, 1 for a sliding joint.

    Returns:
        For any point of the robot (n + 1,), and for the hand's origin (n + 1,): about the axis of
        the base's heading, then about each of the arm's joints.
    """
    n, hand = len(chain.X) - 4, chain.X[-1, :3, 3]
    best = _least(lambda along: float(_Points(chain, along).radii(n, hand).sum()), n)
    points = _Points(chain, best)
    radii = [points.radii(k, corners) for k, corners in enumerate(chain.points) if len(corners)]
    slides, to_hand = chain.prismatic[2:], points.radii(n, hand)
    links = np.max([*radii, to_hand], axis=0)
    return frozen(np.where(slides, 1.0, links)), frozen(np.where(slides, 1.0, to_hand))


def _least(function: Callable[[Array], float], size: int) -> Array:
    """A point (size,) at which a sum of distances is about least, by Powell's method from zero."""
    from scipy.optimize import minimize

    return np.asarray(minimize(function, np.zeros(size), method="Powell").x)


class _Points:
    """A point on the axis of the base's heading, and one on the axis of each of the arm's joints.

    Args:
        chain: the arm.
        along: where on the arm's axes, m from each frame's origin (n,).

    Attributes:
        seen: each point in the frame before its joint (n + 1, 2, 3): at both ends of the range of a
            sliding joint, twice the same for one that turns.
    """

    def __init__(self, chain: Chain, along: Array) -> None:
        self._X, self._slides = chain.X[2:-1], chain.prismatic[2:]
        self._low, self._high = chain.lower[2:].copy(), chain.upper[2:].copy()
        self._low[0], self._high[0] = -np.pi, np.pi
        # Each point in its own frame; the base's is in the origin.
        self._at = np.insert(along, 0, 0.0)[:, None] * _Z
        ends = np.stack([self._low, self._high], axis=1) * self._slides[:, None]
        moved = self._at[:, None] + ends[..., None] * _Z
        self.seen = moved @ self._X[:, :3, :3].swapaxes(1, 2) + self._X[:, None, :3, 3]
        n = len(along)
        apart = np.linalg.norm(self.seen[1:] - self._at[:-1, None], axis=2)
        # Greatest distances from a point to the next one, and to the one after that.
        self._next = apart.max(axis=1)
        self._over = [self._farthest(k + 1, self.seen[k + 2]) for k in range(n - 1)]

    def _farthest(self, k: int, points: Array) -> float:
        """Greatest distance from the point of joint k - 1 to points (m, 3) of frame k.

        Exact: the greatest over the whole range of joint k.
        """
        at = self._X[k, :3, :3].T @ (self._at[k - 1] - self._X[k, :3, 3])
        low, high = self._low[k], self._high[k]
        if self._slides[k]:
            return max(float(_norms(points + end * _Z - at).max()) for end in (low, high))
        # By the law of cosines: farthest where the angle between the two is nearest to pi.
        between = np.arctan2(points[:, 1], points[:, 0]) - np.arctan2(at[1], at[0])
        opposite = np.ceil((low + between - np.pi) / (2.0 * np.pi)) * 2.0 * np.pi + np.pi
        cosine = np.minimum(np.cos(low + between), np.cos(high + between))
        cosine[opposite <= high + between] = -1.0
        r, s = np.hypot(points[:, 0], points[:, 1]), np.hypot(at[0], at[1])
        square = r * r + s * s - 2.0 * r * s * cosine + (points[:, 2] - at[2]) ** 2
        return float(np.sqrt(square.max()))

    def lengths(self, i: int, k: int, points: Array) -> float:
        """A bound on the distance from the point of joint i to points (3,) or (m, 3) of frame k."""
        points = points.reshape(-1, 3)
        # The shortest way to each point in turn: from the one before it, or past that one.
        before, length = np.inf, 0.0
        for j in range(i, k):
            over = before + self._over[j - 1] if j > i else np.inf
            before, length = length, min(length + float(self._next[j]), over)
        direct = length + float(_norms(points - self._at[k]).max())
        return min(direct, before + self._farthest(k, points)) if k > i else direct

    def radii(self, k: int, points: Array) -> Array:
        """Bounds on the distance of points (3,) or (m, 3) of frame k from each axis (n + 1,).

        0 for the axes of joints behind frame k.
        """
        bounds = np.zeros(len(self._at))
        for i in range(k):
            aside = float(np.hypot(*self.seen[i + 1][:, :2].T).max())
            bounds[i] = min(aside + self.lengths(i + 1, k, points), self.lengths(i, k, points))
        bounds[k] = np.hypot(*points.reshape(-1, 3)[:, :2].T).max()
        return bounds


def _norms(vectors: Array) -> Array:
    return np.asarray(np.linalg.norm(vectors, axis=1))
