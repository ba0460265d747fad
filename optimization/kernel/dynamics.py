"""Inverse dynamics of a tree of rigid bodies by the recursive Newton-Euler algorithm.

R. Featherstone, "Rigid Body Dynamics Algorithms" (2008), 5.3, with all spatial vectors in the
world's axes about the world's origin, angular part first. A body is all that a joint carries up to
the next joints. For each state the outward pass computes poses, velocities, accelerations and the
forces that these need, and the inward pass sums the forces up to the root.
"""

from __future__ import annotations

import math

from galley.compiled.annotations import Bool, Float, Int, Matrix, Point, Points
from galley.compiled.jit import bare_kernel, entry


@entry("i8:1 b1:1 f8:2 f8:2 f8:1 f8:2 f8:3 f8:1 f8:2 f8:2 f8:2 f8:3 f8:2 f8:3 f8:2")
@bare_kernel
def inverse_dynamics(
    parent: Int,
    sliding: Bool,
    axis: Points,
    place: Points,
    mass: Float,
    centre: Points,
    inertia: Float,
    gravity: Point,
    q: Matrix,
    velocity: Matrix,
    acceleration: Matrix,
    R: Float,
    p: Points,
    spatial: Float,
    out: Matrix,
) -> None:
    """Joint torques (m, n) of a motion, N m, or N for sliding joints; written to ``out``.

    Args:
        parent: index of the joint that carries each joint (n,), before it in the order; n for the
            world.
        sliding: whether each joint slides along its axis rather than turns about it (n,).
        axis: directions of the joints' axes (n, 3) at zero positions, unit vectors.
        place: points on the axes (n + 1, 3) at zero positions, m; the last is the world's.
        mass: masses of the bodies (n,), kg.
        centre: the bodies' centres of mass (n, 3) at zero positions, m.
        inertia: the bodies' inertias (n, 3, 3) about their centres at zero positions, kg m^2.
        gravity: (3,), m/s^2.
        q, velocity, acceleration: joint positions and their derivatives (m, n).
        R: scratch (n + 1, 3, 3): the bodies' rotations; the last is the world's, the identity.
        p: scratch (n + 1, 3): the points ``place`` as the joints have moved them; the last is the
            world's.
        spatial: scratch (5, n + 1, 6): axes, velocities, accelerations, forces and room to work; 0
            in the world's rows.
        out: (m, n), overwritten.
    """
    n = len(parent)
    S, V, A, F, work = spatial[0], spatial[1], spatial[2], spatial[3], spatial[4]
    # The world accelerates upwards instead of a force of gravity on every body.
    for k in range(3):
        A[n, 3 + k] = -gravity[k]
    for row in range(len(q)):
        # Outward: a parent comes before the joints that it carries.
        for i in range(n):
            up = parent[i]
            _move(R, p, S[i], axis[i], place, i, up, sliding[i], q[row, i], work[i])
            for k in range(6):
                V[i, k] = V[up, k] + velocity[row, i] * S[i, k]
                A[i, k] = A[up, k] + acceleration[row, i] * S[i, k]
            # The axis moves with the body, at V x S: the cross product of spatial vectors.
            _add_cross(V[i, :3], S[i, :3], velocity[row, i], A[i, :3])
            _add_cross(V[i, 3:], S[i, :3], velocity[row, i], A[i, 3:])
            _add_cross(V[i, :3], S[i, 3:], velocity[row, i], A[i, 3:])
            # The centre of mass, moved along with the body.
            c = work[i, :3]
            for k in range(3):
                c[k] = p[i, k]
                for j in range(3):
                    c[k] += R[i, k, j] * (centre[i, j] - place[i, j])
            _force(R[i], mass[i], c, inertia[i], V[i], A[i], F[i], work[n])
        # Inward: a joint's torque is the part along its axis of the force on all that it carries.
        for i in range(n - 1, -1, -1):
            out[row, i] = 0.0
            for k in range(6):
                out[row, i] += S[i, k] * F[i, k]
            if parent[i] < n:
                for k in range(6):
                    F[parent[i], k] += F[i, k]


