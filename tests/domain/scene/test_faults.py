"""Malformed scene files: each error with its line and key, all at once."""

import pytest

from galley.domain.errors import BadInput
from galley.domain.scene.reader import load_scene
from galley.tests.domain.scene.places import place_of

BOX = "{box: [0.05, 0.06, 0.10]}"
# What is replaced, by what; the key and words that the message must have.
FAULTS = {
    "unknown key": ("    mass: 2.0", "    mas: 2.0", "bodies.drawer.mas", "mean 'mass'"),
    "version": ("galley_scene: 1", "galley_scene: 2", "galley_scene", "format 1"),
    "unknown body": ("body: cabinet", "body: cabnet", "regions.top.body", "cabinet"),
    "unknown parent": ("parent: drawer", "parent: drawr",
        "bodies.knob.parent", "unknown value 'drawr'; did you mean 'drawer'?"),
    "joint that moves nothing": ("    joint: hinge\n", "", "joints.hinge", "moves no body"),
    "negative size": (BOX, "{box: [0.05, -0.06, 0.10]}",
        "items.block.shapes[0].box[1]", "greater than 0, got -0.06"),
    "zero axis": ("axis: [0, 0, 1]", "axis: [0, 0, 0]", "joints.hinge.axis", "zero vector"),
    "limits the wrong way round": ("limits: [0, 0.4]", "limits: [0.4, 0]",
        "joints.slide.limits", "is above"),
    "no pivot": (", pivot: [0.3, 0.4, 0.3]", "", "joints.hinge", "pivot"),
    "two kinds of shape": (BOX, "{box: [0.05, 0.06, 0.10], sphere: 1}",
        "items.block.shapes[0]", "exactly one"),
    "nothing to touch": (BOX, "{box: [0.05, 0.06, 0.10], collision: false}",
        "items.block.shapes", "with collision"),
    "item that rolls": (f"{BOX}\n", "{cylinder: [0.03, 0.1]}\n    upright: any\n",
        "items.block.upright", "it would roll or tip"),
    "texture that is missing": (BOX, "{box: [0.05, 0.06, 0.10], texture: nowhere.png}",
        "items.block.shapes[0].texture", "no such file: nowhere.png"),
    "item outside its region": ("xy: [0.1, -0.2]", "xy: [0.3, -0.2]",
        "items.block.pose.xy", "outside the region 'top'"),
    "reserved body": ("  floor:", "  world:", "bodies.world", "reserved"),
    "item called as a body": ("\n  block:\n    mass", "\n  door:\n    mass",
        "items.door", "a body has this name too"),
    "handle held askew": ("closing: [0, 0, 1]", "closing: [1, 0, 1]",
        "handles.knob", "perpendicular"),
    "handle of another joint": ("joint: slide\n    point", "joint: hinge\n    point",
        "handles.knob.body", "'knob' is not moved by 'hinge'"),
    "handle that opens a surface": ("region: inside, handle", "region: top, handle",
        "objects.drawer.region", "needs a volume"),
    "staging in a volume": ("staging: top", "staging: inside",
        "objects.drawer.staging", "'inside'"),
    "base outside its limits": ("base: [1.5, 0.0, 3.0]", "base: [9.5, 0.0, 3.0]",
        "robot.start.base", "outside"),
    "base that takes hours": ("  start:", "  base: {velocity: [1.0e-6, 1.0, 1.0]}\n  start:",
        "robot.base.velocity[0]", "at least 0.001"),
}  # fmt: skip


def load(tmp_path, text):
    file = tmp_path / "scene.yaml"
    file.write_text(text)
    return load_scene(file)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named_with_its_place_and_key(name, small_text, tmp_path):
    old, new, key, words = FAULTS[name]
    assert old in small_text, "the test's own replacement must hit"
    text = small_text.replace(old, new, 1)
    with pytest.raises(BadInput) as caught:
        load(tmp_path, text)
    wanted = f"{tmp_path}/scene.yaml:{place_of(text, key)}: {key}: ".replace(": : ", ": ")
    found = [e for e in map(str, caught.value.errors) if e.startswith(wanted) and words in e]
    assert found, f"{wanted} {words} not in:\n{caught.value}"
    assert all(e.file == str(tmp_path / "scene.yaml") for e in caught.value.errors)
    assert len(set(caught.value.errors)) == len(caught.value.errors), "each fault once"


def test_all_faults_are_reported_at_once_in_the_order_of_the_file(small_text, tmp_path):
    text = small_text
    for name in ("negative size", "unknown body", "zero axis", "unknown parent"):
        text = text.replace(FAULTS[name][0], FAULTS[name][1], 1)
    with pytest.raises(BadInput) as caught:
        load(tmp_path, text)
    whole = str(caught.value)
    for name in ("negative size", "unknown body", "zero axis", "unknown parent"):
        assert FAULTS[name][2] in whole
    lines = [e.line for e in caught.value.errors]
    assert lines == sorted(lines)


@pytest.mark.parametrize(
    ("content", "words", "line"),
    [
        ("# only a comment\n", "is empty", 1),
        ("a: 1\n\tb: 2\n", "not valid YAML", 2),
        ("a: \x01", r"not valid YAML: the character U.0001 is not allowed", 1),
        ("just words\n", "expected a mapping", 1),
        ("[" * 4000, "nested too deeply", None),
    ],
)
def test_what_is_not_a_scene_at_all(content, words, line, tmp_path):
    with pytest.raises(BadInput, match=words) as caught:
        load(tmp_path, content)
    assert caught.value.errors[0].line == line


def test_files_that_can_not_be_read(tmp_path):
    (tmp_path / "latin.yaml").write_bytes(b"name: caf\xe9\n")
    for path, words in (
        (tmp_path / "missing.yaml", "no such file"),
        (tmp_path, "is a folder"),
        (tmp_path / "latin.yaml", "not UTF-8"),
        (tmp_path / "latin.yaml" / "inside.yaml", "can't be read"),
        (tmp_path / ("x" * 300), "can't be read"),
    ):
        with pytest.raises(BadInput, match=words) as caught:
            load_scene(path)
        assert caught.value.errors[0].file == str(path)


# --- what no plan could mend


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        (
            "  start:\n    base: [1.5,",
            "  base: {lower: [2.1, -2, -7], upper: [2.4, 2, 7]}\n  start:\n    base: [2.2,",
            "stances.away: lies outside the base's limits, x from 2.1 to 2.4 and y from -2",
        ),
        (
            "limits: [0, 0.4]",
            "limits: [0, 0.003]",
            "joints.slide.limits: 'slide' can't be opened: it moves by at most 0.003, and up to",
        ),
        (
            BOX,
            "{box: [0.05, 0.06, 0.0001]}",
            "items.block.shapes: 50 x 60 x 0.1 mm is too small: every side must be at least 1 mm",
        ),
        (
            "      - {box: [0.05, 0.06, 0.10]}\n",
            "      - {box: [0.05, 0.06, 0.10]}\n" * 1001,
            "items.block.shapes: expected at most 1000 entries, got 1001",
        ),
    ],
)
def test_a_scene_that_can_not_work_is_seen_on_loading(old, new, what, small_text, tmp_path):
    text = small_text
    assert old in text
    text = text.replace(old, new)
    file = tmp_path / "scene.yaml"
    file.write_text(text)
    with pytest.raises(BadInput) as caught:
        load_scene(file)
    place = place_of(text, what.split(":")[0])
    assert str(caught.value.errors[0]).startswith(f"{file}:{place}: {what}")
