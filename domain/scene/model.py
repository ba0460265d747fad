"""Scene: the static description of the world. Frozen data, read from YAML by ``reader``.

Furniture is written down in place: a body's frame B coincides with the world frame W (or with its
``pose``) when all scene joints are zero, and a joint's axis is given in those same coordinates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import numpy as np

from galley.domain.errors import InputError, SourceLocation
from galley.domain.frames import Array, as_pose, inverse, rotation_about, transform
from galley.domain.scene.base_spec import MobileBaseSpec
from galley.domain.scene.robot_file import RobotFile

WORLD = "world"
HAND = "hand"
SMALLEST_SIDE, LARGEST_SIDE = 1e-4, 100.0  # m, of a side of a body
_GROUND = 0.005  # m: a base drives over what is no higher


@dataclass(frozen=True)
class RobotSpec:
    """The robot and its start configuration.

    Attributes:
        model: ``mobile_panda``, or empty if ``file`` describes it.
        q: start configuration: base (3), arm, fingers.
        hand: the link that is the hand; of a robot with several, the name of the first.
        file: what the robot file says, if there is one.
        replaces: that file, if it takes the place of the robot that the scene names; else empty.
    """

    name: str
    model: str
    base: MobileBaseSpec
    q: Array
    hand: str
    file: RobotFile | None = None
    replaces: str = ""

    @property
    def hands(self) -> tuple[str, ...]:
        """Names of the hands of a robot that has several, the first one's first; else empty."""
        found = () if self.file is None else self.file.arms
        return tuple(each.hand for each in found) if len(found) > 1 else ()


@dataclass(frozen=True)
class Physics:
    """gravity: (3,) m/s^2. friction, restitution: defaults of surfaces. time_step: s.
    finger_force: N. finger_friction: of the finger pads."""

    gravity: Array
    friction: float
    restitution: float
    time_step: float
    finger_force: float
    finger_friction: float


@dataclass(frozen=True)
class Shape:
    """A box, cylinder, sphere or mesh, posed in its body's frame.

    Attributes:
        kind: ``box``, ``cylinder`` (axis along its own z), ``sphere`` or ``mesh``.
        size: box: full extents (x, y, z); cylinder: (radius, length); sphere: (radius,);
            mesh: (scale,). Metres.
        X_BS: pose in the body's frame (4, 4).
        color: r, g, b, a in [0, 1].
        collision: False for a visual-only shape.
        mesh: file of a mesh; None for the other kinds.
        points: vertices (n, 3) of the mesh's convex hull, its collision shape, in the shape's own
            frame, scaled, metres; None for the other kinds.
        texture: image wrapped around the sides of a box; None for plain colour.
    """

    kind: str
    size: Array
    X_BS: Array
    color: tuple[float, float, float, float]
    collision: bool = True
    mesh: Path | None = None
    points: Array | None = None
    texture: Path | None = None

    def __post_init__(self) -> None:
        as_pose(self.X_BS, "X_BS")

    def bounds(self, X: Array) -> tuple[Array, Array]:
        """Lower and upper corner (3,) of its axis-aligned box when its body is at X (4, 4)."""
        X_S = X @ self.X_BS
        if self.points is not None:
            points = self.points @ X_S[:3, :3].T + X_S[:3, 3]
            return points.min(axis=0), points.max(axis=0)
        half = np.abs(X_S[:3, :3]) @ self.half_extents
        return X_S[:3, 3] - half, X_S[:3, 3] + half

    @property
    def half_extents(self) -> Array:
        """Half side lengths (3,) of the bounding box in the shape's own frame, metres."""
        if self.kind == "box":
            return self.size / 2.0
        if self.kind == "cylinder":
            return np.array([self.size[0], self.size[0], self.size[1] / 2.0])
        if self.kind == "sphere":
            return np.full(3, self.size[0])
        assert self.points is not None
        return np.asarray(np.ptp(self.points, axis=0)) / 2.0

    @property
    def middle(self) -> Array:
        """Centre (3,) of its own bounding box in its own frame, metres; 0 except for meshes."""
        if self.points is None:
            return np.zeros(3)
        return np.asarray(self.points.min(axis=0) + self.points.max(axis=0)) / 2.0


