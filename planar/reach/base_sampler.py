"""The distribution p(Q | H) of a two-link arm on a mobile base: samples and exact density.

The base is in a ring about the target H, at the distance r and direction phi, and faces the
target up to an error delta ~ N(0, sigma^2) of its heading; each elbow s = +-1 is equally likely.
Then gamma = |theta2| and beta follow from r by the triangle's sides, and

    psi = phi + pi + delta,    theta2 = s gamma,    theta1 = -delta - s beta.

Heading errors never put the target out of reach, because they only turn theta1. With joint limits,
rows outside are dropped, and the density is divided by the share that is left. Other distributions
are weights on this one, see ``weighted`` and ``scores``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf, isfinite, pi
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from galley.domain.frames import Array
from galley.planar.reach.arm import PlanarArm, turn
from galley.planar.reach.heading import UNIFORM, HeadingError

_CHUNK = 8192  # bases at a time: the temporaries of one chunk stay in the processor's cache
_OFF = 1e-6  # share of L1 + L2 by which the hand may miss the target
_EXACT = 1e-11  # absolute error of a share by quadrature


@dataclass(frozen=True)
class BaseSamples:
    """Rows of samples, one for each candidate base and elbow that wasn't dropped.

    Attributes:
        q: (m, 5), x, y, psi, theta1, theta2, m and rad.
        target: (m, 2), m.
        elbow: (m,), +1 or -1, the sign of sin(theta2).
        source: (m,), the candidate base of the row, 0 to n - 1. The rows of one base are dependent,
            so split data by base.
    """

    q: Array
    target: Array
    elbow: NDArray[np.int8]
    source: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.q)

    def take(self, rows: NDArray[Any]) -> BaseSamples:
        """The rows of an index or a mask."""
        return BaseSamples(self.q[rows], self.target[rows], self.elbow[rows], self.source[rows])


@dataclass(frozen=True)
class DonutSampler:
    """Sampler of p(Q | H), with its density.

    Q = (x, y, psi, theta1, theta2) lies on a manifold of three dimensions, so a density needs a
    chart. Here it is per dx dy dpsi, for each of the two elbows:

        p(Q | H) = WN(psi - psi*; sigma) / (4 pi (Rb - Ra) r keep),

    with WN the wrapped normal, psi* the heading that faces H, Ra = |L1 - L2| + epsilon,
    Rb = L1 + L2 - epsilon, and keep the share of (base, elbow) pairs within the joint limits: r and
    phi are uniform.

    Attributes:
        arm: the robot's arm.
        epsilon: margin to both rims of the reach, m.
        heading_sigma: standard deviation of the heading error, rad, > 0; from 9 on headings are
            uniform.

    Raises:
        ValueError: epsilon leaves no ring, or the standard deviation isn't positive and finite.
    """

    arm: PlanarArm
    epsilon: float
    heading_sigma: float

    def __post_init__(self) -> None:
        if not (self.epsilon >= 0.0 and self.r_min < self.r_max):
            raise ValueError(
                f"epsilon must be in [0, {min(self.arm.l1, self.arm.l2):g}), the upper bound being "
                f"half the ring's width, got {self.epsilon:g}"
            )
        if not (isfinite(self.heading_sigma) and self.heading_sigma > 0.0):
            raise ValueError(
                f"heading_sigma must be positive and finite, got {self.heading_sigma:g}; "
                "from 9 on headings are uniform"
            )

    @property
    def r_min(self) -> float:
        """Ra, the least distance from base to target, m."""
        return self.arm.inner + self.epsilon

    @property
    def r_max(self) -> float:
        """Rb, the greatest distance from base to target, m."""
        return self.arm.outer - self.epsilon

    @property
    def heading(self) -> HeadingError:
        """The distribution of the heading error."""
        return HeadingError(min(self.heading_sigma, UNIFORM))

    def sample(self, target: ArrayLike, n: int, rng: np.random.Generator) -> BaseSamples:
        """Rows of ``n`` candidate bases, in their order, elbow + before -.

        Args:
            target: (2,), or one for each base (n, 2), m; see ``uniform_targets``.
        """
        targets = np.asarray(target, dtype=np.float64)
        if targets.shape not in ((2,), (n, 2)):
            raise ValueError(f"target must be (2,) or ({n}, 2), got {targets.shape}")
        if not np.isfinite(targets).all():
            raise ValueError("target must be finite")
        q, elbow = np.empty((2 * n, 5)), np.empty(2 * n, dtype=np.int8)
        source = np.empty(2 * n, dtype=np.int64)
        room, count = np.empty((min(n, _CHUNK), 2, 5)), 0
        for start in range(0, n, _CHUNK):
            block = room[: n - start]
            here = targets if targets.ndim == 1 else targets[start : start + _CHUNK]
            r = self.r_min + rng.random(len(block)) * (self.r_max - self.r_min)
            phi = rng.uniform(-pi, pi, len(block))
            valid = self._fill(block, here, r, phi, self.heading.sample(len(block), rng))
            chosen = np.nonzero(valid.ravel())[0]
            end = count + len(chosen)
            np.take(block.reshape(-1, 5), chosen, axis=0, out=q[count:end])
            elbow[count:end] = 1 - 2 * (chosen & 1)
            source[count:end] = start + (chosen >> 1)
            count = end
        q, elbow, source = q[:count], elbow[:count], source[:count]
        rows = np.broadcast_to(targets, (count, 2)) if targets.ndim == 1 else targets[source]
        return BaseSamples(q, np.array(rows), elbow, source)

    def log_density(self, q: ArrayLike, target: ArrayLike) -> Array:
        """log p(q | target) (m,) of rows q (m, 5); target (2,) or (m, 2). See the class.

        It is -inf off the support: the hand is more than 1e-6 (L1 + L2) away from the target, r is
        outside [Ra, Rb], or angles are out of limits. Limits wider than a turn contain angles that
        differ by whole turns: only the one nearest to the middle, as in samples, has a density.

        Raises:
            ValueError: q has another shape.
        """
        q, target = np.asarray(q, dtype=np.float64), np.asarray(target, dtype=np.float64)
        if q.ndim != 2 or q.shape[1] != 5:
            raise ValueError(f"q must be (m, 5): x, y, psi, theta1, theta2; got {q.shape}")
        theta, offset = q[:, 3:], target - q[:, :2]
        r = np.hypot(offset[:, 0], offset[:, 1])
        off = np.linalg.norm(self.arm.fk(q[:, :3], theta) - target, axis=1)
        slack = 1e-12 * self.arm.outer  # for rounding
        on = (off <= _OFF * self.arm.outer) & (r >= self.r_min - slack) & (r <= self.r_max + slack)
        # Where limits are wider than a turn, of theta and theta + 2 pi only one is ever drawn.
        turned, inside = self.arm.chain.in_limits(theta)
        on &= inside & (turned == theta).all(axis=1)
        if not on.any():
            return np.full(len(q), -inf)
        with np.errstate(divide="ignore"):
            ring = np.log(4.0 * pi * (self.r_max - self.r_min) * r * self.keep_rate())
        error = q[:, 2] - np.arctan2(offset[:, 1], offset[:, 0])
        return np.where(on, self.heading.log_density(error) - ring, -inf)

    def keep_rate(self) -> float:
        """Share of all (base, elbow) pairs within the joint limits; 1 without limits."""
        return 0.5 * sum(self.keep_rates)

    @cached_property
    def keep_rates(self) -> tuple[float, float]:
        """Share of bases within the joint limits for each elbow, + and -: P(within limits | elbow).

        theta1 = -delta - s beta is within [lo, hi] if delta is in the arc
        [-hi - s beta, -lo - s beta]. So over delta the share has a closed form. Over r it is a
        quadrature in gamma = |theta2|, with r dr = L1 L2 sin(gamma) dgamma, which is smooth at the
        rims.
        """
        if self.arm.limits is None:
            return 1.0, 1.0
        from scipy.integrate import quad

        arm, (low, high) = self.arm, self.arm.limits[0]
        (last, first), _ = arm.triangle(np.array([self.r_min, self.r_max]))

        def share(gamma: float, elbow: int) -> float:
            r = arm.distance(np.array(gamma))
            beta = elbow * arm.triangle(r)[1]
            within = self.heading.mass(-high - beta, -low - beta)
            return float(within * arm.l1 * arm.l2 * np.sin(gamma) / r)

        shares = []
        for elbow in (1, -1):
            pieces = [(max(a, first), min(b, last)) for a, b in arm.folds(elbow)]
            # A narrow distribution's share falls steeply where the mean of theta1 meets a limit.
            cuts = list(self._meets(elbow))
            total = sum(
                quad(share, a, b, (elbow,), points=[c for c in cuts if a < c < b] or None,
                     limit=500, epsabs=_EXACT)[0]
                for a, b in pieces if a < b
            )  # fmt: skip
            shares.append(min(total / (self.r_max - self.r_min), 1.0))
        return shares[0], shares[1]

    def _meets(self, elbow: int) -> list[float]:
        """Angles gamma (rad) at which a base that faces the target has theta1 at a limit."""
        gamma = np.linspace(0.0, pi, 4001)
        beta = self.arm.triangle(self.arm.distance(gamma))[1]
        limits = self.arm.limits[0] if self.arm.limits is not None else ()
        away = [np.sin(0.5 * (-elbow * beta - edge)) for edge in limits]
        return [g for error in away for g in gamma[:-1][error[1:] * error[:-1] <= 0.0].tolist()]

    def _fill(
        self, q: Array, target: Array, r: Array, phi: Array, delta: Array
    ) -> NDArray[np.bool_]:
        """Write the rows of n bases to q (n, 2, 5), elbow + first.

        Args:
            q: written.
            target: (2,) or (n, 2), m.
            r, phi: (n,), polar coordinates of the bases about the target, m and rad.
            delta: (n,), heading errors, rad.

        Returns:
            Whether rows are within the limits (n, 2); the others have no meaning.
        """
        gamma, beta = self.arm.triangle(r)
        q[:, :, 0] = (target[..., 0] + r * np.cos(phi))[:, None]
        q[:, :, 1] = (target[..., 1] + r * np.sin(phi))[:, None]
        q[:, :, 2] = turn(phi + pi + delta)[:, None]
        q[:, 0, 3], q[:, 1, 3] = turn(-delta - beta), turn(beta - delta)
        q[:, 0, 4], q[:, 1, 4] = gamma, -gamma
        if self.arm.limits is None:
            return np.ones((len(q), 2), dtype=bool)
        q[:, :, 3:], valid = self.arm.chain.in_limits(q[:, :, 3:])
        return valid


def uniform_targets(bounds: ArrayLike, n: int, rng: np.random.Generator) -> Array:
    """Targets (n, 2), m, uniform over the workspace ((x_lo, x_hi), (y_lo, y_hi)).

    Raises:
        ValueError: bounds aren't two finite pairs, or a low one is above its high one.
    """
    box = np.asarray(bounds, dtype=np.float64)
    if box.shape != (2, 2) or not np.isfinite(box).all() or (box[:, 0] > box[:, 1]).any():
        raise ValueError(f"bounds must be ((x_lo, x_hi), (y_lo, y_hi)), got {bounds!r}")
    return rng.uniform(box[:, 0], box[:, 1], (n, 2))
