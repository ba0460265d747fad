"""Moving solids (a chassis, a held item, a pulled drawer) in 16 configurations.

Balls around them are looked at for all 16 at once; where one is too near, ``separation`` judges
the configurations one by one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from galley.compiled.jit import bare_kernel
from galley.compiled.lanes import (
    LANES,
    greatest,
    least,
    load,
    negative,
    splat,
    store,
)
from galley.worlds.kernel.arrays import FRAMES, LIMIT, SHARE, SOLIDS, SPARE, WORST
from galley.worlds.kernel.kinematics import FRAME, moved
from galley.worlds.kernel.packed import unpack
from galley.worlds.kernel.separation import separation
from galley.worlds.kernel.shapes import squared

_HIT = np.float32(-1.0)


@bare_kernel
def pose_of(table: Any, row: int, lane: int, out: Any) -> None:
    """Pose (12,) in the world of moving solid ``row`` in one of the 16 configurations."""
    _, _, query = unpack(table)
    buffer = query.buffer
    at = query.layout[FRAMES] + query.solid_frame[row] * FRAME + lane
    S = query.solid_pose[row]
    for i in range(3):
        a = float(buffer[at + 3 * i * LANES])
        b = float(buffer[at + (3 * i + 1) * LANES])
        c = float(buffer[at + (3 * i + 2) * LANES])
        for j in range(3):
            out[3 * i + j] = a * S[j] + b * S[3 + j] + c * S[6 + j]
        out[9 + i] = buffer[at + (9 + i) * LANES] + a * S[9] + b * S[10] + c * S[11]


@bare_kernel
def place_balls(table: Any) -> None:
    """Writes where the balls around the moving solids are: lanes."""
    _, _, query = unpack(table)
    buffer, layout = query.buffer, query.layout
    for row in range(len(query.solid_frame)):
        ball = query.solid_ball[row]
        frame = layout[FRAMES] + query.solid_frame[row] * FRAME
        x, y, z = moved(buffer, frame, ball[0], ball[1], ball[2])
        at = layout[SOLIDS] + 3 * LANES * row
        store(buffer, at, x)
        store(buffer, at + LANES, y)
        store(buffer, at + 2 * LANES, z)


@bare_kernel
def solids_hit(table: Any, count: int, early: bool) -> bool:
    """Whether a moving solid is too near something that stands still."""
    _, obstacles, query = unpack(table)
    buffer, layout = query.buffer, query.layout
    share, margin = load(buffer, layout[SHARE]), splat(query.margins[0])
    low, high = obstacles.low, obstacles.high
    place_balls(table)
    hit = False
    for k in range(len(query.solid_parts)):
        row = query.solid_parts[k]
        part = query.solid_part[row]
        at = layout[SOLIDS] + 3 * LANES * row
        x, y, z = load(buffer, at), load(buffer, at + LANES), load(buffer, at + 2 * LANES)
        limit = margin + splat(query.travel[part]) * share
        store(buffer, layout[LIMIT], limit)
        t = limit + splat(query.solid_ball[row, 3])
        low_x, high_x = least(x - t), greatest(x + t)
        low_y, high_y = least(y - t), greatest(y + t)
        low_z, high_z = least(z - t), greatest(z + t)
        t = t * t
        for m in range(len(query.obstacles)):
            o = query.obstacles[m]
            if (
                low[o, 0] < high_x
                and high[o, 0] > low_x
                and low[o, 1] < high_y
                and high[o, 1] > low_y
                and low[o, 2] < high_z
                and high[o, 2] > low_z
                and query.allowed[part, obstacles.body[o]] == 0
            ):
                d = squared(obstacles.solids, obstacles.pose, o, x, y, z) - t
                if negative(d) != 0:
                    store(buffer, layout[SPARE], d)
                    if _one_by_one(table, row, o, count, early):
                        hit = True
                        if early:
                            return True
    return hit


@bare_kernel
def _one_by_one(table: Any, row: int, o: int, count: int, early: bool) -> bool:
    """Solid ``row`` against obstacle o, in the configurations where its ball is too near."""
    _, obstacles, query = unpack(table)
    buffer, layout = query.buffer, query.layout
    X, Y, W = query.work[0], query.work[1], query.work[2]
    for i in range(12):
        Y[i] = obstacles.pose[o, i]
    hit = False
    for lane in range(count):
        if buffer[layout[SPARE] + lane] >= 0.0 or buffer[layout[WORST] + lane] < 0.0:
            continue
        limit = float(buffer[layout[LIMIT] + lane])
        pose_of(table, row, lane, X)
        if separation(query.solids, row, X, obstacles.solids, o, Y, limit, W) < limit:
            buffer[layout[WORST] + lane] = _HIT
            hit = True
            if early:
                return True
    return hit


@bare_kernel
def solid_pairs_hit(table: Any, count: int, early: bool) -> bool:
    """Whether two moving solids are too near each other."""
    _, _, query = unpack(table)
    buffer, layout = query.buffer, query.layout
    share = load(buffer, layout[SHARE])
    first = len(query.reach) + len(query.sphere_pairs) + len(query.mixed_pairs)
    place_balls(table)
    X, Y, W = query.work[0], query.work[1], query.work[2]
    hit = False
    for k in range(len(query.solid_pairs)):
        a, b = query.solid_pairs[k, 0], query.solid_pairs[k, 1]
        i, j = layout[SOLIDS] + 3 * LANES * a, layout[SOLIDS] + 3 * LANES * b
        x = load(buffer, i) - load(buffer, j)
        y = load(buffer, i + LANES) - load(buffer, j + LANES)
        z = load(buffer, i + 2 * LANES) - load(buffer, j + 2 * LANES)
        rides = query.solid_still[a, 19] + query.solid_still[b, 19] != np.float32(0.0)
        margin = splat(query.margins[0] if rides else query.margins[1])
        limit = margin + splat(query.travel[first + k]) * share
        t = limit + splat(query.solid_ball[a, 3] + query.solid_ball[b, 3])
        d = x * x + y * y + z * z - t * t
        if negative(d) == 0:
            continue
        store(buffer, layout[LIMIT], limit)
        store(buffer, layout[SPARE], d)
        for lane in range(count):
            if buffer[layout[SPARE] + lane] >= np.float32(0.0):
                continue
            kept = float(buffer[layout[LIMIT] + lane])
            pose_of(table, a, lane, X)
            pose_of(table, b, lane, Y)
            if separation(query.solids, a, X, query.solids, b, Y, kept, W) < kept:
                buffer[layout[WORST] + lane] = _HIT
                hit = True
                if early:
                    return True
    return hit
