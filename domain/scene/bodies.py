"""Makes furniture (bodies, joints, regions) and items from the entries of a scene file."""

from __future__ import annotations

import numpy as np

from galley.domain.frames import Array, frozen, rotation_z, transform
from galley.domain.scene.model import WORLD, Body, Grasp, Item, Joint, Physics, Region, Scene, Shape
from galley.domain.scene.schema import BodyEntry, ItemEntry, ItemPose, JointEntry, RegionEntry, unit
from galley.domain.scene.shapes import read_shape
from galley.domain.scene.stable_poses import stable_poses
from galley.domain.yaml_models import At, Sizes, YamlFile

_CLOSED = 0.005  # m or rad; see ``predicates``
_MIN_SIDE = 0.001  # m, of an item: a thinner one can't be grasped or simulated
_SIZE_TOLERANCE = 0.001  # m, or 1 % if that is more, between ``size`` and the shapes
_CENTRE_TOLERANCE = 0.0005  # m, between an item's frame and the centre of its meshes


def read_body(file: YamlFile, name: str, entry: BodyEntry, physics: Physics) -> Body:
    """A body; its parent and joint are checked by ``check_body_tree``."""
    return Body(
        name=name,
        parent=entry.parent,
        joint=entry.joint,
        X_WB0=entry.X,
        shapes=_shapes(file, ("bodies", name), entry),
        mass=entry.mass,
        may_touch=entry.may_touch,
        **_surface(entry, physics),
    )


def _shapes(file: YamlFile, at: At, entry: BodyEntry | ItemEntry) -> tuple[Shape, ...]:
    """The shapes of a body or item, whose entry is at a path."""
    shapes = enumerate(entry.shapes)
    return tuple(read_shape(file, (*at, "shapes", i), each) for i, each in shapes)


def _surface(entry: BodyEntry | ItemEntry, default: Physics) -> dict[str, float]:
    """The friction and restitution of an entry, by default those of the scene's physics."""
    own = entry.given("friction", "restitution")
    return {"friction": default.friction, "restitution": default.restitution} | own


def check_body_tree(file: YamlFile, bodies: tuple[Body, ...], joints: tuple[Joint, ...]) -> None:
    """Checks that the parents of bodies form a tree, and that each joint moves exactly one body."""
    parents = {body.name: body.parent for body in bodies}
    used: dict[str, str] = {}
    for body in bodies:
        at = ("bodies", body.name)
        if body.joint in used:
            what = f"joint '{body.joint}' already moves '{used[body.joint]}'"
            file.fault((*at, "joint"), what)
        elif body.joint is not None:
            used[body.joint] = body.name
        # Follow the parents up to the world, or until a body comes up twice.
        above, visited = body.parent, {body.name}
        while above != WORLD and above not in visited:
            visited.add(above)
            above = parents[above]
        if above != WORLD:
            file.fault((*at, "parent"), "is its own ancestor: the parents form a cycle")
    for joint in joints:
        if joint.name not in used:
            file.fault(("joints", joint.name), "moves no body: give one body the key 'joint'")


def read_joint(name: str, entry: JointEntry) -> Joint:
    """A scene joint with its limits and start value."""
    return Joint(
        name=name,
        kind=entry.type,
        axis=unit(entry.axis),
        pivot=frozen(entry.pivot or np.zeros(3)),
        lower=entry.limits[0],
        upper=entry.limits[1],
        start=entry.start,
        friction=entry.friction,
        damping=entry.damping,
    )


def read_region(name: str, entry: RegionEntry) -> Region:
    """A region: rectangles of a surface, or the box of a volume."""
    if entry.volume is not None:
        return Region(name, entry.body, "volume", frozen([np.array(entry.volume).T]))
    boxes = [np.array([each.x, each.y, (each.z, each.z)]).T for each in entry.surface or ()]
    return Region(name, entry.body, "surface", frozen(boxes))


def within(region: Region, xy: Array) -> Array:
    """For each box of a region (k,), whether a point (2,) of the plane lies in it."""
    inside = (xy >= region.boxes[:, 0, :2]) & (xy <= region.boxes[:, 1, :2])
    return np.asarray(inside.all(axis=1))


