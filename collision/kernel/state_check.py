"""Whether 16 configurations are free: what moves against what stands still, and each other.

A link is checked on three levels: the ball around it, its clusters' balls, its spheres; other
bodies by their ball alone. A level is checked only where the one above is too near something in
any of the 16; where the last one is, ``narrow_phase`` decides.

The limit is the distance that must be kept: the margin, and in a proof (``continuous_collision``)
also how far a body may travel in the stretch of a curve that a lane stands for. So sampled states
and the middles of stretches are checked by the same code.

Distances are compared as squares, d^2 - t^2 < 0, in 16 lanes at once. ``negative_mask`` makes a
bit of each lane; the next level is skipped if no bit is set.
"""

from __future__ import annotations

import numpy as np

from galley.collision.kernel.arrays import (
    BALLS,
    FRAMES,
    HIGH,
    HULL,
    LIMIT,
    LIMITS,
    LOW,
    OWNER,
    SHARE,
    SPARE,
    STILL,
    TRAVEL,
    WORST,
    keeps_full_margin,
)
from galley.collision.kernel.kinematics import (
    FRAME,
    frames,
    load_axis,
    load_vector,
    store_vector,
    to_world,
    travelled,
    twists,
)
from galley.collision.kernel.narrow_phase import certain_below, decide, narrow_phase
from galley.collision.kernel.packed import ROWS, int_rows_at, unpack
from galley.collision.kernel.shapes import squared
from galley.compiled.annotations import Int, Lanes, LaneTriple, Matrix, Table, Triple, Vector
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

_FREE = np.float32(1e6)  # m or m^2, farther than anything: the verdict of a free lane


@inlined
def any_in_collision(table: Table, count: int, early: bool) -> bool:
    """Whether any of the first ``count`` configurations in the buffer is too near something.

    The buffer holds the configurations, joint by joint, at Q. At SHARE it holds half the length of
    the stretch that each stands for in a proof, by the curve's parameter, and at RATES the joints'
    derivatives; for sampled states SHARE is 0. ``scratch.required`` holds what must be kept.

    With ``early`` it stops at the first hit; else every lane's result is in the buffer at WORST:
    negative where that configuration is too near.
    """
    _, _, tree, _, scratch = unpack(table)
    buffer, layout = scratch.buffer, scratch.layout
    frames(table, tree.active)
    if buffer[layout[SHARE]] != np.float32(0.0):  # a proof: speeds are needed
        twists(table)
    store(buffer, layout[WORST], splat(_FREE))
    lanes = (1 << count) - 1
    hit = obstacles_hit(table, lanes, early)
    if early and hit:
        return True
    return pairs_hit(table, lanes, early) or hit


@bare_kernel
def overlapping(bounds: Matrix, count: int, low: Triple, high: Triple, found: Int, row: int) -> int:
    """Lists in ``found[row]`` which of ``count`` boxes overlap a box; returns how many do.

    Args:
        bounds: (6, m) low x, y, z, high x, y, z of the boxes; m is a multiple of 16.
        low, high: corners of the one box, three float32 each.
        found: (., .) filled in its row with columns of ``bounds``, ascending.
    """
    width, total = bounds.shape[1], 0
    # Sixteen boxes at once, a lane each. ``apart`` is the largest gap along x, y and z: two boxes
    # overlap where it is negative.
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
            bits &= bits - 1  # clears that bit
            if k < count:  # the last lanes may hold boxes that don't count
                found[row, total] = k
                total += 1
    return total


@bare_kernel
def place_ball(table: Table, row: int) -> LaneTriple:
    """Writes the centre (x, y, z) of the ball around a row of ``Moving``, and returns it: lanes."""
    moving, _, _, _, scratch = unpack(table)
    buffer, ball = scratch.buffer, moving.ball[row]
    frame = scratch.layout[FRAMES] + moving.frame[row] * FRAME
    x, y, z = to_world(buffer, frame, ball[0], ball[1], ball[2])
    store_vector(buffer, scratch.layout[BALLS] + 3 * LANES * row, x, y, z)
    return x, y, z


