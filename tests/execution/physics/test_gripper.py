"""Grasping, holding and releasing by friction alone."""

from dataclasses import replace

import numpy as np
import pytest

from galley.collision.checker import pair
from galley.execution.deviations import pose_difference
from galley.execution.physics.sensing import item_speed, measure_contacts
from galley.motion.thresholds import THRESHOLDS
from galley.tests.execution.physics.by_hand import (
    BESIDE,
    BLOCK,
    FINGERS,
    TOP,
    close,
    down,
    grip,
    height,
    line,
    shifted,
    standing,
    stroke,
    with_item,
)

ON_TOP = TOP + 0.05  # m, of the block's middle
GRASP = down(*BLOCK, TOP + 0.07)


@pytest.fixture
def hand(robot, opened):
    """``hand(scene, X_WT)``: a run that begins with the open hand there."""
    return lambda scene, X_WT=GRASP: opened(standing(scene, robot, BESIDE, X_WT), scene)


def lift(executor, scene, robot, rise=0.10, speed=0.15):
    """Straight up from the grasp."""
    q = standing(scene, robot, BESIDE, GRASP).q
    up = line(scene, robot, q, shifted(GRASP, z=rise), speed, allowed=grip("block"))
    return executor.execute(up, "lift")


@pytest.mark.parametrize("width", [0.02, 0.07])
def test_fingers_press_on_a_box_with_about_their_force(scene, robot, hand, width):
    size = np.array([width, 0.06, 0.10])
    shape = replace(scene.items[0].shapes[0], size=size)
    scene = with_item(scene, size=size, shapes=(shape,))
    executor = hand(scene)
    seen = executor.execute(close(robot, 0.04, width / 2, 20.0, "block"), "close")
    assert seen.ended.startswith("grip")
    executor.wait(0.1)
    contacts = measure_contacts(executor.world)
    forces = [contacts[pair(finger, "block")].normal_force for finger in FINGERS]
    np.testing.assert_allclose(forces, scene.physics.finger_force, rtol=0.15)
    # The pads' inner faces stand a little inside the fingers' joint positions.
    np.testing.assert_allclose(executor.world.q()[-2:], width / 2, atol=0.003)
    assert seen.state.held == 0


def test_what_is_lifted_stays_in_the_hand_and_rests_where_it_is_put_down(scene, robot, hand):
    executor = hand(scene)
    closed = executor.execute(close(robot, 0.04, 0.025, 20.0, "block"), "close")
    seen = lift(executor, scene, robot)
    assert seen.state.held == 0
    assert height(executor) == pytest.approx(ON_TOP + 0.10, abs=0.001)
    away, turned = pose_difference(closed.state.items[0].X_PI, seen.state.items[0].X_PI)
    assert away < 0.001
    assert turned < 0.01
    executor.wait(1.0)
    assert height(executor) == pytest.approx(ON_TOP + 0.10, abs=0.001)
    log = executor.log()
    assert (log.held[log.motion == 1] == 0).all()
    executor.execute(line(scene, robot, seen.state.q, GRASP, 0.1, allowed=grip("block")), "lower")
    seen = executor.execute(stroke(robot, 0.025, 0.04, allowed=grip("block")), "open")
    assert (seen.ended, seen.state.held) == ("", None)
    assert item_speed(executor.world, 0) < THRESHOLDS.at_rest_speed
    np.testing.assert_allclose(executor.world.item_pose(0)[:3, 3], [*BLOCK, ON_TOP], atol=0.001)
    np.testing.assert_allclose(executor.world.q()[-2:], 0.04, atol=1e-3)


def test_closing_on_nothing_says_so_and_holds_nothing(scene, robot, hand):
    executor = hand(scene, shifted(GRASP, y=0.15))
    seen = executor.execute(close(robot, 0.04, 0.025, 20.0, "block"), "close")
    assert seen.ended == "closed on nothing"
    assert seen.state.held is None
    assert executor.log().held.max() == -1
    assert executor.world.q()[-2:].max() < 0.002
    np.testing.assert_allclose(executor.world.item_pose(0)[:3, 3], [*BLOCK, ON_TOP], atol=5e-4)


def test_an_item_heavier_than_friction_can_carry_is_left(scene, robot, hand):
    """80 N on a coefficient of 0.8 carry 6.5 kg, and not 9."""
    limit = 2.0 * scene.physics.finger_force * scene.items[0].friction / 9.81
    assert 6.0 < limit < 7.0
    for mass, stays in ((4.0, True), (9.0, False)):
        heavy = with_item(scene, mass=mass)
        executor = hand(heavy)
        executor.execute(close(robot, 0.04, 0.025, 20.0, "block"), "close")
        lift(executor, heavy, robot, 0.05, 0.05)
        assert (height(executor) > ON_TOP + 0.045) == stays


def test_letting_go_waits_until_what_was_dropped_has_come_to_rest(scene, robot, hand):
    """The fingers are open long before the block has fallen 30 cm."""
    executor = hand(scene)
    executor.execute(close(robot, 0.04, 0.025, 20.0, "block"), "close")
    lift(executor, scene, robot, 0.30, 0.3)
    opening = stroke(robot, 0.027, 0.031, allowed=grip("block"))
    assert opening.trajectory.duration + 0.05 < np.sqrt(2.0 * 0.30 / 9.81)
    executor.execute(opening, "open")
    assert item_speed(executor.world, 0) < THRESHOLDS.at_rest_speed
    dropped = executor.world.item_pose(0)
    assert dropped[2, 3] < ON_TOP + 0.001
    executor.wait(0.5)
    assert np.linalg.norm(executor.world.item_pose(0)[:3, 3] - dropped[:3, 3]) < 5e-4
