"""Plans straight pushes that bring a body to a goal; the round pusher lifts off between them.

The motion of a body in a slow push is independent of its pose, its mass and its friction with the
support. So a grid of pushes, over contacts and directions, is rolled out once in
``pushing.simulation`` and stored in the body's frame. A plan is a sequence of them, found by a beam
search (``_Search``):

1. The first push may be any of the grid, at any of its lengths. For each, a k-d tree of all motions
   gives the next push that ends nearest to the goal.
2. The best of these for which body and hand have clearance stay in the beam. Random pushes follow
   each of them, again with the nearest last push after it; and so on while one more push can pay.

The cost is time: a fixed time for each push, its length over the pusher's speed, and more pushes
if the end is off the goal. The end counts as off by its error and by its spread: how much less
friction, other pressure on the support and a contact 2 mm aside change the last push. So pushes
that hardly depend on these are preferred. Whoever executes a plan observes the body after each
push, and plans again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from galley.domain.frames import Array, as_numbers, wrap
from galley.planar.geometry.polygon import SimplePolygon, signed_distance
from galley.planar.geometry.support import GRAVITY, SupportFriction, characteristic_length
from galley.planar.pushing.config import PushConfig
from galley.planar.pushing.simulation import PushSimulation

_CONTACTS, _ANGLES = 64, np.array([-0.4, -0.2, 0.0, 0.2, 0.4])  # rad, from the normal
_STANDOFF, _CLEAR = 0.015, 0.008  # m: a push begins this far before its contact, and off the body
_LONGEST, _STEP = 0.316, 0.004  # m: length of the longest push, and between stored poses
_SPEED, _COAST = 0.05, 0.002  # m/s; m that a body slides on from that speed: quasi-static
_DENSITY = 8000  # substeps a metre; a slide differs by less than 1 % (median) from 60,000
_DAMPED, _SPRUNG = 1.2, 0.4  # of the contact in a substep; together stable below 2 and 4
# Disturbances of the spread: factor of contact friction, shift (m), factor of support's length.
_AMISS = ((0.6, 0.002, 0.8), (0.6, -0.002, 1.25))
# A body on a few points: characteristic length as a share of the points' mean distance. The exact
# share is 1 if they only turn, but 0.7 if they slide and turn a little and are equally far.
_POINTED = 0.75
_PUSH, _HASTE = 5.0, 0.05  # s, fixed time of a push; m/s, speed of the pusher
# s: cost of each further tolerance between end and goal; and of a plan that doesn't end at the
# goal, which is taken only if there is no other.
_FAR, _NOT_THERE = 2.0, 1000.0
_DOUBT = 0.25  # share of a push: cost of each tolerance of spread in a push before the last
_BEAM, _FOLLOWED = 48, 150  # plans in the beam, and random pushes after each
_CHECKED, _ROUNDS = 128, 24  # plans whose clearance is checked at once, and rounds at most
_LAST, _NEAREST = 4000, 3  # candidates for the last push, and nearest of them that are compared
_LOOKED = 4  # stored poses from one check of clearance to the next
_STARTS = 2  # searches if the first finds no plan; they look at other random pushes

Picks = NDArray[np.int64]
Clear = Callable[[Array], NDArray[np.bool_]]
Reachable = Callable[[Array, Array, Picks], NDArray[np.bool_]]


@dataclass(frozen=True, eq=False)
class StraightPush:
    """A straight push: the pusher's centre moves from ``start`` by ``length`` along ``direction``.

    Attributes:
        start: (2,), in the support's plane, m.
        direction: (2,), unit vector.
        length: m.
        along: (n,), distances travelled, from 0 to ``length``, m.
        poses: (n, 3), predicted x, y, yaw (m, m, rad) of the body at these distances.
        spread: (2,), m and rad, how much the last pose may differ; see the module.
    """

    start: Array
    direction: Array
    length: float
    along: Array
    poses: Array
    spread: Array

    @property
    def end(self) -> Array:
        """Where the pusher's centre ends (2,), m."""
        return self.start + self.length * self.direction


