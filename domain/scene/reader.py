"""Reads a scene file (YAML, version 1) into a Scene. The format is documented in docs/scene.md.

A file may extend another: its entries override the other's entries of the same name. Files are
merged as YAML nodes before anything is read. Each node keeps its file and line for error messages.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml

from galley.domain.errors import SourceLocation, closest_match, did_you_mean
from galley.domain.frames import frozen
from galley.domain.scene.base_spec import MobileBaseSpec
from galley.domain.scene.bodies import (
    check_body_tree,
    check_handles,
    read_body,
    read_handle,
    read_item,
    read_joint,
    read_region,
    warn_too_wide,
)
from galley.domain.scene.format import BINDING, NAME, SCENE, VERSION
from galley.domain.scene.kinds import Fields, Items, Kind, Named
from galley.domain.scene.model import (
    HAND,
    WORLD,
    Binding,
    Body,
    Handle,
    Item,
    Joint,
    Physics,
    Region,
    RobotSpec,
    Scene,
    Spot,
    Stance,
)
from galley.domain.scene.stances import check_stances
from galley.domain.scene.yaml_reader import (
    Entry,
    Names,
    Reader,
    is_null,
    node_place,
    read_linked_file,
)
from galley.domain.shipped import shipped_file

_NAME = re.compile(NAME)
_ARTICLES = {"item": "an item", "hand": "a hand"}


def load_scene(path: str | Path) -> Scene:
    """The Scene of a file, or of a shipped one by its bare name.

    Raises:
        BadInput: every error found, each with its line and key.
    """
    reader = Reader(path)
    root = _root(reader)
    top = root.fields()
    name = top["name"].text() if "name" in top else "scene"
    physics = _physics(top.get("physics"))
    joints = tuple(read_joint(n, e) for n, e in _section(top, "joints"))
    bodies = tuple(read_body(n, e, physics) for n, e in _section(top, "bodies"))
    joint_names = _names(root, top, "joints", joints)
    body_names = _names(root, top, "bodies", bodies)
    check_body_tree(top, bodies, body_names, joint_names)
    regions = tuple(read_region(n, e, body_names) for n, e in _section(top, "regions"))
    handles = tuple(read_handle(n, e, body_names, joint_names) for n, e in _section(top, "handles"))
    region_names = _names(root, top, "regions", regions)
    placed = [read_item(n, e, physics, regions, region_names) for n, e in _section(top, "items")]
    items = tuple(item for _, item in placed)
    for item in items:
        if item.name in (body_names or ()):
            reader.fault(f"items.{item.name}", "a body has this name too")
    stances = tuple(_stance(n, e) for n, e in _section(top, "stances"))
    entries = dict(_section(top, "objects"))
    named = _Named(
        items=_names(root, top, "items", items),
        regions=region_names,
        handles=_names(root, top, "handles", handles),
        stances=_names(root, top, "stances", stances),
    )
    bindings = tuple(_binding(n, e, regions, named) for n, e in entries.items())
    for binding, entry in zip(bindings, entries.values(), strict=True):
        for item in items:
            if binding.kind == "item" and binding.target == item.name and not reader.errors:
                warn_too_wide(entry, item)
    robot = _robot(top["robot"]) if "robot" in top else None
    bound: dict[str, str] = {}
    for binding in bindings:
        if binding.kind != "furniture" and reader.sound(f"objects.{binding.object}"):
            other = bound.setdefault(binding.target, binding.object)
            if other != binding.object:
                what = f"is '{binding.target}', to which '{other}' is bound already"
                reader.fault(f"objects.{binding.object}", what)
    reader.finish()
    assert robot is not None
    scene = Scene(
        name=name,
        version=VERSION,
        source=str(reader.path),
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


def merged(path: str | Path) -> yaml.MappingNode:
    """The YAML of a scene file, with the entries of all that it extends.

    Raises:
        BadInput: a file of the chain is missing, not YAML, of another format version, or repeated.
    """
    node = _root(Reader(path)).node
    assert isinstance(node, yaml.MappingNode)
    return node


def _section(top: dict[str, Entry], name: str) -> list[tuple[str, Entry]]:
    entries = list(top[name].named().items()) if name in top else []
    for own, entry in entries:
        if not _NAME.fullmatch(own):
            entry.fault(
                "a name must start with a letter or _ and may go on with letters, digits, _ and -"
            )
        if name in ("bodies", "items") and own in (WORLD, HAND):
            entry.fault(f"'{own}' is a reserved name")
    return entries


def _names(
    root: Entry,
    top: Mapping[str, Entry],
    section: str,
    values: Sequence[Body | Joint | Region | Handle | Item | Stance],
) -> Names:
    """The names in a section; None if it is missing or no mapping by a fault of the file."""
    read = section in top and isinstance(top[section].node, yaml.MappingNode)
    return tuple(each.name for each in values) if read or root.sound else None


class _Named(NamedTuple):
    """What the entries of ``objects`` may refer to."""

    items: Names
    regions: Names
    handles: Names
    stances: Names


def _physics(entry: Entry | None) -> Physics:
    f = entry.fields() if entry is not None else {}
    return Physics(
        gravity=frozen(f["gravity"].vector(3) if "gravity" in f else (0.0, 0.0, -9.81)),
        friction=f["friction"].number() if "friction" in f else 0.8,
        restitution=f["restitution"].number() if "restitution" in f else 0.0,
        time_step=f["time_step"].number() if "time_step" in f else 1.0 / 240.0,
        finger_force=f["finger_force"].number() if "finger_force" in f else 40.0,
        finger_friction=f["finger_friction"].number() if "finger_friction" in f else 1.0,
    )


def _stance(name: str, entry: Entry) -> Stance:
    f = entry.fields()
    ranges = [f[k].interval() if k in f else (-np.pi, np.pi) for k in ("x", "y", "heading")]
    low, high = np.array(ranges).T
    return Stance(name, frozen(low), frozen(high))


def _robot(entry: Entry) -> RobotSpec:
    f = entry.fields()
    model = f["model"].text() if "model" in f else "mobile_panda"
    base = _base(f.get("base"))
    q = np.zeros(12)
    if "start" in f:
        g = f["start"].fields()
        if "base" in g:
            q[:3] = g["base"].vector(3)
            outside = (q[:3] < np.array(base.lower) - 1e-9) | (q[:3] > np.array(base.upper) + 1e-9)
            if outside.any() and ("base" not in f or f["base"].sound):
                g["base"].fault("lies outside the base's limits")
        if "arm" in g:
            q[3:10] = g["arm"].vector(7)
        q[10:] = g["fingers"].number() if "fingers" in g else 0.04
    return RobotSpec(f["name"].text() if "name" in f else model, model, base, frozen(q))


def _base(entry: Entry | None) -> MobileBaseSpec:
    """The base; missing values default to those of the shipped kitchen."""
    if entry is None:
        return MobileBaseSpec()
    values: dict[str, Any] = {}
    for key, value in entry.fields().items():
        if isinstance(value.kind, Items):
            values[key] = tuple(float(v) for v in value.vector(value.kind.least))
        else:
            values[key] = value.number()
    try:
        return MobileBaseSpec(**values)
    except ValueError as error:
        entry.fault(str(error))
        return MobileBaseSpec()


def _binding(
    name: str,
    entry: Entry,
    regions: tuple[Region, ...],
    named: _Named,
) -> Binding:
    """The binding of the PDDL object ``name``."""
    f = entry.fields()
    kinds = [k for k in BINDING.one_of if k in f]
    if len(kinds) != 1:
        entry.fault("needs exactly one of item, hand, stance (the last for furniture)")
        return Binding(name, "furniture", "")
    if kinds[0] != "stance":
        for key in f:
            if key != kinds[0]:
                f[key].fault(f"is only for furniture; '{name}' is {_ARTICLES[kinds[0]]}")
    if kinds[0] == "item":
        return Binding(name, "item", f["item"].text(named.items))
    if kinds[0] == "hand":
        return Binding(name, "hand", f["hand"].text())
    surfaces = tuple(r.name for r in regions if r.kind == "surface")
    region = f["region"].text(named.regions) if "region" in f else None
    known = regions if region is None or f["region"].sound else ()
    handle = f["handle"].text(named.handles) if "handle" in f else None
    return Binding(
        object=name,
        kind="furniture",
        target=f["stance"].text(named.stances),
        region=region,
        handle=handle,
        opening=f["opening"].number() if "opening" in f else 0.3,
        staging=f["staging"].text(named.regions and surfaces) if "staging" in f else None,
        spot=_spot(f["at"], region, known) if "at" in f else None,
        label=f["label"].text() if "label" in f else "",
    )


def _spot(entry: Entry, region_name: str | None, regions: tuple[Region, ...]) -> Spot | None:
    """The exact place of the key ``at``, which must lie within the region."""
    f = entry.fields()
    if region_name is None:
        entry.fault("is a place in a region, so the key 'region' is needed too")
    yaw = f["yaw"].number() if "yaw" in f else None
    if "xy" not in f:
        return None
    xy = f["xy"].vector(2)
    region = next((r for r in regions if r.name == region_name), None)
    if region is not None and entry.reader.sound(f"regions.{region_name}"):
        within = (xy >= region.boxes[:, 0, :2]) & (xy <= region.boxes[:, 1, :2])
        if not np.any(within.all(axis=1)):
            f["xy"].fault(f"[{xy[0]:g}, {xy[1]:g}] lies outside the region '{region.name}'")
    return Spot(frozen(xy), yaw)


def _root(reader: Reader) -> Entry:
    """The root of the reader's file, merged with the files that it extends.

    Raises:
        BadInput: a file of the chain is missing, not YAML, of another format version, or repeated.
    """
    chain = _extended_files(reader)
    node = chain[-1].node
    for own in reversed(chain[:-1]):
        # A reader of its own, as merged keys have locations in several files.
        base = Entry(Reader(reader.path, reader.errors), node, "")
        node = _merge(base, own, SCENE)
        reader.removed |= _removed(own)
    return Entry(reader, node, "", SCENE)


def _removed(own: Entry) -> dict[str, SourceLocation]:
    """The names that a file removes, each with its place."""
    return {
        name: node_place(key)
        for section in own.named().values()
        if isinstance(section.node, yaml.MappingNode)
        for name, key, value in section.pairs()
        if is_null(value) and section.reader.sound(section.below(name))
    }


def _extended_files(reader: Reader) -> list[Entry]:
    """The roots of the file, of the file it extends, and so on."""
    chain = [reader.root()]
    paths = [reader.path]
    while True:
        top = _sections(reader, chain[-1])
        meant = next((name for name in top if closest_match(name, SCENE.kinds) == "extends"), "")
        link = top.get("extends", top.get(meant))
        if link is None:
            return chain
        name = link.text()
        if not name:
            link.fault("needs the name of a scene file")
            return chain
        path = shipped_file(name, link.file.parent)
        base = None
        if any(_same_file(path, each) for each in paths):
            cycle = " > ".join(each.name for each in (*paths, path))
            link.fault(f"is a cycle: {cycle}")
        else:
            base = read_linked_file(link, path, ("galley_scene",))
        if base is None:  # else its missing keys would be reported too
            raise reader.bad_input()
        chain.append(base)
        paths.append(path)


def _sections(reader: Reader, root: Entry) -> dict[str, Entry]:
    """The sections of one file, after checking its format version."""
    top = root.named()
    if not isinstance(root.node, yaml.MappingNode):
        raise reader.bad_input()
    if "galley_scene" not in top:
        root.fault("needs the key 'galley_scene'")
    elif top["galley_scene"].number() != VERSION:
        top["galley_scene"].fault(f"this version of Galley reads scene format {VERSION}")
        raise reader.bad_input()
    return top


def _same_file(one: Path, other: Path) -> bool:
    try:
        return one.resolve() == other.resolve()
    except (OSError, RuntimeError, ValueError):  # cyclic links, a NUL
        return False


def _merge(base: Entry, own: Entry, kind: Kind) -> yaml.MappingNode:
    """The entries of ``base``, overridden by those of ``own``; null removes an entry.

    Args:
        kind: of the mapping; mappings in it that are ``merged`` are merged recursively.
    """
    merged = {
        name: each
        for name, each in (kind.kinds.items() if isinstance(kind, Fields) else ())
        if isinstance(each, (Fields, Named)) and each.merged
    }
    pairs = {name: (key, value) for name, key, value in base.pairs()}
    given = list(own.pairs())
    for name, key, value in given:
        meant = "" if name in pairs or not merged else closest_match(name, merged) or ""
        if meant and not any(meant == other for other, *_ in given):
            own.reader.fault(own.below(name), f"unknown key; did you mean '{meant}'?")
            name = meant
        if own.key and is_null(value):
            if name not in pairs and own.reader.sound(own.below(name)):
                what = f"removes nothing: the extended file has no '{name}'"
                own.reader.fault(own.below(name), what + did_you_mean(name, tuple(pairs)))
            pairs.pop(name, None)
            continue
        if name in merged:
            below = pairs[name][1] if name in pairs else _empty(value)
            value = _merge(
                Entry(base.reader, below, base.below(name)),
                Entry(own.reader, value, own.below(name), merged[name]),
                merged[name],
            )
        pairs[name] = (key, value)
    return yaml.MappingNode(
        own.node.tag, list(pairs.values()), own.node.start_mark, own.node.end_mark
    )


def _empty(like: yaml.Node) -> yaml.MappingNode:
    return yaml.MappingNode("tag:yaml.org,2002:map", [], like.start_mark, like.end_mark)
