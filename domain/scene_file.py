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
    Scene,
    Stance,
)
from galley.domain.scene_extends import VERSION, scene_root
from galley.domain.scene_furniture import (
    check_carriers,
    check_handles,
    read_body,
    read_handle,
    read_joint,
    read_region,
)
from galley.domain.scene_items import read_item
from galley.domain.scene_objects import read_binding
from galley.domain.scene_settings import Physics, RobotSpec
from galley.domain.yaml_reader import Entry, Reader

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")  # they name files and URDF links too


def load_scene(path: str | Path) -> Scene:
    """The Scene described by a file.

    Raises:
        BadInput: with every fault found, each with its line and key.
    """
    reader = Reader(path)
    root = scene_root(reader)
    top = root.fields(
        ("galley_scene", "name", "robot", "bodies", "items", "stances", "objects"),
        ("extends", "physics", "joints", "regions", "handles"),
    )
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
            reader.fault(f"items.{item.name}", "a body has this name too")
    stances = tuple(_stance(n, e) for n, e in _section(top, "stances"))
    bindings = tuple(
        read_binding(n, e, regions, handles, items, stances) for n, e in _section(top, "objects")
    )
    robot = _robot(top["robot"]) if "robot" in top else None
    taken: dict[str, str] = {}
    for binding in bindings:
        if binding.kind != "furniture":
            other = taken.setdefault(binding.target, binding.object)
            if other != binding.object:
                key = f"objects.{binding.object}"
                what = f"is '{binding.target}', which is '{other}' already"
                reader.fault(key, what)
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
        places=MappingProxyType(dict(reader.places)),
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
