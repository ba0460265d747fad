"""A scene that starts in collision is refused, by name, depth and line."""

import numpy as np
import pytest

from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.collision.scene_check import check_start
from galley.domain.errors import BadInput
from galley.domain.scene.reader import load_scene
from galley.robots.panda.models import mobile_panda


def errors_of(text, tmp_path):
    file = tmp_path / "scene.yaml"
    file.write_text(text)
    scene = load_scene(file)
    with PyBulletWorld(scene, mobile_panda(scene.robot.base)) as world:
        try:
            check_start(world)
        except BadInput as error:
            return error.errors
    return ()


def line_of(text, words):
    return text[: text.index(words)].count("\n") + 1


def test_the_shipped_and_the_small_scene_start_free(kitchen, world, small_text, tmp_path):
    check_start(world)
    assert errors_of(small_text, tmp_path) == ()


@pytest.mark.parametrize(("depth", "refused"), [(0.001, False), (0.003, True), (0.03, True)])
def test_an_item_sunk_into_its_support_is_refused(depth, refused, small_text, tmp_path):
    sunk = f"{{xyz: [0.1, -0.2, {0.84 + 0.05 - depth}]}}"
    text = small_text.replace("{on: top, xy: [0.1, -0.2], yaw: 0.5}", sunk)
    errors = errors_of(text, tmp_path)
    assert bool(errors) is refused
    if refused:
        assert errors[0].line == line_of(text, "  block:\n    mass")
        for words in ("items.block", "cabinet", f"{1e3 * depth:.0f}"):
            assert words in errors[0].what


def test_two_items_in_one_place_are_refused(small_text, tmp_path):
    second = "items:\n  other: {mass: 1, shapes: [{sphere: 0.03}], pose: {xyz: [0.1, -0.2, 0.9]}}\n"
    errors = errors_of(small_text.replace("items:\n", second), tmp_path)
    assert len(errors) == 1
    assert "block" in errors[0].what
    assert "other" in errors[0].what


def test_a_robot_that_starts_in_furniture_is_refused(small_text, tmp_path):
    text = small_text.replace("base: [1.5, 0.0, 3.0]", "base: [0.5, 0.0, 3.0]")
    text = text.replace(
        "[[0.29, 0.31], [-0.1, 0.1], [0.65, 0.67]]", "[[0.2, 0.3], [-0.1, 0.1], [0.2, 0.3]]"
    )
    errors = errors_of(text, tmp_path)
    assert any("chassis" in e.what and "knob" in e.what for e in errors)
    assert {e.line for e in errors} == {line_of(text, "  start:")}


@pytest.mark.parametrize(("angle", "joint"), [(-0.01, "panda_joint4"), (-3.2, "panda_joint4")])
def test_a_start_beyond_the_arms_limits_is_refused(angle, joint, small_text, tmp_path):
    text = small_text.replace("-2.81, 0.0, 3.04", f"{angle}, 0.0, 3.04")
    errors = errors_of(text, tmp_path)
    beyond = [e for e in errors if joint in e.what]
    assert beyond
    assert beyond[0].line == line_of(text, "    arm: [")


def test_a_robot_folded_into_itself_is_refused(small_text, tmp_path):
    # The forearm straight out and the wrist bent back: the hand meets link 5.
    text = small_text.replace("-2.81, 0.0, 3.04, 0.74", "-0.84, 0.0, -0.01, -0.67")
    errors = errors_of(text, tmp_path)
    assert any("panda_hand" in e.what and "panda_link5" in e.what for e in errors)


@pytest.mark.parametrize("name", ["panda_hand", "chassis"])
def test_a_thing_called_as_a_link_of_the_robot_is_refused(name, small_text, tmp_path):
    text = small_text.replace("  floor:", f"  {name}:")
    errors = errors_of(text, tmp_path)
    assert [e.line for e in errors] == [line_of(text, f"  {name}:")]


@pytest.mark.parametrize("name", ["robot", "furniture"])
def test_an_item_may_be_called_robot_or_furniture(name, small_text, scene_of):
    """Their URDF files once overwrote each other: the robot then checked itself as a block."""
    text = small_text.replace("  block:\n    mass", f"  {name}:\n    mass")
    text = text.replace("block: {item: block}", f"block: {{item: {name}}}")
    scene = scene_of(text)
    with PyBulletWorld(scene, mobile_panda(scene.robot.base)) as world:
        check_start(world)
        world.set_robot(np.array([1.5, 0, 3.0, 0, -0.57, 0, -0.84, 0, -0.01, -0.67, 0.04, 0.04]))
        assert ("panda_hand", "panda_link5") in world.near_pairs(0.0)
