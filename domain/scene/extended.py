"""Merges the YAML of a scene file with that of the files that it extends.

A file's entries override those of the same name in the file that it extends. Files are merged as
YAML nodes before anything is read. Each node keeps its file and line, for messages and for paths
relative to its file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from galley.domain.errors import BadInput, closest_match, did_you_mean
from galley.domain.scene.schema import MERGED, VERSION, SceneFile
from galley.domain.shipped import shipped_file
from galley.domain.yaml_models import At, YamlFile, described, is_null, mapped

_TEXT = "tag:yaml.org,2002:str"


def merged(path: str | Path, robot: str | Path | None = None) -> YamlFile:
    """The YAML tree of a scene file, complete with the entries of other files.

    These are the files that it extends, those of grasps, and the robot file.

    Args:
        path: the scene file.
        robot: a robot file that replaces the scene's robot, or None.

    Raises:
        BadInput: a file of the chain is missing, not YAML, of another format version, or repeated.
    """
    chain = _chain(path)
    file, node = chain[0], chain[-1].root
    for own in reversed(chain[:-1]):
        node = _merge(file, node, own.root, (), MERGED)

    def item(name: str, entry: yaml.Node) -> yaml.Node:
        return mapped(entry, lambda key, value: _grasps(file, ("items", name, key), value))

    def section(name: str, each: yaml.Node) -> yaml.Node:
        if name == "items":
            return mapped(each, item)
        return _with_robot(file, each, robot) if name == "robot" else each

    file.root = mapped(node, section)
    return file


# Entries of a robot that belong to the scene: they stay if another robot replaces it.
_ROOM = {"base": ("lower", "upper"), "start": ("base",)}


def _with_robot(file: YamlFile, node: yaml.Node, other: str | Path | None) -> yaml.Node:
    """The scene's robot with the entries of the robot file that it names, or of ``other``.

    The robot file may replace a shipped robot: that of the scene, if there is ``other``, or that of
    an extended scene. Then only the start pose and the limits of the base stay (``_ROOM``).
    """
    if not isinstance(node, yaml.MappingNode):
        return node
    given = {key.value: (key, value) for key, value in node.value}
    if other is not None:
        path = yaml.ScalarNode(_TEXT, str(shipped_file(other).absolute()), *_marks(node))
        given["file"] = (yaml.ScalarNode(_TEXT, "file", *_marks(node)), path)
    if "file" in given and (other is not None or "model" in given):
        old = given.pop("model", given["file"])[1].start_mark.name
        given.pop("name", None)
        for name in given.keys() & _ROOM.keys():
            key, each = given[name]
            if isinstance(each, yaml.MappingNode):
                pairs = [
                    pair
                    for pair in each.value
                    if pair[0].value in _ROOM[name]
                    or (other is None and pair[0].start_mark.name != old)
                ]
                given[name] = key, yaml.MappingNode(each.tag, pairs, *_marks(each))
    node = yaml.MappingNode(node.tag, list(given.values()), *_marks(node))

    def urdf(key: str, each: yaml.Node) -> yaml.Node:
        if key == "gripper":
            return mapped(each, urdf)
        if key != "urdf" or not isinstance(each, yaml.ScalarNode) or "://" in each.value:
            return each
        return yaml.ScalarNode(each.tag, str(beside(each).absolute()), *_marks(each))

    def entry(key: str, each: yaml.Node) -> yaml.Node:
        if key != "file":
            return each
        if isinstance(each, yaml.ScalarNode) and not is_null(each):
            own = Path(each.start_mark.name).parent
            linked = _linked(file, ("robot", "file"), each, shipped_file(each.value, own))
            if linked is None:
                raise file.bad_input()
            each = linked.root
        return mapped(each, urdf)

    return mapped(node, entry)


def _marks(node: yaml.Node) -> tuple[Any, Any]:
    return node.start_mark, node.end_mark


def beside(node: yaml.Node) -> Path:
    """The path of the file that a node names, relative to the node's own file, or shipped."""
    return shipped_file(str(node.value), Path(node.start_mark.name).parent)


