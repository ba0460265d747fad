"""View: collision checks, proofs and distances for one joint group in a CollisionWorld.

Each method checks its arguments and calls one function of ``collision.kernel``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from math import comb, inf, isfinite
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from galley.collision.checker import ContactPair, Pair, pair
from galley.collision.kernel.arrays import ROUNDING, KernelArrays, keeps_full_margin
from galley.collision.moving_bodies import MovingBodies
from galley.domain.frames import Array, as_input

LANES = 16
_FAR = 1e3  # m, where compiled code, which has no infinity, looks for contacts at most


class Nearby(NamedTuple):
    """Pairs of bodies that are near each other in some configurations, p in all.

    Attributes:
        row: (p,) index of the configuration.
        distance: (p,) metres, negative where they overlap.
        required: (p,) metres that the two must keep at sampled states.
        gradient: (p, k) how the distance grows with each joint, metres per radian or metre.
        part: (p,) index of the first one's part, see ``MovingBodies.names``.
        other: (p,) index of the other one's part, or ~ the index of a fixed body.
    """

    row: NDArray[np.int64]
    distance: Array
    required: Array
    gradient: Array
    part: NDArray[np.int64]
    other: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class View:
    """One joint group in a world. ``SceneKernel.checker`` makes one that is a ``Checker``.

    Made by ``CollisionWorld.view``. For one thread at a time: it owns scratch.

    Attributes:
        group: name of the joint group, ``base+arm`` for two.
        moving: positions in q of its joints (k,).
        joints: names of its joints (k,).
        moving_bodies: the tables of the robot and the attached bodies.
        bodies: names of the bodies that stand still.
        arrays: the arrays that the kernel works on.
        table: their addresses, for compiled functions.
        with_scene: (Q (m, n), scene_q (m, nj)) -> the view with the scene joints there, and the
            rows to check in it; None if scene joints can't move.
    """

    group: str
    moving: NDArray[np.int64]
    joints: tuple[str, ...]
    moving_bodies: MovingBodies
    bodies: tuple[str, ...]
    arrays: KernelArrays
    table: NDArray[np.int64]
    with_scene: Callable[[Array, Array], tuple[View, Array]] | None = None

    @cached_property
    def spheres_only(self) -> View:
        """The same view by the spheres alone, which is faster. They share their scratch."""
        margins = self.arrays.checks.margins.copy()
        margins[2] = 0.0
        return self._with("checks", margins=margins)

    @cached_property
    def fine(self) -> View:
        """The same view at half the step; kept as long as this one, for its table's arrays."""
        return self.finer(0.5)

    def between(self, low: Array, high: Array) -> View:
        """The same view with other limits, ``low`` and ``high`` (k,). They share their scratch."""
        return self._with("tree", low=low, high=high)

    def finer(self, factor: float) -> View:
        """The same view, edges sampled at ``factor`` times the step. They share their scratch."""
        return self._with("tree", step=self.arrays.tree.step * factor)

    def _with(self, part: str, **fields: NDArray[Any]) -> View:
        """The same view with other arrays for some fields of one tuple of ``arrays``."""
        from galley.collision.kernel.continuous_collision import functions
        from galley.collision.kernel.packed import pack

        changed: Any = getattr(self.arrays, part)._replace(**fields)
        arrays: Any = self.arrays._replace(**{part: changed})
        return replace(self, arrays=arrays, table=pack(arrays, functions()))

    def free(self, q: ArrayLike, scene_q: Array | None = None) -> bool:
        """Whether one configuration (k,) keeps the margin, scene joints at ``scene_q`` (nj,)."""
        from galley.collision.kernel.continuous_collision import state_free

        if scene_q is not None:
            view, rows = self._with_scene(np.asarray(q)[None], scene_q[None])
            return view.free(rows[0])
        return bool(state_free(self.table, configuration(q, len(self.moving))))

    def free_many(self, states: ArrayLike, scene_q: Array | None = None) -> NDArray[np.bool_]:
        """Which of many configurations (m, k) keep the margin, with scene joints (m, nj): (m,)."""
        from galley.collision.kernel.continuous_collision import states_free

        if scene_q is not None:
            view, moved = self._with_scene(np.asarray(states), scene_q)
            return view.free_many(moved)
        rows = configurations(states, len(self.moving))
        out = np.empty(len(rows), dtype=np.bool_)
        states_free(self.table, rows, out)
        return out

    def _with_scene(self, Q: Array, scene_q: Array) -> tuple[View, Array]:
        """The view with the scene joints at ``scene_q``, and its rows: see ``with_scene``."""
        if self.with_scene is None:
            raise ValueError("scene_q needs a view that SceneKernel.checker made")
        return self.with_scene(Q, scene_q)

    def edges_free(self, A: ArrayLike, B: ArrayLike, exact: bool = False) -> NDArray[np.bool_]:
        """Which straight edges from A (m, k) to B (m, k) are free at sampled states: (m,).

        For guidance, not a proof: see ``unproven``. A and the states up to B are a step apart; A
        itself is not checked.

        Args:
            exact: check the hulls where spheres are too near; else the spheres decide.
        """
        from galley.collision.kernel.continuous_collision import segments_free

        a, b = configurations(A, len(self.moving)), configurations(B, len(self.moving))
        out = np.empty(len(a), dtype=np.bool_)
        table = self.table if exact else self.spheres_only.table
        segments_free(table, a, b, out)
        return out

    def unproven(
        self, points: ArrayLike, required: float | None = None
    ) -> tuple[int, float] | None:
        """Where a polygonal path (n, k) can't be proven free.

        Args:
            required: metres that all must keep; the margin where omitted.

        Returns:
            None if the whole path is proven. Else the index of the first edge that isn't, and the
            share of it, in [0, 1], of a state that could not be proven.
        """
        from galley.collision.kernel.continuous_collision import path_proven

        rows = configurations(points, len(self.moving))
        least = self._required(required)
        edge, share, _ = path_proven(self.table, rows, least)
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
            None if the whole curve is proven, else the parameter of a state that could not be, in
            the first such piece.
        """
        from galley.collision.kernel.continuous_collision import curve_proven

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
        # Of a parameter in [0, 1] in each piece, as the kernel takes them.
        pieces *= lengths[:, None, None] ** np.arange(pieces.shape[1])[None, :, None]
        least = self._required(required) + self._rounding_of(pieces)
        piece, share, _ = curve_proven(self.table, pieces, steepest(pieces), least)
        return None if piece < 0 else float(ends[piece] + share * lengths[piece])

    def _required(self, required: float | None) -> float:
        """Metres to prove, by default the margin; ValueError if they can't be proven."""
        if required is None:
            return float(self.arrays.checks.margins[0]) - ROUNDING
        if not (isfinite(required) and required >= 0.0):  # NaN would prove anything
            raise ValueError(f"required must be a finite number of metres from 0, got {required}")
        return required

    def _rounding_of(self, pieces: Array) -> float:
        """Metres by which float32 may misplace a point when it evaluates these polynomials."""
        sizes = np.abs(pieces).sum(axis=1).max(axis=0)  # (k,) what Horner's rule adds up
        reach = self.arrays.checks.reach
        return float((reach @ (sizes * pieces.shape[1] * 2.0**-23)).max(initial=0.0))

    def nearby(self, states: ArrayLike, within: float) -> Nearby:
        """Pairs nearer than what they must keep plus ``within`` metres, with gradients.

        A body of several solids has a row for each that is near.

        Args:
            states: configurations (m, k).
            within: metres.
        """
        return self._nearby(configurations(states, len(self.moving)), within, False)

    def _nearby(self, rows: Array, within: float, least: bool) -> Nearby:
        """``nearby``; with ``least`` as ``kernel.contacts.nearby`` says."""
        from galley.collision.kernel.contacts import GRADIENT, nearby
        from galley.collision.kernel.gjk import WITNESS_SCRATCH

        _metres(within)
        bodies, room = self.moving_bodies, np.empty(WITNESS_SCRATCH)
        # The kernel counts what has no room, so a second call has enough.
        given = bodies.all_joints, bodies.carries, rows, within, least, room
        size = 32 * len(rows) + 64
        while True:
            out = np.empty((size, GRADIENT + len(self.moving)))
            count = int(nearby(self.table, *given, out))
            if count <= size:
                break
            size = count
        row, distance, required, part, other = out[:count, :GRADIENT].T
        row, part, other = (indices.astype(np.int64) for indices in (row, part, other))
        return Nearby(row, distance, required, out[:count, GRADIENT:], part, other)

    def contacts(
        self, q: ArrayLike, scene_q: Array | None = None, within: float | None = None
    ) -> tuple[ContactPair, ...]:
        """Pairs nearer than ``within`` metres (default: the margin) at q (k,), nearest first.

        A distance is that of the hulls; where they overlap, minus the depth along a face's normal.
        Two parts of the robot's own count only where they are within 2 mm.
        """
        if scene_q is not None:
            view, rows = self._with_scene(np.asarray(q)[None], scene_q[None])
            return view.contacts(rows[0], within=within)
        margin, own_margin = (float(metres) for metres in self.arrays.checks.margins[:2])
        limit = margin if within is None else _metres(within)
        row = configuration(q, len(self.moving))[None]
        near = self._nearby(row, min(max(limit - margin, 0.0), _FAR), False)
        distances: dict[Pair, float] = {}  # a pair of bodies may have several rows
        names, owner = self.moving_bodies.names, self.moving_bodies.owner
        for a, b, d in zip(near.part.tolist(), near.other.tolist(), near.distance, strict=True):
            full = b < 0 or keeps_full_margin(owner[a], owner[b])
            if d < (limit if full else own_margin):
                key = pair(names[a], names[b] if b >= 0 else self.bodies[~b])
                distances[key] = min(float(d), distances.get(key, inf))
        contacts = [ContactPair(a, b, d) for (a, b), d in distances.items()]
        return tuple(sorted(contacts, key=lambda c: c.distance))

    def clearances(self, states: ArrayLike, cap: float = 0.3) -> Array:
        """Least distances (m,) between what moves and what stands still, in metres.

        By the hulls; where they overlap, minus the depth along a face's normal.

        Args:
            states: configurations (m, k).
            cap: metres, the most that is returned; a smaller one is faster.
        """
        rows = configurations(states, len(self.moving))
        near = self._nearby(rows, cap - float(self.arrays.checks.margins[0]), True)
        out = np.full(len(rows), cap)
        np.minimum.at(out, near.row, near.distance)
        return out

    def clearance(self, q: ArrayLike, cap: float = 0.3) -> float:
        """Least distance of one configuration (k,), in metres: see ``clearances``."""
        return float(self.clearances(configuration(q, len(self.moving))[None], cap)[0])


