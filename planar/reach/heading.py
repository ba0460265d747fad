"""Distribution of the base's heading error: a wrapped normal."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, pi

import numpy as np
from scipy.special import ndtr

from galley.domain.frames import Array, wrap

_TAIL = 9.0  # sigma beyond which the probability is negligible: 2 Phi(-9) = 2e-19
# rad. The first Fourier coefficient is exp(-sigma^2 / 2), so a wrapped normal of this sigma is
# uniform to 3e-18; a larger one makes no difference.
UNIFORM = 9.0


@dataclass(frozen=True)
class HeadingError:
    """A heading error delta (rad): N(0, sigma^2) wrapped to a full turn, with sigma > 0 (rad)."""

    sigma: float

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """Random errors delta (n,), rad, not wrapped."""
        return self.sigma * rng.standard_normal(n)

    def log_density(self, delta: Array) -> Array:
        """log WN(delta; sigma), nats per rad, of errors delta (rad): a sum over whole turns."""
        delta, sigma = wrap(delta), self.sigma
        # Relative to the largest term, that of no turn: (d + t)^2 - d^2 = t (2 d + t).
        others = np.zeros(np.shape(delta))
        for k in range(1, self._turns() + 1):
            for t in (2.0 * pi * k, -2.0 * pi * k):
                others += np.exp(-t * (2.0 * delta + t) / (2.0 * sigma**2))
        nearest = -0.5 * (delta / sigma) ** 2 - log(sigma * np.sqrt(2.0 * pi))
        return np.asarray(nearest + np.log1p(others))

    def mass(self, low: Array, high: Array) -> Array:
        """P(delta in [low, high] + 2 pi k for any k), for low <= high <= low + 2 pi (rad).

        Each turn's share is a difference of normal distribution functions.
        """
        width = np.clip(high - low, 0.0, 2.0 * pi)
        start, total = wrap(low), np.zeros(np.shape(width))
        for k in range(-self._turns(), self._turns() + 1):
            a = (start + 2.0 * pi * k) / self.sigma
            b = a + width / self.sigma
            # On the right subtract the upper tails, because ndtr would round both to 1.
            total += np.where(a > 0.0, ndtr(-a) - ndtr(-b), ndtr(b) - ndtr(a))
        return total

    def _turns(self) -> int:
        """Number of whole turns on either side that aren't negligible."""
        return int(np.ceil((pi + _TAIL * self.sigma) / (2.0 * pi)))