@dataclass(frozen=True, eq=False)
class Slider:
    """A body that is pushed slowly, and its pusher.

    At low speed neither the body's mass nor the amount of support friction matters.

    Attributes:
        outline: about the origin of the body's frame; convex or not.
        pusher_radius: m.
        contact_friction: coefficient of friction between pusher and body.
        centre: (2,), centre of friction, below the centre of mass, m; None: the centroid.
        bearing: (k, 2), points that carry the body in equal parts, m, such as a box's corners in
            PyBullet; None: it lies on all of its area.

    Raises:
        ValueError: at the first push, if a number is out of its bounds.
    """

    outline: SimplePolygon
    pusher_radius: float = 0.012
    contact_friction: float = 0.5
    centre: Array | None = None
    bearing: Array | None = None

    @cached_property
    def middle(self) -> Array:
        """The centre of friction (2,) in the body's frame, m."""
        return self.outline.mass_properties(1.0).centroid if self.centre is None else self.centre

    def simulation(self, friction: float = 1.0, support: float = 1.0) -> PushSimulation:
        """The simulation of slow pushes, in the middle of large tables, by pushers without a drive.

        Args:
            friction: factor of the contact's friction.
            support: factor of the support's characteristic length.
        """
        # The limit (N, for 1 kg) that stops a body of speed ``_SPEED`` within ``_COAST``.
        solid, limit = self.outline.mass_properties(1.0), _SPEED**2 / (2.0 * _COAST)
        reach = float(np.hypot(*(self.outline.vertices - self.middle).T).max())
        dt, pushed = 1.0 / (_DENSITY * _SPEED), 1.0 + reach**2 / solid.inertia  # 1 / kg at most
        size = 4.0 * (reach + _LONGEST + self.pusher_radius)
        config = PushConfig(
            shape=self.outline, mass=1.0, friction=limit / GRAVITY, dt=dt,
            substeps=round(_STEP * _DENSITY), width=size, height=size,
            pusher_radius=self.pusher_radius, pusher_gain=0.0, pusher_damping=0.0,
            contact_friction=friction * self.contact_friction,
            contact_stiffness=_SPRUNG / (dt**2 * pushed), contact_damping=_DAMPED / (dt * pushed),
            wall_stiffness=0.0, wall_damping=0.0, goal_x=2.0 * reach, goal_y=2.0 * reach,
        )  # fmt: skip
        length = characteristic_length(self.outline)
        if self.bearing is not None:
            length = _POINTED * float(np.hypot(*(self.bearing - self.middle).T).mean())
        return PushSimulation(config, SupportFriction(limit, support * length), self.middle)

    def rolled(self, starts: Array, along: Array, length: float) -> tuple[Array, Array]:
        """Roll out n pushes of one length in the body's frame.

        Args:
            starts: (n, 2), of the pusher's centre, m.
            along: (n, 2), unit vectors of the pushes.
            length: of every push, m.

        Returns:
            Motions (n, p, 3) of the body's frame, m and rad, every 4 mm and at the end; and their
            spreads (n, p, 2), the largest deviation under the disturbances, m and rad.
        """
        motions = _rolled(self.simulation(), self.middle, starts, along, length)
        spread, side = np.zeros((*motions.shape[:2], 2)), _turned(along, 0.5 * np.pi)
        for friction, shift, support in _AMISS:
            sim = self.simulation(friction, support)
            off = _rolled(sim, self.middle, starts + shift * side, along, length) - motions
            shifted = np.hypot(off[..., 0], off[..., 1])
            spread = np.maximum(spread, np.stack([shifted, np.abs(off[..., 2])], axis=2))
        return motions, spread

    @cached_property
    def pushes(self) -> _Pushes:
        """The grid of pushes, rolled out; this takes some tenths of a second."""
        from galley.planar.pushing.demonstrators.roadmap import contacts_along

        points, normals = contacts_along(self.outline.vertices, _CONTACTS)
        touch = np.repeat(points + self.pusher_radius * normals, len(_ANGLES), axis=0)
        along = _turned(np.repeat(-normals, len(_ANGLES), axis=0), np.tile(_ANGLES, len(points)))
        starts = touch - _STANDOFF * along
        free = signed_distance(self.outline, starts)[0] >= self.pusher_radius + _CLEAR
        starts, along = starts[free], along[free]
        motions, spread = self.rolled(starts, along, _LONGEST)
        # A push ends only where it still moves the body: not before contact or after slipping past.
        step = np.abs(np.diff(motions, axis=1, prepend=motions[:, :1])).sum(axis=2)
        useful = step > 0.1 * _STEP
        push, end = np.nonzero(useful)
        return _Pushes(starts, along, motions, spread, push, end)


