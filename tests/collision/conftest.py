"""A scene of the tests' own: the robot, a ball on three joints, a ball as an item."""

import pytest

from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.robots.panda.models import mobile_panda

PROBE = """\
galley_scene: 1
name: probe
robot:
  model: mobile_panda
  start:
    base: [0.0, 0.0, 0.5]
    arm: [0.3, -0.4, 0.2, -1.9, 0.1, 1.9, 0.6]
bodies:
  probe_x: {joint: x, shapes: [{sphere: 0.001, collision: false}]}
  probe_y: {joint: y, parent: probe_x, shapes: [{sphere: 0.001, collision: false}]}
  probe: {joint: z, parent: probe_y, shapes: [{sphere: 0.004}]}
joints:
  x: {type: prismatic, axis: [1, 0, 0], limits: [-5, 5], start: 4}
  y: {type: prismatic, axis: [0, 1, 0], limits: [-5, 5], start: 4}
  z: {type: prismatic, axis: [0, 0, 1], limits: [-5, 5], start: 4}
items:
  ball: {mass: 0.1, shapes: [{sphere: 0.004}], pose: {xyz: [-4, -4, 4]}}
stances: {}
objects: {}
"""


@pytest.fixture(scope="module")
def probe(scene_of):
    """Robot, a small ball on three joints and a small ball as an item."""
    scene = scene_of(PROBE)
    with PyBulletWorld(scene, mobile_panda(scene.robot.base)) as world:
        yield world
