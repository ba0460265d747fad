"""Fills a new view's arrays: poses of what stands still, lists of what moves, travel bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from galley.collision.kernel.arrays import (
    BALLS,
    BOX,
    CYLINDER,
    FRAMES,
    HIGH,
    LOW,
    SHARE,
    SPHERE,
    STILL,
    Q,
)
from galley.collision.kernel.kinematics import FRAME, compose, frames, poses, to_world
from galley.collision.kernel.packed import unpack
from galley.collision.kernel.separation import support
from galley.collision.kernel.solids import place_balls
from galley.compiled.jit import bare_kernel, entry, kernel
from galley.compiled.lanes import LANES, splat, store


@entry("f8:3 i8:1 f4:2 f4:2 f4:2 f4:2 f4:2")
@kernel
def place_solids(
    X: Any, rows: Any, shape: Any, vertices: Any, pose: Any, low: Any, high: Any
) -> bool:
    """Writes poses X (m, 4, 4) of the solids ``rows`` (m,), and the boxes around them.

    Args:
        shape, vertices: of all solids, as in ``Solids``.
        pose, low, high: of all, as in ``Obstacles``.

    Returns:
        Whether all are finite and have rotation matrices; written are only those before another.
    """
    for m in range(len(rows)):
        for i in range(4):
            for j in range(4):
                if not np.isfinite(X[m, i, j]):
                    return False
        for i in range(3):
            for j in range(3):
                dot = X[m, i, 0] * X[m, j, 0] + X[m, i, 1] * X[m, j, 1] + X[m, i, 2] * X[m, j, 2]
                if abs(dot - (1.0 if i == j else 0.0)) > 1e-6:
                    return False
        row = rows[m]
        kind = int(shape[row, 0])
        for i in range(3):
            a, b, c, middle = X[m, i, 0], X[m, i, 1], X[m, i, 2], X[m, i, 3]
            x, y, z = float(shape[row, 1]), float(shape[row, 2]), float(shape[row, 3])
            pose[row, 3 * i], pose[row, 3 * i + 1], pose[row, 3 * i + 2] = a, b, c
            pose[row, 9 + i] = middle
            if kind == BOX:
                reach = abs(a) * x + abs(b) * y + abs(c) * z
            elif kind == CYLINDER:
                reach = x * np.sqrt(max(0.0, 1.0 - c * c)) + y * abs(c)
            elif kind == SPHERE:
                reach = x
            else:
                least, most = np.inf, -np.inf
                for k in range(int(shape[row, 6]), int(shape[row, 7])):
                    along = vertices[k, 0] * a + vertices[k, 1] * b + vertices[k, 2] * c
                    least, most = min(least, along), max(most, along)
                middle, reach = middle + 0.5 * (least + most), 0.5 * (most - least)
            low[row, i], high[row, i] = middle - reach, middle + reach
    return True


@bare_kernel
def place_everything(table: Any, every_joint: Any) -> None:
    """Writes all joints, frames and balls at ``tree.q`` into the buffer, in all lanes."""
    robot, _, tree, _, _, scratch = unpack(table)
    buffer, layout = scratch.buffer, scratch.layout
    for j in range(len(tree.q)):
        store(buffer, layout[Q] + j * LANES, splat(np.float32(tree.q[j])))
    store(buffer, layout[SHARE], splat(np.float32(0.0)))
    world = layout[FRAMES]
    for k in range(12):
        one = k == 0 or k == 4 or k == 8
        store(buffer, world + k * LANES, splat(np.float32(1.0 if one else 0.0)))
    frames(every_joint, tree.parent, tree.fixed, tree.prismatic, buffer, layout[Q], layout[FRAMES])
    for p in range(len(robot.part_frame)):
        ball = robot.part_ball[p]
        frame = layout[FRAMES] + robot.part_frame[p] * FRAME
        x, y, z = to_world(buffer, frame, ball[0], ball[1], ball[2])
        at = layout[BALLS] + 3 * LANES * p
        store(buffer, at, x)
        store(buffer, at + LANES, y)
        store(buffer, at + 2 * LANES, z)
    place_balls(table)


@bare_kernel
def _radius(table: Any, carries: Any, span: Any, j: int, frame: int, ball: Any) -> float:
    """Bound (m) on the distance from joint j's axis of any point of a ball on ``frame``.

    Between one moving joint and the next everything is rigid, so that distances are those of the
    configuration at hand: from the axis to the next moving joint's origin, from origin to origin,
    and to the ball's centre, then its radius. A joint that slides adds all it can slide.
    """
    _, _, tree, _, _, scratch = unpack(table)
    X = scratch.work[4:]
    f = X[frame]
    cx = f[0] * ball[0] + f[1] * ball[1] + f[2] * ball[2] + f[9]
    cy = f[3] * ball[0] + f[4] * ball[1] + f[5] * ball[2] + f[10]
    cz = f[6] * ball[0] + f[7] * ball[1] + f[8] * ball[2] + f[11]
    x, y, z = X[j + 1, 9], X[j + 1, 10], X[j + 1, 11]
    ax, ay, az = X[j + 1, 2], X[j + 1, 5], X[j + 1, 8]
    total = float(ball[3])
    first = True
    for k in range(len(tree.moving) + 1):
        last = k == len(tree.moving)
        if last:
            u, v, w = cx - x, cy - y, cz - z
        else:
            m = tree.moving[k]
            if m <= j or carries[frame, m] == 0:
                continue
            u, v, w = X[m + 1, 9] - x, X[m + 1, 10] - y, X[m + 1, 11] - z
            if tree.prismatic[m] != 0:
                total += span[m]
            x, y, z = X[m + 1, 9], X[m + 1, 10], X[m + 1, 11]
        if first:  # what is along the axis does not count
            d = u * ax + v * ay + w * az
            u, v, w = u - d * ax, v - d * ay, w - d * az
            first = False
        total += np.sqrt(u * u + v * v + w * w)
    return total


@bare_kernel
def bound_travel(table: Any, carries: Any, span: Any) -> None:
    """Fills ``checks.reach``: m that a part moves per radian (or metre) of each joint."""
    robot, _, tree, movers, checks, scratch = unpack(table)
    poses(tree.parent, tree.fixed, tree.prismatic, tree.q, scratch.work[4:])
    spheres = len(robot.part_frame)
    checks.reach[:] = 0.0
    for k in range(len(tree.moving)):
        j = tree.moving[k]
        for p in range(spheres):
            frame = robot.part_frame[p]
            if carries[frame, j] != 0:
                checks.reach[p, k] = 1.0
                if tree.prismatic[j] == 0:
                    checks.reach[p, k] = _radius(table, carries, span, j, frame, robot.part_ball[p])
        for row in range(len(movers.frame)):
            frame, p = movers.frame[row], movers.part[row]
            if carries[frame, j] != 0:
                r = 1.0
                if tree.prismatic[j] == 0:
                    r = _radius(table, carries, span, j, frame, movers.ball[row])
                checks.reach[p, k] = max(checks.reach[p, k], r)


@bare_kernel
def _pair_reach(
    table: Any, carries: Any, a: int, frame_a: int, b: int, frame_b: int, out: Any
) -> bool:
    """Bounds on the travel of two parts towards each other; whether they move at all."""
    _, _, tree, _, checks, _ = unpack(table)
    moves = False
    for k in range(len(tree.moving)):
        j = tree.moving[k]
        out[k] = 0.0
        if carries[frame_a, j] != carries[frame_b, j]:
            moves = True
            out[k] = checks.reach[a, k] if carries[frame_a, j] != 0 else checks.reach[b, k]
    return moves


@bare_kernel
def list_moving(table: Any, carries: Any, checked: Any, counts: Any) -> None:
    """Lists what moves: joints, parts, solids, and pairs of parts whose distance may change.

    Args:
        carries: (n + 1, n) whether joint j moves frame f.
        checked: (P, P) whether two parts may not touch.
        counts: (6,) filled: how many joints, parts, solids, sphere, mixed and solid pairs.
    """
    robot, _, tree, movers, checks, scratch = unpack(table)
    spheres = len(robot.part_frame)
    counts[:] = 0
    for j in range(len(tree.q)):
        for k in range(len(tree.moving)):
            if carries[j + 1, tree.moving[k]] != 0:
                tree.active[counts[0]] = j
                counts[0] += 1
                break
    for p in range(spheres):
        for k in range(len(tree.moving)):
            if carries[robot.part_frame[p], tree.moving[k]] != 0:
                checks.parts[counts[1]] = p
                counts[1] += 1
                break
    solids = len(movers.frame)
    for row in range(solids):
        movers.still[row, STILL] = 1.0
        X = movers.still[row]
        compose(scratch.work[4 + movers.frame[row]], movers.pose[row], X)
        for i in range(3):
            x, y, z = 1.0 if i == 0 else 0.0, 1.0 if i == 1 else 0.0, 1.0 if i == 2 else 0.0
            X[LOW + i] = -support(movers.solids, row, X, -x, -y, -z)
            X[HIGH + i] = support(movers.solids, row, X, x, y, z)
        for k in range(len(tree.moving)):
            if carries[movers.frame[row], tree.moving[k]] != 0:
                movers.still[row, STILL] = 0.0
                checks.solid_parts[counts[2]] = row
                counts[2] += 1
                break
    for a in range(spheres):
        for b in range(a + 1, spheres):
            if checked[a, b] != 0 and _pair_reach(
                table,
                carries,
                a,
                robot.part_frame[a],
                b,
                robot.part_frame[b],
                checks.sphere_pair_reach[counts[3]],
            ):
                checks.sphere_pairs[counts[3], 0] = a
                checks.sphere_pairs[counts[3], 1] = b
                counts[3] += 1
        for row in range(solids):
            b = movers.part[row]
            if checked[a, b] != 0 and _pair_reach(
                table,
                carries,
                a,
                robot.part_frame[a],
                b,
                movers.frame[row],
                checks.mixed_pair_reach[counts[4]],
            ):
                checks.mixed_pairs[counts[4], 0] = a
                checks.mixed_pairs[counts[4], 1] = row
                counts[4] += 1
    for row in range(solids):
        for other in range(row + 1, solids):
            a, b = movers.part[row], movers.part[other]
            if checked[a, b] != 0 and _pair_reach(
                table,
                carries,
                a,
                movers.frame[row],
                b,
                movers.frame[other],
                checks.solid_pair_reach[counts[5]],
            ):
                checks.solid_pairs[counts[5], 0] = row
                checks.solid_pairs[counts[5], 1] = other
                counts[5] += 1


@entry("i8:2 i8:1 u1:2 f8:1 u1:2 i8:1")
@bare_kernel
def prepare(table: Any, every: Any, carries: Any, span: Any, checked: Any, counts: Any) -> None:
    """Fills the arrays of a new view, in one call from Python."""
    bound_travel(table, carries, span)
    list_moving(table, carries, checked, counts)
    place_everything(table, every)
