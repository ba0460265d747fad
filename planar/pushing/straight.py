"""Straight pushes with a round pusher that lifts off in between: which bring a body to a goal.

How far a slow push moves a body doesn't depend on where the body lies, on its mass or on its
friction with the support. So each push of a grid over contacts and directions is rolled out once,
in ``pushing.simulation``, all at once, and kept in the body's frame. A plan composes them:

1. After every first push, at each of its lengths, a k-d tree of all motions gives the push that
   then leaves the least to the goal.
2. The best, as far as body and hand have room, are followed by random pushes, each looked one ahead
   likewise; and so on while one more push can pay.

What counts is time: that of each push, of its length, and of further pushes where the end is off
the goal. The end counts as off by what is left and by what less friction, other pressure on the
support and a contact 2 mm aside can change of the last push, so pushes that hardly depend on these
are preferred. Who executes them looks after each, and plans again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from galley.domain.frames import Array, as_numbers, wrap
from galley.planar.geometry.polygon import Polygon, signed_distance
from galley.planar.geometry.support import GRAVITY, SupportFriction, characteristic_length
from galley.planar.pushing.config import PushConfig
from galley.planar.pushing.simulation import Simulation

_CONTACTS, _ANGLES = 64, np.array([-0.4, -0.2, 0.0, 0.2, 0.4])  # rad, from the normal
_STANDOFF, _CLEAR = 0.015, 0.008  # m that a push begins before its contact, and off the body
_LONGEST, _STEP = 0.316, 0.004  # m, of a push, and between the poses that are kept
_SPEED, _COAST = 0.05, 0.002  # m/s, and m that a body would slide on from it: quasi-static
_DENSITY = 8000  # substeps a metre; from 60,000 a slide differs by less than 1 % in the median
_DAMPED, _SPRUNG = 1.2, 0.4  # of the contact in a substep: stable below 2 and 4 together
# What may be amiss: factor of the contact's friction, its shift (m), factor of support's length.
_AMISS = ((0.6, 0.002, 0.8), (0.6, -0.002, 1.25))
# Of the mean distance of few points, the length of the ellipsoid nearest to their limit surface: 1
# where they only turn, but where they slide and turn a little, 0.7 if they are equally far.
_POINTED = 0.75
_PUSH, _HASTE = 5.0, 0.05  # s that a push takes besides its way, and m/s on it
# s that each tolerance costs by which a body is farther from the goal, and that a plan costs which
# doesn't end there: it is taken for want of others.
_FAR, _NOT_THERE = 2.0, 1000.0
_DOUBT = 0.25  # of a push that the end of one before the last costs for each uncertain tolerance
_BEAM, _FOLLOWED = 48, 150  # plans that go on, and random pushes after each
_CHECKED, _ROUNDS = 128, 24  # plans that are checked for room together, and how often at most
_LAST, _NEAREST = 4000, 3  # pushes looked at that might be the last, and tried of those with room
_LOOKED = 4  # poses from check to check
_STARTS = 2  # searches, where one finds no way: which pushes are looked at is random

Picks = NDArray[np.int64]
Clear = Callable[[Array], NDArray[np.bool_]]
Reachable = Callable[[Array, Array, Picks], NDArray[np.bool_]]


@dataclass(frozen=True, eq=False)
class Push:
    """The pusher's centre goes straight from ``start`` by ``length`` along ``direction``.

    Attributes:
        start: (2,) m, in the support's plane.
        direction: (2,), of length one.
        length: m.
        along: (n,) m, distances travelled, from 0 to ``length``.
        poses: (n, 3) x, y, yaw (m, m, rad) of the body then, as predicted.
        spread: (2,) m, rad, by which the last may differ; see the module.
    """

    start: Array
    direction: Array
    length: float
    along: Array
    poses: Array
    spread: Array

    @property
    def end(self) -> Array:
        """(2,) m, of the pusher's centre."""
        return self.start + self.length * self.direction


