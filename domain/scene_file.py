"""Reads a scene file (YAML, version 1) into a Scene. The format is documented in docs/scene.md."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from galley.domain.base_spec import MobileBaseSpec
from galley.domain.errors import BadInput, did_you_mean
from galley.domain.frames import Array, frozen, rotation_rpy, rotation_z, transform
from galley.domain.scene import (
    HAND,
    WORLD,
    Binding,
    Body,
    Grasp,
    Handle,
    Item,
    Joint,
    Physics,
    Region,
    RobotSpec,
    Scene,
    Shape,
    Stance,
)
from galley.domain.yaml_reader import Entry, Reader

VERSION = 1
_GREY = (0.7, 0.7, 0.7, 1.0)
_POSE_KEYS = ("xyz", "rpy")
_BODY_KEYS = ("parent", "joint", "mass", "friction", "restitution", *_POSE_KEYS)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")  # they name files and URDF links too
_SHAPE_KINDS = ("extents", "box", "cylinder", "sphere", "mesh")


def load_scene(path: str | Path) -> Scene:
    """The Scene described by a file.

    Raises:
        BadInput: with every fault found, each with its line and key.
    """
    reader = Reader(path)
    root = reader.root()
    top = root.fields(
        ("galley_scene", "name", "robot", "bodies", "items", "stances", "objects"),
        ("physics", "joints", "regions", "handles"),
    )
    if "galley_scene" in top and top["galley_scene"].number() != VERSION:
        top["galley_scene"].fault(f"this version of Galley reads scene format {VERSION}")
        reader.finish()
    name = top["name"].text() if "name" in top else "scene"
    physics = _physics(top.get("physics"))
    joints = tuple(_joint(n, e) for n, e in _section(top, "joints"))
    bodies = tuple(_body(n, e, physics) for n, e in _section(top, "bodies"))
    _check_carriers(top, bodies, joints)
    body_names = tuple(b.name for b in bodies)
    regions = tuple(_region(n, e, body_names) for n, e in _section(top, "regions"))
    handles = tuple(
        _handle(n, e, body_names, tuple(j.name for j in joints))
        for n, e in _section(top, "handles")
    )
    placed = [_item(n, e, physics, regions) for n, e in _section(top, "items")]
    items = tuple(item for _, item in placed)
    for item in items:
        if item.name in body_names:
            reader.fault(
                reader.lines[f"items.{item.name}"], f"items.{item.name}", "a body has this name too"
            )
    stances = tuple(_stance(n, e) for n, e in _section(top, "stances"))
    bindings = tuple(
        _binding(n, e, regions, handles, items, stances) for n, e in _section(top, "objects")
    )
    robot = _robot(top["robot"]) if "robot" in top else None
    reader.finish()
    assert robot is not None
    scene = Scene(
        name=name,
        version=VERSION,
        source=str(path),
        physics=physics,
        robot=robot,
        bodies=bodies,
        joints=joints,
        regions=regions,
        handles=handles,
        items=items,
        stances=stances,
        bindings=bindings,
        lines=MappingProxyType(dict(reader.lines)),
    )
    _check_handles(reader, scene)
    reader.finish()
    start = np.array([joint.start for joint in joints])
    in_world = [
        replace(item, X_WI=frozen(scene.body_pose(body, start) @ item.X_WI))
        for body, item in placed
    ]
    return replace(scene, items=tuple(in_world))


def fault(scene: Scene, key: str, what: str) -> BadInput:
    """A BadInput about the value at ``key`` of an already loaded scene, with its line."""
    return BadInput.one(scene.source, f"{key}: {what}", scene.lines.get(key))


def _section(top: dict[str, Entry], name: str) -> list[tuple[str, Entry]]:
    entries = list(top[name].named().items()) if name in top else []
    for own, entry in entries:
        if not _NAME.fullmatch(own):
            entry.fault("a name begins with a letter or _, then letters, digits, _ and - follow")
        if name in ("bodies", "items") and own in (WORLD, HAND):
            entry.fault(f"'{own}' is a reserved name")
    return entries


def _physics(entry: Entry | None) -> Physics:
    keys = ("gravity", "friction", "restitution", "time_step", "finger_force", "finger_friction")
    f = entry.fields((), keys) if entry is not None else {}
    return Physics(
        gravity=frozen(f["gravity"].vector(3) if "gravity" in f else (0.0, 0.0, -9.81)),
        friction=f["friction"].number(at_least=0) if "friction" in f else 0.8,
        restitution=f["restitution"].number(at_least=0, at_most=1) if "restitution" in f else 0.0,
        time_step=f["time_step"].number(positive=True) if "time_step" in f else 1.0 / 240.0,
        finger_force=f["finger_force"].number(positive=True) if "finger_force" in f else 40.0,
        finger_friction=f["finger_friction"].number(at_least=0) if "finger_friction" in f else 1.0,
    )


def _pose(fields: dict[str, Entry]) -> Array:
    p = fields["xyz"].vector(3) if "xyz" in fields else np.zeros(3)
    angles = fields["rpy"].vector(3) if "rpy" in fields else np.zeros(3)
    return frozen(transform(rotation_rpy(*angles), p))


def _unit(entry: Entry) -> Array:
    v = entry.vector(3)
    length = float(np.linalg.norm(v))
    if length < 1e-9:
        entry.fault("a direction can't be all zeros")
        return frozen((0.0, 0.0, 1.0))
    return frozen(v / length)


def _color(fields: dict[str, Entry]) -> tuple[float, float, float, float]:
    if "color" not in fields:
        return _GREY
    entries = fields["color"].elements()
    if len(entries) not in (3, 4):
        fields["color"].fault("expected 3 or 4 numbers from 0 to 1 (red, green, blue, opacity)")
        return _GREY
    values = [e.number(at_least=0, at_most=1) for e in entries]
    r, g, b, a = (*values, 1.0)[:4]
    return r, g, b, a


def _shape(entry: Entry) -> Shape:
    keys = (*_SHAPE_KINDS, *_POSE_KEYS, "color", "collision", "texture", "scale")
    f = entry.fields((), keys)
    kinds = [k for k in _SHAPE_KINDS if k in f]
    X = _pose(f)
    size, kind, mesh = np.ones(3), "box", None
    if len(kinds) != 1:
        entry.fault(f"needs exactly one of {', '.join(_SHAPE_KINDS)}, has {len(kinds)}")
    elif kinds[0] == "extents":
        ranges = [e.interval() for e in f["extents"].elements()]
        if len(ranges) != 3:
            f["extents"].fault("expected three ranges: [[x0, x1], [y0, y1], [z0, z1]]")
            ranges = [(0.0, 1.0)] * 3
        if any(k in f for k in _POSE_KEYS):
            entry.fault("extents already say where it is; use box with xyz and rpy to turn it")
        low, high = np.array(ranges).T
        size = high - low
        if (size <= 0).any():
            f["extents"].fault("every side must be longer than 0")
            size = np.ones(3)
        X = frozen(transform(None, (low + high) / 2.0))
    elif kinds[0] == "box":
        size = f["box"].vector(3, positive=True)
    elif kinds[0] == "cylinder":
        kind, size = "cylinder", f["cylinder"].vector(2, positive=True)
    elif kinds[0] == "sphere":
        kind, size = "sphere", np.array([f["sphere"].number(positive=True)])
    else:
        kind, size = "mesh", np.array([f["scale"].number(positive=True) if "scale" in f else 1.0])
        mesh = _file(f["mesh"], (".obj",))
    texture = _file(f["texture"], (".png",)) if "texture" in f else None
    if texture is not None and kind != "box":
        f["texture"].fault("only a box can carry a texture")
    return Shape(
        kind=kind,
        size=frozen(size),
        X_BS=X,
        color=_color(f),
        collision=f["collision"].flag() if "collision" in f else True,
        mesh=mesh,
        texture=texture,
    )


def _file(entry: Entry, endings: tuple[str, ...]) -> Path:
    path = entry.reader.path.parent / entry.text()
    try:
        found = path.is_file()
    except OSError:  # a name too long for the file system
        found = False
    if not found:
        entry.fault(f"no such file: {entry.text()} (looked beside the scene file)")
        return entry.reader.path
    if path.suffix.lower() not in endings:
        entry.fault(f"expected a file ending in {' or '.join(endings)}")
    return path.resolve()


def _body(name: str, entry: Entry, physics: Physics) -> Body:
    f = entry.fields(("shapes",), _BODY_KEYS)
    shapes = tuple(_shape(e) for e in f["shapes"].elements()) if "shapes" in f else ()
    if "shapes" in f and not shapes:
        f["shapes"].fault("needs at least one shape")
    return Body(
        name=name,
        parent=f["parent"].text() if "parent" in f else WORLD,
        joint=f["joint"].text() if "joint" in f else None,
        X_WB0=_pose(f),
        shapes=shapes,
        mass=f["mass"].number(positive=True) if "mass" in f else 5.0,
        friction=f["friction"].number(at_least=0) if "friction" in f else physics.friction,
        restitution=(
            f["restitution"].number(at_least=0, at_most=1)
            if "restitution" in f
            else physics.restitution
        ),
    )


def _check_carriers(
    top: dict[str, Entry], bodies: tuple[Body, ...], joints: tuple[Joint, ...]
) -> None:
    """Every parent and joint exists, no body carries itself, every joint moves one body."""
    names = tuple(b.name for b in bodies)
    joint_names = tuple(j.name for j in joints)
    parents = {b.name: b.parent for b in bodies}
    used: dict[str, str] = {}
    entries = top["bodies"].named() if "bodies" in top else {}
    for body in bodies:
        entry = entries[body.name].fields(("shapes",), _BODY_KEYS)
        if body.parent != WORLD and body.parent not in names:
            entry["parent"].fault(f"unknown parent body '{body.parent}'{did_you_mean(body.parent, names)}")
        if body.joint is not None:
            if body.joint not in joint_names:
                hint = did_you_mean(body.joint, joint_names)
                entry["joint"].fault(f"unknown joint '{body.joint}'{hint}")
            elif body.joint in used:
                entry["joint"].fault(f"joint '{body.joint}' already moves '{used[body.joint]}'")
            used[body.joint] = body.name
        seen, at = set(), body.name
        while at != WORLD and at in parents and at not in seen:
            seen.add(at)
            at = parents[at]
        if at in seen:
            entry["parent"].fault("is carried by itself: its parents form a circle")
    for joint in joints:
        if joint.name not in used:
            top["joints"].named()[joint.name].fault(
                "moves no body: give one body the key 'joint'"
            )


def _check_handles(reader: Reader, scene: Scene) -> None:
    """A handle belongs to what its joint moves, and so does the volume that it opens."""
    for handle in scene.handles:
        if handle.body not in scene.moved_by(handle.joint):
            key = f"handles.{handle.name}.body"
            what = f"'{handle.body}' is not moved by '{handle.joint}'"
            reader.fault(reader.lines[key], key, what)
    for binding in scene.bindings:
        if binding.handle is None or binding.region is None:
            continue
        region, joint = scene.region(binding.region), scene.handle(binding.handle).joint
        key = f"objects.{binding.object}.region"
        if region.kind != "volume":
            what = f"'{region.name}' is a surface; what a handle opens needs a volume"
            reader.fault(reader.lines[key], key, what)
        elif region.body not in scene.moved_by(joint):
            reader.fault(reader.lines[key], key, f"'{region.name}' is not moved by '{joint}'")


def _joint(name: str, entry: Entry) -> Joint:
    f = entry.fields(("type", "axis", "limits"), ("pivot", "start", "friction", "damping"))
    kind = f["type"].text(("prismatic", "revolute")) if "type" in f else "prismatic"
    lower, upper = f["limits"].interval() if "limits" in f else (0.0, 1.0)
    start = f["start"].number() if "start" in f else 0.0
    if not lower <= start <= upper:
        (f.get("start") or entry).fault(f"start {start:g} lies outside [{lower:g}, {upper:g}]")
    if kind == "revolute" and "pivot" not in f:
        entry.fault("a revolute joint needs a pivot: a point on its axis")
    return Joint(
        name=name,
        kind=kind,
        axis=_unit(f["axis"]) if "axis" in f else frozen((1.0, 0.0, 0.0)),
        pivot=frozen(f["pivot"].vector(3) if "pivot" in f else np.zeros(3)),
        lower=lower,
        upper=upper,
        start=start,
        friction=f["friction"].number(at_least=0) if "friction" in f else 1.0,
        damping=f["damping"].number(at_least=0) if "damping" in f else 1.0,
    )


def _region(name: str, entry: Entry, bodies: tuple[str, ...]) -> Region:
    f = entry.fields(("body",), ("surface", "volume"))
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
        g = element.fields(("x", "y", "z"))
        if len(g) == 3:
            x, y = g["x"].interval(wide=True), g["y"].interval(wide=True)
            z = g["z"].number()
            boxes.append([[x[0], y[0], z], [x[1], y[1], z]])
    if not boxes:
        f["surface"].fault("needs at least one rectangle {x: [..], y: [..], z: ..}")
        boxes.append([[0.0] * 3, [1.0, 1.0, 0.0]])
    return Region(name, body, "surface", frozen(boxes))


def _handle(name: str, entry: Entry, bodies: tuple[str, ...], joints: tuple[str, ...]) -> Handle:
    f = entry.fields(("body", "joint", "point", "approach", "closing", "thickness"), ("span",))
    approach = _unit(f["approach"]) if "approach" in f else frozen((1.0, 0.0, 0.0))
    closing = _unit(f["closing"]) if "closing" in f else frozen((0.0, 0.0, 1.0))
    if abs(float(approach @ closing)) > 1e-6:
        entry.fault("approach and closing must be perpendicular")
    return Handle(
        name=name,
        body=f["body"].text(bodies) if "body" in f else "",
        joint=f["joint"].text(joints) if "joint" in f else "",
        point=frozen(f["point"].vector(3) if "point" in f else np.zeros(3)),
        approach=approach,
        closing=closing,
        thickness=f["thickness"].number(positive=True, at_most=0.08) if "thickness" in f else 0.02,
        span=f["span"].number(at_least=0) if "span" in f else 0.0,
    )


def _item(
    name: str, entry: Entry, physics: Physics, regions: tuple[Region, ...]
) -> tuple[str, Item]:
    """The item, and the body in whose frame its ``X_WI`` still is."""
    optional = ("label", "friction", "restitution", "grasps", "size")
    f = entry.fields(("shapes", "mass", "pose"), optional)
    shapes = tuple(_shape(e) for e in f["shapes"].elements()) if "shapes" in f else ()
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
        grasps=tuple(_grasp(e) for e in f["grasps"].elements()) if "grasps" in f else (),
    )


def _reach(shape: Shape) -> Array:
    """How far (3,) a shape reaches from its item's centre along each axis, metres."""
    return np.abs(shape.X_BS[:3, 3]) + np.abs(shape.X_BS[:3, :3]) @ shape.half_extents


