"""Distances between bodies, pair by pair, of their hulls and solids, with gradients.

With n the unit normal from B to A between the nearest points, and v their velocities as a joint
moves, the distance grows by n (v_A - v_B), to first order: that is the gradient's number of the
joint.
"""

from __future__ import annotations

import numpy as np

from galley.collision.kernel.arrays import BALLS, FRAMES, OWNER, Q
from galley.collision.kernel.gjk import Witness, gjk_witness
from galley.collision.kernel.kinematics import FRAME, frames, pose_of
from galley.collision.kernel.packed import unpack
from galley.collision.kernel.prepare import place_everything
from galley.collision.kernel.state_check import full_margin, overlapping, place_ball
from galley.compiled.annotations import Configurations, Flags, Indices, Matrix, Table, Vector
from galley.compiled.jit import bare_kernel, entry
from galley.compiled.lanes import LANES

# Columns of a row that ``nearby`` writes; the gradient comes last.
ROW, DISTANCE, REQUIRED, PART, OTHER, GRADIENT = range(6)


@bare_kernel
def _around(table: Table, row: int, lane: int, reach: float) -> int:
    """Lists in ``near[0]`` the obstacles whose boxes are within ``reach`` (m) of a row's ball.

    Returns:
        How many there are.
    """
    moving, _, _, checks, scratch = unpack(table)
    buffer, at = scratch.buffer, scratch.layout[BALLS] + 3 * LANES * row + lane
    t = np.float32(reach) + moving.ball[row, 3]
    u, v, w = buffer[at], buffer[at + LANES], buffer[at + 2 * LANES]
    low, high = (u - t, v - t, w - t), (u + t, v + t, w + t)
    return overlapping(checks.bounds, len(checks.obstacles), low, high, scratch.near, 0)


@bare_kernel
def _balls_apart(table: Table, row: int, other: int, lane: int) -> float:
    """Distance (m) between the balls around two rows; what is in them is at least so far apart."""
    moving, _, _, _, scratch = unpack(table)
    buffer, balls = scratch.buffer, scratch.layout[BALLS] + lane
    square = 0.0
    for i in range(3):
        d = buffer[balls + (3 * row + i) * LANES] - buffer[balls + (3 * other + i) * LANES]
        square += d * d
    return np.sqrt(square) - moving.ball[row, 3] - moving.ball[other, 3]


@entry("i8:2 i8:1 u1:2 f8:2 f8 b1 f8:1 f8:2")
@bare_kernel
def nearby(
    table: Table,
    every: Indices,
    carries: Flags,
    states: Configurations,
    within: float,
    least: bool,
    W: Vector,
    out: Matrix,
) -> int:
    """Pairs nearer than what they must keep plus ``within`` metres, for configurations (m, k).

    Args:
        every: (n,) all joints, parents before children.
        carries: (n + 1, n) whether joint j moves frame f.
        states: (m, k) of the joints that the view moves.
        within: m.
        least: only what stands still, and of that only what is nearer than all listed before it:
            the last row of a configuration has the least distance.
        W: (WITNESS_SCRATCH,) scratch of ``gjk_witness``.
        out: (rows, 5 + k) filled: the configuration's row, the distance, what is required of it,
            the part, the other part or ~ the body that stands still, and the gradient. The rest is
            left out when it is full.

    Returns:
        How many there are; more than ``out`` has rows if some were left out.
    """
    moving, _, tree, _, scratch = unpack(table)
    place_everything(table, every)
    buffer, layout = scratch.buffer, scratch.layout
    count = 0
    for first in range(0, len(states), LANES):
        # Frames and balls of 16 configurations at once, then the pairs of each.
        for lane in range(LANES):
            row = min(first + lane, len(states) - 1)
            for k in range(len(tree.moving)):
                buffer[layout[Q] + tree.moving[k] * LANES + lane] = states[row, k]
        frames(table, tree.active)
        for row in range(len(moving.frame)):
            place_ball(table, row)
        for lane in range(min(LANES, len(states) - first)):
            row = first + lane
            count = _near_obstacles(table, carries, lane, row, within, least, W, out, count)
            if not least:
                count = _near_parts(table, carries, lane, row, within, W, out, count)
    # Checks rely on the frames of joints that their view doesn't move.
    place_everything(table, every)
    return count


