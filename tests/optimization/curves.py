"""What the tests of trajectories share: rounded paths, Ruckig's durations, a task and its judge."""

import numpy as np
import ruckig

from galley.collision.solids import box, cylinder, sphere
from galley.motion.trajectory.trajectory import Trajectory, limit_ratios
from galley.optimization.rounding import (
    DEVIATION,
    limited_cuts,
    polygon_corners,
    proven_cuts,
    round_corners,
    useful_cuts,
)

START = np.array([-0.8, 0.3, 0.0, -2.0, 0.0, 2.3, 0.7])
GOAL = np.array([0.8, 0.3, 0.0, -2.0, 0.0, 2.3, 0.7])
SHAPES = {
    "table": box((0.7, 1.4, 0.1), at=(0.6, 0.0, 0.05)),
    "post": cylinder(0.05, 0.6, at=(0.5, 0.0, 0.4)),
    "lamp": sphere(0.12, at=(0.45, 0.0, 0.95)),
}


def fastest(a, b, velocity, acceleration, jerk):
    """Ruckig's jerk-limited minimum (s) from rest to rest, nothing in the way."""
    asked, found = ruckig.InputParameter(len(a)), ruckig.Trajectory(len(a))
    asked.current_position, asked.target_position = list(a), list(b)
    asked.max_velocity, asked.max_acceleration = list(velocity), list(acceleration)
    asked.max_jerk = list(jerk)
    assert ruckig.Ruckig(len(a)).calculate(asked, found) == ruckig.Result.Working
    return found.duration


def assert_runs(trajectory, group, scale, a, b, rest=(1e-9, 1e-7)):
    """From a to b, at rest at both, within ranges and limits: exactly, and by values alone.

    At a 1 ms step, or 5000 of them; ``rest``: the greatest speed and acceleration at the ends.
    """
    assert max(limit_ratios(trajectory, group)) <= scale * (1 + 1e-6)
    step = max(1e-3, trajectory.duration / 5000)
    t = np.append(np.arange(0.0, trajectory.duration, step), trajectory.duration)
    limits = (group.velocity, group.acceleration, group.jerk)
    for order, limit in enumerate(limits, start=1):
        assert (np.abs(trajectory(t, order)) <= scale * limit * (1 + 1e-6)).all(), order
    q = trajectory(t)
    assert (np.abs(np.diff(q, axis=0)) <= scale * group.velocity * step * (1 + 1e-6) + 1e-9).all()
    assert (q >= group.lower - 1e-9).all()
    assert (q <= group.upper + 1e-9).all()
    np.testing.assert_allclose(q[[0, -1]], [a, b], atol=1e-10)
    for order, most in enumerate(rest, start=1):
        assert np.abs(trajectory(t[[0, -1]], order)).max() <= most


def rounded(path, group, view=None, deviation=DEVIATION):
    """A path with its corners rounded: as far as a view proves, or within a deviation."""
    points = polygon_corners(path, group)
    cuts = useful_cuts(points, group)
    if view is None:
        return round_corners(
            path.group, points, limited_cuts(points, group, cuts, deviation), group
        )
    return round_corners(path.group, points, proven_cuts(view, points, group, cuts, None), group)


def curve(path):
    """The path's ``q(s, order)``, (..., k); at a break, those of the piece behind."""
    return Trajectory(path.group, path.breaks, path.coefficients)