@bare_kernel
def obstacles_hit(table: Table, lanes: int, early: bool) -> bool:
    """Whether something that moves is too near something that stands still.

    Boxes around balls and obstacles leave out most pairs: first a box around everything that moves,
    in all 16 configurations, then one around each row.

    Args:
        lanes: bits of those that count.
        early: stop at the first hit.
    """
    moving, obstacles, _, checks, scratch = unpack(table)
    buffer, layout, near = scratch.buffer, scratch.layout, scratch.near
    # All lanes belong to a proof, or none does: the first tells.
    margin, proving = splat(scratch.required[0]), buffer[layout[SHARE]] != np.float32(0.0)
    low_x = low_y = low_z = splat(_FREE)
    high_x = high_y = high_z = splat(-_FREE)
    for k in range(len(checks.rows)):
        row = checks.rows[k]
        x, y, z = place_ball(table, row)
        radius = moving.ball[row, 3]
        limit = margin
        if proving:  # anywhere in the stretch, each point is at most ``travelled`` from here
            limit = limit + travelled(table, moving.part[row], moving.frame[row], x, y, z, radius)
            store(buffer, layout[LIMITS] + LANES * row, limit)
        t = splat(radius) + limit
        low_x, high_x = minimum(low_x, x - t), maximum(high_x, x + t)
        low_y, high_y = minimum(low_y, y - t), maximum(high_y, y + t)
        low_z, high_z = minimum(low_z, z - t), maximum(high_z, z + t)
    low = (reduce_min(low_x), reduce_min(low_y), reduce_min(low_z))
    high = (reduce_max(high_x), reduce_max(high_y), reduce_max(high_z))
    count = overlapping(checks.bounds, len(checks.obstacles), low, high, near, 0)
    if count == 0:
        return False
    # The boxes of what is left, side by side, so that each row is tried against those only.
    bounds = scratch.near_bounds
    for m in range(count):
        for i in range(6):
            bounds[i, m] = checks.bounds[i, near[0, m]]
    hit = False
    for k in range(len(checks.rows)):
        row = checks.rows[k]
        part = moving.part[row]
        x, y, z = load_vector(buffer, layout[BALLS] + 3 * LANES * row)
        limit = load(buffer, layout[LIMITS] + LANES * row) if proving else margin
        store(buffer, layout[LIMIT], limit)  # for ``spheres_hit`` and ``narrow_phase``
        t = limit + splat(moving.ball[row, 3])
        low = (reduce_min(x - t), reduce_min(y - t), reduce_min(z - t))
        high = (reduce_max(x + t), reduce_max(y + t), reduce_max(z + t))
        t = t * t
        candidates = 0
        here = False
        for m in range(overlapping(bounds, count, low, high, near, 1)):
            # near[1] indexes near[0], which indexes the view's obstacles.
            o = checks.obstacles[near[0, near[1, m]]]
            if checks.allowed[part, obstacles.body[o]] == 0:
                bits = lanes & negative_mask(
                    squared(obstacles.solids, obstacles.pose, o, x, y, z) - t
                )
                if bits != 0:
                    # The row's ball is too near. The list of candidates takes the place of what
                    # has been read of near[1]: it never overtakes m.
                    near[1, candidates] = ~o
                    candidates += 1
                    # A body without spheres: the ball was its only level.
                    if row >= len(moving.excess) and not (early and here):
                        here = narrow_phase(table, bits, early, row, ~o) != 0 or here
        if candidates > 0 and row < len(moving.excess):
            here = spheres_hit(table, row, candidates, lanes, early)
        if here:
            hit = True
            if early:
                # What hit last is looked at first: it is likely to hit again.
                checks.rows[k], checks.rows[0] = checks.rows[0], row
                return True
    return hit


@bare_kernel
def _squared_from(table: Table, k: int, x: Lanes, y: Lanes, z: Lanes) -> Lanes:
    """Squared distance from points in the world to a row of ``Moving``: lanes."""
    moving, _, _, _, scratch = unpack(table)
    if moving.still[k, STILL] != np.float32(0.0):  # its pose in the world is known
        return squared(moving.solids, moving.still, k, x, y, z)
    # Into the frame that carries it: (a, b, c) = R^T (x - p), of each lane's own pose.
    buffer = scratch.buffer
    f = scratch.layout[FRAMES] + moving.frame[k] * FRAME
    u, v, w = load_vector(buffer, f + 9 * LANES)
    x, y, z = x - u, y - v, z - w
    u, v, w = load_axis(buffer, f)
    a = u * x + v * y + w * z
    u, v, w = load_axis(buffer, f + LANES)
    b = u * x + v * y + w * z
    u, v, w = load_axis(buffer, f + 2 * LANES)
    return squared(moving.solids, moving.pose, k, a, b, u * x + v * y + w * z)


