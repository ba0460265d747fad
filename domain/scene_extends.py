"""A scene file that extends another one: its entries laid over those of the other, by name.

Files are merged as YAML nodes, before anything in them is read. Each node keeps the file and line
in which it is written, so that whatever is wrong later is reported there.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from galley.domain.errors import did_you_mean
from galley.domain.yaml_reader import Entry, Reader, is_null, root_of_other

VERSION = 1

# The mappings that are merged key by key instead of being replaced as a whole.
_MERGED: Mapping[str, Any] = {
    "physics": {},
    "robot": {"start": {}, "base": {}},
    "bodies": {},
    "joints": {},
    "regions": {},
    "handles": {},
    "items": {},
    "stances": {},
    "objects": {},
}


def scene_root(reader: Reader) -> Entry:
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
            base = root_of_other(link, path)
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
