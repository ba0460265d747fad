"""Reads furniture (bodies, joints, regions, handles) and items of a scene file."""

from __future__ import annotations

import numpy as np
import yaml

from galley.domain.errors import did_you_mean
from galley.domain.frames import Array, frozen, rotation_z, transform
from galley.domain.scene.format import GRASPS, MAX_HAND_OPENING, MAX_SHAPES
from galley.domain.scene.model import (
    WORLD,
    Body,
    Grasp,
    Handle,
    Item,
    Joint,
    Physics,
    Region,
    Scene,
    Shape,
)
from galley.domain.scene.shapes import read_direction, read_pose, read_shape
from galley.domain.scene.yaml_reader import Entry, Names, Reader, is_null, read_linked_file

_CLOSED = 0.005  # m or rad; see ``predicates``
_MIN_SIDE = 0.001  # m, of an item: a thinner one can't be grasped or simulated
_SIZE_TOLERANCE = 0.001  # m, or 1 % if that is more, between ``size`` and the shapes
_CENTRE_TOLERANCE = 0.0005  # m, between an item's frame and the centre of its meshes


def read_body(name: str, entry: Entry, physics: Physics) -> Body:
    """A body; its parent and joint are checked by ``check_body_tree``."""
    f = entry.fields()
    shapes = _shapes(f)
    friction, restitution = _surface(f, physics)
    return Body(
        name=name,
        parent=f["parent"].text() if "parent" in f else WORLD,
        joint=f["joint"].text() if "joint" in f else None,
        X_WB0=read_pose(f),
        shapes=shapes,
        mass=f["mass"].number() if "mass" in f else 5.0,
        friction=friction,
        restitution=restitution,
    )


def _shapes(f: dict[str, Entry]) -> tuple[Shape, ...]:
    if "shapes" not in f:
        return ()
    entries = f["shapes"].elements()
    if not entries:
        f["shapes"].fault("needs at least one shape")
    if len(entries) > MAX_SHAPES:
        what = f"has {len(entries)} shapes, at most {MAX_SHAPES} are allowed in a body"
        f["shapes"].fault(f"{what}: merge some, or use meshes")
        return ()
    return tuple(read_shape(e) for e in entries)


def _surface(f: dict[str, Entry], default: Physics) -> tuple[float, float]:
    """Friction and restitution."""
    return (
        f["friction"].number() if "friction" in f else default.friction,
        f["restitution"].number() if "restitution" in f else default.restitution,
    )


def check_body_tree(
    top: dict[str, Entry], bodies: tuple[Body, ...], names: Names, joints: Names
) -> None:
    """Checks that parents and joints exist, parents form a tree, and each joint moves one body."""
    parents = {b.name: b.parent for b in bodies}
    used: dict[str, str] = {}
    entries = top["bodies"].named() if "bodies" in top else {}
    for body in bodies:
        entry = entries[body.name].fields()
        if names is not None and body.parent != WORLD and body.parent not in names:
            entry["parent"].fault(
                f"unknown parent body '{body.parent}'{did_you_mean(body.parent, names)}"
            )
        if body.joint is not None and joints is not None:
            if body.joint not in joints:
                hint = did_you_mean(body.joint, joints)
                entry["joint"].fault(f"unknown joint '{body.joint}'{hint}")
            elif body.joint in used:
                entry["joint"].fault(f"joint '{body.joint}' already moves '{used[body.joint]}'")
            used[body.joint] = body.name
        visited, at = set(), body.name
        while at != WORLD and at in parents and at not in visited:
            visited.add(at)
            at = parents[at]
        if at in visited:
            entry["parent"].fault("is its own ancestor: the parents form a cycle")
    if "bodies" not in top or not top["bodies"].sound:
        return
    for name in joints or ():
        if name not in used:
            top["joints"].named()[name].fault("moves no body: give one body the key 'joint'")


def read_joint(name: str, entry: Entry) -> Joint:
    """A scene joint with its limits and start value."""
    f = entry.fields()
    kind = f["type"].text() if "type" in f else "prismatic"
    lower, upper = f["limits"].interval(wide=True) if "limits" in f else (0.0, 1.0)
    start = f["start"].number() if "start" in f else 0.0
    if not lower <= start <= upper and entry.sound:
        (f.get("start") or entry).fault(f"start {start:g} lies outside [{lower:g}, {upper:g}]")
    if kind == "revolute" and "pivot" not in f:
        entry.fault("a revolute joint needs a pivot: a point on its axis")
    return Joint(
        name=name,
        kind=kind,
        axis=read_direction(f["axis"]) if "axis" in f else frozen((1.0, 0.0, 0.0)),
        pivot=frozen(f["pivot"].vector(3) if "pivot" in f else np.zeros(3)),
        lower=lower,
        upper=upper,
        start=start,
        friction=f["friction"].number() if "friction" in f else 1.0,
        damping=f["damping"].number() if "damping" in f else 1.0,
    )


