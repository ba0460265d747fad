"""Trajectories: ranges, lengths, sampling, joining and files, against dense sampling and SciPy."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from galley.domain.errors import BadInput
from galley.motion.path import Path
from galley.motion.trajectory.timing import rest_to_rest
from galley.motion.trajectory.trajectory import Trajectory
from galley.tests.effort import examples

some = settings(max_examples=examples(60), deadline=None)


@st.composite
def curves(draw):
    """Pieces of any degree up to 7, some joints and pieces still; not continuous, on purpose."""
    seed, n, degree, k = (draw(st.integers(low, high)) for low, high in LIMITS)
    rng = np.random.default_rng(seed)
    spans = 10.0 ** rng.uniform(-2, 0.5, n)
    coefficients = rng.normal(size=(n, degree + 1, k))
    coefficients *= rng.random((n, 1, k)) < 0.8  # some stand still
    coefficients *= rng.random((1, degree + 1, 1)) < 0.8  # some powers are missing
    return Trajectory("arm", np.concatenate([[0.0], np.cumsum(spans)]), coefficients)


LIMITS = ((0, 10**6), (1, 5), (0, 7), (1, 4))


@st.composite
def continuous(draw):
    """The same without jumps: each piece begins where the one before it ends."""
    curve = draw(curves())
    coefficients = curve.coefficients.copy()
    spans = np.diff(curve.breaks)
    for i in range(1, len(coefficients)):
        powers = spans[i - 1] ** np.arange(coefficients.shape[1])
        coefficients[i, 0] = np.tensordot(powers, coefficients[i - 1], axes=1)
    return Trajectory("arm", curve.breaks, coefficients)


@some
@given(continuous())
def test_extremes_are_never_passed_and_are_reached(trajectory):
    low, high = trajectory.extremes()
    dense = trajectory(np.linspace(0, trajectory.duration, 20_001))
    slack = 1e-9 * (1 + np.abs(dense).max())
    assert (dense >= low - slack).all()
    assert (dense <= high + slack).all()
    # Reached: between two samples a joint can go no further than its top speed allows.
    reach = trajectory.peaks(1) * trajectory.duration / 20_000 + slack
    assert (dense.min(axis=0) <= low + reach).all()
    assert (dense.max(axis=0) >= high - reach).all()


def travel(trajectory, a, b):
    """How far each joint goes from a to b (s), there and back counted, from dense samples."""
    q = trajectory(np.linspace(a, b, 101))
    return np.abs(np.diff(q, axis=0)).sum(axis=0)


@some
@given(continuous(), st.floats(0.01, 3.0), st.booleans())
def test_resampled_states_are_never_further_apart_than_the_step(trajectory, step, each):
    k = trajectory.coefficients.shape[2]
    steps = step * np.arange(1, k + 1) if each else np.full(k, step)
    # A coarse grid where the curve is long: the property is the same.
    steps = steps * max(1.0, trajectory.length() / 300 / step)
    times, states = trajectory.resampled(steps if each else steps[0])
    assert times[0] == 0.0
    assert times[-1] == trajectory.duration
    assert (np.diff(times) > 0).all()
    np.testing.assert_array_equal(states, trajectory(times))
    slack = 1e-9 * (1 + np.abs(states).max())
    assert (np.abs(np.diff(states, axis=0)) <= steps + slack).all()
    for a, b in pairwise(times):
        assert (travel(trajectory, a, b) <= steps + slack).all()


def test_resampling_is_nearly_as_sparse_as_can_be(robot):
    path = Path("arm", np.random.default_rng(1).uniform(-2, 2, (6, 7)))
    trajectory = rest_to_rest(path, robot.group("arm"))
    fewest = np.abs(np.diff(path.waypoints, axis=0)).max(axis=1).sum() / 0.01
    times, _ = trajectory.resampled(0.01)
    assert fewest <= len(times) - 1 <= 1.07 * fewest


@pytest.mark.parametrize("step", [0.0, -1.0, np.nan, [0.1, 0.0, 0.1]])
def test_a_step_that_is_not_positive_is_refused(step):
    still = Trajectory("arm", np.array([0.0, 0.5]), np.ones((1, 1, 3)))
    with pytest.raises(ValueError, match="greater than 0"):
        still.resampled(step)


@some
@given(continuous())
def test_the_length_is_that_of_a_fine_polygon(trajectory):
    """Joints that turn back while others rest included: a kink of the speed."""
    spans = np.diff(trajectory.breaks)
    t = np.unique(trajectory.breaks[:-1, None] + spans[:, None] * np.linspace(0.0, 1.0, 5001))
    polygon = np.linalg.norm(np.diff(trajectory(t), axis=0), axis=1).sum()
    assert trajectory.length() == pytest.approx(polygon, rel=2e-3, abs=1e-9)


@some
@given(curves(), st.floats(0.001, 1.0))
def test_samples_are_a_period_apart_and_end_with_the_end(trajectory, dt):
    t, q, v, a = trajectory.sampled(dt)
    assert t[0] == 0.0
    assert t[-1] == trajectory.duration
    np.testing.assert_allclose(np.diff(t)[:-1], dt, rtol=1e-9)
    assert 0.0 < t[-1] - t[-2] <= dt * (1 + 1e-5)
    for order, values in enumerate((q, v, a)):
        np.testing.assert_array_equal(values, trajectory(t, order))


def test_joining_plays_one_after_the_other(robot):
    group = robot.group("arm")
    rng = np.random.default_rng(3)
    points = rng.uniform(-1, 1, (3, 7))
    one, two = (rest_to_rest(Path("arm", points[k : k + 2]), group) for k in range(2))
    still = Trajectory("arm", np.array([0.0, 0.4]), points[1][None, None, :])  # another degree
    whole = one.joined(still, two)
    assert whole.duration == pytest.approx(one.duration + 0.4 + two.duration)
    for part, begin in ((one, 0.0), (still, one.duration), (two, one.duration + 0.4)):
        t = np.linspace(1e-6, part.duration - 1e-6, 50)
        for order in range(3):
            np.testing.assert_allclose(whole(begin + t, order), part(t, order), atol=1e-6)
    assert whole.length() == pytest.approx(one.length() + two.length())


def test_joining_refuses_gaps_and_other_groups():
    a = Trajectory("arm", np.array([0.0, 1.0]), np.zeros((1, 1, 3)))
    b = Trajectory("arm", np.array([0.0, 1.0]), np.full((1, 1, 3), 0.01))
    with pytest.raises(ValueError, match=r"0\.01 away"):
        a.joined(b)
    assert a.joined(b, tolerance=0.02).duration == 2.0
    with pytest.raises(ValueError, match="'base'"):
        a.joined(Trajectory("base", np.array([0.0, 1.0]), np.zeros((1, 1, 3))))


@some
@given(curves())
def test_a_saved_trajectory_comes_back_bit_for_bit(tmp_path_factory, trajectory):
    file = tmp_path_factory.mktemp("saved") / "one.npz"
    trajectory.save(file)
    loaded = Trajectory.load(file)
    assert loaded.group == trajectory.group
    np.testing.assert_array_equal(loaded.breaks, trajectory.breaks)
    np.testing.assert_array_equal(loaded.coefficients, trajectory.coefficients)
    assert [p.name for p in file.parent.iterdir()] == ["one.npz"], "nothing half-written is left"


@pytest.mark.parametrize(
    ("breaks", "coefficients"),
    [
        ([0.5, 1.0], np.zeros((1, 1, 3))),
        ([0.0, np.nan, 1.0], np.zeros((2, 1, 3))),
        ([0.0], np.zeros((0, 1, 3))),
        ([0.0, 1.0], np.zeros((1, 0, 3))),
        ([0.0, 1.0], np.full((1, 1, 3), np.nan)),
        ([0.0, 1.0, 1.0], np.zeros((2, 1, 3))),
        ([0.0, 1.0], np.zeros((1, 3))),
    ],
)
def test_no_trajectory_is_made_of_such_numbers_nor_read(breaks, coefficients, tmp_path):
    with pytest.raises(ValueError, match=r"must|needs"):
        Trajectory("arm", np.array(breaks), coefficients)
    arrays = {"group": np.array(["arm"]), "0_breaks": breaks, "0_coefficients": coefficients}
    np.savez(tmp_path / "bad.npz", **arrays)
    with pytest.raises(BadInput, match="holds no trajectories"):
        Trajectory.load(tmp_path / "bad.npz")


def test_a_folder_that_is_not_there_is_bad_input(tmp_path):
    still = Trajectory("arm", np.array([0.0, 0.5]), np.ones((1, 1, 3)))
    with pytest.raises(BadInput, match="folder does not exist"):
        still.save(tmp_path / "no" / "one.npz")
    with pytest.raises(BadInput, match="is a folder"):
        still.save(tmp_path)
    with pytest.raises(BadInput, match="is a folder"):
        Trajectory.load(tmp_path)
