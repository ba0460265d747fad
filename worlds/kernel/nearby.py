"""What is near what in many configurations, how near, and how that changes with the joints.

For optimisation: distances of hulls and solids with their gradients, pair by pair.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from galley.compiled.jit import bare_kernel
from galley.compiled.lanes import LANES
from galley.worlds.kernel.arrays import FRAMES, Q
from galley.worlds.kernel.confirm import frame_at
from galley.worlds.kernel.contacts import centre_of, spheres_apart, spheres_from_solid
from galley.worlds.kernel.examine import overlapping
from galley.worlds.kernel.kinematics import FRAME, frames
from galley.worlds.kernel.packed import unpack
from galley.worlds.kernel.prepare import place_everything
from galley.worlds.kernel.solids import pose_of
from galley.worlds.kernel.witness import witness

# Columns of a row of numbers, before the gradient.
ROW, DISTANCE, REQUIRED, WAY = 0, 1, 2, 3


@bare_kernel
def nearby(
    table: Any, every: Any, carries: Any, states: Any, within: float, least: bool, W: Any, out: Any
) -> int:
    """Pairs nearer than what they must keep plus ``within`` metres, for configurations (m, k).

    Args:
        carries: (n + 1, n) whether joint j moves frame f.
        least: only what stands still, and of that only what is nearer than all found before it:
            the last row of a configuration has the least distance.
        W: (SCRATCH,) numbers of room, see ``witness``.
        out: (rows, 3 + k) filled: the configuration's row, the distance, what is required of it,
            and the gradient. Where it is full the rest is left out.

    Returns:
        How many there are; more than ``out`` has rows if some were left out.
    """
    _, _, query = unpack(table)
    place_everything(table, every)
    buffer, layout = query.buffer, query.layout
    count = 0
    for first in range(0, len(states), LANES):
        for lane in range(LANES):
            row = min(first + lane, len(states) - 1)
            for k in range(len(query.moving)):
                buffer[layout[Q] + query.moving[k] * LANES + lane] = states[row, k]
        frames(
            query.joints,
            query.parent,
            query.fixed,
            query.prismatic,
            buffer,
            layout[Q],
            layout[FRAMES],
        )
        for lane in range(min(LANES, len(states) - first)):
            row = first + lane
            count = _still_in_lane(table, carries, lane, row, within, least, W, out, count)
            if not least:
                count = _own_in_lane(table, carries, lane, row, within, W, out, count)
    place_everything(table, every)
    return count


@bare_kernel
def _still_in_lane(
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
    """Enters what stands still and is near in one of the 16 configurations in the buffer."""
    robot, obstacles, query = unpack(table)
    buffer, world = query.buffer, query.layout[FRAMES]
    X, Y = query.work[0], query.work[1]
    margin = float(query.margins[0])
    near = margin + within
    for k in range(len(query.parts)):
        p = query.parts[k]
        frame = robot.part_frame[p]
        at = world + frame * FRAME
        frame_at(buffer, at, lane, X)
        x, y, z = centre_of(buffer, at + lane, robot.part_ball[p])
        for m in range(_around(table, x, y, z, near + robot.part_ball[p, 3])):
            o = query.obstacles[query.near[0, m]]
            if query.allowed[p, obstacles.body[o]] != 0:
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
    for k in range(len(query.solid_parts)):
        s = query.solid_parts[k]
        frame = query.solid_frame[s]
        pose_of(table, s, lane, X)
        x, y, z = centre_of(buffer, world + frame * FRAME + lane, query.solid_ball[s])
        for m in range(_around(table, x, y, z, query.solid_ball[s, 3] + near)):
            o = query.obstacles[query.near[0, m]]
            if query.allowed[query.solid_part[s], obstacles.body[o]] == 0:
                for i in range(12):
                    Y[i] = obstacles.pose[o, i]
                before = count
                count = _enter(
                    table, carries, row, margin, near, W, out, count,
                    query.solids, s, s + 1, frame,
                    obstacles.solids, o, o + 1, 0,
                )  # fmt: skip
                if least and before < count <= len(out):
                    near = out[before, DISTANCE]
    return count


@bare_kernel
def _own_in_lane(
    table: Any, carries: Any, lane: int, row: int, within: float, W: Any, out: Any, count: int
) -> int:
    """Enters the robot's own parts, and what rides on it, that are near each other."""
    robot, _, query = unpack(table)
    buffer, world = query.buffer, query.layout[FRAMES]
    X, Y = query.work[0], query.work[1]
    margin, between = float(query.margins[0]), float(query.margins[1])
    for k in range(len(query.sphere_pairs)):
        a, b = query.sphere_pairs[k, 0], query.sphere_pairs[k, 1]
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
    for k in range(len(query.mixed_pairs)):
        p, s = query.mixed_pairs[k, 0], query.mixed_pairs[k, 1]
        frame = robot.part_frame[p]
        at = world + frame * FRAME
        pose_of(table, s, lane, Y)
        wanted = margin if query.solid_still[s, 19] != 0.0 else between
        near = wanted + within
        if spheres_from_solid(table, p, at + lane, query.solids, s, Y, near) < near:
            frame_at(buffer, at, lane, X)
            count = _enter(
                table, carries, row, wanted, near, W, out, count,
                robot.hulls, robot.part_hull[p], robot.part_hull[p + 1], frame,
                query.solids, s, s + 1, query.solid_frame[s],
            )  # fmt: skip
    for k in range(len(query.solid_pairs)):
        s, t = query.solid_pairs[k, 0], query.solid_pairs[k, 1]
        pose_of(table, s, lane, X)
        pose_of(table, t, lane, Y)
        rides = query.solid_still[s, 19] != 0.0 or query.solid_still[t, 19] != 0.0
        wanted = margin if rides else between
        count = _enter(
            table, carries, row, wanted, wanted + within, W, out, count,
            query.solids, s, s + 1, query.solid_frame[s],
            query.solids, t, t + 1, query.solid_frame[t],
        )  # fmt: skip
    return count


