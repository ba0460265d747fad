"""Grasps in a file of their own: the same as in the scene file; errors name that file."""

import numpy as np
import pytest

from galley.domain.errors import BadInput
from galley.domain.scene.reader import load_scene

MASS = "    mass: 0.3\n"
GRASPS = """- {name: top, width: 0.05, xyz: [0, 0, 0.03], rpy: [3.14159, 0, 0]}
# from the side
- name: side
  width: 0.06
  xyz: [0, 0, 0]
  rpy: [0, 1.5708, 0]
"""


def scene_with(folder, small_text, grasps):
    file = folder / "scene.yaml"
    file.write_text(small_text.replace(MASS, f"{MASS}    grasps: {grasps}\n"))
    return file


def test_grasps_of_a_file_are_those_listed_in_the_scene(small_text, tmp_path):
    (tmp_path / "grasps").mkdir()
    (tmp_path / "grasps" / "block.yaml").write_text(GRASPS)
    found = load_scene(scene_with(tmp_path, small_text, "grasps/block.yaml")).item("block").grasps
    listed = "\n      " + GRASPS.replace("\n", "\n      ")
    same = load_scene(scene_with(tmp_path, small_text, listed)).item("block").grasps
    assert [grasp.name for grasp in found] == ["top", "side"]
    for one, other in zip(found, same, strict=True):
        assert (one.name, one.width) == (other.name, other.width)
        np.testing.assert_array_equal(one.X_IT, other.X_IT)


def test_a_file_is_looked_for_beside_the_scene_that_names_it(small_text, tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "block.yaml").write_text(GRASPS)
    scene_with(tmp_path / "far", small_text, "block.yaml")
    (tmp_path / "near.yaml").write_text("galley_scene: 1\nextends: far/scene.yaml\n")
    assert len(load_scene(tmp_path / "near.yaml").item("block").grasps) == 2


@pytest.mark.parametrize(
    ("content", "faults"),
    [
        (None, ["scene.yaml:{}:13: items.block.grasps: {}/block.yaml: no such file"]),
        ("", ["block.yaml:1: is empty"]),
        (
            "top: {width: 0.05}\n",
            ["block.yaml:1:1: items.block.grasps: expected a list, got a mapping"],
        ),
        (
            GRASPS.replace("0.06", "0.09").replace("name: top", "nam: top"),
            [
                "block.yaml:1:4: items.block.grasps[0].nam: unknown key; did you mean 'name'?",
                "block.yaml:4:3: items.block.grasps[1].width: must be at most 0.08, got 0.09",
            ],
        ),
    ],
)  # fmt: skip
def test_a_faulty_file_is_named_with_its_line(content, faults, small_text, tmp_path):
    file = scene_with(tmp_path, small_text, "block.yaml")
    line = file.read_text().split("grasps:")[0].count("\n") + 1
    if content is not None:
        (tmp_path / "block.yaml").write_text(content)
    with pytest.raises(BadInput) as caught:
        load_scene(file)
    wanted = [f"{tmp_path}/" + fault.format(line, tmp_path) for fault in faults]
    assert [str(error) for error in caught.value.errors] == wanted
