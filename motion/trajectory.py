"""Trajectory: a curve in time, piecewise polynomial. Callable as ``trajectory(t, order)``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.polynomial import polynomial

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
        best = np.zeros(self.coefficients.shape[2])
        for i, piece in enumerate(self.coefficients):
            span = float(self.breaks[i + 1] - self.breaks[i])
            for j in range(piece.shape[1]):
                row = polynomial.polyder(piece[:, j], order)
                best[j] = max(best[j], _peak(row, span))
        return best


def _peak(row: Array, span: float) -> float:
    times = [0.0, span]
    # Scaled to u = t / span: coefficients of like size, so that trimming noise is safe.
    scaled = row * span ** np.arange(len(row))
    slope = polynomial.polyder(scaled)
    largest = np.abs(slope).max(initial=0.0)
    if largest > 0.0:
        slope = polynomial.polytrim(slope, 1e-12 * largest)
        roots = polynomial.polyroots(slope)
        real = roots[np.abs(roots.imag) < 1e-9].real
        times += [float(u) * span for u in real if 0.0 < u < 1.0]
    return float(np.abs(polynomial.polyval(np.array(times), row)).max())


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
