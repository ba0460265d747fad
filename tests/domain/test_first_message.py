"""One fault is put into a sound scene or PDDL file: the first message names its place.

The faults are put in by the positions of YAML's own parser and of a tokenizer, so the place that is
expected owes nothing to the readers.
"""

import random
import re

import pytest
import yaml

from galley.domain.errors import BadInput
from galley.domain.pddl.reader import read_task
from galley.domain.scene.reader import load_scene
from galley.domain.shipped import KITCHEN, SCENARIOS
from galley.tests.conftest import SMALL
from galley.tests.domain.pddl.test_fuzz import ADL_DOMAIN, ADL_PROBLEM
from galley.tests.domain.scene.places import values
from galley.tests.effort import quick_first

NO_NUMBERS = (".nan", ".inf", "-.inf", "1e400", "1e7", "word", "[1]", "{a: 1}", "''", '"\\e[31m"')
NO_NAMES = ("nowhere", "[a]", '"a\\e[31mb"', "''")
DECLARED = ("bodies", "joints", "regions", "handles", "items", "stances", "objects")


def is_number(text):
    return re.fullmatch(r"-?[\d.]+", text) is not None


def scene_faults(text):
    """The text with one fault, and the place and key that must be named, each way."""
    for key, name, value in values(yaml.compose(text, yaml.SafeLoader)):
        start, end = value.start_mark.index, value.end_mark.index
        end = start + len(text[start:end].rstrip())
        mark = (name or value).start_mark
        place = f"{mark.line + 1}:{mark.column + 1}"
        if not isinstance(value, yaml.ScalarNode):
            wrong = ("word",) if isinstance(value, yaml.MappingNode) else ("word", "[]")
        else:
            wrong = NO_NUMBERS if is_number(value.value) else NO_NAMES
        for new in wrong:
            if key != "name":  # any word will do
                yield text[:start] + new + text[end:], place, key
        if name is not None and not (key.count(".") == 1 and key.split(".")[0] in DECLARED):
            at = name.end_mark.index
            yield text[:at] + "zz" + text[at:], place, key + "zz"


@pytest.mark.parametrize("part", quick_first(1, range(12)))
def test_the_first_message_names_the_place_and_the_key_of_a_scenes_fault(part, tmp_path):
    faults = list(scene_faults(SMALL))
    random.Random(0).shuffle(faults)
    file = tmp_path / "scene.yaml"
    for text, place, key in faults[part::12]:
        file.write_text(text)
        with pytest.raises(BadInput) as caught:
            load_scene(file)
        first = str(caught.value.errors[0])
        assert first.startswith(f"{file}:{place}: {key}: "), first
        assert "\x1b" not in str(caught.value)


def test_a_bound_that_is_no_number_is_the_only_fault(tmp_path):
    file = tmp_path / "scene.yaml"
    file.write_text(SMALL.replace("limits: [0, 1.5]", "limits: [.nan, 1.5], start: 0.2"))
    with pytest.raises(BadInput) as caught:
        load_scene(file)
    (fault,) = caught.value.errors
    assert fault.what == "joints.hinge.limits[0]: must be a finite number, got .nan"


NOT_YAML = """\
galley_scene: 1
name: small
items:
  box:
    label: box
    mass: 0.4
    color: [0.1, 0.2]
  can:
    label: can
    shapes:
      - {a: 1}
      - {b: 2}
    pose: "up"
"""


