"""Scene: the static description of the world. Frozen data, read from YAML by ``reader``.

Furniture is described in place: when all scene joints are zero, a body's frame B coincides with the
world frame W (or with its ``pose``). A joint's axis is given in world coordinates, too.
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
_GROUND = 0.005  # m, height of furniture that a base can drive over


@dataclass(frozen=True)
class RobotSpec:
    """The robot and its start configuration.

    Attributes:
        name: the robot's name.
        model: ``mobile_panda``, or empty if ``file`` describes the robot.
        base: dimensions and limits of the base.
        q: start configuration (n,): base (3), arm, fingers; m and rad.
        hand: the link of the hand; for a robot with several hands, the name of the first.
        file: the contents of the robot file, or None.
        replaces: path of the robot file that replaces the scene's robot; else empty.
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
        """Names of the hands of a robot that has several, in order; empty for one hand."""
        arms = () if self.file is None else self.file.arms
        return tuple(arm.hand for arm in arms) if len(arms) > 1 else ()


@dataclass(frozen=True)
class Physics:
    """Parameters of the physics simulation.

    Attributes:
        gravity: acceleration (3,), m/s^2, world frame.
        friction: Coulomb coefficient of surfaces that give none.
        restitution: restitution of surfaces that give none, 0 to 1.
        time_step: of the simulation, s.
        finger_force: largest force of each finger, N. A hand grips with it, 40 N by default; the
            robot file's gripper may give another.
        finger_friction: Coulomb coefficient of the finger pads.
    """

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
        texture: image wrapped around the sides of a box; None for a plain colour.
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
        """Lower and upper corner (3,) of its axis-aligned bounding box, if its body is at X."""
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
        """Centre (3,) of the bounding box in the shape's own frame, metres; 0 except for meshes."""
        if self.points is None:
            return np.zeros(3)
        return np.asarray(self.points.min(axis=0) + self.points.max(axis=0)) / 2.0


@dataclass(frozen=True)
class Body:
    """A rigid piece of furniture.

    Attributes:
        name: unique among bodies and items.
        parent: name of the body that carries it, or ``world``.
        joint: name of the joint to the parent, or None if it is fixed.
        X_WB0: pose (4, 4) in the world when all scene joints are zero.
        shapes: its shapes, in its frame.
        mass: kg; used only for bodies on a joint.
        friction: Coulomb coefficient of its surface.
        restitution: restitution of its surface, 0 to 1.
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
        axis: unit vector (3,) of the axis, in the world when all joints are zero.
        pivot: a point (3,) on the axis, m, in the world when all joints are zero; revolute only.
        lower: lower limit, m or rad.
        upper: upper limit, m or rad.
        start: initial value, m or rad.
        friction: dry friction, N or N m.
        damping: N s/m or N m s/rad.
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
        """The displacement (4, 4) by a joint value, m or rad, in world coordinates."""
        if self.kind == "prismatic":
            return transform(None, self.axis * value)
        R = rotation_about(self.axis, value)
        return transform(R, self.pivot - R @ self.pivot)


@dataclass(frozen=True, eq=False)
class Region:
    """A support region: a surface or volume where items are put, in its body's frame.

    Attributes:
        name: unique among regions.
        body: name of the body that it belongs to.
        kind: ``surface`` or ``volume``.
        boxes: lower and upper corners (k, 2, 3) of k boxes, m. The boxes of a surface are flat, at
            its height. A volume is one box, and its lower z is the floor.
    """

    name: str
    body: str
    kind: str
    boxes: Array


@dataclass(frozen=True)
class Handle:
    """A handle, by which the hand opens and closes a drawer or door.

    Attributes:
        name: unique among handles.
        body: the handle's own body (fixed to what it moves).
        joint: the joint that it moves.
        point: grasp centre p_BQ (3,), body frame.
        approach: unit direction (3,) in which the hand approaches, body frame.
        closing: unit direction (3,) along which the fingers close, body frame.
        thickness: width between the fingers when they are closed on it, metres.
        span: allowed offset of the hand to either side, along approach x closing, metres.
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
        width: distance between the fingers when they hold the item, metres.
    """

    name: str
    X_IT: Array
    width: float

    def __post_init__(self) -> None:
        as_pose(self.X_IT, "X_IT")


@dataclass(frozen=True, eq=False)
class Item:
    """A movable object. Its frame I is at the centre of its bounding box, with z up when upright.

    Items are compared by identity.

    Attributes:
        name: unique among bodies and items.
        label: its name in pictures and captions.
        size: bounding box, full extents (3,), metres.
        shapes: its shapes, in its frame.
        mass: kg.
        friction: Coulomb coefficient of its surface.
        restitution: restitution of its surface, 0 to 1.
        X_WI: pose (4, 4) in the world at the start.
        grasps: the grasps that the scene file lists; if empty, they are generated from the shapes.
        upright: whether it must be put down upright; else it may lie on any stable face.
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
        """The item's shapes that collide; the others are visual only."""
        return tuple(shape for shape in self.shapes if shape.collision)

    @property
    def composite(self) -> bool:
        """Whether it differs from its bounding box: several solid shapes, or a tilted one."""
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
    """A stance set: the base poses near a piece of furniture, as a box in (x, y, heading).

    Attributes:
        name: unique among stance sets.
        lower, upper: (3,), metres and radians. A heading range may cross pi (3.0 .. 3.5).
    """

    name: str
    lower: Array
    upper: Array

    def contains(self, base: Array) -> bool:
        """Whether the base pose (x, y, heading) lies in the box, heading modulo 2 pi."""
        # The heading in the full turn that begins at the lower bound.
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
        object: name of the PDDL object.
        kind: ``furniture``, ``item`` or ``hand``.
        target: name of the item, of the furniture's stance set, or of the hand. A single hand is
            named by its link, one of several by the robot file.
        region: furniture: the region where items are put; None if nothing can be put there.
        handle: furniture with a drawer or door: its handle.
        opening: opening of the drawer (m) or door (rad) for reaching in.
        staging: surface region for putting an item down while the drawer is opened.
        spot: furniture: exact place in the region; None for anywhere in it.
        label: furniture: its name in sentences; empty for the PDDL name.
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
    """The entry called ``name``; a KeyError names ``what`` it should have been."""
    for entry in entries:
        if (entry.object if isinstance(entry, Binding) else entry.name) == name:
            return entry
    raise KeyError(f"no {what} '{name}'")


