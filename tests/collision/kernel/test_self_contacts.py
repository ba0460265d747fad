"""The robot against itself, in PyBullet."""

import numpy as np

from galley.domain.state import initial_state
from galley.tests.collision.kernel.support import bullet


def test_self_collisions_are_those_of_all_pairs_of_links(robot, probe):
    """Asked for pair by pair in a client of the test's own."""
    lower, upper = robot.limits
    checker = probe.checker(initial_state(probe.scene), margin=0.0)
    seen = set()
    with bullet(robot, {}) as oracle:
        for q in np.random.default_rng(5).uniform(lower, upper, (150, robot.size)):
            exact = oracle.distances(q, 0.01)
            found = {(c.a, c.b) for c in checker.contacts(q)}
            deep = {pair for pair, d in exact.items() if d < -1e-4}
            assert deep <= found, q
            assert all(exact.get(pair, 1.0) < 1e-4 for pair in found), q
            seen |= deep
    assert {("panda_hand", "panda_link5"), ("panda_link5", "panda_link7")} <= seen
    assert len(seen) > 8


def test_the_robot_is_judged_where_it_was_set_not_where_the_array_is_now(kitchen, world):
    q = kitchen.robot.q.copy()
    world.set_robot(q)
    before = world.near_pairs(0.0)
    q[6:9] = -0.1, 0.0, 0.0  # another pose altogether, in the caller's own array
    assert world.near_pairs(0.0) == before
