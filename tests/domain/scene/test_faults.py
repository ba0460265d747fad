"""Malformed scene files: each error with its line and key, all at once."""

import pytest

from galley.domain.errors import BadInput
from galley.domain.scene.reader import load_scene

# What is replaced, by what; a text that stands first on the line that must be named; the key and
# words that the message must have.
FAULTS = {
    "unknown section": ("stances:", "stancez:", "stancez:", "stancez", "mean 'stances'"),
    "missing section": ("stances:", "where:", "galley_scene", "", "needs the key 'stances'"),
    "unknown key": (
        "    mass: 2.0",
        "    mas: 2.0",
        "mas: 2.0",
        "bodies.drawer.mas",
        "mean 'mass'",
    ),
    "missing key": ("    mass: 0.3\n", "", "  block:", "items.block", "needs the key 'mass'"),
    "duplicate key": ("  door:", "  knob:", "  knob:\n    parent: cab", "bodies.knob", "twice"),
    "version": ("galley_scene: 1", "galley_scene: 2", "galley_scene", "galley_scene", "format 1"),
    "unknown body": (
        "body: cabinet",
        "body: cabnet",
        "body: cabnet",
        "regions.top.body",
        "cabinet",
    ),
    "unknown parent": (
        "parent: drawer",
        "parent: drawr",
        "parent: drawr",
        "bodies.knob.parent",
        "unknown value 'drawr'; did you mean 'drawer'?",
    ),
    "unknown joint": (
        "joint: hinge",
        "joint: hing",
        "joint: hing\n",
        "bodies.door.joint",
        "mean 'hinge'",
    ),
    "joint that moves nothing": (
        "    joint: hinge\n",
        "",
        "hinge:",
        "joints.hinge",
        "moves no body",
    ),
    "joint that moves two": (
        "joint: hinge",
        "joint: slide",
        "joint: slide\n    shapes:\n      - {box",
        "bodies.door.joint",
        "already moves 'drawer'",
    ),
    "circle of parents": (
        "  cabinet:\n    shapes",
        "  cabinet:\n    parent: drawer\n    shapes",
        "parent: drawer\n    shapes:\n      - {extents: [[-0.4",
        "bodies.cabinet.parent",
        "cycle",
    ),
    "unknown region": ("on: top", "on: tpo", "pose:", "items.block.pose.on", "mean 'top'"),
    "unknown stance": (
        "center: {stance: away}",
        "center: {stance: awayy}",
        "center:",
        "objects.center.stance",
        "mean 'away'",
    ),
    "unknown item": (
        "item: block",
        "item: blok",
        "item: blok",
        "objects.block.item",
        "mean 'block'",
    ),
    "unknown handle": (
        "handle: knob",
        "handle: knop",
        "drawer: {",
        "objects.drawer.handle",
        "knob",
    ),
    "unknown hand": ("hand: panda_hand", "hand: claw", "h1:", "objects.h1.hand", "panda_hand"),
    "object that is nothing": (
        "block: {item: block}",
        "block: {}",
        "block: {}",
        "objects.block",
        "one",
    ),
    "negative size": (
        "{box: [0.05, 0.06, 0.10]}",
        "{box: [0.05, -0.06, 0.10]}",
        "- {box: [0.05",
        "items.block.shapes[0].box[1]",
        "greater than 0, got -0.06",
    ),
    "zero size": (
        "{box: [0.05, 0.06, 0.10]}",
        "{sphere: 0}",
        "- {sphere",
        "items.block.shapes[0].sphere",
        "greater than 0",
    ),
    "size that is no number": (
        "{box: [0.05, 0.06, 0.10]}",
        "{box: [0.05, .nan, 0.10]}",
        "- {box: [0.05",
        "items.block.shapes[0].box[1]",
        "finite",
    ),
    "infinite size": (
        "{box: [0.05, 0.06, 0.10]}",
        "{box: [0.05, .inf, 0.10]}",
        "- {box: [0.05",
        "items.block.shapes[0].box[1]",
        "finite",
    ),
    "infinite by overflow": (
        "mass: 0.3",
        "mass: 1e999",
        "mass: 1e999",
        "items.block.mass",
        "finite",
    ),
    "word for a number": ("mass: 0.3", "mass: heavy", "mass: heavy", "items.block.mass", "'heavy'"),
    "vector too short": (
        "axis: [0, 0, 1]",
        "axis: [0, 1]",
        "hinge: {",
        "joints.hinge.axis",
        "expected 3 numbers, got 2",
    ),
    "zero axis": (
        "axis: [0, 0, 1]",
        "axis: [0, 0, 0]",
        "hinge: {",
        "joints.hinge.axis",
        "zero vector",
    ),
    "limits the wrong way round": (
        "limits: [0, 0.4]",
        "limits: [0.4, 0]",
        "slide: {",
        "joints.slide.limits",
        "is above",
    ),
    "start outside the limits": (
        "limits: [0, 0.4]",
        "limits: [0, 0.4], start: 0.5",
        "slide: {",
        "joints.slide.start",
        "outside",
    ),
    "no pivot": (", pivot: [0.3, 0.4, 0.3]", "", "hinge: {", "joints.hinge", "pivot"),
    "kind of joint": ("prismatic", "prismatik", "slide: {", "joints.slide.type", "'prismatic'"),
    "extents the wrong way round": (
        "[0.80, 0.84]",
        "[0.84, 0.80]",
        "- {extents: [[-0.4",
        "bodies.cabinet.shapes[0].extents[2]",
        "is above",
    ),
    "flat extents": (
        "[0.80, 0.84]",
        "[0.80, 0.80]",
        "- {extents: [[-0.4",
        "bodies.cabinet.shapes[0].extents",
        "longer than 0",
    ),
    "two dimensions": (
        "[[-2, 3], [-2, 2], [-0.05, 0]]",
        "[[-2, 3], [-2, 2]]",
        "- {extents: [[-2",
        "bodies.floor.shapes[0].extents",
        "expected 3 ranges, got 2",
    ),
    "two kinds of shape": (
        "{box: [0.05, 0.06, 0.10]}",
        "{box: [0.05, 0.06, 0.10], sphere: 1}",
        "- {box: [0.05",
        "items.block.shapes[0]",
        "exactly one",
    ),
    "no shapes": (
        "- {box: [0.05, 0.06, 0.10]}",
        "[]",
        "    shapes:\n      []",
        "items.block.shapes",
        "expected at least 1 entries, got 0",
    ),
    "nothing to touch": (
        "{box: [0.05, 0.06, 0.10]}",
        "{box: [0.05, 0.06, 0.10], collision: false}",
        "    shapes:\n      - {box: [0.05",
        "items.block.shapes",
        "with collision",
    ),
    "colour": (
        "color: [0.6, 0.4, 0.3]",
        "color: [0.6, 0.4, 3]",
        "- {extents: [[-0.4",
        "bodies.cabinet.shapes[0].color[2]",
        "at most 1",
    ),
    "texture that is missing": (
        "{box: [0.05, 0.06, 0.10]}",
        "{box: [0.05, 0.06, 0.10], texture: nowhere.png}",
        "- {box: [0.05",
        "items.block.shapes[0].texture",
        "no such file: nowhere.png",
    ),
    "texture with an endless name": (
        "{box: [0.05, 0.06, 0.10]}",
        "{box: [0.05, 0.06, 0.10], texture: " + "x" * 500 + ".png}",
        "- {box: [0.05",
        "items.block.shapes[0].texture",
        "no such file",
    ),
    "texture with a NUL": (
        "{box: [0.05, 0.06, 0.10]}",
        '{box: [0.05, 0.06, 0.10], texture: "a\\0.png"}',
        "- {box: [0.05",
        "items.block.shapes[0].texture",
        "has a character that can't be printed",
    ),
    "item outside its region": (
        "xy: [0.1, -0.2]",
        "xy: [0.3, -0.2]",
        "pose:",
        "items.block.pose.xy",
        "outside the region 'top'",
    ),
    "item without a place": (
        "{on: top, xy: [0.1, -0.2], yaw: 0.5}",
        "{yaw: 0.5}",
        "pose:",
        "items.block.pose",
        "needs either",
    ),
    "region without an area": (
        "x: [-0.3, 0.2]",
        "x: [0.2, 0.2]",
        "- {x:",
        "regions.top.surface[0].x",
        "wider than 0",
    ),
    "region of no kind": (
        "    volume: [[-0.3",
        "    #",
        "inside:\n",
        "regions.inside",
        "needs exactly one of surface, volume",
    ),
    "reserved body": ("  floor:", "  world:", "  world:", "bodies.world", "reserved"),
    "reserved item": (
        "\n  block:\n    mass",
        "\n  hand:\n    mass",
        "  hand:\n",
        "items.hand",
        "reserved",
    ),
    "item called as a body": (
        "\n  block:\n    mass",
        "\n  door:\n    mass",
        "  door:\n    mass",
        "items.door",
        "a body has this name too",
    ),
    "name that no file can have": (
        "  floor:",
        "  a/b:",
        "  a/b:",
        "bodies.a/b",
        "a name must start",
    ),
    "handle held askew": (
        "closing: [0, 0, 1]",
        "closing: [1, 0, 1]",
        "  knob:\n    body",
        "handles.knob",
        "perpendicular",
    ),
    "handle of another joint": (
        "joint: slide\n    point",
        "joint: hinge\n    point",
        "body: knob",
        "handles.knob.body",
        "'knob' is not moved by 'hinge'",
    ),
    "handle too thick for the hand": (
        "thickness: 0.02",
        "thickness: 0.09",
        "thickness",
        "handles.knob.thickness",
        "at most 0.08",
    ),
    "handle that opens a surface": (
        "region: inside, handle",
        "region: top, handle",
        "drawer: {",
        "objects.drawer.region",
        "needs a volume",
    ),
    "staging in a volume": (
        "staging: top",
        "staging: inside",
        "drawer: {",
        "objects.drawer.staging",
        "'inside'",
    ),
    "base outside its limits": (
        "base: [1.5, 0.0, 3.0]",
        "base: [9.5, 0.0, 3.0]",
        "base: [9.5",
        "robot.start.base",
        "outside",
    ),
    "base that can't stand": (
        "  start:",
        "  base: {ground_gap: 0.9}\n  start:",
        "base: {",
        "robot.base",
        "ground_gap",
    ),
    "base that takes hours": (
        "  start:",
        "  base: {velocity: [1.0e-6, 1.0, 1.0]}\n  start:",
        "base: {",
        "robot.base.velocity[0]",
        "at least 0.001",
    ),
    "robot that is not here": (
        "model: mobile_panda",
        "model: pr2",
        "model:",
        "robot.model",
        "mobile_panda",
    ),
    "list for a mapping": (
        "  away: {x: [1.0, 2.0], y: [-1.0, 1.0]}",
        "  away: [1, 2]",
        "away:",
        "stances.away",
        "expected a mapping of keys to values, got a list",
    ),
}