def _item_pose(entry: Entry, height: float, regions: tuple[Region, ...]) -> tuple[str, Array]:
    """The body in whose frame the pose is given (that of the region), and the pose (4, 4)."""
    f = entry.fields((), ("on", "xy", "yaw", *_POSE_KEYS))
    if "on" not in f:
        if "xyz" not in f:
            entry.fault("needs either {on: REGION, xy: [x, y], yaw: ANGLE} or {xyz: ..., rpy: ...}")
        return WORLD, _pose(f)
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


def _grasp(entry: Entry) -> Grasp:
    f = entry.fields(("name", "width", "xyz", "rpy"))
    return Grasp(
        name=f["name"].text() if "name" in f else "",
        X_IT=_pose(f),
        width=f["width"].number(positive=True, at_most=0.08) if "width" in f else 0.05,
    )


def _stance(name: str, entry: Entry) -> Stance:
    f = entry.fields(("x", "y"), ("heading",))
    ranges = [f[k].interval() if k in f else (-np.pi, np.pi) for k in ("x", "y", "heading")]
    low, high = np.array(ranges).T
    return Stance(name, frozen(low), frozen(high))


def _binding(
    name: str,
    entry: Entry,
    regions: tuple[Region, ...],
    handles: tuple[Handle, ...],
    items: tuple[Item, ...],
    stances: tuple[Stance, ...],
) -> Binding:
    f = entry.fields((), ("item", "hand", "stance", "region", "handle", "opening", "staging"))
    kinds = [k for k in ("item", "hand", "stance") if k in f]
    if len(kinds) != 1:
        entry.fault("needs exactly one of item, hand, stance (a stance makes it furniture)")
        return Binding(name, "furniture", "")
    if kinds[0] == "item":
        return Binding(name, "item", f["item"].text(tuple(i.name for i in items)))
    if kinds[0] == "hand":
        return Binding(name, "hand", f["hand"].text(("panda_hand",)))
    surfaces = tuple(r.name for r in regions if r.kind == "surface")
    region = f["region"].text(tuple(r.name for r in regions)) if "region" in f else None
    handle = f["handle"].text(tuple(h.name for h in handles)) if "handle" in f else None
    if handle is not None and region is None:
        entry.fault("has a handle, so it needs a region (a volume) that opens with it")
    return Binding(
        object=name,
        kind="furniture",
        target=f["stance"].text(tuple(s.name for s in stances)),
        region=region,
        handle=handle,
        opening=f["opening"].number(positive=True) if "opening" in f else 0.3,
        staging=f["staging"].text(surfaces) if "staging" in f else None,
    )


