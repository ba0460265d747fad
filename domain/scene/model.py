"""Scene: the world in metres. Frozen data, read from one YAML file by ``reader``.

Every furniture body is authored in place: its frame B coincides with the world frame W (or with
its ``pose``) while all scene joints are zero. A joint moves its child body about or along an
axis given in those same coordinates, so that a scene can be written down with a tape measure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import numpy as np

from galley.domain.errors import InputError, SourceLocation
from galley.domain.frames import Array, inverse, rotation_about, transform
from galley.domain.scene.base_spec import MobileBaseSpec

WORLD = "world"
HAND = "hand"


@dataclass(frozen=True)
class RobotSpec:
    """The robot and its configuration at the start.

    Attributes:
        model: ``mobile_panda``.
        q: start configuration: base (3), arm (7), fingers (2).
    """

    name: str
    model: str
    base: MobileBaseSpec
    q: Array


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
        collision: False for decoration that nothing can touch.
        mesh: file of a mesh; None for the other kinds.
        points: corners (n, 3) of the mesh's convex hull, which is what collides, in the shape's
            own frame, scaled, metres; None for the other kinds.
        texture: picture wrapped round the sides of a box; None for plain colour.
    """

    kind: str
    size: Array
    X_BS: Array
    color: tuple[float, float, float, float]
    collision: bool = True
    mesh: Path | None = None
    points: Array | None = None
    texture: Path | None = None

    def bounds(self, X: Array) -> tuple[Array, Array]:
        """Lowest and highest corner (3,) of the box around it, its body at X (4, 4)."""
        X_S = X @ self.X_BS
        if self.points is not None:
            points = self.points @ X_S[:3, :3].T + X_S[:3, 3]
            return points.min(axis=0), points.max(axis=0)
        half = np.abs(X_S[:3, :3]) @ self.half_extents
        return X_S[:3, 3] - half, X_S[:3, 3] + half

    @property
    def half_extents(self) -> Array:
        """Half the side lengths (3,) of the shape's own bounding box, metres."""
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
        """Centre (3,) of that box in the shape's own frame, metres: not 0 for most meshes."""
        if self.points is None:
            return np.zeros(3)
        return np.asarray(self.points.min(axis=0) + self.points.max(axis=0)) / 2.0


@dataclass(frozen=True)
class Body:
    """Furniture: shapes that move together.

    Attributes:
        name: unique among bodies and items.
        parent: name of the body that carries it, or ``world``.
        joint: name of the joint to the parent, or None for a fixed one.
        X_WB0: pose in the world while all scene joints are zero (4, 4).
        friction, restitution: Coulomb coefficient and bounce of its surface.
        mass: kg; used for bodies on a joint.
    """

    name: str
    parent: str
    joint: str | None
    X_WB0: Array
    shapes: tuple[Shape, ...]
    mass: float
    friction: float
    restitution: float


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
        """The displacement (4, 4) in world coordinates at zero, for a joint ``value``."""
        if self.kind == "prismatic":
            return transform(None, self.axis * value)
        R = rotation_about(self.axis, value)
        return transform(R, self.pivot - R @ self.pivot)


@dataclass(frozen=True)
class Region:
    """A named part of a surface, or of a drawer's inside, in its body's frame.

    Attributes:
        kind: ``surface`` or ``volume``.
        boxes: (k, 2, 3): lower and upper corners. A surface's boxes are flat (their z is the
            height on which things stand); a volume has one box, its floor is the lower z.
    """

    name: str
    body: str
    kind: str
    boxes: Array


@dataclass(frozen=True)
class Handle:
    """Where a hand takes hold of a body on a joint.

    Attributes:
        body: the handle's own body (fixed to what it moves).
        joint: the joint that it moves.
        point: grasp centre p_BQ (3,), body frame.
        approach: unit direction (3,) in which the hand comes in, body frame.
        closing: unit direction (3,) along which the fingers close, body frame.
        thickness: width between the fingers when closed on it, metres.
        span: the hand may sit this far to either side along approach x closing, metres.
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
    """A way to hold an item.

    Attributes:
        name: such as ``top-x`` or ``side+y``.
        X_IT: the grasp frame T (between the fingertips; z points out of the hand, y is the
            closing direction) in the item's frame (4, 4).
        width: distance between the fingers when closed, metres.
    """

    name: str
    X_IT: Array
    width: float


@dataclass(frozen=True)
class Item:
    """A thing to be moved. Its frame I sits in the centre of its bounding box, z up when upright.

    Attributes:
        size: bounding box, full extents (3,), metres.
        X_WI: pose at the start (4, 4).
        grasps: listed in the file, or empty: then generated from the geometry.
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

    @property
    def round(self) -> bool:
        """Whether it looks the same from all sides when upright: round, and on one axis."""
        return all(
            np.hypot(*shape.X_BS[:2, 3]) < 1e-6
            and (
                shape.kind == "sphere"
                or (shape.kind == "cylinder" and abs(shape.X_BS[2, 2]) > 1.0 - 1e-9)
            )
            for shape in self.shapes
            if shape.collision
        )


