"""p(Q | H) under a context or a score: each row is kept with a probability that it earns.

The rows that are left have the density p(Q | H) w(Q, H) / Z(H), where w in [0, 1] is the product of
the weights and Z the mean of w under p.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, inf, log

import numpy as np
from numpy.typing import ArrayLike

from galley.domain.frames import Array
from galley.planar.reach.donut import DonutSampler, Samples

_MOST = 2**22  # bases drawn for Z

# Probability (m,) of keeping rows q (m, 5) for targets (m, 2).
Weight = Callable[[Array, Array], Array]


@dataclass(frozen=True)
class Weighted:
    """A sampler whose rows are kept with probability w, the product of ``weights``.

    A context's weight is 0 or 1; a score's is its hard threshold or soft acceptance. Each row is
    kept or not by itself.

    Attributes:
        points: bases that are drawn for Z; more where joint limits leave few.
    """

    sampler: DonutSampler
    weights: tuple[Weight, ...]
    points: int = 200_000

    def weight(self, q: Array, target: Array) -> Array:
        """w (m,) of rows q (m, 5) for targets (m, 2)."""
        return np.asarray(np.prod([each(q, target) for each in self.weights], axis=0))

    def sample(self, target: ArrayLike, n: int, rng: np.random.Generator) -> Samples:
        """The rows of ``n`` candidate bases that are kept."""
        rows = self.sampler.sample(target, n, rng)
        return rows.take(rng.random(len(rows)) < self.weight(rows.q, rows.target))

    def log_density(self, q: ArrayLike, target: ArrayLike) -> Array:
        """log of p w / Z (m,), as ``DonutSampler.log_density``; see ``keep_rate`` for Z.

        Each distinct target has a Z of its own, so many targets take long.
        """
        q = np.asarray(q, dtype=np.float64)
        base = self.sampler.log_density(q, target)
        targets = np.broadcast_to(np.asarray(target, dtype=np.float64), (len(q), 2))
        distinct, which = np.unique(targets, axis=0, return_inverse=True)
        rates = [self.keep_rate(each) for each in distinct]
        logs = np.array([log(rate) if rate > 0.0 else inf for rate in rates])
        with np.errstate(divide="ignore"):
            return np.asarray(base + np.log(self.weight(q, targets)) - logs[which.reshape(-1)])

    def keep_rate(self, target: ArrayLike) -> float:
        """Z, the mean weight of rows that the sampler draws, always the same ones.

        Raises:
            ValueError: the limits leave so little that there are none.
        """
        share = self.sampler.keep_rate()
        if share <= 0.0:
            return 0.0
        n = min(_MOST, ceil(self.points / share))
        rows = self.sampler.sample(target, n, np.random.default_rng(0))
        if not len(rows):
            raise ValueError(f"too few bases are within the limits ({share:.1e} of all) to tell Z")
        return float(self.weight(rows.q, rows.target).mean())
