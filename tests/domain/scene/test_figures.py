"""The kitchen scene against dimensions computed by hand."""

import numpy as np
import pytest

from galley.domain.frames import rpy
from galley.domain.scene.reader import load_scene
from galley.domain.state import HAND, Placement, initial_state, item_pose

CLOSED = np.zeros(6)


def box_in_world(scene, body, shape, scene_q):
    """Lower and upper corner (2, 3) of a box shape in the world."""
    part = scene.body(body).shapes[shape]
    X = scene.body_pose(body, scene_q) @ part.X_BS
    reach = np.abs(X[:3, :3]) @ (part.size / 2.0)
    return np.array([X[:3, 3] - reach, X[:3, 3] + reach])


# body, which of its shapes, then x, y, z ranges.
MEASURED = {
    "right worktop": ("hitman", 0, (-0.370, 0.288), (-1.204, 0.004), (0.893, 0.930)),
    "left worktop": ("indigo", 0, (-0.370, 0.288), (0.826, 1.669), (0.893, 0.930)),
    "drawer floor": ("indigo_drawer_top", 0, (-0.265, 0.245), (0.842, 1.581), (0.756, 0.779)),
    "drawer front": ("indigo_drawer_top", 4, (0.245, 0.265), (0.838, 1.586), (0.756, 0.888)),
    "handle": ("indigo_drawer_handle_top", 0, (0.288, 0.312), (1.085, 1.337), (0.811, 0.832)),
    "hood": ("hood", 0, (-0.42, 0.14), (0.035, 0.795), (1.516, 1.600)),
    "cabinet": ("dagger", 0, (-0.370, -0.350), (0.830, 1.600), (1.476, 2.241)),
}


@pytest.mark.parametrize("name", MEASURED)
def test_furniture_stands_where_it_was_measured(kitchen, name):
    body, shape, *ranges = MEASURED[name]
    expected = np.array(ranges).T
    np.testing.assert_allclose(box_in_world(kitchen, body, shape, CLOSED), expected, atol=1e-9)


def test_an_open_drawer_takes_handle_and_inside_along_and_nothing_else(kitchen):
    opened = CLOSED.copy()
    opened[kitchen.joint_index["indigo_drawer_top_joint"]] = 0.3
    handle = box_in_world(kitchen, "indigo_drawer_handle_top", 0, opened)
    np.testing.assert_allclose(handle, [[0.588, 1.085, 0.811], [0.612, 1.337, 0.832]], atol=1e-9)
    floor = box_in_world(kitchen, "indigo_drawer_top", 0, opened)
    np.testing.assert_allclose(floor, [[0.035, 0.842, 0.756], [0.545, 1.581, 0.779]], atol=1e-9)
    assert floor[1, 0] - 0.288 == pytest.approx(0.257)  # of the inside lies open
    for body in ("indigo", "indigo_drawer_bottom", "hitman_drawer_top", "range"):
        np.testing.assert_array_equal(kitchen.body_pose(body, opened), np.eye(4))


def test_cabinet_doors_swing_outwards(kitchen):
    """Quarter turns about the hinges at y = 0.832 and 1.598, x = -0.010: the free edges, 0.381 m
    away, come to x = 0.371; the fronts, 0.010 m before the hinge, look outwards."""
    opened = CLOSED.copy()
    for door in ("right", "left"):
        opened[kitchen.joint_index[f"dagger_door_{door}_joint"]] = np.pi / 2
    right = box_in_world(kitchen, "dagger_door_right", 0, opened)
    np.testing.assert_allclose(right, [[-0.010, 0.822, 1.478], [0.371, 0.842, 2.239]], atol=1e-9)
    left = box_in_world(kitchen, "dagger_door_left", 0, opened)
    np.testing.assert_allclose(left, [[-0.010, 1.588, 1.478], [0.371, 1.608, 2.239]], atol=1e-9)


def test_items_stand_on_the_front_burners(kitchen):
    state = initial_state(kitchen)
    poses = {
        item.name: item_pose(kitchen, state, k, np.eye(4)) for k, item in enumerate(kitchen.items)
    }
    sugar, spam = poses["sugar_box"], poses["potted_meat_can"]
    np.testing.assert_allclose(sugar[:3, 3], [0.065, 0.625, 0.921 + 0.175 / 2], atol=1e-9)
    np.testing.assert_allclose(spam[:3, 3], [0.065, 0.205, 0.921 + 0.082 / 2], atol=1e-9)
    for pose in poses.values():
        np.testing.assert_allclose(pose[:3, :3], np.eye(3), atol=1e-12)
    assert sorted(kitchen.item("sugar_box").size) == [0.038, 0.089, 0.175]
    assert sorted(kitchen.item("potted_meat_can").size) == [0.050, 0.082, 0.097]
    assert (kitchen.item("sugar_box").mass, kitchen.item("potted_meat_can").mass) == (0.514, 0.370)


