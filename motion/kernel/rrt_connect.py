"""RRT-Connect in compiled code: two trees grow towards each other, from the start and the goals.

J. Kuffner and S. LaValle, "RRT-Connect: an efficient approach to single-query path planning"
(2000). Each iteration draws a sample and extends the smaller tree by one edge towards it
(``_extend``), then grows the other tree straight towards the new node until it arrives or is
blocked (``_reach``). When it arrives, the two branches make a path.

A node from which an edge was blocked extends only towards samples near it, after A. Yershova et
al., "Dynamic-domain RRTs" (2005): most other samples would meet the same obstacle, and in narrow
places such checks cost the most.
"""

from __future__ import annotations

import numpy as np

from galley.compiled.annotations import Configuration, Configurations, Float, Int, Matrix
from galley.compiled.jit import inlined, kernel
from galley.domain.frames import Array
from galley.motion.kernel.checks import edge_free
from galley.motion.kernel.polyline import copy, distance, steer
from galley.motion.kernel.rules import UNBOUNDED, Rules, SearchBox
from galley.motion.kernel.sampling import RandomState, sample_box
from galley.motion.kernel.tree import (
    SearchTree,
    add,
    empty_tree,
    joined_branches,
    nearest,
    with_room,
)

_ROOM = 128  # nodes a new tree has room for
_REACHED = 1e-12  # two configurations nearer than this are the same (metric of the box)
_TOO_FAR = -2  # returned by ``_extend``: the sample lies outside the nearest node's domain
_DRAWS = 10  # samples drawn in one iteration, at most, until one lies inside
_DOMAIN = 0.3  # of the box's diagonal: how near a sample must be to a node that was blocked once


@kernel
def connect(
    table: Int,
    box: SearchBox,
    rules: Rules,
    start: Configuration,
    goals: Configurations,
    iterations: int,
    state: RandomState,
) -> tuple[Array, int, int, int]:
    """A path from start (k,) to one of ``goals`` (m, k), all of them free and m at least 1.

    Tries straight edges to the goals first, the nearest goal first.

    Args:
        table: the collision view's table of addresses (rows, 3), passed on to the edge checks.
        box: the space to search, and its metric.
        rules: what counts as a free edge, and how long an edge may be.
        start: configuration (k,), inside the box.
        goals: configurations (m, k), inside the box.
        iterations: how many iterations may be spent.
        state: of the random generator (4,); advanced.

    Returns:
        (path (n, k), iterations used, nodes of the start's tree, nodes of the goals' tree); n is 0
        if no path was found.
    """
    k, m = len(start), len(goals)
    path = np.empty((2, k))
    gaps = np.empty(m)
    goal = straight(table, box, rules, start, goals, gaps)
    # In open space one edge is enough, and no tree has to be built.
    if goal >= 0:
        copy(start, path[0])
        copy(goals[goal], path[1])
        return path, 0, 1, m
    weights = box.weights
    # One iteration adds at most one node by _extend, or by _reach as many as edges of the longest
    # allowed length fit across the box.
    most_added = int(distance(box.low, box.high, weights) / rules.radius) + 3
    first = empty_tree(k, _ROOM + most_added)
    second = empty_tree(k, _ROOM + most_added + m)
    # All goals are roots of one tree: whichever root the branch ends at is the goal reached.
    add(first, start, -1)
    for i in range(m):
        add(second, goals[i], -1)
    scratch = np.empty((2, k))
    done = 0
    while True:
        done, leaf, meeting, side = _grow(
            table, box, rules, first, second, scratch, most_added, done, iterations, state
        )
        if leaf >= 0:
            # The path runs from the start to a goal, whichever tree grew last.
            if side == 0:
                path = joined_branches(first, leaf, second, meeting)
            else:
                path = joined_branches(first, meeting, second, leaf)
            break
        if done >= iterations:
            path = np.empty((0, k))
            break
        # _grow stopped because an iteration might have filled a tree: it never allocates.
        first, second = with_room(first, 2 * most_added), with_room(second, 2 * most_added)
    return path, done, first.size[0], second.size[0]


