"""A Scene's States as CollisionWorlds, and the kernel behind the ``Checker`` protocol.

The tables of shapes are made once for a scene; a State only moves drawers and items about.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from galley.domain.frames import Array, frozen, inverse, transform
from galley.domain.scene.model import HAND, WORLD, Body, Scene
from galley.domain.state import Placement, State, item_pose
from galley.robots.collision_model import collision_model
from galley.robots.model import RobotModel
from galley.worlds.checker import MARGIN, Contact, Pair, pairs
from galley.worlds.collision_world import Bodies, CollisionWorld
from galley.worlds.engines.urdf import moves
from galley.worlds.kernel.arrays import Obstacles
from galley.worlds.moving_bodies import AttachedBody, SceneJoint
from galley.worlds.solids import Solid, half_extents, of_shape, row12, table
from galley.worlds.view import View

_T = TypeVar("_T")
_KEPT = 128  # worlds, and views, of the last States asked for
_DIGITS = 9  # of poses, in metres: finer differences are rounding, and no world of their own
_GROUND = 0.005  # m, a body no higher than this lies under the chassis: it can't be run into


class SceneKernel:
    """All States of one scene with one robot.

    Args:
        scene: furniture, items and joints.
        robot: any RobotModel.
    """

    def __init__(self, scene: Scene, robot: RobotModel) -> None:
        self.scene = scene
        self.robot = robot
        furniture = [(b.name, [of_shape(s) for s in b.shapes if s.collision]) for b in scene.bodies]
        things = [(i.name, [of_shape(s) for s in i.shapes if s.collision]) for i in scene.items]
        self._own = dict(furniture + things)
        self.names = tuple(self._own)
        self._solids = [solid for own in self._own.values() for solid in own]
        self._owner = np.array(
            [k for k, own in enumerate(self._own.values()) for _ in own], dtype=np.int64
        )
        self._table = table(self._solids)
        self._X_BS = np.array([s.X for s in self._solids]).reshape(-1, 4, 4)
        self._place_still()
        frame, X_FP = collision_model(robot).tree.link(robot.palm)
        self._palm, self._X_FP = frame, X_FP
        self._worlds: OrderedDict[object, tuple[CollisionWorld, object]] = OrderedDict()
        self._views: OrderedDict[object, tuple[View, object]] = OrderedDict()
        self._keys: OrderedDict[object, tuple[tuple[State, object], object]] = OrderedDict()
        self._furniture: OrderedDict[object, tuple[tuple[Array, Array, Array], object]] = (
            OrderedDict()
        )
        self._constant: dict[str, frozenset[Pair]] = {}

    def _place_still(self) -> None:
        """Poses and boxes of all solids with the joints at zero; lists those that may move."""
        scene = self.scene
        self._X = np.tile(np.eye(4), (len(self._solids), 1, 1))
        self._low, self._high = np.zeros((2, len(self._solids), 3))
        self._movable: list[tuple[str, list[int]]] = []
        for index, name in enumerate(self.names):
            rows = [k for k, owner in enumerate(self._owner) if owner == index]
            if name in scene.item_index or moves(scene, scene.body(name)):
                self._movable.append((name, rows))
                continue
            X_WB = scene.body_pose(name, np.zeros(len(scene.joints)))
            self._put((self._X, self._low, self._high), rows, X_WB)

    def world(self, state: State, driven: str | None = None) -> CollisionWorld:
        """The world as ``state`` has it.

        The robot's other joints stand where the state has them. A held item rides in the hand.
        With ``driven``, the name of a scene joint, what that joint moves rides too, and the
        joint's value is the last number of every configuration.
        """
        found = self._world(state, driven)
        return found if np.array_equal(np.asarray(found.q), state.q) else replace(found, q=state.q)

    def _world(self, state: State, driven: str | None) -> CollisionWorld:
        """The world but for the robot's joints, which are those of the first such State.

        Made of rounded poses, so that it depends on nothing but its key.
        """
        rounded, key = self._canonical_state(state)

        def make() -> CollisionWorld:
            return self._make(State(state.q, rounded.scene_q, rounded.items), driven)

        return _kept(self._worlds, (key, driven), make)

    def _canonical_state(self, state: State) -> tuple[State, object]:
        """A State with its poses rounded, and what tells it from others but for the robot's joints.

        Kept for the same arrays, which a State never changes.
        """

        def make() -> tuple[State, object]:
            scene_q = frozen(_rounded(state.scene_q))
            items = tuple(Placement(p.parent, frozen(_rounded(p.X_PI))) for p in state.items)
            key = (*((p.parent, p.X_PI.tobytes()) for p in items), scene_q.tobytes())
            return State(state.q, scene_q, items), key

        parts = (state.items, state.scene_q)
        return _kept(self._keys, (id(parts[0]), id(parts[1])), make, parts)

    def constant_pairs(self, group: str) -> frozenset[Pair]:
        """Pairs whose distance can't change while a group moves, so that it says nothing of a path.

        What lies below the chassis wherever it drives; and for the arm, all that the base stands
        by.
        """
        if group not in self._constant:
            scene, robot = self.scene, self.robot
            bodies = tuple(body.name for body in scene.bodies)
            if "base" in group:  # alone, or with the arm
                low = tuple(b.name for b in scene.bodies if b.joint is None and _top(b) < _GROUND)
                found = pairs(robot.base_links[:1], low)
            else:
                found = pairs(robot.base_links, bodies + tuple(item.name for item in scene.items))
            self._constant[group] = found
        return self._constant[group]

    def view(
        self,
        state: State,
        group: str,
        allowed: frozenset[Pair] = frozenset(),
        margin: float = MARGIN,
        driven: str | None = None,
    ) -> View:
        """One joint group in the world as ``state`` has it, all else of the robot as there."""
        world = self._world(state, driven)
        still = self._still(group, state)
        key = (id(world), group, allowed, margin, still)
        return _kept(self._views, key, lambda: world.view(group, state.q, allowed, margin), world)

    def _still(self, group: str, state: State) -> bytes:
        """The values of the joints that the group leaves where they are."""
        if group == "all":
            return b""
        where = self.robot.slice(group)
        return state.q[: where.start].tobytes() + b"|" + state.q[where.stop :].tobytes()

    def driven(self, scene_q: Array) -> str | None:
        """The joint that differs among rows of scene joint values (m, nj), or None.

        Raises:
            ValueError: more than one does.
        """
        moves = np.nonzero(np.ptp(scene_q, axis=0) > 0.0)[0]
        if len(moves) > 1:
            raise ValueError("one scene joint at a time can move along")
        return self.scene.joints[int(moves[0])].name if len(moves) else None

    def checker(
        self, state: State, allowed: frozenset[Pair] = frozenset(), margin: float = MARGIN
    ) -> KernelChecker:
        """A Checker for the world as ``state`` has it; ``allowed`` pairs may touch."""
        return KernelChecker(self, state, allowed, margin)

    def _put(self, placed: tuple[Array, Array, Array], rows: list[int], X_WB: Array) -> None:
        """Write poses and boxes of a body's solids into X (m, 4, 4), low, high (m, 3)."""
        X, low, high = placed
        for k in rows:
            X[k] = X_WB @ self._X_BS[k]
            below, above = half_extents(self._solids[k], X[k, :3, :3])
            low[k], high[k] = X[k, :3, 3] + below, X[k, :3, 3] + above

    def _furnished(self, scene_q: Array) -> tuple[Array, Array, Array]:
        """Poses and boxes of all solids with the joints at ``scene_q``; those of items are open."""

        def make() -> tuple[Array, Array, Array]:
            placed = self._X.copy(), self._low.copy(), self._high.copy()
            for name, rows in self._movable:
                if name not in self.scene.item_index:
                    self._put(placed, rows, self.scene.body_pose(name, scene_q))
            return placed

        return _kept(self._furniture, scene_q.tobytes(), make)

    def _make(self, state: State, driven: str | None) -> CollisionWorld:
        scene = self.scene
        X, low, high = (array.copy() for array in self._furnished(state.scene_q))
        for name, rows in self._movable:
            if name in scene.item_index:
                X_WI = item_pose(scene, state, scene.item_index[name], np.eye(4))
                self._put((X, low, high), rows, X_WI)
        obstacles = Obstacles(
            self._table,
            row12(X).astype(np.float32),
            low.astype(np.float32),
            high.astype(np.float32),
            self._owner,
        )
        attached_bodies, hidden = self._attached_bodies(state, driven)
        joint = None if driven is None else scene_joint(scene, driven, state.scene_q)
        return CollisionWorld(
            self.robot,
            Bodies(self.names, obstacles),
            q=state.q,
            attached_bodies=attached_bodies,
            joint=joint,
            hidden=hidden,
        )

    def _attached_bodies(
        self, state: State, driven: str | None
    ) -> tuple[tuple[AttachedBody, ...], frozenset[str]]:
        scene, fingers = self.scene, frozenset(self.robot.fingers)
        found = []
        moved = scene.moved_by(driven) if driven is not None else ()
        # Where all would be with the joint at zero, and the other joints as they are.
        scene_q = np.array(state.scene_q)
        if driven is not None:
            scene_q[scene.joint_index[driven]] = 0.0
        furniture = frozenset(body.name for body in scene.bodies)
        for k, item in enumerate(scene.items):
            placed = state.items[k]
            if placed.parent == HAND:
                X = self._X_FP @ placed.X_PI
                found.append(
                    AttachedBody(item.name, self._palm, self._placed(item.name, X), fingers)
                )
            elif placed.parent != WORLD and placed.parent in moved:
                X = scene.body_pose(placed.parent, scene_q) @ placed.X_PI
                found.append(self._on_joint(item.name, X, driven, scene_q, frozenset()))
        for name in moved:
            X = scene.body_pose(name, scene_q)
            found.append(self._on_joint(name, X, driven, scene_q, furniture))
        return tuple(found), frozenset(rider.name for rider in found)

    def _on_joint(
        self, name: str, X_W: Array, driven: str | None, scene_q: Array, passes: frozenset[str]
    ) -> AttachedBody:
        assert driven is not None
        X_JW = np.linalg.inv(scene_joint(self.scene, driven, scene_q).X_WJ)
        return AttachedBody(name, -1, self._placed(name, X_JW @ X_W), passes=passes)

    def _placed(self, name: str, X: Array) -> tuple[Solid, ...]:
        return tuple(replace(s, X=frozen(X @ s.X)) for s in self._own[name])