def _grasps(file: YamlFile, at: At, node: yaml.Node) -> yaml.Node:
    """The value of an item's key; a file named under ``grasps`` is replaced by its contents.

    If that file can't be read, the error is recorded, and the list of grasps is empty.
    """
    if at[-1] != "grasps" or not isinstance(node, yaml.ScalarNode) or is_null(node):
        return node
    linked = _linked(file, at, node, beside(node))
    if linked is not None:
        return linked.root
    return yaml.SequenceNode("tag:yaml.org,2002:seq", [], node.start_mark, node.end_mark)


def _linked(file: YamlFile, at: At, node: yaml.Node, path: Path) -> YamlFile | None:
    """The file at ``path``, which a node names; None if it can't be read.

    Its errors are recorded in ``file``.
    """
    try:
        linked = YamlFile(path)
    except BadInput as bad:
        for error in bad.errors:
            if error.line is None:  # an error of the whole file: report it where the file is named
                file.fault(at, f"{error.file}: {error.what}", node)
            else:
                file.errors.append(error)
        return None
    linked.errors = file.errors
    return linked


def _chain(path: str | Path) -> list[YamlFile]:
    """The file, the file it extends, and so on; they share their errors."""
    chain = [YamlFile(path)]
    while True:
        own = chain[-1]
        top = own.pairs(own.root, ())
        _check_version(own, top)
        known = SceneFile.model_fields
        misspelt = (n for n in top if n not in known and closest_match(n, known) == "extends")
        name = "extends" if "extends" in top else next(misspelt, "")
        if not name:
            return chain
        key, node = top[name]
        if not isinstance(node, yaml.ScalarNode) or is_null(node) or not node.value:
            what = f"needs the name of a scene file, got {described(node)}"
            own.fault(("extends",), what, key)
            raise chain[0].bad_input()
        base = shipped_file(node.value, Path(node.start_mark.name).parent)
        extended = None
        if os.path.abspath(base) in {os.path.abspath(each.path) for each in chain}:
            cycle = " > ".join(each.name for each in (*(each.path for each in chain), base))
            own.fault(("extends",), f"is a cycle: {cycle}", key)
        else:
            extended = _linked(own, ("extends",), key, base)
        if extended is None:  # without the base, its keys would be reported as missing, too
            raise chain[0].bad_input()
        chain.append(extended)


def _check_version(file: YamlFile, top: Mapping[str, tuple[yaml.Node, yaml.Node]]) -> None:
    """Check the format version before anything else, as another version may have other keys.

    Raises:
        BadInput: the version is missing or unknown, or the document is no mapping.
    """
    if not isinstance(file.root, yaml.MappingNode):
        file.read(SceneFile)
    if "galley_scene" not in top:
        if closest_match("galley_scene", top):
            return  # it is misspelt, which the reader will report
        file.fault((), "needs the key 'galley_scene'")
        raise file.bad_input()
    if not re.fullmatch(rf"{VERSION}(\.0*)?", str(top["galley_scene"][1].value)):
        got = described(top["galley_scene"][1])
        file.fault(("galley_scene",), f"this version of Galley reads format {VERSION}, got {got}")
        raise file.bad_input()


def _merge(
    file: YamlFile, base: yaml.Node, own: yaml.Node, at: At, merging: Mapping[str, Any]
) -> yaml.Node:
    """The entries of ``base``, overridden by those of ``own``; null removes an entry.

    Args:
        file: collects errors.
        base: the mapping of the extended file.
        own: the mapping of the extending file.
        at: the path of both.
        merging: the keys whose mappings are merged in turn, each with the same for its own keys.
    """
    pairs = file.pairs(base, at)
    for name, (key, value) in file.pairs(own, at).items():
        if at and is_null(value):
            if name not in pairs:
                hint = did_you_mean(name, tuple(pairs))
                what = f"removes nothing: the extended file has no '{name}'{hint}"
                file.fault((*at, name), what, key)
            pairs.pop(name, None)
            continue
        if name in merging and isinstance(value, yaml.MappingNode):
            empty = yaml.MappingNode(value.tag, [], value.start_mark, value.end_mark)
            _, below = pairs.get(name, (key, empty))
            if not isinstance(below, yaml.MappingNode):
                continue  # the reader will report that it is no mapping
            value = _merge(file, below, value, (*at, name), merging[name])
        pairs[name] = (key, value)
    return yaml.MappingNode(own.tag, list(pairs.values()), own.start_mark, own.end_mark)
