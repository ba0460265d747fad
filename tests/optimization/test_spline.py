"""Splines against scipy's; rest at the ends; control points that bound."""

import numpy as np
import pytest
from scipy.interpolate import BSpline

from galley.optimization.spline import FIXED, spline_space


def control_points(space, seed, k=3):
    points = np.random.default_rng(seed).normal(size=(space.size, k))
    points[:FIXED], points[-FIXED:] = points[0], points[-1]
    return points


@pytest.mark.parametrize("pieces", [4, 9, 20])
def test_trajectories_and_their_derivatives_are_those_of_scipys_spline(pieces):
    space = spline_space(pieces)
    points = control_points(space, pieces)
    duration = 1.7
    trajectory = space.trajectory("arm", points, duration)
    reference = BSpline(space.knots, points, 3)
    t = np.linspace(0.0, duration, 301)[:-1] + 1e-9  # away from the knots, where the jerk jumps
    for order in range(4):
        curve = reference if order == 0 else reference.derivative(order)
        expected = curve(t / duration) / duration**order
        scale = np.abs(expected).max()
        np.testing.assert_allclose(trajectory(t, order), expected, atol=1e-9 * scale)
    assert trajectory.duration == pytest.approx(duration)


def test_derivatives_control_points_bound_them_and_for_acceleration_and_jerk_are_their_peaks():
    space = spline_space(13)
    for seed in range(10):
        points = control_points(space, seed)
        trajectory = space.trajectory("arm", points, 1.0)
        for order in (1, 2, 3):
            bound = np.abs(space.derivatives[order] @ points).max(axis=0)
            peaks = trajectory.peaks(order)
            assert (peaks <= bound * (1.0 + 1e-12)).all()
            if order > 1:
                np.testing.assert_allclose(peaks, bound, rtol=1e-9)
