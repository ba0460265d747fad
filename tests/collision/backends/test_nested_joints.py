"""A door on a drawer: what one joint carries moves with another. PyBullet is the oracle."""

import numpy as np
import pytest

from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.collision.scene_kernel import SceneKernel
from galley.domain.state import Placement, initial_state
from galley.robots.panda.models import mobile_panda

# A drawer that slides askew, a door turning on it, a tray sliding in the door, a cup in the tray.
NESTED = """\
galley_scene: 1
name: nested
robot:
  model: mobile_panda
  start:
    base: [0.35, 0.1, 0.0]
    arm: [0.0, -0.4, 0.0, -2.2, 0.0, 1.9, 0.6]
bodies:
  drawer: {joint: slide, shapes: [{box: [0.1, 0.2, 0.1], xyz: [1.3, 0.5, 0.8]}]}
  door: {joint: hinge, parent: drawer, shapes: [{box: [0.3, 0.03, 0.3], xyz: [1.2, 0.3, 0.8]}]}
  tray: {joint: push, parent: door, shapes: [{box: [0.1, 0.1, 0.02], xyz: [1.1, 0.25, 0.8]}]}
joints:
  slide: {type: prismatic, axis: [-0.8, -0.6, 0], limits: [0, 0.5], start: 0.3}
  hinge: {type: revolute, axis: [0, 0, 1], pivot: [1.35, 0.3, 0.8], limits: [-1.5, 1.5], start: 0.4}
  push: {type: prismatic, axis: [0, 0, 1], limits: [-0.2, 0.2], start: 0.1}
regions:
  inside: {body: tray, volume: [[1.05, 1.15], [0.2, 0.3], [0.81, 1.0]]}
items:
  cup: {mass: 0.1, shapes: [{box: [0.05, 0.05, 0.1]}], pose: {xyz: [1.1, 0.25, 0.861]}}
stances: {}
objects: {}
"""


@pytest.fixture(scope="module")
def nested(scene_of):
    scene = scene_of(NESTED)
    with PyBulletWorld(scene, mobile_panda(scene.robot.base)) as world:
        yield world


def states(world, count, seed):
    """States with the robot and all scene joints anywhere; the cup in the tray."""
    scene, rng = world.scene, np.random.default_rng(seed)
    start = initial_state(scene)
    X_PI = scene.in_parent(scene.items[0].X_WI, "tray", np.zeros(3))
    start = start.with_item(0, Placement("tray", X_PI))
    for _ in range(count):
        q = start.q.copy()
        q[:3] += rng.uniform(-0.3, 0.3, 3)
        q[3:10] += rng.uniform(-0.8, 0.8, 7)
        yield start.with_robot(q).with_scene(
            [rng.uniform(joint.lower, joint.upper) for joint in scene.joints]
        )


@pytest.mark.parametrize("driven", ["slide", "hinge", "push"])
def test_distances_are_pybullets_whatever_joint_is_driven(nested, driven):
    kernel = SceneKernel(nested.scene, nested.robot)
    k = nested.scene.joint_index[driven]
    names = {"drawer", "door", "tray", "cup"}
    compared = 0
    for state in states(nested, 25, seed=k):
        nested.set_state(state)
        right = nested.near_pairs(0.4)
        # The view is made with the driven joint elsewhere: its value comes with each query.
        elsewhere = np.array(state.scene_q)
        elsewhere[k] = nested.scene.joints[k].lower
        view = kernel.view(state.with_scene(elsewhere), "all", driven=driven)
        found = view.contacts(np.append(state.q, state.scene_q[k]), within=0.35)
        for contact in found:
            if len(names & {contact.a, contact.b}) == 1 and contact.distance > 0.01:
                pair = tuple(sorted((contact.a, contact.b)))
                assert contact.distance == pytest.approx(right.get(pair), abs=2e-3), pair
                compared += 1
    assert compared > 50
