"""The compiled planners' random numbers, samples and search trees, against other ways to them."""

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


def test_the_ball_and_the_ellipsoid_are_sampled_uniformly():
    """Radii of a uniform ball have the distribution r^k; an ellipsoid's means are its centre."""
    P = stub.planners()
    state = P.sampling.seeded(3, 0)
    k, n = 3, 4000
    out, radii = np.empty(k), []
    for _ in range(n):
        P.sampling.sample_ball(state, out)
        radii.append(np.linalg.norm(out))
    share = np.sort(np.array(radii) ** k)  # uniform in [0, 1]: Kolmogorov-Smirnov
    assert np.abs(share - (np.arange(n) + 0.5) / n).max() < 1.63 / np.sqrt(n)
    a, b, weights = np.array([0.1, 0.2, 0.3]), np.array([0.5, -0.2, 0.4]), np.array([1.0, 0.5, 2.0])
    bound = 1.1
    points = []
    for _ in range(n):
        assert P.sampling.sample_ellipsoid(a, b, bound, weights, state, out)
        points.append(out.copy())
    points = np.array(points)
    sums = np.linalg.norm((points - a) * weights, axis=1)
    sums += np.linalg.norm((points - b) * weights, axis=1)
    assert sums.max() <= bound + 1e-12
    # The ball of an ellipsoid's own axes: x = R diag(axes) u with Cov(u) = I / (k + 2).
    gap = np.linalg.norm((b - a) * weights)
    d = (b - a) * weights / gap
    thin = 0.25 * (bound**2 - gap**2)
    covariance = (thin * np.eye(k) + (0.25 * bound**2 - thin) * np.outer(d, d)) / (k + 2)
    np.testing.assert_allclose(np.cov((points * weights).T), covariance, atol=0.004)
    np.testing.assert_allclose(points.mean(axis=0), 0.5 * (a + b), atol=0.02)
    assert not P.sampling.sample_ellipsoid(a, b, 0.99 * gap, weights, state, out)


@pytest.mark.parametrize("k", [1, 2, 7, 12])
def test_the_nearest_node_is_that_of_a_full_search_while_the_tree_grows(k):
    P = stub.planners()
    rng = np.random.default_rng(k)
    weights = rng.uniform(0.5, 2.0, k)
    nodes, costs = rng.uniform(-3, 3, (700, k)), rng.uniform(0, 3, 700)
    tree = P.tree.empty_tree(k, 5)
    for n in range(700):
        tree = P.tree.with_room(tree, 1)
        assert P.tree.add(tree, nodes[n], weights, n - 1, costs[n]) == n
        if n not in (0, 1, 14, 15, 16, 17, 100, 699):
            continue
        for _ in range(20):
            q = rng.uniform(-3, 3, k)
            off = np.linalg.norm((nodes[: n + 1] - q) * weights, axis=1)
            assert off[P.tree.nearest(tree, q, weights)] <= off.min() + 1e-5
            limit = rng.uniform(0, 6)
            allowed = np.where(off + costs[: n + 1] < limit, off, np.inf)
            found = P.tree.nearest_within(tree, q, weights, limit)
            if found < 0:
                assert (off + costs[: n + 1] > limit - 1e-5).all()
            else:
                assert off[found] + costs[found] < limit + 1e-5
                assert off[found] <= allowed.min() + 1e-5
    np.testing.assert_array_equal(P.tree.branch(tree, 699), nodes)
    np.testing.assert_array_equal(tree.costs[:700], costs)