class KernelChecker:
    """Checks whole configurations of the robot in one State (see ``Checker``)."""

    def __init__(
        self, kernel: SceneKernel, state: State, allowed: frozenset[Pair], margin: float
    ) -> None:
        self.kernel = kernel
        self.state = state
        self.allowed = allowed
        self.margin = margin

    @cached_property
    def _still(self) -> View:
        """The view of the State as it is."""
        return self.kernel.view(self.state, "all", self.allowed, self.margin)

    def _view(self, scene_q: Array | None) -> View:
        if scene_q is None:
            return self._still
        state = self.state.with_scene(scene_q)
        return self.kernel.view(state, "all", self.allowed, self.margin)

    def free(self, q: Array, scene_q: Array | None = None) -> bool:
        """See ``Checker.free``."""
        return self._view(scene_q).free(q)

    def free_many(self, Q: Array, scene_q: Array | None = None) -> NDArray[np.bool_]:
        """See ``Checker.free_many``."""
        if scene_q is None:
            return self._view(None).free_many(Q)
        driven = self.kernel.driven(scene_q)
        if driven is None:
            return self._view(scene_q[0]).free_many(Q)
        state = self.state.with_scene(scene_q[0])
        view = self.kernel.view(state, "all", self.allowed, self.margin, driven)
        values = scene_q[:, self.kernel.scene.joint_index[driven]]
        return view.free_many(np.column_stack([Q, values]))

    def contacts(
        self, q: Array, scene_q: Array | None = None, within: float | None = None
    ) -> tuple[Contact, ...]:
        """See ``Checker.contacts``."""
        return self._view(scene_q).contacts(q, within)