@dataclass(frozen=True, eq=False)
class _Pushes:
    """The grid of r pushes with p poses each, in the frame that the body has before the push.

    Attributes:
        starts: (r, 2), of the pusher's centre, m.
        along: (r, 2), unit vectors.
        motions: (r, p, 3), poses of the body after every ``_STEP`` of the pusher, m and rad.
        spread: (r, p, 2), of the poses, m and rad.
        push, end: (m,), the choices of a plan: index of a push, and of the pose at which it ends.
    """

    starts: Array
    along: Array
    motions: Array
    spread: Array
    push: Picks
    end: Picks

    def centres(self, push: Picks, end: Picks) -> Array:
        """Centres of the pusher (r, p, 2), m, at the poses ``end`` (p,) of the pushes (r,)."""
        return self.starts[push, None] + _STEP * end[:, None] * self.along[push, None]


def union(parts: Sequence[ArrayLike]) -> SimplePolygon:
    """The outline of the union of polygons (k, 2) that overlap or touch; holes are filled.

    Raises:
        ValueError: they aren't one piece.
    """
    import shapely

    merged = shapely.union_all([shapely.Polygon(np.asarray(part)) for part in parts])
    if merged.geom_type != "Polygon":
        raise ValueError(f"{len(parts)} outlines must be one piece, got a {merged.geom_type}")
    return SimplePolygon(np.array(merged.exterior.coords)[:-1])


def predict_push(slider: Slider, pose: ArrayLike, start: ArrayLike, end: ArrayLike) -> StraightPush:
    """Predict how a push moves a body.

    Args:
        slider: the body and its pusher.
        pose: (3,), of the body before the push, m and rad.
        start, end: (2,), of the pusher's centre, m.

    Raises:
        ValueError: the pusher is in the body at the start, doesn't move, or moves farther than the
            longest planned push.
    """
    at, p = as_numbers(pose, "the pose", (3,)), as_numbers(start, "the start", (2,))
    way = as_numbers(end, "the end", (2,)) - p
    length, local = float(np.hypot(*way)), _turned(p - at[:2], -at[2])  # in the body's frame
    depth = slider.pusher_radius - float(signed_distance(slider.outline, local)[0])
    if depth > 0.0:
        raise ValueError(f"the pusher is {depth:.3g} m in the body: it must begin outside")
    if not 0.0 < length <= _LONGEST:
        raise ValueError(f"a push of {length:.3g} m: from above 0 to {_LONGEST:g} m")
    unit = _turned(way / length, -at[2])
    motions, spread = slider.rolled(local[None], unit[None], length)
    along = np.minimum(np.arange(motions.shape[1]) * _STEP, length)
    return StraightPush(p, way / length, length, along, composed(at, motions[0]), spread[0, -1])


def plan_pushes(
    slider: Slider, pose: ArrayLike, goal: ArrayLike, rng: np.random.Generator, *,
    clear: Clear | None = None, reachable: Reachable | None = None, most: int = 8,
    tolerance: tuple[float, float] = (0.01, np.radians(5.0)),
) -> tuple[StraightPush, ...]:  # fmt: skip
    """The pushes that bring a body to a goal in the least time, by a random search; see the module.

    Args:
        slider: the body and its pusher.
        pose, goal: (3,), x, y, yaw (m, m, rad) of the body's frame.
        rng: chooses which pushes the search looks at.
        clear: whether the body may be at poses (n, 3): (n,); None: everywhere.
        reachable: whether the hand can push (n,), by starts and ends (n, 2), m, and by indices (n,)
            of ``slider.pushes``; None: everywhere.
        most: most pushes of a plan.
        tolerance: of the goal, m and rad; an angle of pi if the body may be turned in any way.

    Returns:
        The pushes; none at the goal, or if there is no room for any push. The last pose may be
        farther from the goal than the tolerance: the caller must check it.
    """
    at, to = as_numbers(pose, "the pose", (3,)), as_numbers(goal, "the goal", (3,))
    return _Search(slider.pushes, at, to, rng, clear, reachable, np.array(tolerance)).plan(most)


