"""Where spheres are too near, the exact distance of the hulls that they cover decides.

A sphere reaches at most its part's excess beyond the hull. So where spheres are nearer than the
limit by more than that, the hulls are too near as well. Only in between is the exact distance
computed, one configuration at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from galley.collision.kernel.arrays import FRAMES, LIMIT, ROUNDING, WORST
from galley.collision.kernel.kinematics import FRAME, frame_at, pose_of
from galley.collision.kernel.packed import CONFIRM, ROWS, int_rows_at, unpack
from galley.collision.kernel.separation import separation
from galley.compiled.jit import bare_kernel, inlined, native
from galley.compiled.lanes import LANES, lowest_set_bit, maximum, negative_mask, splat
from galley.compiled.native import address, call

_HIT = np.float32(-1.0)


@bare_kernel
def certain_below(t: Any, excess: Any) -> Any:
    """Squared distance below which the hulls are too near: (t - excess)^2, or 0."""
    s = maximum(t - splat(np.float32(excess)), splat(np.float32(0.0)))
    return s * s


@inlined
def confirm_hulls(
    table: Any, doubtful: int, early: bool, a: int, kind: int, b: int, found: int
) -> int:
    """Which of the doubtful lanes (bits) are really too near; marked in the buffer at WORST.

    With ``early`` it stops at the first.

    Args:
        a: part made of spheres; the limit is in the buffer at LIMIT.
        kind: 0: against the ``found`` obstacles listed in ``near[1]``; 1: against part b; 2:
            against moving solid b.
    """
    robot, obstacles, _, movers, _, scratch = unpack(table)
    buffer, layout = scratch.buffer, scratch.layout
    X, Y, W = scratch.work[0], scratch.work[1], scratch.work[2]
    hits = 0
    bits = doubtful
    while bits != 0:
        lane = lowest_set_bit(bits)
        bits &= bits - 1
        if buffer[layout[WORST] + lane] < 0.0:
            continue
        limit = float(buffer[layout[LIMIT] + lane]) + ROUNDING
        frame_at(buffer, layout[FRAMES] + robot.part_frame[a] * FRAME, lane, X)
        near = False
        for h in range(robot.part_hull[a], robot.part_hull[a + 1]):
            if kind == 0:
                for m in range(found):
                    o = scratch.near[1, m]
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
                near = separation(robot.hulls, h, X, movers.solids, b, Y, limit, W) < limit
            if near:
                break
        if near:
            buffer[layout[WORST] + lane] = _HIT
            hits |= 1 << lane
            if early:
                return hits
    return hits


@native(4)
def confirm_native(place: int, doubtful: int, what: int, other: int) -> int:
    """``confirm_hulls``: ``what`` holds early, kind and a; ``other`` is b or found."""
    early, kind, a = (what & 1) != 0, (what >> 1) & 3, what >> 3
    return confirm_hulls(int_rows_at(place, ROWS, 3), doubtful, early, a, kind, other, other)


@bare_kernel
def decide(
    table: Any, worst: Any, sure: Any, early: bool, a: int, kind: int, b: int, found: int
) -> bool:
    """Whether any lane is too near: those that are ``sure``, or doubtful and confirmed.

    Args:
        worst, sure: lanes, negative where spheres are too near, and where hulls certainly are.
    """
    _, _, _, _, _, scratch = unpack(table)
    at = scratch.layout[WORST]
    certainly = negative_mask(sure)
    if certainly != 0:
        if early:
            return True
        for lane in range(LANES):
            if (certainly >> lane) & 1 != 0:
                scratch.buffer[at + lane] = _HIT
    doubtful = negative_mask(worst) & ~certainly
    if doubtful != 0:
        what = 8 * a + 2 * kind + (1 if early else 0)
        if call(table[CONFIRM, 0], address(table), doubtful, what, b + found) != 0:
            return True
    return certainly != 0
