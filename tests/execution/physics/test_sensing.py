"""Sensing in a PhysicsWorld: the item in the hand, and the parents of all others."""

import numpy as np
import pytest

from galley.collision.backends.bullet import pybullet as pb
from galley.collision.checker import pair
from galley.domain.frames import frozen, inverse, transform
from galley.domain.scene.model import HAND, WORLD
from galley.domain.state import Placement, initial_state, item_pose
from galley.execution.physics.sensing import ContactForce, gripped_bodies, held_item, observed_state
from galley.execution.physics.world import PhysicsWorld
from galley.motion.thresholds import THRESHOLDS
from galley.robots.panda.mobile import hand_pose

ENOUGH = 2.0 * THRESHOLDS.held_force
TIN = """\
  tin:
    mass: 0.2
    shapes:
      - {box: [0.05, 0.05, 0.05]}
    pose: {xyz: [0.0, 0.1, 0.645]}
"""


@pytest.fixture(scope="module")
def scene(scene_of, small_text):
    """The small scene with a tin in the drawer."""
    return scene_of(small_text.replace("stances:", f"{TIN}stances:", 1))


@pytest.fixture(scope="module")
def world(scene, robot):
    world = PhysicsWorld(scene, robot, initial_state(scene))
    yield world
    world.close()


def touching(**forces):
    """``touching(left_block=5.0)``: normal forces of the fingers on things, N."""
    found = {}
    for name, force in forces.items():
        side, other = name.split("_")
        contact = found[pair(f"panda_{side}finger", other)] = ContactForce()
        contact.normal_force, contact.distance = force, 0.0
    return found


def test_only_what_every_finger_presses_on_is_held(scene, world):
    def held(**forces):
        return held_item(world, touching(**forces), THRESHOLDS)

    block, tin = (scene.item_index[name] for name in ("block", "tin"))
    assert held() is None
    assert held(left_block=ENOUGH) is None
    assert held(left_block=ENOUGH, right_tin=ENOUGH) is None
    assert held(left_block=ENOUGH, right_block=ENOUGH) == block
    assert held(left_tin=ENOUGH, right_tin=ENOUGH) == tin
    just = THRESHOLDS.held_force
    assert held(left_block=just, right_block=just) == block
    assert held(left_block=10 * just, right_block=0.99 * just) is None


def test_of_two_things_the_one_pressed_harder_comes_first_and_a_handle_is_no_item(world):
    contacts = touching(left_block=20.0, right_block=6.0, left_tin=7.0, right_tin=9.0)
    assert gripped_bodies(world, contacts, THRESHOLDS) == ("tin", "block")
    contacts = touching(left_knob=40.0, right_knob=40.0)
    assert gripped_bodies(world, contacts, THRESHOLDS) == ("knob",)
    assert held_item(world, contacts, THRESHOLDS) is None


def test_things_are_seen_where_they_are_whatever_their_parent(scene, world):
    """Poses in the world that the State gives are those of the physics client."""
    for held in (None, 0, 1):
        state = observed_state(world, held)
        assert state.held == held
        X_WH = hand_pose(world.q(), scene.robot.base)
        for k in range(len(scene.items)):
            np.testing.assert_allclose(
                item_pose(scene, state, k, X_WH), world.item_pose(k), atol=1e-6
            )
        if held is not None:
            X_HI = inverse(X_WH) @ world.item_pose(held)
            np.testing.assert_allclose(state.items[held].X_PI, X_HI, atol=1e-6)
            assert state.items[held].parent == HAND


def test_what_lies_in_a_drawer_is_seen_in_it_and_the_rest_in_the_world(scene, robot):
    X_WI = transform(None, (0.1, 0.1, 0.645))  # 0.2 m out with the drawer
    state = initial_state(scene).with_scene(frozen([0.2, 0.0]))
    tin = scene.item_index["tin"]
    state = state.with_item(tin, Placement(WORLD, frozen(X_WI)))
    world = PhysicsWorld(scene, robot, state)
    seen = observed_state(world, None)
    world.close()
    assert [each.parent for each in seen.items] == [
        "drawer" if item.name == "tin" else WORLD for item in scene.items
    ]
    np.testing.assert_allclose(seen.items[tin].X_PI[:3, 3], [-0.1, 0.1, 0.645], atol=1e-6)
    assert seen.scene_q[scene.joint_index["slide"]] == pytest.approx(0.2)


def test_joints_a_hair_beyond_their_limits_are_seen_at_them(scene, robot):
    world = PhysicsWorld(scene, robot, initial_state(scene))
    low, _ = robot.limits
    for k, value in zip(world.robot_joints, low - 1e-4, strict=True):
        pb.resetJointState(world.robot_id, k, value, physicsClientId=world.client)
    np.testing.assert_array_equal(observed_state(world, None).q, low)
    world.close()
