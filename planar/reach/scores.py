"""Scores of configurations from 0 to 1, and the filters that are made of them.

A score is a function of rows q (m, 5) and targets (m, 2) that returns (m,) in [0, 1]. Each is at
most 1, so the sum of the weights bounds the weighted sum, and no maximum over samples is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, pi

import numpy as np

from galley.domain.frames import Array
from galley.planar.reach.arm import PlanarArm
from galley.planar.reach.context import Context
from galley.planar.reach.weighted import Weight


def manipulability(q: Array, target: Array) -> Array:
    """Score |sin theta2|: the arm's manipulability L1 L2 |sin theta2| over its greatest value."""
    return np.abs(np.sin(q[:, 4]))


def area(arm: PlanarArm) -> Weight:
    """Score: distance of base and target over the arm's reach; makes bases uniform in the plane."""
    return lambda q, target: np.hypot(*(q[:, :2] - target).T) / arm.outer


def limit_margin(arm: PlanarArm) -> Weight:
    """Score: the smaller 2 min(theta - lo, hi - theta) / (hi - lo) of the joints; 0 out of limits.

    Raises:
        ValueError: the arm has no limits.
    """
    if arm.limits is None:
        raise ValueError("a margin to joint limits needs an arm with limits, got limits None")
    low, high = np.array(arm.limits).T

    def margin(q: Array, target: Array) -> Array:
        margins = 2.0 * np.minimum(q[:, 3:] - low, high - q[:, 3:]) / (high - low)
        return np.asarray(np.maximum(margins.min(axis=1), 0.0))

    return margin


def clearance(context: Context, enough: float = 0.2) -> Weight:
    """Score: clearance to the nearest obstacle over ``enough`` (m), at most 1; 0 if they touch."""
    return lambda q, target: np.clip(context.clearance(q, target) / enough, 0.0, 1.0)


def visibility(context: Context, view: float = 0.5 * pi) -> Weight:
    """Score: how far inside the field of view (full angle, rad) the target is; see ``Context``."""
    return lambda q, target: context.visibility(q, target, view)


@dataclass(frozen=True)
class Acceptance:
    """A weight for ``Weighted`` from the sum S of weight x score.

    Attributes:
        terms: pairs (weight, score).
        threshold: rows with at least this S are kept, others dropped; None: a row is kept with the
            probability S / bound, so the density of rows is p S / (mean of S under p).

    Raises:
        ValueError: a weight is negative, all are 0, or S can't reach the threshold.
    """

    terms: tuple[tuple[float, Weight], ...]
    threshold: float | None = None

    def __post_init__(self) -> None:
        for weight, _ in self.terms:
            if not (isfinite(weight) and weight >= 0.0):
                raise ValueError(f"the weight of a score must not be negative, got {weight:g}")
        if self.bound <= 0.0:
            raise ValueError(f"at least one weight must be positive, got {self.terms}")
        if self.threshold is not None and not 0.0 <= self.threshold <= self.bound:
            reason = f"threshold must be in [0, {self.bound:g}], got {self.threshold:g}"
            raise ValueError(reason)

    @property
    def bound(self) -> float:
        """Upper bound of S, the sum of the weights, because every score is at most 1."""
        return float(sum(weight for weight, _ in self.terms))

    def total(self, q: Array, target: Array) -> Array:
        """The weighted sum S (m,), in [0, bound], of rows q (m, 5) and targets (m, 2)."""
        return sum((weight * score(q, target) for weight, score in self.terms), np.zeros(len(q)))

    def __call__(self, q: Array, target: Array) -> Array:
        """Weights (m,), in [0, 1], of rows q (m, 5) and targets (m, 2)."""
        total = self.total(q, target)
        if self.threshold is None:
            return np.minimum(total / self.bound, 1.0)
        return (total >= self.threshold).astype(np.float64)
