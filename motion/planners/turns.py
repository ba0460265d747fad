"""Joints that turn without end (``robots.model.ENDLESS``): whole turns are the same place."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from galley.collision.view import View
from galley.domain.frames import Array, nearest_turn
from galley.robots.model import ENDLESS

_ROOM = 0.5 * np.pi  # rad beyond start and goals in which to search


def endless(view: View) -> NDArray[np.bool_]:
    """Which of the view's joints turn without end (k,)."""
    tree = view.arrays.tree
    wide = (tree.low <= -ENDLESS) & (tree.high >= ENDLESS)
    return np.asarray(wide & (tree.prismatic[view.moving] == 0))


def near(view: View, start: Array, goals: Array) -> Array:
    """The goals (m, k), endless joints by whole turns as near to start (k,) as can be."""
    tree = view.arrays.tree
    return np.where(endless(view), nearest_turn(goals, start, tree.low, tree.high), goals)


def other_ways(view: View, start: Array, goals: Array) -> Array:
    """The same places as goals (m, k) near the start, one endless joint the other way round."""
    ways = []
    for j in np.flatnonzero(endless(view)):
        other = goals.copy()
        other[:, j] -= np.where(goals[:, j] < start[j], -2.0 * np.pi, 2.0 * np.pi)
        ways.append(other)
    goals_around, tree = np.concatenate(ways), view.arrays.tree
    return goals_around[((goals_around >= tree.low) & (goals_around <= tree.high)).all(axis=1)]


def about(view: View, states: Array) -> View:
    """The view, endless joints searched about the states (m, k) instead of over all their turns."""
    turning = endless(view)
    if not turning.any():
        return view
    low, high = view.arrays.tree.low, view.arrays.tree.high
    return view.between(
        np.where(turning, np.maximum(low, states.min(axis=0) - _ROOM), low),
        np.where(turning, np.minimum(high, states.max(axis=0) + _ROOM), high),
    )
