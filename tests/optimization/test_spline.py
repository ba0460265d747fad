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


@pytest.mark.parametrize("pieces", [4, 15])
def test_every_spline_rests_at_both_ends(pieces):
    space = spline_space(pieces)
    points = control_points(space, 1)
    trajectory = space.trajectory("arm", points, 2.0)
    for t, end in ((0.0, points[0]), (2.0, points[-1])):
        np.testing.assert_allclose(trajectory(t), end, atol=1e-12)
        for order in (1, 2):
            assert np.abs(trajectory(t, order)).max() < 1e-9 * trajectory.peaks(order).max()


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


def test_values_at_parameters_and_at_abscissae_of_a_line():
    space = spline_space(8)
    u = space.samples(3)
    assert len(u) == 25
    assert (np.diff(u) > 0.0).all()
    points = control_points(space, 3)
    np.testing.assert_allclose(
        space.basis(u) @ points, space.trajectory("arm", points, 1.0)(u), atol=1e-12
    )
    # A spline whose control points lie on a line over their abscissae is that line.
    line = 2.0 - 3.0 * space.abscissae[:, None]
    np.testing.assert_allclose(space.basis(u) @ line, 2.0 - 3.0 * u[:, None], atol=1e-12)
