"""Distances between bodies.

``distances`` is for one configuration, for explanations and reports. ``nearby`` is for many, for
optimisation: distances of hulls and solids pair by pair, with their gradients.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from galley.collision.kernel.arrays import ATTACHED, FRAMES, Q
from galley.collision.kernel.examine import overlapping
from galley.collision.kernel.kinematics import FRAME, frame_at, frames, pose_of
from galley.collision.kernel.packed import unpack
from galley.collision.kernel.prepare import place_everything
from galley.collision.kernel.separation import apart, separation, witness
from galley.collision.kernel.shapes import signed
from galley.compiled.jit import bare_kernel, entry
from galley.compiled.lanes import LANES

# Columns of a row that ``nearby`` writes; the gradient comes last.
ROW, DISTANCE, REQUIRED, GRADIENT = 0, 1, 2, 3


@bare_kernel
def distances(table: Any, cap: float, scene: Any, between: Any) -> None:
    """Least distances (m, at most ``cap``) at ``tree.q``, which must stand in the buffer.

    Where things are apart, exact to rounding; where they overlap, minus the depth of the deepest
    sphere, or of two solids along their faces' normals. Only what ``Checks`` lists is checked:
    parts that move against what stands still, pairs whose distance may change.

    Args:
        scene: (P, B) filled: part against body. between: (P, P) filled: part against part.
    """
    robot, obstacles, _, movers, checks, scratch = unpack(table)
    scene[:] = cap
    between[:] = cap
    buffer, at = scratch.buffer, scratch.layout[FRAMES]
    X, Y = scratch.work[0], scratch.work[1]
    for k in range(len(checks.parts)):
        p = checks.parts[k]
        frame = at + robot.part_frame[p] * FRAME
        for m in range(len(checks.obstacles)):
            o = checks.obstacles[m]
            if checks.allowed[p, obstacles.body[o]] != 0:
                continue
            b = obstacles.body[o]
            for i in range(12):
                Y[i] = obstacles.pose[o, i]
            best = spheres_from_solid(table, p, frame, obstacles.solids, o, Y, scene[p, b])
            if best < scene[p, b]:  # the hulls are exact where they are apart
                frame_at(buffer, frame, 0, X)
                best = max(best, _hulls_apart(table, p, X, obstacles.solids, o, o + 1, Y))
                scene[p, b] = min(scene[p, b], best)
    for k in range(len(checks.solid_parts)):
        row = checks.solid_parts[k]
        p = movers.part[row]
        pose_of(table, row, 0, X)
        for m in range(len(checks.obstacles)):
            o = checks.obstacles[m]
            b = obstacles.body[o]
            if checks.allowed[p, b] == 0 and not _far(table, row, o, scene[p, b]):
                for i in range(12):
                    Y[i] = obstacles.pose[o, i]
                d = apart(movers.solids, row, X, obstacles.solids, o, Y, scratch.work[2])
                scene[p, b] = min(scene[p, b], d)
    for k in range(len(checks.sphere_pairs)):
        a, b = checks.sphere_pairs[k, 0], checks.sphere_pairs[k, 1]
        d = spheres_apart(table, at, a, b, cap)
        if d < cap:
            frame_at(buffer, at + robot.part_frame[a] * FRAME, 0, X)
            frame_at(buffer, at + robot.part_frame[b] * FRAME, 0, Y)
            first, last = robot.part_hull[b], robot.part_hull[b + 1]
            d = max(d, _hulls_apart(table, a, X, robot.hulls, first, last, Y))
        between[a, b] = min(cap, d)
    for k in range(len(checks.mixed_pairs)):
        p, row = checks.mixed_pairs[k, 0], checks.mixed_pairs[k, 1]
        other = movers.part[row]
        pose_of(table, row, 0, Y)
        frame = at + robot.part_frame[p] * FRAME
        best = spheres_from_solid(table, p, frame, movers.solids, row, Y, between[p, other])
        if best < between[p, other]:
            frame_at(buffer, frame, 0, X)
            best = max(best, _hulls_apart(table, p, X, movers.solids, row, row + 1, Y))
            between[p, other] = min(between[p, other], best)
    for k in range(len(checks.solid_pairs)):
        a, b = checks.solid_pairs[k, 0], checks.solid_pairs[k, 1]
        pose_of(table, a, 0, X)
        pose_of(table, b, 0, Y)
        i, j = movers.part[a], movers.part[b]
        d = apart(movers.solids, a, X, movers.solids, b, Y, scratch.work[2])
        between[i, j] = min(between[i, j], d)


@entry("i8:2 i8:1 f8:1 f8 f8:2 f8:2")
@bare_kernel
def distances_at(table: Any, every: Any, q: Any, cap: float, scene: Any, between: Any) -> None:
    """``distances`` at values q (n,) of all joints; the arrays are left as they were."""
    _, _, tree, _, _, scratch = unpack(table)
    for j in range(len(q)):
        scratch.full[j] = tree.q[j]
        tree.q[j] = q[j]
    place_everything(table, every)
    distances(table, cap, scene, between)
    for j in range(len(q)):
        tree.q[j] = scratch.full[j]
    place_everything(table, every)


@bare_kernel
def _hulls_apart(table: Any, p: int, X: Any, B: Any, first: int, last: int, Y: Any) -> float:
    """Distance (m) from the hulls of part p, at X (12,), to rows of B at Y; -1 if they overlap."""
    robot, _, _, _, _, scratch = unpack(table)
    best = 1e9
    for h in range(robot.part_hull[p], robot.part_hull[p + 1]):
        for k in range(first, last):
            d = separation(robot.hulls, h, X, B, k, Y, -1.0, scratch.work[2])
            best = min(best, d)
    return best


@bare_kernel
def _far(table: Any, row: int, o: int, limit: float) -> bool:
    """Whether the ball around a moving solid is ``limit`` away from the box around an obstacle."""
    _, obstacles, _, movers, _, scratch = unpack(table)
    ball = movers.ball[row]
    frame = scratch.layout[FRAMES] + movers.frame[row] * FRAME
    x, y, z = centre_of(scratch.buffer, frame, ball)
    low, high = obstacles.low[o], obstacles.high[o]
    a = max(low[0] - x, x - high[0], 0.0)
    b = max(low[1] - y, y - high[1], 0.0)
    c = max(low[2] - z, z - high[2], 0.0)
    reach = max(limit, 0.0) + ball[3]
    return a * a + b * b + c * c > reach * reach


@bare_kernel
def centre_of(buffer: Any, frame: int, ball: Any) -> Any:
    """A ball's centre in the world; ``frame`` plus a lane for another of the 16 configurations."""
    x, y, z = float(ball[0]), float(ball[1]), float(ball[2])
    return (
        buffer[frame + 9 * LANES]
        + buffer[frame] * x
        + buffer[frame + LANES] * y
        + buffer[frame + 2 * LANES] * z,
        buffer[frame + 10 * LANES]
        + buffer[frame + 3 * LANES] * x
        + buffer[frame + 4 * LANES] * y
        + buffer[frame + 5 * LANES] * z,
        buffer[frame + 11 * LANES]
        + buffer[frame + 6 * LANES] * x
        + buffer[frame + 7 * LANES] * y
        + buffer[frame + 8 * LANES] * z,
    )


