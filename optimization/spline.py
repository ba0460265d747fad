"""Cubic B-splines of a parameter u in [0, 1] that rest at both ends.

Cubic is the natural degree for bounded jerk: the jerk is constant between knots, the acceleration
a straight line, so that bounds on their control points are bounds on them and cost nothing. Three
equal control points at each end make velocity and acceleration zero there. The first and last spans
are shorter than the others, so that a motion gets under way quickly.

C. de Boor, "A Practical Guide to Splines" (1978), for the basis and its derivatives.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.interpolate import BSpline

from galley.domain.frames import Array, frozen
from galley.motion.trajectory.trajectory import Trajectory

DEGREE = 3
FIXED = 3  # control points at each end that the ends decide
_END = 0.12  # length of the first and last span, as a share of the others'


@dataclass(frozen=True, eq=False)
class SplineSpace:
    """All such splines with the same knots.

    Attributes:
        breaks: (n + 1,) where the pieces begin and end, from 0 to 1.
        knots: (n + 7,) the same with each end four times.
        derivatives: for order 0 to 3 the matrix from control points to the derivative's control
            points, which are bounds on it.
        powers: for order 0 to 3 (n, n + 3): from control points to the derivative at the beginning
            of each piece, divided by the order's factorial.
    """

    breaks: Array
    knots: Array
    derivatives: tuple[Array, ...]
    powers: tuple[Array, ...]

    @property
    def size(self) -> int:
        """Number of control points."""
        return len(self.breaks) + 2

    @property
    def abscissae(self) -> Array:
        """Where each control point stands (Greville): a straight line's are on the line there."""
        size = self.size
        return np.array([self.knots[i + 1 : i + 1 + DEGREE].mean() for i in range(size)])

    def basis(self, u: Array) -> Array:
        """From control points to values at u (m,): (m, n + 3)."""
        inside = np.clip(u, 0.0, 1.0)
        return np.asarray(BSpline.design_matrix(inside, self.knots, DEGREE).toarray())

    def samples(self, each: int) -> Array:
        """Parameters (m,): ``each`` in every piece, and the end."""
        inner = np.arange(each) / each
        u = self.breaks[:-1, None] + np.diff(self.breaks)[:, None] * inner
        return np.append(u.ravel(), 1.0)

    def trajectory(self, group: str, points: Array, duration: float) -> Trajectory:
        """The spline with these control points (n + 3, k), run through in ``duration`` seconds."""
        pieces = [power @ points / duration**order for order, power in enumerate(self.powers)]
        return Trajectory(group, self.breaks * duration, np.stack(pieces, axis=1))


@lru_cache(maxsize=32)
def spline_space(pieces: int) -> SplineSpace:
    """The space of splines of so many pieces."""
    lengths = np.ones(pieces)
    lengths[0] = lengths[-1] = _END
    breaks = np.concatenate([[0.0], np.cumsum(lengths)]) / lengths.sum()
    breaks[-1] = 1.0
    knots = np.concatenate([np.zeros(DEGREE), breaks, np.ones(DEGREE)])
    derivatives, powers = [np.eye(pieces + DEGREE)], []
    own, factorial = knots, 1.0
    for order in range(DEGREE + 1):
        degree = DEGREE - order
        at = BSpline.design_matrix(breaks[:-1], own, degree).toarray()
        powers.append(frozen(at @ derivatives[-1] / factorial))
        factorial *= order + 1
        if degree > 0:
            derivatives.append(_difference(own, degree) @ derivatives[-1])
            own = own[1:-1]
    return SplineSpace(
        frozen(breaks), frozen(knots), tuple(frozen(d) for d in derivatives), tuple(powers)
    )


def _difference(knots: Array, degree: int) -> Array:
    """From a spline's control points to those of its derivative, with the knots' ends left out."""
    rows = len(knots) - degree - 2
    scale = degree / (knots[degree + 1 : degree + 1 + rows] - knots[1 : 1 + rows])
    D = np.zeros((rows, rows + 1))
    D[np.arange(rows), np.arange(rows)] = -scale
    D[np.arange(rows), np.arange(rows) + 1] = scale
    return D
