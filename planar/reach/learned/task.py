"""The distribution that a model learns: a dataset's p(Q | H), optionally with an obstacle."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi

import numpy as np
import shapely
from numpy.typing import NDArray

from galley.domain.frames import Array
from galley.planar.reach import BaseSamples, DonutSampler, uniform_targets
from galley.planar.reach.arm import turn
from galley.planar.reach.dataset import DatasetSettings


@dataclass(frozen=True)
class ReachTask:
    """The distribution to learn: p(Q | H), or p(Q | H, circle).

    Attributes:
        data: settings of the rows; their sampler is the distribution without obstacle.
        circle: least and greatest radius of an obstacle that no link may touch, m, or None. Its
            radius is uniform, and so is the distance of its centre from the target, from the
            radius to the arm's length.

    Raises:
        ValueError: the rows are filtered, or the radii are out of their bounds.
    """

    data: DatasetSettings
    circle: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        outer = self.sampler.arm.outer
        if self.data.filtered:
            raise ValueError("the dataset's rows were filtered by obstacles, view or scores")
        if self.circle is not None and not 0.0 < self.circle[0] <= self.circle[1] < outer:
            radii = f"{self.circle[0]:g} and {self.circle[1]:g}"
            raise ValueError(f"radii must be in (0, {outer:g}), smaller first, got {radii}")

    @property
    def sampler(self) -> DonutSampler:
        """The sampler of the distribution without obstacle."""
        return self.data.sampler

    @property
    def ring(self) -> tuple[float, float]:
        """Least and greatest distance between base and target, m."""
        return self.sampler.r_min, self.sampler.r_max

    def samples(self) -> BaseSamples:
        """All rows of the dataset, sampled again without reading or writing files."""
        parts = [vars(self.data.sample(k)).values() for k in range(self.data.shards)]
        return BaseSamples(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def targets(self, n: int, rng: np.random.Generator) -> Array:
        """Random targets (n, 2), m, with the dataset's distribution."""
        if self.data.bounds is None:
            return np.tile(np.asarray(self.data.target, dtype=np.float64), (n, 1))
        return uniform_targets(self.data.bounds, n, rng)

    def circles(self, target: Array, rng: np.random.Generator) -> Array | None:
        """A random circle x, y, radius (n, 3), m, for each target (n, 2); None without circles."""
        if self.circle is None:
            return None
        radius = rng.uniform(*self.circle, len(target))
        d, angle = rng.uniform(radius, self.sampler.arm.outer), rng.uniform(-pi, pi, len(target))
        return np.column_stack(
            [target[:, 0] + d * np.cos(angle), target[:, 1] + d * np.sin(angle), radius]
        )

    def free(self, q: Array, circle: Array) -> NDArray[np.bool_]:
        """Whether the links of rows q (m, 5) are clear of their circles (m, 3): (m,)."""
        links = shapely.linestrings(self.sampler.arm.chain.points(q[:, :3], q[:, 3:]))
        return np.asarray(shapely.distance(links, shapely.points(circle[:, :2])) > circle[:, 2])

    def free_rows(
        self, samples: BaseSamples, circle: Array | None
    ) -> tuple[BaseSamples, Array | None]:
        """The rows that are clear of their circles (m, 3), and these circles."""
        if circle is None:
            return samples, None
        free = self.free(samples.q, circle)
        return samples.take(free), circle[free]


def heading_errors(samples: BaseSamples) -> Array:
    """Heading errors (m,), rad, in [-pi, pi]: angles by which bases don't face their targets."""
    away = samples.target - samples.q[:, :2]
    return turn(samples.q[:, 2] - np.arctan2(away[:, 1], away[:, 0]))
