"""p(Q | H) of a two-link arm on a mobile base: samples, and the density that they have.

The base stands in a ring about the target H, at the distance r and direction phi, and faces the
target up to an error delta ~ N(0, sigma^2) of its heading; each elbow s = +-1 is equally likely.
Then gamma = |theta2| and beta follow from r by the triangle's sides, and

    psi = phi + pi + delta,    theta2 = s gamma,    theta1 = -delta - s beta.

Heading errors never put the target out of reach: they only turn theta1. With joint limits, rows
outside are dropped and the density is divided by the share that is left.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf, isfinite, log, pi
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from galley.domain.frames import Array
from galley.planar.reach.arm import PlanarArm, turn
from galley.planar.reach.heading import HeadingError
from galley.planar.reach.kept import Shares, shares_within

_CHUNK = 8192  # bases at a time: the temporaries of one chunk stay in the processor's cache
_OFF = 1e-6  # part of L1 + L2 that the hand may be away from the target


@dataclass(frozen=True)
class Samples:
    """Rows, one for each candidate base and elbow that survived.

    Attributes:
        q: (m, 5) x, y, psi, theta1, theta2; where ``heading_sigma`` is 0 (m, 4), without psi.
        target: (m, 2).
        elbow: (m,) +1 or -1, the sign of sin(theta2).
        source: (m,) the candidate base, 0 to n - 1, that the row came from. Rows of one base are
            dependent: split data by it.
    """

    q: Array
    target: Array
    elbow: NDArray[np.int8]
    source: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.q)

    def take(self, rows: NDArray[Any]) -> Samples:
        """Some of the rows, by number or by a mask."""
        return Samples(self.q[rows], self.target[rows], self.elbow[rows], self.source[rows])


@dataclass(frozen=True)
class DonutSampler:
    """Samples of p(Q | H) with their density.

    Q = (x, y, psi, theta1, theta2) lies on a manifold of three dimensions, so a density needs a
    chart. Here it is per dx dy dpsi, for each of the two elbows:

        p(Q | H) = g(r) WN(psi - psi*; sigma) c / keep,    psi* the heading that faces H,

    with WN the wrapped normal; g = 1 / (2 pi (Rb - Ra) r) for the linear law of r and
    1 / (pi (Rb^2 - Ra^2)) for the uniform one in area; Ra = |L1 - L2| + epsilon and
    Rb = L1 + L2 - epsilon. With ``heading_sigma`` = 0 the base faces the target exactly,
    Q = (x, y, theta1, theta2), and the density is per dx dy for each elbow, without the factor WN.
    The two don't compare; q with the wrong number of columns is refused.

    Attributes:
        epsilon: margin (m) to both rims. heading_sigma: of the heading's error (rad).
        radial: ``linear``, r is uniform, or ``area``, the base is uniform in the ring.
        branches: ``both``, a row for each surviving elbow: c = 1/2, keep is the share of
            (base, elbow) pairs within the limits. ``one``, a row for each base that has a
            surviving elbow, drawn among those: c = 1 / (their number at this base), keep is the
            share of such bases. Without limits the two have the same density.
        heading: ``facing``, or ``free``: psi is uniform and ``heading_sigma`` plays no part. Then
            (psi + d, theta1 - d) is as likely as (psi, theta1): one stance in a circle of ways.

    Raises:
        ValueError: epsilon that leaves no ring, a negative or infinite sigma, an unknown option.
    """

    arm: PlanarArm
    epsilon: float
    heading_sigma: float
    radial: Literal["linear", "area"] = "linear"
    branches: Literal["both", "one"] = "both"
    heading: Literal["facing", "free"] = "facing"

    def __post_init__(self) -> None:
        if not (self.epsilon >= 0.0 and self.r_min < self.r_max):
            raise ValueError(
                f"epsilon must be in [0, {min(self.arm.l1, self.arm.l2):g}), the upper bound being "
                f"half the ring's width, got {self.epsilon:g}"
            )
        if not (isfinite(self.heading_sigma) and self.heading_sigma >= 0.0):
            raise ValueError(
                f"heading_sigma must be finite and not negative, got {self.heading_sigma:g}; "
                "heading='free' makes headings uniform"
            )
        for name, known in (
            ("radial", ("linear", "area")),
            ("branches", ("both", "one")),
            ("heading", ("facing", "free")),
        ):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} must be one of {known}, got {getattr(self, name)!r}")

    @property
    def r_min(self) -> float:
        """Ra (m), the least distance from base to target."""
        return self.arm.inner + self.epsilon

    @property
    def r_max(self) -> float:
        """Rb (m), the greatest distance."""
        return self.arm.outer - self.epsilon

    @property
    def sigma(self) -> float:
        """Of the heading's error (rad); infinite where headings are free."""
        return inf if self.heading == "free" else self.heading_sigma

    @property
    def columns(self) -> int:
        """Of q: 5, or 4 where the heading follows from the base's position."""
        return 4 if self.sigma == 0.0 else 5

    def r_quantile(self, u: ArrayLike) -> Array:
        """The distance (m) below which the share u of all candidate bases is."""
        u, low, high = np.asarray(u, dtype=np.float64), self.r_min, self.r_max
        if self.radial == "area":
            return np.asarray(np.sqrt(low**2 + u * (high**2 - low**2)))
        return np.asarray(low + u * (high - low))

    def sample(self, target: ArrayLike, n: int, rng: np.random.Generator) -> Samples:
        """Rows from ``n`` candidate bases, in their order, elbow + before -.

        Args:
            target: (2,), or (n, 2) with one for each base; see ``uniform_targets``.
        """
        targets = np.asarray(target, dtype=np.float64)
        if targets.shape not in ((2,), (n, 2)):
            raise ValueError(f"target must be (2,) or ({n}, 2), got {targets.shape}")
        if not np.isfinite(targets).all():
            raise ValueError("target must be finite")
        rows = 2 if self.branches == "both" else 1
        q = np.empty((n * rows, self.columns))
        elbow = np.empty(n * rows, dtype=np.int8)
        source = np.empty(n * rows, dtype=np.int64)
        room, count = np.empty((min(n, _CHUNK), 2, self.columns)), 0
        for start in range(0, n, _CHUNK):
            block = room[: n - start]
            here = targets if targets.ndim == 1 else targets[start : start + _CHUNK]
            valid = self._draw(block, here, rng)
            chosen = np.nonzero(valid.ravel())[0]
            end = count + len(chosen)
            np.take(block.reshape(-1, self.columns), chosen, axis=0, out=q[count:end])
            elbow[count:end] = 1 - 2 * (chosen & 1)
            source[count:end] = start + (chosen >> 1)
            count = end
        q, elbow, source = q[:count], elbow[:count], source[:count]
        each = np.broadcast_to(targets, (count, 2)) if targets.ndim == 1 else targets[source]
        return Samples(q, np.array(each), elbow, source)

    def candidates(
        self, target: Array, r: Array, phi: Array, delta: Array
    ) -> tuple[Array, NDArray[np.bool_]]:
        """Both elbows of chosen bases, and which are within the limits.

        Args:
            target: (2,). r, phi: (n,) polar coordinates of the base about it (m, rad).
            delta: (n,) error of the heading (rad), without effect where there is none.

        Returns:
            q (n, 2, 5 or 4), elbow + first; valid (n, 2). Other rows are of no use.
        """
        q = np.empty((len(r), 2, self.columns))
        valid = self._fill(q, target, r, phi, delta if self.columns == 5 else np.zeros(len(r)))
        return q, valid

    def log_density(self, q: ArrayLike, target: ArrayLike) -> Array:
        """log p(q | target) (m,) of rows q (m, 5 or 4); target (2,) or (m, 2). See the class.

        -inf off the support: the hand more than 1e-6 (L1 + L2) away from the target, r outside
        [Ra, Rb], or angles out of limits. Limits wider than a turn hold angles that differ by
        whole turns: only those that samples have, nearest the middle, have a density.

        Raises:
            ValueError: q has four columns where headings vary, or five where they don't.
        """
        q, target = np.asarray(q, dtype=np.float64), np.asarray(target, dtype=np.float64)
        if q.ndim != 2 or q.shape[1] != self.columns:
            raise ValueError(
                f"q must be (m, {self.columns}) where the heading's sigma is {self.sigma:g}, "
                f"got {q.shape}"
            )
        base, theta = base_and_angles(q, target)
        offset = target - q[:, :2]
        r = np.hypot(offset[:, 0], offset[:, 1])
        off = np.linalg.norm(self.arm.fk(base, theta) - target, axis=1)
        slack = 1e-12 * self.arm.outer  # for rounding
        on = (off <= _OFF * self.arm.outer) & (r >= self.r_min - slack) & (r <= self.r_max + slack)
        # Where limits are wider than a turn, of theta and theta + 2 pi only one is ever drawn.
        turned, inside = self.arm.chain.in_limits(theta)
        on &= inside & (turned == theta).all(axis=1)
        result = self._log_g(r) + log(0.5)
        if self.columns == 5:
            result += HeadingError(self.sigma).log_density(
                base[:, 2] - np.arctan2(offset[:, 1], offset[:, 0])
            )
        if self.arm.limits is not None and on.any():
            result -= log(self.keep_rate())
            if self.branches == "one":
                _, valid = self.arm.ik_batch(base[on], np.broadcast_to(target, offset.shape)[on])
                result[on] += log(2.0) - np.log(np.maximum(valid.sum(axis=1), 1))
        return np.where(on, result, -inf)

    def row_weights(self, valid: NDArray[np.bool_]) -> Array:
        """The factor c, up to scale, of bases whose elbows are ``valid`` (n, 2)."""
        number = valid.sum(axis=1, keepdims=True) if self.branches == "one" else 1.0
        return np.asarray(valid / np.maximum(number, 1.0))

    def keep_rate(self) -> float:
        """What the limits leave: of all (base, elbow) pairs, or with one branch of all bases.

        By quadrature over r; over delta it is closed. 1 without limits.
        """
        each = self._shares
        return each.any if self.branches == "one" else 0.5 * (each.positive + each.negative)

    def keep_rates(self) -> tuple[float, float]:
        """The same of each elbow by itself, + and -: P(within limits | elbow)."""
        return self._shares.positive, self._shares.negative

    def positive_share(self) -> float:
        """P(elbow +) among the rows.

        Raises:
            ValueError: nothing is within the limits.
        """
        each = self._some_shares()
        if self.branches == "one":  # those with both toss a coin
            return (each.positive - 0.5 * each.both) / each.any
        return each.positive / (each.positive + each.negative)

    def entropy(self) -> float:
        """-E log p (nats) of the rows, p as ``log_density`` gives it, by quadrature.

        Raises:
            ValueError: nothing is within the limits.
        """
        each = self._some_shares()
        if self.branches == "one":
            return log(each.any) - (each.log_any - log(2.0) * each.both) / each.any
        whole = each.positive + each.negative
        return log(whole) - (each.log_positive + each.log_negative) / whole

    @cached_property
    def _shares(self) -> Shares:
        return shares_within(
            self.arm, (self.r_min, self.r_max), HeadingError(self.sigma), self._log_g
        )

    def _some_shares(self) -> Shares:
        if self._shares.any <= 0.0:
            raise ValueError(f"nothing in the ring is within the limits {self.arm.limits}")
        return self._shares

    def _log_g(self, r: Array) -> Array:
        """Log density of the base's position (per m^2) at distances r."""
        low, high = self.r_min, self.r_max
        if self.radial == "area":
            return np.full(np.shape(r), -log(pi * (high**2 - low**2)))
        with np.errstate(divide="ignore"):
            return np.asarray(-np.log(2.0 * pi * (high - low) * r))

    def _draw(self, q: Array, target: Array, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Draws candidate bases with both elbows into q (n, 2, 5 or 4); which to keep (n, 2)."""
        n = len(q)
        r = self.r_quantile(rng.random(n))
        phi = rng.uniform(-pi, pi, n)
        delta = HeadingError(self.sigma).sample(n, rng)
        valid = self._fill(q, target, r, phi, delta)
        if self.branches == "one":
            positive = np.where(valid.all(axis=1), rng.random(n) < 0.5, valid[:, 0])
            valid &= np.column_stack([positive, ~positive])
        return valid

    def _fill(
        self, q: Array, target: Array, r: Array, phi: Array, delta: Array
    ) -> NDArray[np.bool_]:
        """Writes ``candidates`` into q (n, 2, 5 or 4)."""
        gamma, beta = self.arm.triangle(r)
        q[:, :, 0] = (target[..., 0] + r * np.cos(phi))[:, None]
        q[:, :, 1] = (target[..., 1] + r * np.sin(phi))[:, None]
        if self.columns == 5:
            q[:, :, 2] = turn(phi + pi + delta)[:, None]
        q[:, 0, -2], q[:, 1, -2] = turn(-delta - beta), turn(beta - delta)
        q[:, 0, -1], q[:, 1, -1] = gamma, -gamma
        if self.arm.limits is None:
            return np.ones((len(q), 2), dtype=bool)
        q[:, :, -2:], valid = self.arm.chain.in_limits(q[:, :, -2:])
        return valid


def base_and_angles(q: Array, target: Array) -> tuple[Array, Array]:
    """Base poses (m, 3) and joint angles (m, 2) of q (m, 5), or (m, 4): then bases face H."""
    if q.shape[1] == 5:
        return q[:, :3], q[:, 3:]
    away = target - q[:, :2]
    return np.column_stack([q[:, :2], np.arctan2(away[:, 1], away[:, 0])]), q[:, 2:]


def uniform_targets(bounds: ArrayLike, n: int, rng: np.random.Generator) -> Array:
    """Targets (n, 2), uniform over the workspace ((x_lo, x_hi), (y_lo, y_hi)) (m).

    Raises:
        ValueError: bounds that are not finite or not two pairs, or a low above its high.
    """
    box = np.asarray(bounds, dtype=np.float64)
    if box.shape != (2, 2) or not np.isfinite(box).all() or (box[:, 0] > box[:, 1]).any():
        raise ValueError(f"bounds must be ((x_lo, x_hi), (y_lo, y_hi)), got {bounds!r}")
    return rng.uniform(box[:, 0], box[:, 1], (n, 2))
