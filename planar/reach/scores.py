"""How good a configuration is: scores from 0 to 1, their weighted sum, and filters made of it.

A score is called with rows q (m, 5 or 4) and targets (m, 2) and gives (m,) in [0, 1]. As each is at
most 1, the sum of the weights bounds the weighted sum: no sample's maximum is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, pi

import numpy as np

from galley.domain.frames import Array, frozen, wrap
from galley.planar.reach.arm import PlanarArm
from galley.planar.reach.context import Context
from galley.planar.reach.weighted import Weight


@dataclass(frozen=True)
class Manipulability:
    """|sin theta2|, the arm's manipulability L1 L2 |sin theta2| over its greatest value."""

    def __call__(self, q: Array, target: Array) -> Array:
        """(m,)."""
        return np.abs(np.sin(q[:, -1]))


@dataclass(frozen=True)
class LimitMargin:
    """The least of 2 min(theta - lo, hi - theta) / (hi - lo) of both joints; 0 out of limits.

    Raises:
        ValueError: the arm has no limits.
    """

    arm: PlanarArm

    def __post_init__(self) -> None:
        if self.arm.limits is None:
            raise ValueError("a margin to joint limits needs an arm with limits, got limits None")

    def __call__(self, q: Array, target: Array) -> Array:
        """(m,)."""
        low, high = np.array(self.arm.limits).T
        theta = q[:, -2:]
        margin = 2.0 * np.minimum(theta - low, high - theta) / (high - low)
        return np.asarray(np.maximum(margin.min(axis=1), 0.0))


@dataclass(frozen=True)
class Clearance:
    """The gap to the nearest obstacle over ``enough`` (m), at most 1; 0 where they touch."""

    context: Context
    enough: float = 0.2

    def __post_init__(self) -> None:
        _positive("enough", self.enough)

    def __call__(self, q: Array, target: Array) -> Array:
        """(m,)."""
        return np.clip(self.context.clearance(q, target) / self.enough, 0.0, 1.0)


@dataclass(frozen=True)
class Smoothness:
    """exp(-|theta - posture| / scale), of a posture (2,) (rad) that the arm is in now.

    An arm without limits takes the shorter way round; one with limits can't.
    """

    arm: PlanarArm
    posture: Array
    scale: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "posture", _numbers("posture", self.posture, 2))
        _positive("scale", self.scale)

    def __call__(self, q: Array, target: Array) -> Array:
        """(m,)."""
        away = q[:, -2:] - self.posture
        if self.arm.limits is None:
            away = wrap(away)
        return np.asarray(np.exp(-np.linalg.norm(away, axis=1) / self.scale))


@dataclass(frozen=True)
class BaseTravel:
    """exp(-distance / scale) of the base from ``place`` (x, y) (m); turning costs nothing."""

    place: Array
    scale: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "place", _numbers("place", self.place, 2))
        _positive("scale", self.scale)

    def __call__(self, q: Array, target: Array) -> Array:
        """(m,)."""
        return np.asarray(np.exp(-np.linalg.norm(q[:, :2] - self.place, axis=1) / self.scale))


@dataclass(frozen=True)
class Visibility:
    """How far inside the field of view (rad, whole angle) the target is; see ``Context``."""

    context: Context
    view: float = 0.5 * pi

    def __call__(self, q: Array, target: Array) -> Array:
        """(m,)."""
        return self.context.visibility(q, target, self.view)


@dataclass(frozen=True)
class WeightedSum:
    """S = sum of weight x score, from pairs (weight, score).

    Raises:
        ValueError: a negative weight, or weights that are all 0.
    """

    terms: tuple[tuple[float, Weight], ...]

    def __post_init__(self) -> None:
        for weight, score in self.terms:
            if not (isfinite(weight) and weight >= 0.0):
                raise ValueError(f"the weight of {score} must not be negative, got {weight:g}")
        if self.bound <= 0.0:
            raise ValueError(f"at least one weight must be positive, got {self.terms}")

    @property
    def bound(self) -> float:
        """S is never more: every score is at most 1."""
        return float(sum(weight for weight, _ in self.terms))

    def __call__(self, q: Array, target: Array) -> Array:
        """S (m,) in [0, bound]."""
        return sum((weight * score(q, target) for weight, score in self.terms), np.zeros(len(q)))


@dataclass(frozen=True)
class HardThreshold:
    """A weight for ``Weighted``: 1 where S >= ``threshold``, else 0."""

    score: WeightedSum
    threshold: float

    def __post_init__(self) -> None:
        if not 0.0 <= self.threshold <= self.score.bound:
            raise ValueError(
                f"threshold must be in [0, {self.score.bound:g}], got {self.threshold:g}"
            )

    def __call__(self, q: Array, target: Array) -> Array:
        """(m,)."""
        return (self.score(q, target) >= self.threshold).astype(np.float64)


@dataclass(frozen=True)
class SoftAcceptance:
    """A weight for ``Weighted``: S / bound; the rows' density is then p S / (mean of S under p)."""

    score: WeightedSum

    def __call__(self, q: Array, target: Array) -> Array:
        """(m,)."""
        return np.minimum(self.score(q, target) / self.score.bound, 1.0)


def _positive(name: str, value: float) -> None:
    if not (isfinite(value) and value > 0.0):
        raise ValueError(f"{name} must be positive, got {value:g}")


def _numbers(name: str, values: Array, count: int) -> Array:
    array = frozen(values)
    if array.shape != (count,) or not np.isfinite(array).all():
        raise ValueError(f"{name} must be {count} finite numbers, got {values}")
    return array
