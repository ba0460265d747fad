"""Rounded paths, made in one call and looked at."""

from galley.motion.trajectory.trajectory import Trajectory
from galley.optimization.rounding import (
    DEVIATION,
    limited_cuts,
    polygon_corners,
    proven_cuts,
    round_corners,
    useful_cuts,
)


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
