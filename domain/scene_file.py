"""Reads a scene file (YAML, version 1) into a Scene. The format is documented in docs/scene.md."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from galley.domain.base_spec import MobileBaseSpec
from galley.domain.frames import frozen
from galley.domain.scene import (
    HAND,
    WORLD,
    Binding,
    Handle,
    Item,
    Physics,
    Region,
    RobotSpec,
    Scene,
    Stance,
)
from galley.domain.scene_furniture import (
    check_carriers,
    check_handles,
    read_body,
    read_handle,
    read_joint,
    read_region,
)
from galley.domain.scene_items import read_item
from galley.domain.yaml_reader import Entry, Reader

VERSION = 1
_ARTICLES = {"item": "an item", "hand": "a hand"}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")  # they name files and URDF links too


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
    joints = tuple(read_joint(n, e) for n, e in _section(top, "joints"))
    bodies = tuple(read_body(n, e, physics) for n, e in _section(top, "bodies"))
    check_carriers(top, bodies, joints)
    body_names = tuple(b.name for b in bodies)
    regions = tuple(read_region(n, e, body_names) for n, e in _section(top, "regions"))
    handles = tuple(
        read_handle(n, e, body_names, tuple(j.name for j in joints))
        for n, e in _section(top, "handles")
    )
    placed = [read_item(n, e, physics, regions) for n, e in _section(top, "items")]
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
    taken: dict[str, str] = {}
    for binding in bindings:
        if binding.kind != "furniture":
            other = taken.setdefault(binding.target, binding.object)
            if other != binding.object:
                key = f"objects.{binding.object}"
                what = f"is '{binding.target}', which is '{other}' already"
                reader.fault(reader.lines[key], key, what)
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
    check_handles(reader, scene)
    reader.finish()
    start = np.array([joint.start for joint in joints])
    in_world = [
        replace(item, X_WI=frozen(scene.body_pose(body, start) @ item.X_WI))
        for body, item in placed
    ]
    return replace(scene, items=tuple(in_world))


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
    if kinds[0] != "stance":
        for key in f:
            if key != kinds[0]:
                f[key].fault(f"belongs to furniture; '{name}' is {_ARTICLES[kinds[0]]}")
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
