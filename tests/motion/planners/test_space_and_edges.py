"""How an edge is cut into states, and in which order they are looked at."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from galley.motion.path import Path
from galley.motion.planners.rrt import Space, edge_free, joint_space, path_free
from galley.tests.effort import examples

quick = settings(max_examples=examples(80), deadline=None)
POINTS = st.tuples(st.floats(-3, 3), st.floats(-3, 3)).map(np.array)


def plane(resolution=0.1):
    ones = np.ones(2)
    return Space("arm", -3 * ones, 3 * ones, np.full(2, resolution), ones)


@quick
@given(POINTS, POINTS, st.floats(0.01, 1.0))
def test_states_on_an_edge_are_no_further_apart_than_the_resolution(a, b, resolution):
    states = plane(resolution).edge(a, b)
    steps = np.abs(np.diff(np.vstack([a, states]), axis=0))
    assert steps.max() <= resolution * (1 + 1e-6)
    np.testing.assert_array_equal(states[-1], b)
    # On the line, in order: the share of the way grows.
    along = (states - a) @ (b - a)
    assert (np.diff(along) >= -1e-12).all()
    shares = np.linspace(0, 1, len(states) + 1)[1:]
    np.testing.assert_allclose(states, a + np.outer(shares, b - a), atol=1e-9)
    # Not needlessly many.
    assert len(states) <= max(1, np.ceil(np.abs(b - a).max() / resolution))


def test_each_joint_has_its_own_resolution(robot):
    base = joint_space(robot, "base")
    assert len(base.edge(np.zeros(3), np.array([0.2, 0.0, 0.0]))) == 10  # 0.02 m
    assert len(base.edge(np.zeros(3), np.array([0.0, 0.0, 0.3]))) == 10  # 0.03 rad
    arm = joint_space(robot, "arm")
    assert len(arm.edge(np.zeros(7), np.full(7, 0.5))) == 10  # 0.05 rad, the largest joint counts
    np.testing.assert_array_equal(arm.lower, robot.group("arm").lower)
    both = joint_space(robot, "base+arm")
    for field in ("lower", "upper", "resolution", "weights"):
        parts = np.concatenate([getattr(base, field), getattr(arm, field)])
        np.testing.assert_array_equal(getattr(both, field), parts)


def test_an_edge_is_free_only_if_all_its_states_are():
    space = plane(0.1)
    a, b = np.array([0.0, 0.0]), np.array([1.0, 0.0])
    for k in range(1, 11):
        assert not edge_free(space, lambda q, k=k: abs(q[0] - 0.1 * k) > 1e-9, a, b)
    assert edge_free(space, lambda q: abs(q[0] - 0.05) > 1e-9, a, b)  # between two states
    assert edge_free(space, lambda q: q[0] > 1e-9, a, b)  # a counts as checked


def test_path_free_looks_at_both_ends_and_between():
    space = plane(0.1)
    path = Path("arm", np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]))

    def but(p):
        return lambda q: np.abs(q - p).max() > 0.04

    assert path_free(space, but((2.0, 2.0)), path)
    for p in ((0.0, 0.0), (0.5, 0.0), (1.0, 0.0), (1.0, 0.7), (1.0, 1.0)):
        assert not path_free(space, but(p), path)


@quick
@given(st.lists(POINTS, min_size=1, max_size=6), st.floats(0.05, 1.0))
def test_a_resampled_path_is_the_same_line_with_bounded_steps(points, step):
    path = Path("arm", np.array(points))
    fine = path.resampled(step)
    assert fine.length == pytest.approx(path.length, abs=1e-9)
    np.testing.assert_array_equal(fine.start, path.start)
    np.testing.assert_array_equal(fine.end, path.end)
    if len(fine) > 1:
        assert np.abs(np.diff(fine.waypoints, axis=0)).max() <= step * (1 + 1e-6)
    rows = [tuple(row) for row in fine.waypoints]  # tuples: 0.0 equals -0.0
    at = 0
    for point in points:  # every waypoint is still there, in order
        at = rows.index(tuple(np.asarray(point)), at)


def test_a_path_is_read_only_and_never_empty():
    path = Path("arm", np.zeros((2, 3)))
    with pytest.raises(ValueError, match="read-only"):
        path.waypoints[0, 0] = 1.0
    with pytest.raises(ValueError, match="waypoints"):
        Path("arm", np.empty((0, 3)))


def test_samples_fill_the_box():
    space = plane()
    rng = np.random.default_rng(0)
    samples = np.array([space.sample(rng) for _ in range(500)])
    assert (np.abs(samples) <= 3.0).all()
    for k in range(2):
        counts, _ = np.histogram(samples[:, k], bins=5, range=(-3, 3))
        assert counts.min() > 60
