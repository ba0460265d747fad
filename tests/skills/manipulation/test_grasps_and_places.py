"""Grasps, handle grasps and placements, checked by geometry and by PyBullet's distances."""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from galley.domain.failure import FailureKind
from galley.domain.frames import inverse, transform
from galley.domain.scene.model import Grasp
from galley.domain.scene.reader import load_scene
from galley.domain.shipped import KITCHEN
from galley.domain.state import HAND, Placement, initial_state
from galley.robots.panda.description import PANDA_GRIPPER
from galley.robots.panda.kinematics import p_HT
from galley.robots.panda.models import mobile_panda
from galley.skills import PlanningContext
from galley.skills.infeasibility.refusals import does_not_fit
from galley.skills.manipulation.contacts import with_room
from galley.skills.manipulation.grasps import grasps_of, hand_in_item, item_in_hand, leaning_grasps
from galley.skills.manipulation.manipulation import along_joint, handle_grasps, straight
from galley.skills.placing.placements import placements

ITEMS = ("sugar_box", "potted_meat_can")
PADS = 0.009  # m, the pads reach about this far above and below the grasp centre


@pytest.fixture(scope="module", params=ITEMS)
def item(request, kitchen):
    return kitchen.item(request.param)


def test_grasps_exist_from_the_top_and_from_the_sides(item):
    grasps = grasps_of(item, PANDA_GRIPPER)
    faces = {g.name.split("/")[0] for g in grasps}
    assert "top" in faces
    assert len(faces) >= 3
    assert len({g.name for g in grasps}) == len(grasps)


def test_fingers_close_across_a_side_that_they_can_span(item):
    for grasp in grasps_of(item, PANDA_GRIPPER):
        closing = np.abs(grasp.X_IT[:3, 1])
        side = float(closing @ item.size)  # square to the box: one of its sides
        assert sorted(closing) == pytest.approx([0, 0, 1])
        assert grasp.width == pytest.approx(side)
        assert side < 0.08
        assert np.linalg.det(grasp.X_IT[:3, :3]) == pytest.approx(1.0)


def test_the_grasp_centre_and_the_pads_lie_within_the_item(item):
    for grasp in grasps_of(item, PANDA_GRIPPER):
        p = grasp.X_IT[:3, 3]
        assert (np.abs(p) <= item.size / 2 + 1e-9).all(), grasp.name
        assert p @ grasp.X_IT[:3, 1] == pytest.approx(0.0), "in the middle between the fingers"
        # The middle of the pads' far end too: fingers that only touch an edge would slip.
        tip = p + PADS * grasp.X_IT[:3, 2]
        assert (np.abs(tip) <= item.size / 2 + PADS).all()


def test_the_hand_comes_from_outside_and_never_from_below(item):
    for grasp in grasps_of(item, PANDA_GRIPPER):
        X_IH = hand_in_item(grasp, p_HT)
        outside = np.abs(X_IH[:3, 3]) > item.size / 2
        assert outside.any(), grasp.name
        assert X_IH[2, 3] > -1e-9
        assert grasp.X_IT[2, 2] <= 1e-9, "the hand never points upwards"
        np.testing.assert_allclose(item_in_hand(grasp, p_HT), inverse(X_IH), atol=1e-12)


def test_closed_on_the_item_both_fingers_touch_and_nothing_else_does(kitchen, world, item):
    """PyBullet as the oracle: the item is put into the hand, fingers at half its width."""
    index = kitchen.item_index[item.name]
    for grasp in grasps_of(item, PANDA_GRIPPER):
        q = kitchen.robot.q.copy()
        q[10:] = grasp.width / 2
        placement = Placement(HAND, item_in_hand(grasp, p_HT))
        world.set_state(initial_state(kitchen).with_item(index, placement).with_robot(q))
        near = {k: d for k, d in world.near_pairs(0.004).items() if item.name in k}
        for finger in world.robot.fingers:
            distance = near[tuple(sorted((item.name, finger)))]
            assert abs(distance) < 0.0015, (grasp.name, distance)
        others = {k for k in near if not set(k) & set(world.robot.fingers)}
        assert not others, (grasp.name, others)
        # Open, with room on either side.
        q[10:] = 0.04
        world.set_state(initial_state(kitchen).with_item(index, placement).with_robot(q))
        assert not [k for k in world.near_pairs(0.004) if item.name in k], grasp.name


def test_too_wide_things_have_no_grasp_and_listed_grasps_are_taken_as_they_are(item):
    wide = replace(item, size=np.array([0.09, 0.10, 0.12]))
    assert grasps_of(wide, PANDA_GRIPPER) == ()
    own = Grasp("mine", np.eye(4), 0.03)
    assert grasps_of(replace(item, grasps=(own,)), PANDA_GRIPPER) == (own,)


# -- lines -----------------------------------------------------------------------------------------


def test_a_straight_line_has_the_ends_and_short_steps():
    A, B = transform(None, (0.0, 0.0, 1.0)), transform(None, (0.3, -0.04, 0.9))
    poses = straight(A, B)
    np.testing.assert_array_equal(poses[0][:3, 3], A[:3, 3])
    np.testing.assert_array_equal(poses[-1], B)
    assert np.linalg.norm(np.diff(poses[:, :3, 3], axis=0), axis=1).max() <= 0.01 + 1e-12


