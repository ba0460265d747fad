"""RRT-Connect in compiled code: two trees grow towards each other, from the start and the goals.

J. Kuffner and S. LaValle, "RRT-Connect: an efficient approach to single-query path planning"
(2000). The smaller tree is the one that grows next. A node from which an edge was blocked grows
only towards samples near it, after A. Yershova et al., "Dynamic-domain RRTs" (2005): most others
would meet the same obstacle, and in narrow places such checks cost the most.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from galley.compiled.jit import inlined, kernel
from galley.domain.frames import Array
from galley.motion.kernel.checks import edge_free
from galley.motion.kernel.polyline import copy, distance, steer
from galley.motion.kernel.rules import UNBOUNDED, Box, Rules
from galley.motion.kernel.sampling import sample_box
from galley.motion.kernel.tree import (
    SearchTree,
    add,
    empty_tree,
    joined_branches,
    nearest,
    with_room,
)

_ROOM = 128  # nodes a new tree has room for
_REACHED = 1e-12
_TOO_FAR, _DRAWS = -2, 10  # samples of an iteration at most, until one lies in a node's domain
_DOMAIN = 0.3  # of the box's diagonal: how near a sample must be to a node that was blocked once


@kernel
def connect(
    table: Any,
    box: Box,
    rules: Rules,
    start: Array,
    goals: Array,
    iterations: int,
    state: Any,
) -> tuple[Array, int, int, int]:
    """A path from start (k,) to one of ``goals`` (m, k), all of them free and m at least 1.

    Straight edges to the goals come first, the nearest goal first.

    Args:
        iterations: how many samples may be drawn.
        state: of the random generator; advanced.

    Returns:
        (path (n, k), iterations used, nodes from the start, nodes from the goals); n is 0 where
        no path was found.
    """
    k, m = len(start), len(goals)
    path = np.empty((2, k))
    gaps = np.empty(m)
    goal = straight(table, box, rules, start, goals, gaps)
    if goal >= 0:
        copy(start, path[0])
        copy(goals[goal], path[1])
        return path, 0, 1, m
    weights = box.weights
    longest = int(distance(box.low, box.high, weights) / rules.radius) + 3
    first = empty_tree(k, _ROOM + longest)
    second = empty_tree(k, _ROOM + longest + m)
    add(first, start, -1)
    for i in range(m):
        add(second, goals[i], -1)
    scratch = np.empty((2, k))
    done = 0
    while True:
        done, leaf, meeting, side = _grow(
            table, box, rules, first, second, scratch, longest, done, iterations, state
        )
        if leaf >= 0:
            if side == 0:
                path = joined_branches(first, leaf, second, meeting)
            else:
                path = joined_branches(first, meeting, second, leaf)
            break
        if done >= iterations:
            path = np.empty((0, k))
            break
        first, second = with_room(first, 2 * longest), with_room(second, 2 * longest)
    return path, done, first.size[0], second.size[0]


@inlined
def straight(table: Any, box: Box, rules: Rules, start: Array, goals: Array, gaps: Array) -> int:
    """The nearest goal that a free straight edge reaches, or -1; gaps (m,) is overwritten."""
    m = len(goals)
    for i in range(m):
        gaps[i] = distance(start, goals[i], box.weights)
    for _ in range(m):
        nearest_goal = 0
        for i in range(1, m):
            if gaps[i] < gaps[nearest_goal]:
                nearest_goal = i
        if edge_free(table, rules, start, goals[nearest_goal]):
            return nearest_goal
        gaps[nearest_goal] = UNBOUNDED
    return -1


@inlined
def _grow(
    table: Any,
    box: Box,
    rules: Rules,
    first: SearchTree,
    second: SearchTree,
    scratch: Array,
    longest: int,
    done: int,
    iterations: int,
    state: Any,
) -> tuple[int, int, int, int]:
    """Grows both trees until they meet, the budget is spent, or an iteration may lack room.

    Args:
        longest: how many nodes one iteration can add to a tree.
        done: iterations before this call.

    Returns:
        (iterations up to now, node of the tree that grew last or -1, node of the other at the same
        place, 0 if the one that grew last is ``first``, else 1).
    """
    target, q = scratch[0], scratch[1]
    while done < iterations:
        if (
            first.size[0] + longest > len(first.points)
            or second.size[0] + longest > len(second.points)
        ):  # fmt: skip
            break
        done += 1
        # One call each of _extend and _reach: a second one would be compiled a second time.
        side = 0 if first.size[0] <= second.size[0] else 1
        near, far = (first, second) if side == 0 else (second, first)
        leaf, draws = _TOO_FAR, 0
        while leaf == _TOO_FAR and draws < _DRAWS:
            draws += 1
            sample_box(state, box.low, box.high, target)
            leaf = _extend(table, box, rules, near, target, q)
        if leaf >= 0:
            meeting = _reach(table, box, rules, far, near, leaf, q)
            if meeting >= 0:
                return done, leaf, meeting, side
    return done, -1, -1, 0


@inlined
def _extend(
    table: Any,
    box: Box,
    rules: Rules,
    tree: SearchTree,
    target: Array,
    q: Array,
) -> int:
    """One edge of at most the radius towards ``target``; the new node's index, or -1.

    _TOO_FAR where the nearest node was blocked before and ``target`` is out of its domain;
    q (k,) is overwritten.
    """
    weights = box.weights
    parent = nearest(tree, target, weights)
    a = tree.points[parent]
    gap = distance(a, target, weights)
    if gap > tree.domains[parent]:
        return _TOO_FAR
    steer(a, target, gap, rules.radius, q)
    if not edge_free(table, rules, a, q):
        tree.domains[parent] = _DOMAIN * distance(box.low, box.high, weights)
        return -1
    return add(tree, q, parent)


@inlined
def _reach(
    table: Any,
    box: Box,
    rules: Rules,
    tree: SearchTree,
    other: SearchTree,
    leaf: int,
    q: Array,
) -> int:
    """Grow ``tree`` straight towards the other tree's ``leaf`` until blocked.

    Returns the index of the node at the leaf, or -1 where it was not reached.
    """
    weights = box.weights
    target = other.points[leaf]
    at = nearest(tree, target, weights)
    while tree.size[0] < len(tree.points):
        a = tree.points[at]
        gap = distance(a, target, weights)
        if gap < _REACHED:
            return at
        steer(a, target, gap, rules.radius, q)
        if not edge_free(table, rules, a, q):
            return -1
        at = add(tree, q, at)
        if gap <= rules.radius:
            return at
    return -1  # only where a start or a goal lies far outside the box