def read_region(name: str, entry: Entry, bodies: Names) -> Region:
    """A region: rectangles of a surface, or the box of a volume."""
    f = entry.fields()
    body = f["body"].text(bodies) if "body" in f else ""
    if ("surface" in f) == ("volume" in f):
        entry.fault("needs either a surface or a volume")
        return Region(name, body, "surface", frozen(np.zeros((1, 2, 3))))
    if "volume" in f:
        ranges = [e.interval(wide=True) for e in f["volume"].elements()]
        if len(ranges) != 3:
            f["volume"].fault("expected three ranges: [[x0, x1], [y0, y1], [z0, z1]]")
            ranges = [(0.0, 1.0)] * 3
        return Region(name, body, "volume", frozen([np.array(ranges).T]))
    boxes = []
    for element in f["surface"].elements():
        g = element.fields()
        if len(g) == 3:
            x, y = g["x"].interval(wide=True), g["y"].interval(wide=True)
            z = g["z"].number()
            boxes.append([[x[0], y[0], z], [x[1], y[1], z]])
    if not boxes:
        f["surface"].fault("needs at least one rectangle {x: [..], y: [..], z: ..}")
        boxes.append([[0.0] * 3, [1.0, 1.0, 0.0]])
    return Region(name, body, "surface", frozen(boxes))


def read_handle(name: str, entry: Entry, bodies: Names, joints: Names) -> Handle:
    """A handle with its grasp point and directions."""
    f = entry.fields()
    approach = read_direction(f["approach"]) if "approach" in f else frozen((1.0, 0.0, 0.0))
    closing = read_direction(f["closing"]) if "closing" in f else frozen((0.0, 0.0, 1.0))
    if abs(float(approach @ closing)) > 1e-6:
        entry.fault("approach and closing must be perpendicular")
    return Handle(
        name=name,
        body=f["body"].text(bodies) if "body" in f else "",
        joint=f["joint"].text(joints) if "joint" in f else "",
        point=frozen(f["point"].vector(3) if "point" in f else np.zeros(3)),
        approach=approach,
        closing=closing,
        thickness=f["thickness"].number() if "thickness" in f else 0.02,
        span=f["span"].number() if "span" in f else 0.0,
    )


def check_handles(reader: Reader, scene: Scene) -> None:
    """Checks that each handle, and the volume it opens, are moved by the handle's joint."""
    for handle in scene.handles:
        if handle.body not in scene.moved_by(handle.joint):
            key = f"handles.{handle.name}.body"
            what = f"'{handle.body}' is not moved by '{handle.joint}'"
            reader.fault(key, what)
    for binding in scene.bindings:
        if binding.handle is None or binding.region is None:
            continue
        region, joint = scene.region(binding.region), scene.handle(binding.handle).joint
        key = f"objects.{binding.object}.region"
        travel = max(abs(scene.joint(joint).lower), abs(scene.joint(joint).upper))
        if travel <= _CLOSED:
            what = f"it moves by at most {travel:g}, and up to {_CLOSED:g} counts as closed"
            reader.fault(f"joints.{joint}.limits", f"'{joint}' can't be opened: {what}")
        if region.kind != "volume":
            what = f"'{region.name}' is a surface; what a handle opens needs a volume"
            reader.fault(key, what)
        elif region.body not in scene.moved_by(joint):
            reader.fault(key, f"'{region.name}' is not moved by '{joint}'")


def read_item(
    name: str, entry: Entry, physics: Physics, regions: tuple[Region, ...], region_names: Names
) -> tuple[str, Item]:
    """The body whose frame the item's pose is given in, and the item with that pose as X_WI."""
    f = entry.fields()
    shapes = _shapes(f)
    solid = [s for s in shapes if s.collision]
    if shapes and not solid:
        f["shapes"].fault("needs at least one shape with collision")
    size = _size(f, solid) if solid and f["shapes"].sound else np.ones(3)
    body, X_BI = WORLD, frozen(np.eye(4))
    if "pose" in f:
        body, X_BI = _item_pose(f["pose"], float(size[2]), regions, region_names)
    friction, restitution = _surface(f, physics)
    return body, Item(
        name=name,
        label=f["label"].text() if "label" in f else name,
        size=frozen(size),
        shapes=shapes,
        mass=f["mass"].number() if "mass" in f else 1.0,
        friction=friction,
        restitution=restitution,
        X_WI=X_BI,
        grasps=tuple(_grasp(e) for e in _grasp_entries(f["grasps"])) if "grasps" in f else (),
    )


