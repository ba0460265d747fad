"""A contact filter: how likely the finger touches something now, from noisy readings alone."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import log_ndtr

from galley.domain.parameters import FORCE, FORCE_LIMIT, RATIO, Quantity, check, parameter

_POSITIVE_FORCE = Quantity("N", 0.0, above=True)
_LEAST_NOISE = 1e-6  # N: a reading without noise would make certain what may change


@dataclass(frozen=True)
class ContactModel:
    """What the filter takes for true: a Markov chain of two states, free and in contact.

    Attributes:
        noise: N, standard deviation of a reading.
        force: N, mean of the felt force in contact, which is taken for exponentially distributed.
        touch, part: probabilities that contact begins, and ends, within a control step.
    """

    noise: float = parameter(0.05, FORCE_LIMIT, "standard deviation of a reading")
    force: float = parameter(0.5, _POSITIVE_FORCE, "mean felt force in contact")
    touch: float = parameter(0.02, RATIO, "probability that contact begins in a step")
    part: float = parameter(0.05, RATIO, "probability that contact ends in a step")

    def __post_init__(self) -> None:
        check(self)

    def evidence(self, reading: float) -> float:
        """Log of the likelihood ratio, contact to none, of a reading (N).

        Without contact a reading is Gaussian, N(0, s^2); in contact an exponential of mean f is
        added, which makes exp(s^2 / (2 f^2) - y / f) Phi(y / s - s / f) / f its density (the
        exponentially modified Gaussian).
        """
        s, f = max(self.noise, _LEAST_NOISE), self.force
        z = reading / s
        touching = 0.5 * (s / f) ** 2 - reading / f + float(log_ndtr(z - s / f)) - math.log(f)
        return touching + 0.5 * z * z + math.log(s * math.sqrt(2.0 * math.pi))


class ContactFilter:
    """The agent's sense of state: a recursive Bayes filter over ``ContactModel``.

    >>> felt = ContactFilter(ContactModel(noise=0.05))
    >>> felt.update(0.02) < 0.05, felt.update(0.5) > 0.99
    (True, True)

    A contact that presses with less than about four times the noise takes more steps to be noticed,
    and one that presses with nothing can't be: it fades from the filter at the rate ``part``.

    Attributes:
        model: what it takes for true.
        probability: of contact now.
    """

    def __init__(self, model: ContactModel | None = None, probability: float = 0.0) -> None:
        self.model = model or ContactModel()
        self.probability = RATIO.checked("probability", probability)

    def update(self, reading: float) -> float:
        """Take in the reading (N) of a control step; returns the probability of contact.

        Raises:
            ValueError: the reading is no finite number.
        """
        reading = FORCE.checked("reading", reading)
        model, before = self.model, self.probability
        expected = before * (1.0 - model.part) + (1.0 - before) * model.touch
        log_odds = model.evidence(reading) + _log_odds(expected)
        self.probability = 1.0 / (1.0 + math.exp(-min(max(log_odds, -700.0), 700.0)))
        return self.probability


def _log_odds(probability: float) -> float:
    inside = min(max(probability, 1e-300), 1.0 - 1e-16)
    return math.log(inside) - math.log1p(-inside)