@dataclass(frozen=True, eq=False)
class Slider:
    """A body that is pushed slowly, so that its mass and support's friction don't matter; a pusher.

    Attributes:
        outline: about the origin of the body's frame; convex or not.
        pusher_radius: m.
        contact_friction: of the pusher.
        centre: (2,) m, of friction: below the centre of mass; None: the outline's centroid.
        bearing: (k, 2) m, points on which it stands, in equal parts, such as a box's corners in
            PyBullet; None: it lies on all of its area.

    Raises:
        ValueError: at its first push, a number out of its bounds.
    """

    outline: Polygon
    pusher_radius: float = 0.012
    contact_friction: float = 0.5
    centre: Array | None = None
    bearing: Array | None = None

    @cached_property
    def middle(self) -> Array:
        """(2,) m, the centre of friction."""
        return self.outline.mass_properties(1.0).centroid if self.centre is None else self.centre

    def simulation(self, friction: float = 1.0, support: float = 1.0) -> Simulation:
        """Of tables on which it is pushed slowly, in the middle, by pushers that nothing drives.

        Args:
            friction, support: factors of the contact's friction and of the support's length.
        """
        found, limit = self.outline.mass_properties(1.0), _SPEED**2 / (2.0 * _COAST)
        far = float(np.hypot(*(self.outline.vertices - self.middle).T).max())
        dt, pushed = 1.0 / (_DENSITY * _SPEED), 1.0 + far**2 / found.inertia  # 1 / kg at most
        size = 4.0 * (far + _LONGEST + self.pusher_radius)
        config = PushConfig(
            shape=self.outline, mass=1.0, friction=limit / GRAVITY, dt=dt,
            substeps=round(_STEP * _DENSITY), width=size, height=size,
            pusher_radius=self.pusher_radius, pusher_gain=0.0, pusher_damping=0.0,
            contact_friction=friction * self.contact_friction,
            contact_stiffness=_SPRUNG / (dt**2 * pushed), contact_damping=_DAMPED / (dt * pushed),
            wall_stiffness=0.0, wall_damping=0.0, goal_x=2.0 * far, goal_y=2.0 * far,
        )  # fmt: skip
        length = characteristic_length(self.outline)
        if self.bearing is not None:
            length = _POINTED * float(np.hypot(*(self.bearing - self.middle).T).mean())
        return Simulation(config, SupportFriction(limit, support * length), self.middle)

    def rolled(self, starts: Array, along: Array, length: float) -> tuple[Array, Array]:
        """Motions (n, p, 3) of its frame, and their spreads (n, p, 2), in pushes in that frame.

        Args:
            starts, along: (n, 2) m, and directions.
            length: m; poses are every 4 mm, and at the end.
        """
        motions = _rolled(self.simulation(), self.middle, starts, along, length)
        spread, side = np.zeros((*motions.shape[:2], 2)), _turned(along, 0.5 * np.pi)
        for friction, shift, support in _AMISS:
            sim = self.simulation(friction, support)
            off = _rolled(sim, self.middle, starts + shift * side, along, length) - motions
            far = np.hypot(off[..., 0], off[..., 1])
            spread = np.maximum(spread, np.stack([far, np.abs(off[..., 2])], axis=2))
        return motions, spread

    @cached_property
    def pushes(self) -> _Pushes:
        """The grid of pushes, rolled out: some tenths of a second."""
        from galley.planar.pushing.demonstrators.roadmap import contacts_along

        points, normals = contacts_along(self.outline.vertices, _CONTACTS)
        touch = np.repeat(points + self.pusher_radius * normals, len(_ANGLES), axis=0)
        along = _turned(np.repeat(-normals, len(_ANGLES), axis=0), np.tile(_ANGLES, len(points)))
        starts = touch - _STANDOFF * along
        free = signed_distance(self.outline, starts)[0] >= self.pusher_radius + _CLEAR
        starts, along = starts[free], along[free]
        motions, spread = self.rolled(starts, along, _LONGEST)
        step = np.abs(np.diff(motions, axis=1, prepend=motions[:, :1])).sum(axis=2)
        useful = step > 0.1 * _STEP
        push, end = np.nonzero(useful)
        return _Pushes(starts, along, motions, spread, push, end)


