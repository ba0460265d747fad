"""The moving average: numerical integration, closed forms and ruckig as oracles."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from galley.motion.trajectory.timing import jerk_limited, moving_average
from galley.motion.trajectory.trajectory import Trajectory

few = settings(max_examples=25, deadline=None)
seeds = st.integers(0, 10**6)


def jerky(seed, n=5, k=3):
    """Rest to rest, the acceleration constant on each piece: it jumps."""
    rng = np.random.default_rng(seed)
    spans = rng.uniform(0.01, 0.5, n)
    u = rng.uniform(-5, 5, (n, k))
    u[-1] = -(u[:-1] * spans[:-1, None]).sum(axis=0) / spans[-1]
    rows, q, v = [], rng.normal(size=k), np.zeros(k)
    for i in range(n):
        rows.append([q, v, 0.5 * u[i]])
        q, v = q + v * spans[i] + 0.5 * u[i] * spans[i] ** 2, v + u[i] * spans[i]
    return Trajectory("arm", np.concatenate([[0.0], np.cumsum(spans)]), np.array(rows))


def trapezoid(distance, v, a, k=1):
    """From rest to rest in a straight line with full acceleration; the full speed is reached."""
    t = v / a
    cruise = distance / v - t
    rows = [
        [0.0, 0.0, 0.5 * a],
        [0.5 * v * t, v, 0.0],
        [0.5 * v * t + v * cruise, v, -0.5 * a],
    ]
    breaks = np.array([0.0, t, t + cruise, 2 * t + cruise])
    return Trajectory("arm", breaks, np.repeat(np.array(rows)[:, :, None], k, axis=2))


@few
@given(seeds, st.sampled_from([0.003, 0.1, 1.0, 4.0]))
def test_it_is_the_integral_over_the_window(seed, window):
    """Also where the window is longer than the pieces, or than the whole trajectory."""
    trajectory = jerky(seed)
    average = moving_average(trajectory, window)
    rng = np.random.default_rng(seed)
    for t in rng.uniform(0, average.duration, 5):
        for joint in range(2):
            inner = [b for b in trajectory.breaks if t - window < b < t]
            value, _ = quad(
                lambda r, joint=joint: float(trajectory(r)[joint]),
                t - window,
                t,
                points=inner or None,
                limit=100,
            )
            assert average(t)[joint] == pytest.approx(value / window, abs=1e-8)


@few
@given(seeds, st.sampled_from([0.004, 0.05, 0.7]))
def test_bounds_are_kept_jerk_gets_one_and_the_ends_stay_at_rest(seed, window):
    trajectory = jerky(seed)
    average = moving_average(trajectory, window)
    assert average.duration == pytest.approx(trajectory.duration + window, abs=1e-12)
    for order in (1, 2):
        assert (average.peaks(order) <= trajectory.peaks(order) * (1 + 1e-9)).all(), order
    assert (average.peaks(3) <= 2 * trajectory.peaks(2) / window * (1 + 1e-9)).all()
    for t, of in ((0.0, 0.0), (average.duration, trajectory.duration)):
        np.testing.assert_allclose(average(t), trajectory(of), atol=1e-13)
        np.testing.assert_allclose(average(t, 1), 0.0, atol=1e-10)
        np.testing.assert_allclose(average(t, 2), 0.0, atol=1e-8)


@pytest.mark.parametrize("window", [0.0, -1.0, float("nan")])
def test_a_window_that_is_none_is_an_error(window):
    with pytest.raises(ValueError, match="window"):
        moving_average(trapezoid(1.0, 1.0, 4.0), window)


# -- within jerk limits ----------------------------------------------------------------------------


@few
@given(seeds, st.sampled_from([10.0, 300.0, 1e5]))
def test_jerk_limits_hold_and_the_window_is_no_longer_than_the_simple_bound(seed, jerk):
    trajectory = jerky(seed)
    limits = jerk * np.array([1.0, 0.5, 2.0])
    smooth = jerk_limited(trajectory, limits)
    assert (smooth.peaks(3) <= limits * (1 + 1e-6)).all()
    added = smooth.duration - trajectory.duration
    simple = max(0.004, (2 * trajectory.peaks(2) / limits).max())
    assert 0.004 - 1e-12 <= added <= simple * (1 + 1e-6)


def test_the_window_is_as_long_as_the_largest_jump_needs():
    """From a to -a / 2 at once: 1.5 a / j, less than the 2 a / j that always suffice."""
    a, jerk = 2.0, 30.0
    rows = [[0.0, 0.0, a / 2], [1.0, 2.0, -a / 4]]  # 1 s up, 2 s down
    trajectory = Trajectory("arm", np.array([0.0, 1.0, 3.0]), np.array(rows)[..., None])
    assert trajectory(3.0, 1)[0] == pytest.approx(0.0)
    smooth = jerk_limited(trajectory, np.array([jerk]))
    assert smooth.duration - 3.0 == pytest.approx(1.5 * a / jerk, rel=1e-6)


@pytest.mark.parametrize("jerk", [20.0, 60.0, 500.0])
def test_an_averaged_trapezoid_is_the_fastest_jerk_limited_motion(jerk):
    """The classic seven phases: D / v + v / a + a / j. ruckig's state-of-the-art agrees."""
    ruckig = pytest.importorskip("ruckig")
    distance, v, a = 2.0, 1.0, 4.0
    smooth = jerk_limited(trapezoid(distance, v, a), np.array([jerk]), least=1e-4)
    assert smooth.duration == pytest.approx(distance / v + v / a + a / jerk, rel=1e-6)
    asked = ruckig.InputParameter(1)
    asked.target_position = [distance]
    asked.max_velocity, asked.max_acceleration, asked.max_jerk = [v], [a], [jerk]
    answer = ruckig.Trajectory(1)
    ruckig.Ruckig(1).calculate(asked, answer)
    assert smooth.duration == pytest.approx(answer.duration, rel=1e-6)
    for t in np.linspace(0, answer.duration, 50):
        assert smooth(t)[0] == pytest.approx(answer.at_time(t)[0][0], abs=1e-6)
