"""Documents read by libyaml are those that PyYAML's own scanner reads."""

from __future__ import annotations

import random

import pytest
import yaml

from galley.domain.shipped import KITCHEN, SCENARIOS
from galley.domain.yaml_nodes import document

SCENES = sorted([*KITCHEN.rglob("*.yaml"), *SCENARIOS.rglob("*.yaml")])
SLIPS = [*"{}[]:,-#'\"\t\n &*!|>%@`?\\.0\u00e9\u2028\x85\ufeff\x07", "  ", ": ", "- "]


def _by_pyyaml(text):
    try:
        return yaml.SafeLoader(text).get_single_node(), ""
    except yaml.YAMLError as error:
        return None, _said(error)


def _read(text):
    try:
        return document(text, "a scene"), ""
    except yaml.YAMLError as error:
        return None, _said(error)


def _said(error):
    return str(error).replace("<unicode string>", "a scene")


def _flat(node):
    """Kind, tag, line and text of a node and all below it."""
    if node is None:
        return []
    here = (type(node).__name__, node.tag, node.start_mark.line)
    if isinstance(node, yaml.ScalarNode):
        return [(*here, node.value)]
    below = [part for each in node.value for part in (each if isinstance(each, tuple) else (each,))]
    return [here, *(entry for part in below for entry in _flat(part))]


@pytest.mark.parametrize("scene", SCENES, ids=lambda path: path.name)
def test_each_shipped_scene_has_the_nodes_that_pyyaml_finds(scene):
    text = scene.read_text()
    assert _flat(document(text, "a scene")) == _flat(_by_pyyaml(text)[0])
    assert document(text, "a scene").start_mark.name == "a scene"


def test_scenes_with_slips_have_the_nodes_or_the_error_that_pyyaml_finds():
    texts = [path.read_text() for path in SCENES if path.stat().st_size < 4000]
    draw = random.Random(0)
    refused = 0
    for _ in range(100):
        text = list(draw.choice(texts))
        for _ in range(draw.randint(1, 3)):
            at = draw.randrange(len(text))
            text[at : at + draw.randint(0, 1)] = draw.choice(["", draw.choice(SLIPS)])
        node, error = _read("".join(text))
        expected, why = _by_pyyaml("".join(text))
        assert (_flat(node), error) == (_flat(expected), why), "".join(text)
        refused += bool(why)
    assert 20 < refused < 80


@pytest.mark.parametrize("text", ["[" * 50_000, "- " * 50_000 + "a", "{a: " * 50_000])
def test_a_document_nested_too_deeply_raises_and_does_not_end_the_process(text):
    with pytest.raises(RecursionError):
        document(text, "a scene")