def check_handles(file: YamlFile, scene: Scene) -> None:
    """Checks that each handle, and the volume it opens, are moved by the handle's joint."""
    for handle in scene.handles:
        if handle.body not in scene.moved_by(handle.joint):
            what = f"'{handle.body}' is not moved by '{handle.joint}'"
            file.fault(("handles", handle.name, "body"), what)
    for binding in scene.bindings:
        if binding.handle is None or binding.region is None:
            continue
        region, joint = scene.region(binding.region), scene.handle(binding.handle).joint
        at = ("objects", binding.object, "region")
        travel = max(abs(scene.joint(joint).lower), abs(scene.joint(joint).upper))
        if travel <= _CLOSED:
            what = f"it moves by at most {travel:g}, and up to {_CLOSED:g} counts as closed"
            file.fault(("joints", joint, "limits"), f"'{joint}' can't be opened: {what}")
        if region.kind != "volume":
            what = f"'{region.name}' is a surface; what a handle opens needs a volume"
            file.fault(at, what)
        elif region.body not in scene.moved_by(joint):
            file.fault(at, f"'{region.name}' is not moved by '{joint}'")


def read_item(
    file: YamlFile, name: str, entry: ItemEntry, physics: Physics, regions: tuple[Region, ...]
) -> tuple[str, Item]:
    """The item of an entry.

    Returns:
        The name of the body in whose frame the item's pose is given, and the item, which has that
        pose as its X_WI for now: body poses are known only when the whole scene has been read.
    """
    at, faults = ("items", name), len(file.errors)
    shapes = _shapes(file, at, entry)
    solid = [shape for shape in shapes if shape.collision]
    size = np.ones(3)
    if not solid:
        file.fault((*at, "shapes"), "needs at least one shape with collision")
    elif len(file.errors) == faults:
        size = _size(file, at, entry.size, solid)
    body, X_BI = _item_pose(file, (*at, "pose"), entry.pose, float(size[2]), regions)
    item = Item(
        name=name,
        label=name if entry.label is None else entry.label,
        size=frozen(size),
        shapes=shapes,
        mass=entry.mass,
        X_WI=X_BI,
        grasps=tuple(Grasp(each.name, each.X, each.width) for each in entry.grasps),
        upright=entry.upright == "required",
        **_surface(entry, physics),
    )
    sound = len(file.errors) == faults
    if sound and not item.upright and all(abs(p.down[2]) > 0.5 for p in stable_poses(item)):
        what = "needs a side on which the item stays at rest, and it would roll or tip on all four"
        file.fault((*at, "upright"), f"'any' {what}: leave out this key")
    return body, item


def _item_pose(
    file: YamlFile, at: At, entry: ItemPose, height: float, regions: tuple[Region, ...]
) -> tuple[str, Array]:
    """The body in whose frame a pose is given (the region's, or the world), and the pose (4, 4)."""
    if entry.on is None:
        return WORLD, entry.X
    region = next(each for each in regions if each.name == entry.on)
    assert entry.xy is not None
    floors = region.boxes[within(region, np.array(entry.xy)), 0, 2]
    if not len(floors):
        file.fault((*at, "xy"), f"lies outside the region '{region.name}'")
    z = (float(floors[0]) if len(floors) else 0.0) + height / 2.0
    return region.body, frozen(transform(rotation_z(entry.yaw), (*entry.xy, z)))


def _size(file: YamlFile, at: At, declared: Sizes | None, solid: list[Shape]) -> Array:
    """The size (3,), m, of an item's bounding box, whose centre is its frame.

    A ``declared`` size must agree with the shapes; if it does within the tolerance, it is used.
    """
    bounds = np.array([shape.bounds(np.eye(4)) for shape in solid])
    low, high = bounds[:, 0].min(axis=0), bounds[:, 1].max(axis=0)
    middle = (low + high) / 2.0
    meshes = any(shape.kind == "mesh" for shape in solid)
    if meshes and np.abs(middle).max() > _CENTRE_TOLERANCE:
        words = ", ".join(f"{v:.6g}" for v in 0.0 - np.round(middle, 6))
        file.fault(
            (*at, "shapes"),
            "an item's frame must be the centre of its bounding box, and here it is not: "
            f"add [{words}] to each shape's xyz",
        )
        return np.asarray(high - low)
    size: Array = 2.0 * np.maximum(-low, high)
    if size.min() < _MIN_SIDE:
        sides = " x ".join(f"{1e3 * side:.3g}" for side in size)
        what = f"{sides} mm is too small: every side must be at least {1e3 * _MIN_SIDE:g} mm"
        file.fault((*at, "shapes"), what)
    if declared is not None:
        if (np.abs(declared - size) > np.maximum(_SIZE_TOLERANCE, 0.01 * size)).any():
            words = ", ".join(f"{side:.4g}" for side in size)
            what = f"the shapes' bounding box is [{words}] m: leave out this key"
            (file.fault if meshes else file.warn)((*at, "size"), what)
        size = np.array(declared)
    return size
