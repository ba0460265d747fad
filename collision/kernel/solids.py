"""Moving solids (a chassis, a held item, a pulled drawer) in 16 configurations.

Against obstacles and each other: the balls around them for all 16 at once; where one is too near,
``separation`` checks the configurations one by one. Against parts made of spheres: level by level,
then ``confirm``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from galley.collision.kernel.arrays import (
    ATTACHED,
    BALLS,
    FRAMES,
    HIGH,
    HULL,
    LIMIT,
    LOW,
    SHARE,
    SOLIDS,
    SPARE,
    STILL,
    TRAVEL,
    WORST,
)
from galley.collision.kernel.confirm import certain_below, decide
from galley.collision.kernel.kinematics import FRAME, pose_of, to_world, travelled
from galley.collision.kernel.packed import unpack
from galley.collision.kernel.separation import separation
from galley.collision.kernel.shapes import squared, squared_local
from galley.compiled.jit import bare_kernel
from galley.compiled.lanes import (
    LANES,
    load,
    maximum,
    minimum,
    negative_mask,
    reduce_max,
    reduce_min,
    splat,
    store,
)

_FREE = np.float32(1e6)
_HIT = np.float32(-1.0)


@bare_kernel
def place_balls(table: Any) -> None:
    """Writes where the balls around the moving solids are: lanes."""
    _, _, _, movers, _, scratch = unpack(table)
    buffer, layout = scratch.buffer, scratch.layout
    for row in range(len(movers.frame)):
        ball = movers.ball[row]
        frame = layout[FRAMES] + movers.frame[row] * FRAME
        x, y, z = to_world(buffer, frame, ball[0], ball[1], ball[2])
        at = layout[SOLIDS] + 3 * LANES * row
        store(buffer, at, x)
        store(buffer, at + LANES, y)
        store(buffer, at + 2 * LANES, z)


@bare_kernel
def solids_hit(table: Any, count: int, early: bool) -> bool:
    """Whether a moving solid is too near something that stands still."""
    _, obstacles, _, movers, checks, scratch = unpack(table)
    buffer, layout = scratch.buffer, scratch.layout
    margin, proving = splat(checks.margins[0]), buffer[layout[SHARE]] != np.float32(0.0)
    low, high = obstacles.low, obstacles.high
    place_balls(table)
    hit = False
    for k in range(len(checks.solid_parts)):
        row = checks.solid_parts[k]
        part = movers.part[row]
        at = layout[SOLIDS] + 3 * LANES * row
        x, y, z = load(buffer, at), load(buffer, at + LANES), load(buffer, at + 2 * LANES)
        limit = margin
        if proving:
            limit = margin + travelled(table, part, movers.frame[row], x, y, z, movers.ball[row, 3])
        store(buffer, layout[LIMIT], limit)
        t = limit + splat(movers.ball[row, 3])
        low_x, high_x = reduce_min(x - t), reduce_max(x + t)
        low_y, high_y = reduce_min(y - t), reduce_max(y + t)
        low_z, high_z = reduce_min(z - t), reduce_max(z + t)
        t = t * t
        for m in range(len(checks.obstacles)):
            o = checks.obstacles[m]
            if (
                low[o, 0] < high_x
                and high[o, 0] > low_x
                and low[o, 1] < high_y
                and high[o, 1] > low_y
                and low[o, 2] < high_z
                and high[o, 2] > low_z
                and checks.allowed[part, obstacles.body[o]] == 0
            ):
                d = squared(obstacles.solids, obstacles.pose, o, x, y, z) - t
                if negative_mask(d) != 0:
                    store(buffer, layout[SPARE], d)
                    if _one_by_one(table, row, o, count, early):
                        hit = True
                        if early:
                            return True
    return hit


@bare_kernel
def _one_by_one(table: Any, row: int, o: int, count: int, early: bool) -> bool:
    """Solid ``row`` against obstacle o, in the configurations where its ball is too near."""
    _, obstacles, _, movers, _, scratch = unpack(table)
    buffer, layout = scratch.buffer, scratch.layout
    X, Y, W = scratch.work[0], scratch.work[1], scratch.work[2]
    for i in range(12):
        Y[i] = obstacles.pose[o, i]
    hit = False
    for lane in range(count):
        if buffer[layout[SPARE] + lane] >= 0.0 or buffer[layout[WORST] + lane] < 0.0:
            continue
        limit = np.float64(buffer[layout[LIMIT] + lane])
        pose_of(table, row, lane, X)
        if separation(movers.solids, row, X, obstacles.solids, o, Y, limit, W) < limit:
            buffer[layout[WORST] + lane] = _HIT
            hit = True
            if early:
                return True
    return hit


@bare_kernel
def solid_pairs_hit(table: Any, count: int, early: bool) -> bool:
    """Whether two moving solids are too near each other."""
    _, _, _, movers, checks, scratch = unpack(table)
    buffer, layout = scratch.buffer, scratch.layout
    share = load(buffer, layout[SHARE])
    first = len(checks.reach) + len(checks.sphere_pairs) + len(checks.mixed_pairs)
    place_balls(table)
    X, Y, W = scratch.work[0], scratch.work[1], scratch.work[2]
    hit = False
    for k in range(len(checks.solid_pairs)):
        a, b = checks.solid_pairs[k, 0], checks.solid_pairs[k, 1]
        i, j = layout[SOLIDS] + 3 * LANES * a, layout[SOLIDS] + 3 * LANES * b
        x = load(buffer, i) - load(buffer, j)
        y = load(buffer, i + LANES) - load(buffer, j + LANES)
        z = load(buffer, i + 2 * LANES) - load(buffer, j + 2 * LANES)
        attached = movers.still[a, ATTACHED] + movers.still[b, ATTACHED] != np.float32(0.0)
        margin = splat(checks.margins[0] if attached else checks.margins[1])
        limit = margin + splat(scratch.travel[TRAVEL, first + k]) * share
        t = limit + splat(movers.ball[a, 3] + movers.ball[b, 3])
        d = x * x + y * y + z * z - t * t
        if negative_mask(d) == 0:
            continue
        store(buffer, layout[LIMIT], limit)
        store(buffer, layout[SPARE], d)
        for lane in range(count):
            if buffer[layout[SPARE] + lane] >= np.float32(0.0):
                continue
            kept = np.float64(buffer[layout[LIMIT] + lane])
            pose_of(table, a, lane, X)
            pose_of(table, b, lane, Y)
            if separation(movers.solids, a, X, movers.solids, b, Y, kept, W) < kept:
                buffer[layout[WORST] + lane] = _HIT
                hit = True
                if early:
                    return True
    return hit


@bare_kernel
def _from_solid(table: Any, row: int, x: Any, y: Any, z: Any) -> Any:
    """Squared distance from points in the world to solid ``row`` where it is now: lanes."""
    _, _, _, movers, _, scratch = unpack(table)
    if movers.still[row, STILL] != np.float32(0.0):
        return squared(movers.solids, movers.still, row, x, y, z)
    buffer = scratch.buffer
    f = scratch.layout[FRAMES] + movers.frame[row] * FRAME
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
    S = movers.pose[row]
    a, b, c = a - splat(S[9]), b - splat(S[10]), c - splat(S[11])
    return squared_local(
        movers.solids,
        row,
        splat(S[0]) * a + splat(S[3]) * b + splat(S[6]) * c,
        splat(S[1]) * a + splat(S[4]) * b + splat(S[7]) * c,
        splat(S[2]) * a + splat(S[5]) * b + splat(S[8]) * c,
    )


@bare_kernel
def mixed_pairs_hit(table: Any, early: bool) -> bool:
    """Whether a part made of spheres is too near a moving solid."""
    robot, _, _, movers, checks, scratch = unpack(table)
    buffer, layout = scratch.buffer, scratch.layout
    share = load(buffer, layout[SHARE])
    first = len(checks.reach) + len(checks.sphere_pairs)
    hit = False
    for k in range(len(checks.mixed_pairs)):
        p, row = checks.mixed_pairs[k, 0], checks.mixed_pairs[k, 1]
        attached = movers.still[row, ATTACHED] != np.float32(0.0)
        margin = splat(checks.margins[0] if attached else checks.margins[1])
        limit = margin + splat(scratch.travel[TRAVEL, first + k]) * share
        at = layout[BALLS] + 3 * LANES * p
        x, y, z = load(buffer, at), load(buffer, at + LANES), load(buffer, at + 2 * LANES)
        t = limit + splat(robot.part_ball[p, 3])
        still = movers.still[row]
        if still[STILL] != np.float32(0.0):  # first the box around it, which is cheaper
            zero = splat(np.float32(0.0))
            u = maximum(maximum(splat(still[LOW]) - x, x - splat(still[HIGH])), zero)
            v = maximum(maximum(splat(still[LOW + 1]) - y, y - splat(still[HIGH + 1])), zero)
            w = maximum(maximum(splat(still[LOW + 2]) - z, z - splat(still[HIGH + 2])), zero)
            if negative_mask(u * u + v * v + w * w - t * t) == 0:
                continue
        if negative_mask(_from_solid(table, row, x, y, z) - t * t) == 0:
            continue
        frame = layout[FRAMES] + robot.part_frame[p] * FRAME
        worst = sure = splat(_FREE)
        excess = robot.part_excess[p] * checks.margins[2]
        for c in range(robot.part_cluster[p], robot.part_cluster[p + 1]):
            ball = robot.cluster_ball[c]
            x, y, z = to_world(buffer, frame, ball[0], ball[1], ball[2])
            t = limit + splat(ball[3])
            if negative_mask(_from_solid(table, row, x, y, z) - t * t) == 0:
                continue
            for s in range(robot.cluster_sphere[c], robot.cluster_sphere[c + 1]):
                ball = robot.sphere[s]
                x, y, z = to_world(buffer, frame, ball[0], ball[1], ball[2])
                t = limit + splat(ball[3])
                d = _from_solid(table, row, x, y, z)
                worst = minimum(worst, d - t * t)
                if excess != 0.0 and movers.solids.shape[row, 0] != HULL:
                    sure = minimum(sure, d - certain_below(t, excess))
            if excess == 0.0:  # the spheres decide
                sure = worst
            if early and negative_mask(sure) != 0:
                return True
        store(buffer, layout[LIMIT], limit)
        if decide(table, worst, sure, early, p, 2, row, 0):
            hit = True
            if early:
                return True
    return hit