@bare_kernel
def spheres_from_solid(
    table: Any, p: int, frame: int, solids: Any, row: int, X: Any, cap: float
) -> float:
    """Least distance (m, at most ``cap``) between the spheres of a part and a solid at X (12,).

    Args:
        frame: where the pose of the part's frame stands in the buffer, plus a lane.
    """
    robot, _, _, _, _, scratch = unpack(table)
    buffer = scratch.buffer
    if ball_from_solid(solids, row, X, buffer, frame, robot.part_ball[p]) >= cap:
        return cap
    best = cap
    for c in range(robot.part_cluster[p], robot.part_cluster[p + 1]):
        if ball_from_solid(solids, row, X, buffer, frame, robot.cluster_ball[c]) >= best:
            continue
        for s in range(robot.cluster_sphere[c], robot.cluster_sphere[c + 1]):
            best = min(best, ball_from_solid(solids, row, X, buffer, frame, robot.sphere[s]))
    return best


@bare_kernel
def ball_from_solid(solids: Any, row: int, X: Any, buffer: Any, frame: int, ball: Any) -> float:
    """Distance (m) between a ball and a solid at pose X (12,)."""
    x, y, z = centre_of(buffer, frame, ball)
    x, y, z = x - X[9], y - X[10], z - X[11]
    a = X[0] * x + X[3] * y + X[6] * z
    b = X[1] * x + X[4] * y + X[7] * z
    c = X[2] * x + X[5] * y + X[8] * z
    return signed(solids, row, a, b, c) - ball[3]