@bare_kernel
def _near_obstacles(
    table: Table,
    carries: Flags,
    lane: int,
    state: int,
    within: float,
    least: bool,
    W: Vector,
    out: Matrix,
    count: int,
) -> int:
    """Adds the obstacles that are near in one of the 16 configurations in the buffer.

    Args:
        lane, state: of the configuration: in the buffer, and among all.
        count: how many rows there are so far.

    Returns:
        How many there are then. The other arguments are those of ``nearby``.
    """
    moving, obstacles, _, checks, scratch = unpack(table)
    X, Y = scratch.work[0], scratch.work[1]
    margin = float(checks.margins[0])
    near = margin + within
    for k in range(len(checks.rows)):
        row = checks.rows[k]
        pose_of(table, row, lane, X)
        for m in range(_around(table, row, lane, near)):
            o = checks.obstacles[scratch.near[0, m]]
            if checks.allowed[moving.part[row], obstacles.body[o]] == 0:
                for i in range(12):
                    Y[i] = obstacles.pose[o, i]
                pair = gjk_witness(moving.solids, row, X, obstacles.solids, o, Y, near, W)
                if pair[0] < near:
                    _enter(table, carries, state, margin, pair, row, ~o, out, count)
                    count += 1
                    if least:  # from here on only what is nearer still
                        near = pair[0]
    return count


@bare_kernel
def _near_parts(
    table: Table,
    carries: Flags,
    lane: int,
    state: int,
    within: float,
    W: Vector,
    out: Matrix,
    count: int,
) -> int:
    """Adds the pairs of moving solids that are near each other; as ``_near_obstacles``."""
    moving, _, _, checks, scratch = unpack(table)
    X, Y = scratch.work[0], scratch.work[1]
    for k in range(len(checks.pairs)):
        row, other = checks.pairs[k, 0], checks.pairs[k, 1]
        full = full_margin(moving.still[row, OWNER], moving.still[other, OWNER])
        required = float(checks.margins[0] if full else checks.margins[1])
        near = required + within
        if _balls_apart(table, row, other, lane) < near:  # most pairs are not
            pose_of(table, row, lane, X)
            pose_of(table, other, lane, Y)
            pair = gjk_witness(moving.solids, row, X, moving.solids, other, Y, near, W)
            if pair[0] < near:
                _enter(table, carries, state, required, pair, row, other, out, count)
                count += 1
    return count


@bare_kernel
def _enter(
    table: Table,
    carries: Flags,
    state: int,
    required: float,
    pair: Witness,
    row: int,
    other: int,
    out: Matrix,
    count: int,
) -> None:
    """Writes a row of ``out`` for two solids, if there is room.

    Args:
        state: which configuration.
        required: m that the two must keep.
        pair: what ``gjk_witness`` returned for them.
        row: of ``Moving``.
        other: another, or ~ the row of an obstacle.
        count: the row to write.
    """
    moving, obstacles, tree, _, scratch = unpack(table)
    if count >= len(out):
        return
    frame_a, frame_b = moving.frame[row], 0  # the world's
    out[count, PART] = moving.part[row]
    if other < 0:
        out[count, OTHER] = ~obstacles.body[~other]
    else:
        out[count, OTHER] = moving.part[other]
        frame_b = moving.frame[other]
    d, nx, ny, nz, px, py, pz = pair
    out[count, ROW] = state
    out[count, DISTANCE] = d
    out[count, REQUIRED] = required
    buffer, lane = scratch.buffer, scratch.layout[FRAMES] + state % LANES
    for k in range(len(tree.moving)):
        m = tree.moving[k]
        # 1 if the joint moves the first alone, -1 the other alone, 0 if it moves neither or both.
        moves = float(carries[frame_a, m]) - float(carries[frame_b, m])
        out[count, GRADIENT + k] = 0.0
        if moves == 0.0:
            continue
        # A turning joint moves both points alike but for d n, along which n is stationary.
        # So the velocity z x (p - o) at the first one's point stands for either.
        at = lane + (m + 1) * FRAME
        ax, ay, az = buffer[at + 2 * LANES], buffer[at + 5 * LANES], buffer[at + 8 * LANES]
        if tree.prismatic[m] != 0:
            value = nx * ax + ny * ay + nz * az
        else:
            x = px - buffer[at + 9 * LANES]
            y = py - buffer[at + 10 * LANES]
            z = pz - buffer[at + 11 * LANES]
            value = nx * (ay * z - az * y) + ny * (az * x - ax * z) + nz * (ax * y - ay * x)
        out[count, GRADIENT + k] = moves * value
