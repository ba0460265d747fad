"""Grasp frame and measures from a gripper's meshes, and the joints that move its fingers."""

import numpy as np
import pytest

from galley.domain.scene.reader import load_scene
from galley.robots import panda_arm
from galley.robots.catalog import description_of
from galley.robots.gripper import find_gripper
from galley.robots.panda.description import PANDA_GRIPPER
from galley.robots.urdf_reader import read_tree

FINGERS = {"panda_finger_joint1": (0.0, 0.04), "panda_finger_joint2": (0.0, 0.04)}


@pytest.fixture(scope="module")
def robotiq():
    """The Gen3 with the 2F-85, whose knuckles and tips turn by one angle."""
    return description_of(load_scene("table.yaml", robot="gen3.yaml").robot)


def test_the_hand_of_the_panda_is_found_as_franka_publishes_it():
    arm = panda_arm()
    found = find_gripper(arm.urdf, FINGERS, arm.palm, arm.fingers)
    assert found.X_RT[:3, :3] == pytest.approx(np.eye(3), abs=1e-9)
    assert found.X_RT[:3, 3] == pytest.approx(arm.p_HT, abs=3e-4)
    assert found.gripper.opening == pytest.approx(PANDA_GRIPPER.opening, abs=5e-4)
    assert found.gripper.to_palm == pytest.approx(PANDA_GRIPPER.to_palm, abs=1e-3)
    assert found.gripper.to_finger == pytest.approx(PANDA_GRIPPER.to_finger, abs=1e-3)


def test_fingers_stand_as_far_apart_as_they_are_told(robotiq):
    tree, q = read_tree(robotiq.urdf, robotiq.joints), np.zeros(robotiq.size)

    def apart(half):
        """Between the tips' origins, along the closing direction."""
        q[robotiq.slice("fingers")] = robotiq.fingers_at(half)
        X_WH, left, right = (tree.link_pose(n, q) for n in (robotiq.palm, *robotiq.fingers))
        return abs((X_WH[:3, :3].T @ (left - right)[:3, 3])[1])

    halves = np.linspace(0.002, robotiq.gripper.open, 17)
    # Tips that don't turn: the pads come as near as their origins do.
    moved = [apart(half) - apart(halves[0]) for half in halves]
    assert moved == pytest.approx(2.0 * (halves - halves[0]), abs=2e-4)
    back = robotiq.half_width(robotiq.fingers_at(halves))
    assert back == pytest.approx(halves, abs=1e-12)


def test_finger_rates_are_the_slope_of_the_table(robotiq):
    for half in (0.011, 0.03):
        step = 1e-7
        slope = (robotiq.fingers_at(half + step) - robotiq.fingers_at(half - step)) / (2.0 * step)
        assert robotiq.finger_rates(half) == pytest.approx(slope, rel=1e-5)


def test_a_gripper_of_one_moving_jaw_is_refused_by_name():
    arm = panda_arm()
    still = {"panda_finger_joint1": (0.0, 0.0), "panda_finger_joint2": (0.0, 0.0)}
    with pytest.raises(ValueError, match="panda_leftfinger and panda_rightfinger don't part"):
        find_gripper(arm.urdf, still, arm.palm, arm.fingers)
