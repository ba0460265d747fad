"""Fills a new view's arrays: poses of what stands still, lists of what moves, travel bounds.

``carries`` (n + 1, n) says whether joint j moves frame f; ``span`` (n,) how far each sliding joint
can slide, m.
"""

from __future__ import annotations

import numpy as np

from galley.collision.kernel.arrays import FRAMES, HIGH, LOW, SHARE, STILL, Q
from galley.collision.kernel.gjk import support
from galley.collision.kernel.kinematics import compose, frames, poses
from galley.collision.kernel.packed import unpack
from galley.collision.kernel.state_check import place_ball
from galley.compiled.annotations import Flags, Indices, Point, Table, Vector
from galley.compiled.jit import bare_kernel, entry
from galley.compiled.lanes import LANES, splat, store


@bare_kernel
def place_everything(table: Table, every_joint: Indices) -> None:
    """Writes all joints, frames and balls at ``tree.q`` into the buffer, in all lanes.

    Checks then write only what their view moves.

    Args:
        every_joint: (n,) all joints, parents before children.
    """
    moving, _, tree, _, scratch = unpack(table)
    buffer, layout = scratch.buffer, scratch.layout
    for j in range(len(tree.q)):
        store(buffer, layout[Q] + j * LANES, splat(np.float32(tree.q[j])))
    store(buffer, layout[SHARE], splat(np.float32(0.0)))
    world = layout[FRAMES]  # frame 0: the identity
    for k in range(12):
        one = k == 0 or k == 4 or k == 8
        store(buffer, world + k * LANES, splat(np.float32(1.0 if one else 0.0)))
    frames(table, every_joint)
    for row in range(len(moving.frame)):
        place_ball(table, row)


@bare_kernel
def _radius(table: Table, carries: Flags, span: Vector, j: int, frame: int, ball: Point) -> float:
    """Bound (m) on the distance from joint j's axis of any point of a ball on ``frame``.

    Between one moving joint and the next everything is rigid, so that distances are those of the
    configuration at hand: from the axis to the next moving joint's origin, from origin to origin,
    and to the ball's centre, then its radius. A joint that slides adds all it can slide.

    Args:
        ball: (4,) x, y, z, r in the frame, m.
    """
    _, _, tree, _, scratch = unpack(table)
    X = scratch.work[4:]
    f = X[frame]
    cx = f[0] * ball[0] + f[1] * ball[1] + f[2] * ball[2] + f[9]
    cy = f[3] * ball[0] + f[4] * ball[1] + f[5] * ball[2] + f[10]
    cz = f[6] * ball[0] + f[7] * ball[1] + f[8] * ball[2] + f[11]
    # From here on x, y, z is the end of the way so far; it begins on joint j's axis (ax, ay, az).
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
                continue  # not between the two
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
def bound_travel(table: Table, carries: Flags, span: Vector) -> None:
    """Fills ``checks.reach``: m that a part's points move at most per radian or metre of a joint.

    The bound holds in every configuration. A point that turns about an axis moves by its distance
    from it; one that slides moves as far as the joint.
    """
    moving, _, tree, checks, scratch = unpack(table)
    poses(tree.parent, tree.fixed, tree.prismatic, tree.q, scratch.work[4:])
    checks.reach[:] = 0.0
    for k in range(len(tree.moving)):
        j = tree.moving[k]
        for row in range(len(moving.frame)):
            frame, p = moving.frame[row], moving.part[row]
            if carries[frame, j] != 0:
                r = 1.0
                if tree.prismatic[j] == 0:
                    r = _radius(table, carries, span, j, frame, moving.ball[row])
                # A part may have several solids: the farthest counts.
                checks.reach[p, k] = max(checks.reach[p, k], r)


@bare_kernel
def _pair_reach(table: Table, carries: Flags, row: int, other: int, out: Vector) -> bool:
    """Bounds on the travel of two rows towards each other, m per radian or metre of each joint.

    A joint that carries both of them changes nothing between them.

    Args:
        out: (k,) filled.

    Returns:
        Whether any joint moves one of the two only.
    """
    moving, _, tree, checks, _ = unpack(table)
    frame_a, frame_b = moving.frame[row], moving.frame[other]
    a, b = moving.part[row], moving.part[other]
    moves = False
    for k in range(len(tree.moving)):
        j = tree.moving[k]
        out[k] = 0.0
        if carries[frame_a, j] != carries[frame_b, j]:
            moves = True
            out[k] = checks.reach[a, k] if carries[frame_a, j] != 0 else checks.reach[b, k]
    return moves


@bare_kernel
def list_moving(table: Table, carries: Flags, checked: Flags, counts: Indices) -> None:
    """Lists what moves: joints, rows, and pairs of rows whose distance may change.

    Args:
        carries: (n + 1, n) whether joint j moves frame f.
        checked: (P, P) whether two parts may not touch.
        counts: (3,) filled: how many joints, rows and pairs.
    """
    moving, _, tree, checks, scratch = unpack(table)
    spheres = len(moving.excess)
    counts[:] = 0
    for j in range(len(tree.q)):
        for k in range(len(tree.moving)):
            if carries[j + 1, tree.moving[k]] != 0:
                tree.active[counts[0]] = j
                counts[0] += 1
                break
    for row in range(len(moving.frame)):
        # Where it stands in the world, and the box around it there: wrong for what moves, and not
        # used.
        frame = moving.frame[row]
        moving.still[row, STILL] = 1.0
        X = moving.still[row]
        compose(scratch.work[4 + frame], moving.pose[row], X)
        for i in range(3):
            x, y, z = 1.0 if i == 0 else 0.0, 1.0 if i == 1 else 0.0, 1.0 if i == 2 else 0.0
            X[LOW + i] = -support(moving.solids, row, X, -x, -y, -z)
            X[HIGH + i] = support(moving.solids, row, X, x, y, z)
        for k in range(len(tree.moving)):
            if carries[frame, tree.moving[k]] != 0:
                moving.still[row, STILL] = 0.0
                checks.rows[counts[1]] = row
                counts[1] += 1
                break
    for kind in range(3):  # two with spheres, then one, then none
        for a in range(len(moving.frame)):
            for b in range(a + 1, len(moving.frame)):
                if (
                    (a >= spheres) + (b >= spheres) == kind
                    and checked[moving.part[a], moving.part[b]] != 0
                    and _pair_reach(table, carries, a, b, checks.pair_reach[counts[2]])
                ):
                    checks.pairs[counts[2], 0] = a
                    checks.pairs[counts[2], 1] = b
                    counts[2] += 1


@entry("i8:2 i8:1 u1:2 f8:1 u1:2 i8:1")
@bare_kernel
def prepare(
    table: Table, every: Indices, carries: Flags, span: Vector, checked: Flags, counts: Indices
) -> None:
    """Fills the arrays of a new view, in one call from Python.

    Args:
        every: (n,) all joints, parents before children.
        carries, span: see the head of this file.
        checked, counts: see ``list_moving``.
    """
    bound_travel(table, carries, span)
    list_moving(table, carries, checked, counts)
    place_everything(table, every)
