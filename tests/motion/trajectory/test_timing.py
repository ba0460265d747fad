"""Trajectories and their timing: finite differences and dense sampling as oracles."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from galley.motion.path import Path
from galley.motion.trajectory.timing import corners, rest_to_rest, spline_through
from galley.motion.trajectory.trajectory import Trajectory, limit_ratios, slowed

few = settings(max_examples=25, deadline=None)


def random_path(seed, n, k=7, size=1.5):
    return Path("arm", np.random.default_rng(seed).uniform(-size, size, (n, k)))


def dense(trajectory, order, n=4000):
    return trajectory(np.linspace(0.0, trajectory.duration, n), order)


def keeps(trajectory, group, scale=1.0):
    """Sampled, and from differences of positions alone, so that derivatives can't hide."""
    for order, limit in ((1, group.velocity), (2, group.acceleration), (3, group.jerk)):
        assert (np.abs(dense(trajectory, order)) <= scale * limit * (1 + 1e-6)).all(), order
    t = np.linspace(0.0, trajectory.duration, 4000)
    speed = np.abs(np.diff(trajectory(t), axis=0)) / (t[1] - t[0])
    assert (speed <= scale * group.velocity * (1 + 1e-6)).all()


@few
@given(st.integers(0, 10**6), st.integers(2, 6), st.sampled_from([0.1, 0.5, 1.0]))
def test_rest_to_rest_keeps_every_limit_and_uses_one(robot_arm, seed, n, scale):
    trajectory = rest_to_rest(random_path(seed, n), robot_arm, scale)
    keeps(trajectory, robot_arm, scale)
    # Each segment is as fast as its tightest limit allows.
    worst = max(r / scale for r in limit_ratios(trajectory, robot_arm))
    assert worst == pytest.approx(1.0, abs=1e-6)


@pytest.fixture(scope="module")
def robot_arm(robot):
    return robot.group("arm")


@few
@given(st.integers(0, 10**6), st.integers(2, 6))
def test_rest_to_rest_stands_still_at_every_corner(robot_arm, seed, n):
    path = random_path(seed, n)
    trajectory = rest_to_rest(path, robot_arm)
    assert len(trajectory.breaks) == n
    for t, point in zip(trajectory.breaks, path.waypoints, strict=True):
        np.testing.assert_allclose(trajectory(t), point, atol=1e-9)
        for side in (t - 1e-9, t + 1e-9):
            np.testing.assert_allclose(trajectory(side, 1), 0.0, atol=1e-6)
            np.testing.assert_allclose(trajectory(side, 2), 0.0, atol=1e-4)


def test_corners_are_where_a_path_turns_or_turns_back():
    points = np.array([[0, 0], [1, 0], [2, 0], [2, 1], [2, 1], [2, 3], [2, 2], [2, 2]], dtype=float)
    np.testing.assert_array_equal(corners(points), [[0, 0], [2, 0], [2, 3], [2, 2]])
    np.testing.assert_array_equal(corners(points[:1]), [[0, 0]])
    np.testing.assert_array_equal(corners(np.zeros((4, 2))), [[0, 0]])


def test_a_path_that_goes_nowhere_is_a_short_rest(robot_arm):
    for path in (Path("arm", np.ones((1, 7))), Path("arm", np.ones((3, 7)))):
        for trajectory in (rest_to_rest(path, robot_arm), spline_through(path, robot_arm, 1.0)):
            assert trajectory.duration > 0.0
            np.testing.assert_array_equal(trajectory(0.5 * trajectory.duration), np.ones(7))
            np.testing.assert_array_equal(trajectory(0.0, 1), np.zeros(7))


@pytest.mark.parametrize("scale", [0.0, -0.5, 1.5])
def test_a_scale_outside_its_range_is_an_error(robot_arm, scale):
    with pytest.raises(ValueError, match="scale"):
        rest_to_rest(random_path(0, 3), robot_arm, scale)


def smooth_path(seed, n=15):
    """Fine samples of a smooth curve, as a straight line of the hand gives."""
    rng = np.random.default_rng(seed)
    s = np.linspace(0, 1, n)[:, None]
    return Path("arm", rng.normal(size=7) * s + 0.3 * rng.normal(size=7) * np.sin(3 * s))


@few
@given(st.integers(0, 10**6), st.sampled_from([0.2, 1.0, 5.0]), st.sampled_from([0.5, 1.0]))
def test_through_meets_every_waypoint_within_the_limits(robot_arm, seed, duration, scale):
    path = smooth_path(seed)
    trajectory = spline_through(path, robot_arm, duration, scale)
    assert len(trajectory.breaks) == len(path)
    np.testing.assert_allclose(trajectory(trajectory.breaks), path.waypoints, atol=1e-9)
    assert trajectory.duration >= duration - 1e-9
    keeps(trajectory, robot_arm, scale)
    for t in (0.0, trajectory.duration):
        np.testing.assert_allclose(trajectory(t, 1), 0.0, atol=1e-9)


# -- the trajectory itself -------------------------------------------------------------------------


@few
@given(st.integers(0, 10**6))
def test_derivatives_are_those_of_finite_differences(seed):
    rng = np.random.default_rng(seed)
    breaks = np.concatenate([[0.0], np.cumsum(rng.uniform(0.5, 1.5, 3))])
    trajectory = Trajectory("arm", breaks, rng.normal(size=(3, 6, 2)))
    h = 1e-5
    for piece in range(3):
        for share in (0.2, 0.5, 0.9):
            t = breaks[piece] + share * (breaks[piece + 1] - breaks[piece])
            for order in (1, 2, 3):
                difference = (trajectory(t + h, order - 1) - trajectory(t - h, order - 1)) / (2 * h)
                np.testing.assert_allclose(trajectory(t, order), difference, rtol=1e-5, atol=1e-4)


def test_times_outside_give_the_ends_and_arrays_of_times_give_rows(robot_arm):
    path = random_path(1, 3)
    trajectory = rest_to_rest(path, robot_arm)
    np.testing.assert_allclose(trajectory(-1.0), path.start)
    np.testing.assert_allclose(trajectory(trajectory.duration + 1.0), path.end)
    times = np.linspace(0, trajectory.duration, 7)
    rows = trajectory(times)
    for t, row in zip(times, rows, strict=True):
        np.testing.assert_array_equal(trajectory(float(t)), row)


@pytest.mark.parametrize("factor", [0.5, 2.0, 3.7])
def test_slowed_is_the_same_curve_in_more_time(robot_arm, factor):
    trajectory = rest_to_rest(random_path(2, 4), robot_arm)
    slow = slowed(trajectory, factor)
    assert slow.duration == pytest.approx(factor * trajectory.duration)
    t = np.linspace(0, trajectory.duration, 50)
    np.testing.assert_allclose(slow(factor * t), trajectory(t), atol=1e-9)
    ratios, slower = limit_ratios(trajectory, robot_arm), limit_ratios(slow, robot_arm)
    for k in range(3):
        assert slower[k] == pytest.approx(ratios[k] / factor ** (k + 1))
