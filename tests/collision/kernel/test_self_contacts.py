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
