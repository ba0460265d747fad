"""The arrays that all views of one joint group share, whatever stands around the robot.

They are made once and kept: the joints, the lists of what moves and which pairs are checked, and
bounds on how far parts move. A view adds what stands still, its margin, and scratch of its own.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from galley.collision.kernel.arrays import (
    ROUNDING,
    Checks,
    KernelArrays,
    KinematicTree,
    Obstacles,
    Scratch,
    Solids,
)
from galley.collision.moving_bodies import MovingBodies, SceneJoint
from galley.collision.view import LANES
from galley.domain.frames import Array
from galley.robots.model import RobotModel

_STACK = 4096  # rows for stretches of a curve yet to be proven
_STEP = {"m": 0.02, "rad": 0.05}  # the most a joint moves between two checked states of an edge
_HEADING_STEP, _HEADING_WEIGHT = 0.03, 0.4  # a radian of turning counts like 0.4 m
# m between the robot's own parts: PyBullet, which validates, reports contact of meshes 2 mm early.
_SELF_MARGIN = 0.002


def metric(robot: RobotModel, group: str) -> list[tuple[float, float, float, float]]:
    """For each joint of a group: lower and upper limit, weight in the metric, step on an edge.

    Limits and steps are in rad or m. A joint that turns and is in one group with joints that slide
    is a base's heading, whose weight is in metres per radian.
    """
    own = robot.group(group)
    rows = []
    for j, unit in enumerate(own.units):
        heading = unit == "rad" and "m" in own.units
        weight, step = (_HEADING_WEIGHT, _HEADING_STEP) if heading else (1.0, _STEP[unit])
        rows.append((float(own.lower[j]), float(own.upper[j]), weight, step))
    return rows


@lru_cache(maxsize=64)
def moving_joints(
    robot: RobotModel, group: str, joint: SceneJoint | None
) -> tuple[NDArray[np.int64], Array]:
    """The joints of a group, a scene joint last: positions in q (k,), and rows (4, k).

    The rows are lower limits, upper limits, weights in the metric, and steps between the checked
    states of an edge.
    """
    names = [g.name for g in robot.groups] if group == "all" else group.split("+")
    moving = [int(j) for name in names for j in np.arange(robot.size)[robot.slice(name)]]
    rows = [row for name in names for row in metric(robot, name)]
    if joint is not None:
        moving.append(robot.size)
        step = _STEP["m" if joint.prismatic else "rad"]
        rows.append((joint.lower, joint.upper, 1.0, step))
    return np.array(moving, dtype=np.int64), np.ascontiguousarray(np.array(rows).T)


@lru_cache(maxsize=16)
def resting(robot: RobotModel) -> Array:
    """A configuration (n,): 0 where it is within a joint's range, else the middle; read-only."""
    low, high = robot.limits
    q = np.where((low <= 0.0) & (high >= 0.0), 0.0, 0.5 * (low + high))
    q.setflags(write=False)
    return q


