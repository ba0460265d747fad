"""Scene files that extend others: equal to a file merged by hand; errors in the right file."""

import copy
import re
from dataclasses import fields, is_dataclass

import numpy as np
import pytest
import yaml

from galley.domain.errors import BadInput
from galley.domain.scene.reader import load_scene
from galley.tests.domain.scene.places import place_of

MAPPINGS = ("bodies", "joints", "regions", "handles", "items", "stances", "objects")

CHILD = """galley_scene: 1
extends: base.yaml
name: child
physics: {friction: 0.5}
robot:
  start: {base: [1.5, 0.2, 3.0]}
items:
  block: null
  ball:
    mass: 0.1
    shapes:
      - {sphere: 0.03}
    pose: {on: top, xy: [0.0, 0.1]}
objects:
  block: {item: ball}
  table: {stance: cabinet, region: top, at: {xy: [0.1, 0.1], yaw: 0.4}}
"""


@pytest.fixture
def folder(tmp_path, small_text):
    (tmp_path / "base.yaml").write_text(small_text)
    (tmp_path / "child.yaml").write_text(CHILD)
    return tmp_path


def shown(thing):
    """All that a scene holds, but for where it was read, in a form to be compared."""
    if is_dataclass(thing):
        told = [f.name for f in fields(thing) if f.name not in ("places", "source")]
        return {name: shown(getattr(thing, name)) for name in told}
    if isinstance(thing, np.ndarray):
        return thing.tolist()
    return [shown(each) for each in thing] if isinstance(thing, tuple) else thing


def by_name(thing):
    return sorted(thing, key=lambda each: each.get("name", each.get("object")))


def same(one, other):
    """Whether two scenes are equal, in whatever order things stand in them."""
    one, other = shown(one), shown(other)
    for section in ("bodies", "joints", "regions", "handles", "items", "stances", "bindings"):
        one[section], other[section] = by_name(one[section]), by_name(other[section])
    return one == other


def read(text):
    """As strings: to Python's YAML the key ``on`` would be a truth value."""
    return yaml.load(text, yaml.BaseLoader)


def laid_over(base, own):
    """What the documentation says, on Python's dictionaries."""
    merged = copy.deepcopy(base)
    for section, value in own.items():
        if section in MAPPINGS or section in ("physics", "robot"):
            target = merged.setdefault(section, {})
            for name, entry in value.items():
                if entry in (None, "null"):
                    del target[name]
                elif section == "robot" and name in ("start", "base"):
                    target.setdefault(name, {}).update(entry)
                else:
                    target[name] = entry
        elif section != "extends":
            merged[section] = value
    return merged


def test_an_extended_scene_is_the_one_merged_by_hand(folder, small_text):
    merged = laid_over(read(small_text), read(CHILD))
    (folder / "merged.yaml").write_text(yaml.safe_dump(merged, sort_keys=False))
    scene = load_scene(folder / "child.yaml")
    assert same(scene, load_scene(folder / "merged.yaml"))
    assert (scene.name, scene.source) == ("child", str(folder / "child.yaml"))
    assert [item.name for item in scene.items] == ["ball"]
    assert scene.physics.friction == 0.5
    assert scene.robot.q[:3].tolist() == [1.5, 0.2, 3.0]
    assert scene.robot.q[3:10].tolist() == load_scene(folder / "base.yaml").robot.q[3:10].tolist()


GRANDCHILD = """galley_scene: 1
extends: child.yaml
physics: {friction: 0.7}
items:
  ball: null
  brick:
    mass: 0.2
    shapes:
      - {box: [0.1, 0.1, 0.1]}
    pose: {on: top, xy: [0.1, 0.0]}
stances:
  aside: {x: [1.0, 2.0], y: [0.5, 1.0]}
objects:
  block: {item: brick}
robot: {base: {column_offset: 0.01}}
"""


def test_a_chain_of_scenes_is_the_one_merged_by_hand(folder, small_text):
    merged = laid_over(laid_over(read(small_text), read(CHILD)), read(GRANDCHILD))
    (folder / "merged.yaml").write_text(yaml.safe_dump(merged))
    (folder / "grandchild.yaml").write_text(GRANDCHILD)
    assert same(load_scene(folder / "grandchild.yaml"), load_scene(folder / "merged.yaml"))