@bare_kernel
def spheres_hit(table: Table, row: int, found: int, lanes: int, early: bool) -> bool:
    """Whether a row with spheres is too near to one of the candidates that ``near[1]`` lists.

    The row's ball is too near to each of them in some lane. The limit is in the buffer at LIMIT.

    Args:
        row: of ``Moving``, one of those with spheres.
        found: how many candidates: ~ rows of obstacles, or rows of ``Moving`` without spheres.
        lanes: bits of those that count. early: stop at the first hit.
    """
    moving, obstacles, _, checks, scratch = unpack(table)
    buffer, layout, near = scratch.buffer, scratch.layout, scratch.near
    # Negative where a sphere is too near, and where the hull itself certainly is.
    limit, worst = load(buffer, layout[LIMIT]), splat(_FREE)
    sure = worst
    excess = moving.excess[row] * checks.margins[2]  # 0 if the spheres decide
    frame = layout[FRAMES] + moving.frame[row] * FRAME
    for c in range(moving.cluster[row], moving.cluster[row + 1]):
        ball = moving.cluster_ball[c]
        x, y, z = to_world(buffer, frame, ball[0], ball[1], ball[2])
        t = limit + splat(ball[3])
        t = t * t
        count = 0
        for m in range(found):
            k = near[1, m]
            if k < 0:
                d = squared(obstacles.solids, obstacles.pose, ~k, x, y, z)
            else:
                d = _squared_from(table, k, x, y, z)
            if negative_mask(d - t) != 0:
                near[2, count] = k
                count += 1
        if count == 0:
            continue
        # The third level: this cluster's spheres against what is near the cluster.
        for s in range(moving.cluster_sphere[c], moving.cluster_sphere[c + 1]):
            ball = moving.sphere[s]
            x, y, z = to_world(buffer, frame, ball[0], ball[1], ball[2])
            t = limit + splat(ball[3])
            inner = certain_below(t, excess)
            t = t * t
            for m in range(count):
                k = near[2, m]
                if k < 0:
                    kind = obstacles.solids.shape[~k, 0]
                    d = squared(obstacles.solids, obstacles.pose, ~k, x, y, z)
                else:
                    kind = moving.solids.shape[k, 0]
                    d = _squared_from(table, k, x, y, z)
                worst = minimum(worst, d - t)
                # A hull may be farther away than its planes: no certain hit.
                if excess != 0.0 and kind != HULL:
                    sure = minimum(sure, d - inner)
        if excess == 0.0:  # the spheres decide
            sure = worst
        if early and negative_mask(sure) & lanes != 0:
            return True
    return decide(table, worst, sure, lanes, early, row, found)


full_margin = inlined(keeps_full_margin)  # for kernels


@bare_kernel
def pairs_hit(table: Table, lanes: int, early: bool) -> bool:
    """Whether two of the solids that move are too near each other.

    Args:
        lanes: bits of those that count.
        early: stop at the first hit.
    """
    moving, _, _, checks, scratch = unpack(table)
    buffer, layout = scratch.buffer, scratch.layout
    share, spheres = load(buffer, layout[SHARE]), len(moving.excess)
    first = len(checks.reach)  # where the pairs' bounds begin
    hit = False
    for k in range(len(checks.pairs)):
        a, b = checks.pairs[k, 0], checks.pairs[k, 1]
        margin = scratch.required[1]
        if full_margin(moving.still[a, OWNER], moving.still[b, OWNER]):
            margin = scratch.required[0]
        # SHARE is 0 for sampled states, so they must keep just the margin.
        limit = splat(margin) + splat(scratch.travel[TRAVEL, first + k]) * share
        i, j = layout[BALLS] + 3 * LANES * a, layout[BALLS] + 3 * LANES * b
        x, y, z = load_vector(buffer, i)
        if a < spheres <= b:  # a's ball from b itself, which may be long
            t = limit + splat(moving.ball[a, 3])
            if _beside(moving.still[b], x, y, z, t):  # cheaper: by the box around b
                continue
            bits = negative_mask(_squared_from(table, b, x, y, z) - t * t)
        else:  # ball against ball
            t = limit + splat(moving.ball[a, 3] + moving.ball[b, 3])
            u, v, w = load_vector(buffer, j)
            x, y, z = x - u, y - v, z - w
            bits = negative_mask(x * x + y * y + z * z - t * t)
        bits &= lanes
        if bits == 0:
            continue
        store(buffer, layout[LIMIT], limit)
        scratch.near[1, 0] = b
        if b < spheres:  # pairs are in order, a < b: both have spheres
            here = spheres_meet(table, a, b, lanes, early)
        elif a < spheres:
            here = spheres_hit(table, a, 1, lanes, early)
        else:
            here = narrow_phase(table, bits, early, a, b) != 0
        if here:
            hit = True
            if early:
                return True
    return hit


@bare_kernel
def _beside(still: Vector, x: Lanes, y: Lanes, z: Lanes, t: Lanes) -> bool:
    """Whether all 16 points are at least ``t`` away from the box around a row.

    Args:
        still: (20,) of the row, see ``Moving``; if the row moves, the answer is no.
    """
    if still[STILL] == np.float32(0.0):
        return False
    zero = splat(np.float32(0.0))
    u = maximum(maximum(splat(still[LOW]) - x, x - splat(still[HIGH])), zero)
    v = maximum(maximum(splat(still[LOW + 1]) - y, y - splat(still[HIGH + 1])), zero)
    w = maximum(maximum(splat(still[LOW + 2]) - z, z - splat(still[HIGH + 2])), zero)
    return negative_mask(u * u + v * v + w * w - t * t) == 0