def with_obstacles(
    shared: KernelArrays,
    obstacles: Obstacles,
    shown: NDArray[np.int64],
    allowed: NDArray[np.uint8],
    margin: float,
    q: Array,
) -> KernelArrays:
    """A view's own arrays: the obstacles, the margin, and copies of all that checks change.

    Args:
        shared: the arrays of the group, from ``group_arrays``.
        obstacles: everything that stands still.
        shown: rows of the obstacles that count.
        allowed: (P, B) whether a part may touch a body.
        margin: metres to keep to them.
        q: values of all joints (n,).
    """
    # To a multiple of 16, boxes that are far from everything.
    n = len(shown)
    bounds = np.full((6, LANES * max(1, -(-n // LANES))), 1e6, dtype=np.float32)
    bounds[:3, :n], bounds[3:, :n] = obstacles.low[shown].T, obstacles.high[shown].T
    copies: Any = [array.copy() for array in shared.scratch]
    return shared._replace(
        obstacles=obstacles,
        tree=shared.tree._replace(q=q),
        checks=shared.checks._replace(
            margins=_margins(margin),
            rows=shared.checks.rows.copy(),
            obstacles=shown,
            bounds=bounds,
            allowed=allowed,
        ),
        scratch=Scratch(*copies)._replace(
            near=np.empty((3, max(n, shared.scratch.near.shape[1])), dtype=np.int64),
            near_bounds=np.zeros(bounds.shape, dtype=np.float32),
        ),
    )


@lru_cache(maxsize=64)
def group_arrays(
    moving: MovingBodies,
    robot: RobotModel,
    group: str,
    joint: SceneJoint | None,
    q: bytes,
    checked: bytes,
) -> KernelArrays:
    """The arrays that no check changes, filled, and the first contents of those that one does.

    Args:
        moving: the tables of the robot and the attached bodies.
        robot: names the joints of the group, and gives their limits.
        group: name of the joint group.
        joint: a scene joint that moves too.
        q: bytes of the float64 values of all joints (n,); those that move must be within their
            limits.
        checked: bytes of uint8 (P, P), whether two parts may not touch.
    """
    tree = _tree(moving, robot, group, joint, np.frombuffer(q).copy())
    checks = _checks(moving, len(tree.moving))
    nothing = np.empty((0, 12), dtype=np.float32)
    arrays = KernelArrays(
        moving.solids._replace(still=moving.solids.still.copy()),
        Obstacles(
            Solids(nothing, nothing, nothing), nothing, nothing, nothing, np.empty(0, np.int64)
        ),
        tree,
        checks,
        _scratch(moving, tree, checks),
    )
    counts = np.empty(3, dtype=np.int64)
    apart = np.frombuffer(checked, dtype=np.uint8).copy().reshape(len(moving.names), -1)
    from galley.collision.kernel.continuous_collision import functions
    from galley.collision.kernel.packed import pack
    from galley.collision.kernel.prepare import prepare

    table = pack(arrays, functions())
    prepare(table, moving.all_joints, moving.carries, moving.span, apart, counts)
    joints, rows, pairs = counts  # the lists may be shorter than the arrays
    return arrays._replace(
        tree=tree._replace(active=tree.active[:joints]),
        checks=checks._replace(
            rows=checks.rows[:rows],
            pairs=checks.pairs[:pairs],
            pair_reach=checks.pair_reach[:pairs],
        ),
    )


def _tree(
    moving: MovingBodies, robot: RobotModel, group: str, joint: SceneJoint | None, q: Array
) -> KinematicTree:
    """The joint tree, in which those of a group move and the others stay at q (n,)."""
    joints, (low, high, weights, step) = moving_joints(robot, group, joint)
    return KinematicTree(
        q=q,
        moving=joints,
        low=low,
        high=high,
        weights=weights,
        step=step,
        parent=moving.parent,
        fixed=moving.fixed,
        prismatic=moving.prismatic,
        active=np.empty(len(q), dtype=np.int64),
    )


def _margins(margin: float) -> NDArray[np.float32]:
    """``Checks.margins`` for a margin in metres; the hulls decide."""
    return np.array([margin + ROUNDING, _SELF_MARGIN, 1.0], dtype=np.float32)


def _checks(moving: MovingBodies, k: int) -> Checks:
    """Room for the lists of what is checked if ``k`` joints move, without obstacles."""
    most = moving.pairs
    return Checks(
        margins=_margins(0.0),
        rows=np.empty(len(moving.solids.part), dtype=np.int64),
        obstacles=np.empty(0, dtype=np.int64),
        bounds=np.full((6, LANES), 1e6, dtype=np.float32),
        allowed=np.zeros((len(moving.names), 1), dtype=np.uint8),
        pairs=np.empty((most, 2), dtype=np.int64),
        reach=np.empty((len(moving.names), k), dtype=np.float32),
        pair_reach=np.empty((most, k), dtype=np.float32),
    )


def _scratch(moving: MovingBodies, tree: KinematicTree, checks: Checks) -> Scratch:
    """The kernel's working memory, large enough for this tree and these checks."""
    n, rows = len(tree.q), len(checks.rows)
    clusters = int(np.diff(moving.solids.cluster).max(initial=1))
    spheres = int(np.diff(moving.solids.cluster_sphere).max(initial=1))
    spare = 3 * (clusters + spheres)
    # In the order of the offsets that ``kernel.arrays`` names, from Q to LIMITS.
    sizes = (n, 12 * (n + 1), 3 * rows, 1, 1, 1, spare, n, 6 * (n + 1), rows)
    return Scratch(
        travel=np.zeros((3, len(checks.reach) + moving.pairs), dtype=np.float32),
        near=np.empty((3, clusters), dtype=np.int64),
        near_bounds=np.zeros_like(checks.bounds),
        work=np.zeros((n + 5, 12)),
        full=np.zeros(n),
        stack=np.empty((_STACK, 2)),
        layout=np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64) * LANES,
        buffer=np.zeros(LANES * int(sum(sizes)), dtype=np.float32),
        required=np.zeros(2, dtype=np.float32),
        line=np.zeros((2, len(tree.moving))),
        answer=np.zeros(1),
    )