@dataclass(frozen=True)
class Body:
    """A rigid piece of furniture.

    Attributes:
        name: unique among bodies and items.
        parent: name of the body that carries it, or ``world``.
        joint: name of the joint to the parent, or None for a fixed one.
        X_WB0: pose in the world when all scene joints are zero (4, 4).
        friction, restitution: surface coefficients.
        mass: kg; used only for bodies on a joint.
        may_touch: the robot's links that are not checked against it.
    """

    name: str
    parent: str
    joint: str | None
    X_WB0: Array
    shapes: tuple[Shape, ...]
    mass: float
    friction: float
    restitution: float
    may_touch: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        as_pose(self.X_WB0, "X_WB0")


@dataclass(frozen=True)
class Joint:
    """A prismatic or revolute scene joint (drawer, door).

    Attributes:
        kind: ``prismatic`` (m) or ``revolute`` (rad).
        axis: unit axis (3,) in the world at zero.
        pivot: a point (3,) on the axis, in the world at zero; revolute only.
        lower, upper: limits. start: initial value.
        friction: N or N m. damping: N s/m or N m s/rad.
    """

    name: str
    kind: str
    axis: Array
    pivot: Array
    lower: float
    upper: float
    start: float
    friction: float
    damping: float

    def motion(self, value: float) -> Array:
        """The displacement (4, 4) by a joint ``value``, in world coordinates at zero."""
        if self.kind == "prismatic":
            return transform(None, self.axis * value)
        R = rotation_about(self.axis, value)
        return transform(R, self.pivot - R @ self.pivot)


@dataclass(frozen=True, eq=False)
class Region:
    """A named surface or volume where items are put, in its body's frame.

    Attributes:
        kind: ``surface`` or ``volume``.
        boxes: lower and upper corners (k, 2, 3). A surface's boxes are flat, at the height of the
            surface; a volume is one box, and its lower z is the floor.
    """

    name: str
    body: str
    kind: str
    boxes: Array


@dataclass(frozen=True)
class Handle:
    """Where the hand grasps a body on a joint.

    Attributes:
        body: the handle's own body (fixed to what it moves).
        joint: the joint that it moves.
        point: grasp centre p_BQ (3,), body frame.
        approach: unit direction (3,) in which the hand approaches, body frame.
        closing: unit direction (3,) along which the fingers close, body frame.
        thickness: width between the fingers when closed on it, metres.
        span: allowed offset of the hand to either side along approach x closing, metres.
    """

    name: str
    body: str
    joint: str
    point: Array
    approach: Array
    closing: Array
    thickness: float
    span: float


@dataclass(frozen=True)
class Grasp:
    """A grasp pose.

    Attributes:
        name: such as ``top-x`` or ``side+y``.
        X_IT: the grasp frame T (between the fingertips; z points out of the hand, y is the
            closing direction) in the item's frame (4, 4).
        width: distance between the fingers when closed, metres.
    """

    name: str
    X_IT: Array
    width: float

    def __post_init__(self) -> None:
        as_pose(self.X_IT, "X_IT")


@dataclass(frozen=True, eq=False)
class Item:
    """A movable object. Its frame I is the centre of its bounding box, z up when upright.

    Equal to itself only.

    Attributes:
        size: bounding box, full extents (3,), metres.
        X_WI: pose at the start (4, 4).
        grasps: those listed in the file; if empty, generated from the geometry.
        upright: whether it is to stand upright; else it may lie on any face that it rests on.
    """

    name: str
    label: str
    size: Array
    shapes: tuple[Shape, ...]
    mass: float
    friction: float
    restitution: float
    X_WI: Array
    grasps: tuple[Grasp, ...]
    upright: bool = True

    def __post_init__(self) -> None:
        as_pose(self.X_WI, "X_WI")

    @property
    def solid(self) -> tuple[Shape, ...]:
        """Its shapes that collide."""
        return tuple(shape for shape in self.shapes if shape.collision)

    @property
    def composite(self) -> bool:
        """Whether it is more than its bounding box: several solid shapes, or a tilted one."""
        if len(self.solid) != 1:
            return len(self.solid) > 1
        low, high = self.solid[0].bounds(np.eye(4))
        larger = float(np.prod(high - low) / np.prod(2.0 * self.solid[0].half_extents))
        return larger > 1.01 or bool(np.abs(low + high).max() > 1e-3)

    @property
    def round(self) -> bool:
        """Whether its shape is symmetric about its z axis."""
        return all(
            np.hypot(*shape.X_BS[:2, 3]) < 1e-6
            and (
                shape.kind == "sphere"
                or (shape.kind == "cylinder" and abs(shape.X_BS[2, 2]) > 1.0 - 1e-9)
            )
            for shape in self.solid
        )