def test_the_handle_is_taken_from_the_front_both_ways_up_within_its_span(kitchen):
    """Of the bar at x = 0.300, y = 1.085..1.337, z = 0.8215: the palm before it, fingers over
    and under."""
    handle = kitchen.handle("indigo_drawer_handle_top")
    poses = handle_grasps(np.eye(4), handle, mobile_panda())
    assert {round(float(X[2, 1])) for X in poses} == {1, -1}, "both ways up"
    for X in poses:
        np.testing.assert_allclose(X[:3, 2], [-1, 0, 0], atol=1e-12)  # pointing at the drawer
        np.testing.assert_allclose(np.abs(X[:3, 1]), [0, 0, 1], atol=1e-12)
        assert X[0, 3] == pytest.approx(0.300 + 0.1034)
        assert X[2, 3] == pytest.approx(0.8215)
        assert 1.211 - 0.06 - 1e-9 <= X[1, 3] <= 1.211 + 0.06 + 1e-9
        assert np.linalg.det(X[:3, :3]) == pytest.approx(1.0)
    ys = {round(float(X[1, 3]), 6) for X in poses}
    assert {1.151, 1.271} <= ys


def test_a_drawer_handle_is_led_straight_and_a_door_handle_round(kitchen):
    drawer = kitchen.joint("indigo_drawer_top_joint")
    X = transform(None, (0.4, 1.2, 0.82))
    poses, values = along_joint(X, drawer, 0.0, 0.3)
    np.testing.assert_allclose(poses[:, 0, 3], 0.4 + values)
    assert (values[0], values[-1]) == (0.0, 0.3)
    assert np.diff(values).max() <= 0.01 + 1e-12
    door = kitchen.joint("dagger_door_right_joint")  # hinge at (-0.010, 0.832)
    X = transform(None, (0.02, 1.18, 1.6))
    poses, values = along_joint(X, door, 0.0, 1.2)
    radius = np.hypot(0.03, 1.18 - 0.832)
    away = poses[:, :2, 3] - [-0.010, 0.832]
    np.testing.assert_allclose(np.linalg.norm(away, axis=1), radius)
    np.testing.assert_allclose(poses[:, 2, 3], 1.6)
    assert poses[-1, 0, 3] > 0.3, "outwards, towards the robot"
    assert np.linalg.norm(np.diff(poses[:, :3, 3], axis=0), axis=1).max() <= 0.01 + 1e-9


# -- placements ------------------------------------------------------------------------------------


def test_what_does_not_fit_is_certified_by_sizes(kitchen):
    sugar, can = kitchen.item("sugar_box"), kitchen.item("potted_meat_can")
    drawer = kitchen.region("indigo_drawer_top_inside")
    failure = does_not_fit(sugar, drawer)
    assert failure.kind is FailureKind.DOES_NOT_FIT
    assert failure.numbers["height_m"] == pytest.approx(0.175)
    assert failure.numbers["room_m"] == pytest.approx(0.888 - 0.779)
    assert failure.certificate["item_m"] == [0.089, 0.038, 0.175]
    assert does_not_fit(can, drawer) is None
    for region in ("hitman_top", "burners", "indigo_top"):
        assert does_not_fit(sugar, kitchen.region(region)) is None


@pytest.mark.parametrize(
    "sides", [(0.03, 0.50), (0.10, 0.10), (0.04, 0.09), (0.039, 0.5), (0.06, 0.07)]
)
def test_a_certificate_is_never_given_where_a_placement_exists(kitchen, sides):
    """Refused only if indeed 2000 random yaws find no room either."""
    sugar = kitchen.item("sugar_box")
    region = replace(kitchen.region("hitman_top"), boxes=np.array([[[0, 0, 1], [*sides, 1]]]))
    rng = np.random.default_rng(1)
    yaw = rng.uniform(0, np.pi, 2000)
    c, s = np.abs(np.cos(yaw)), np.abs(np.sin(yaw))
    x, y = 0.089 * c + 0.038 * s, 0.089 * s + 0.038 * c
    possible = bool(((x <= sides[0]) & (y <= sides[1])).any())
    if does_not_fit(sugar, region) is not None:
        assert not possible
    if possible:
        assert next(placements(sugar, region, (), (), None, rng), None) is not None


def test_grasps_with_room_are_those_that_leave_the_hand_room_beside_the_neighbours():
    scene = load_scene(KITCHEN.parent / "scenarios" / "five_cans_scene.yaml")
    context = PlanningContext(scene, mobile_panda(scene.robot.base), None)
    soup, corn = scene.item_index["soup_can"], scene.item_index["left_can"]
    state = initial_state(scene)

    def found(away):
        X = state.items[corn].X_PI.copy()
        X[1, 3] += away
        there = state.with_item(corn, Placement("world", X))
        grasps = leaning_grasps(scene, there, soup, PANDA_GRIPPER)
        ways = with_room(context, there, soup, grasps, np.random.default_rng(0))
        return [grasp.name for grasp in islice(ways, 2)]

    assert found(0.0) != found(1.5), "there is more room beside one neighbour less"
    assert found(1.5) == found(2.0)
