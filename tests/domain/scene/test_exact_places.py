"""Furniture with an exact place (``at``): input errors, and the meaning of ``on`` and ``in``."""

import numpy as np
import pytest

from galley.domain.errors import BadInput
from galley.domain.frames import rotation_rpy, transform
from galley.domain.predicates import fact_holds
from galley.domain.scene.reader import load_scene
from galley.domain.state import Placement, initial_state
from galley.tests.domain.scene.places import place_of

X_WH = transform(None, (9.0, 9.0, 9.0))
TABLE = "  table: {stance: cabinet, region: top}"
DRAWER = "  drawer: {stance: cabinet, region: inside, handle: knob, staging: top}"


def load(tmp_path, text, old=TABLE, new=TABLE):
    assert old in text
    (tmp_path / "scene.yaml").write_text(text.replace(old, new))
    return load_scene(tmp_path / "scene.yaml")


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        (TABLE, "{stance: cabinet, region: top, at: {xy: [0.21, 0.0]}}",
         "objects.table.at.xy: [0.21, 0] lies outside the region 'top'"),
        (DRAWER, "{stance: cabinet, region: inside, handle: knob, at: {xy: [-0.31, 0]}}",
         "objects.drawer.at.xy: [-0.31, 0] lies outside the region 'inside'"),
        (TABLE, "{stance: cabinet, at: {xy: [0, 0]}}",
         "objects.table.at: is a place in a region, so the key 'region' is needed too"),
        (TABLE, "{stance: cabinet, region: top, at: {xy: [0, 0], z: 1}}",
         "objects.table.at.z: unknown key; known are xy, yaw"),
        ("  block: {item: block}", "{item: block, at: {xy: [0, 0]}}",
         "objects.block.at: is only for furniture; the object is an item"),
    ],
)  # fmt: skip
def test_a_faulty_place_is_named_with_its_line_and_key(old, new, what, small_text, tmp_path):
    new = f"{old[: old.index('{')]}{new}"
    place = place_of(small_text.replace(old, new), what.split(":")[0])
    with pytest.raises(BadInput) as caught:
        load(tmp_path, small_text, old, new)
    assert [str(e) for e in caught.value.errors] == [f"{tmp_path}/scene.yaml:{place}: {what}"]


def test_a_place_is_read_and_absent_where_none_is_given(small_text, tmp_path):
    new = "  table: {stance: cabinet, region: top, at: {xy: [0.2, -0.4], yaw: -7}}"
    scene = load(tmp_path, small_text, TABLE, new)
    spot = scene.binding("table").spot
    assert (spot.xy.tolist(), spot.yaw) == ([0.2, -0.4], -7.0)
    assert not spot.xy.flags.writeable
    assert scene.binding("drawer").spot is None
    bare = load(tmp_path, small_text, TABLE, new.replace(", yaw: -7", ""))
    assert bare.binding("table").spot.yaw is None


def verdict(scene, name, place, p, angles, parent="world", opening=0.0):
    """The fact of the block with its centre at p (3,) in the frame of ``parent``."""
    placement = Placement(parent, transform(rotation_rpy(*np.radians(angles)), p))
    state = initial_state(scene).with_item(0, placement)
    scene_q = np.zeros(len(scene.joints))
    scene_q[scene.joint_index["slide"]] = opening
    bindings = (scene.binding("block"), scene.binding(place))
    return fact_holds(scene, state.with_scene(scene_q), name, bindings, X_WH)


ON_TOP = 0.84 + 0.05  # z of the block's centre


@pytest.mark.parametrize(
    ("xy", "yaw", "holds", "words"),
    [
        ((0.10, 0.2), 30.0, True, "block is 0.0 mm from its spot in top, turned 0.0 degrees"),
        ((0.1099, 0.2), 30.0, True, "9.9 mm"),
        ((0.1101, 0.2), 30.0, False, "10.1 mm from its spot in top"),
        ((0.1071, 0.2071), 30.0, False, "10.0 mm"),  # 10.04 mm away, though 7.1 along each axis
        ((0.10, 0.2), 34.9, True, "turned 4.9 degrees"),
        ((0.10, 0.2), 35.1, False, "turned 5.1 degrees from its yaw"),
        ((0.10, 0.2), 24.9, False, "turned 5.1 degrees"),
        ((0.10, 0.2), 30.0 - 720.0, True, "turned 0.0 degrees"),
        ((0.3, 0.2), 30.0, False, "the centre of block is not over top"),
    ],
)
def test_on_an_exact_place_is_within_10_mm_and_5_degrees(
    xy, yaw, holds, words, small_text, tmp_path
):
    # The place says 30 degrees, one turn on.
    at = f"{{xy: [0.1, 0.2], yaw: {np.radians(390)}}}"
    new = f"  table: {{stance: cabinet, region: top, at: {at}}}"
    scene = load(tmp_path, small_text, TABLE, new)
    found = verdict(scene, "on", "table", (*xy, ON_TOP), (0, 0, yaw))
    assert found.holds is holds, found.why
    assert words in found.why


def test_a_place_in_a_drawer_moves_with_it(small_text, tmp_path):
    new = "  drawer: {stance: cabinet, region: inside, handle: knob, at: {xy: [0, 0.1], yaw: 0}}"
    scene = load(tmp_path, small_text, DRAWER, new)
    z = 0.62 + 0.05
    for opening in (0.0, 0.2):
        found = verdict(scene, "in", "drawer", (0.005, 0.1, z), (0, 0, 0), "drawer", opening)
        assert found.holds, found.why
        assert "block is inside inside; block is 5.0 mm from its spot" in found.why
        aside = verdict(scene, "in", "drawer", (0.005, 0.115, z), (0, 0, 0), "drawer", opening)
        assert not aside.holds
    # A block on its side has the yaw of its x axis; on its end, none.
    lying = (0.0, 0.1, 0.62 + 0.03)
    assert verdict(scene, "in", "drawer", lying, (90, 0, 3), "drawer").holds
    on_end = verdict(scene, "in", "drawer", (0.0, 0.1, 0.62 + 0.025), (0, 90, 0), "drawer")
    assert not on_end.holds
    assert "no yaw" in on_end.why
    # ``inside`` asks for the drawer alone.
    assert verdict(scene, "inside", "drawer", (0.0, -0.1, z), (0, 0, 0), "drawer").holds
