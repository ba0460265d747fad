"""CollisionWorld: a robot among boxes, cylinders, spheres and convex meshes.

It makes Views, which do the checks: each for a joint group, a margin and pairs that may touch.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from galley.collision.checker import MARGIN, ContactPair, Pair
from galley.collision.kernel.arrays import Obstacles
from galley.collision.moving_bodies import AttachedBody, MovingBodies, SceneJoint, moving_bodies
from galley.collision.solids import Solid, bounds, check_finite, row12, table
from galley.collision.view import View
from galley.collision.view_tables import group_arrays, resting, with_obstacles
from galley.compiled.build import KERNEL, ensure
from galley.domain.frames import Array, as_numbers, as_pose, frozen
from galley.robots.collision_model import CollisionModel, collision_model
from galley.robots.model import RobotModel, by_name

_T = TypeVar("_T")
Cache: TypeAlias = OrderedDict[object, _T]
_KEPT = 16  # views that a world keeps


def cached(store: Cache[_T], key: object, make: Callable[[], _T], size: int) -> _T:
    """The entry of a key in a store that keeps the ``size`` entries used last; made if missing."""
    entry = store.get(key)
    if entry is None:
        entry = store[key] = make()
        if len(store) > size:
            store.popitem(last=False)
    else:
        store.move_to_end(key)
    return entry


@dataclass(frozen=True, eq=False)
class FixedBodies:
    """The bodies that stand still, and the kernel's tables of their solids.

    Attributes:
        names: the bodies' names (B,).
        arrays: the tables; ``arrays.body`` is the index in ``names`` of each solid's body.
    """

    names: tuple[str, ...]
    arrays: Obstacles

    def __post_init__(self) -> None:
        check_finite(self.names, self.arrays.body, self.arrays.low, self.arrays.high)

    @cached_property
    def index(self) -> Mapping[str, int]:
        """The index in ``names`` of each body."""
        return {name: k for k, name in enumerate(self.names)}

    def moved(self, poses: Mapping[str, ArrayLike]) -> FixedBodies:
        """The same bodies, some of them at other poses; see ``CollisionWorld.moved``.

        Raises:
            ValueError: no such body, or these are no poses of its solids.
        """
        if not poses:
            return self
        old, rows = self.arrays, list[int]()
        stacked: list[ArrayLike] = []
        for name, X in poses.items():
            k = self.index.get(name)
            if k is None:
                raise ValueError(f"no body '{name}' stands still, there are {list(self.names)}")
            own, shape = np.flatnonzero(old.body == k).tolist(), np.shape(X)
            if shape != (len(own), 4, 4) and (len(own) != 1 or shape != (4, 4)):
                raise ValueError(
                    f"'{name}' has {len(own)} solids: give (4, 4) for one, (m, 4, 4) for m, "
                    f"got shape {shape}"
                )
            rows += own
            stacked += [X] if len(shape) == 2 else list(np.asarray(X))
        X_WS = as_pose(np.array(stacked, dtype=np.float64), "what a body is moved to")
        placed, low, high = old.pose.copy(), old.low.copy(), old.high.copy()
        own_shape = old.solids._replace(shape=old.solids.shape[rows])
        placed[rows], (low[rows], high[rows]) = row12(X_WS), bounds(own_shape, X_WS)
        return FixedBodies(self.names, Obstacles(old.solids, placed, low, high, old.body))


def fixed_bodies(obstacles: Mapping[str, Solid | Sequence[Solid]]) -> FixedBodies:
    """The tables of solids by the names of their bodies; the solids' poses are in the world."""
    solids: list[Solid] = []
    owner = []
    for k, body_solids in enumerate(obstacles.values()):
        own = (body_solids,) if isinstance(body_solids, Solid) else body_solids
        solids += own
        owner += [k] * len(own)
    X = np.array([s.X for s in solids]).reshape(-1, 4, 4)
    shapes = table(solids)
    low, high = bounds(shapes, X)
    body = np.array(owner, dtype=np.int64)
    arrays = Obstacles(shapes, row12(X).astype(np.float32), low, high, body)
    return FixedBodies(tuple(obstacles), arrays)


