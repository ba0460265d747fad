"""The baseline RRT in compiled code: sample, nearest, steer, collision_free, arrive.

After S. LaValle, "Rapidly-exploring random trees" (1998), with a bias towards goal configurations.
It ends exactly at one of those, or anywhere in an end region of the hand.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import boolean, float64, types

from galley.collision.kernel.edges import frame_pose
from galley.compiled.jit import bare_kernel, entry, kernel
from galley.domain.frames import Array
from galley.motion.kernel.checks import edge_free
from galley.motion.kernel.polyline import copy, distance, steer
from galley.motion.kernel.rules import BOX, UNBOUNDED, Box, Rules
from galley.motion.kernel.sampling import below, sample_box, seeded, uniform
from galley.motion.kernel.tree import (
    SearchTree,
    add,
    add_roots,
    branch,
    empty_tree,
    nearest,
    with_room,
)

_ROOM = 256
_EXACT = 1e-9  # a goal configuration is reached when no joint is off by more


class GoalRegion(NamedTuple):
    """Where a search may end: poses of the hand about a target.

    Attributes:
        given: whether there is a region at all.
        target: pose (12,): R row by row, then p.
        radius: m, in every axis, or in the sum of the three with ``l1``.
        angle: rad between the orientations; below zero it is free.
        l1: measure position by the L1 norm.
    """

    given: bool
    target: Array
    radius: float
    angle: float
    l1: bool


REGION = types.NamedTuple((boolean, float64[::1], float64, float64, boolean), GoalRegion)


@entry("i8:2", BOX, "f8:1 f8:2", REGION, "f8 f8 i8 i8")
@kernel
def plan_rrt(
    table: Any,
    box: Box,
    start: Array,
    goals: Array,
    region: GoalRegion,
    radius: float,
    goal_bias: float,
    iterations: int,
    seed: int,
) -> tuple[Array, int, int]:
    """A path from start (k,), which is free, to one of ``goals`` (m, k) or into the region.

    Args:
        goals: free configurations to grow towards; may be empty with a region.
        goal_bias: share of samples that are goals.

    Returns:
        (path (n, k), iterations used, nodes of the tree); n is 0 where no path was found.
    """
    k = len(start)
    state = seeded(seed, 0)
    rules = Rules(radius, UNBOUNDED, False, 0.0)
    tree = empty_tree(k, _ROOM)
    roots = np.empty((1, k))
    copy(start, roots[0])
    add_roots(tree, roots, box.weights)
    scratch, pose = np.empty((2, k)), np.empty(12)
    done, leaf = 0, -1
    while leaf < 0 and done < iterations:
        tree = with_room(tree, 1)
        done, leaf = _grow(
            table, box, rules, tree, goals, region, goal_bias, scratch, pose,
            done, iterations, state,
        )  # fmt: skip
    if leaf < 0:
        return np.empty((0, k)), done, tree.size[0]
    return branch(tree, leaf), done, tree.size[0]


@bare_kernel
def _grow(
    table: Any,
    box: Box,
    rules: Rules,
    tree: SearchTree,
    goals: Array,
    region: GoalRegion,
    goal_bias: float,
    scratch: Array,
    pose: Array,
    done: int,
    iterations: int,
    state: Any,
) -> tuple[int, int]:
    """Grows until it arrives, the budget is spent or the tree full: (iterations, leaf or -1)."""
    target, leaf, weights = scratch[0], scratch[1], box.weights
    while done < iterations and tree.size[0] < len(tree.points):
        done += 1
        if len(goals) > 0 and uniform(state) < goal_bias:
            copy(goals[below(state, len(goals))], target)
        else:
            sample_box(state, box.low, box.high, target)
        parent = nearest(tree, target, weights)
        gap = distance(tree.points[parent], target, weights)
        steer(tree.points[parent], target, gap, rules.radius, leaf)
        if not edge_free(table, rules, tree.points[parent], leaf):
            continue
        node = add(tree, leaf, weights, parent, tree.costs[parent] + min(gap, rules.radius))
        if arrive(table, goals, region, leaf, pose):
            return done, node
    return done, -1


@bare_kernel
def arrive(table: Any, goals: Array, region: GoalRegion, q: Array, pose: Array) -> bool:
    """Whether q (k,) is a goal configuration or its hand in the region; pose (12,) is scratch."""
    for i in range(len(goals)):
        off = 0.0
        for j in range(len(q)):
            off = max(off, abs(goals[i, j] - q[j]))
        if off < _EXACT:
            return True
    if not region.given:
        return False
    frame_pose(table, q, pose)
    x = abs(pose[9] - region.target[9])
    y = abs(pose[10] - region.target[10])
    z = abs(pose[11] - region.target[11])
    if (x + y + z if region.l1 else max(x, y, z)) > region.radius:
        return False
    return region.angle < 0.0 or _angle(pose, region.target) <= region.angle


@bare_kernel
def _angle(a: Array, b: Array) -> float:
    """Angle between two orientations: |R_a - R_b| (Frobenius) is sqrt(8) sin(angle / 2)."""
    total = 0.0
    for i in range(9):
        total += (a[i] - b[i]) * (a[i] - b[i])
    return 2.0 * math.asin(min(1.0, math.sqrt(total / 8.0)))
