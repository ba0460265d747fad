"""p(Q | H) under contexts and scores: each row is kept with a probability of its own.

The rows that are kept have the density p(Q | H) w(Q, H) / Z(H), where w in [0, 1] is the product of
the weights and Z the mean of w under p.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, inf, log

import numpy as np
from numpy.typing import ArrayLike

from galley.domain.frames import Array
from galley.planar.reach.base_sampler import BaseSamples, DonutSampler

_MOST = 2**22  # bases drawn to estimate Z, at most

# Probability (m,) of keeping rows q (m, 5) for targets (m, 2).
Weight = Callable[[Array, Array], Array]


@dataclass(frozen=True)
class Weighted:
    """A sampler whose rows are kept with the probability w, the product of ``weights``.

    The weight of a context is 0 or 1; that of a score is a hard threshold or a probability of
    acceptance. Rows are kept or dropped independently.

    Attributes:
        sampler: draws the rows.
        weights: the weights.
        points: bases that are drawn to estimate Z, more if joint limits leave only few.
    """

    sampler: DonutSampler
    weights: tuple[Weight, ...]
    points: int = 200_000

    def weight(self, q: Array, target: Array) -> Array:
        """w (m,) of rows q (m, 5) for targets (m, 2)."""
        return np.asarray(np.prod([weight(q, target) for weight in self.weights], axis=0))

    def sample(self, target: ArrayLike, n: int, rng: np.random.Generator) -> BaseSamples:
        """The rows of ``n`` candidate bases that are kept."""
        rows = self.sampler.sample(target, n, rng)
        return rows.take(rng.random(len(rows)) < self.weight(rows.q, rows.target))

    def log_density(self, q: ArrayLike, target: ArrayLike) -> Array:
        """log of p w / Z (m,) of rows, as ``DonutSampler.log_density``; Z is ``keep_rate``.

        Each distinct target has its own Z, so many targets take long.
        """
        q = np.asarray(q, dtype=np.float64)
        base = self.sampler.log_density(q, target)
        targets = np.broadcast_to(np.asarray(target, dtype=np.float64), (len(q), 2))
        distinct, index = np.unique(targets, axis=0, return_inverse=True)
        rates = [self.keep_rate(point) for point in distinct]
        logs = np.array([log(rate) if rate > 0.0 else inf for rate in rates])
        with np.errstate(divide="ignore"):
            return np.asarray(base + np.log(self.weight(q, targets)) - logs[index.reshape(-1)])

    def keep_rate(self, target: ArrayLike) -> float:
        """Z, estimated as the mean weight of rows of the sampler with a fixed seed.

        Raises:
            ValueError: the limits leave no rows to estimate it.
        """
        share = self.sampler.keep_rate()
        if share <= 0.0:
            return 0.0
        n = min(_MOST, ceil(self.points / share))
        rows = self.sampler.sample(target, n, np.random.default_rng(0))
        if not len(rows):
            raise ValueError(f"only {share:.1e} of all bases are within the limits: too few for Z")
        return float(self.weight(rows.q, rows.target).mean())