def _item_pose(
    entry: Entry, height: float, regions: tuple[Region, ...], names: Names
) -> tuple[str, Array]:
    """The body whose frame the pose is given in (the region's, or world), and the pose (4, 4)."""
    f = entry.fields()
    if "on" not in f:
        if "xyz" not in f:
            entry.fault("needs either {on: REGION, xy: [x, y], yaw: ANGLE} or {xyz: ..., rpy: ...}")
        return WORLD, read_pose(f)
    name = f["on"].text(names)
    region = next((r for r in regions if r.name == name), None)
    xy = f["xy"].vector(2) if "xy" in f else np.zeros(2)
    if "xy" not in f:
        entry.fault("needs the key 'xy'")
    yaw = f["yaw"].number() if "yaw" in f else 0.0
    if region is None:
        return WORLD, frozen(np.eye(4))
    floors = [
        float(b[0, 2]) for b in region.boxes if (xy >= b[0, :2]).all() and (xy <= b[1, :2]).all()
    ]
    known = f["on"].sound and entry.reader.sound(f"regions.{region.name}")
    if not floors and "xy" in f and known:
        f["xy"].fault(f"lies outside the region '{region.name}'")
    z = (floors[0] if floors else 0.0) + height / 2.0
    return region.body, frozen(transform(rotation_z(yaw), (*xy, z)))


def _grasp_entries(entry: Entry) -> list[Entry]:
    """The entries of the list of grasps, which may stand in a file of its own."""
    if not isinstance(entry.node, yaml.ScalarNode) or is_null(entry.node):
        return Entry(entry.reader, entry.node, entry.key, GRASPS).elements()
    if not entry.text():
        entry.fault("needs a list of grasps, or the name of a file with one")
        return []
    root = read_linked_file(entry, entry.file.parent / entry.text(), ("width",), GRASPS)
    return root.elements() if root is not None else []


def _grasp(entry: Entry) -> Grasp:
    f = entry.fields()
    return Grasp(
        name=f["name"].text() if "name" in f else "",
        X_IT=read_pose(f),
        width=f["width"].number() if "width" in f else 0.05,
    )


def _size(f: dict[str, Entry], solid: list[Shape]) -> Array:
    """An item's bounding box (3,), centred on its frame; a given ``size`` must agree."""
    bounds = np.array([shape.bounds(np.eye(4)) for shape in solid])
    low, high = bounds[:, 0].min(axis=0), bounds[:, 1].max(axis=0)
    middle = (low + high) / 2.0
    meshes = any(shape.kind == "mesh" for shape in solid)
    if meshes and np.abs(middle).max() > _CENTRE_TOLERANCE:
        words = ", ".join(f"{v:.6g}" for v in 0.0 - np.round(middle, 6))
        f["shapes"].fault(
            "an item's frame must be the centre of its bounding box, and here it is not: "
            f"add [{words}] to each shape's xyz"
        )
        return np.asarray(high - low)
    size: Array = 2.0 * np.maximum(-low, high)
    if size.min() < _MIN_SIDE:
        sides = " x ".join(f"{1e3 * side:.3g}" for side in size)
        what = f"{sides} mm is too small: every side must be at least {1e3 * _MIN_SIDE:g} mm"
        f["shapes"].fault(what)
    if "size" in f:
        declared = f["size"].vector(3)
        if (np.abs(declared - size) > np.maximum(_SIZE_TOLERANCE, 0.01 * size)).any():
            words = ", ".join(f"{side:.4g}" for side in size)
            what = f"the shapes' bounding box is [{words}] m: leave out this key"
            (f["size"].fault if meshes else f["size"].warn)(what)
        size = declared
    return size


def warn_too_wide(entry: Entry, item: Item) -> None:
    """Warns about an item of a PDDL object that is too wide for every generated grasp."""
    slim = item.composite and any(2.0 * min(s.half_extents) <= MAX_HAND_OPENING for s in item.solid)
    if not item.grasps and not slim and min(item.size[:2]) > MAX_HAND_OPENING:
        sides = " x ".join(f"{side:.3g}" for side in item.size[:2])
        entry.warn(
            f"'{item.name}' can't be picked up: it is {sides} m across and the hand opens to "
            f"{MAX_HAND_OPENING:g} m; list 'grasps' if it has a narrower part"
        )
