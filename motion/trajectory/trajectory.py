"""Trajectory: the positions of a joint group over time, as a piecewise polynomial.

``trajectory(t, order)`` evaluates it or a derivative. The functions below the class work on many
polynomials at once: rows (d + 1,) of coefficients, lowest power first, over the unit interval.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import comb
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from galley.domain.errors import BadInput
from galley.domain.frames import Array, frozen
from galley.domain.npz_columns import Columns, read_columns, write_columns
from galley.robots.model import JointGroup

_CELLS = 32  # parts of a piece on which speed is bounded: 6 % too high for a quintic from rest
_PARTS = 8  # of a piece on which its length is integrated
_NO_POWER = 1e-12  # share of the largest coefficient below which a power is rounding


class TrajectorySamples(NamedTuple):
    """The states of a trajectory at m times.

    Attributes:
        times: seconds from the start (m,).
        positions: joint positions (m, k), rad or m.
        velocities: joint velocities (m, k), rad/s or m/s.
        accelerations: joint accelerations (m, k), rad/s^2 or m/s^2.
    """

    times: Array
    positions: Array
    velocities: Array
    accelerations: Array


@dataclass(frozen=True)
class Trajectory:
    """Joint positions over time, as a polynomial on each of n pieces.

    Attributes:
        group: name of the joint group.
        breaks: ends of the pieces (n + 1,), seconds, strictly increasing from 0.
        coefficients: (n, d + 1, k): on piece i the position is the sum over p of
            ``coefficients[i, p] * (t - breaks[i]) ** p``. n >= 1: a trajectory at rest is one
            constant piece.

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
        """Time from the start to the end, seconds."""
        return float(self.breaks[-1])

    def __call__(self, t: float | Array, order: int = 0) -> Array:
        """Position (order 0), velocity (1), acceleration (2) or jerk (3) at t (s): (..., k).

        Times outside [0, duration] count as the nearer end.

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
            rows = _derived(rows)
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
        """Largest magnitude (k,) of each joint's derivative of that order, at any time.

        Exact: a polynomial's extremes lie at its ends and at the roots of its derivative.
        """
        low, high = self._ranges(order)
        return np.maximum(-low, high)

    def extremes(self) -> tuple[Array, Array]:
        """Lowest and highest position (k,), (k,) of each joint at any time; exact as ``peaks``."""
        return self._ranges(0)

    def _ranges(self, order: int) -> tuple[Array, Array]:
        """Lowest and highest value (k,), (k,) of each joint's derivative of that order."""
        rows = self.coefficients
        for _ in range(order):
            rows = _derived(rows)
        spans = np.diff(self.breaks)[:, None] ** np.arange(rows.shape[1])
        unit = np.moveaxis(rows * spans[:, :, None], 1, 2).reshape(-1, rows.shape[1])
        low, high = ranges(unit)
        k = rows.shape[2]
        return low.reshape(-1, k).min(axis=0), high.reshape(-1, k).max(axis=0)

    def length(self) -> float:
        """Length of the curve in joint space: the integral of the speed's Euclidean norm.

        By Gauss's quadrature on eighths of each piece: exact to rounding where the speed is smooth,
        to about 1e-3 where a joint turns back while the others are at rest.
        """
        nodes, weights = np.polynomial.legendre.leggauss(8)
        u = (np.arange(_PARTS)[:, None] + 0.5 * (1.0 + nodes)).ravel() / _PARTS
        spans = np.diff(self.breaks)[:, None]
        speed = np.linalg.norm(self(self.breaks[:-1, None] + spans * u, 1), axis=2)
        return float((spans * speed * np.tile(weights, _PARTS)).sum() / (2 * _PARTS))

    def resampled(self, step: float | Array) -> tuple[Array, Array]:
        """States along the curve, between which no joint travels more than ``step``.

        Travel back and forth counts: within an interval no joint is farther than ``step`` from the
        states at its ends. Upper bounds of every joint's speed on each 1/32 of each piece guarantee
        that; there are a few percent more states than the fewest possible.

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
        scale = np.diff(self.breaks)[:, None] ** powers * powers
        rates = self.coefficients[:, 1:] * scale[..., None]
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

    def sampled(self, dt: float) -> TrajectorySamples:
        """The trajectory at 0, dt, 2 dt, ... and, exactly, at its end.

        The last interval is the remainder, in (0, dt].

        Args:
            dt: seconds, greater than 0.
        """
        if not (np.isfinite(dt) and dt > 0.0):
            raise ValueError(f"dt must be greater than 0, got {dt}")
        count = max(1, int(np.ceil(self.duration / dt - 1e-6)))
        times = np.append(np.arange(count) * dt, self.duration)
        return TrajectorySamples(times, self(times), self(times, 1), self(times, 2))

    def joined(self, *others: Trajectory, tolerance: float = 1e-6) -> Trajectory:
        """This trajectory followed by the others, as one.

        Args:
            others: trajectories of the same group; each begins where the one before it ends.
            tolerance: how far (rad or m) positions may differ there. Velocities are not compared:
                planned motions begin and end at rest.

        Raises:
            ValueError: a trajectory is of another group, or does not begin where the one before it
                ends.
        """
        if not others:
            return self
        parts = (self, *others)
        for a, b in itertools.pairwise(parts):
            if a.group != b.group or a.coefficients.shape[2] != b.coefficients.shape[2]:
                raise ValueError(f"can't join a trajectory of '{b.group}' to one of '{a.group}'")
            gap = float(np.abs(b.coefficients[0, 0] - a.end).max())
            if not gap <= tolerance:
                raise ValueError(f"a trajectory begins {gap:.3g} away from the end of the last one")
        powers = max(part.coefficients.shape[1] for part in parts)
        breaks, pieces = [np.zeros(1)], []
        for part in parts:
            breaks.append(breaks[-1][-1] + part.breaks[1:])
            n, size, k = part.coefficients.shape
            pieces.append(np.concatenate([part.coefficients, np.zeros((n, powers - size, k))], 1))
        return Trajectory(self.group, np.concatenate(breaks), np.concatenate(pieces))

    def save(self, path: Path | str) -> None:
        """Write the trajectory as npz, atomically: ``write_trajectories`` with this one alone.

        Raises:
            BadInput: ``path`` can't be written.
        """
        write_trajectories(path, [self])

    @classmethod
    def load(cls, path: Path | str) -> Trajectory:
        """Read a trajectory from a file that ``save`` wrote.

        Raises:
            BadInput: no such file, another format, or several trajectories.
        """
        trajectories, _ = read_trajectories(path)
        if len(trajectories) != 1:
            raise BadInput.one(path, f"holds {len(trajectories)} trajectories, expected one")
        return trajectories[0]


def write_trajectories(
    path: Path | str, trajectories: Sequence[Trajectory], more: Mapping[str, Any] | None = None
) -> None:
    """Write trajectories as npz of numbers and text, atomically; no suffix is appended.

    The column ``group`` (m,) names the joint group of each; trajectory k has the columns
    ``k_breaks`` (n + 1,) and ``k_coefficients`` (n, d + 1, joints).

    Args:
        more: further columns, numbers or text.

    Raises:
        BadInput: ``path`` can't be written.
    """
    columns: dict[str, Any] = {"group": np.array([t.group for t in trajectories], dtype=np.str_)}
    for k, trajectory in enumerate(trajectories):
        columns[f"{k}_breaks"] = trajectory.breaks
        columns[f"{k}_coefficients"] = trajectory.coefficients
    write_columns(path, columns | dict(more or {}))


def read_trajectories(path: Path | str) -> tuple[tuple[Trajectory, ...], Columns]:
    """The trajectories of a file, and all its columns.

    Raises:
        BadInput: no such file, another format, or numbers that make no trajectory.
    """
    with read_columns(path, "holds no trajectories") as columns:
        trajectories = tuple(
            Trajectory(
                group,
                columns.numbers(f"{k}_breaks", (None,)),
                columns.numbers(f"{k}_coefficients", (None, None, None)),
            )
            for k, group in enumerate(columns.texts("group", (None,)).tolist())
        )
    return trajectories, columns


def limit_ratios(trajectory: Trajectory, group: JointGroup) -> tuple[float, float, float]:
    """Peak velocity, acceleration and jerk as shares of the limits; of all joints the largest."""
    limits = (group.velocity, group.acceleration, group.jerk)
    v, a, j = (float((trajectory.peaks(k + 1) / limits[k]).max()) for k in range(3))
    return v, a, j


def slowed(trajectory: Trajectory, factor: float) -> Trajectory:
    """The same curve, taking ``factor`` times as long."""
    powers = factor ** -np.arange(trajectory.coefficients.shape[1], dtype=np.float64)
    coefficients = trajectory.coefficients * powers[None, :, None]
    return Trajectory(trajectory.group, trajectory.breaks * factor, coefficients)


def ranges(rows: Array) -> tuple[Array, Array]:
    """The lowest and the highest value (m,), (m,) on [0, 1] of polynomials (m, d + 1).

    Exact up to rounding: extremes lie at the ends and at the roots of the derivative.
    """
    u = np.column_stack([np.zeros(len(rows)), np.ones(len(rows)), _turning_points(rows)])
    values = np.zeros_like(u)
    for p in range(rows.shape[1] - 1, -1, -1):  # Horner
        values = values * u + rows[:, p : p + 1]
    return np.asarray(values.min(axis=1)), np.asarray(values.max(axis=1))


def _derived(rows: Array) -> Array:
    """Coefficients of the derivatives of polynomials (m, d + 1, ...), lowest power first."""
    if rows.shape[1] == 1:
        return np.zeros_like(rows)
    powers = np.arange(1, rows.shape[1]).reshape(-1, *[1] * (rows.ndim - 2))
    return np.asarray(rows[:, 1:] * powers)


def _turning_points(rows: Array) -> Array:
    """Where polynomials (m, d + 1) may have extremes in [0, 1]: (m, d); unused entries are 0.

    Real parts of complex roots are among them: rounding may move a double root off the axis. Extra
    points do no harm, as the caller takes the extremes of all values.
    """
    slopes = _derived(rows)
    solid = np.abs(slopes) > _NO_POWER * np.abs(slopes).max(axis=1, keepdims=True)
    degree = np.where(solid.any(axis=1), slopes.shape[1] - 1 - solid[:, ::-1].argmax(axis=1), 0)
    turning = np.zeros((len(rows), slopes.shape[1]))
    for d in range(1, slopes.shape[1]):
        rows_of_degree = np.nonzero(degree == d)[0]
        # Roots are the eigenvalues of the companion matrix; for d = 1 it is the root itself.
        companion = np.zeros((len(rows_of_degree), d, d))
        companion[:, np.arange(1, d), np.arange(d - 1)] = 1.0
        companion[:, :, -1] = -slopes[rows_of_degree, :d] / slopes[rows_of_degree, d : d + 1]
        roots = companion[:, 0] if d == 1 else np.linalg.eigvals(companion).real
        turning[rows_of_degree, :d] = np.clip(roots, 0.0, 1.0)
    return turning


def bounds(rows: Array, cells: int) -> Array:
    """Upper bounds (m, cells) of polynomials' magnitudes on ``cells`` equal parts of [0, 1].

    The largest Bernstein coefficient of each part: never too low, and with growing ``cells`` the
    excess vanishes with their square (G. Farin, Curves and Surfaces for CAGD, section 6.10).
    """
    matrices = _to_bernstein(rows.shape[1] - 1, cells)
    return np.asarray(np.abs(np.einsum("cip,mp->mci", matrices, rows)).max(axis=2))


@cache
def _to_bernstein(degree: int, cells: int) -> Array:
    """From powers on [0, 1] to Bernstein form on each cell: (cells, degree + 1, degree + 1)."""
    n = degree + 1
    convert = np.array([[comb(i, p) / comb(degree, p) for p in range(n)] for i in range(n)])
    matrices = np.empty((cells, n, n))
    for c in range(cells):
        start, size = c / cells, 1.0 / cells
        # u = start + size w: the coefficient of w^p that u^s brings.
        shift = [
            [comb(s, p) * start ** (s - p) * size**p if s >= p else 0.0 for s in range(n)]
            for p in range(n)
        ]
        matrices[c] = convert @ np.array(shift)
    matrices.setflags(write=False)
    return matrices
