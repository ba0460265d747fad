"""Rounded paths, made in one call and looked at."""

from galley.motion.trajectory.trajectory import Trajectory
from galley.optimization.rounding import (
    DEVIATION,
    cut,
    polygon,
    proven_cuts,
    useful_cuts,
    within,
)


def rounded(path, group, view=None, deviation=DEVIATION):
    """A path with its corners rounded: as far as a view proves, or within a deviation."""
    points = polygon(path, group)
    cuts = useful_cuts(points, group)
    if view is None:
        return cut(path.group, points, within(points, group, cuts, deviation), group)
    return cut(path.group, points, proven_cuts(view, points, group, cuts, None), group)


def curve(path):
    """The path's ``q(s, order)``, (..., k); at a break, those of the piece behind."""
    return Trajectory(path.group, path.breaks, path.coefficients)
