"""View: one joint group of a robot in a CollisionWorld, as the kernel sees it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import comb, isfinite
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from galley.domain.frames import Array
from galley.worlds.checker import Contact, Pair, pair
from galley.worlds.kernel.arrays import ROUNDING, CollisionQuery, Obstacles, Robot
from galley.worlds.moving_bodies import MovingBodies

LANES = 16


class Nearby(NamedTuple):
    """Pairs of bodies that are near each other.

    Attributes:
        row: (p,) which of the configurations.
        distance: (p,) metres, negative where they overlap.
        required: (p,) metres that the two must keep at sampled states.
        gradient: (p, k) how the distance grows with each joint, metres a radian or metre.
    """

    row: NDArray[np.int64]
    distance: Array
    required: Array
    gradient: Array


@dataclass(frozen=True, eq=False)
class View:
    """Made by ``CollisionWorld.view``. One thread at a time: it holds room to work in.

    Attributes:
        group: name of the joint group, ``base+arm`` for two.
        moving: positions in q of its joints (k,).
        moving_bodies: what moves. bodies: names of what stands still.
        robot, obstacles, query: the kernel's arrays.
        table: their addresses, which is what compiled planners are handed.
    """

    group: str
    moving: NDArray[np.int64]
    moving_bodies: MovingBodies
    bodies: tuple[str, ...]
    robot: Robot
    obstacles: Obstacles
    query: CollisionQuery
    table: NDArray[np.int64]

    @cached_property
    def rough(self) -> View:
        """The same view by the spheres alone, which is faster. They share their scratch."""
        margins = self.query.margins.copy()
        margins[2] = 0.0
        return self._with("margins", margins)

    @cached_property
    def fine(self) -> View:
        """The same view at half the step; as long as this one, whose tables name its arrays."""
        return self.finer(0.5)

    def finer(self, factor: float) -> View:
        """The same view, edges checked at ``factor`` times the step. They share their scratch."""
        return self._with("step", self.query.step * factor)

    def _with(self, field: str, values: NDArray[Any]) -> View:
        """The same view with another array, of the same shape and type, for one field."""
        from galley.worlds.kernel.packed import ROW

        table = self.table.copy()
        table[ROW[field], 0] = values.ctypes.data
        arrays: dict[str, Any] = {field: values}
        return replace(self, query=self.query._replace(**arrays), table=table)

    def free(self, q: ArrayLike) -> bool:
        """Whether one configuration (k,) keeps the margin."""
        from galley.worlds.kernel.edges import state_free

        return bool(state_free(self.table, _row(q, len(self.moving))))

    def free_many(self, states: ArrayLike) -> NDArray[np.bool_]:
        """Which of many configurations (m, k) keep the margin: (m,)."""
        from galley.worlds.kernel.edges import states_free

        rows = _rows(states, len(self.moving))
        out = np.empty(len(rows), dtype=np.bool_)
        states_free(self.table, rows, out)
        return out

    def edges_free(self, A: ArrayLike, B: ArrayLike, exact: bool = False) -> NDArray[np.bool_]:
        """Which straight edges from A (m, k) to B (m, k) are free at the step: (m,). Sampled.

        For guidance: by the spheres alone, unless ``exact``.
        """
        from galley.worlds.kernel.edges import segments_free

        a, b = _rows(A, len(self.moving)), _rows(B, len(self.moving))
        out = np.empty(len(a), dtype=np.bool_)
        table = self.table if exact else self.rough.table
        segments_free(table, a, b, out)
        return out

    def unproven(
        self, points: ArrayLike, required: float | None = None
    ) -> tuple[int, float] | None:
        """Where a polygonal path (n, k) can't be proven free.

        Args:
            required: metres that all must keep; the margin where omitted.

        Returns:
            None if all is proven, else the first such edge's index, and the share of it, in
            [0, 1], of a state on it that could not be proven.
        """
        from galley.worlds.kernel.edges import path_proven

        rows = _rows(points, len(self.moving))
        wanted = self._wanted(required)
        edge, share, _ = path_proven(self.table, rows, wanted)
        return None if edge < 0 else (int(edge), float(share))

    def curve_unproven(
        self, breaks: ArrayLike, coefficients: ArrayLike, required: float | None = None
    ) -> float | None:
        """Where a piecewise polynomial curve can't be proven free, between samples too.

        Args:
            breaks: (n + 1,) parameter values at which the pieces begin and end.
            coefficients: (n, d + 1, k), of powers of the parameter since the piece's beginning.
            required: metres that all must keep; the margin where omitted.

        Returns:
            None if all is proven, else the parameter of the first state that could not be.
        """
        from galley.worlds.kernel.edges import curve_proven

        ends = _plain(breaks)
        pieces = _plain(coefficients)
        if pieces.ndim != 3 or pieces.shape[2] != len(self.moving) or len(ends) != len(pieces) + 1:
            raise ValueError(
                f"a curve of this group has n + 1 breaks and coefficients (n, d + 1, "
                f"{len(self.moving)}), got shapes {ends.shape} and {pieces.shape}"
            )
        lengths = np.diff(ends)
        if len(lengths) == 0 or not (lengths > 0.0).all():
            raise ValueError("a curve has at least one piece, and breaks that increase")
        pieces *= lengths[:, None, None] ** np.arange(pieces.shape[1])[None, :, None]
        wanted = self._wanted(required) + self._rounding_of(pieces)
        piece, share, _ = curve_proven(self.table, pieces, steepest(pieces), wanted)
        return None if piece < 0 else float(ends[piece] + share * lengths[piece])

    def _wanted(self, required: float | None) -> float:
        """Metres to prove; the margin where nothing is said."""
        if required is None:
            return float(self.query.margins[0]) - ROUNDING
        if not (isfinite(required) and required >= 0.0):  # NaN would prove anything
            raise ValueError(f"required must be a finite number of metres from 0, got {required}")
        return required

    def _rounding_of(self, pieces: Array) -> float:
        """Metres by which float32 may misplace a point when it evaluates these polynomials."""
        sizes = np.abs(pieces).sum(axis=1).max(axis=0)  # (k,) what Horner's rule adds up
        return float((self.query.reach @ (sizes * pieces.shape[1] * 2.0**-23)).max(initial=0.0))

    def nearby(self, states: ArrayLike, within: float) -> Nearby:
        """Pairs that are nearer than what they must keep plus ``within`` metres, with gradients.

        For configurations (m, k). A body of several solids has a row for each that is near.
        """
        return self._nearby(_rows(states, len(self.moving)), within, False)

    def _nearby(self, rows: Array, within: float, least: bool) -> Nearby:
        """See ``kernel.contacts.nearby``."""
        from galley.worlds.kernel.contacts import DISTANCE, REQUIRED, ROW, WAY, nearby
        from galley.worlds.kernel.separation import WITNESS_SCRATCH

        every, carries, room = (
            self.moving_bodies.every,
            self.moving_bodies.carries,
            np.empty(WITNESS_SCRATCH),
        )
        size = 32 * len(rows) + 64
        while True:
            out = np.empty((size, WAY + len(self.moving)))
            count = int(nearby(self.table, every, carries, rows, within, least, room, out))
            if count <= size:
                break
            size = count
        out = out[:count]
        return Nearby(
            out[:, ROW].astype(np.int64),
            out[:, DISTANCE],
            out[:, REQUIRED],
            out[:, WAY:],
        )

    def contacts(self, q: ArrayLike, within: float | None = None) -> tuple[Contact, ...]:
        """Pairs nearer than ``within`` metres (default: the margin) at q (k,), nearest first.

        Distances are the hulls' where things are apart, and where they overlap minus the depth of
        the deepest sphere. The robot's own parts count where they are within 2 mm.
        """
        from galley.worlds.kernel.contacts import distances_at

        query = self.query
        margin = float(query.margins[0]) if within is None else within
        full = np.array(query.q)
        full[self.moving] = _row(q, len(self.moving))
        P, B = len(self.moving_bodies.names), len(self.bodies)
        cap = max(margin, float(query.margins[1])) + 1e-3
        scene = np.empty((P, max(B, 1)))
        between = np.empty((P, P))
        distances_at(self.table, self.moving_bodies.every, full, cap, scene, between)
        found: dict[Pair, float] = {}
        names = self.moving_bodies.names
        for i, j in zip(*np.nonzero(scene[:, :B] < margin), strict=True):
            _enter(found, names[i], self.bodies[j], float(scene[i, j]))
        own = self.moving_bodies.own
        limits = np.full((P, P), float(query.margins[1]))
        limits[own:] = limits[:, own:] = margin  # what rides keeps the full margin
        for i, j in zip(*np.nonzero(between < limits), strict=True):
            _enter(found, names[i], names[j], float(between[i, j]))
        contacts = [Contact(a, b, d) for (a, b), d in found.items()]
        return tuple(sorted(contacts, key=lambda c: c.distance))

    def clearances(self, states: ArrayLike, cap: float = 0.3) -> Array:
        """Least distances (m,), at most ``cap``, between what moves and what stands still.

        For configurations (m, k). Those of the hulls; where they overlap minus the depth along a
        face's normal.
        """
        rows = _rows(states, len(self.moving))
        near = self._nearby(rows, cap - float(self.query.margins[0]), True)
        out = np.full(len(rows), cap)
        np.minimum.at(out, near.row, near.distance)
        return out

    def clearance(self, q: ArrayLike, cap: float = 0.3) -> float:
        """``clearances`` of one configuration (k,)."""
        return float(self.clearances(_row(q, len(self.moving))[None], cap)[0])


def steepest(pieces: Array) -> Array:
    """Bounds (n, k) on the magnitude of the derivatives of polynomials (n, d + 1, k) on [0, 1].

    By the convex hull of the derivative's coefficients in Bernstein's basis.
    """
    degree = pieces.shape[1] - 1
    if degree == 0:
        return np.zeros((pieces.shape[0], pieces.shape[2]))
    slopes = pieces[:, 1:] * np.arange(1, degree + 1)[None, :, None]
    basis = np.array(
        [[comb(i, j) / comb(degree - 1, j) for j in range(degree)] for i in range(degree)]
    )
    return np.ascontiguousarray(np.abs(np.einsum("ij,njk->nik", basis, slopes)).max(axis=1))


def _enter(found: dict[Pair, float], a: str, b: str, distance: float) -> None:
    key = pair(a, b)
    if distance < found.get(key, np.inf):
        found[key] = distance


def _row(q: ArrayLike, k: int) -> Array:
    row = _plain(q)
    if row.shape != (k,):
        raise ValueError(f"a configuration of this group has {k} values, got shape {row.shape}")
    return row


def _rows(states: ArrayLike, k: int) -> Array:
    rows = _plain(states)
    if rows.ndim != 2 or rows.shape[1] != k:
        raise ValueError(f"configurations of this group are (m, {k}), got shape {rows.shape}")
    return rows


def _plain(numbers: ArrayLike) -> Array:
    """A writable copy, rows contiguous: Numba would compile anew for read-only arrays."""
    found = np.array(numbers, dtype=np.float64, order="C")
    if not np.isfinite(found).all():  # compiled comparisons would call NaN free
        raise ValueError("a configuration must be made of finite numbers")
    return found
