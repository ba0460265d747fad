"""The compiled planners' random numbers and search trees, against other ways to them."""

import numpy as np
import pytest

from galley.tests.motion.planners import kernel_stub as stub


def xoshiro(seed, stream, n):
    """xoshiro256+ with whole numbers of Python, filled by splitmix64."""
    mask, state = 2**64 - 1, []
    z = (seed + stream * 0xD1342543DE82EF95) & mask
    for _ in range(4):
        z = (z + 0x9E3779B97F4A7C15) & mask
        x = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & mask
        state.append(x ^ (x >> 31))
    found = []
    for _ in range(n):
        found.append(((state[0] + state[3]) & mask) >> 11)
        t = (state[1] << 17) & mask
        state[2] ^= state[0]
        state[3] ^= state[1]
        state[1] ^= state[2]
        state[0] ^= state[3]
        state[2] ^= t
        state[3] = ((state[3] << 45) | (state[3] >> 19)) & mask
    return np.array(found) * 2.0**-53


@pytest.mark.parametrize(("seed", "stream"), [(0, 0), (1, 0), (0, 1), (2**62 + 5, 7)])
def test_random_numbers_are_those_of_xoshiro256_plus(seed, stream):
    sampling = stub.planners().sampling
    state = sampling.seeded(seed, stream)
    found = np.array([sampling.uniform(state) for _ in range(200)])
    np.testing.assert_array_equal(found, xoshiro(seed, stream, 200))
    assert found.min() >= 0.0
    assert found.max() < 1.0


@pytest.mark.parametrize("k", [1, 2, 7, 12])
def test_the_nearest_node_is_that_of_a_full_search_while_the_tree_grows(k):
    P = stub.planners()
    rng = np.random.default_rng(k)
    weights = rng.uniform(0.5, 2.0, k)
    nodes = rng.uniform(-3, 3, (700, k))
    tree = P.tree.empty_tree(k, 5)
    for n in range(700):
        tree = P.tree.with_room(tree, 1)
        assert P.tree.add(tree, nodes[n], n - 1) == n
        if n not in (0, 1, 100, 699):
            continue
        for _ in range(20):
            q = rng.uniform(-3, 3, k)
            off = np.linalg.norm((nodes[: n + 1] - q) * weights, axis=1)
            assert off[P.tree.nearest(tree, q, weights)] <= off.min() + 1e-12
    path = np.empty((700, k))
    P.tree.write_branch(tree, 699, path, 0, 1)
    np.testing.assert_array_equal(path, nodes)
