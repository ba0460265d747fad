"""Decides by the exact distance of two solids where the spheres or balls around them are too near.

A sphere reaches at most its row's excess beyond the hull. So where spheres are nearer than the
limit by more than that, the hulls are too near as well. Only in between is the exact distance
computed, one configuration at a time.
"""

from __future__ import annotations

import numpy as np

from galley.collision.kernel.arrays import LIMIT, ROUNDING, WORST
from galley.collision.kernel.gjk import gjk_distance
from galley.collision.kernel.kinematics import pose_of
from galley.collision.kernel.packed import NARROW_PHASE, ROWS, int_rows_at, unpack
from galley.compiled.annotations import Lanes, Table
from galley.compiled.jit import bare_kernel, inlined, native
from galley.compiled.lanes import LANES, lowest_set_bit, maximum, negative_mask, splat
from galley.compiled.native import address, call

_HIT = np.float32(-1.0)  # the verdict, at WORST, of a configuration that is too near


@bare_kernel
def certain_below(t: Lanes, excess: float) -> Lanes:
    """Squared distance of spheres' centres below which the hulls are certainly too near.

    That is (t - excess)^2, or 0 where the excess is larger: lanes.

    Args:
        t: m, the distance below which the spheres are too near.
        excess: m by which the spheres may reach beyond the hulls, together.
    """
    s = maximum(t - splat(np.float32(excess)), splat(np.float32(0.0)))
    return s * s


@inlined
def _narrow_phase(table: Table, doubtful: int, early: bool, a: int, b: int) -> int:
    """In which of the doubtful lanes (bits) row a is too near to b; marked in the buffer at WORST.

    The limit of each lane is in the buffer at LIMIT.

    Args:
        doubtful: bits of the lanes to decide.
        early: stop at the first hit.
        a: row of ``Moving``.
        b: another, or ~ the row of an obstacle.

    Returns:
        Bits of the lanes in which they are too near.
    """
    moving, obstacles, _, _, scratch = unpack(table)
    buffer, layout = scratch.buffer, scratch.layout
    X, Y, W = scratch.work[0], scratch.work[1], scratch.work[2]
    if b < 0:  # in double precision, once: an obstacle's pose is the same in all lanes
        for i in range(12):
            Y[i] = obstacles.pose[~b, i]
    hits = 0
    bits = doubtful
    while bits != 0:
        lane = lowest_set_bit(bits)
        bits &= bits - 1
        if buffer[layout[WORST] + lane] < 0.0:
            continue  # something else is too near already
        limit = float(buffer[layout[LIMIT] + lane])
        if a < len(moving.excess):  # the hull of a link: rounding counts twice
            limit += ROUNDING
        pose_of(table, a, lane, X)
        if b < 0:
            d = gjk_distance(moving.solids, a, X, obstacles.solids, ~b, Y, limit, W)
        else:
            pose_of(table, b, lane, Y)
            d = gjk_distance(moving.solids, a, X, moving.solids, b, Y, limit, W)
        if d < limit:
            buffer[layout[WORST] + lane] = _HIT
            hits |= 1 << lane
            if early:
                return hits
    return hits


@native(4)
def narrow_phase_native(place: int, doubtful: int, what: int, b: int) -> int:
    """``_narrow_phase``, of the table at ``place``; ``what`` is 2 a, plus 1 to stop early."""
    table = int_rows_at(place, ROWS, 3)
    return _narrow_phase(table, doubtful, (what & 1) != 0, what >> 1, b)


@bare_kernel
def narrow_phase(table: Table, doubtful: int, early: bool, a: int, b: int) -> int:
    """Calls ``_narrow_phase`` by its address, so that its callers don't contain GJK."""
    row_and_early = 2 * a + (1 if early else 0)  # in one number: a native function takes four
    return call(table[NARROW_PHASE, 0], address(table), doubtful, row_and_early, b)


@bare_kernel
def decide(
    table: Table, worst: Lanes, sure: Lanes, lanes: int, early: bool, a: int, found: int
) -> bool:
    """Whether row a is too near to any of the candidates in ``near[1]``, in any of the lanes.

    It is in those that are ``sure``, and in the doubtful ones that ``narrow_phase`` confirms.

    Args:
        worst: negative in lanes in which spheres are too near.
        sure: negative in lanes in which the hulls certainly are.
        lanes: bits of those that count.
        early: stop at the first hit; else each lane with one is marked in the buffer at WORST.
        a: row of ``Moving``.
        found: how many candidates.
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
            if narrow_phase(table, doubtful, early, a, scratch.near[1, m]) != 0:
                hit = True
                if early:
                    break
    return hit