@bare_kernel
def spheres_apart(table: Any, at: int, a: int, b: int, cap: float) -> float:
    """Distance (m, at most ``cap``) between two parts made of spheres.

    Args:
        at: where the frames' poses begin in the buffer, plus a lane.
    """
    robot, _, _, _, _, scratch = unpack(table)
    buffer = scratch.buffer
    frame_a = at + robot.part_frame[a] * FRAME
    frame_b = at + robot.part_frame[b] * FRAME
    best = cap
    if balls_apart(buffer, frame_a, robot.part_ball[a], frame_b, robot.part_ball[b]) >= best:
        return best
    for c in range(robot.part_cluster[a], robot.part_cluster[a + 1]):
        one = robot.cluster_ball[c]
        for d in range(robot.part_cluster[b], robot.part_cluster[b + 1]):
            if balls_apart(buffer, frame_a, one, frame_b, robot.cluster_ball[d]) >= best:
                continue
            for s in range(robot.cluster_sphere[c], robot.cluster_sphere[c + 1]):
                for e in range(robot.cluster_sphere[d], robot.cluster_sphere[d + 1]):
                    gap_se = balls_apart(buffer, frame_a, robot.sphere[s], frame_b, robot.sphere[e])
                    best = min(best, gap_se)
    return best


@bare_kernel
def balls_apart(buffer: Any, frame_a: int, one: Any, frame_b: int, two: Any) -> float:
    """Distance (m) between two balls."""
    x, y, z = centre_of(buffer, frame_a, one)
    u, v, w = centre_of(buffer, frame_b, two)
    x, y, z = x - u, y - v, z - w
    return (x * x + y * y + z * z) ** 0.5 - (one[3] + two[3])


@entry("i8:2 i8:1 u1:2 f8:2 f8 b1 f8:1 f8:2")
@bare_kernel
def nearby(
    table: Any, every: Any, carries: Any, states: Any, within: float, least: bool, W: Any, out: Any
) -> int:
    """Pairs nearer than what they must keep plus ``within`` metres, for configurations (m, k).

    Args:
        carries: (n + 1, n) whether joint j moves frame f.
        least: only what stands still, and of that only what is nearer than all found before it:
            the last row of a configuration has the least distance.
        W: (WITNESS_SCRATCH,) scratch of ``witness``.
        out: (rows, 3 + k) filled: the configuration's row, the distance, what is required of it,
            and the gradient. The rest is left out when it is full.

    Returns:
        How many there are; more than ``out`` has rows if some were left out.
    """
    _, _, tree, _, _, scratch = unpack(table)
    place_everything(table, every)
    buffer, layout = scratch.buffer, scratch.layout
    count = 0
    for first in range(0, len(states), LANES):
        for lane in range(LANES):
            row = min(first + lane, len(states) - 1)
            for k in range(len(tree.moving)):
                buffer[layout[Q] + tree.moving[k] * LANES + lane] = states[row, k]
        frames(
            tree.active,
            tree.parent,
            tree.fixed,
            tree.prismatic,
            buffer,
            layout[Q],
            layout[FRAMES],
        )
        for lane in range(min(LANES, len(states) - first)):
            row = first + lane
            count = _near_obstacles(table, carries, lane, row, within, least, W, out, count)
            if not least:
                count = _near_parts(table, carries, lane, row, within, W, out, count)
    place_everything(table, every)
    return count


