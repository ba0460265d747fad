"""Compiled control steps of many tables, each with a pusher and a body.

The state is a structure of arrays (11, n); its rows:

    0 1  pusher's position (m)      2 3  its velocity (m/s)
    4 5 6  body's centroid and angle (m, rad)      7 8 9  its velocity (m/s, rad/s)
    10  coverage

A call from Python takes longer the more arrays it passes, so ``simulation.Simulation`` packs all
constants into two. ``numbers`` holds the parameters in the order of the names below, then the
vertices of the outline about its centroid, of its convex parts, and of the goal's convex parts, two
numbers each. ``layout`` holds whole numbers:

    0 to 3  ends of these four in ``numbers``      4  vertices of the largest overlap
    5 6  convex parts of the body, of the goal     7 ...  first vertex of each part, and the last's
                                                          end: of the body, then of the goal
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from galley.compiled.jit import entry, kernel
from galley.domain.frames import Array
from galley.planar.geometry.polygon_kernel import overlap, point_distance
from galley.planar.geometry.support_kernel import slowed

Ints = NDArray[np.int64]
ROWS = 11
PARAMETERS = 22
(
    MASS, INERTIA, LIMIT, LENGTH, STILL, RADIUS, INVERSE_PUSHER, GAIN, BRAKE, STIFFNESS, DAMPING,
    FRICTION, WIDTH, HEIGHT, WALL_STIFFNESS, WALL_DAMPING, DT, REACH, GOAL_AREA, SUBSTEPS,
    GOAL_X, GOAL_Y,
) = range(PARAMETERS)  # fmt: skip


@kernel
def contact_force(
    vertices: Array, p: Array,
    x: float, y: float, c: float, s: float, vx: float, vy: float, omega: float,
    px: float, py: float, pvx: float, pvy: float,
) -> tuple[float, float, float, float]:  # fmt: skip
    """Force (N) and torque (N m) of the pusher on the body; the gap (m) if they don't touch.

    A spring acts along the outline's normal (stiffness times depth), and a damper against the
    pusher's velocity relative to the body at the contact point. They never pull, and the force
    along the surface stays within Coulomb friction.

    Args:
        vertices: outline (k, 2) about the centroid, m.
        p: parameters, see the module.
        x, y: centroid of the body, m.
        c, s: cosine and sine of its angle.
        vx, vy, omega: its velocity, m/s and rad/s.
        px, py: centre of the pusher, m.
        pvx, pvy: its velocity, m/s.

    Returns:
        Force x, y and torque about the centroid; and the gap, 0 if they touch.
    """
    u, v = px - x, py - y  # from the centroid; the outline's frame is turned back
    distance, qx, qy, nx, ny = point_distance(vertices, c * u + s * v, c * v - s * u)
    depth = p[RADIUS] - distance
    if depth <= 0.0:
        return 0.0, 0.0, 0.0, -depth
    rx, ry = c * qx - s * qy, s * qx + c * qy  # the contact point from the centroid
    nx, ny = s * ny - c * nx, -s * nx - c * ny  # into the body
    wx, wy = pvx - (vx - omega * ry), pvy - (vy + omega * rx)  # pusher relative to the body
    closing = wx * nx + wy * ny
    press = p[STIFFNESS] * depth + p[DAMPING] * closing
    if press <= 0.0:
        return 0.0, 0.0, 0.0, 0.0
    tx, ty = p[DAMPING] * (wx - closing * nx), p[DAMPING] * (wy - closing * ny)
    drag, most = math.sqrt(tx * tx + ty * ty), p[FRICTION] * press
    if drag > most:  # it slides: Coulomb friction is all there is
        tx, ty = tx * most / drag, ty * most / drag
    fx, fy = press * nx + tx, press * ny + ty
    return fx, fy, rx * fy - ry * fx, 0.0


@kernel
def wall_force(
    vertices: Array, p: Array,
    x: float, y: float, c: float, s: float, vx: float, vy: float, omega: float,
) -> tuple[float, float, float]:  # fmt: skip
    """Force (N) and torque (N m) of the table's walls on the body's vertices; without friction.

    The arguments are those of ``contact_force``.
    """
    fx = fy = torque = 0.0
    for i in range(len(vertices)):
        rx = c * vertices[i, 0] - s * vertices[i, 1]
        ry = s * vertices[i, 0] + c * vertices[i, 1]
        # Depth in the walls at either side, with a sign: negative at the left and at the bottom.
        deep_x = min(x + rx, 0.0) + max(x + rx - p[WIDTH], 0.0)
        deep_y = min(y + ry, 0.0) + max(y + ry - p[HEIGHT], 0.0)
        if deep_x != 0.0:
            f = -p[WALL_STIFFNESS] * deep_x - p[WALL_DAMPING] * (vx - omega * ry)
            if f * deep_x < 0.0:  # a wall never pulls
                fx += f
                torque -= ry * f
        if deep_y != 0.0:
            f = -p[WALL_STIFFNESS] * deep_y - p[WALL_DAMPING] * (vy + omega * rx)
            if f * deep_y < 0.0:
                fy += f
                torque += rx * f
    return fx, fy, torque


@kernel
def _covered(state: Array, i: int, numbers: Array, layout: Ints, room: Array) -> float:
    """Share of the goal that the body of table i covers; ``room`` (2, m, 2) is scratch space."""
    # Most bodies are far from the goal: the circumscribed circles don't touch.
    dx, dy = state[4, i] - numbers[GOAL_X], state[5, i] - numbers[GOAL_Y]
    if dx * dx + dy * dy >= 4.0 * numbers[REACH] * numbers[REACH]:
        return 0.0
    a, b, end = layout[1], layout[2], layout[3]
    k, l = layout[5], layout[6]
    area = overlap(
        numbers[a:b].reshape(-1, 2),
        layout[7 : 8 + k],
        state[4, i],
        state[5, i],
        state[6, i],
        numbers[b:end].reshape(-1, 2),
        layout[8 + k : 9 + k + l],
        room,
    )
    return area / numbers[GOAL_AREA]


@entry("f8:2 f8:1 i8:1")
@kernel
def measure(state: Array, numbers: Array, layout: Ints) -> None:
    """Compute the coverage of every table and write it to row 10 of ``state`` (11, n)."""
    room = np.empty((2, layout[4], 2))
    for i in range(state.shape[1]):
        state[10, i] = _covered(state, i, numbers, layout, room)


@entry("f8:2 f8:2 f8:1 i8:1")
@kernel
def advance(state: Array, targets: Array, numbers: Array, layout: Ints) -> None:
    """One control step of every table, in place: semi-implicit Euler in substeps.

    A substep computes the pusher's force on the body, moves the pusher, adds the walls' forces, and
    moves the body under support friction. Whatever can't matter is skipped: contact while the two
    are apart, walls while the body is inside, and all of the body while it rests unpushed.

    Args:
        state: (11, n), see the module.
        targets: (n, 2), where the pushers are driven to, m; one beyond the table counts as its rim.
        numbers, layout: see the module.
    """
    room = np.empty((2, layout[4], 2))
    p, vertices = numbers, numbers[PARAMETERS : layout[1]].reshape(-1, 2)
    dt, radius, reach, substeps = p[DT], p[RADIUS], p[REACH], int(p[SUBSTEPS])
    right, top = p[WIDTH] - radius, p[HEIGHT] - radius
    near = (reach + radius) * (reach + radius)
    for i in range(state.shape[1]):
        px, py, pvx, pvy = state[0, i], state[1, i], state[2, i], state[3, i]
        x, y, theta = state[4, i], state[5, i], state[6, i]
        vx, vy, omega = state[7, i], state[8, i], state[9, i]
        to_x = min(max(targets[i, 0], radius), right)
        to_y = min(max(targets[i, 1], radius), top)
        at, c, s = 0.0, 1.0, 0.0  # an angle with its cosine and sine, computed only when it changes
        gap = 0.0  # lower bound of the distance between pusher and body, m; motion uses it up
        settled = moved = False  # settled: at rest, and only a push can change that
        for _ in range(substeps):
            fx = fy = torque = push_x = push_y = 0.0
            if gap <= 0.0:
                square = (px - x) * (px - x) + (py - y) * (py - y)
                if square > near:  # the circumscribed circle is out of reach
                    gap = math.sqrt(square) - (reach + radius)
                else:
                    if theta != at:
                        at, c, s = theta, math.cos(theta), math.sin(theta)
                    push_x, push_y, torque, gap = contact_force(
                        vertices, p, x, y, c, s, vx, vy, omega, px, py, pvx, pvy
                    )
                    fx, fy = push_x, push_y
            pvx += dt * (p[GAIN] * (to_x - px) - p[BRAKE] * pvx - p[INVERSE_PUSHER] * push_x)
            pvy += dt * (p[GAIN] * (to_y - py) - p[BRAKE] * pvy - p[INVERSE_PUSHER] * push_y)
            px, py = px + dt * pvx, py + dt * pvy
            gap -= dt * (abs(pvx) + abs(pvy))
            # The rim stops the pusher. It is put there at once, so the bound starts over.
            if px < radius or px > right:
                px, pvx, gap = min(max(px, radius), right), 0.0, 0.0
            if py < radius or py > top:
                py, pvy, gap = min(max(py, radius), top), 0.0, 0.0
            pushed = push_x != 0.0 or push_y != 0.0
            if settled and not pushed:
                continue
            inside = reach < x < p[WIDTH] - reach and reach < y < p[HEIGHT] - reach  # of the walls
            if not inside:
                if theta != at:
                    at, c, s = theta, math.cos(theta), math.sin(theta)
                f, g, h = wall_force(vertices, p, x, y, c, s, vx, vy, omega)
                fx, fy, torque = fx + f, fy + g, torque + h
            # Support friction acts implicitly on the new velocity, so the body rests exactly.
            vx, vy, omega = slowed(
                vx + dt * fx / p[MASS],
                vy + dt * fy / p[MASS],
                omega + dt * torque / p[INERTIA],
                p[MASS],
                p[INERTIA],
                p[LIMIT],
                p[LENGTH],
                p[STILL],
                dt,
            )
            rests = vx == 0.0 and vy == 0.0 and omega == 0.0
            settled = rests and not pushed
            if not rests:
                x, y, theta, moved = x + dt * vx, y + dt * vy, theta + dt * omega, True
                gap -= dt * (abs(vx) + abs(vy) + abs(omega) * reach)
        state[0, i], state[1, i], state[2, i], state[3, i] = px, py, pvx, pvy
        state[7, i], state[8, i], state[9, i] = vx, vy, omega
        if moved:
            state[4, i], state[5, i], state[6, i] = x, y, theta
            state[10, i] = _covered(state, i, numbers, layout, room)