@pytest.mark.parametrize(
    ("line", "new", "named", "words"),
    [
        (2, "name: 'small", 2, "while scanning a quoted scalar, found unexpected end"),
        (2, "name:small", 2, "while scanning a simple key, could not find expected ':'"),
        (4, " box:", 8, "expected <block end>, but found '<block mapping start>'"),
        (5, "    label:box", 6, "mapping values are not allowed here"),
        (7, "    color: [0.1, 0.2", 7, "expected ',' or ']', but got ':'"),
    ],
)
def test_a_mistake_in_yaml_is_named_where_it_shows_or_where_its_text_begins(
    line, new, named, words, tmp_path
):
    """What is never closed is named where it begins, not at the end of the file."""
    lines = NOT_YAML.splitlines()
    lines[line - 1] = new
    (tmp_path / "scene.yaml").write_text("\n".join(lines))
    with pytest.raises(BadInput) as caught:
        load_scene(tmp_path / "scene.yaml")
    (fault,) = caught.value.errors
    assert fault.line == named, str(fault)
    assert fault.column is not None
    assert words in fault.what


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("  green_tea:\n", "  green_tea:\n" * 2, 14, "items.green_tea: is given twice"),
        ("extends:", "etxends:", 3, "etxends: unknown key; did you mean 'extends'?"),
    ],
)
def test_what_follows_from_a_mistake_in_an_extending_scene_is_not_said(
    old, new, line, what, tmp_path
):
    text = (SCENARIOS / "hemmed_in_scene.yaml").read_text().replace("../kitchen/", "")
    assert old in text
    (tmp_path / "scene.yaml").write_text(text.replace(old, new, 1))
    with pytest.raises(BadInput) as caught:
        load_scene(tmp_path / "scene.yaml")
    (fault,) = caught.value.errors
    assert (fault.line, fault.what[: len(what)]) == (line, what)


TOKEN = re.compile(r";[^\n]*|[()]|[^\s();]+")
NO_COSTS = ("-1", "-inf", "inf", "nan", "1e999", "(a)")


def place(text, at):
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def words(text):
    return [each for each in TOKEN.finditer(text) if not each.group().startswith(";")]


def pddl_faults(text):
    """The text with one fault in a word, and its index, each way."""
    for each in words(text):
        word, (start, end) = each.group(), each.span()
        inside = text[text.rfind("(", 0, start + 1) :]
        if word in "()" or inside.startswith("(:requirements "):  # which are not looked at
            continue
        yield text[:end] + "\udce9" + text[end:], start  # a byte of Latin-1
        yield text[:start] + word[0] + "\x1b" + text[start + 1 :], start
        if is_number(word) and word != "-":
            for new in NO_COSTS:
                yield text[:start] + new + text[end:], start


SOURCES = {
    "adl": (ADL_DOMAIN, ADL_PROBLEM),
    "kitchen": ((KITCHEN / "kitchen.pddl").read_text(), (KITCHEN / "task.pddl").read_text()),
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("part", quick_first(1, range(4)))
def test_the_first_message_names_the_line_of_a_pddl_files_fault(source, part, tmp_path):
    sound = dict(zip(("d.pddl", "p.pddl"), SOURCES[source], strict=True))
    faults = [(name, *each) for name, text in sound.items() for each in pddl_faults(text)]
    random.Random(0).shuffle(faults)
    for name, text, at in faults[part::4]:
        for each, whole in sound.items():
            data = text if each == name else "; caf\udce9\n" + whole
            (tmp_path / each).write_bytes(data.encode(errors="surrogateescape"))
        with pytest.raises(BadInput) as caught:
            read_task(tmp_path / "d.pddl", tmp_path / "p.pddl")
        first = caught.value.errors[0]
        assert first.file.endswith(name), str(first)
        assert "\x1b" not in str(caught.value)
        assert first.line == place(sound[name], at)[0], str(first)


@pytest.mark.parametrize(
    ("names", "old", "new", "line", "what"),
    [
        ("drawers put_away", "- furniture\n ", "– furniture\n ", 24, "expected a type, got '–'"),
        ("kitchen task", "center - f", "center- f", 6, "expected an object, got 'center-'"),
    ],
)
def test_a_lost_dash_is_named(names, old, new, line, what, tmp_path):
    for name in names.split():
        text = (KITCHEN / f"{name}.pddl").read_text().replace(old, new, 1)
        (tmp_path / f"{name}.pddl").write_text(text)
    with pytest.raises(BadInput) as caught:
        read_task(*(tmp_path / f"{name}.pddl" for name in names.split()))
    first = caught.value.errors[0]
    assert (first.line, first.what[: len(what)]) == (line, what)
    assert "'-'" in first.what or "–" in first.what