def load(tmp_path, text):
    file = tmp_path / "scene.yaml"
    file.write_text(text)
    return load_scene(file)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named_with_its_line_and_key(name, small_text, tmp_path):
    old, new, marker, key, words = FAULTS[name]
    assert old in small_text, "the test's own replacement must hit"
    text = small_text.replace(old, new, 1)
    line = text[: text.index(marker)].count("\n") + 1
    with pytest.raises(BadInput) as caught:
        load(tmp_path, text)
    found = [e for e in caught.value.errors if e.line == line and words in e.what]
    assert found, f"line {line} '{words}' not in:\n{caught.value}"
    assert any(e.what.startswith(f"{key}: ") or not key for e in found), str(caught.value)
    assert all(e.file == str(tmp_path / "scene.yaml") for e in caught.value.errors)
    assert len(set(caught.value.errors)) == len(caught.value.errors), "each fault once"


def test_the_small_scene_itself_is_valid(small_scene):
    assert [b.name for b in small_scene.bodies] == ["floor", "cabinet", "drawer", "knob", "door"]


def test_all_faults_are_reported_at_once_in_the_order_of_the_file(small_text, tmp_path):
    text = small_text
    for name in ("negative size", "unknown joint", "colour", "unknown stance"):
        text = text.replace(FAULTS[name][0], FAULTS[name][1], 1)
    with pytest.raises(BadInput) as caught:
        load(tmp_path, text)
    whole = str(caught.value)
    for name in ("negative size", "unknown joint", "colour", "unknown stance"):
        assert FAULTS[name][3] in whole
    lines = [e.line for e in caught.value.errors]
    assert lines == sorted(lines)


