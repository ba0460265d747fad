"""The seed's quadratic program against its closed form and against scipy."""

import numpy as np
import pytest

from galley.motion.path import Path
from galley.optimization.shortest import shortest


def random_path(seed, n=6, k=7):
    return Path("arm", np.random.default_rng(seed).uniform(-2, 2, (n, k)))


@pytest.mark.parametrize("seed", range(6))
def test_the_optimum_is_the_straight_line_in_equal_steps(seed):
    """Without obstacles: for given ends, equal steps minimise the sum of squares (Jensen)."""
    path = random_path(seed)
    result = shortest(path)
    assert isinstance(result, Path)
    expected = np.linspace(path.start, path.end, len(result))
    np.testing.assert_allclose(result.waypoints, expected, atol=1e-6)
    assert result.length == pytest.approx(np.linalg.norm(path.end - path.start), abs=1e-6)
    assert result.length <= path.length


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("epsilon", [0.05, 0.3, 1.0])
def test_ends_are_exact_and_steps_keep_the_bound(seed, epsilon):
    path = random_path(seed, n=4)
    result = shortest(path, epsilon)
    np.testing.assert_array_equal(result.start, path.start)
    np.testing.assert_array_equal(result.end, path.end)
    assert np.abs(np.diff(result.waypoints, axis=0)).max() <= epsilon + 1e-6


@pytest.mark.parametrize("n", [1, 2])
def test_paths_with_nothing_inside_come_back(n):
    path = Path("arm", 0.1 * np.arange(n * 7).reshape(n, 7) / 7.0)
    np.testing.assert_array_equal(shortest(path).waypoints, path.waypoints)