def test_files_are_looked_for_beside_the_file_that_names_them(folder, small_text):
    tetrahedron = "v 0 0 0\nv 0.1 0 0\nv 0 0.1 0\nv 0 0 0.1\nf 1 2 3\nf 1 2 4\nf 1 3 4\nf 2 3 4\n"
    far = folder / "far"
    far.mkdir()
    (far / "tip.obj").write_text(tetrahedron)
    (far / "base.yaml").write_text(
        small_text.replace(
            "{box: [0.05, 0.06, 0.10]}", "{mesh: tip.obj, xyz: [-0.05, -0.05, -0.05]}"
        ).replace("    mass: 0.3", "    mass: 0.3\n    size: [0.1, 0.1, 0.1]")
    )
    child = "galley_scene: 1\nextends: far/base.yaml\n"
    (folder / "near.yaml").write_text(child)
    scene = load_scene(folder / "near.yaml")
    assert scene.item("block").shapes[0].mesh == (far / "tip.obj").resolve()
    (folder / "near.yaml").write_text(
        child + "items:\n  tip:\n    mass: 1\n    size: [0.1, 0.1, 0.1]\n"
        "    shapes: [{mesh: tip.obj}]\n    pose: {xyz: [0, 0, 2]}\n"
    )
    assert faults(folder / "near.yaml") == [
        f"{folder}/near.yaml:7:15: items.tip.shapes[0].mesh: "
        "no such file: tip.obj (looked beside the scene file)"
    ]


def faults(path):
    with pytest.raises(BadInput) as caught:
        load_scene(path)
    return [str(each) for each in caught.value.errors]


def line(text, marker):
    return text[: text.index(marker)].count("\n") + 1


# What is replaced in the child; the text on the line where the fault is; what it says.
FAULTS = {
    "missing file": ("base.yaml", "bas.yaml", "extends", "extends: {}/bas.yaml: no such"),
    "circle": ("base.yaml", "child.yaml", "extends", "is a cycle: child.yaml > child"),
    "no version": ("galley_scene: 1\n", "", "extends", "needs the key 'galley_scene'"),
    "null that removes nothing": ("  block: null", "  blok: null", "  blok",
        "items.blok: removes nothing: the extended file has no 'blok'; did you mean 'block'?"),
    "fault of an entry of one's own": ("mass: 0.1", "mass: -1", "mass",
        "items.ball.mass: must be greater than 0"),
    "what the base needs is gone": ("{base: [1.5, 0.2, 3.0]}", "{arm: null}", "  start:",
        "robot.start: needs 7 joint angles"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named_in_the_file_where_it_is_written(name, folder):
    old, new, marker, words = FAULTS[name]
    assert old in CHILD
    text = CHILD.replace(old, new, 1)
    (folder / "child.yaml").write_text(text)
    found = faults(folder / "child.yaml")
    wanted = re.compile(rf"{folder}/child\.yaml:{line(text, marker)}:\d+: ")
    assert any(wanted.match(f) and words.format(folder) in f for f in found), found


@pytest.mark.parametrize(
    ("base", "words"),
    [
        ("- 1\n", "base.yaml:1:1: expected a mapping"),
        ("name: x\n", "base.yaml:1:1: needs the key 'galley_scene'"),
        (
            "galley_scene: 1\nextends: child.yaml\n",
            "base.yaml:2:1: extends: is a cycle: child",
        ),
        ("galley_scene: 1\nname: x\nrobots: {}\n", "base.yaml:3:1: robots: unknown key"),
    ],
)
def test_a_base_that_is_no_scene(base, words, folder):
    (folder / "base.yaml").write_text(base)
    found = faults(folder / "child.yaml")
    assert any(f.startswith(f"{folder}/{words}") for f in found), found


def test_faults_found_later_know_the_file_of_the_entry(folder, small_text):
    scene = load_scene(folder / "child.yaml")
    assert str(scene.fault("items.ball", "is deep")) == (
        f"{folder}/child.yaml:{place_of(CHILD, 'items.ball')}: items.ball: is deep"
    )
    assert str(scene.fault("bodies.door", "is deep")) == (
        f"{folder}/base.yaml:{place_of(small_text, 'bodies.door')}: bodies.door: is deep"
    )
    assert str(scene.fault("bodies.attic", "?")) == f"{folder}/child.yaml: bodies.attic: ?"
