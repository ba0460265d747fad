"""What is near what in one configuration, and how near: for reasons and reports."""

from __future__ import annotations

from typing import Any

from galley.compiled.jit import bare_kernel
from galley.worlds.kernel.arrays import FRAMES
from galley.worlds.kernel.confirm import frame_at
from galley.worlds.kernel.kinematics import FRAME
from galley.worlds.kernel.packed import unpack
from galley.worlds.kernel.separation import separation
from galley.worlds.kernel.shapes import signed
from galley.worlds.kernel.solids import pose_of
from galley.worlds.kernel.witness import apart

_LANES = 16


@bare_kernel
def distances(table: Any, cap: float, scene: Any, between: Any) -> None:
    """Least distances (m, at most ``cap``) at ``query.q``, which must stand in the buffer.

    Where things are apart, exact to rounding; where they overlap, minus the depth of the deepest
    sphere, or of two solids along their faces' normals. Only what the query lists is looked at:
    parts that move against what stands still, pairs whose distance may change.

    Args:
        scene: (P, B) filled: part against body. between: (P, P) filled: part against part.
    """
    robot, obstacles, query = unpack(table)
    scene[:] = cap
    between[:] = cap
    buffer, at = query.buffer, query.layout[FRAMES]
    X, Y = query.work[0], query.work[1]
    for k in range(len(query.parts)):
        p = query.parts[k]
        frame = at + robot.part_frame[p] * FRAME
        for m in range(len(query.obstacles)):
            o = query.obstacles[m]
            if query.allowed[p, obstacles.body[o]] != 0:
                continue
            b = obstacles.body[o]
            for i in range(12):
                Y[i] = obstacles.pose[o, i]
            best = spheres_from_solid(table, p, frame, obstacles.solids, o, Y, scene[p, b])
            if best < scene[p, b]:  # the hulls know better, where they are apart
                frame_at(buffer, frame, 0, X)
                best = max(best, _hulls_apart(table, p, X, obstacles.solids, o, o + 1, Y))
                scene[p, b] = min(scene[p, b], best)
    for k in range(len(query.solid_parts)):
        row = query.solid_parts[k]
        p = query.solid_part[row]
        pose_of(table, row, 0, X)
        for m in range(len(query.obstacles)):
            o = query.obstacles[m]
            b = obstacles.body[o]
            if query.allowed[p, b] == 0 and not _far(table, row, o, scene[p, b]):
                for i in range(12):
                    Y[i] = obstacles.pose[o, i]
                d = apart(query.solids, row, X, obstacles.solids, o, Y, query.work[2])
                scene[p, b] = min(scene[p, b], d)
    for k in range(len(query.sphere_pairs)):
        a, b = query.sphere_pairs[k, 0], query.sphere_pairs[k, 1]
        d = spheres_apart(table, at, a, b, cap)
        if d < cap:
            frame_at(buffer, at + robot.part_frame[a] * FRAME, 0, X)
            frame_at(buffer, at + robot.part_frame[b] * FRAME, 0, Y)
            first, last = robot.part_hull[b], robot.part_hull[b + 1]
            d = max(d, _hulls_apart(table, a, X, robot.hulls, first, last, Y))
        between[a, b] = min(cap, d)
    for k in range(len(query.mixed_pairs)):
        p, row = query.mixed_pairs[k, 0], query.mixed_pairs[k, 1]
        other = query.solid_part[row]
        pose_of(table, row, 0, Y)
        frame = at + robot.part_frame[p] * FRAME
        best = spheres_from_solid(table, p, frame, query.solids, row, Y, between[p, other])
        if best < between[p, other]:
            frame_at(buffer, frame, 0, X)
            best = max(best, _hulls_apart(table, p, X, query.solids, row, row + 1, Y))
            between[p, other] = min(between[p, other], best)
    for k in range(len(query.solid_pairs)):
        a, b = query.solid_pairs[k, 0], query.solid_pairs[k, 1]
        pose_of(table, a, 0, X)
        pose_of(table, b, 0, Y)
        i, j = query.solid_part[a], query.solid_part[b]
        d = apart(query.solids, a, X, query.solids, b, Y, query.work[2])
        between[i, j] = min(between[i, j], d)


@bare_kernel
def _hulls_apart(table: Any, p: int, X: Any, B: Any, first: int, last: int, Y: Any) -> float:
    """Distance (m) from the hulls of part p, at X (12,), to rows of B at Y; -1 if they overlap."""
    robot, _, query = unpack(table)
    best = 1e9
    for h in range(robot.part_hull[p], robot.part_hull[p + 1]):
        for k in range(first, last):
            d = separation(robot.hulls, h, X, B, k, Y, -1.0, query.work[2])
            best = min(best, d)
    return best


@bare_kernel
def _far(table: Any, row: int, o: int, limit: float) -> bool:
    """Whether the ball around a moving solid is ``limit`` away from the box around an obstacle."""
    _, obstacles, query = unpack(table)
    ball = query.solid_ball[row]
    frame = query.layout[FRAMES] + query.solid_frame[row] * FRAME
    x, y, z = centre_of(query.buffer, frame, ball)
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
        buffer[frame + 9 * _LANES]
        + buffer[frame] * x
        + buffer[frame + _LANES] * y
        + buffer[frame + 2 * _LANES] * z,
        buffer[frame + 10 * _LANES]
        + buffer[frame + 3 * _LANES] * x
        + buffer[frame + 4 * _LANES] * y
        + buffer[frame + 5 * _LANES] * z,
        buffer[frame + 11 * _LANES]
        + buffer[frame + 6 * _LANES] * x
        + buffer[frame + 7 * _LANES] * y
        + buffer[frame + 8 * _LANES] * z,
    )


@bare_kernel
def spheres_from_solid(
    table: Any, p: int, frame: int, solids: Any, row: int, X: Any, cap: float
) -> float:
    """Least distance (m, at most ``cap``) between the spheres of a part and a solid at X (12,).

    Args:
        frame: where the pose of the part's frame stands in the buffer, plus a lane.
    """
    robot, _, query = unpack(table)
    buffer = query.buffer
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
    robot, _, query = unpack(table)
    buffer = query.buffer
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
