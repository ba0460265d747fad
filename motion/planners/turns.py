"""Joints that turn without end (``robots.model.ENDLESS``): a whole turn leads to the same pose.

A goal then stands for many configurations, and the range to search could be many turns wide. These
functions choose which of them to search for, and narrow the range.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from galley.collision.view import View
from galley.domain.frames import Array, nearest_turn
from galley.robots.model import ENDLESS

_ROOM = 0.5 * np.pi  # rad beyond start and goals in which to search


def endless(view: View) -> NDArray[np.bool_]:
    """Whether each of the view's joints turns without end (k,)."""
    tree = view.arrays.tree
    wide = (tree.low <= -ENDLESS) & (tree.high >= ENDLESS)
    return np.asarray(wide & (tree.prismatic[view.moving] == 0))


def nearest_turns(view: View, start: Array, goals: Array) -> Array:
    """The goals (m, k), with endless joints moved by whole turns to be nearest to start (k,)."""
    tree = view.arrays.tree
    return np.where(endless(view), nearest_turn(goals, start, tree.low, tree.high), goals)


def opposite_turns(view: View, start: Array, goals: Array) -> Array:
    """Configurations (n, k) with the poses of ``goals`` (m, k), one endless joint a turn further.

    The goals are near the start (k,); the joint comes from the other side of it. Configurations
    beyond the joints' limits are left out.
    """
    ways = []
    for j in np.flatnonzero(endless(view)):
        other = goals.copy()
        other[:, j] -= np.where(goals[:, j] < start[j], -2.0 * np.pi, 2.0 * np.pi)
        ways.append(other)
    others, tree = np.concatenate(ways), view.arrays.tree
    return others[((others >= tree.low) & (others <= tree.high)).all(axis=1)]


def narrowed(view: View, states: Array) -> View:
    """The view with a narrower range for endless joints: around the states (m, k), start and goals.

    Without endless joints it is the same view.
    """
    turning = endless(view)
    if not turning.any():
        return view
    low, high = view.arrays.tree.low, view.arrays.tree.high
    return view.between(
        np.where(turning, np.maximum(low, states.min(axis=0) - _ROOM), low),
        np.where(turning, np.minimum(high, states.max(axis=0) + _ROOM), high),
    )