@pytest.mark.parametrize(
    ("content", "words", "line"),
    [
        ("", "is empty", 1),
        ("# only a comment\n", "is empty", 1),
        ("a: [1, 2\nb: 3\n", "not valid YAML", 1),
        ("a: 1\n\tb: 2\n", "not valid YAML", 2),
        ("a: 1\n---\nb: 2\n", "not valid YAML", 2),
        ("a: \x01", r"not valid YAML: the character U.0001 is not allowed", 1),
        ("- 1\n- 2\n", "expected a mapping", 1),
        ("just words\n", "expected a mapping", 1),
        ("[" * 4000, "nested too deeply", None),
        ("a: *nobody\n", "not valid YAML", 1),
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
    ("old", "new", "marker", "what"),
    [
        (  # within the wall; the base is 0.63 m wide, 0.3 m of room is none
            "  cabinet: {x: [0.7, 1.3], y: [-1.0, 1.0]}",
            "  cabinet: {x: [0.9, 1.1], y: [-0.1, 0.1], heading: [3.0, 3.3]}",
            "  cabinet: {x: [0.9",
            "stances.cabinet: the base can't stand anywhere in it: wall leaves it no room",
        ),
        (
            "  away: {x: [1.0, 2.0]",
            "  away: {x: [5.0, 6.0]",
            "  away: {x: [5",
            "stances.away: lies outside the base's limits, x from -0.5 to 2.4 and y from -1.608",
        ),
        (
            "limits: [0, 0.4]",
            "limits: [0, 0]",
            "  slide: {",
            "joints.slide.limits: must be wider than 0, got [0, 0]",
        ),
        (
            "limits: [0, 0.4]",
            "limits: [0, 0.003]",
            "  slide: {",
            "joints.slide.limits: 'slide' can't be opened: it moves by at most 0.003, and up to",
        ),
        (
            "{box: [0.05, 0.06, 0.10]}",
            "{box: [0.05, 0.06, 0.0001]}",
            "    shapes:\n      - {box: [0.05",
            "items.block.shapes: 50 x 60 x 0.1 mm is too small: every side must be at least 1 mm",
        ),
        (
            "      - {box: [0.05, 0.06, 0.10]}\n",
            "      - {box: [0.05, 0.06, 0.10]}\n" * 3000,
            "    shapes:\n      - {box: [0.05",
            "items.block.shapes: expected at most 1000 entries, got 3000",
        ),
    ],
)
def test_a_scene_that_can_not_work_is_seen_on_loading(old, new, marker, what, small_text, tmp_path):
    wall = "  wall:\n    shapes:\n      - {extents: [[0.7, 1.3], [-1, 1], [0, 2]]}\n  cabinet:\n"
    text = small_text.replace("  cabinet:\n    shapes", wall + "    shapes", 1)
    text = text.replace("cabinet: {x: [0.7, 1.3]", "cabinet: {x: [1.2, 2.3]")
    old = old.replace("cabinet: {x: [0.7, 1.3]", "cabinet: {x: [1.2, 2.3]")
    file = tmp_path / "scene.yaml"
    file.write_text(text)
    load_scene(file)  # behind the wall there is room
    assert old in text
    text = text.replace(old, new)
    file.write_text(text)
    with pytest.raises(BadInput) as caught:
        load_scene(file)
    line = text[: text.index(marker)].count("\n") + 1
    assert str(caught.value.errors[0]).startswith(f"{file}:{line}: {what}")
