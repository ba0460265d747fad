"""Where spheres or balls are too near, the exact distance of the solids in them decides.

A sphere reaches at most its row's excess beyond the hull. So where spheres are nearer than the
limit by more than that, the hulls are too near as well. Only in between is the exact distance
computed, one configuration at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from galley.collision.kernel.arrays import LIMIT, ROUNDING, WORST
from galley.collision.kernel.kinematics import pose_of
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
def _confirm(table: Any, doubtful: int, early: bool, a: int, b: int) -> int:
    """In which of the doubtful lanes (bits) row a is too near to b; marked in the buffer at WORST.

    With ``early`` it stops at the first.

    Args:
        a: row of ``Moving``; the limit is in the buffer at LIMIT.
        b: another, or ~ the row of an obstacle.
    """
    moving, obstacles, _, _, scratch = unpack(table)
    buffer, layout = scratch.buffer, scratch.layout
    X, Y, W = scratch.work[0], scratch.work[1], scratch.work[2]
    if b < 0:
        for i in range(12):
            Y[i] = obstacles.pose[~b, i]
    hits = 0
    bits = doubtful
    while bits != 0:
        lane = lowest_set_bit(bits)
        bits &= bits - 1
        if buffer[layout[WORST] + lane] < 0.0:
            continue
        limit = float(buffer[layout[LIMIT] + lane])
        if a < len(moving.excess):
            limit += ROUNDING
        pose_of(table, a, lane, X)
        if b < 0:
            d = separation(moving.solids, a, X, obstacles.solids, ~b, Y, limit, W)
        else:
            pose_of(table, b, lane, Y)
            d = separation(moving.solids, a, X, moving.solids, b, Y, limit, W)
        if d < limit:
            buffer[layout[WORST] + lane] = _HIT
            hits |= 1 << lane
            if early:
                return hits
    return hits


@native(4)
def confirm_native(place: int, doubtful: int, what: int, b: int) -> int:
    """``_confirm``; ``what`` is 2 a, and 1 more where it is to stop early."""
    table = int_rows_at(place, ROWS, 3)
    return _confirm(table, doubtful, (what & 1) != 0, what >> 1, b)


@bare_kernel
def confirm(table: Any, doubtful: int, early: bool, a: int, b: int) -> int:
    """``_confirm``, by its address."""
    what = 2 * a + (1 if early else 0)
    return call(table[CONFIRM, 0], address(table), doubtful, what, b)


@bare_kernel
def decide(table: Any, worst: Any, sure: Any, lanes: int, early: bool, a: int, found: int) -> bool:
    """Whether row a is too near to any of the ``found`` listed in ``near[1]``, in any of the lanes.

    It is in those that are ``sure``, and in the doubtful ones that are confirmed.

    Args:
        worst, sure: lanes, negative where spheres are too near, and where hulls certainly are.
        lanes: bits of those that count.
    """
    _, _, _, _, scratch = unpack(table)
    at = scratch.layout[WORST]
    certainly = negative_mask(sure) & lanes
    if certainly != 0:
        if early:
            return True
        for lane in range(LANES):
            if (certainly >> lane) & 1 != 0:
                scratch.buffer[at + lane] = _HIT
    doubtful = negative_mask(worst) & ~certainly & lanes
    hit = certainly != 0
    if doubtful != 0:
        for m in range(found):
            if confirm(table, doubtful, early, a, scratch.near[1, m]) != 0:
                hit = True
                if early:
                    break
    return hit
