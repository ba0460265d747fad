"""CollisionWorld: a robot among boxes, cylinders, spheres and convex meshes.

It makes Views, which do the checks: each for a joint group, a margin and pairs that may touch.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from galley.compiled.build import KERNEL, ensure
from galley.domain.frames import Array, frozen
from galley.robots.collision_model import CollisionModel, collision_model
from galley.robots.model import RobotModel
from galley.worlds.checker import MARGIN, Contact, Pair
from galley.worlds.kernel.arrays import (
    ATTACHED,
    ROUNDING,
    Checks,
    KernelArrays,
    KinematicTree,
    MovingSolids,
    Obstacles,
    Scratch,
)
from galley.worlds.moving_bodies import AttachedBody, MovingBodies, SceneJoint, moving_bodies
from galley.worlds.solids import Solid, half_extents, row12, table
from galley.worlds.view import LANES, View

_T = TypeVar("_T")
Cache: TypeAlias = OrderedDict[object, _T]
_KEPT = 16  # views that a world keeps
_STACK = 4096  # rows for stretches of an edge yet to be proven
_STEP = {"m": 0.02, "rad": 0.05}  # the most a joint moves between two checked states of an edge
_HEADING_STEP, _HEADING_WEIGHT = 0.03, 0.4  # a radian of turning counts like 0.4 m
# m between the robot's own parts: PyBullet, which validates, reports contact of meshes 2 mm early.
_SELF_MARGIN = 0.002
# Fields of Checks that are as long as what ``prepare`` lists, and which of its counts is theirs.
_LISTED = {
    "parts": 1,
    "solid_parts": 2,
    "sphere_pairs": 3,
    "sphere_pair_reach": 3,
    "mixed_pairs": 4,
    "mixed_pair_reach": 4,
    "solid_pairs": 5,
    "solid_pair_reach": 5,
}


def metric(robot: RobotModel, group: str) -> list[tuple[float, float, float, float]]:
    """For each joint of a group: lower and upper limit, weight in the metric, step on an edge."""
    own = robot.group(group)
    rows = []
    for j, unit in enumerate(own.units):
        heading = unit == "rad" and "m" in own.units
        weight, step = (_HEADING_WEIGHT, _HEADING_STEP) if heading else (1.0, _STEP[unit])
        rows.append((float(own.lower[j]), float(own.upper[j]), weight, step))
    return rows


def cached(store: Cache[_T], key: object, make: Callable[[], _T], size: int) -> _T:
    """The entry of a store that keeps the ``size`` entries used last."""
    found = store.get(key)
    if found is None:
        found = store[key] = make()
        if len(store) > size:
            store.popitem(last=False)
    else:
        store.move_to_end(key)
    return found


@dataclass(frozen=True, eq=False)
class FixedBodies:
    """The bodies that stand still.

    Attributes:
        names: of the bodies (B,).
        arrays: the kernel's tables.
    """

    names: tuple[str, ...]
    arrays: Obstacles

    @cached_property
    def index(self) -> Mapping[str, int]:
        """Row of each name."""
        return {name: k for k, name in enumerate(self.names)}


def fixed_bodies(obstacles: Mapping[str, Solid | Sequence[Solid]]) -> FixedBodies:
    """Tables for named solids, whose poses are in the world."""
    names, solids, owner = tuple(obstacles), [], []
    for k, found in enumerate(obstacles.values()):
        own = [found] if isinstance(found, Solid) else list(found)
        solids += own
        owner += [k] * len(own)
    X = np.array([s.X for s in solids]).reshape(-1, 4, 4)
    corners = [half_extents(s, s.X[:3, :3]) for s in solids]
    low = np.array([c[0] for c in corners]).reshape(-1, 3) + X[:, :3, 3]
    high = np.array([c[1] for c in corners]).reshape(-1, 3) + X[:, :3, 3]
    return FixedBodies(
        names,
        Obstacles(
            table(solids),
            row12(X).astype(np.float32),
            low.astype(np.float32),
            high.astype(np.float32),
            np.array(owner, dtype=np.int64),
        ),
    )


@dataclass(frozen=True, eq=False)
class CollisionWorld:
    """A robot and its surroundings. Frozen: ``replace`` makes a changed one.

    Args:
        robot: any RobotModel.
        obstacles: solids by name, or their tables.
        q: values of all joints (n,), for those that a view doesn't move; by default the middle of
            their ranges (0 where that is within them).
        attached_bodies: what moves with the robot.
        joint: a scene joint that moves too.
        margin: metres that everything must keep, unless a view has its own.
        hidden: names of obstacles that are left out.
        allowed: pairs of names that may touch, on top of those of the robot.
    """

    robot: RobotModel
    obstacles: Mapping[str, Solid | Sequence[Solid]] | FixedBodies
    q: Array | None = None
    attached_bodies: tuple[AttachedBody, ...] = ()
    joint: SceneJoint | None = None
    margin: float = MARGIN
    hidden: frozenset[str] = frozenset()
    allowed: frozenset[Pair] = frozenset()
    _views: Cache[View] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Makes the tables."""
        if not isinstance(self.obstacles, FixedBodies):
            object.__setattr__(self, "obstacles", fixed_bodies(self.obstacles))
        q = self._rest() if self.q is None else np.asarray(self.q, dtype=np.float64)
        if q.shape != (self.robot.size,):
            raise ValueError(f"q must hold {self.robot.size} joint values, got shape {q.shape}")
        object.__setattr__(self, "q", frozen(q))
        object.__setattr__(self, "_views", OrderedDict())

    def _rest(self) -> Array:
        low, high = self.robot.limits
        return np.where((low <= 0.0) & (high >= 0.0), 0.0, 0.5 * (low + high))

    @property
    def fixed_bodies(self) -> FixedBodies:
        """The bodies that stand still."""
        assert isinstance(self.obstacles, FixedBodies)
        return self.obstacles

    @cached_property
    def model(self) -> CollisionModel:
        """The robot's spheres and solids."""
        return collision_model(self.robot)

    def holding(
        self, name: str, solids: Solid | Sequence[Solid], fingers: bool = True
    ) -> CollisionWorld:
        """The same world with a body in the hand, its solids posed in the palm's frame.

        Args:
            fingers: the robot's fingers may touch it, as they do while they hold it.
        """
        own = (solids,) if isinstance(solids, Solid) else tuple(solids)
        frame, X_FP = self.model.tree.link(self.robot.palm)
        placed = tuple(replace(s, X=frozen(X_FP @ s.X)) for s in own)
        touching = frozenset(self.robot.fingers if fingers else ())
        return replace(
            self,
            attached_bodies=(*self.attached_bodies, AttachedBody(name, frame, placed, touching)),
        )

    @cached_property
    def moving_bodies(self) -> MovingBodies:
        """The kernel's tables of the robot and the attached bodies."""
        return moving_bodies(self.model, self.attached_bodies, self.joint)

    def view(
        self,
        group: str = "arm",
        q: ArrayLike | None = None,
        allowed: frozenset[Pair] = frozenset(),
        margin: float | None = None,
    ) -> View:
        """Checks for one joint group of the robot, the other joints held still.

        Args:
            group: ``arm``, ``base``, two of them as ``base+arm``, or ``all``. The scene joint, if
                any, is the last number of a configuration.
            q: values of all joints (n,); the world's where omitted.
            allowed: pairs of names that may touch, on top of the world's.
            margin: metres to keep; the world's where omitted.
        """
        values = self.q if q is None else np.asarray(q, dtype=np.float64)
        assert values is not None
        key = (group, self._still(group, values), allowed, margin)
        return cached(
            self._views, key, lambda: self._make_view(group, values, allowed, margin), _KEPT
        )

    def _still(self, group: str, values: Array) -> tuple[bytes, ...]:
        """The values of the joints that a group leaves where they are."""
        if group == "all":
            return ()
        where = self.robot.slice(group)
        return values[: where.start].tobytes(), values[where.stop :].tobytes()

    def _make_view(
        self, group: str, values: Array, pairs: frozenset[Pair], margin: float | None
    ) -> View:
        """Allocates a view's arrays and has them filled; ``values`` of all joints (n,)."""
        from galley.worlds.kernel.edges import functions
        from galley.worlds.kernel.packed import pack, row_of
        from galley.worlds.kernel.prepare import prepare

        moving = self.moving_bodies
        tree = self._joint_tree(group, values)
        allowed, checked = self._touching(self.allowed | pairs)
        still = np.zeros((len(moving.part), 20), dtype=np.float32)
        still[:, ATTACHED] = moving.part >= moving.own
        checks = self._checks(allowed, len(tree.moving), self.margin if margin is None else margin)
        arrays = KernelArrays(
            moving.robot,
            self.fixed_bodies.arrays,
            tree,
            MovingSolids(moving.solids, moving.part, moving.frame, moving.pose, moving.ball, still),
            checks,
            self._scratch(len(tree.q), checks),
        )
        counts = np.empty(6, dtype=np.int64)
        ensure(KERNEL)
        table = pack(arrays, functions())
        prepare(table, moving.all_joints, moving.carries, moving.span, checked, counts)
        # The lists may be shorter than the arrays.
        tree = tree._replace(active=tree.active[: counts[0]])
        table[row_of(KinematicTree, "active"), 1] = counts[0]
        listed = {name: getattr(checks, name)[: counts[k]] for name, k in _LISTED.items()}
        for name, rows in listed.items():
            table[row_of(Checks, name), 1] = len(rows)
        arrays = arrays._replace(tree=tree, checks=checks._replace(**listed))
        return View(group, tree.moving, moving, self.fixed_bodies.names, arrays, table)

    def _joint_tree(self, group: str, values: Array) -> KinematicTree:
        """The joints, those of a group moving, the others at ``values`` (n,)."""
        moving, (low, high, weights, step) = self._moving(group)
        if self.joint is not None and len(values) == self.robot.size:
            values = np.append(values, 0.0)
        return KinematicTree(
            q=np.array(values, dtype=np.float64),
            moving=moving,
            low=low,
            high=high,
            weights=weights,
            step=step,
            parent=self.moving_bodies.parent,
            fixed=self.moving_bodies.fixed,
            prismatic=self.moving_bodies.prismatic,
            active=np.empty(len(values), dtype=np.int64),
            tool=self._tool,
        )

    def _checks(self, allowed: NDArray[np.uint8], k: int, margin: float) -> Checks:
        """Room for the lists of what is checked where ``k`` joints move."""
        moving, obstacles, shown = self.moving_bodies, self.fixed_bodies.arrays, self._shown
        bounds = np.full((6, LANES * max(1, -(-len(shown) // LANES))), 1e6, dtype=np.float32)
        bounds[:3, : len(shown)] = obstacles.low[shown].T
        bounds[3:, : len(shown)] = obstacles.high[shown].T
        most = moving.pairs
        return Checks(
            margins=np.array([margin + ROUNDING, _SELF_MARGIN, 1.0], dtype=np.float32),
            parts=np.empty(len(moving.robot.part_frame), dtype=np.int64),
            solid_parts=np.empty(len(moving.part), dtype=np.int64),
            obstacles=shown,
            bounds=bounds,
            allowed=allowed,
            sphere_pairs=np.empty((most, 2), dtype=np.int64),
            mixed_pairs=np.empty((most, 2), dtype=np.int64),
            solid_pairs=np.empty((most, 2), dtype=np.int64),
            reach=np.empty((len(moving.names), k), dtype=np.float32),
            sphere_pair_reach=np.empty((most, k), dtype=np.float32),
            mixed_pair_reach=np.empty((most, k), dtype=np.float32),
            solid_pair_reach=np.empty((most, k), dtype=np.float32),
        )

    def _scratch(self, n: int, checks: Checks) -> Scratch:
        """Working memory for ``n`` joints."""
        robot, most = self.moving_bodies.robot, self.moving_bodies.pairs
        clusters = int(np.diff(robot.part_cluster).max(initial=1))
        spheres = int(np.diff(robot.cluster_sphere).max(initial=1))
        parts, solids = len(checks.parts), len(checks.solid_parts)
        sizes = (n, 12 * (n + 1), 3 * parts, 3 * solids, 1, 1, 1, 3 * (clusters + spheres) + 1)
        return Scratch(
            travel=np.zeros(len(checks.reach) + 3 * most, dtype=np.float32),
            near=np.empty((3, max(len(checks.obstacles), clusters)), dtype=np.int64),
            near_bounds=np.zeros_like(checks.bounds),
            work=np.empty((n + 5, 12)),
            full=np.empty(n),
            stack=np.empty((_STACK, 2)),
            layout=np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64) * LANES,
            buffer=np.empty(LANES * int(sum(sizes)), dtype=np.float32),
        )

    def _moving(self, group: str) -> tuple[NDArray[np.int64], Array]:
        """The joints of a group, a scene joint last: positions (k,), and (4, k) of limits.

        Those are lower and upper limits, weights, and steps between checked states of an edge.
        """
        robot = self.robot
        names = [g.name for g in robot.groups] if group == "all" else group.split("+")
        moving = [int(j) for name in names for j in np.arange(robot.size)[robot.slice(name)]]
        rows = [row for name in names for row in metric(robot, name)]
        if self.joint is not None:
            moving.append(robot.size)
            step = _STEP["m" if self.joint.prismatic else "rad"]
            rows.append((self.joint.lower, self.joint.upper, 1.0, step))
        return np.array(moving, dtype=np.int64), np.ascontiguousarray(np.array(rows).T)

    @cached_property
    def _shown(self) -> NDArray[np.int64]:
        """Rows of the obstacles that count."""
        names = self.fixed_bodies.names
        return np.array(
            [k for k, b in enumerate(self.fixed_bodies.arrays.body) if names[b] not in self.hidden],
            dtype=np.int64,
        )

    @cached_property
    def _tool(self) -> Array:
        frame, X_FL = self.model.tree.link(self.robot.tool_link)
        return np.array([*row12(X_FL @ self.robot.X_LT), frame], dtype=np.float64)

    def _touching(self, pairs: frozenset[Pair]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """(P, B) whether a part may touch a body; (P, P) whether two parts must not."""
        parts: dict[str, list[int]] = {}
        for k, name in enumerate(self.moving_bodies.names):
            parts.setdefault(name, []).append(k)
        index = self.fixed_bodies.index
        allowed = np.zeros((len(self.moving_bodies.names), max(1, len(index))), dtype=np.uint8)
        checked = np.array(self.moving_bodies.checked)
        for one, two in pairs:
            for a, b in ((one, two), (two, one)):
                if a in parts and b in index:
                    allowed[parts[a], index[b]] = 1
                for i in parts.get(a, ()):
                    checked[i, parts.get(b, [])] = 0
        for body in self.attached_bodies:
            allowed[parts[body.name], [index[b] for b in body.passes if b in index]] = 1
        return allowed, checked

    @cached_property
    def whole(self) -> View:
        """All joints at once: for single configurations of the whole robot."""
        return self.view("all")

    def free(self, q: ArrayLike) -> bool:
        """Whether the whole robot at q (n,) keeps the margin to all else, and to itself."""
        return self.whole.free(q)

    def free_many(self, Q: ArrayLike) -> NDArray[np.bool_]:
        """``free`` for many configurations (m, n): (m,)."""
        return self.whole.free_many(Q)

    def contacts(self, q: ArrayLike, within: float | None = None) -> tuple[Contact, ...]:
        """Pairs nearer than ``within`` metres (default: the margin) at q (n,), nearest first."""
        return self.whole.contacts(q, within=within)

    def clearance(self, q: ArrayLike, cap: float = 0.3) -> float:
        """Least distance (m, at most ``cap``) of the robot at q (n,) from what stands still."""
        return self.whole.clearance(q, cap)