@dataclass(frozen=True, eq=False)
class CollisionWorld:
    """A robot and its surroundings. Frozen: ``replace`` makes a changed one.

    Args:
        robot: any RobotModel.
        obstacles: solids by name, or their tables.
        q: values of all joints (n,), for those that a view doesn't move; or of some by their names.
            The others, and by default all, are at 0 where that is within their limits, else in the
            middle of their ranges.
        attached_bodies: bodies that move with the robot.
        joint: a scene joint that moves too.
        margin: metres that everything must keep, unless a view has its own.
        hidden: names of obstacles that are left out.
        allowed: pairs of names that may touch, on top of those of the robot.
    """

    robot: RobotModel
    obstacles: Mapping[str, Solid | Sequence[Solid]] | FixedBodies = field(repr=False)
    q: Array | Mapping[str, float] | None = None
    attached_bodies: tuple[AttachedBody, ...] = ()
    joint: SceneJoint | None = None
    margin: float = MARGIN
    hidden: frozenset[str] = frozenset()
    allowed: frozenset[Pair] = frozenset()
    _views: Cache[View] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Makes the tables of the obstacles, and checks q and the margin."""
        if not isinstance(self.obstacles, FixedBodies):
            object.__setattr__(self, "obstacles", fixed_bodies(self.obstacles))
        size = self.robot.size
        rest = resting(self.robot)
        q = rest if self.q is None else by_name(self.robot.joints, self.q, rest)
        q = as_numbers(q, f"q of {size} joint values", (size,))
        as_numbers(self.margin, "margin", least=0.0)
        object.__setattr__(self, "q", frozen(q))
        object.__setattr__(self, "_views", OrderedDict())

    @property
    def fixed_bodies(self) -> FixedBodies:
        """The bodies that stand still."""
        assert isinstance(self.obstacles, FixedBodies)
        return self.obstacles

    @cached_property
    def model(self) -> CollisionModel:
        """The robot's spheres, hulls and solids."""
        return collision_model(self.robot)

    def holding(
        self, name: str, solids: Solid | Sequence[Solid], fingers: bool = True
    ) -> CollisionWorld:
        """The same world with a body in the hand.

        Args:
            name: of the body.
            solids: its solids; their poses are in the palm's frame.
            fingers: whether the robot's fingers may touch it, as they do while they hold it.
        """
        own = (solids,) if isinstance(solids, Solid) else tuple(solids)
        frame, X_FP = self.model.tree.link(self.robot.palm)
        placed = tuple(replace(s, X=frozen(X_FP @ s.X)) for s in own)
        touching = frozenset(self.robot.fingers if fingers else ())
        return replace(
            self,
            attached_bodies=(*self.attached_bodies, AttachedBody(name, frame, placed, touching)),
        )

    def moved(self, poses: Mapping[str, ArrayLike]) -> CollisionWorld:
        """The same world with some bodies elsewhere; quicker than a new world.

        Args:
            poses: by name, X_WS (4, 4) of a body's one solid, or (m, 4, 4) of its m in order.

        Raises:
            ValueError: no such body stands still, or these are no poses.
        """
        # A copy keeps what was derived from the names and the robot. Views hold the old poses.
        world = copy(self)
        world.__dict__.pop("whole", None)
        object.__setattr__(world, "obstacles", self.fixed_bodies.moved(poses))
        object.__setattr__(world, "_views", OrderedDict())
        return world

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
        values = np.asarray(self.q if q is None else q, dtype=np.float64)
        key = (group, self._still(group, values), allowed, margin)
        return cached(
            self._views, key, lambda: self._make_view(group, values, allowed, margin), _KEPT
        )

    def _still(self, group: str, values: Array) -> tuple[bytes, ...]:
        """The values of the joints that a group leaves where they are, as part of a key."""
        if group == "all":
            return ()
        own = self.robot.slice(group)
        return values[: own.start].tobytes(), values[own.stop :].tobytes()

    def _make_view(
        self, group: str, values: Array, pairs: frozenset[Pair], margin: float | None
    ) -> View:
        """Makes a view: its own arrays, and those that it shares with views of the same group."""
        ensure(KERNEL)
        from galley.collision.kernel.continuous_collision import functions
        from galley.collision.kernel.packed import pack

        robot, moving = self.robot, self.moving_bodies
        values = as_numbers(values, "q", (robot.size,))
        margin = self.margin if margin is None else float(as_numbers(margin, "margin", least=0.0))
        # In the shared arrays, joints that move are at rest: so the arrays don't depend on the q of
        # the view that was made first.
        still = np.array(resting(robot) if group == "all" else values, dtype=np.float64)
        if group != "all":
            own = robot.slice(group)
            still[own] = resting(robot)[own]
        q = np.array(values, dtype=np.float64)
        if self.joint is not None:
            still, q = np.append(still, 0.0), np.append(q, 0.0)
        allowed, checked = self._touching(self.allowed | pairs)
        shared = group_arrays(moving, robot, group, self.joint, still.tobytes(), checked.tobytes())
        fixed = self.fixed_bodies
        arrays = with_obstacles(shared, fixed.arrays, self._shown, allowed, margin, q)
        table = pack(arrays, functions())
        names = [*robot.joints, "the scene's joint"]
        joints = tuple(names[j] for j in shared.tree.moving)
        return View(group, shared.tree.moving, joints, moving, fixed.names, arrays, table)

    @cached_property
    def _shown(self) -> NDArray[np.int64]:
        """Rows of the obstacles that are not hidden."""
        names, body = self.fixed_bodies.names, self.fixed_bodies.arrays.body
        return np.array(
            [k for k, b in enumerate(body) if names[b] not in self.hidden], dtype=np.int64
        )

    def _touching(self, pairs: frozenset[Pair]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """(P, B) whether a part may touch a body; (P, P) whether two parts may not touch."""
        names, checked = self.moving_bodies.names, self.moving_bodies.checked
        allowed = np.zeros((len(names), max(1, len(self.fixed_bodies.names))), dtype=np.uint8)
        if not (pairs or self.attached_bodies):
            return allowed, checked
        # A name may belong to several parts, and a pair may name a body first or last.
        parts: dict[str, list[int]] = {}
        for k, name in enumerate(names):
            parts.setdefault(name, []).append(k)
        index, checked = self.fixed_bodies.index, np.array(checked)
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
        """The view of all joints, for configurations (n,) of the whole robot."""
        return self.view("all")

    def free(self, q: ArrayLike) -> bool:
        """Whether the whole robot at q (n,) keeps the margin to everything else, and to itself."""
        return self.whole.free(q)

    def free_many(self, Q: ArrayLike) -> NDArray[np.bool_]:
        """Which of many configurations (m, n) are ``free``: (m,)."""
        return self.whole.free_many(Q)

    def contacts(self, q: ArrayLike, within: float | None = None) -> tuple[ContactPair, ...]:
        """Pairs nearer than ``within`` metres (default: the margin) at q (n,), nearest first."""
        return self.whole.contacts(q, within=within)

    def clearance(self, q: ArrayLike, cap: float = 0.3) -> float:
        """Least distance (m, at most ``cap``) of the robot at q (n,) from what stands still."""
        return self.whole.clearance(q, cap)
