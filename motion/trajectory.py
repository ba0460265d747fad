"""Trajectory: a curve in time, piecewise polynomial. Callable as ``trajectory(t, order)``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from galley.domain.frames import Array, frozen
from galley.robots.model import JointGroup


@dataclass(frozen=True)
class Trajectory:
    """Joint positions over time.

    Attributes:
        group: name of the joint group.
        breaks: (n + 1,) seconds, strictly increasing from 0.
        coefficients: (n, d + 1, k): on piece i the position is the sum over p of
            ``coefficients[i, p] * (t - breaks[i]) ** p``. n = 0 is never used: standing still is
            one piece with constant coefficients.
    """

    group: str
    breaks: Array
    coefficients: Array

    def __post_init__(self) -> None:
        if self.coefficients.ndim != 3 or len(self.breaks) != len(self.coefficients) + 1:
            raise ValueError("needs coefficients (n, d + 1, k) and n + 1 breaks")
        if (np.diff(self.breaks) <= 0).any():
            raise ValueError("breaks must increase strictly")
        object.__setattr__(self, "breaks", frozen(self.breaks))
        object.__setattr__(self, "coefficients", frozen(self.coefficients))

    @property
    def duration(self) -> float:
        """Seconds."""
        return float(self.breaks[-1])

    def __call__(self, t: float | Array, order: int = 0) -> Array:
        """Position (order 0), velocity (1), acceleration (2) or jerk (3) at t (s): (..., k).

        Times outside [0, duration] give the ends.
        """
        t = np.clip(np.asarray(t, dtype=np.float64), 0.0, self.duration)
        piece = np.clip(
            np.searchsorted(self.breaks, t, side="right") - 1, 0, len(self.coefficients) - 1
        )
        local = (t - self.breaks[piece])[..., None]
        derived = self.coefficients
        for _ in range(order):
            powers = np.arange(1, derived.shape[1])
            derived = derived[:, 1:] * powers[None, :, None]
        value = np.zeros((*t.shape, self.coefficients.shape[2]))
        for p in range(derived.shape[1] - 1, -1, -1):  # Horner
            value = value * local + derived[piece, p]
        return value

    def peaks(self, order: int) -> Array:
        """Largest magnitude (k,) of the derivative of that order over the whole trajectory.

        Exact: a polynomial's extremes lie at its ends and at the roots of its derivative.
        """
        spans = np.diff(self.breaks)
        n, size, k = self.coefficients.shape
        # Scaled to u = t / span: coefficients of like size, so that trimming noise is safe.
        rows = self.coefficients * (spans[:, None] ** np.arange(size))[:, :, None]
        rows = np.moveaxis(rows, 1, 2).reshape(n * k, size)
        for _ in range(order):
            rows = _derived(rows)
        largest = _largest(rows).reshape(n, k) / (spans**order)[:, None]
        return np.asarray(largest.max(axis=0))


def _derived(rows: Array) -> Array:
    """Coefficients (m, d) of the derivatives of polynomials (m, d + 1), lowest power first."""
    if rows.shape[1] == 1:
        return np.zeros_like(rows)
    return np.asarray(rows[:, 1:] * np.arange(1, rows.shape[1]))


def _largest(rows: Array) -> Array:
    """The largest magnitude (m,) on [0, 1] of polynomials (m, d + 1), all at once."""
    best = np.maximum(np.abs(rows[:, 0]), np.abs(rows.sum(axis=1)))
    slopes = _derived(rows)
    scale = np.abs(slopes).max(axis=1, initial=0.0)
    solid = np.abs(slopes) > 1e-12 * scale[:, None]
    degree = np.where(solid.any(axis=1), slopes.shape[1] - 1 - solid[:, ::-1].argmax(axis=1), 0)
    for d in range(1, slopes.shape[1]):
        of = np.nonzero(degree == d)[0]
        if len(of):
            u = np.clip(_real_roots(slopes[of, : d + 1]), 0.0, 1.0)
            value = np.zeros_like(u)
            for p in range(rows.shape[1] - 1, -1, -1):  # Horner
                value = value * u + rows[of, p : p + 1]
            best[of] = np.maximum(best[of], np.abs(value).max(axis=1))
    return np.asarray(best)


def _real_roots(rows: Array) -> Array:
    """The roots (m, d) of polynomials (m, d + 1); 0 stands for those that aren't real."""
    d = rows.shape[1] - 1
    if d == 1:
        return np.asarray(-rows[:, :1] / rows[:, 1:])
    companion = np.zeros((len(rows), d, d))
    companion[:, np.arange(1, d), np.arange(d - 1)] = 1.0
    companion[:, :, -1] = -rows[:, :-1] / rows[:, -1:]
    roots = np.linalg.eigvals(companion)
    return np.where(np.abs(roots.imag) < 1e-9, roots.real, 0.0)


def limit_ratios(trajectory: Trajectory, group: JointGroup) -> tuple[float, float, float]:
    """Peak velocity, acceleration and jerk as ratios to the group's limits."""
    limits = (group.velocity, group.acceleration, group.jerk)
    v, a, j = (float((trajectory.peaks(k + 1) / limits[k]).max()) for k in range(3))
    return v, a, j


def slowed(trajectory: Trajectory, factor: float) -> Trajectory:
    """The same curve, taking ``factor`` times as long."""
    powers = factor ** -np.arange(trajectory.coefficients.shape[1], dtype=np.float64)
    return Trajectory(
        trajectory.group,
        trajectory.breaks * factor,
        trajectory.coefficients * powers[None, :, None],
    )