@bare_kernel
def _move(
    R: Float,
    p: Points,
    S: Float,
    axis: Point,
    place: Points,
    i: int,
    up: int,
    sliding: bool,
    q: float,
    z: Float,
) -> None:
    """Write body i's rotation R[i], point p[i] and spatial axis S (6,), with its joint at q.

    ``up`` is the parent, whose R and p are written already; z (6,) is scratch.
    """
    # The axis z and the point p, as the parent has moved them.
    for k in range(3):
        z[k] = 0.0
        p[i, k] = p[up, k]
        for j in range(3):
            z[k] += R[up, k, j] * axis[j]
            p[i, k] += R[up, k, j] * (place[i, j] - place[up, j])
        S[k] = 0.0 if sliding else z[k]
        S[3 + k] = z[k] if sliding else 0.0
    s, c = (0.0, 1.0) if sliding else (math.sin(q), math.cos(q))
    # Rodrigues' formula: the parent's rotation, turned about z. A sliding joint turns by 0.
    for j in range(3):
        x, y, w = R[up, 0, j], R[up, 1, j], R[up, 2, j]
        along = (1.0 - c) * (z[0] * x + z[1] * y + z[2] * w)
        R[i, 0, j] = c * x + s * (z[1] * w - z[2] * y) + along * z[0]
        R[i, 1, j] = c * y + s * (z[2] * x - z[0] * w) + along * z[1]
        R[i, 2, j] = c * w + s * (z[0] * y - z[1] * x) + along * z[2]
    if sliding:
        for k in range(3):
            p[i, k] += q * z[k]
    else:
        # A turning joint's axis need not go through the origin, which it then moves at p x z.
        _add_cross(p[i], S[:3], 1.0, S[3:])


@bare_kernel
def _force(
    R: Float, mass: float, c: Point, inertia: Float, V: Float, A: Float, F: Float, work: Float
) -> None:
    """Write the spatial force F (6,) that moves a body with its centre at c (3,).

    f = m (a + dw x c) + w x m (v + w x c), and the moment J dw + w x J w + c x f about the origin,
    with J = R inertia R', the velocity V (6,) = (w, v) and the acceleration A (6,) = (dw, a). R and
    ``inertia`` are (3, 3); work (6,) is scratch.
    """
    spin, momentum = work[:3], work[3:]
    for k in range(3):
        momentum[k], F[3 + k] = mass * V[3 + k], mass * A[3 + k]
    _add_cross(V[:3], c, mass, momentum)
    _add_cross(A[:3], c, mass, F[3:])
    _add_cross(V[:3], momentum, 1.0, F[3:])
    _rotate_inertia(R, inertia, V[:3], spin)
    _rotate_inertia(R, inertia, A[:3], F[:3])
    _add_cross(V[:3], spin, 1.0, F[:3])
    _add_cross(c, F[3:], 1.0, F[:3])


@bare_kernel
def _rotate_inertia(R: Float, inertia: Float, x: Float, out: Float) -> None:
    """Write R inertia R' x to ``out`` (3,), for R and inertia (3, 3) and x (3,)."""
    a = R[0, 0] * x[0] + R[1, 0] * x[1] + R[2, 0] * x[2]
    b = R[0, 1] * x[0] + R[1, 1] * x[1] + R[2, 1] * x[2]
    c = R[0, 2] * x[0] + R[1, 2] * x[1] + R[2, 2] * x[2]
    u = inertia[0, 0] * a + inertia[0, 1] * b + inertia[0, 2] * c
    v = inertia[1, 0] * a + inertia[1, 1] * b + inertia[1, 2] * c
    w = inertia[2, 0] * a + inertia[2, 1] * b + inertia[2, 2] * c
    for k in range(3):
        out[k] = R[k, 0] * u + R[k, 1] * v + R[k, 2] * w


@bare_kernel
def _add_cross(a: Float, b: Float, share: float, out: Float) -> None:
    """Add ``share`` times a x b to ``out``; all three are (3,)."""
    out[0] += share * (a[1] * b[2] - a[2] * b[1])
    out[1] += share * (a[2] * b[0] - a[0] * b[2])
    out[2] += share * (a[0] * b[1] - a[1] * b[0])
