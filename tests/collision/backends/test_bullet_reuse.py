"""What PyBulletWorld keeps of closed worlds changes no answer."""

import numpy as np

from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.domain.frames import transform
from galley.domain.state import Placement, initial_state

WITHIN = 0.05  # m


def states(kitchen, robot, count):
    """States that differ in some of robot, drawers and items, many of them in contact."""
    rng = np.random.default_rng(4)
    low, high = robot.limits
    start = state = initial_state(kitchen)
    for _ in range(count):
        if rng.random() < 0.5:
            state = state.with_robot(rng.uniform(low, high))
        if rng.random() < 0.3:
            ranges = [(j.lower, j.upper) for j in kitchen.joints]
            state = state.with_scene(rng.uniform(*np.transpose(ranges)))
        if rng.random() < 0.5:
            k = int(rng.integers(len(kitchen.items)))
            near = start.items[k].X_PI @ transform(None, rng.normal(scale=0.1, size=3))
            state = state.with_item(k, Placement("world", near))
        yield state


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