def scene_joint(scene: Scene, name: str, scene_q: Array) -> SceneJoint:
    """A scene's joint for the kernel: its frame has z along the axis, through the pivot.

    The frame goes with what carries the joint (a door on a drawer), as ``scene_q`` has that.
    """
    joint = scene.joint(name)
    z = joint.axis
    x = np.eye(3)[int(np.argmin(np.abs(z)))]
    x = x - z * (z @ x)
    x = x / np.linalg.norm(x)
    prismatic = joint.kind == "prismatic"
    origin = np.zeros(3) if prismatic else joint.pivot
    X_WJ = transform(np.stack([x, np.cross(z, x), z], axis=1), origin)
    parent = next((body.parent for body in scene.bodies if body.joint == name), WORLD)
    if parent != WORLD:
        moved = scene.body_pose(parent, scene_q) @ inverse(scene.body(parent).X_WB0)
        X_WJ = moved @ X_WJ
    return SceneJoint(frozen(X_WJ), prismatic, joint.lower, joint.upper)


def _rounded(values: Array) -> Array:
    """Without what is below ``_DIGITS``, and without negative zeros."""
    return np.round(values, _DIGITS) + 0.0


def _top(body: Body) -> float:
    """Highest z (m) of a fixed body's collision shapes; -infinity if it has none."""
    tops = [shape.bounds(body.X_WB0)[1][2] for shape in body.shapes if shape.collision]
    return float(max(tops, default=-np.inf))


def _kept(
    store: OrderedDict[object, tuple[_T, object]],
    key: object,
    make: Callable[[], _T],
    guard: object = None,
) -> _T:
    """An entry of a store that keeps the last _KEPT; ``guard`` lives as long as its entry."""
    found = store.get(key)
    if found is None:
        found = store[key] = (make(), guard)
        if len(store) > _KEPT:
            store.popitem(last=False)
    else:
        store.move_to_end(key)
    return found[0]
