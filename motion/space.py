"""The space a planner searches: a joint group's box, a metric, and the fineness of its edges."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from galley.domain.frames import Array, frozen
from galley.robots.model import JointGroup

ARM_RESOLUTION = 0.05  # rad between checked states on an edge, the largest joint counts
BASE_RESOLUTION = (0.02, 0.02, 0.03)  # m, m, rad


@dataclass(frozen=True)
class Space:
    """A box of configurations.

    Attributes:
        group: the joint group's name.
        lower, upper: limits (k,).
        resolution: the most each joint moves between two checked states of an edge (k,).
        weights: (k,) scale joints in the metric |weights * (a - b)|.
    """

    group: str
    lower: Array
    upper: Array
    resolution: Array
    weights: Array

    def sample(self, rng: np.random.Generator) -> Array:
        """A configuration (k,), uniform in the box."""
        return rng.uniform(self.lower, self.upper)

    def distance(self, a: Array, b: Array) -> Array:
        """Weighted Euclidean distance; a and b broadcast over leading axes."""
        return np.asarray(np.linalg.norm((np.asarray(a) - b) * self.weights, axis=-1))

    def contains(self, q: Array, tolerance: float = 1e-9) -> bool:
        """Whether q (k,) lies in the box."""
        return bool((q >= self.lower - tolerance).all() and (q <= self.upper + tolerance).all())

    def finer(self, factor: float) -> Space:
        """The same space with its edges checked at ``factor`` times the resolution."""
        return self if factor == 1.0 else replace(self, resolution=self.resolution * factor)

    def edge(self, a: Array, b: Array) -> Array:
        """States (n, k) along the straight edge from a to b, b included and a not.

        Consecutive ones (a counted) differ by at most ``resolution`` in each joint.
        """
        steps = float((np.abs(b - a) / self.resolution).max())
        n = max(1, int(np.ceil(steps - 1e-9)))
        s = np.linspace(0.0, 1.0, n + 1)[1:, None]
        return np.asarray((1.0 - s) * a + s * b)  # exactly b at s = 1


def arm_space(group: JointGroup) -> Space:
    """All joints count alike; edges are checked every 0.05 rad."""
    return Space(
        group.name,
        group.lower,
        group.upper,
        frozen(np.full(group.size, ARM_RESOLUTION)),
        frozen(np.ones(group.size)),
    )


def base_space(group: JointGroup) -> Space:
    """(x, y, heading): a radian of turning counts like 0.4 m, about the chassis' half length."""
    return Space(
        group.name, group.lower, group.upper, frozen(BASE_RESOLUTION), frozen((1.0, 1.0, 0.4))
    )