@bare_kernel
def _near_obstacles(
    table: Any,
    carries: Any,
    lane: int,
    row: int,
    within: float,
    least: bool,
    W: Any,
    out: Any,
    count: int,
) -> int:
    """Adds the obstacles that are near in one of the 16 configurations in the buffer."""
    robot, obstacles, _, movers, checks, scratch = unpack(table)
    buffer, world = scratch.buffer, scratch.layout[FRAMES]
    X, Y = scratch.work[0], scratch.work[1]
    margin = float(checks.margins[0])
    near = margin + within
    for k in range(len(checks.parts)):
        p = checks.parts[k]
        frame = robot.part_frame[p]
        at = world + frame * FRAME
        frame_at(buffer, at, lane, X)
        x, y, z = centre_of(buffer, at + lane, robot.part_ball[p])
        for m in range(_around(table, x, y, z, near + robot.part_ball[p, 3])):
            o = checks.obstacles[scratch.near[0, m]]
            if checks.allowed[p, obstacles.body[o]] != 0:
                continue
            for i in range(12):
                Y[i] = obstacles.pose[o, i]
            if spheres_from_solid(table, p, at + lane, obstacles.solids, o, Y, near) < near:
                before = count
                count = _enter(
                    table, carries, row, margin, near, W, out, count,
                    robot.hulls, robot.part_hull[p], robot.part_hull[p + 1], frame,
                    obstacles.solids, o, o + 1, 0,
                )  # fmt: skip
                if least and before < count <= len(out):
                    near = out[before, DISTANCE]
    for k in range(len(checks.solid_parts)):
        s = checks.solid_parts[k]
        frame = movers.frame[s]
        pose_of(table, s, lane, X)
        x, y, z = centre_of(buffer, world + frame * FRAME + lane, movers.ball[s])
        for m in range(_around(table, x, y, z, movers.ball[s, 3] + near)):
            o = checks.obstacles[scratch.near[0, m]]
            if checks.allowed[movers.part[s], obstacles.body[o]] == 0:
                for i in range(12):
                    Y[i] = obstacles.pose[o, i]
                before = count
                count = _enter(
                    table, carries, row, margin, near, W, out, count,
                    movers.solids, s, s + 1, frame,
                    obstacles.solids, o, o + 1, 0,
                )  # fmt: skip
                if least and before < count <= len(out):
                    near = out[before, DISTANCE]
    return count


@bare_kernel
def _near_parts(
    table: Any, carries: Any, lane: int, row: int, within: float, W: Any, out: Any, count: int
) -> int:
    """Adds the pairs of moving parts that are near each other."""
    robot, _, _, movers, checks, scratch = unpack(table)
    buffer, world = scratch.buffer, scratch.layout[FRAMES]
    X, Y = scratch.work[0], scratch.work[1]
    margin, between = float(checks.margins[0]), float(checks.margins[1])
    for k in range(len(checks.sphere_pairs)):
        a, b = checks.sphere_pairs[k, 0], checks.sphere_pairs[k, 1]
        frame, other = robot.part_frame[a], robot.part_frame[b]
        near = between + within
        if spheres_apart(table, world + lane, a, b, near) < near:
            frame_at(buffer, world + frame * FRAME, lane, X)
            frame_at(buffer, world + other * FRAME, lane, Y)
            count = _enter(
                table, carries, row, between, near, W, out, count,
                robot.hulls, robot.part_hull[a], robot.part_hull[a + 1], frame,
                robot.hulls, robot.part_hull[b], robot.part_hull[b + 1], other,
            )  # fmt: skip
    for k in range(len(checks.mixed_pairs)):
        p, s = checks.mixed_pairs[k, 0], checks.mixed_pairs[k, 1]
        frame = robot.part_frame[p]
        at = world + frame * FRAME
        pose_of(table, s, lane, Y)
        required = margin if movers.still[s, ATTACHED] != 0.0 else between
        near = required + within
        if spheres_from_solid(table, p, at + lane, movers.solids, s, Y, near) < near:
            frame_at(buffer, at, lane, X)
            count = _enter(
                table, carries, row, required, near, W, out, count,
                robot.hulls, robot.part_hull[p], robot.part_hull[p + 1], frame,
                movers.solids, s, s + 1, movers.frame[s],
            )  # fmt: skip
    for k in range(len(checks.solid_pairs)):
        s, t = checks.solid_pairs[k, 0], checks.solid_pairs[k, 1]
        pose_of(table, s, lane, X)
        pose_of(table, t, lane, Y)
        attached = movers.still[s, ATTACHED] != 0.0 or movers.still[t, ATTACHED] != 0.0
        required = margin if attached else between
        count = _enter(
            table, carries, row, required, required + within, W, out, count,
            movers.solids, s, s + 1, movers.frame[s],
            movers.solids, t, t + 1, movers.frame[t],
        )  # fmt: skip
    return count


