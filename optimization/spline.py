"""Cubic B-splines of a parameter u in [0, 1], at rest at both ends.

Cubic splines suit bounded jerk: between knots the jerk is constant and the acceleration linear, so
bounds on their control points are exact bounds on them. Three equal control points at each end make
velocity and acceleration zero there. The first and last spans are shorter, so that a motion starts
quickly.

C. de Boor, "A Practical Guide to Splines" (1978), for the basis and its derivatives.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.interpolate import BSpline

from galley.domain.frames import Array, frozen
from galley.motion.trajectory.trajectory import Trajectory

DEGREE = 3
FIXED = 3  # control points at each end, equal to the end
_END = 0.12  # length of the first and last span, as a share of the others'


@dataclass(frozen=True, eq=False)
class SplineSpace:
    """All splines with the same knots, and the matrices that turn control points into curves.

    Attributes:
        breaks: (n + 1,) ends of the pieces, from 0 to 1.
        knots: (n + 7,) the breaks with each end four times.
        derivatives: for order 0 to 3 the matrix from control points to the derivative's control
            points, which bound it.
        powers: for order 0 to 3 the matrix (n, n + 3) from control points to each piece's power
            coefficient of that order.
    """

    breaks: Array
    knots: Array
    derivatives: tuple[Array, ...]
    powers: tuple[Array, ...]

    @property
    def size(self) -> int:
        """Number of control points that a spline of this space has."""
        return len(self.breaks) + 2

    @cached_property
    def abscissae(self) -> Array:
        """Greville abscissae (n + 3,): a straight line's control points are its points there."""
        return frozen([self.knots[i + 1 : i + 1 + DEGREE].mean() for i in range(self.size)])

    def basis(self, u: Array) -> Array:
        """The matrix (m, n + 3) from control points to values at u (m,)."""
        inside = np.clip(u, 0.0, 1.0)
        return np.asarray(BSpline.design_matrix(inside, self.knots, DEGREE).toarray())

    def samples(self, per_piece: int) -> Array:
        """Parameters (m,): ``per_piece`` evenly spaced ones in every piece, and the end."""
        inner = np.arange(per_piece) / per_piece
        u = self.breaks[:-1, None] + np.diff(self.breaks)[:, None] * inner
        return np.append(u.ravel(), 1.0)

    def trajectory(self, group: str, points: Array, duration: float) -> Trajectory:
        """The spline of control points (n + 3, k) as a trajectory of ``duration`` seconds."""
        pieces = [power @ points / duration**order for order, power in enumerate(self.powers)]
        return Trajectory(group, self.breaks * duration, np.stack(pieces, axis=1))


@lru_cache(maxsize=32)
def spline_space(pieces: int) -> SplineSpace:
    """The splines of ``pieces`` polynomial pieces: more follow a path more closely."""
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
        # Taylor's formula: a power's coefficient is the derivative at the break by its factorial.
        powers.append(frozen(at @ derivatives[-1] / factorial))
        factorial *= order + 1
        if degree > 0:
            derivatives.append(_difference(own, degree) @ derivatives[-1])
            own = own[1:-1]
    return SplineSpace(
        frozen(breaks), frozen(knots), tuple(frozen(d) for d in derivatives), tuple(powers)
    )


@lru_cache(maxsize=32)
def sampled_basis(space: SplineSpace, per_piece: int) -> tuple[Array, Array]:
    """``space.samples(per_piece)`` (s,) and the basis (s, m) at these parameters."""
    u = space.samples(per_piece)
    return frozen(u), frozen(space.basis(u))


def _difference(knots: Array, degree: int) -> Array:
    """The matrix from a spline's control points to those of its derivative (over inner knots)."""
    rows = len(knots) - degree - 2
    scale = degree / (knots[degree + 1 : degree + 1 + rows] - knots[1 : 1 + rows])
    D = np.zeros((rows, rows + 1))
    D[np.arange(rows), np.arange(rows)] = -scale
    D[np.arange(rows), np.arange(rows) + 1] = scale
    return D