@bare_kernel
def _around(table: Any, x: float, y: float, z: float, reach: float) -> int:
    """Lists in ``near[0]`` the obstacles whose boxes are within ``reach`` of a point; how many."""
    _, _, query = unpack(table)
    t = np.float32(reach)
    u, v, w = np.float32(x), np.float32(y), np.float32(z)
    low, high = (u - t, v - t, w - t), (u + t, v + t, w + t)
    return overlapping(query.bounds, len(query.obstacles), low, high, query.near, 0)


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
    """Enters the nearest of two bodies' solids, if nearer than ``near``; the number of entries.

    The bodies' poses stand in ``work[0]`` and ``work[1]``. Frame 0 is the world's.
    """
    _, _, query = unpack(table)
    X, Y = query.work[0], query.work[1]
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
        lane = query.layout[FRAMES] + row % LANES
        for k in range(len(query.moving)):
            m = query.moving[k]
            moves = float(carries[frame_a, m]) - float(carries[frame_b, m])
            out[count, WAY + k] = 0.0
            if moves == 0.0:
                continue
            # A turning joint moves both points alike, up to d n, which n does not see.
            at = lane + (m + 1) * FRAME
            buffer = query.buffer
            ax, ay, az = buffer[at + 2 * LANES], buffer[at + 5 * LANES], buffer[at + 8 * LANES]
            if query.prismatic[m] != 0:
                value = nx * ax + ny * ay + nz * az
            else:
                x = px - buffer[at + 9 * LANES]
                y = py - buffer[at + 10 * LANES]
                z = pz - buffer[at + 11 * LANES]
                value = nx * (ay * z - az * y) + ny * (az * x - ax * z) + nz * (ax * y - ay * x)
            out[count, WAY + k] = moves * value
    return count + 1