@dataclass(frozen=True, eq=False)
class Scene:
    """The static description of the world, which does not change during a run.

    Scenes are compared by identity.

    Attributes:
        name: the scene's name.
        version: version of the file format.
        source: the file from which it was read.
        physics: parameters of the physics simulation.
        robot: the robot and its start configuration.
        bodies: the furniture, the floor included.
        joints: the joints of drawers and doors.
        regions: the surfaces and volumes where items are put.
        handles: the handles of drawers and doors.
        items: the movable objects.
        stances: the stance sets of furniture.
        bindings: the scene elements that the PDDL objects stand for.
        places: location of each dotted key (``items.sugar_box``), for messages. It may be in a file
            that ``source`` extends.
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
        """An error in the value at the dotted ``key``; it has no line if no file has that key."""
        file, line, column = self.places.get(key, (self.source, None, None))
        return InputError(file, line, column, f"{key}: {what}")

    def body(self, name: str) -> Body:
        """The body called ``name``; KeyError if there is none."""
        return _find(self.bodies, name, "body")

    def joint(self, name: str) -> Joint:
        """The scene joint called ``name``; KeyError if there is none."""
        return _find(self.joints, name, "joint")

    def region(self, name: str) -> Region:
        """The region called ``name``; KeyError if there is none."""
        return _find(self.regions, name, "region")

    def handle(self, name: str) -> Handle:
        """The handle called ``name``; KeyError if there is none."""
        return _find(self.handles, name, "handle")

    def item(self, name: str) -> Item:
        """The item called ``name``; KeyError if there is none."""
        return _find(self.items, name, "item")

    def stance(self, name: str) -> Stance:
        """The stance set called ``name``; KeyError if there is none."""
        return _find(self.stances, name, "stance")

    def binding(self, name: str) -> Binding:
        """The binding of the PDDL object ``name``; KeyError if there is none."""
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
        """Names of the fixed furniture that is low enough for a base to drive over it."""

        def top(body: Body) -> float:
            solid = (shape for shape in body.shapes if shape.collision)
            return max((float(s.bounds(body.X_WB0)[1][2]) for s in solid), default=-np.inf)

        bodies = self._bodies
        return tuple(name for name in self.standing_bodies if top(bodies[name]) < _GROUND)

    def chain(self, body: str) -> tuple[str, ...]:
        """The body and its ancestors, without ``world``, from the body upwards."""
        chain = []
        while body != WORLD:
            chain.append(body)
            body = self._bodies[body].parent
        return tuple(chain)

    def body_pose(self, body: str, scene_q: Array) -> Array:
        """X_WB (4, 4) of a body for scene joint values (nj,); ``world`` is the identity."""
        if body == WORLD:
            return np.eye(4)
        # The joint nearest to the world moves the body last, so its displacement comes first.
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
        """Whether a joint moves the body, directly or by one of its ancestors."""
        return any(self._bodies[name].joint is not None for name in self.chain(body))

    def in_parent(self, X_WI: Array, parent: str, scene_q: Array) -> Array:
        """X_PI (4, 4): the world pose X_WI expressed in the frame of the body ``parent``."""
        return inverse(self.body_pose(parent, scene_q)) @ X_WI