@bare_kernel
def _around(table: Any, x: float, y: float, z: float, reach: float) -> int:
    """Lists in ``near[0]`` the obstacles whose boxes are within ``reach`` of a point; how many."""
    _, _, _, _, checks, scratch = unpack(table)
    t = np.float32(reach)
    u, v, w = np.float32(x), np.float32(y), np.float32(z)
    low, high = (u - t, v - t, w - t), (u + t, v + t, w + t)
    return overlapping(checks.bounds, len(checks.obstacles), low, high, scratch.near, 0)


@bare_kernel
def _enter(
    table: Any,
    carries: Any,
    row: int,
    required: float,
    near: float,
    W: Any,
    out: Any,
    count: int,
    A: Any,
    a_first: int,
    a_last: int,
    frame_a: int,
    B: Any,
    b_first: int,
    b_last: int,
    frame_b: int,
) -> int:
    """Adds a row for two bodies' nearest solids, if nearer than ``near``; the number of rows.

    The bodies' poses stand in ``work[0]`` and ``work[1]``. Frame 0 is the world's.
    """
    _, _, tree, _, _, scratch = unpack(table)
    X, Y = scratch.work[0], scratch.work[1]
    best = near
    nx = ny = nz = px = py = pz = 0.0
    for i in range(a_first, a_last):
        for j in range(b_first, b_last):
            d, ux, uy, uz, ax, ay, az = witness(A, i, X, B, j, Y, best, W)
            if d < best:
                best, nx, ny, nz, px, py, pz = d, ux, uy, uz, ax, ay, az
    if best >= near:
        return count
    if count < len(out):
        out[count, ROW] = row
        out[count, DISTANCE] = best
        out[count, REQUIRED] = required
        lane = scratch.layout[FRAMES] + row % LANES
        for k in range(len(tree.moving)):
            m = tree.moving[k]
            moves = float(carries[frame_a, m]) - float(carries[frame_b, m])
            out[count, GRADIENT + k] = 0.0
            if moves == 0.0:
                continue
            # A turning joint moves both points alike but for d n, along which n is stationary.
            at = lane + (m + 1) * FRAME
            buffer = scratch.buffer
            ax, ay, az = buffer[at + 2 * LANES], buffer[at + 5 * LANES], buffer[at + 8 * LANES]
            if tree.prismatic[m] != 0:
                value = nx * ax + ny * ay + nz * az
            else:
                x = px - buffer[at + 9 * LANES]
                y = py - buffer[at + 10 * LANES]
                z = pz - buffer[at + 11 * LANES]
                value = nx * (ay * z - az * y) + ny * (az * x - ax * z) + nz * (ax * y - ay * x)
            out[count, GRADIENT + k] = moves * value
    return count + 1