@bare_kernel
def spheres_meet(table: Table, a: int, b: int, lanes: int, early: bool) -> bool:
    """Whether row a is too near to row b, both with spheres; the limit is in the buffer at LIMIT.

    Clusters of a against the ball of b, then against clusters of b; then spheres of a against a
    cluster of b, and at last against its spheres.

    Args:
        a, b: rows of ``Moving``; ``near[1]`` lists b.
        lanes: bits of those that count. early: stop at the first hit.
    """
    moving, _, _, checks, scratch = unpack(table)
    buffer, layout = scratch.buffer, scratch.layout
    limit, worst = load(buffer, layout[LIMIT]), splat(_FREE)
    sure = worst
    # Both hulls may lie behind their spheres; 0 if the spheres decide.
    excess = (moving.excess[a] + moving.excess[b]) * checks.margins[2]
    frame_a = layout[FRAMES] + moving.frame[a] * FRAME
    frame_b = layout[FRAMES] + moving.frame[b] * FRAME
    i, j = layout[BALLS] + 3 * LANES * a, layout[BALLS] + 3 * LANES * b
    ax, ay, az = load_vector(buffer, i)
    bx, by, bz = load_vector(buffer, j)
    # The clusters of b that are near a's ball, with their centres: in ``near[0]`` and at SPARE.
    # Behind those, at ``inner``, is room for the spheres of one of b's clusters.
    near, spare = scratch.near, layout[SPARE]
    clusters = moving.cluster[b + 1] - moving.cluster[b]
    inner = spare + 3 * LANES * clusters
    count = 0
    for c in range(moving.cluster[b], moving.cluster[b + 1]):
        ball = moving.cluster_ball[c]
        x, y, z = to_world(buffer, frame_b, ball[0], ball[1], ball[2])
        t = limit + splat(moving.ball[a, 3] + ball[3])
        u, v, w = x - ax, y - ay, z - az
        if negative_mask(u * u + v * v + w * w - t * t) != 0:
            store_vector(buffer, spare + 3 * LANES * count, x, y, z)
            near[0, count] = c
            count += 1
    for c in range(moving.cluster[a], moving.cluster[a + 1]):
        ball = moving.cluster_ball[c]
        x, y, z = to_world(buffer, frame_a, ball[0], ball[1], ball[2])
        t = limit + splat(moving.ball[b, 3] + ball[3])
        u, v, w = x - bx, y - by, z - bz
        if negative_mask(u * u + v * v + w * w - t * t) == 0:
            continue
        for m in range(count):
            other = moving.cluster_ball[near[0, m]]
            t = limit + splat(other[3] + ball[3])
            ox, oy, oz = load_vector(buffer, spare + 3 * LANES * m)
            u, v, w = x - ox, y - oy, z - oz
            if negative_mask(u * u + v * v + w * w - t * t) == 0:
                continue
            start, stop = moving.cluster_sphere[near[0, m]], moving.cluster_sphere[near[0, m] + 1]
            ready = False  # whether the centres of the other cluster's spheres are at ``inner``
            for s in range(moving.cluster_sphere[c], moving.cluster_sphere[c + 1]):
                one = moving.sphere[s]
                sx, sy, sz = to_world(buffer, frame_a, one[0], one[1], one[2])
                t = limit + splat(one[3] + other[3])
                # This sphere against the other cluster's ball, before its spheres.
                u, v, w = sx - ox, sy - oy, sz - oz
                if negative_mask(u * u + v * v + w * w - t * t) == 0:
                    continue
                if not ready:  # once for all spheres of a's cluster, and only if one needs them
                    for e in range(start, stop):
                        two = moving.sphere[e]
                        u, v, w = to_world(buffer, frame_b, two[0], two[1], two[2])
                        store_vector(buffer, inner + 3 * LANES * (e - start), u, v, w)
                    ready = True
                for e in range(start, stop):
                    u, v, w = load_vector(buffer, inner + 3 * LANES * (e - start))
                    u, v, w = sx - u, sy - v, sz - w
                    t = limit + splat(one[3] + moving.sphere[e, 3])
                    d = u * u + v * v + w * w
                    worst = minimum(worst, d - t * t)
                    if excess != 0.0:
                        sure = minimum(sure, d - certain_below(t, excess))
            if excess == 0.0:
                sure = worst
            if early and negative_mask(sure) & lanes != 0:
                return True
    return decide(table, worst, sure, lanes, early, a, 1)


@native(4)
def state_check_native(place: int, count: int, early: int, unused: int) -> int:
    """``any_in_collision`` for the table at the address ``place``: 1 if so, else 0."""
    return 1 if any_in_collision(int_rows_at(place, ROWS, 3), count, early != 0) else 0
