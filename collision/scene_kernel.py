"""SceneKernel: makes the CollisionWorlds and Views of a Scene's States.

The tables of shapes are made once per scene; a State only changes poses.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace

import numpy as np

from galley.collision.checker import MARGIN, Pair, pairs, unchecked_pairs
from galley.collision.collision_world import Cache, CollisionWorld, cached, fixed_bodies
from galley.collision.moving_bodies import AttachedBody, SceneJoint
from galley.collision.solids import Solid, of_shape
from galley.collision.view import View
from galley.domain.frames import Array, frozen, inverse, transform
from galley.domain.scene.model import HAND, WORLD, Body, Item, Scene
from galley.domain.state import Placement, State, item_pose
from galley.robots.collision_model import collision_model
from galley.robots.model import RobotModel

_KEPT = 128  # worlds of the last States used; making one takes 1 ms
_DIGITS = 9  # decimals of poses and joint values: States that differ by less share a world


class SceneKernel:
    """Collision checks for all States of one scene with one robot.

    Args:
        scene: furniture, items and joints.
        robot: any RobotModel.
    """

    def __init__(self, scene: Scene, robot: RobotModel) -> None:
        self.scene = scene
        self.robot = robot
        bodies: tuple[Body | Item, ...] = (*scene.bodies, *scene.items)
        self._own = {b.name: [of_shape(s) for s in b.shapes if s.collision] for b in bodies}
        self.names = tuple(self._own)
        self._fixed = fixed_bodies(self._own)  # all about the world's origin: each State moves them
        self._X_BS = {name: np.array([s.X for s in own]) for name, own in self._own.items() if own}
        frame, X_FP = collision_model(robot).tree.link(robot.palm)
        self._palm, self._X_FP = frame, X_FP
        self._standing = unchecked_pairs(scene, robot)
        self._worlds: Cache[CollisionWorld] = OrderedDict()

    def world(self, state: State, driven: str | None = None) -> CollisionWorld:
        """The world in ``state``, a held item attached to the hand.

        With ``driven``, the name of a scene joint, the bodies that it moves are attached to it,
        and its value is the last number of every configuration.
        """
        world = self._world(state, driven)
        return world if np.array_equal(np.asarray(world.q), state.q) else replace(world, q=state.q)

    def _world(self, state: State, driven: str | None) -> CollisionWorld:
        """The world, with the robot's joints of the first such State.

        Made from rounded poses, so that it depends on its key alone.
        """
        scene_q = frozen(_rounded(state.scene_q))
        parents = tuple(p.parent for p in state.items)
        poses = _rounded(np.array([p.X_PI for p in state.items]))

        def make() -> CollisionWorld:
            items = tuple(
                Placement(*placed) for placed in zip(parents, map(frozen, poses), strict=True)
            )
            return self._make(State(state.q, scene_q, items), driven)

        key = driven, scene_q.tobytes(), parents, poses.tobytes()
        return cached(self._worlds, key, make, _KEPT)

    def constant_pairs(self, group: str) -> frozenset[Pair]:
        """Pairs whose distance can't change while a group moves: no path can avoid them.

        The chassis and what it drives over; for the arm, the links below it and everything.
        """
        robot = self.robot
        if "base" in group:  # alone, or with the arm
            return pairs(robot.base_links[:1], self.scene.floors)
        return pairs(robot.base_links, self.names)

    def view(
        self,
        state: State,
        group: str,
        allowed: frozenset[Pair] = frozenset(),
        margin: float = MARGIN,
        driven: str | None = None,
    ) -> View:
        """The view of one joint group in ``state``; the robot's other joints stay where they are.

        Args:
            state: that of furniture, items and the robot.
            group: ``arm``, ``base``, ``base+arm`` or ``all``.
            allowed: pairs that may touch.
            margin: metres to keep.
            driven: name of a scene joint that moves too, see ``world``.
        """
        allowed = allowed | self._standing
        return self._world(state, driven).view(group, state.q, allowed, margin)

    def checker(
        self, state: State, allowed: frozenset[Pair] = frozenset(), margin: float = MARGIN
    ) -> View:
        """The view of the whole robot in ``state``, in which a scene joint can move along.

        Args:
            state: that of furniture, items and the robot.
            allowed: pairs that may touch.
            margin: metres to keep.
        """

        def with_scene(Q: Array, scene_q: Array) -> tuple[View, Array]:
            return self.view_with_scene(state, Q, scene_q, allowed, margin)

        return replace(self.view(state, "all", allowed, margin), with_scene=with_scene)

    def view_with_scene(
        self, state: State, Q: Array, scene_q: Array, allowed: frozenset[Pair], margin: float
    ) -> tuple[View, Array]:
        """The view that checks Q (m, n) with the scene joints at ``scene_q`` (m, nj), and its rows.

        If a scene joint's value differs among the rows, it is the last number of each.

        Raises:
            ValueError: the values of more than one scene joint differ.
        """
        moving = np.nonzero(np.ptp(scene_q, axis=0) > 0.0)[0]
        if len(moving) > 1:
            raise ValueError("one scene joint at a time can move along")
        state = state.with_scene(scene_q[0])
        if not len(moving):
            return self.view(state, "all", allowed, margin), Q
        view = self.view(state, "all", allowed, margin, self.scene.joints[int(moving[0])].name)
        return view, np.column_stack([Q, scene_q[:, moving]])

    def _make(self, state: State, driven: str | None) -> CollisionWorld:
        """The world of a State: bodies at their poses, and what moves with robot or joint."""
        scene, poses = self.scene, dict[str, Array]()
        for name, X_BS in self._X_BS.items():
            if name in scene.item_index:  # one in the hand is hidden, wherever that is
                X_WB = item_pose(scene, state, scene.item_index[name], np.eye(4))
            else:
                X_WB = scene.body_pose(name, state.scene_q)
            poses[name] = X_WB @ X_BS
        attached, hidden = self._attached_bodies(state, driven)
        joint = None if driven is None else scene_joint(scene, driven, state.scene_q)
        fixed = self._fixed.moved(poses)
        return CollisionWorld(self.robot, fixed, state.q, attached, joint, hidden=hidden)

    def _attached_bodies(
        self, state: State, driven: str | None
    ) -> tuple[tuple[AttachedBody, ...], frozenset[str]]:
        """The bodies that move with the robot or the driven joint, and their names.

        An item in the hand moves with the palm, one in a hand that doesn't act with the base. The
        bodies of the driven joint, and items in them, move with that joint.
        """
        scene, fingers = self.scene, frozenset(self.robot.fingers)
        resting, attached = state.resting, []
        moved = scene.moved_by(driven) if driven is not None else ()
        # Poses with the joint at zero, and the other joints as they are.
        scene_q = np.array(state.scene_q)
        if driven is not None:
            scene_q[scene.joint_index[driven]] = 0.0
        furniture = frozenset(body.name for body in scene.bodies)
        for k, item in enumerate(scene.items):
            placed = state.items[k]
            if placed.parent == HAND:
                X = self._X_FP @ placed.X_PI
                attached.append(
                    AttachedBody(item.name, self._palm, self._placed(item.name, X), fingers)
                )
            elif k in resting:  # it stands still in the base, whose frame is its last joint's
                ignored = self.robot.acting(resting[k]).hand_links
                base = self.robot.slice("base").stop
                attached.append(
                    AttachedBody(item.name, base, self._placed(item.name, placed.X_PI), ignored)
                )
            elif placed.parent != WORLD and placed.parent in moved:
                X = scene.body_pose(placed.parent, scene_q) @ placed.X_PI
                attached.append(self._on_joint(item.name, X, driven, scene_q, frozenset()))
        for name in moved:
            X = scene.body_pose(name, scene_q)
            attached.append(self._on_joint(name, X, driven, scene_q, furniture))
        return tuple(attached), frozenset(body.name for body in attached)

    def _on_joint(
        self, name: str, X_W: Array, driven: str | None, scene_q: Array, passes: frozenset[str]
    ) -> AttachedBody:
        """A body at X_W (4, 4) with the joint at zero, attached to the driven joint's frame."""
        assert driven is not None
        X_JW = np.linalg.inv(scene_joint(self.scene, driven, scene_q).X_WJ)
        return AttachedBody(name, -1, self._placed(name, X_JW @ X_W), passes=passes)

    def _placed(self, name: str, X: Array) -> tuple[Solid, ...]:
        """The solids of a body that is at X (4, 4)."""
        return tuple(replace(s, X=frozen(X @ s.X)) for s in self._own[name])


def scene_joint(scene: Scene, name: str, scene_q: Array) -> SceneJoint:
    """A scene's joint for the kernel: its frame has z along the axis, through the pivot.

    The frame moves with the body that carries it (a door on a drawer), placed by ``scene_q``.
    """
    joint = scene.joint(name)
    z = joint.axis
    # x is the unit vector farthest from z, made square to it.
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
    """Values rounded to ``_DIGITS``, without negative zeros, whose bytes would differ."""
    return np.round(values, _DIGITS) + 0.0