@dataclass(frozen=True, eq=False)
class _Pushes:
    """Rolled out, in the body's frame before them.

    Attributes:
        starts: (r, 2) m. along: (r, 2), directions.
        motions: (r, p, 3), of the body, every ``_STEP`` of the pusher.
        spread: (r, p, 2) m, rad.
        push, end: (m,), of those that may be done: indices of push and last pose.
    """

    starts: Array
    along: Array
    motions: Array
    spread: Array
    push: Picks
    end: Picks

    def centres(self, push: Picks, end: Picks) -> Array:
        """Of the pusher (r, p, 2), at poses (p,) of pushes (r,)."""
        return self.starts[push, None] + _STEP * end[:, None] * self.along[push, None]


def union(parts: Sequence[ArrayLike]) -> Polygon:
    """The outline of polygons (k, 2) that overlap or touch; holes are filled.

    Raises:
        ValueError: they aren't one piece.
    """
    import shapely

    whole = shapely.union_all([shapely.Polygon(np.asarray(each)) for each in parts])
    if whole.geom_type != "Polygon":
        raise ValueError(f"{len(parts)} outlines must be one piece, got a {whole.geom_type}")
    return Polygon(np.array(whole.exterior.coords)[:-1])


def predict_push(slider: Slider, pose: ArrayLike, start: ArrayLike, end: ArrayLike) -> Push:
    """What a push does to a body at a pose (3,), by the pusher from a start (2,) to an end (2,) m.

    Raises:
        ValueError: the pusher is in the body at the start, doesn't move, or moves farther than any
            planned push.
    """
    at, p = as_numbers(pose, "the pose", (3,)), as_numbers(start, "the start", (2,))
    way = as_numbers(end, "the end", (2,)) - p
    length, back = float(np.hypot(*way)), _turned(p - at[:2], -at[2])
    deep = slider.pusher_radius - float(signed_distance(slider.outline, back)[0])
    if deep > 0.0:
        raise ValueError(f"the pusher is {deep:.3g} m in the body: it must begin outside")
    if not 0.0 < length <= _LONGEST:
        raise ValueError(f"a push of {length:.3g} m: from above 0 to {_LONGEST:g} m")
    unit = _turned(way / length, -at[2])
    motions, spread = slider.rolled(back[None], unit[None], length)
    along = np.minimum(np.arange(motions.shape[1]) * _STEP, length)
    return Push(p, way / length, length, along, composed(at, motions[0]), spread[0, -1])


def plan_pushes(
    slider: Slider, pose: ArrayLike, goal: ArrayLike, rng: np.random.Generator, *,
    clear: Clear | None = None, reachable: Reachable | None = None, most: int = 8,
    tolerance: tuple[float, float] = (0.01, np.radians(5.0)),
) -> tuple[Push, ...]:  # fmt: skip
    """The pushes that take the least time to a goal, as far as found; see the module.

    Args:
        pose, goal: (3,) x, y, yaw (m, m, rad) of the body's frame.
        clear: of poses (n, 3), whether the body may be there (n,); None: everywhere.
        reachable: of starts and ends (n, 2) m, and of indices (n,) of ``slider.pushes``, whether
            the hand can push there (n,).
        most: pushes.
        tolerance: m, rad; an angle of pi for bodies that may be turned anyhow.

    Returns:
        None at the goal, or where there is no room for any push. The last pose may be farther from
        the goal than the tolerance: look at it.
    """
    at, to = as_numbers(pose, "the pose", (3,)), as_numbers(goal, "the goal", (3,))
    return _Search(slider.pushes, at, to, rng, clear, reachable, np.array(tolerance)).found(most)