@inlined
def straight(
    table: Int, box: SearchBox, rules: Rules, start: Float, goals: Float, gaps: Float
) -> int:
    """The nearest of ``goals`` (m, k) that a free straight edge from start (k,) reaches, or -1.

    gaps (m,) is overwritten.
    """
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
        # Blocked: the next pass takes the nearest of the others.
        gaps[nearest_goal] = UNBOUNDED
    return -1


@inlined
def _grow(
    table: Int,
    box: SearchBox,
    rules: Rules,
    first: SearchTree,
    second: SearchTree,
    scratch: Matrix,
    most_added: int,
    done: int,
    iterations: int,
    state: RandomState,
) -> tuple[int, int, int, int]:
    """Grows both trees until they meet, the budget is spent, or an iteration may lack room.

    Args:
        first, second: the trees from the start and from the goals.
        scratch: (2, k), overwritten.
        most_added: how many nodes one iteration can add to a tree.
        done: iterations before this call.
        iterations: the budget, those before this call included.

    Returns:
        (iterations up to now, the new node at which the trees meet or -1, the other tree's node at
        the same configuration, 0 if the new node is in ``first`` and 1 if it is in ``second``).
    """
    target, q = scratch[0], scratch[1]
    while done < iterations:
        # The room is checked before an iteration, so that it never stops halfway.
        if (
            first.size[0] + most_added > len(first.points)
            or second.size[0] + most_added > len(second.points)
        ):  # fmt: skip
            break
        done += 1
        # The smaller tree is extended next, which keeps the two balanced: so the search goes on
        # from both ends, even if edges are blocked more often at one of them. The trees are swapped
        # rather than the calls written twice: inlined, they would be compiled twice.
        side = 0 if first.size[0] <= second.size[0] else 1
        tree, other = (first, second) if side == 0 else (second, first)
        leaf, draws = _TOO_FAR, 0
        # A sample outside a node's domain costs no collision check, so it is simply drawn again.
        while leaf == _TOO_FAR and draws < _DRAWS:
            draws += 1
            sample_box(state, box.low, box.high, target)
            leaf = _extend(table, box, rules, tree, target, q)
        # No new node (blocked, or all draws too far): there is nothing new to connect to.
        if leaf >= 0:
            meeting = _reach(table, box, rules, other, tree, leaf, q)
            if meeting >= 0:
                return done, leaf, meeting, side
    return done, -1, -1, 0


@inlined
def _extend(
    table: Int,
    box: SearchBox,
    rules: Rules,
    tree: SearchTree,
    target: Configuration,
    q: Configuration,
) -> int:
    """Adds one edge, at most the radius long, from the nearest node towards ``target`` (k,).

    Returns the new node's index; -1 if the edge is blocked; _TOO_FAR if the nearest node was
    blocked before and ``target`` is outside its domain. q (k,) is overwritten.
    """
    weights = box.weights
    parent = nearest(tree, target, weights)
    a = tree.points[parent]
    gap = distance(a, target, weights)
    if gap > tree.domains[parent]:
        return _TOO_FAR
    steer(a, target, gap, rules.radius, q)
    if not edge_free(table, rules, a, q):
        # An obstacle is near: from now on only samples near this node may extend it.
        tree.domains[parent] = _DOMAIN * distance(box.low, box.high, weights)
        return -1
    return add(tree, q, parent)


@inlined
def _reach(
    table: Int,
    box: SearchBox,
    rules: Rules,
    tree: SearchTree,
    other: SearchTree,
    leaf: int,
    q: Configuration,
) -> int:
    """Grows ``tree`` straight towards the node ``leaf`` of the tree ``other`` until blocked.

    Returns the index of the node at the leaf's configuration, or -1 if it was not reached. The
    nodes added on the way stay. q (k,) is overwritten.
    """
    weights = box.weights
    target = other.points[leaf]
    at = nearest(tree, target, weights)
    while tree.size[0] < len(tree.points):
        a = tree.points[at]
        gap = distance(a, target, weights)
        # The tree has a node there already: no edge of length 0 is added.
        if gap < _REACHED:
            return at
        steer(a, target, gap, rules.radius, q)
        # Blocked: the search goes on with another sample rather than around the obstacle.
        if not edge_free(table, rules, a, q):
            return -1
        at = add(tree, q, at)
        # The last edge was not cut short, so it ended at the target exactly.
        if gap <= rules.radius:
            return at
    return -1  # only if a start or a goal lies far outside the box: then room may run out
