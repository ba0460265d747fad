"""What PyBulletWorld keeps of closed worlds changes no answer."""

import numpy as np

from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.domain.state import initial_state

WITHIN = 0.05  # m


def states(kitchen, robot, count):
    """States of robot and drawers, many of them in contact."""
    rng, start = np.random.default_rng(4), initial_state(kitchen)
    ranges = np.transpose([(joint.lower, joint.upper) for joint in kitchen.joints])
    for _ in range(count):
        yield start.with_robot(rng.uniform(*robot.limits)).with_scene(rng.uniform(*ranges))


def test_a_world_that_is_opened_again_is_as_a_new_one(kitchen, robot):
    with PyBulletWorld(kitchen, robot) as world:
        client = world.client
        for state in states(kitchen, robot, 3):
            world.set_state(state)
    with PyBulletWorld(kitchen, robot) as again, PyBulletWorld(kitchen, robot) as new:
        assert again.client == client
        assert new.client != client
        names = [*robot.links, *(b.name for b in kitchen.bodies), *kitchen.item_index]
        for state in (None, *states(kitchen, robot, 10)):
            if state is not None:
                again.set_state(state)
                new.set_state(state)
            for name in names:
                np.testing.assert_array_equal(again.link_pose(name), new.link_pose(name))
            assert again.near_pairs(WITHIN) == new.near_pairs(WITHIN)


def test_worlds_that_are_open_at_once_share_nothing(kitchen, robot):
    with PyBulletWorld(kitchen, robot) as one, PyBulletWorld(kitchen, robot) as other:
        before = other.hand_pose()
        one.set_robot(robot.limits[0])
        np.testing.assert_array_equal(other.hand_pose(), before)
        one.close()
        one.close()  # again: it is given up once
        with PyBulletWorld(kitchen, robot) as next_one, PyBulletWorld(kitchen, robot) as third:
            assert len({other.client, next_one.client, third.client}) == 3
