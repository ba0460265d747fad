"""The planar arm that holds the pusher, above the body: kinematics and self-collision.

Inverse kinematics is least squares, as in the original: the tip's error, and for each pair of links
that share no joint a penalty that is linear in how much closer than the threshold they come,

    E = |p_tip - p_target|^2 + sum weight (threshold - d)    over pairs with d < threshold

in compiled code. A penalty doesn't exclude collisions, so configurations that are recorded or
executed are also checked by ``collides``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from galley.compiled.build import PUSHING, ensure
from galley.domain.frames import Array
from galley.planar.arm import PlanarChain
from galley.planar.pushing.config import ArmConfig

_STARTS = 12  # further starts of ``ik`` if a penalty is left
_HELD = 1e-3  # m, largest error of a tip that holds the pusher
_FOLDED = 1e-6  # rad: a joint this near to pi folds a link onto the one before it


@dataclass(frozen=True)
class PushArm:
    """An arm of N revolute links; configurations are angles (..., N), rad."""

    config: ArmConfig

    @cached_property
    def chain(self) -> PlanarChain:
        """The chain of the arm's links."""
        return PlanarChain(self.config.links)

    @cached_property
    def base(self) -> Array:
        """Pose of the base (3,): x, y (m), heading (rad)."""
        return np.array([self.config.base_x, self.config.base_y, self.config.base_theta])

    def points(self, theta: ArrayLike) -> Array:
        """Positions of the joints and, last, of the tip (..., N + 1, 2), m."""
        return self.chain.points(self.base, theta)

    def tip(self, theta: ArrayLike) -> Array:
        """Position of the tip (..., 2), m."""
        return self.chain.fk(self.base, theta)

    def clearance(self, theta: ArrayLike) -> float:
        """Least distance (m) of links that share no joint: 0 if two cross, inf without any."""
        ensure(PUSHING)
        from galley.planar.pushing.arm_kernel import clearance

        distance = float(clearance(self._checked(theta), self._lengths, self.base))
        return distance if distance < 1e300 else float("inf")

    def collides(self, theta: ArrayLike) -> bool:
        """Whether two links without a common joint touch, or a link is folded onto the last."""
        theta = self._checked(theta)
        turns = np.abs(np.remainder(theta[1:] + np.pi, 2.0 * np.pi) - np.pi)
        return bool((turns > np.pi - _FOLDED).any()) or self.clearance(theta) <= 0.0

    def _checked(self, theta: ArrayLike) -> Array:
        """A copy of angles (N,); raises ValueError if the shape is wrong or one isn't finite."""
        angles, n = np.array(theta, dtype=np.float64), len(self.config.links)
        if angles.shape != (n,) or not np.isfinite(angles).all():
            raise ValueError(f"theta = {angles.tolist()}: must be {n} finite angles")
        return angles

    def ik(self, start: ArrayLike, target: ArrayLike) -> tuple[Array, Array]:
        """Inverse kinematics: angles and their costs (m^2), in compiled code.

        If the target is out of reach, the arm stretches towards it. If a penalty is left after the
        first descent, more descents start at other angles, the same in every call.

        Args:
            start: (..., N), angles to begin at, rad.
            target: (..., 2), of the tip, m.

        Returns:
            Angles (..., N), rad, and costs (...,), m^2.

        Raises:
            ValueError: an argument isn't finite.
        """
        ensure(PUSHING)
        from galley.planar.pushing.arm_kernel import solve

        targets = np.asarray(target, dtype=np.float64)
        theta = np.asarray(start, dtype=np.float64)
        shape = np.broadcast_shapes(theta.shape[:-1], targets.shape[:-1])
        n = len(self.config.links)
        flat = np.array(np.broadcast_to(theta, (*shape, n)).reshape(-1, n))
        to = np.array(np.broadcast_to(targets, (*shape, 2)).reshape(-1, 2))
        if not (np.isfinite(flat).all() and np.isfinite(to).all()):
            raise ValueError(f"start and target must be finite, got {start!r} and {target!r}")
        costs = np.empty(len(flat))
        config = self.config
        solve(
            flat, self._lengths, self.base, to, config.threshold, config.weight, self._starts, costs
        )
        return flat.reshape(*shape, n), costs.reshape(shape)

    def follow(self, last: Array, point: ArrayLike) -> Array:
        """Angles (N,) that hold the tip at a point (2,), m, by ``ik`` from the last angles.

        Raises:
            ValueError: the arm would cross itself, or the point is out of its reach.
        """
        x, y = point = np.asarray(point, dtype=np.float64)
        angles: Array = self.ik(last, point)[0]
        away = float(np.hypot(*(self.tip(angles) - point)))
        if away > _HELD or self.collides(angles):
            raise ValueError(
                f"the arm can't hold the pusher at {x:.3f}, {y:.3f} m: "
                + (f"it ends {away * 1000.0:.0f} mm away" if away > _HELD else "it crosses itself")
            )
        return angles

    @cached_property
    def _lengths(self) -> Array:
        return np.array(self.chain.lengths)

    @cached_property
    def _starts(self) -> Array:
        rng = np.random.default_rng(0)
        return rng.normal(0.0, 1.0, (_STARTS, len(self.config.links)))