class _Search:
    def __init__(
        self, grid: _Pushes, pose: Array, goal: Array, rng: np.random.Generator,
        clear: Clear | None, reachable: Reachable | None, tolerance: Array,
    ) -> None:  # fmt: skip
        from scipy.spatial import cKDTree

        self._grid, self._pose, self._goal, self._rng = grid, pose, goal, rng
        self._clear, self._reachable, self._tolerance = clear, reachable, tolerance
        self._motions = grid.motions[grid.push, grid.end]
        self._doubts = (grid.spread[grid.push, grid.end] / tolerance).max(axis=1)
        self._costs = _PUSH + grid.end * _STEP / _HASTE
        self._least, self._chosen = np.inf, list[int]()
        some = rng.permutation(len(self._motions))[:_LAST]
        back = -self._motions[some]  # from the goal to where the last push begins
        back[:, :2] = _turned(back[:, :2], back[:, 2])
        self._last = last = some[self._may(composed(goal, back), some)]
        wanted = np.column_stack([self._motions[last] / tolerance[[0, 0, 1]], self._doubts[last]])
        self._tree = cKDTree(wanted)

    def found(self, most: int) -> tuple[Push, ...]:
        """See ``plan_pushes``."""
        if (self._off(self._pose[None]) <= 1.0).all() or len(self._last) == 0:
            return ()
        for _ in range(_STARTS):
            self._look(most)
            if self._least < _NOT_THERE:
                break
        return self._pushes(self._chosen)

    def _look(self, most: int) -> None:
        """Look for plans, deeper and deeper, led by how near one more push comes to the goal."""
        plans, poses = np.empty((1, 0), dtype=np.int64), self._pose[None]
        size, far = len(self._motions), float(np.hypot(*(self._goal - self._pose)[:2]))
        picks, parents, spent = self._rng.permutation(size), np.zeros(size, np.int64), np.zeros(1)
        for depth in range(1, most + 1):
            known, before = self._least, poses[parents]
            plans, poses = (
                np.column_stack([plans[parents], picks]),
                composed(before, self._motions[picks]),
            )
            spent = spent[parents] + self._costs[picks]
            self._consider(spent, before, plans)
            if depth == most:
                break
            spent = spent + _PUSH * np.minimum(_DOUBT * self._doubts[picks], 1.0)
            many = slice(_BEAM * _FOLLOWED)  # of the first pushes, too, which are all at once
            following, ahead = self._ahead(poses[many], spent[many])
            kept = self._kept(ahead, before, picks, _BEAM)
            if len(kept) == 0:
                break
            plans, poses, spent, last = plans[kept], poses[kept], spent[kept], following[kept]
            self._consider(spent + self._costs[last], poses, np.column_stack([plans, last]))
            more = (depth + 2) * _PUSH + far / _HASTE
            if self._least <= more or self._least == known < _NOT_THERE:
                break  # one more push would cost more, or has brought nothing
            parents = np.repeat(np.arange(len(kept)), _FOLLOWED)
            picks = self._rng.integers(0, size, len(parents))

    def _consider(self, spent: Array, before: Array, plans: Picks) -> None:
        """Keep the cheapest of plans (n, d) whose last pushes begin at poses (n, 3).

        The cheapest that end at the goal, if there are any.
        """
        ends = composed(before, self._motions[last := plans[:, -1]])
        there = (self._off(ends) <= 1.0).all(axis=1)
        costs = spent + self._missed(ends, self._doubts[last]) + np.where(there, 0.0, _NOT_THERE)
        done = self._kept(costs, before, last, 1, _ROUNDS if there.any() else 2)
        if len(done) and costs[done[0]] < self._least:
            self._least, self._chosen = float(costs[done[0]]), plans[done[0]].tolist()

    def _off(self, poses: Array) -> Array:
        """(n, 2), how far from the goal in place and in turn, in tolerances."""
        way, turn = poses[:, :2] - self._goal[:2], wrap(poses[:, 2] - self._goal[2])
        return np.asarray(np.stack([np.hypot(*way.T), np.abs(turn)], axis=1) / self._tolerance)

    def _missed(self, poses: Array, doubts: Array) -> Array:
        """(n,) s that are lost for what is left: one push or two, and for what it is far."""
        off = np.hypot(*self._off(poses).T) + doubts
        return np.asarray(_PUSH * np.minimum(off, 2.0) + _FAR * np.maximum(off - 1.0, 0.0))

    def _ahead(self, poses: Array, spent: Array) -> tuple[Picks, Array]:
        """The best one more push after poses (n, 3), and what all costs then; (n,) each."""
        wanted = np.zeros((len(poses), 4))  # by a push of no doubt
        wanted[:, :2] = _turned(self._goal[:2] - poses[:, :2], -poses[:, 2]) / self._tolerance[0]
        wanted[:, 2] = wrap(self._goal[2] - poses[:, 2]) / self._tolerance[1]
        nearest = range(1, min(_NEAREST, len(self._last)) + 1)
        near = self._last[self._tree.query(wanted, k=nearest, eps=0.5)[1]]
        costs = self._costs[near] + spent[:, None]
        costs += np.stack(
            [self._missed(composed(poses, self._motions[k]), self._doubts[k]) for k in near.T], 1
        )
        best, index = costs.argmin(axis=1), np.arange(len(poses))
        return near[index, best], costs[index, best]

    def _kept(
        self, value: Array, before: Array, picks: Picks, most: int, rounds: int = _ROUNDS
    ) -> Picks:
        """The cheapest, in order, of pushes for which there is room; of many, others among them."""
        kept, order = list[int](), np.argsort(value, kind="stable")
        if most > 1:  # what is cheapest so far leads nowhere at times
            order[1::2] = self._rng.permutation(len(order))[: len(order) // 2]
        for k in range(0, min(len(order), rounds * _CHECKED), _CHECKED):
            some = order[k : k + _CHECKED]
            kept += some[self._may(before[some], picks[some])].tolist()
            if len(kept) >= most:
                break
        return np.array(kept[:most], dtype=np.int64)

    def _may(self, poses: Array, picks: Picks) -> NDArray[np.bool_]:
        """Whether there is room (n,) for body and hand in pushes after poses (n, 3)."""
        grid, good = self._grid, np.ones(len(poses), dtype=bool)
        push, end = grid.push[picks], grid.end[picks]
        if self._reachable is not None:
            start, unit = self._lines(poses, push)
            good &= self._reachable(start, start + unit * (end * _STEP)[:, None], picks)
        if self._clear is not None and good.any():
            looked = np.arange(0, grid.motions.shape[1], _LOOKED)
            row, column = np.nonzero(good[:, None] & (looked < end[:, None]))
            row, at = np.append(row, np.arange(len(end))), np.append(looked[column], end)
            moved = grid.motions[push[row], at]
            good[row[~self._clear(composed(poses[row], moved))]] = False
        return good

    def _lines(self, poses: Array, push: Picks) -> tuple[Array, Array]:
        """Starts and directions (n, 2) of pushes after poses (n, 3)."""
        start = poses[:, :2] + _turned(self._grid.starts[push], poses[:, 2])
        return start, _turned(self._grid.along[push], poses[:, 2])

    def _pushes(self, picks: Sequence[int]) -> tuple[Push, ...]:
        grid, pose, found = self._grid, self._pose, []
        for pick in picks:
            k, end = int(grid.push[pick]), int(grid.end[pick])
            start, unit = self._lines(pose[None], np.array([k]))
            along = _STEP * np.arange(end + 1, dtype=np.float64)
            poses, spread = composed(pose, grid.motions[k, : end + 1]), grid.spread[k, end]
            found.append(Push(start[0], unit[0], float(along[-1]), along, poses, spread))
            pose = poses[-1]
        return tuple(found)


def _rolled(sim: Simulation, middle: Array, starts: Array, along: Array, length: float) -> Array:
    """Motions (n, p, 3) of a body's frame, every ``_STEP`` until a length is done."""
    centre = np.full(2, 0.5 * sim.config.width)
    state = sim.states(np.tile([*centre, 0.0], (len(starts), 1)), starts - middle + centre)
    found, still = [state.body.T.copy()], np.zeros((len(starts), 2))  # which no pusher follows
    for k in range(int(np.ceil(length / _STEP - 1e-9))):
        state.values[2:4] = min(length / _STEP - k, 1.0) * _SPEED * along.T
        sim.run(state, still)
        found.append(state.body.T.copy())
    motions = np.stack(found, axis=1)
    motions[..., :2] += middle - centre - _turned(middle, motions[..., 2])
    return motions


def _turned(points: Array, yaw: float | Array) -> Array:
    """Points (..., 2) turned about the origin by angles (...,)."""
    c, s = np.cos(yaw), np.sin(yaw)
    x, y = points[..., 0], points[..., 1]
    return np.stack([c * x - s * y, s * x + c * y], axis=-1)


def composed(poses: Array, motions: Array) -> Array:
    """Poses (n, 3) after motions (n, 3) in their frames; either may be one (3,)."""
    moved = poses[..., :2] + _turned(motions[..., :2], poses[..., 2])
    return np.concatenate([moved, (poses[..., 2] + motions[..., 2])[..., None]], axis=-1)
