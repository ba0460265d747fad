"""View: one joint group of a robot in a CollisionWorld, as the kernel sees it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from galley.compiled.jit import first_use
from galley.domain.frames import Array
from galley.robots.model import RobotModel
from galley.worlds.checker import Contact, Pair, pair
from galley.worlds.kernel.arrays import ROUNDING, Obstacles, Query, Robot
from galley.worlds.movers import Movers

LANES = 16
KERNEL = "the motion kernel"
_STACK = 4096  # rows for stretches of an edge yet to be proven
_STEP = {"m": 0.02, "rad": 0.05}  # the most a joint moves between two checked states of an edge
_HEADING_STEP, _HEADING_WEIGHT = 0.03, 0.4  # a radian of turning counts like 0.4 m
# m between the robot's own parts: PyBullet, which validates, calls meshes touching 2 mm early.
_SELF_MARGIN = 0.002


@dataclass(frozen=True, eq=False)
class View:
    """Made by ``CollisionWorld.view``. One thread at a time: it holds room to work in.

    Attributes:
        group: name of the joint group, ``base+arm`` for two.
        moving: positions in q of its joints (k,).
        movers: what moves. bodies: names of what stands still.
        robot, obstacles, query: the kernel's arrays.
        table: their addresses, which is what compiled planners are handed.
    """

    group: str
    moving: NDArray[np.int64]
    movers: Movers
    bodies: tuple[str, ...]
    robot: Robot
    obstacles: Obstacles
    query: Query
    table: NDArray[np.int64]

    @property
    def exact(self) -> bool:
        """Whether hulls have the last word where spheres are too near. Searches may do without."""
        return bool(self.query.margins[2] != 0.0)

    def set_exact(self, exact: bool) -> None:
        """Let the hulls have the last word, or go by the spheres alone, which is faster.

        Whoever lets go of the hulls for a search brings them back after it.
        """
        self.query.margins[2] = 1.0 if exact else 0.0

    @cached_property
    def fine(self) -> View:
        """The same view at half the step; as long as this one, whose tables name its arrays."""
        return self.finer(0.5)

    def finer(self, factor: float) -> View:
        """The same view, edges checked at ``factor`` times the step. They share their scratch."""
        from galley.worlds.kernel.entries import FUNCTIONS
        from galley.worlds.kernel.packed import pack

        query = self.query._replace(step=self.query.step * factor)
        table = pack(self.robot, self.obstacles, query, FUNCTIONS)
        return replace(self, query=query, table=table)

    def free(self, q: ArrayLike) -> bool:
        """Whether one configuration (k,) keeps the margin."""
        from galley.worlds.kernel.edges import state_free

        with first_use(KERNEL):
            return bool(state_free(self.table, _row(q, len(self.moving))))

    def free_many(self, states: ArrayLike) -> NDArray[np.bool_]:
        """Which of many configurations (m, k) keep the margin: (m,)."""
        from galley.worlds.kernel.edges import states_free

        rows = _rows(states, len(self.moving))
        out = np.empty(len(rows), dtype=np.bool_)
        with first_use(KERNEL):
            states_free(self.table, rows, out)
        return out

    def edges_free(self, A: ArrayLike, B: ArrayLike, exact: bool = False) -> NDArray[np.bool_]:
        """Which straight edges from A (m, k) to B (m, k) are free at the step: (m,). Sampled.

        For guidance: by the spheres alone, unless ``exact``.
        """
        from galley.worlds.kernel.edges import segments_free

        a, b = _rows(A, len(self.moving)), _rows(B, len(self.moving))
        out = np.empty(len(a), dtype=np.bool_)
        before = self.exact
        self.set_exact(exact)
        with first_use(KERNEL):
            segments_free(self.table, a, b, out)
        self.set_exact(before)
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
        wanted = float(self.query.margins[0]) - ROUNDING if required is None else required
        with first_use(KERNEL):
            edge, share, _ = path_proven(self.table, rows, wanted)
        return None if edge < 0 else (int(edge), float(share))

    def contacts(self, q: ArrayLike, within: float | None = None) -> tuple[Contact, ...]:
        """Pairs nearer than ``within`` metres (default: the margin) at q (k,), nearest first.

        Distances are the hulls' where things are apart, and where they overlap minus the depth of
        the deepest sphere. The robot's own parts count where they are within 2 mm.
        """
        from galley.worlds.kernel.entries import distances_at

        query = self.query
        margin = float(query.margins[0]) if within is None else within
        full = np.array(query.q)
        full[self.moving] = _row(q, len(self.moving))
        P, B = len(self.movers.names), len(self.bodies)
        cap = max(margin, float(query.margins[1])) + 1e-3
        scene = np.empty((P, max(B, 1)))
        between = np.empty((P, P))
        with first_use(KERNEL):
            distances_at(self.table, self.movers.every, full, cap, scene, between)
        found: dict[Pair, float] = {}
        names = self.movers.names
        for i, j in zip(*np.nonzero(scene[:, :B] < margin), strict=True):
            _enter(found, names[i], self.bodies[j], float(scene[i, j]))
        own = self.movers.own
        limits = np.full((P, P), float(query.margins[1]))
        limits[own:] = limits[:, own:] = margin  # what rides keeps the full margin
        for i, j in zip(*np.nonzero(between < limits), strict=True):
            _enter(found, names[i], names[j], float(between[i, j]))
        contacts = [Contact(a, b, d) for (a, b), d in found.items()]
        return tuple(sorted(contacts, key=lambda c: c.distance))

    def clearances(self, states: ArrayLike, cap: float = 0.3) -> Array:
        """Least distances (m,), at most ``cap``, between what moves and what stands still.

        For configurations (m, k). Those of the hulls, as in ``contacts``.
        """
        from galley.worlds.kernel.entries import clearances_at

        rows = _rows(states, len(self.moving))
        full = np.repeat(np.array(self.query.q)[None], len(rows), axis=0)
        full[:, self.moving] = rows
        P, B = len(self.movers.names), len(self.bodies)
        scene, between = np.empty((P, max(B, 1))), np.empty((P, P))
        out = np.empty(len(rows))
        with first_use(KERNEL):
            clearances_at(self.table, self.movers.every, full, cap, scene, between, out)
        return out

    def clearance(self, q: ArrayLike, cap: float = 0.3) -> float:
        """``clearances`` of one configuration (k,)."""
        return float(self.clearances(_row(q, len(self.moving))[None], cap)[0])


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


def moving_joints(robot: RobotModel, group: str) -> NDArray[np.int64]:
    """Positions in q of a group's joints; ``base+arm`` for two, ``all`` for all of them."""
    names = [g.name for g in robot.groups] if group == "all" else group.split("+")
    return np.concatenate([np.arange(robot.size)[robot.slice(name)] for name in names])