def _robot(entry: Entry) -> RobotSpec:
    f = entry.fields(("model", "start"), ("name", "base"))
    model = f["model"].text(("mobile_panda",)) if "model" in f else "mobile_panda"
    base = _base(f.get("base"))
    q = np.zeros(12)
    if "start" in f:
        g = f["start"].fields(("base", "arm"), ("fingers",))
        if "base" in g:
            q[:3] = g["base"].vector(3)
            if (q[:3] < np.array(base.lower) - 1e-9).any() or (
                q[:3] > np.array(base.upper) + 1e-9
            ).any():
                g["base"].fault("lies outside the base's limits")
        if "arm" in g:
            q[3:10] = g["arm"].vector(7)
        q[10:] = g["fingers"].number(at_least=0, at_most=0.04) if "fingers" in g else 0.04
    return RobotSpec(f["name"].text() if "name" in f else model, model, base, frozen(q))


def _base(entry: Entry | None) -> MobileBaseSpec:
    """The base, from the figures in the file; defaults are those of the seed's kitchen."""
    if entry is None:
        return MobileBaseSpec()
    three = ("size", "p_BA", "plate", "lower", "upper", "velocity", "acceleration", "jerk")
    f = entry.fields((), (*three, "column", "ground_gap", "column_offset"))
    values: dict[str, Any] = {}
    for key, value in f.items():
        if key in three:
            positive = key not in ("p_BA", "lower", "upper")
            values[key] = tuple(float(v) for v in value.vector(3, positive=positive))
        elif key == "column":
            values[key] = tuple(float(v) for v in value.vector(2, positive=True))
        else:
            values[key] = value.number(positive=key == "ground_gap")
    try:
        return MobileBaseSpec(**values)
    except ValueError as error:
        entry.fault(str(error))
        return MobileBaseSpec()
