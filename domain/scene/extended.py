"""The YAML of a scene file, merged with that of the files that it extends.

A file's entries override those of the same name. Files are merged as YAML nodes before anything is
read; each node keeps its file and line, for messages and for files beside it.
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
    """A scene file with the entries of all that it extends, and those of files that it names:
    grasps, and its robot or the file ``robot`` in place of it.

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


_ROOM = {"base": ("lower", "upper"), "start": ("base",)}  # is the scene's, whatever the robot


def _with_robot(file: YamlFile, node: yaml.Node, other: str | Path | None) -> yaml.Node:
    """The scene's robot with the entries of the robot file that it names, or of another one.

    Of a shipped robot whose place a robot file takes stay the start and the room to drive: one that
    ``other`` replaces, or that an extended scene has.
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
            found = _linked(file, ("robot", "file"), each, shipped_file(each.value, own))
            if found is None:
                raise file.bad_input()
            each = found.root
        return mapped(each, urdf)

    return mapped(node, entry)


def _marks(node: yaml.Node) -> tuple[Any, Any]:
    return node.start_mark, node.end_mark


def beside(node: yaml.Node) -> Path:
    """The file that a node names, relative to its own file; a shipped one by its bare name."""
    return shipped_file(str(node.value), Path(node.start_mark.name).parent)


def _grasps(file: YamlFile, at: At, node: yaml.Node) -> yaml.Node:
    """The value of an item's key; of ``grasps``, what stands in the file that it names.

    After an error, none.
    """
    if at[-1] != "grasps" or not isinstance(node, yaml.ScalarNode) or is_null(node):
        return node
    found = _linked(file, at, node, beside(node))
    if found is not None:
        return found.root
    return yaml.SequenceNode("tag:yaml.org,2002:seq", [], node.start_mark, node.end_mark)


def _linked(file: YamlFile, at: At, node: yaml.Node, path: Path) -> YamlFile | None:
    """Another file, which a node names; None, and the error recorded, if it can't be read."""
    try:
        found = YamlFile(path)
    except BadInput as bad:
        for error in bad.errors:
            if error.line is None:  # of the whole file: report where it is named
                file.fault(at, f"{error.file}: {error.what}", node)
            else:
                file.errors.append(error)
        return None
    found.errors = file.errors
    return found


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
        found = None
        if os.path.abspath(base) in {os.path.abspath(each.path) for each in chain}:
            cycle = " > ".join(each.name for each in (*(each.path for each in chain), base))
            own.fault(("extends",), f"is a cycle: {cycle}", key)
        else:
            found = _linked(own, ("extends",), key, base)
        if found is None:  # else its missing keys would be reported too
            raise chain[0].bad_input()
        chain.append(found)


def _check_version(file: YamlFile, top: Mapping[str, tuple[yaml.Node, yaml.Node]]) -> None:
    """Only the version is looked at first: another one may have other keys.

    Raises:
        BadInput: it is another one or none, or the document is no mapping.
    """
    if not isinstance(file.root, yaml.MappingNode):
        file.read(SceneFile)
    if "galley_scene" not in top:
        if closest_match("galley_scene", top):
            return  # it is misspelt, as the reader will say
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
        file: for errors. base, own: mappings. at: their path.
        merging: the entries that are merged in turn, with the same of each.
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
                continue  # it will be reported
            value = _merge(file, below, value, (*at, name), merging[name])
        pairs[name] = (key, value)
    return yaml.MappingNode(own.tag, list(pairs.values()), own.start_mark, own.end_mark)