def test_the_robot_starts_at_the_center(kitchen):
    expected = [2.0, 0.0, np.pi, 0.012, -0.570, 0.0, -2.811, 0.0, 3.036, 0.741, 0.04, 0.04]
    np.testing.assert_allclose(initial_state(kitchen).q, expected)
    assert kitchen.robot.base.size == (0.815, 0.634, 0.40)
    assert kitchen.robot.base.p_BA == (-0.035, 0.0, 0.769)
    assert kitchen.stance("center").contains(kitchen.robot.q[:3])


def test_a_joint_that_starts_open_and_a_body_with_a_pose_carry_their_item(small_text, tmp_path):
    """A region is given in its body's frame, so items on it follow the body's pose."""
    text = small_text.replace("limits: [0, 0.4]", "limits: [0, 0.4], start: 0.2")
    text = text.replace("{on: top, xy: [0.1, -0.2], yaw: 0.5}", "{on: inside, xy: [0.1, -0.2]}")
    text = text.replace(
        "    mass: 2.0", "    xyz: [0.0, 1.0, 0.0]\n    rpy: [0, 0, 1.5707963267948966]"
    )
    file = tmp_path / "posed.yaml"
    file.write_text(text)
    scene = load_scene(file)
    # Turned by a quarter: (0.1, -0.2) -> (0.2, 0.1); moved by (0, 1); the drawer 0.2 open along x.
    X_WI = scene.item("block").X_WI
    np.testing.assert_allclose(X_WI[:3, 3], [0.2 + 0.2, 0.1 + 1.0, 0.62 + 0.05], atol=1e-9)
    assert rpy(X_WI[:3, :3])[2] == pytest.approx(np.pi / 2)
    state = initial_state(scene)
    assert state.items[0].parent == "drawer"
    np.testing.assert_allclose(state.items[0].X_PI[:3, 3], [0.1, -0.2, 0.67], atol=1e-9)


def test_items_in_a_drawer_move_with_it_and_others_stay(kitchen):
    start = initial_state(kitchen)
    in_drawer = Placement("indigo_drawer_top", kitchen.item("potted_meat_can").X_WI)
    state = start.with_item(kitchen.item_index["potted_meat_can"], in_drawer)
    scene_q = CLOSED.copy()
    scene_q[kitchen.joint_index["indigo_drawer_top_joint"]] = 0.25
    moved = state.with_scene(scene_q)
    for name, shift in (("potted_meat_can", 0.25), ("sugar_box", 0.0)):
        k = kitchen.item_index[name]
        before, after = (item_pose(kitchen, s, k, np.eye(4)) for s in (state, moved))
        np.testing.assert_allclose(after[:3, 3] - before[:3, 3], [shift, 0, 0], atol=1e-12)


def test_a_held_item_goes_where_the_hand_is(kitchen):
    X_HI = np.eye(4)
    X_HI[:3, 3] = [0.0, 0.0, 0.1]
    state = initial_state(kitchen).with_item(0, Placement(HAND, X_HI))
    X_WH = np.diag([1.0, -1.0, -1.0, 1.0])  # pointing down
    X_WH[:3, 3] = [0.5, 0.6, 1.2]
    np.testing.assert_allclose(item_pose(kitchen, state, 0, X_WH)[:3, 3], [0.5, 0.6, 1.1])
    assert state.held == 0
    assert initial_state(kitchen).held is None


@pytest.mark.parametrize(
    ("lower", "upper", "inside", "outside"),
    [
        (-np.pi, np.pi, (0.0, 3.1, -3.1, 9.0, np.pi, -np.pi), ()),
        (3.0, 3.5, (3.0, 3.5, -3.0, 3.2 - 2 * np.pi, 3.2 + 2 * np.pi), (2.9, -2.7, 0.0)),
        (-0.2, 0.2, (0.0, 2 * np.pi, 0.2, -0.2 - 2 * np.pi), (0.3, np.pi, -0.3)),
        (1.0, 1.0, (1.0, 1.0 + 2 * np.pi), (1.1,)),
    ],
)
def test_stances_take_headings_modulo_a_turn(small_scene, lower, upper, inside, outside):
    from dataclasses import replace

    stance = replace(
        small_scene.stance("away"), lower=np.array([0, 0, lower]), upper=np.array([1, 1, upper])
    )
    for heading in inside:
        assert stance.contains(np.array([0.5, 0.5, heading])), heading
        assert not stance.contains(np.array([1.5, 0.5, heading]))
        assert not stance.contains(np.array([0.5, -0.1, heading]))
    for heading in outside:
        assert not stance.contains(np.array([0.5, 0.5, heading])), heading
