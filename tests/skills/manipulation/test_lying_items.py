"""Grasps of items that have fallen over: sideways across them, never from below."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from galley.domain.frames import frozen, inverse, rotation_about, rotation_z, transform
from galley.domain.scene.model import Grasp, Shape
from galley.domain.state import Placement, initial_state
from galley.robots.panda.description import PANDA_GRIPPER
from galley.skills.infeasibility.refusals import cannot_take, cannot_take_as_it_lies
from galley.skills.manipulation.context import PlanningContext
from galley.skills.manipulation.grasps import grasps_at, grasps_of, is_upright

SUGAR = "sugar_box"
TOP = 0.93  # m, the worktop's height


def toppled(axis, sign, yaw):
    """R_WI (3, 3) of an item whose axis 0 or 1 points down (sign 1) or up (-1)."""
    about = np.eye(3)[1 - axis]
    turn = rotation_about(about, np.pi / 2.0 * sign * (1.0 if axis == 0 else -1.0))
    assert (turn @ np.eye(3)[axis])[2] * sign < -0.99
    return rotation_z(yaw) @ turn


def lying(scene, axis, sign, yaw, x=0.0, y=-0.5):
    """The sugar box on one of its sides on the right counter; the State and its index."""
    index = scene.item_index[SUGAR]
    height = TOP + scene.items[index].size[axis] / 2.0
    X_WI = transform(toppled(axis, sign, yaw), (x, y, height))
    return initial_state(scene).with_item(index, Placement("world", frozen(X_WI))), index


@settings(max_examples=30, deadline=None)
@given(sign=st.sampled_from([1.0, -1.0]), yaw=st.floats(-3.1, 3.1))
def test_a_box_on_its_narrow_side_is_held_across_from_above_or_beside(kitchen, sign, yaw):
    state, index = lying(kitchen, 0, sign, yaw)
    item, X_WI = kitchen.items[index], state.items[index].X_PI
    grasps = grasps_at(kitchen, state, index, PANDA_GRIPPER)
    down = [X_WI @ g.X_IT for g in grasps]
    assert any(X[2, 2] < -0.999 for X in down)  # from above
    assert any(abs(X[2, 2]) < 1e-6 for X in down)  # from beside
    for grasp, X_WT in zip(grasps, down, strict=True):
        assert X_WT[2, 2] < 1e-6  # the hand never points up
        assert abs(X_WT[2, 1]) < 1e-6  # and no finger has to get below
        assert TOP < X_WT[2, 3] < TOP + item.size[0]
        for way in (0.5, -0.5):  # both pads lie on the box's faces
            pad = grasp.X_IT[:3, 3] + way * grasp.width * grasp.X_IT[:3, 1]
            assert np.abs(pad - np.clip(pad, -item.size / 2, item.size / 2)).max() < 1e-9
            assert np.isclose(np.abs(pad), item.size / 2, atol=1e-9).any()
        assert grasp.width < PANDA_GRIPPER.opening


def test_a_box_on_its_broad_side_can_not_be_held_and_why_is_said(kitchen, robot, shared_world):
    context = PlanningContext(kitchen, robot, shared_world)
    state, index = lying(kitchen, 1, 1.0, 0.4)
    assert grasps_at(kitchen, state, index, PANDA_GRIPPER) == ()
    failed = cannot_take_as_it_lies(context, state, index)
    assert failed.certificate["vertical_axis"] == "y"
    assert failed.numbers["width_m"] == pytest.approx(0.089)
    # Upright it could be: the action as such is not impossible.
    assert cannot_take(kitchen, state, index, PANDA_GRIPPER) is None
    assert cannot_take_as_it_lies(context, initial_state(kitchen), index) is None


def test_a_finger_gets_below_what_sticks_out_over_the_edge(kitchen, robot, shared_world):
    # The counter ends at x = 0.288; the box is 0.175 m long, its long side across the edge.
    state, index = lying(kitchen, 1, 1.0, -np.pi / 2.0, x=0.27)
    assert abs(state.items[index].X_PI[0, 2]) > 0.99
    found = grasps_at(kitchen, state, index, PANDA_GRIPPER)
    assert found
    for grasp in found:
        X_WT = state.items[index].X_PI @ grasp.X_IT
        assert abs(X_WT[2, 1]) > 0.999
        lower = X_WT[:3, 3] - np.sign(X_WT[2, 1]) * (grasp.width / 2 + 0.012) * X_WT[:3, 1]
        assert lower[0] > 0.288
    further_in, _ = lying(kitchen, 1, 1.0, -np.pi / 2.0, x=0.1)
    assert grasps_at(kitchen, further_in, index, PANDA_GRIPPER) == ()


@settings(max_examples=30, deadline=None)
@given(roll=st.floats(-3.1, 3.1), yaw=st.floats(-3.1, 3.1))
def test_a_rolled_cylinder_is_held_sideways_through_its_axis(kitchen, roll, yaw):
    shape = Shape("cylinder", np.array([0.03, 0.16]), np.eye(4), (1, 1, 1, 1))
    size = np.array([0.06, 0.06, 0.16])
    can = replace(kitchen.items[0], shapes=(shape,), size=size)
    scene = replace(kitchen, items=(can, *kitchen.items[1:]))
    X_WI = transform(toppled(0, 1.0, yaw) @ rotation_z(roll), (0.0, -0.5, TOP + 0.03))
    state = initial_state(scene).with_item(0, Placement("world", frozen(X_WI)))
    grasps = grasps_at(scene, state, 0, PANDA_GRIPPER)
    assert grasps
    for grasp in grasps:
        X_WT = X_WI @ grasp.X_IT
        assert abs(X_WT[2, 1]) < 1e-6
        assert X_WT[2, 2] < 1e-6
        # The fingers close on a diameter, or on the ends.
        along = abs(float(X_WT[:3, 1] @ X_WI[:3, 2]))
        p_IT = inverse(X_WI) @ X_WT[:, 3]
        closing = inverse(X_WI)[:3, :3] @ X_WT[:3, 1]
        beside = p_IT[0] * closing[1] - p_IT[1] * closing[0]
        assert along > 0.999 or abs(beside) < 1e-6


def test_an_upright_item_and_a_list_of_its_own_are_as_ever(kitchen):
    index = kitchen.item_index[SUGAR]
    state = initial_state(kitchen)
    assert grasps_at(kitchen, state, index, PANDA_GRIPPER) == grasps_of(
        kitchen.items[index], PANDA_GRIPPER
    )
    own = Grasp("own", np.eye(4), 0.03)
    items = list(kitchen.items)
    items[index] = replace(items[index], grasps=(own,))
    listed = replace(kitchen, items=tuple(items))
    fallen, _ = lying(listed, 0, 1.0, 0.0)
    assert grasps_at(listed, fallen, index, PANDA_GRIPPER) == (own,)
    assert not is_upright(fallen.items[index].X_PI)