@dataclass(frozen=True)
class Stance:
    """Base poses from which a piece of furniture counts as near: a box in (x, y, heading).

    Attributes:
        lower, upper: (3,), metres and radians. A heading range may cross pi (3.0 .. 3.5).
    """

    name: str
    lower: Array
    upper: Array

    def contains(self, base: Array) -> bool:
        """Whether the base pose (x, y, heading) lies in the box, heading modulo 2 pi."""
        heading = self.lower[2] + (base[2] - self.lower[2]) % (2.0 * np.pi)
        tolerance = 1e-9
        return bool(
            np.all(base[:2] >= self.lower[:2] - tolerance)
            and np.all(base[:2] <= self.upper[:2] + tolerance)
            and (
                heading <= self.upper[2] + tolerance
                or heading - 2.0 * np.pi >= self.lower[2] - tolerance
            )
        )


@dataclass(frozen=True)
class Spot:
    """An exact place for an item.

    Attributes:
        xy: where the item's centre goes (2,), in the frame of the region's body, metres.
        yaw: the item's yaw about the body's z axis, radians; None for any.
    """

    xy: Array
    yaw: float | None = None


@dataclass(frozen=True)
class Binding:
    """The scene element that a PDDL object stands for.

    Attributes:
        object: the PDDL name. kind: ``furniture``, ``item`` or ``hand``.
        target: name of the item, of the furniture's stance, or of the hand: of its link, or of a
            robot with several what its file calls it.
        region: furniture: where items are put; None if nothing can be put there.
        handle: furniture with a drawer: its handle.
        opening: how far the drawer (m) or door (rad) is opened to reach in.
        staging: surface region for putting an item down while the drawer is opened.
        spot: furniture: exact place in the region; None for anywhere in it.
        label: furniture: what sentences call it; empty for its name.
    """

    object: str
    kind: str
    target: str
    region: str | None = None
    handle: str | None = None
    opening: float = 0.0
    staging: str | None = None
    spot: Spot | None = None
    label: str = ""


_T = TypeVar("_T", Body, Joint, Region, Handle, Item, Stance, Binding)


def _find(entries: tuple[_T, ...], name: str, what: str) -> _T:
    for entry in entries:
        if (entry.object if isinstance(entry, Binding) else entry.name) == name:
            return entry
    raise KeyError(f"no {what} '{name}'")


