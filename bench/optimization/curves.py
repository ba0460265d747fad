"""Converts trajectories of other libraries to ``Trajectory``; exact, as all are polynomials."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from galley.domain.frames import Array
from galley.motion.trajectory.trajectory import Trajectory

_SHORTEST = 1e-9  # s, breaks nearer than this are one


def piecewise(
    position: Callable[[Array], Array], breaks: Array, degree: int, group: str = "arm"
) -> Trajectory:
    """The trajectory that is a polynomial of ``degree`` between each two of the breaks.

    Args:
        position: from times (m,) to positions (m, k).
        breaks: (n + 1,) seconds, from 0, at least all the places where the polynomial changes.
    """
    breaks = np.unique(np.asarray(breaks, dtype=np.float64))
    keep = np.append(np.diff(breaks) > _SHORTEST, True)
    keep[0], breaks[0] = True, 0.0
    breaks = breaks[keep]
    # Chebyshev points of the first kind: none of them on a break, where two pieces meet.
    u = 0.5 - 0.5 * np.cos((np.arange(degree + 1) + 0.5) * np.pi / (degree + 1))
    spans = np.diff(breaks)
    values = position((breaks[:-1, None] + spans[:, None] * u).ravel())
    values = np.asarray(values).reshape(len(spans), degree + 1, -1)
    coefficients = np.linalg.solve(np.vander(u, increasing=True), values)
    powers = np.arange(degree + 1)
    return Trajectory(group, breaks, coefficients / (spans[:, None] ** powers)[:, :, None])


def chained(parts: list[Trajectory]) -> Trajectory:
    """One after the other."""
    degree = max(part.coefficients.shape[1] for part in parts)
    padded = [
        np.pad(part.coefficients, ((0, 0), (0, degree - part.coefficients.shape[1]), (0, 0)))
        for part in parts
    ]
    breaks = [np.zeros(1)]
    for part in parts:
        breaks.append(breaks[-1][-1] + part.breaks[1:])
    return Trajectory(parts[0].group, np.concatenate(breaks), np.concatenate(padded))
