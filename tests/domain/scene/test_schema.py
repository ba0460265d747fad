"""The JSON Schema of scene files judges form as the reader does: jsonschema is the oracle."""

import copy
import re
from pathlib import Path

import jsonschema
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import galley
from galley.domain.errors import BadInput
from galley.domain.scene.reader import load_scene
from galley.domain.scene.schema import scene_schema
from galley.tests.effort import examples

ROOT = Path(galley.__file__).parent
SCHEMA = scene_schema()
VALID = jsonschema.Draft7Validator(SCHEMA)
SCENES = sorted(
    path
    for folder in ("domain", "docs", "examples", "bench")
    for path in (ROOT / folder).rglob("*.yaml")
    if re.search(r"^galley_scene:", path.read_text(), re.MULTILINE)
)
_CORE = (  # scalars of YAML 1.2, which editors speak, and the reader: there ``on`` is a word
    (re.compile(r"null|~|"), lambda text: None),
    (re.compile(r"true|false"), lambda text: text == "true"),
    (re.compile(r"[-+]?[0-9]+"), int),
    (re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"), float),
)
# What the reader says of form: keys and kinds of values. All else is about their sense, or
# depends on other keys of the entry.
FORM = re.compile(
    r"unknown key|needs the key '(?!xy)|expected |needs exactly one|needs at least one"
    r"|\.(type|model|hand): unknown value|must start with"
)


def data(text):
    """A YAML text as an editor sees it."""

    def plain(node):
        if isinstance(node, yaml.MappingNode):
            return {str(key.value): plain(value) for key, value in node.value}
        if isinstance(node, yaml.SequenceNode):
            return [plain(each) for each in node.value]
        for pattern, value in _CORE if node.style is None else ():
            if pattern.fullmatch(node.value):
                return value(node.value)
        return node.value

    return plain(yaml.compose(text, Loader=yaml.SafeLoader))


def faults(found):
    return [f"{each.json_path}: {each.message[:200]}" for each in VALID.iter_errors(found)]


def test_it_is_a_schema_of_draft_7():
    jsonschema.Draft7Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("path", SCENES, ids=lambda path: path.name)
def test_every_scene_of_the_repository_is_valid(path):
    assert len(SCENES) >= 18
    assert faults(data(path.read_text())) == []


def test_scenes_of_the_documentation_are_valid():
    blocks = re.findall(
        r"^```yaml\n(galley_scene.*?)^```",
        (ROOT / "docs" / "scene.md").read_text(),
        re.DOTALL | re.MULTILINE,
    )
    assert len(blocks) == 3
    for block in blocks:
        assert faults(data(block)) == []


@pytest.fixture(scope="module")
def whole():
    """A scene with every section, and nearly every key."""
    from galley.tests.conftest import SMALL

    found = data(SMALL)
    found["physics"] = {"friction": 0.7, "gravity": [0, 0, -9.8], "time_step": 0.004}
    found["robot"]["base"] = {"velocity": [0.5, 0.5, 1.0], "column_offset": -0.04}
    found["items"]["block"] |= {
        "label": "a block",
        "size": [0.05, 0.06, 0.10],
        "grasps": [{"name": "down", "width": 0.05, "xyz": [0, 0, 0], "rpy": [3.14159, 0, 0]}],
    }
    found["objects"]["mark"] = {"stance": "cabinet", "region": "top", "at": {"xy": [0, 0.2]}}
    found["bodies"]["cabinet"]["friction"] = 0.5
    return found


def places(value, at=()):
    """Paths of all values below."""
    pairs = value.items() if isinstance(value, dict) else ()
    pairs = enumerate(value) if isinstance(value, list) else pairs
    for key, each in pairs:
        yield (*at, key)
        yield from places(each, (*at, key))


def mutated(scene, path, how):
    """One entry dropped, renamed, doubled in a list, or of another type."""
    scene = copy.deepcopy(scene)
    holder = scene
    for key in path[:-1]:
        holder = holder[key]
    key = path[-1]
    if how == "drop":
        del holder[key]
    elif how == "rename" and isinstance(holder, dict):
        holder[f"{key} x"] = holder.pop(key)
    elif how == "more" and isinstance(holder, list):
        holder.append(holder[key])
    else:
        values = {"list": [], "mapping": {}, "word": "word", "number": 0.5, "flag": True}
        holder[key] = values.get(how)  # else null
    return scene


def read(folder, scene):
    """What the reader says of a scene: its faults."""
    path = folder / "scene.yaml"
    path.write_text(yaml.safe_dump(scene, sort_keys=False))
    try:
        load_scene(path)
    except BadInput as bad:
        return [error.what for error in bad.errors]
    return []


HOW = ["drop", "rename", "more", "list", "mapping", "word", "number", "flag", "null"]


@settings(max_examples=examples(400))
@given(st.data())
def test_reader_and_schema_agree_on_the_form_of_mutated_scenes(whole, tmp_path_factory, data):
    path = data.draw(st.sampled_from(list(places(whole))))
    scene = mutated(whole, path, data.draw(st.sampled_from(HOW)))
    said = read(tmp_path_factory.getbasetemp(), scene)
    wrong = faults(scene)
    if any(FORM.search(what) for what in said):
        assert wrong, said
    if not said:
        assert not wrong


def test_a_file_that_extends_may_be_partial_and_remove(whole, tmp_path):
    (tmp_path / "base.yaml").write_text(yaml.safe_dump(whole))
    change = {
        "galley_scene": 1,
        "extends": "base.yaml",
        "robot": {"start": {"base": [1.6, 0, 3]}, "base": None},
        "physics": {"friction": None},
        "objects": {"mark": None},
    }
    assert read(tmp_path, change) == faults(change) == []
    alone = {key: value for key, value in change.items() if key != "extends"}
    assert read(tmp_path, alone)
    assert {fault.split(":")[0] for fault in faults(alone)} >= {"$", "$.objects.mark"}
    for wrong in ({"items": {"block": {"mass": 1}}}, {"robot": {"strat": {}}}, {"bodies": None}):
        assert read(tmp_path, change | wrong), wrong
        assert faults(change | wrong), wrong
