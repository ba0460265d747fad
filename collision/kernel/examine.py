"""Are 16 configurations free? The spheres against obstacles, and against each other.

Three levels: a part's ball, its clusters' balls, its spheres. A level is checked only where the one
above is too near something in any of the 16. A part's limit is the distance it must keep: the
margin, and in proofs also how far it may travel in the stretch of a curve that a lane stands for.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from galley.collision.kernel.arrays import (
    BALLS,
    FRAMES,
    HULL,
    LIMIT,
    LIMITS,
    RATES,
    SHARE,
    SPARE,
    TRAVEL,
    TWISTS,
    WORST,
    Q,
)
from galley.collision.kernel.confirm import certain_below, decide
from galley.collision.kernel.kinematics import FRAME, frames, to_world, travelled, twists
from galley.collision.kernel.packed import ROWS, int_rows_at, unpack
from galley.collision.kernel.shapes import squared
from galley.collision.kernel.solids import mixed_pairs_hit, solid_pairs_hit, solids_hit
from galley.compiled.jit import bare_kernel, inlined, native
from galley.compiled.lanes import (
    LANES,
    load,
    lowest_set_bit,
    maximum,
    minimum,
    negative_mask,
    reduce_max,
    reduce_min,
    splat,
    store,
)

_FREE = np.float32(1e6)


@inlined
def examine(table: Any, count: int, early: bool) -> bool:
    """Whether any of the first ``count`` configurations in the buffer is too near something.

    The buffer holds the configurations (joint by joint) and each lane's share of the edge's
    travel. With ``early`` it stops at the first hit; else every lane's result is in the buffer at
    WORST: negative where that configuration is too near.
    """
    _, _, tree, _, checks, scratch = unpack(table)
    buffer, layout = scratch.buffer, scratch.layout
    frames(tree.active, tree.parent, tree.fixed, tree.prismatic, buffer, layout[Q], layout[FRAMES])
    if buffer[layout[SHARE]] != np.float32(0.0):
        twists(
            tree.active, tree.parent, tree.prismatic, buffer,
            layout[RATES], layout[FRAMES], layout[TWISTS],
        )  # fmt: skip
    store(buffer, layout[WORST], splat(_FREE))
    hit = parts_hit(table, early)
    if early and hit:
        return True
    if len(checks.solid_parts) > 0:
        hit = solids_hit(table, count, early) or hit
        if early and hit:
            return True
    hit = sphere_pairs_hit(table, early) or hit
    if early and hit:
        return True
    if len(checks.mixed_pairs) > 0:
        hit = mixed_pairs_hit(table, early) or hit
        if early and hit:
            return True
    if len(checks.solid_pairs) > 0:
        hit = solid_pairs_hit(table, count, early) or hit
    return hit


@bare_kernel
def overlapping(bounds: Any, count: int, low: Any, high: Any, found: Any, row: int) -> int:
    """Lists in ``found[row]`` which of ``count`` boxes overlap a box; returns how many do.

    Args:
        bounds: (6, m) low x, y, z, high x, y, z of the boxes.
        low, high: corners of the one box, three float32 each.
    """
    width, total = bounds.shape[1], 0
    for first in range(0, count, LANES):
        apart = maximum(
            load(bounds, first) - splat(high[0]), splat(low[0]) - load(bounds, 3 * width + first)
        )
        apart = maximum(apart, load(bounds, width + first) - splat(high[1]))
        apart = maximum(apart, splat(low[1]) - load(bounds, 4 * width + first))
        apart = maximum(apart, load(bounds, 2 * width + first) - splat(high[2]))
        apart = maximum(apart, splat(low[2]) - load(bounds, 5 * width + first))
        bits = negative_mask(apart)
        while bits != 0:
            k = first + lowest_set_bit(bits)
            bits &= bits - 1
            if k < count:
                found[row, total] = k
                total += 1
    return total


@bare_kernel
def parts_hit(table: Any, early: bool) -> bool:
    """Whether a part made of spheres is too near something that stands still."""
    robot, obstacles, _, _, checks, scratch = unpack(table)
    buffer, layout, near = scratch.buffer, scratch.layout, scratch.near
    margin, proving = splat(checks.margins[0]), buffer[layout[SHARE]] != np.float32(0.0)
    low_x = low_y = low_z = splat(_FREE)
    high_x = high_y = high_z = splat(-_FREE)
    for k in range(len(checks.parts)):
        p = checks.parts[k]
        ball = robot.part_ball[p]
        frame = layout[FRAMES] + robot.part_frame[p] * FRAME
        x, y, z = to_world(buffer, frame, ball[0], ball[1], ball[2])
        at = layout[BALLS] + 3 * LANES * p
        store(buffer, at, x)
        store(buffer, at + LANES, y)
        store(buffer, at + 2 * LANES, z)
        limit = margin
        if proving:
            limit = margin + travelled(table, p, robot.part_frame[p], x, y, z, ball[3])
            store(buffer, layout[LIMITS] + LANES * p, limit)
        t = splat(ball[3]) + limit
        low_x, high_x = minimum(low_x, x - t), maximum(high_x, x + t)
        low_y, high_y = minimum(low_y, y - t), maximum(high_y, y + t)
        low_z, high_z = minimum(low_z, z - t), maximum(high_z, z + t)
    # First what is near the robot as a whole, then for each part what is near it.
    low = (reduce_min(low_x), reduce_min(low_y), reduce_min(low_z))
    high = (reduce_max(high_x), reduce_max(high_y), reduce_max(high_z))
    count = overlapping(checks.bounds, len(checks.obstacles), low, high, near, 0)
    if count == 0:
        return False
    bounds = scratch.near_bounds
    for m in range(count):
        for i in range(6):
            bounds[i, m] = checks.bounds[i, near[0, m]]
    hit = False
    for k in range(len(checks.parts)):
        p = checks.parts[k]
        at = layout[BALLS] + 3 * LANES * p
        x, y, z = load(buffer, at), load(buffer, at + LANES), load(buffer, at + 2 * LANES)
        limit = load(buffer, layout[LIMITS] + LANES * p) if proving else margin
        t = limit + splat(robot.part_ball[p, 3])
        low = (reduce_min(x - t), reduce_min(y - t), reduce_min(z - t))
        high = (reduce_max(x + t), reduce_max(y + t), reduce_max(z + t))
        t = t * t
        found = 0
        for m in range(overlapping(bounds, count, low, high, near, 1)):
            o = checks.obstacles[near[0, near[1, m]]]
            if checks.allowed[p, obstacles.body[o]] == 0:
                d = squared(obstacles.solids, obstacles.pose, o, x, y, z)
                if negative_mask(d - t) != 0:
                    near[1, found] = o
                    found += 1
        if found > 0:
            store(buffer, layout[LIMIT], limit)
            if clusters_hit(table, p, found, early):
                hit = True
                if early:
                    # What hit last is looked at first: it is likely to hit again.
                    checks.parts[k], checks.parts[0] = checks.parts[0], p
                    return True
    return hit


@bare_kernel
def clusters_hit(table: Any, p: int, found: int, early: bool) -> bool:
    """Whether a sphere of part p is too near one of the ``found`` obstacles listed as near."""
    robot, obstacles, _, _, checks, scratch = unpack(table)
    buffer, layout, near = scratch.buffer, scratch.layout, scratch.near
    limit, worst = load(buffer, layout[LIMIT]), splat(_FREE)
    sure = worst
    excess = robot.part_excess[p] * checks.margins[2]
    frame = layout[FRAMES] + robot.part_frame[p] * FRAME
    for c in range(robot.part_cluster[p], robot.part_cluster[p + 1]):
        ball = robot.cluster_ball[c]
        x, y, z = to_world(buffer, frame, ball[0], ball[1], ball[2])
        t = limit + splat(ball[3])
        t = t * t
        count = 0
        for m in range(found):
            o = near[1, m]
            d = squared(obstacles.solids, obstacles.pose, o, x, y, z)
            if negative_mask(d - t) != 0:
                near[2, count] = o
                count += 1
        if count == 0:
            continue
        for s in range(robot.cluster_sphere[c], robot.cluster_sphere[c + 1]):
            ball = robot.sphere[s]
            x, y, z = to_world(buffer, frame, ball[0], ball[1], ball[2])
            t = limit + splat(ball[3])
            inner = certain_below(t, excess)
            t = t * t
            for m in range(count):
                o = near[2, m]
                d = squared(obstacles.solids, obstacles.pose, o, x, y, z)
                worst = minimum(worst, d - t)
                # A hull may be farther away than its planes: no certain hit.
                if excess != 0.0 and obstacles.solids.shape[o, 0] != HULL:
                    sure = minimum(sure, d - inner)
        if excess == 0.0:  # the spheres decide
            sure = worst
        if early and negative_mask(sure) != 0:
            return True
    return decide(table, worst, sure, early, p, 0, 0, found)


@bare_kernel
def sphere_pairs_hit(table: Any, early: bool) -> bool:
    """Whether two parts made of spheres are too near each other."""
    robot, _, _, _, checks, scratch = unpack(table)
    buffer, layout = scratch.buffer, scratch.layout
    share, margin = load(buffer, layout[SHARE]), splat(checks.margins[1])
    first = len(checks.reach)  # where the pairs' bounds begin
    hit = False
    for k in range(len(checks.sphere_pairs)):
        a, b = checks.sphere_pairs[k, 0], checks.sphere_pairs[k, 1]
        i, j = layout[BALLS] + 3 * LANES * a, layout[BALLS] + 3 * LANES * b
        x = load(buffer, i) - load(buffer, j)
        y = load(buffer, i + LANES) - load(buffer, j + LANES)
        z = load(buffer, i + 2 * LANES) - load(buffer, j + 2 * LANES)
        limit = margin + splat(scratch.travel[TRAVEL, first + k]) * share
        t = limit + splat(robot.part_ball[a, 3] + robot.part_ball[b, 3])
        if negative_mask(x * x + y * y + z * z - t * t) != 0:
            store(buffer, layout[LIMIT], limit)
            if pair_hit(table, a, b, early):
                hit = True
                if early:
                    return True
    return hit


@bare_kernel
def pair_hit(table: Any, a: int, b: int, early: bool) -> bool:
    """Whether a sphere of part a is too near one of part b."""
    robot, _, _, _, checks, scratch = unpack(table)
    buffer, layout = scratch.buffer, scratch.layout
    limit, worst = load(buffer, layout[LIMIT]), splat(_FREE)
    sure = worst
    excess = (robot.part_excess[a] + robot.part_excess[b]) * checks.margins[2]
    frame_a = layout[FRAMES] + robot.part_frame[a] * FRAME
    frame_b = layout[FRAMES] + robot.part_frame[b] * FRAME
    i, j = layout[BALLS] + 3 * LANES * a, layout[BALLS] + 3 * LANES * b
    ax, ay, az = load(buffer, i), load(buffer, i + LANES), load(buffer, i + 2 * LANES)
    bx, by, bz = load(buffer, j), load(buffer, j + LANES), load(buffer, j + 2 * LANES)
    # The clusters of b that are near a's ball, with their centres.
    near, spare = scratch.near, layout[SPARE]
    clusters = robot.part_cluster[b + 1] - robot.part_cluster[b]
    inner = spare + 3 * LANES * clusters
    count = 0
    for c in range(robot.part_cluster[b], robot.part_cluster[b + 1]):
        ball = robot.cluster_ball[c]
        x, y, z = to_world(buffer, frame_b, ball[0], ball[1], ball[2])
        t = limit + splat(robot.part_ball[a, 3] + ball[3])
        u, v, w = x - ax, y - ay, z - az
        if negative_mask(u * u + v * v + w * w - t * t) != 0:
            store(buffer, spare + 3 * LANES * count, x)
            store(buffer, spare + 3 * LANES * count + LANES, y)
            store(buffer, spare + 3 * LANES * count + 2 * LANES, z)
            near[0, count] = c
            count += 1
    for c in range(robot.part_cluster[a], robot.part_cluster[a + 1]):
        ball = robot.cluster_ball[c]
        x, y, z = to_world(buffer, frame_a, ball[0], ball[1], ball[2])
        t = limit + splat(robot.part_ball[b, 3] + ball[3])
        u, v, w = x - bx, y - by, z - bz
        if negative_mask(u * u + v * v + w * w - t * t) == 0:
            continue
        for m in range(count):
            other = robot.cluster_ball[near[0, m]]
            t = limit + splat(other[3] + ball[3])
            u = x - load(buffer, spare + 3 * LANES * m)
            v = y - load(buffer, spare + 3 * LANES * m + LANES)
            w = z - load(buffer, spare + 3 * LANES * m + 2 * LANES)
            if negative_mask(u * u + v * v + w * w - t * t) == 0:
                continue
            start, stop = robot.cluster_sphere[near[0, m]], robot.cluster_sphere[near[0, m] + 1]
            ready = False  # whether the other cluster's spheres stand at ``inner``
            for s in range(robot.cluster_sphere[c], robot.cluster_sphere[c + 1]):
                one = robot.sphere[s]
                sx, sy, sz = to_world(buffer, frame_a, one[0], one[1], one[2])
                t = limit + splat(one[3] + other[3])
                # This sphere against the other cluster's ball, before its spheres.
                u = sx - load(buffer, spare + 3 * LANES * m)
                v = sy - load(buffer, spare + 3 * LANES * m + LANES)
                w = sz - load(buffer, spare + 3 * LANES * m + 2 * LANES)
                if negative_mask(u * u + v * v + w * w - t * t) == 0:
                    continue
                if not ready:
                    for e in range(start, stop):
                        two = robot.sphere[e]
                        u, v, w = to_world(buffer, frame_b, two[0], two[1], two[2])
                        at = inner + 3 * LANES * (e - start)
                        store(buffer, at, u)
                        store(buffer, at + LANES, v)
                        store(buffer, at + 2 * LANES, w)
                    ready = True
                for e in range(start, stop):
                    at = inner + 3 * LANES * (e - start)
                    u = sx - load(buffer, at)
                    v = sy - load(buffer, at + LANES)
                    w = sz - load(buffer, at + 2 * LANES)
                    t = limit + splat(one[3] + robot.sphere[e, 3])
                    d = u * u + v * v + w * w
                    worst = minimum(worst, d - t * t)
                    if excess != 0.0:
                        sure = minimum(sure, d - certain_below(t, excess))
            if excess == 0.0:
                sure = worst
            if early and negative_mask(sure) != 0:
                return True
    return decide(table, worst, sure, early, a, 1, b, 0)


@native(4)
def examine_native(place: int, count: int, early: int, unused: int) -> int:
    """``examine`` for the table at an address: 1 if something is too near, else 0."""
    return 1 if examine(int_rows_at(place, ROWS, 3), count, early != 0) else 0
