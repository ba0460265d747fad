"""Parts made of spheres against moving solids, in 16 configurations."""

from __future__ import annotations

from typing import Any

import numpy as np

from galley.compiled.jit import bare_kernel
from galley.compiled.lanes import LANES, larger, load, negative, smaller, splat, store
from galley.worlds.kernel.arrays import BALLS, FRAMES, HULL, LIMIT, SHARE
from galley.worlds.kernel.confirm import certain, judged
from galley.worlds.kernel.kinematics import FRAME, moved
from galley.worlds.kernel.packed import unpack
from galley.worlds.kernel.shapes import squared, squared_local

_FREE = np.float32(1e6)


@bare_kernel
def _from_solid(table: Any, row: int, x: Any, y: Any, z: Any) -> Any:
    """Squared distance from points in the world to solid ``row`` where it is now: lanes."""
    _, _, query = unpack(table)
    if query.solid_still[row, 12] != np.float32(0.0):
        return squared(query.solids, query.solid_still, row, x, y, z)
    buffer = query.buffer
    f = query.layout[FRAMES] + query.solid_frame[row] * FRAME
    x = x - load(buffer, f + 9 * LANES)
    y = y - load(buffer, f + 10 * LANES)
    z = z - load(buffer, f + 11 * LANES)
    a = load(buffer, f) * x + load(buffer, f + 3 * LANES) * y + load(buffer, f + 6 * LANES) * z
    b = (
        load(buffer, f + LANES) * x
        + load(buffer, f + 4 * LANES) * y
        + load(buffer, f + 7 * LANES) * z
    )
    c = (
        load(buffer, f + 2 * LANES) * x
        + load(buffer, f + 5 * LANES) * y
        + load(buffer, f + 8 * LANES) * z
    )
    S = query.solid_pose[row]
    a, b, c = a - splat(S[9]), b - splat(S[10]), c - splat(S[11])
    return squared_local(
        query.solids,
        row,
        splat(S[0]) * a + splat(S[3]) * b + splat(S[6]) * c,
        splat(S[1]) * a + splat(S[4]) * b + splat(S[7]) * c,
        splat(S[2]) * a + splat(S[5]) * b + splat(S[8]) * c,
    )


@bare_kernel
def mixed_pairs_hit(table: Any, early: bool) -> bool:
    """Whether a part made of spheres is too near a moving solid."""
    robot, _, query = unpack(table)
    buffer, layout = query.buffer, query.layout
    share = load(buffer, layout[SHARE])
    first = len(query.reach) + len(query.sphere_pairs)
    hit = False
    for k in range(len(query.mixed_pairs)):
        p, row = query.mixed_pairs[k, 0], query.mixed_pairs[k, 1]
        rides = query.solid_still[row, 19] != np.float32(0.0)
        margin = splat(query.margins[0] if rides else query.margins[1])
        limit = margin + splat(query.travel[first + k]) * share
        at = layout[BALLS] + 3 * LANES * p
        x, y, z = load(buffer, at), load(buffer, at + LANES), load(buffer, at + 2 * LANES)
        t = limit + splat(robot.part_ball[p, 3])
        still = query.solid_still[row]
        if still[12] != np.float32(0.0):  # first the box around it, which is cheaper
            zero = splat(np.float32(0.0))
            u = larger(larger(splat(still[13]) - x, x - splat(still[16])), zero)
            v = larger(larger(splat(still[14]) - y, y - splat(still[17])), zero)
            w = larger(larger(splat(still[15]) - z, z - splat(still[18])), zero)
            if negative(u * u + v * v + w * w - t * t) == 0:
                continue
        if negative(_from_solid(table, row, x, y, z) - t * t) == 0:
            continue
        frame = layout[FRAMES] + robot.part_frame[p] * FRAME
        worst = sure = splat(_FREE)
        excess = robot.part_excess[p] * query.margins[2]
        for c in range(robot.part_cluster[p], robot.part_cluster[p + 1]):
            ball = robot.cluster_ball[c]
            x, y, z = moved(buffer, frame, ball[0], ball[1], ball[2])
            t = limit + splat(ball[3])
            if negative(_from_solid(table, row, x, y, z) - t * t) == 0:
                continue
            for s in range(robot.cluster_sphere[c], robot.cluster_sphere[c + 1]):
                ball = robot.sphere[s]
                x, y, z = moved(buffer, frame, ball[0], ball[1], ball[2])
                t = limit + splat(ball[3])
                d = _from_solid(table, row, x, y, z)
                worst = smaller(worst, d - t * t)
                if excess != 0.0 and query.solids.shape[row, 0] != HULL:
                    sure = smaller(sure, d - certain(t, excess))
            if excess == 0.0:  # the spheres have the last word
                sure = worst
            if early and negative(sure) != 0:
                return True
        store(buffer, layout[LIMIT], limit)
        if judged(table, worst, sure, early, p, 2, row, 0):
            hit = True
            if early:
                return True
    return hit