def steepest(pieces: Array) -> Array:
    """Bounds (n, k) on the magnitude of the derivatives of polynomials (n, d + 1, k) on [0, 1].

    The largest of the derivative's Bernstein coefficients: a polynomial stays within theirs.
    """
    degree = pieces.shape[1] - 1
    if degree == 0:
        return np.zeros((pieces.shape[0], pieces.shape[2]))
    slopes = pieces[:, 1:] * np.arange(1, degree + 1)[None, :, None]
    basis = np.array(
        [[comb(i, j) / comb(degree - 1, j) for j in range(degree)] for i in range(degree)]
    )
    return np.ascontiguousarray(np.abs(np.einsum("ij,njk->nik", basis, slopes)).max(axis=1))


def _metres(within: float) -> float:
    """A distance in metres, which may be infinite; ValueError if it is NaN."""
    if not within >= -inf:
        raise ValueError(f"within must be a number of metres, got {within}")
    return within


def configuration(q: ArrayLike, k: int) -> Array:
    """A copy (k,) for compiled code; ValueError if it has another shape or is not finite."""
    row = _plain(q)
    if row.shape != (k,):
        raise ValueError(f"a configuration of this group has {k} values, got shape {row.shape}")
    return row


def configurations(states: ArrayLike, k: int) -> Array:
    """A copy (m, k) for compiled code; ValueError if it has another shape or is not finite."""
    rows = _plain(states)
    if rows.ndim != 2 or rows.shape[1] != k:
        raise ValueError(f"configurations of this group are (m, {k}), got shape {rows.shape}")
    return rows


def _plain(numbers: ArrayLike) -> Array:
    """A copy for compiled code; ValueError if it is not finite."""
    copy = as_input(numbers)
    if not np.isfinite(copy).all():  # compiled comparisons would call NaN free
        raise ValueError("a configuration must be made of finite numbers")
    return copy