def metric(robot: RobotModel, group: str) -> tuple[Array, Array, Array, Array]:
    """Lower and upper limits, weights and steps of a group's joints, each (k,)."""
    names = [g.name for g in robot.groups] if group == "all" else group.split("+")
    low, high, weights, steps = [], [], [], []
    for name in names:
        own = robot.group(name)
        low.append(own.lower)
        high.append(own.upper)
        heading = [unit == "rad" and "m" in own.units for unit in own.units]
        weights.append([_HEADING_WEIGHT if turns else 1.0 for turns in heading])
        steps.append(
            [
                _HEADING_STEP if turns else _STEP[unit]
                for turns, unit in zip(heading, own.units, strict=True)
            ]
        )
    return (
        np.concatenate(low),
        np.concatenate(high),
        np.concatenate(weights).astype(np.float64),
        np.concatenate(steps).astype(np.float64),
    )


def make_view(
    group: str,
    moving: NDArray[np.int64],
    limits: tuple[Array, Array, Array, Array],
    movers: Movers,
    bodies: tuple[str, ...],
    obstacles: Obstacles,
    q: Array,
    shown: NDArray[np.int64],
    allowed: NDArray[np.uint8],
    checked: NDArray[np.uint8],
    margin: float,
    tool: Array,
) -> View:
    """Allocates a Query's arrays and has them filled.

    Args:
        limits: lower, upper, weights and steps of the moving joints.
        q: values of all joints (n,), the scene joint's last.
        shown: rows of the obstacles that count.
        allowed: (P, B) whether a part may touch a body.
        checked: (P, P) whether two parts must not touch.
        tool: pose (12,) of the tool in its frame, and that frame.
    """
    from galley.worlds.kernel.entries import FUNCTIONS, prepare_query
    from galley.worlds.kernel.packed import ROW, pack

    n, k, P = len(q), len(moving), len(movers.names)
    S, m, pairs = len(movers.robot.part_frame), len(movers.part), movers.pairs
    most_clusters = int(np.diff(movers.robot.part_cluster).max(initial=1))
    most_spheres = int(np.diff(movers.robot.cluster_sphere).max(initial=1))
    sizes = (n, 12 * (n + 1), 3 * S, 3 * m, 1, 1, 1, 3 * (most_clusters + most_spheres) + 1)
    layout = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64) * LANES
    bounds = np.full((6, LANES * max(1, -(-len(shown) // LANES))), 1e6, dtype=np.float32)
    bounds[:3, : len(shown)] = obstacles.low[shown].T
    bounds[3:, : len(shown)] = obstacles.high[shown].T
    still = np.zeros((m, 20), dtype=np.float32)
    still[:, 19] = movers.part >= movers.own
    query = Query(
        q=np.array(q, dtype=np.float64),
        moving=moving,
        low=limits[0],
        high=limits[1],
        weights=limits[2],
        step=limits[3],
        parent=movers.parent,
        fixed=movers.fixed,
        prismatic=movers.prismatic,
        tool=tool,
        margins=np.array([margin + ROUNDING, _SELF_MARGIN, 1.0], dtype=np.float32),
        joints=np.empty(n, dtype=np.int64),
        parts=np.empty(S, dtype=np.int64),
        solid_parts=np.empty(m, dtype=np.int64),
        obstacles=shown,
        bounds=bounds,
        allowed=allowed,
        solids=movers.solids,
        solid_part=movers.part,
        solid_frame=movers.frame,
        solid_pose=movers.pose,
        solid_ball=movers.ball,
        solid_still=still,
        sphere_pairs=np.empty((pairs, 2), dtype=np.int64),
        mixed_pairs=np.empty((pairs, 2), dtype=np.int64),
        solid_pairs=np.empty((pairs, 2), dtype=np.int64),
        reach=np.empty((P, k), dtype=np.float32),
        sphere_pair_reach=np.empty((pairs, k), dtype=np.float32),
        mixed_pair_reach=np.empty((pairs, k), dtype=np.float32),
        solid_pair_reach=np.empty((pairs, k), dtype=np.float32),
        travel=np.zeros(P + 3 * pairs, dtype=np.float32),
        near=np.empty((3, max(len(shown), most_clusters)), dtype=np.int64),
        near_bounds=np.zeros_like(bounds),
        work=np.empty((n + 5, 12)),
        full=np.empty(n),
        stack=np.empty((_STACK, 2)),
        layout=layout,
        buffer=np.empty(LANES * int(sum(sizes)), dtype=np.float32),
    )
    counts = np.empty(6, dtype=np.int64)
    table = pack(movers.robot, obstacles, query, FUNCTIONS)
    with first_use(KERNEL):
        prepare_query(table, movers.every, movers.carries, movers.span, checked, counts)
    # What was listed may be shorter than the room for it.
    listed = {
        "joints": 0,
        "parts": 1,
        "solid_parts": 2,
        "sphere_pairs": 3,
        "sphere_pair_reach": 3,
        "mixed_pairs": 4,
        "mixed_pair_reach": 4,
        "solid_pairs": 5,
        "solid_pair_reach": 5,
    }
    query = query._replace(
        **{name: getattr(query, name)[: counts[k]] for name, k in listed.items()}
    )
    for name, k in listed.items():
        table[ROW[name], 1] = counts[k]
    return View(group, moving, movers, bodies, movers.robot, obstacles, query, table)
