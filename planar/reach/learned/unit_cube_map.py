"""The chart in which p(Q | H) is learned: a base and an elbow as a point of the unit cube.

Seen from the target, the base is at the distance r, and the elbow joint in the direction phi;
the heading is off by delta from facing the target. Then, for the elbow s = +-1,

    s (phi - zero) / 2 pi mod 1,  (r - r0) / (r1 - r0),  (F(s delta) - F(d0)) / (F(d1) - F(d0))

The direction of the elbow joint alone fixes link 2, and with r it fixes link 1. So a circular
obstacle forbids a range of phi, and for each phi a range of r. [r0, r1] is the part of the ring in
which theta2 is within its limits, [d0, d1] the arc of s delta in which theta1 is within its limits,
and F the distribution function of a wrapped Cauchy distribution of half-width ``spread`` (Mardia
and Jupp, Directional Statistics, 2000, section 3.5.7), which zooms in on headings near 0. The
limits are known exactly, so no density has to be learned outside them. ``zero`` is the direction
from which phi is measured, such as that of an obstacle. Because of the factor s, both elbows look
alike if the world has that symmetry.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import pi
from typing import Any

import numpy as np
from numpy.typing import NDArray

from galley.domain.frames import Array
from galley.planar.reach.arm import PlanarArm, turn

_INSIDE = 1e-12  # share of the cube's side that points keep from its faces, against rounding


@dataclass(frozen=True)
class UnitCubeMap:
    """Maps between Q with its target and points of the unit cube.

    Attributes:
        arm: the arm, with its joint limits, if any.
        ring: least and greatest distance between base and target, m.
        spread: half-width of the distribution that zooms in on the heading, rad, > 0.
    """

    arm: PlanarArm
    ring: tuple[float, float]
    spread: float

    @cached_property
    def rings(self) -> Array:
        """[r0, r1] (m) of the elbows + and - (2, 2); r0 >= r1 if the limits exclude the elbow."""
        if self.arm.limits is None:
            return np.array([self.ring, self.ring])
        rings = np.empty((2, 2))
        for i, elbow in enumerate((1, -1)):
            reach = np.array(self.arm.folds(elbow))  # of gamma = |theta2|
            if not len(reach):
                rings[i] = self.ring[1], self.ring[0]
                continue
            r0, r1 = self.arm.distance(np.array([reach.max(), reach.min()]))
            rings[i] = max(r0, self.ring[0]), min(r1, self.ring[1])
        return rings

    @property
    def possible(self) -> NDArray[np.bool_]:
        """Whether the limits allow the elbow + and the elbow - (2,)."""
        return np.asarray(self.rings[:, 0] < self.rings[:, 1])

    def to_cube(
        self, q: Array, target: Array, zero: Array | float = 0.0
    ) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Map rows to the cube.

        Args:
            q: (m, 5), rows x, y, psi, theta1, theta2.
            target: (2,) or (m, 2), m.
            zero: direction from the target from which phi is measured, rad.

        Returns:
            Points (m, 3); log of their volume per dx dy dpsi (m,); whether they are in the cube
            (m,).
        """
        if q.ndim != 2 or q.shape[1] != 5:
            raise ValueError(f"q must be (m, 5): x, y, psi, theta1, theta2; got {q.shape}")
        offset = q[:, :2] - target
        r, to_base = np.hypot(offset[:, 0], offset[:, 1]), np.arctan2(offset[:, 1], offset[:, 0])
        elbow = np.where(np.sin(q[:, 4]) >= 0.0, 1, -1)
        start, length, low, share = self._frame(r, elbow)
        delta = start + np.mod(elbow * turn(q[:, 2] - to_base - pi) - start, 2.0 * pi)
        point = np.empty((len(q), 3))
        point[:, 0] = np.mod((elbow * (to_base - zero) + self._apart(r)) / (2.0 * pi), 1.0)
        r0, r1 = self._ring(elbow)
        with np.errstate(divide="ignore", invalid="ignore"):
            point[:, 1] = (r - r0) / (r1 - r0)
            point[:, 2] = (self._F(delta) - low) / share
            volume = -np.log(2.0 * pi * r * (r1 - r0)) + self._log_slope(delta) - np.log(share)
        rim = 1e-9  # of the arc and the ring: rounding
        inside = ((point[:, 1:] > -rim) & (point[:, 1:] < 1.0 + rim)).all(axis=1)
        inside &= (delta <= start + length * (1.0 + rim)) & self.possible[(1 - elbow) // 2]
        return np.clip(point, 0.0, 1.0), volume, inside

    def bases(
        self,
        point: Array,
        elbow: NDArray[np.integer[Any]],
        target: Array,
        zero: Array | float = 0.0,
    ) -> Array:
        """Base poses (m, 3) of points (m, 3) and elbows (m,): the inverse of ``to_cube``."""
        point = np.clip(point, _INSIDE, 1.0 - _INSIDE)
        r0, r1 = self._ring(elbow)
        r = r0 + (r1 - r0) * point[:, 1]
        to_base = zero + elbow * (2.0 * pi * point[:, 0] - self._apart(r))
        _, _, low, share = self._frame(r, elbow)
        base = np.empty((len(point), 3))
        base[:, :2] = target + r[:, None] * np.column_stack([np.cos(to_base), np.sin(to_base)])
        base[:, 2] = turn(to_base + pi + elbow * self._inverse_F(low + share * point[:, 2]))
        return base

    def _ring(self, elbow: NDArray[np.integer[Any]]) -> tuple[Array, Array]:
        r0, r1 = self.rings[(1 - elbow) // 2].T
        return r0, r1

    def _apart(self, r: Array) -> Array:
        """The angle (rad) at the target between base and elbow joint, in [0, pi]."""
        gamma, beta = self.arm.triangle(r)
        return gamma - beta

    def _frame(
        self, r: Array, elbow: NDArray[np.integer[Any]]
    ) -> tuple[Array, float, Array, Array]:
        """The arc of s delta: start (m,) and length (rad), F at the start, and its share of F."""
        low, high = self.arm.limits[0] if self.arm.limits is not None else (-pi, pi)
        length = min(high - low, 2.0 * pi)
        if length == 2.0 * pi:
            start = np.full(len(r), -pi)
        else:  # s theta1 = -s delta - beta is in s [low, high]
            middle = turn(-0.5 * (low + high) * elbow - self.arm.triangle(r)[1])
            start = middle - 0.5 * length
        at_start = self._F(start)
        return start, length, at_start, self._F(start + length) - at_start

    @property
    def _zoom(self) -> float:
        return 1.0 / float(np.tanh(0.5 * self.spread))

    def _F(self, delta: Array) -> Array:
        """The distribution function, extended over whole turns: F(delta + 2 pi) = F(delta) + 1."""
        turns = np.rint(delta / (2.0 * pi))
        return np.asarray(turns + np.arctan(self._zoom * np.tan(0.5 * delta - pi * turns)) / pi)

    def _inverse_F(self, value: Array) -> Array:
        turns = np.rint(value)
        return np.asarray(
            2.0 * pi * turns + 2.0 * np.arctan(np.tan(pi * (value - turns)) / self._zoom)
        )

    def _log_slope(self, delta: Array) -> Array:
        zoom, half = self._zoom, 0.5 * delta
        return np.asarray(
            np.log(zoom / (2.0 * pi)) - np.log(np.cos(half) ** 2 + (zoom * np.sin(half)) ** 2)
        )
