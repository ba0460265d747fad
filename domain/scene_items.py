"""Reads the items of a scene file, with their poses and listed grasps."""

from __future__ import annotations

import numpy as np
import yaml

from galley.domain.frames import Array, frozen, rotation_z, transform
from galley.domain.scene import (
    WORLD,
    Grasp,
    Item,
    Region,
    Shape,
)
from galley.domain.scene_settings import Physics
from galley.domain.scene_shapes import POSE_KEYS, read_pose, read_shape
from galley.domain.yaml_reader import Entry, is_null, root_of_other


def read_item(
    name: str, entry: Entry, physics: Physics, regions: tuple[Region, ...]
) -> tuple[str, Item]:
    """The item, and the body in whose frame its ``X_WI`` still is."""
    optional = ("label", "friction", "restitution", "grasps", "size")
    f = entry.fields(("shapes", "mass", "pose"), optional)
    shapes = tuple(read_shape(e) for e in f["shapes"].elements()) if "shapes" in f else ()
    if "shapes" in f and not shapes:
        f["shapes"].fault("needs at least one shape")
    solid = [s for s in shapes if s.collision]
    if shapes and not solid:
        f["shapes"].fault("needs at least one shape that can be touched")
    if "size" in f:
        size = f["size"].vector(3, positive=True)
    elif any(s.kind == "mesh" for s in solid):
        entry.fault("an item with a mesh needs the key 'size' (its bounding box)")
        size = np.ones(3)
    else:
        size = 2.0 * np.max([_reach(s) for s in solid], axis=0) if solid else np.ones(3)
    body, X_BI = WORLD, frozen(np.eye(4))
    if "pose" in f:
        body, X_BI = _item_pose(f["pose"], float(size[2]), regions)
    return body, Item(
        name=name,
        label=f["label"].text() if "label" in f else name,
        size=frozen(size),
        shapes=shapes,
        mass=f["mass"].number(positive=True) if "mass" in f else 1.0,
        friction=f["friction"].number(at_least=0) if "friction" in f else physics.friction,
        restitution=(
            f["restitution"].number(at_least=0, at_most=1)
            if "restitution" in f
            else physics.restitution
        ),
        X_WI=X_BI,
        grasps=tuple(_grasp(e) for e in _listed(f["grasps"])) if "grasps" in f else (),
    )


def _item_pose(entry: Entry, height: float, regions: tuple[Region, ...]) -> tuple[str, Array]:
    """The body in whose frame the pose is given (that of the region), and the pose (4, 4)."""
    f = entry.fields((), ("on", "xy", "yaw", *POSE_KEYS))
    if "on" not in f:
        if "xyz" not in f:
            entry.fault("needs either {on: REGION, xy: [x, y], yaw: ANGLE} or {xyz: ..., rpy: ...}")
        return WORLD, read_pose(f)
    names = tuple(r.name for r in regions)
    region = next((r for r in regions if r.name == f["on"].text(names)), None)
    xy = f["xy"].vector(2) if "xy" in f else np.zeros(2)
    if "xy" not in f:
        entry.fault("needs the key 'xy'")
    yaw = f["yaw"].number() if "yaw" in f else 0.0
    if region is None:
        return WORLD, frozen(np.eye(4))
    floors = [
        float(b[0, 2]) for b in region.boxes if (xy >= b[0, :2]).all() and (xy <= b[1, :2]).all()
    ]
    if not floors and "xy" in f:
        f["xy"].fault(f"lies outside the region '{region.name}'")
    z = (floors[0] if floors else 0.0) + height / 2.0
    return region.body, frozen(transform(rotation_z(yaw), (*xy, z)))


def _listed(entry: Entry) -> list[Entry]:
    """The grasps in the list, or in the file beside the scene file that is named instead."""
    if not isinstance(entry.node, yaml.ScalarNode) or is_null(entry.node):
        return entry.elements()
    if not entry.text():
        entry.fault("needs a list of grasps, or the name of a file with one")
        return []
    root = root_of_other(entry, entry.file.parent / entry.text())
    return root.elements() if root is not None else []


def _grasp(entry: Entry) -> Grasp:
    f = entry.fields(("name", "width", "xyz", "rpy"))
    return Grasp(
        name=f["name"].text() if "name" in f else "",
        X_IT=read_pose(f),
        width=f["width"].number(positive=True, at_most=0.08) if "width" in f else 0.05,
    )


def _reach(shape: Shape) -> Array:
    """How far (3,) a shape reaches from its item's centre along each axis, metres."""
    return np.abs(shape.X_BS[:3, 3]) + np.abs(shape.X_BS[:3, :3]) @ shape.half_extents
