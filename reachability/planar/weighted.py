"""p(Q | H) under a context or a score: each row is kept with a probability that it earns.

The rows that are left have the density p(Q | H) w(Q, H) / Z(H), where w in [0, 1] is the product of
the weights and Z the mean of w under p.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, log, pi

import numpy as np
from numpy.typing import ArrayLike

from galley.domain.frames import Array
from galley.reachability.planar.donut import DonutSampler, Samples
from galley.reachability.planar.heading import HeadingError

# Steps of the lattice: powers of the root of x^4 = x + 1, which fill the cube evenly (Roberts 2018,
# "The unreasonable effectiveness of quasirandom sequences").
_LATTICE = 1.2207440846057596 ** -np.arange(1.0, 4.0)
_SHIFTS = 8

# Probability (m,) of keeping rows q (m, 5 or 4) for targets (m, 2).
Weight = Callable[[Array, Array], Array]


@dataclass(frozen=True)
class Weighted:
    """A sampler whose rows are kept with probability w, the product of ``weights``.

    A context's weight is 0 or 1; a score's is its hard threshold or soft acceptance. Each row is
    kept or not by itself: with ``branches="one"`` a base whose elbow is dropped gets no second try.

    Attributes:
        points: bases (r, phi, delta) of the quadrature for Z, each with both elbows.

    Raises:
        ValueError: fewer points than one for each of the lattice's shifts.
    """

    sampler: DonutSampler
    weights: tuple[Weight, ...]
    points: int = 32_768

    def __post_init__(self) -> None:
        if self.points < _SHIFTS:
            raise ValueError(f"points must be at least {_SHIFTS}, got {self.points}")

    def weight(self, q: Array, target: Array) -> Array:
        """w (m,) of rows q (m, 5 or 4) for targets (m, 2).

        Raises:
            ValueError: one of the weights is not in [0, 1].
        """
        total = np.ones(len(q))
        for each in self.weights:
            w = each(q, target)
            if len(w) and not (w.min() >= 0.0 and w.max() <= 1.0 + 1e-12):
                raise ValueError(f"{each} must be in [0, 1], got {w.min():g} to {w.max():g}")
            total *= w
        return total

    def sample(self, target: ArrayLike, n: int, rng: np.random.Generator) -> Samples:
        """The rows of ``n`` candidate bases that are kept."""
        rows = self.sampler.sample(target, n, rng)
        keep = rng.random(len(rows)) < self.weight(rows.q, rows.target)
        return Samples(rows.q[keep], rows.target[keep], rows.elbow[keep], rows.source[keep])

    def log_density(self, q: ArrayLike, target: ArrayLike) -> Array:
        """log of p w / Z (m,), as ``DonutSampler.log_density``; Z by quadrature for each target.

        The error of Z, see ``keep_rate``, is that of the density.
        """
        q = np.asarray(q, dtype=np.float64)
        base = self.sampler.log_density(q, target)
        targets = np.broadcast_to(np.asarray(target, dtype=np.float64), (len(q), 2))
        distinct, which = np.unique(targets, axis=0, return_inverse=True)
        rates = [self.keep_rate(each)[0] for each in distinct]
        logs = np.array([log(rate) if rate > 0.0 else inf for rate in rates])
        with np.errstate(divide="ignore"):
            return np.asarray(base + np.log(self.weight(q, targets)) - logs[which.reshape(-1)])

    def keep_rate(self, target: ArrayLike) -> tuple[float, float]:
        """Z and its standard error, by quadrature over (r, phi, delta, elbow).

        The quadrature is a lattice over the quantiles of r, phi and delta, shifted at random a few
        times: each mean is unbiased, and their spread gives the error.
        The shifts are always the same ones, so Z is too.
        """
        shifts = np.random.default_rng(0).random((_SHIFTS, 3))
        means = np.array([self._mean(target, each) for each in shifts])
        return float(means.mean()), float(means.std(ddof=1) / np.sqrt(_SHIFTS))

    def rejection_rate(
        self, target: ArrayLike, n: int, rng: np.random.Generator
    ) -> tuple[float, float]:
        """Z and its standard error from ``n`` random bases; rows of one base count together."""
        rows = self.sampler.sample(target, n, rng)
        if not len(rows):
            return 0.0, 0.0
        kept = np.bincount(rows.source, self.weight(rows.q, rows.target), n)
        count = np.bincount(rows.source, minlength=n)
        rate = float(kept.sum() / count.sum())
        return rate, float(np.linalg.norm(kept - rate * count) / count.sum())

    def _mean(self, target: ArrayLike, shift: Array) -> float:
        """The mean of w under p on one shifted lattice."""
        sampler, target = self.sampler, np.asarray(target, dtype=np.float64)
        steps = np.arange(1, self.points // _SHIFTS + 1)[:, None] * _LATTICE
        u, v, w = ((steps + shift) % 1.0).T
        delta = HeadingError(sampler.sigma).quantile(w)
        q, valid = sampler.candidates(target, sampler.r_quantile(u), pi * (2.0 * v - 1.0), delta)
        share = sampler.row_weights(valid)[valid]
        if not len(share):
            return 0.0
        rows = q[valid]
        kept = self.weight(rows, np.broadcast_to(target, (len(rows), 2)))
        return float(share @ kept / share.sum())
