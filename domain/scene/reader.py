"""Reads a scene file (YAML, version 1) into a Scene. The format is documented in docs/scene.md.

A file may extend another one: its entries are laid over those of the other, by name. Files are
merged as YAML nodes, before anything in them is read. Each node keeps the file and line in which
it is written, so that whatever is wrong later is reported there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from galley.domain.errors import did_you_mean
from galley.domain.frames import frozen
from galley.domain.scene.base_spec import MobileBaseSpec
from galley.domain.scene.bodies import (
    check_carriers,
    check_handles,
    read_body,
    read_handle,
    read_item,
    read_joint,
    read_region,
    warn_too_wide,
)
from galley.domain.scene.model import (
    HAND,
    WORLD,
    Binding,
    Handle,
    Item,
    Physics,
    Region,
    RobotSpec,
    Scene,
    Spot,
    Stance,
)
from galley.domain.scene.stances import check_stances
from galley.domain.scene.yaml_reader import Entry, Reader, is_null, root_of_other

VERSION = 1
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")  # they name files and URDF links too


_ARTICLES = {"item": "an item", "hand": "a hand"}
_FURNITURE_KEYS = ("region", "handle", "opening", "staging", "at")

# The mappings that are merged key by key instead of being replaced as a whole.
_MERGED: Mapping[str, Any] = {
    "robot": {"start": {}, "base": {}},
    **{name: {} for name in ("physics", "bodies", "joints", "regions", "handles")},
    **{name: {} for name in ("items", "stances", "objects")},
}


def load_scene(path: str | Path) -> Scene:
    """The Scene described by a file.

    Raises:
        BadInput: with every fault found, each with its line and key.
    """
    reader = Reader(path)
    root = _root(reader)
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
    entries = dict(_section(top, "objects"))
    bindings = tuple(_binding(n, e, regions, handles, items, stances) for n, e in entries.items())
    for binding, entry in zip(bindings, entries.values(), strict=True):
        for item in items:
            if binding.kind == "item" and binding.target == item.name:
                warn_too_wide(entry, item)
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
        places=dict(reader.places),
    )
    check_handles(reader, scene)
    check_stances(reader, scene)
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


def _binding(
    name: str,
    entry: Entry,
    regions: tuple[Region, ...],
    handles: tuple[Handle, ...],
    items: tuple[Item, ...],
    stances: tuple[Stance, ...],
) -> Binding:
    """What the PDDL object ``name`` is."""
    f = entry.fields((), ("item", "hand", "stance", *_FURNITURE_KEYS))
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
        spot=_spot(f["at"], region, regions) if "at" in f else None,
    )


def _spot(entry: Entry, region_name: str | None, regions: tuple[Region, ...]) -> Spot | None:
    """The exact place ``at``, which must lie within the region."""
    f = entry.fields(("xy",), ("yaw",))
    if region_name is None:
        entry.fault("is a place in a region, so a region is needed too")
    yaw = f["yaw"].number() if "yaw" in f else None
    if "xy" not in f:
        return None
    faults = len(entry.reader.errors)
    xy = f["xy"].vector(2)
    region = next((r for r in regions if r.name == region_name), None)
    if region is not None and len(entry.reader.errors) == faults:
        within = (xy >= region.boxes[:, 0, :2]) & (xy <= region.boxes[:, 1, :2])
        if not np.any(within.all(axis=1)):
            f["xy"].fault(f"[{xy[0]:g}, {xy[1]:g}] lies outside the region '{region.name}'")
    return Spot(frozen(xy), yaw)


def _root(reader: Reader) -> Entry:
    """The root of the reader's file with all that it extends, directly or not, merged in.

    Raises:
        BadInput: a file of the chain is missing, is not YAML, has another version of the format,
            or comes up twice.
    """
    chain = _chain(reader)
    node = chain[-1].node
    for own in reversed(chain[:-1]):
        # The names that are merged stand in several files: a reader of its own for their places.
        base = Entry(Reader(reader.path, reader.errors), node, "")
        node = _laid_over(base, own, _MERGED)
    return Entry(reader, node, "")


def _chain(reader: Reader) -> list[Entry]:
    """The roots of the file, of what it extends, of what that extends, and so on."""
    chain = [reader.root()]
    paths = [reader.path]
    while True:
        link = _sections(reader, chain[-1]).get("extends")
        if link is None:
            return chain
        name = link.text()
        if not name:
            link.fault("needs the name of a scene file")
            return chain
        path = link.file.parent / name
        base = None
        if any(_same(path, each) for each in paths):
            way = " > ".join(each.name for each in (*paths, path))
            link.fault(f"is a circle: {way}")
        else:
            base = root_of_other(link, path, ("galley_scene",))
        if base is None:  # what is missing would be reported as faults of this file
            raise reader.bad_input()
        chain.append(base)
        paths.append(path)


def _sections(reader: Reader, root: Entry) -> dict[str, Entry]:
    """The sections of one file of a chain, whose format must be this one."""
    top = root.named()
    if not isinstance(root.node, yaml.MappingNode):
        raise reader.bad_input()
    if "galley_scene" not in top:
        root.fault("needs the key 'galley_scene'")
    elif top["galley_scene"].number() != VERSION:
        top["galley_scene"].fault(f"this version of Galley reads scene format {VERSION}")
        raise reader.bad_input()
    return top


def _same(one: Path, other: Path) -> bool:
    try:
        return one.resolve() == other.resolve()
    except (OSError, RuntimeError, ValueError):  # links in a circle, a NUL
        return False


def _laid_over(base: Entry, own: Entry, merged: Mapping[str, Any]) -> yaml.MappingNode:
    """The mapping with the entries of ``base``, replaced, removed and added to by ``own``'s.

    Args:
        merged: the names whose values are mappings to be merged in turn.
    """
    pairs = {name: (key, value) for name, key, value in base.pairs()}
    for name, key, value in own.pairs():
        if own.key and is_null(value):
            if name not in pairs:
                what = f"removes nothing: what is extended has no '{name}'"
                own.reader.fault(own.below(name), what + did_you_mean(name, tuple(pairs)))
            pairs.pop(name, None)
            continue
        if name in merged:
            below = pairs[name][1] if name in pairs else _empty(value)
            value = _laid_over(
                Entry(base.reader, below, base.below(name)),
                Entry(own.reader, value, own.below(name)),
                merged[name],
            )
        pairs[name] = (key, value)
    return yaml.MappingNode(
        own.node.tag, list(pairs.values()), own.node.start_mark, own.node.end_mark
    )


def _empty(like: yaml.Node) -> yaml.MappingNode:
    return yaml.MappingNode("tag:yaml.org,2002:map", [], like.start_mark, like.end_mark)
