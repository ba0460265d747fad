"""Packs a scene with all the files that it needs into one folder, to keep or send with a run."""

from __future__ import annotations

import os
import re
from itertools import count
from pathlib import Path

import yaml

from galley.domain.files import read_bytes
from galley.domain.scene.extended import beside, merged

_FILES = ("mesh", "texture")  # keys of a shape that name a file
_LIBRARY = rb"(?m)^(\s*mtllib +)([^\r\n]*\S)"
_PICTURE = rb"(?m)^(\s*map_Kd\s[^\r\n]*?)(\S+)[ \t\r]*$"
_WIDTH = 100  # characters of a line


def standalone(path: str | Path, robot: str | Path | None = None) -> tuple[str, dict[str, bytes]]:
    """A scene file with everything that it extends as one text, and the files that it names.

    URDFs are not copied.

    Args:
        path: the scene file.
        robot: a robot file that replaces the scene's robot, or None.

    Returns:
        The text, and the contents of meshes, of files that OBJ files name, and of textures, by
        the names under which the text expects them beside it.

    Raises:
        BadInput: as ``load_scene``, but fewer errors are found.
    """
    files = _Files()
    root = merged(path, robot).root
    assert isinstance(root, yaml.MappingNode)
    pairs = [(key, value) for key, value in root.value if key.value != "extends"]
    node = files.renamed(yaml.MappingNode(root.tag, pairs, flow_style=root.flow_style))
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    return yaml.serialize(node, Dumper=dumper, width=_WIDTH, allow_unicode=True), files.contents


class _Files:
    """Files from any folders, collected under unique names for one folder."""

    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}
        self._names: dict[tuple[Path, Path], str] = {}
        self._nodes: dict[int, yaml.Node] = {}  # aliases stay aliases

    def renamed(self, node: yaml.Node) -> yaml.Node:
        """A node in which all files have their new names."""
        if isinstance(node, yaml.ScalarNode):
            return node
        if id(node) not in self._nodes:
            if isinstance(node, yaml.MappingNode):
                pairs = [(key, self._value(key, each)) for key, each in node.value]
                made: yaml.Node = yaml.MappingNode(node.tag, pairs, flow_style=node.flow_style)
            else:
                assert isinstance(node, yaml.SequenceNode)
                parts = [self.renamed(each) for each in node.value]
                made = yaml.SequenceNode(node.tag, parts, flow_style=node.flow_style)
            self._nodes[id(node)] = made
        return self._nodes[id(node)]

    def _value(self, key: yaml.Node, node: yaml.Node) -> yaml.Node:
        if key.value not in _FILES or not isinstance(node, yaml.ScalarNode):
            return self.renamed(node)
        path = beside(node)
        links = _LIBRARY if path.suffix.lower() == ".obj" else b""
        name = self._copied(path, path.parent, links)
        return yaml.ScalarNode(node.tag, name, style=node.style)

    def _copied(self, path: Path, beside: Path, links: bytes) -> str:
        """The new name of a file; of the files that it names by ``links``, which lie ``beside``."""
        if (path, beside) not in self._names:
            numbered = (f"{path.stem}-{k}{path.suffix}" for k in count(2))
            name = path.name
            while name in self._names.values():
                name = next(numbered)
            self._names[path, beside] = name

            def link(match: re.Match[bytes]) -> bytes:
                other = beside / os.fsdecode(match[2])
                if not os.path.isfile(other):
                    return match[0]
                deeper = _PICTURE if links == _LIBRARY else b""
                return match[1] + os.fsencode(self._copied(other, beside, deeper))

            data = read_bytes(path)
            self.contents[name] = re.sub(links, link, data) if links else data
        return self._names[path, beside]
