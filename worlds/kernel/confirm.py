"""A second look at what spheres call too near, by the distance of the hulls that they cover.

A sphere reaches at most its part's excess beyond the hull. So where spheres are nearer than the
limit by more than that, the hulls are too near as well; only in between is there a doubt, which
the exact distance settles, in each configuration by itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from galley.compiled.jit import bare_kernel
from galley.compiled.lanes import LANES, larger, lowest_bit, negative, splat
from galley.worlds.kernel.arrays import FRAMES, LIMIT, ROUNDING, WORST
from galley.worlds.kernel.kinematics import FRAME, frame_at, pose_of
from galley.worlds.kernel.packed import unpack
from galley.worlds.kernel.separation import separation

_HIT = np.float32(-1.0)


@bare_kernel
def certain(t: Any, excess: Any) -> Any:
    """Squared distance below which the hulls are too near: (t - excess)^2, or 0."""
    s = larger(t - splat(np.float32(excess)), splat(np.float32(0.0)))
    return s * s


@bare_kernel
def confirmed(table: Any, doubtful: int, early: bool, a: int, kind: int, b: int, found: int) -> int:
    """Which of the lanes in doubt (bits) are truly too near; marked in the buffer at WORST.

    With ``early`` the first one ends it.

    Args:
        a: part made of spheres, looked at with the limit in the buffer at LIMIT.
        kind: 0: against the ``found`` obstacles listed in ``near[1]``; 1: against part b; 2:
            against moving solid b.
    """
    robot, obstacles, query = unpack(table)
    buffer, layout = query.buffer, query.layout
    X, Y, W = query.work[0], query.work[1], query.work[2]
    hits = 0
    bits = doubtful
    while bits != 0:
        lane = lowest_bit(bits)
        bits &= bits - 1
        if buffer[layout[WORST] + lane] < 0.0:
            continue
        limit = float(buffer[layout[LIMIT] + lane]) + ROUNDING
        frame_at(buffer, layout[FRAMES] + robot.part_frame[a] * FRAME, lane, X)
        near = False
        for h in range(robot.part_hull[a], robot.part_hull[a + 1]):
            if kind == 0:
                for m in range(found):
                    o = query.near[1, m]
                    for i in range(12):
                        Y[i] = obstacles.pose[o, i]
                    d = separation(robot.hulls, h, X, obstacles.solids, o, Y, limit, W)
                    if d < limit:
                        near = True
                        break
            elif kind == 1:
                frame_at(buffer, layout[FRAMES] + robot.part_frame[b] * FRAME, lane, Y)
                for k in range(robot.part_hull[b], robot.part_hull[b + 1]):
                    if separation(robot.hulls, h, X, robot.hulls, k, Y, limit, W) < limit:
                        near = True
                        break
            else:
                pose_of(table, b, lane, Y)
                near = separation(robot.hulls, h, X, query.solids, b, Y, limit, W) < limit
            if near:
                break
        if near:
            buffer[layout[WORST] + lane] = _HIT
            hits |= 1 << lane
            if early:
                return hits
    return hits


@bare_kernel
def judged(
    table: Any, worst: Any, sure: Any, early: bool, a: int, kind: int, b: int, found: int
) -> bool:
    """Whether any lane is too near: those that are ``sure``, or in doubt and confirmed.

    Args:
        worst, sure: lanes, negative where spheres are too near, and where hulls are for certain.
    """
    _, _, query = unpack(table)
    at = query.layout[WORST]
    certainly = negative(sure)
    if certainly != 0:
        if early:
            return True
        for lane in range(LANES):
            if (certainly >> lane) & 1 != 0:
                query.buffer[at + lane] = _HIT
    doubtful = negative(worst) & ~certainly
    if doubtful != 0 and confirmed(table, doubtful, early, a, kind, b, found) != 0:
        return True
    return certainly != 0
