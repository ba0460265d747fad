"""The error of the base's heading: a wrapped normal."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, pi

import numpy as np
from scipy.special import ndtr

from galley.domain.frames import Array, wrap

_TAIL = 9.0  # sigma, beyond which nothing is left: 2 Phi(-9) = 2e-19
# rad. As the first Fourier coefficient is exp(-sigma^2 / 2), a wrapped normal of this sigma is
# uniform to 3e-18: there is no use in a larger one.
UNIFORM = 9.0


@dataclass(frozen=True)
class HeadingError:
    """delta (rad), N(0, sigma^2) wrapped to a full turn; sigma > 0."""

    sigma: float

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """delta (n,), not wrapped."""
        return self.sigma * rng.standard_normal(n)

    def log_density(self, delta: Array) -> Array:
        """log WN(delta; sigma) (nats per rad): a sum over whole turns."""
        delta, sigma = wrap(delta), self.sigma
        # Relative to the largest term, that of no turn: (d + t)^2 - d^2 = t (2 d + t).
        others = np.zeros(np.shape(delta))
        for k in range(1, self._turns() + 1):
            for t in (2.0 * pi * k, -2.0 * pi * k):
                others += np.exp(-t * (2.0 * delta + t) / (2.0 * sigma**2))
        nearest = -0.5 * (delta / sigma) ** 2 - log(sigma * np.sqrt(2.0 * pi))
        return np.asarray(nearest + np.log1p(others))

    def mass(self, low: Array, high: Array) -> Array:
        """P(delta in [low, high] + 2 pi k for any k); low <= high <= low + 2 pi.

        Each turn's share is a difference of normal distribution functions.
        """
        width = np.clip(high - low, 0.0, 2.0 * pi)
        start, total = wrap(low), np.zeros(np.shape(width))
        for k in range(-self._turns(), self._turns() + 1):
            a = (start + 2.0 * pi * k) / self.sigma
            b = a + width / self.sigma
            # On the right the upper tails are subtracted: ndtr would round both to 1.
            total += np.where(a > 0.0, ndtr(-a) - ndtr(-b), ndtr(b) - ndtr(a))
        return total

    def _turns(self) -> int:
        """Whole turns that matter on either side."""
        return int(np.ceil((pi + _TAIL * self.sigma) / (2.0 * pi)))