@dataclass(frozen=True)
class Stance:
    """Base poses from which a piece of furniture counts as near: a box in (x, y, heading).

    Attributes:
        lower, upper: (3,), metres and radians. A heading range may pass pi (3.0 .. 3.5).
    """

    name: str
    lower: Array
    upper: Array

    def contains(self, base: Array) -> bool:
        """Whether the base pose (x, y, heading) lies in the box, heading modulo one turn."""
        turn = self.lower[2] + (base[2] - self.lower[2]) % (2.0 * np.pi)
        tolerance = 1e-9
        return bool(
            np.all(base[:2] >= self.lower[:2] - tolerance)
            and np.all(base[:2] <= self.upper[:2] + tolerance)
            and (
                turn <= self.upper[2] + tolerance or turn - 2.0 * np.pi >= self.lower[2] - tolerance
            )
        )


@dataclass(frozen=True)
class Spot:
    """An exact place for an item.

    Attributes:
        xy: where the item's centre goes (2,), in the frame of the region's body, metres.
        yaw: how the item is turned about the body's z axis, radians; None: any way.
    """

    xy: Array
    yaw: float | None = None


@dataclass(frozen=True)
class Binding:
    """What a PDDL object is in the scene.

    Attributes:
        object: the PDDL name. kind: ``furniture``, ``item`` or ``hand``.
        target: the item's name, the hand's link; for furniture the stance's name.
        region: furniture: where things are put; None where nothing can be put.
        handle: furniture with a drawer: its handle.
        opening: how far the drawer is opened to reach in, metres.
        staging: surface region on which things are put down meanwhile.
        spot: furniture: where in the region things are put exactly; None: anywhere in it.
    """

    object: str
    kind: str
    target: str
    region: str | None = None
    handle: str | None = None
    opening: float = 0.0
    staging: str | None = None
    spot: Spot | None = None


_T = TypeVar("_T", Body, Joint, Region, Handle, Item, Stance, Binding)


def _find(entries: tuple[_T, ...], name: str, what: str) -> _T:
    for entry in entries:
        if (entry.object if isinstance(entry, Binding) else entry.name) == name:
            return entry
    raise KeyError(f"no {what} '{name}'")


@dataclass(frozen=True)
class Scene:
    """Everything about the world that does not change during a run.

    Attributes:
        source: the file that it was read from.
        places: where each dotted key (``items.sugar_box``) is written, which may be in a file that
            ``source`` extends; for messages.
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
        """A fault of the value at the dotted ``key``, with the file and line where it is written.

        A key that stands nowhere gives a fault of the whole file.
        """
        file, line = self.places.get(key, (self.source, None))
        return InputError(file, line, None, f"{key}: {what}")

    @cached_property
    def lines(self) -> Mapping[str, int]:
        """The line of each dotted key that is written in ``source`` itself."""
        return {key: line for key, (file, line) in self.places.items() if file == self.source}

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
        """The stance set called ``name``."""
        return _find(self.stances, name, "stance")

    def binding(self, name: str) -> Binding:
        """What the PDDL object ``name`` is."""
        return _find(self.bindings, name, "object")

    @cached_property
    def joint_index(self) -> Mapping[str, int]:
        """Position of each joint in a vector of scene joint values."""
        return {joint.name: i for i, joint in enumerate(self.joints)}

    @cached_property
    def item_index(self) -> Mapping[str, int]:
        """Position of each item in a State's ``items``."""
        return {item.name: i for i, item in enumerate(self.items)}

    @cached_property
    def _bodies(self) -> Mapping[str, Body]:
        return {body.name: body for body in self.bodies}

    def chain(self, body: str) -> tuple[str, ...]:
        """The body and everything that carries it, ``world`` excluded, outermost last."""
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

    def moved_by(self, joint: str) -> tuple[str, ...]:
        """Names of the bodies that the joint carries."""
        return tuple(
            b.name
            for b in self.bodies
            if any(self._bodies[c].joint == joint for c in self.chain(b.name))
        )

    def carried(self, body: str) -> bool:
        """Whether a body can be elsewhere: some joint carries it."""
        return any(self._bodies[name].joint is not None for name in self.chain(body))

    def in_parent(self, X_WI: Array, parent: str, scene_q: Array) -> Array:
        """X_PI (4, 4) of a world pose in the frame of the body ``parent``."""
        return inverse(self.body_pose(parent, scene_q)) @ X_WI