class _Search:
    """The beam search of ``plan_pushes``, whose arguments it takes.

    A pick is an index into the choices of the grid (push and length); a plan of depth d is d picks.
    For n plans at once, arrays have a row for each: ``plans`` (n, d), ``poses`` (n, 3) after them,
    and ``spent`` (n,), their time in s.
    """

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
        # Candidates for the last push: those that have room if they end exactly at the goal.
        drawn = rng.permutation(len(self._motions))[:_LAST]
        back = -self._motions[drawn]  # the inverse motions, from the goal to the push's beginning
        back[:, :2] = _turned(back[:, :2], back[:, 2])
        self._last = last = drawn[self._may(composed(goal, back), drawn)]
        # In tolerances; a query has no spread, so pushes with little of it are nearer.
        scaled = np.column_stack([self._motions[last] / tolerance[[0, 0, 1]], self._doubts[last]])
        self._tree = cKDTree(scaled)

    def plan(self, most: int) -> tuple[StraightPush, ...]:
        """The cheapest plan of at most ``most`` pushes; empty at the goal or if none has room."""
        if (self._off(self._pose[None]) <= 1.0).all() or len(self._last) == 0:
            return ()
        for _ in range(_STARTS):
            self._look(most)
            if self._least < _NOT_THERE:
                break
        return self._pushes(self._chosen)

    def _look(self, most: int) -> None:
        """One beam search; the cheapest plan so far stays in ``_chosen``, its cost in ``_least``.

        At each depth all plans of the beam are extended by one push, and ranked by their cost if
        the nearest last push followed.
        """
        plans, poses = np.empty((1, 0), dtype=np.int64), self._pose[None]
        size, distance = len(self._motions), float(np.hypot(*(self._goal - self._pose)[:2]))
        # At first the beam is the empty plan, followed by every push; later by random ones.
        picks, parents, spent = self._rng.permutation(size), np.zeros(size, np.int64), np.zeros(1)
        for depth in range(1, most + 1):
            known, before = self._least, poses[parents]
            plans, poses = (
                np.column_stack([plans[parents], picks]),
                composed(before, self._motions[picks]),
            )
            spent = spent[parents] + self._costs[picks]
            self._consider(spent, before, plans)  # as they are
            if depth == most:
                break
            spent = spent + _PUSH * np.minimum(_DOUBT * self._doubts[picks], 1.0)
            many = slice(_BEAM * _FOLLOWED)  # no more of the first pushes, either
            following, ahead = self._ahead(poses[many], spent[many])
            beam = self._cheapest(ahead, before, picks, _BEAM)
            if len(beam) == 0:
                break
            plans, poses, spent, last = plans[beam], poses[beam], spent[beam], following[beam]
            self._consider(spent + self._costs[last], poses, np.column_stack([plans, last]))
            # A longer plan costs at least its pushes and the way to the goal.
            bound = (depth + 2) * _PUSH + distance / _HASTE
            if self._least <= bound or self._least == known < _NOT_THERE:
                break  # one more push would cost more, or the last one has brought no gain
            parents = np.repeat(np.arange(len(beam)), _FOLLOWED)
            picks = self._rng.integers(0, size, len(parents))

    def _consider(self, spent: Array, before: Array, plans: Picks) -> None:
        """Take the cheapest of plans (n, d) if it is cheaper than the best so far.

        Plans that end at the goal come before all others.

        Args:
            spent: (n,), time of the plans, s.
            before: (n, 3), poses of the body before the last pushes.
            plans: (n, d), picks.
        """
        ends = composed(before, self._motions[last := plans[:, -1]])
        there = (self._off(ends) <= 1.0).all(axis=1)
        costs = spent + self._missed(ends, self._doubts[last]) + np.where(there, 0.0, _NOT_THERE)
        done = self._cheapest(costs, before, last, 1, _ROUNDS if there.any() else 2)
        if len(done) and costs[done[0]] < self._least:
            self._least, self._chosen = float(costs[done[0]]), plans[done[0]].tolist()

    def _off(self, poses: Array) -> Array:
        """Distance and angle (n, 2) of poses (n, 3) from the goal, in tolerances."""
        way, turn = poses[:, :2] - self._goal[:2], wrap(poses[:, 2] - self._goal[2])
        return np.asarray(np.stack([np.hypot(*way.T), np.abs(turn)], axis=1) / self._tolerance)

    def _missed(self, poses: Array, doubts: Array) -> Array:
        """Estimated time (n,), s, from poses (n, 3) to the goal: up to two pushes, and the way."""
        off = np.hypot(*self._off(poses).T) + doubts
        return np.asarray(_PUSH * np.minimum(off, 2.0) + _FAR * np.maximum(off - 1.0, 0.0))

    def _ahead(self, poses: Array, spent: Array) -> tuple[Picks, Array]:
        """The best last push (n,) after poses (n, 3), and the cost (n,) of each plan with it."""
        wanted = np.zeros((len(poses), 4))  # the motion to the goal, by a push without spread
        wanted[:, :2] = _turned(self._goal[:2] - poses[:, :2], -poses[:, 2]) / self._tolerance[0]
        wanted[:, 2] = wrap(self._goal[2] - poses[:, 2]) / self._tolerance[1]
        nearest = range(1, min(_NEAREST, len(self._last)) + 1)
        near = self._last[self._tree.query(wanted, k=nearest, eps=0.5)[1]]
        costs = self._costs[near] + spent[:, None]  # compares the nearest few by their true cost
        costs += np.stack(
            [self._missed(composed(poses, self._motions[k]), self._doubts[k]) for k in near.T], 1
        )
        best, index = costs.argmin(axis=1), np.arange(len(poses))
        return near[index, best], costs[index, best]

    def _cheapest(
        self, value: Array, before: Array, picks: Picks, most: int, rounds: int = _ROUNDS
    ) -> Picks:
        """Indices (at most ``most``) of the cheapest plans whose last pushes have room, in order.

        Clearance is slow to check, so it is checked from the cheapest on until enough are found.

        Args:
            value: (n,), costs.
            before: (n, 3), poses of the body before the last pushes.
            picks: (n,), the last pushes.
            most: how many to find; if more than 1, every other is a random one.
            rounds: most rounds of ``_CHECKED`` checks.
        """
        roomy, order = list[int](), np.argsort(value, kind="stable")
        if most > 1:  # the cheapest so far may all be dead ends
            order[1::2] = self._rng.permutation(len(order))[: len(order) // 2]
        for k in range(0, min(len(order), rounds * _CHECKED), _CHECKED):
            batch = order[k : k + _CHECKED]
            roomy += batch[self._may(before[batch], picks[batch])].tolist()
            if len(roomy) >= most:
                break
        return np.array(roomy[:most], dtype=np.int64)

    def _may(self, poses: Array, picks: Picks) -> NDArray[np.bool_]:
        """Whether there is room (n,) for body and hand in pushes after poses (n, 3)."""
        grid, good = self._grid, np.ones(len(poses), dtype=bool)
        push, end = grid.push[picks], grid.end[picks]
        if self._reachable is not None:
            start, unit = self._lines(poses, push)
            good &= self._reachable(start, start + unit * (end * _STEP)[:, None], picks)
        if self._clear is not None and good.any():
            # Every few poses of each push, and its last.
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

    def _pushes(self, picks: Sequence[int]) -> tuple[StraightPush, ...]:
        """The pushes of a plan, with the predicted poses of the body."""
        grid, pose, pushes = self._grid, self._pose, []
        for pick in picks:
            k, end = int(grid.push[pick]), int(grid.end[pick])
            start, unit = self._lines(pose[None], np.array([k]))
            along = _STEP * np.arange(end + 1, dtype=np.float64)
            poses, spread = composed(pose, grid.motions[k, : end + 1]), grid.spread[k, end]
            pushes.append(StraightPush(start[0], unit[0], float(along[-1]), along, poses, spread))
            pose = poses[-1]
        return tuple(pushes)


def _rolled(
    sim: PushSimulation, middle: Array, starts: Array, along: Array, length: float
) -> Array:
    """Motions (n, p, 3) of a body's frame, every ``_STEP`` of a push and at its end.

    Each push has a table of its own. Nothing drives the pusher: its speed is set at every step.
    """
    centre = np.full(2, 0.5 * sim.config.width)
    state = sim.states(np.tile([*centre, 0.0], (len(starts), 1)), starts - middle + centre)
    poses, unused = [state.body.T.copy()], np.zeros((len(starts), 2))  # no pusher has a drive
    for k in range(int(np.ceil(length / _STEP - 1e-9))):
        # Slower in the last step, if the length isn't a whole number of steps.
        state.values[2:4] = min(length / _STEP - k, 1.0) * _SPEED * along.T
        sim.run(state, unused)
        poses.append(state.body.T.copy())
    motions = np.stack(poses, axis=1)
    motions[..., :2] += middle - centre - _turned(middle, motions[..., 2])
    return motions


def _turned(points: Array, yaw: float | Array) -> Array:
    """Points (..., 2) turned about the origin by angles (...,), rad."""
    c, s = np.cos(yaw), np.sin(yaw)
    x, y = points[..., 0], points[..., 1]
    return np.stack([c * x - s * y, s * x + c * y], axis=-1)


def composed(poses: Array, motions: Array) -> Array:
    """Poses (n, 3) moved by motions (n, 3) in their own frames; either may be one, (3,)."""
    moved = poses[..., :2] + _turned(motions[..., :2], poses[..., 2])
    return np.concatenate([moved, (poses[..., 2] + motions[..., 2])[..., None]], axis=-1)
