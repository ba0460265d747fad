"""Trajectory: a curve in time, piecewise polynomial. Callable as ``trajectory(t, order)``.

Its polynomials are rows (d + 1,) of coefficients, lowest power first, over the unit interval; many
are processed at once.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cache
from math import comb
from pathlib import Path
from typing import NamedTuple

import numpy as np

from galley.compiled.build import TIMING, ensure
from galley.domain.errors import BadInput
from galley.domain.frames import Array, frozen
from galley.motion.trajectory.archive import read_archive, write_archive
from galley.robots.model import JointGroup

_CELLS = 32  # parts of a piece on which speed is bounded: 6 % too high for a quintic at rest


class Samples(NamedTuple):
    """A trajectory at m times: times (m,) in seconds, the rest (m, k)."""

    times: Array
    positions: Array
    velocities: Array
    accelerations: Array


@dataclass(frozen=True)
class Trajectory:
    """Joint positions over time.

    Attributes:
        group: name of the joint group.
        breaks: (n + 1,) seconds, strictly increasing from 0.
        coefficients: (n, d + 1, k): on piece i the position is the sum over p of
            ``coefficients[i, p] * (t - breaks[i]) ** p``. n >= 1: at rest is one constant piece.

    Raises:
        ValueError: shapes that don't fit, no piece, numbers that are not finite, or times that
            don't increase from 0.
    """

    group: str
    breaks: Array
    coefficients: Array

    def __post_init__(self) -> None:
        if self.coefficients.ndim != 3 or len(self.breaks) != len(self.coefficients) + 1:
            raise ValueError("needs coefficients (n, d + 1, k) and n + 1 breaks")
        if 0 in self.coefficients.shape:
            raise ValueError("needs a piece, a power and a joint at least")
        if not (np.isfinite(self.breaks).all() and np.isfinite(self.coefficients).all()):
            raise ValueError("breaks and coefficients must be finite")
        if self.breaks[0] != 0.0 or not (np.diff(self.breaks) > 0).all():
            raise ValueError("breaks must increase strictly, from 0")
        object.__setattr__(self, "breaks", frozen(self.breaks))
        object.__setattr__(self, "coefficients", frozen(self.coefficients))

    @property
    def duration(self) -> float:
        """Seconds."""
        return float(self.breaks[-1])

    def __call__(self, t: float | Array, order: int = 0) -> Array:
        """Position (order 0), velocity (1), acceleration (2) or jerk (3) at t (s): (..., k).

        Times outside [0, duration] give the ends.

        Raises:
            ValueError: ``order`` is below 0.
        """
        if order < 0:
            raise ValueError(f"order must be 0 or more, got {order}")
        t = np.clip(np.asarray(t, dtype=np.float64), 0.0, self.duration)
        piece = np.clip(
            np.searchsorted(self.breaks, t, side="right") - 1, 0, len(self.coefficients) - 1
        )
        local = (t - self.breaks[piece])[..., None]
        rows = self.coefficients
        for _ in range(order):
            powers = np.arange(1, rows.shape[1])
            rows = rows[:, 1:] * powers[None, :, None]
        value = np.zeros((*t.shape, self.coefficients.shape[2]))
        for p in range(rows.shape[1] - 1, -1, -1):  # Horner
            value = value * local + rows[piece, p]
        return value

    @property
    def start(self) -> Array:
        """Position (k,) at time 0."""
        return self(0.0)

    @property
    def end(self) -> Array:
        """Position (k,) at the end."""
        return self(self.duration)

    def peaks(self, order: int) -> Array:
        """Largest magnitude (k,) of the derivative of that order over the whole trajectory.

        Exact: a polynomial's extremes lie at its ends and at the roots of its derivative.
        """
        low, high = self._ranges(order)
        return np.maximum(-low, high)

    def extremes(self) -> tuple[Array, Array]:
        """Lowest and highest position (k,), (k,) of each joint at any time; exact as ``peaks``."""
        return self._ranges(0)

    def _ranges(self, order: int) -> tuple[Array, Array]:
        from galley.motion.kernel.curves import ranges

        ensure(TIMING)
        low, high = np.empty((2, self.coefficients.shape[2]))
        ranges(np.array(self.breaks), np.array(self.coefficients), order, low, high)
        return low, high

    def length(self) -> float:
        """Length of the curve in joint space: the integral of the speed's Euclidean norm.

        Adaptive Gauss-Legendre quadrature to 1e-10, relative.
        """
        from galley.motion.kernel.curves import length

        ensure(TIMING)
        return float(length(np.array(self.breaks), np.array(self.coefficients)))

    def resampled(self, step: float | Array) -> tuple[Array, Array]:
        """States along the curve, with no joint travelling more than ``step`` between two of them.

        Travel back and forth counts: within an interval no joint is farther than ``step`` from the
        states at its ends. Guaranteed by upper bounds of every joint's speed on each 1/32 of each
        piece; a few percent more states than the fewest possible.

        Args:
            step: rad or m, one for all joints or one each (k,); greater than 0.

        Returns:
            times (m,), from 0 to the duration, and states (m, k), m >= 2.
        """
        steps = np.broadcast_to(np.asarray(step, dtype=np.float64), self.coefficients.shape[2:])
        if not (steps > 0.0).all():
            raise ValueError(f"step must be greater than 0, got {step}")
        n, size, k = self.coefficients.shape
        # Travel over a cell, in steps: u runs over [0, 1] in a piece, over 1 / _CELLS in a cell.
        powers = np.arange(1, size)
        rates = (
            self.coefficients[:, 1:] * (np.diff(self.breaks)[:, None] ** powers * powers)[..., None]
        )
        rows = (
            np.moveaxis(rates, 1, 2).reshape(n * k, size - 1) if size > 1 else np.zeros((n * k, 1))
        )
        travel = bounds(rows, _CELLS).reshape(n, k, _CELLS) / _CELLS
        cells = (travel / steps[:, None]).max(axis=1).reshape(-1)
        along = np.concatenate([[0.0], np.cumsum(cells)])
        count = max(1, int(np.ceil(along[-1] * (1.0 + 1e-9))))
        parts = np.arange(_CELLS) / _CELLS
        ticks = (self.breaks[:-1, None] + np.diff(self.breaks)[:, None] * parts).reshape(-1)
        ticks = np.append(ticks, self.breaks[-1])
        times = np.interp(np.arange(count + 1) * (along[-1] / count), along, ticks)
        times[0], times[-1] = 0.0, self.duration
        return times, self(times)

    def sampled(self, dt: float) -> Samples:
        """The trajectory at 0, dt, 2 dt, ... and, exactly, at its end.

        The last interval is the remainder, in (0, dt].

        Args:
            dt: seconds, greater than 0.
        """
        if not (np.isfinite(dt) and dt > 0.0):
            raise ValueError(f"dt must be greater than 0, got {dt}")
        count = max(1, int(np.ceil(self.duration / dt - 1e-6)))
        times = np.append(np.arange(count) * dt, self.duration)
        return Samples(times, self(times), self(times, 1), self(times, 2))

    def joined(self, *others: Trajectory, tolerance: float = 1e-6) -> Trajectory:
        """This trajectory followed by the others.

        Args:
            others: of the same group; each begins where the one before it ends.
            tolerance: how far (rad or m) positions may differ there. Velocities are not compared:
                planned motions begin and end at rest.

        Raises:
            ValueError: of another group, or with a gap.
        """
        if not others:
            return self
        parts = (self, *others)
        for a, b in itertools.pairwise(parts):
            if a.group != b.group or a.coefficients.shape[2] != b.coefficients.shape[2]:
                raise ValueError(f"can't join a trajectory of '{b.group}' to one of '{a.group}'")
            gap = float(np.abs(b.coefficients[0, 0] - a.end).max())
            if not gap <= tolerance:
                raise ValueError(f"one ends {gap:.3g} away from where the next one begins")
        powers = max(part.coefficients.shape[1] for part in parts)
        breaks, pieces = [np.zeros(1)], []
        for part in parts:
            breaks.append(breaks[-1][-1] + part.breaks[1:])
            n, size, k = part.coefficients.shape
            pieces.append(np.concatenate([part.coefficients, np.zeros((n, powers - size, k))], 1))
        return Trajectory(self.group, np.concatenate(breaks), np.concatenate(pieces))

    def save(self, path: Path | str) -> None:
        """Write as npz (``motion.trajectory.archive``), atomically.

        Raises:
            BadInput: ``path`` can't be written.
        """
        write_archive(Path(path), [(self.group, self.breaks, self.coefficients)])

    @classmethod
    def load(cls, path: Path | str) -> Trajectory:
        """Read what ``save`` wrote.

        Raises:
            BadInput: no such file, another format, or several trajectories.
        """
        found = read_archive(Path(path)).curves
        if len(found) != 1:
            raise BadInput.one(path, f"holds {len(found)} trajectories, expected one")
        return cls(*found[0])


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


def bounds(rows: Array, cells: int) -> Array:
    """Upper bounds (m, cells) of polynomials' magnitudes on ``cells`` equal parts of [0, 1].

    The largest Bernstein coefficient of each part: never too low, and with growing ``cells`` the
    excess vanishes with their square (G. Farin, Curves and Surfaces for CAGD, section 6.10).
    """
    matrices = _to_bernstein(rows.shape[1] - 1, cells)
    return np.asarray(np.abs(np.einsum("cip,mp->mci", matrices, rows)).max(axis=2))


@cache
def _to_bernstein(degree: int, cells: int) -> Array:
    """(cells, degree + 1, degree + 1): from powers on [0, 1] to Bernstein form on each cell."""
    n = degree + 1
    convert = np.array([[comb(i, p) / comb(degree, p) for p in range(n)] for i in range(n)])
    found = np.empty((cells, n, n))
    for c in range(cells):
        start, size = c / cells, 1.0 / cells
        # u = start + size w: the coefficient of w^p that u^s brings.
        shift = [
            [comb(s, p) * start ** (s - p) * size**p if s >= p else 0.0 for s in range(n)]
            for p in range(n)
        ]
        found[c] = convert @ np.array(shift)
    found.setflags(write=False)
    return found
