"""Makes views: gathers a joint group's limits and allocates the kernel's arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from galley.compiled.jit import first_use
from galley.domain.frames import Array
from galley.robots.model import RobotModel
from galley.worlds.kernel.arrays import ROUNDING, Obstacles, Query
from galley.worlds.movers import Movers
from galley.worlds.view import KERNEL, LANES, View

_STACK = 4096  # rows for stretches of an edge yet to be proven
_STEP = {"m": 0.02, "rad": 0.05}  # the most a joint moves between two checked states of an edge
_HEADING_STEP, _HEADING_WEIGHT = 0.03, 0.4  # a radian of turning counts like 0.4 m
# m between the robot's own parts: PyBullet, which validates, calls meshes touching 2 mm early.
_SELF_MARGIN = 0.002


def moving_joints(robot: RobotModel, group: str) -> NDArray[np.int64]:
    """Positions in q of a group's joints; ``base+arm`` for two, ``all`` for all of them."""
    names = [g.name for g in robot.groups] if group == "all" else group.split("+")
    return np.concatenate([np.arange(robot.size)[robot.slice(name)] for name in names])


def metric(robot: RobotModel, group: str) -> tuple[Array, Array, Array, Array]:
    """Lower and upper limits, weights and steps of a group's joints, each (k,)."""
    names = [g.name for g in robot.groups] if group == "all" else group.split("+")
    low, high, weights, steps = [], [], [], []
    for name in names:
        own = robot.group(name)
        low.append(own.lower)
        high.append(own.upper)
        heading = [unit == "rad" and "m" in own.units for unit in own.units]
        weights.append([_HEADING_WEIGHT if turns else 1.0 for turns in heading])
        steps.append(
            [
                _HEADING_STEP if turns else _STEP[unit]
                for turns, unit in zip(heading, own.units, strict=True)
            ]
        )
    return (
        np.concatenate(low),
        np.concatenate(high),
        np.concatenate(weights).astype(np.float64),
        np.concatenate(steps).astype(np.float64),
    )


def make_view(
    group: str,
    moving: NDArray[np.int64],
    limits: tuple[Array, Array, Array, Array],
    movers: Movers,
    bodies: tuple[str, ...],
    obstacles: Obstacles,
    q: Array,
    shown: NDArray[np.int64],
    allowed: NDArray[np.uint8],
    checked: NDArray[np.uint8],
    margin: float,
    tool: Array,
) -> View:
    """Allocates a Query's arrays and has them filled.

    Args:
        limits: lower, upper, weights and steps of the moving joints.
        q: values of all joints (n,), the scene joint's last.
        shown: rows of the obstacles that count.
        allowed: (P, B) whether a part may touch a body.
        checked: (P, P) whether two parts must not touch.
        tool: pose (12,) of the tool in its frame, and that frame.
    """
    from galley.worlds.kernel.entries import FUNCTIONS, prepare_query
    from galley.worlds.kernel.packed import ROW, pack

    n, k, P = len(q), len(moving), len(movers.names)
    S, m, pairs = len(movers.robot.part_frame), len(movers.part), movers.pairs
    most_clusters = int(np.diff(movers.robot.part_cluster).max(initial=1))
    most_spheres = int(np.diff(movers.robot.cluster_sphere).max(initial=1))
    sizes = (n, 12 * (n + 1), 3 * S, 3 * m, 1, 1, 1, 3 * (most_clusters + most_spheres) + 1)
    layout = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64) * LANES
    bounds = np.full((6, LANES * max(1, -(-len(shown) // LANES))), 1e6, dtype=np.float32)
    bounds[:3, : len(shown)] = obstacles.low[shown].T
    bounds[3:, : len(shown)] = obstacles.high[shown].T
    still = np.zeros((m, 20), dtype=np.float32)
    still[:, 19] = movers.part >= movers.own
    query = Query(
        q=np.array(q, dtype=np.float64),
        moving=moving,
        low=limits[0],
        high=limits[1],
        weights=limits[2],
        step=limits[3],
        parent=movers.parent,
        fixed=movers.fixed,
        prismatic=movers.prismatic,
        tool=tool,
        margins=np.array([margin + ROUNDING, _SELF_MARGIN, 1.0], dtype=np.float32),
        joints=np.empty(n, dtype=np.int64),
        parts=np.empty(S, dtype=np.int64),
        solid_parts=np.empty(m, dtype=np.int64),
        obstacles=shown,
        bounds=bounds,
        allowed=allowed,
        solids=movers.solids,
        solid_part=movers.part,
        solid_frame=movers.frame,
        solid_pose=movers.pose,
        solid_ball=movers.ball,
        solid_still=still,
        sphere_pairs=np.empty((pairs, 2), dtype=np.int64),
        mixed_pairs=np.empty((pairs, 2), dtype=np.int64),
        solid_pairs=np.empty((pairs, 2), dtype=np.int64),
        reach=np.empty((P, k), dtype=np.float32),
        sphere_pair_reach=np.empty((pairs, k), dtype=np.float32),
        mixed_pair_reach=np.empty((pairs, k), dtype=np.float32),
        solid_pair_reach=np.empty((pairs, k), dtype=np.float32),
        travel=np.zeros(P + 3 * pairs, dtype=np.float32),
        near=np.empty((3, max(len(shown), most_clusters)), dtype=np.int64),
        near_bounds=np.zeros_like(bounds),
        work=np.empty((n + 5, 12)),
        full=np.empty(n),
        stack=np.empty((_STACK, 2)),
        layout=layout,
        buffer=np.empty(LANES * int(sum(sizes)), dtype=np.float32),
    )
    counts = np.empty(6, dtype=np.int64)
    table = pack(movers.robot, obstacles, query, FUNCTIONS)
    with first_use(KERNEL):
        prepare_query(table, movers.every, movers.carries, movers.span, checked, counts)
    # What was listed may be shorter than the room for it.
    listed = {
        "joints": 0,
        "parts": 1,
        "solid_parts": 2,
        "sphere_pairs": 3,
        "sphere_pair_reach": 3,
        "mixed_pairs": 4,
        "mixed_pair_reach": 4,
        "solid_pairs": 5,
        "solid_pair_reach": 5,
    }
    query = query._replace(
        **{name: getattr(query, name)[: counts[k]] for name, k in listed.items()}
    )
    for name, k in listed.items():
        table[ROW[name], 1] = counts[k]
    return View(group, moving, movers, bodies, movers.robot, obstacles, query, table)
