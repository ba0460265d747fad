"""Drake against PyBullet and against figures measured by hand in the scene file."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from galley.collision.backends.drake_world import DrakeWorld
from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.domain.frames import transform
from galley.domain.scene.reader import load_scene
from galley.domain.state import Placement, initial_state


@pytest.fixture(scope="module")
def worlds(kitchen, robot):
    with DrakeWorld(kitchen, robot) as drake, PyBulletWorld(kitchen, robot) as bullet:
        yield drake, bullet


def random_state(kitchen, robot, rng):
    lower, upper = robot.limits
    scene_q = rng.uniform([j.lower for j in kitchen.joints], [j.upper for j in kitchen.joints])
    return initial_state(kitchen).with_robot(rng.uniform(lower, upper)).with_scene(scene_q)


def test_links_and_furniture_stand_in_the_same_places(kitchen, robot, worlds):
    rng = np.random.default_rng(1)
    drake, bullet = worlds
    for _ in range(100):
        state = random_state(kitchen, robot, rng)
        drake.set_state(state)
        bullet.set_state(state)
        for link in robot.links:
            error = np.abs(drake.link_pose(link) - bullet.link_pose(link)).max()
            assert error < 1e-6, link
        for body in kitchen.bodies:
            error = np.abs(drake.link_pose(body.name) - bullet.link_pose(body.name)).max()
            assert error < 1e-6, body.name
        np.testing.assert_allclose(drake.link_pose(robot.palm), bullet.hand_pose(), atol=1e-6)


def test_what_touches_is_the_same_in_both(kitchen, robot, worlds):
    """Apart from grazing: Bullet adds up to 2 mm of margin to meshes."""
    rng = np.random.default_rng(2)
    drake, bullet = worlds
    hits = 0
    for _ in range(150):
        state = random_state(kitchen, robot, rng)
        drake.set_state(state)
        bullet.set_state(state)
        ours = {(c.a, c.b): c.distance for c in drake.contacts()}
        theirs = bullet.near_pairs(0.0)
        assert {p for p, d in theirs.items() if d < -0.003} <= set(ours)
        assert {p for p, d in ours.items() if d < -0.003} <= set(theirs)
        hits += len(ours)
    assert hits > 100


def test_contacts_leave_out_what_is_allowed_and_come_nearest_first(kitchen, worlds):
    drake, _ = worlds
    state = initial_state(kitchen)
    drake.set_state(state)
    assert all(c.distance > -1e-9 for c in drake.contacts())
    near = drake.contacts(within=0.01)
    assert {(c.a, c.b) for c in near} == {("range", "sugar_box"), ("potted_meat_can", "range")}
    assert all(abs(c.distance) < 1e-6 for c in near)
    allowed = frozenset({("range", "sugar_box"), ("potted_meat_can", "range")})
    assert drake.contacts(within=0.01, allowed=allowed) == ()
    # The can pushed 10 mm into the sugar box, which is 0.038 m wide, along y.
    pose = transform(None, [0.065, 0.625 + 0.019 + 0.025 - 0.010, 0.921 + 0.041])
    drake.set_state(state.with_item(1, Placement("world", pose)))
    first = drake.contacts()[0]
    assert (first.a, first.b) == ("potted_meat_can", "sugar_box")
    assert first.distance == pytest.approx(-0.010, abs=1e-6)


def test_worlds_of_an_equal_scene_share_what_was_loaded_and_no_state(kitchen, robot, worlds):
    one, again = DrakeWorld(kitchen, robot), DrakeWorld(load_scene(kitchen.source), robot)
    assert one.plant is again.plant
    before = again.link_pose(robot.palm)
    one.set_state(random_state(kitchen, robot, np.random.default_rng(5)))
    np.testing.assert_array_equal(again.link_pose(robot.palm), before)
    item = kitchen.items[0]
    moved = replace(item, shapes=(replace(item.shapes[0], X_BS=transform(None, (0.5, 0.0, 0.0))),))
    other = DrakeWorld(replace(kitchen, items=(moved, *kitchen.items[1:])), robot)
    assert other.plant is not one.plant
