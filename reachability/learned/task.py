"""What a model learns: the law of Q, where the targets are, and perhaps one circle as obstacle."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi
from typing import Any

import numpy as np
from numpy.typing import NDArray

from galley.domain.frames import Array
from galley.reachability.planar import DonutSampler, PlanarArm, Samples, uniform_targets
from galley.reachability.planar.arm import turn


@dataclass(frozen=True)
class Rows:
    """Training data.

    Attributes:
        samples: m rows.
        circle: obstacle x, y, radius of each row (m, 3) (m), or None.
    """

    samples: Samples
    circle: Array | None = None


@dataclass(frozen=True)
class Task:
    """What is learned: p(Q | H), or p(Q | H, circle).

    Attributes:
        sampler: the law without obstacle; its heading must have noise.
        bounds: ((x_lo, x_hi), (y_lo, y_hi)) (m) of the targets, which are uniform there.
        circle: least and greatest radius (m) of an obstacle that no link may touch, or None. Its
            radius is uniform, so is its distance from the target up to the arm's length.

    Raises:
        ValueError: a sampler without heading noise, bounds or radii that make no sense.
    """

    sampler: DonutSampler
    bounds: tuple[tuple[float, float], tuple[float, float]] = ((-1.0, 1.0), (-1.0, 1.0))
    circle: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if self.sampler.columns != 5:
            raise ValueError("heading_sigma is 0: the model's chart needs a heading that varies")
        uniform_targets(self.bounds, 0, np.random.default_rng(0))
        outer = self.sampler.arm.outer
        if self.circle is not None and not 0.0 < self.circle[0] <= self.circle[1] < outer:
            raise ValueError(
                f"a circle's radii must be in (0, {outer:g}), smaller first, got {self.circle}"
            )

    @property
    def ring(self) -> tuple[float, float]:
        """Least and greatest distance (m) of base and target."""
        return self.sampler.r_min, self.sampler.r_max

    def contexts(self, n: int, rng: np.random.Generator) -> tuple[Array, Array | None]:
        """Targets (n, 2) and, if there are any, circles (n, 3)."""
        target = uniform_targets(self.bounds, n, rng)
        if self.circle is None:
            return target, None
        radius = rng.uniform(*self.circle, n)
        d, angle = rng.uniform(radius, self.sampler.arm.outer), rng.uniform(-pi, pi, n)
        offset = d[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
        return target, np.column_stack([target + offset, radius])

    def rows(self, target: Array, circle: Array | None, rng: np.random.Generator) -> Rows:
        """A candidate base for each target (n, 2), and its rows that survive."""
        return self.free_rows(self.sampler.sample(target, len(target), rng), circle)

    def free_rows(self, samples: Samples, circle: Array | None) -> Rows:
        """Of the rows of candidate bases with circles (n, 3), those that are free."""
        if circle is None:
            return Rows(samples)
        circle = circle[samples.source]
        free = self.free(samples.q, circle)
        left = Samples(*(c[free] for c in vars(samples).values()))
        return Rows(left, circle[free])

    def free(self, q: Array, circle: Array) -> NDArray[np.bool_]:
        """Whether no link of rows q (m, 5) touches its circle (m, 3): (m,)."""
        points = self.sampler.arm.chain.points(q[:, :3], q[:, 3:])
        link = np.diff(points, axis=1)
        to = circle[:, None, :2] - points[:, :-1]
        along = np.clip((to * link).sum(axis=2) / (link * link).sum(axis=2), 0.0, 1.0)
        apart = np.linalg.norm(to - along[..., None] * link, axis=2)
        return np.asarray((apart > circle[:, 2:]).all(axis=1))

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        s = self.sampler
        return {
            "l1": s.arm.l1,
            "l2": s.arm.l2,
            "limits": s.arm.limits,
            "epsilon": s.epsilon,
            "heading_sigma": s.heading_sigma,
            "radial": s.radial,
            "branches": s.branches,
            "heading": s.heading,
            "bounds": self.bounds,
            "circle": self.circle,
        }

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Task:
        """The inverse of ``to_json``.

        Raises:
            KeyError, TypeError, ValueError: values that are missing or make no sense.
        """
        limits, circle = values["limits"], values["circle"]
        arm = PlanarArm(values["l1"], values["l2"], limits)
        keys = ("epsilon", "heading_sigma", "radial", "branches", "heading")
        (x0, x1), (y0, y1) = values["bounds"]
        radii = None if circle is None else (float(circle[0]), float(circle[1]))
        return cls(DonutSampler(arm, *(values[k] for k in keys)), ((x0, x1), (y0, y1)), radii)


def heading_errors(samples: Samples) -> Array:
    """How far each base is from facing its target (m,) (rad), in [-pi, pi]."""
    away = samples.target - samples.q[:, :2]
    return turn(samples.q[:, 2] - np.arctan2(away[:, 1], away[:, 0]))
