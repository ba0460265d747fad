"""The seed's quadratic program against its closed form and against scipy."""

import numpy as np
import pytest
from scipy.optimize import minimize

from galley.motion.path import Path
from galley.optimization.shortest import build_program, shortest


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


def test_a_long_straight_way_is_feasible_after_resampling():
    """Two waypoints far apart break the bound; resampled they meet it with equality."""
    path = Path("arm", np.array([np.full(7, -1.5), np.full(7, 1.5)]))
    result = shortest(path, 0.3)
    assert isinstance(result, Path)
    assert len(result) == 11
    np.testing.assert_allclose(np.diff(result.waypoints, axis=0), 0.3, atol=1e-6)


@pytest.mark.parametrize("n", [1, 2])
def test_paths_with_nothing_inside_come_back(n):
    path = Path("arm", 0.1 * np.arange(n * 7).reshape(n, 7) / 7.0)
    np.testing.assert_array_equal(shortest(path).waypoints, path.waypoints)


def test_a_path_that_goes_nowhere_stays_there():
    result = shortest(Path("arm", np.ones((4, 7))))
    np.testing.assert_allclose(result.waypoints, 1.0, atol=1e-7)


def test_a_small_case_agrees_with_scipy():
    """The same problem, with a bound that binds, solved by another optimiser."""
    start = np.array([[0.0, 0.0], [0.3, 0.1], [0.6, -0.1], [0.6, 0.4], [0.9, 0.3]])
    epsilon = 0.25  # mean step along the first joint: 0.225
    program, x = build_program(start, epsilon)
    from pydrake.solvers import ClarabelSolver

    ours = ClarabelSolver().Solve(program, None, None).GetSolution(x)

    def steps(inner):
        return np.diff(np.vstack([start[:1], inner.reshape(3, 2), start[-1:]]), axis=0)

    theirs = minimize(
        lambda v: (steps(v) ** 2).sum(),
        start[1:-1].ravel(),
        method="SLSQP",
        constraints=[
            {"type": "ineq", "fun": lambda v: epsilon - steps(v).ravel()},
            {"type": "ineq", "fun": lambda v: epsilon + steps(v).ravel()},
        ],
        options={"ftol": 1e-14},
    )
    assert theirs.success
    np.testing.assert_allclose(ours, theirs.x.reshape(3, 2), atol=1e-5)


def test_the_program_is_the_seeds():
    """Cost and constraints evaluated at a point of our choice, by hand."""
    start = np.array([[0.0, 0.0], [0.1, 0.2], [0.3, 0.3]])
    program, x = build_program(start, 0.3)
    assert x.shape == (1, 2)
    point = np.array([0.05, 0.25])
    cost = sum(program.EvalBinding(b, point)[0] for b in program.GetAllCosts())
    assert cost == pytest.approx(0.05**2 + 0.25**2 + 0.25**2 + 0.05**2)
    assert program.CheckSatisfied(program.GetAllConstraints(), point)
    assert not program.CheckSatisfied(program.GetAllConstraints(), np.array([-0.01, 0.25]))
    assert not program.CheckSatisfied(program.GetAllConstraints(), np.array([0.05, 0.31]))