@dataclass(frozen=True, eq=False)
class Scene:
    """Everything about the world that does not change during a run. Equal to itself only.

    Attributes:
        source: the file it was read from.
        places: location of each dotted key (``items.sugar_box``), for messages; it may lie in a
            file that ``source`` extends.
    """

    name: str
    version: int
    source: str
    physics: Physics
    robot: RobotSpec
    bodies: tuple[Body, ...]
    joints: tuple[Joint, ...]
    regions: tuple[Region, ...]
    handles: tuple[Handle, ...]
    items: tuple[Item, ...]
    stances: tuple[Stance, ...]
    bindings: tuple[Binding, ...]
    places: Mapping[str, SourceLocation]

    def fault(self, key: str, what: str) -> InputError:
        """An error in the value at the dotted ``key``; without a place if no file has it."""
        file, line, column = self.places.get(key, (self.source, None, None))
        return InputError(file, line, column, f"{key}: {what}")

    def body(self, name: str) -> Body:
        """The body called ``name``; KeyError if there is none (as for the others below)."""
        return _find(self.bodies, name, "body")

    def joint(self, name: str) -> Joint:
        """The joint called ``name``."""
        return _find(self.joints, name, "joint")

    def region(self, name: str) -> Region:
        """The region called ``name``."""
        return _find(self.regions, name, "region")

    def handle(self, name: str) -> Handle:
        """The handle called ``name``."""
        return _find(self.handles, name, "handle")

    def item(self, name: str) -> Item:
        """The item called ``name``."""
        return _find(self.items, name, "item")

    def stance(self, name: str) -> Stance:
        """The stance called ``name``."""
        return _find(self.stances, name, "stance")

    def binding(self, name: str) -> Binding:
        """The binding of the PDDL object ``name``."""
        return _find(self.bindings, name, "object")

    @cached_property
    def joint_index(self) -> Mapping[str, int]:
        """Index of each joint in ``State.scene_q``."""
        return {joint.name: i for i, joint in enumerate(self.joints)}

    @cached_property
    def item_index(self) -> Mapping[str, int]:
        """Index of each item in ``State.items``."""
        return {item.name: i for i, item in enumerate(self.items)}

    @cached_property
    def _bodies(self) -> Mapping[str, Body]:
        return {body.name: body for body in self.bodies}

    @cached_property
    def standing_bodies(self) -> tuple[str, ...]:
        """Names of the furniture that never moves."""
        bodies = self._bodies
        return tuple(n for n in bodies if not any(bodies[name].joint for name in self.chain(n)))

    @cached_property
    def floors(self) -> tuple[str, ...]:
        """Names of the furniture so low that a base drives over it."""

        def top(body: Body) -> float:
            solid = (shape for shape in body.shapes if shape.collision)
            return max((float(s.bounds(body.X_WB0)[1][2]) for s in solid), default=-np.inf)

        bodies = self._bodies
        return tuple(name for name in self.standing_bodies if top(bodies[name]) < _GROUND)

    def chain(self, body: str) -> tuple[str, ...]:
        """The body and its ancestors up to ``world``, which is excluded."""
        chain = []
        while body != WORLD:
            chain.append(body)
            body = self._bodies[body].parent
        return tuple(chain)

    def body_pose(self, body: str, scene_q: Array) -> Array:
        """X_WB (4, 4) of a body for scene joint values (nj,); ``world`` is the identity."""
        if body == WORLD:
            return np.eye(4)
        X = np.eye(4)
        for name in reversed(self.chain(body)):
            joint = self._bodies[name].joint
            if joint is not None:
                k = self.joint_index[joint]
                X = X @ self.joints[k].motion(float(scene_q[k]))
        return X @ self._bodies[body].X_WB0

    def furniture_boxes(self, scene_q: Array) -> tuple[Array, Array]:
        """The bounding box of every collision shape of the furniture, for scene_q (nj,).

        Returns:
            Poses of their centres in the world (n, 4, 4), and half their sides (n, 3), metres.
        """
        poses, halves = [], []
        for body in self.bodies:
            X_WB = self.body_pose(body.name, scene_q)
            for shape in body.shapes:
                if shape.collision:
                    poses.append(X_WB @ shape.X_BS @ transform(None, shape.middle))
                    halves.append(shape.half_extents)
        return np.array(poses).reshape(-1, 4, 4), np.array(halves).reshape(-1, 3)

    def moved_by(self, joint: str) -> tuple[str, ...]:
        """Names of the bodies that the joint moves."""
        return tuple(
            b.name
            for b in self.bodies
            if any(self._bodies[c].joint == joint for c in self.chain(b.name))
        )

    def carried(self, body: str) -> bool:
        """Whether some joint moves the body."""
        return any(self._bodies[name].joint is not None for name in self.chain(body))

    def in_parent(self, X_WI: Array, parent: str, scene_q: Array) -> Array:
        """X_PI (4, 4): the world pose X_WI expressed in the frame of the body ``parent``."""
        return inverse(self.body_pose(parent, scene_q)) @ X_WI
