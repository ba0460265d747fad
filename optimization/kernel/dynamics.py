"""Inverse dynamics of a tree of rigid bodies by the recursive Newton-Euler algorithm.

R. Featherstone, "Rigid Body Dynamics Algorithms" (2008), 5.3, with all spatial vectors in the
world's axes about the world's origin: angular part first. A body is what a joint carries up to the
next joints.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from galley.compiled.jit import bare_kernel, entry
from galley.domain.frames import Array


@entry("i8:1 b1:1 f8:2 f8:2 f8:1 f8:2 f8:3 f8:1 f8:2 f8:2 f8:2 f8:3 f8:2 f8:3 f8:2")
@bare_kernel
def inverse_dynamics(
    parent: NDArray[np.int64],
    sliding: NDArray[np.bool_],
    axis: Array,
    place: Array,
    mass: Array,
    centre: Array,
    inertia: Array,
    gravity: Array,
    q: Array,
    velocity: Array,
    acceleration: Array,
    R: Array,
    p: Array,
    spatial: Array,
    out: Array,
) -> None:
    """Joint torques (m, n), or forces of sliding joints, of a motion; written to ``out``.

    Args:
        parent: (n,) the joint that carries each, before it in the order; n for the world.
        sliding: (n,) whether it slides along its axis, or turns about it.
        axis, place: (n, 3), (n + 1, 3) directions of the joints, and points on them, at zero
            positions; the world's point last.
        mass, centre, inertia: (n,) kg, (n, 3) m, (n, 3, 3) kg m^2 about the centre, of the bodies
            at zero positions.
        gravity: (3,) m/s^2.
        q, velocity, acceleration: (m, n).
        R, p: (n + 1, 3, 3), (n + 1, 3) scratch: the bodies' turns, and where ``place`` is by then;
            the last ones are the world's.
        spatial: (5, n + 1, 6) scratch, zeros in the world's.
    """
    n = len(parent)
    S, V, A, F, work = spatial[0], spatial[1], spatial[2], spatial[3], spatial[4]
    for k in range(3):
        A[n, 3 + k] = -gravity[k]
    for row in range(len(q)):
        for i in range(n):
            up = parent[i]
            _move(R, p, S[i], axis[i], place, i, up, sliding[i], q[row, i], work[i])
            for k in range(6):
                V[i, k] = V[up, k] + velocity[row, i] * S[i, k]
                A[i, k] = A[up, k] + acceleration[row, i] * S[i, k]
            # The axis moves with the body: V x S.
            _add_cross(V[i, :3], S[i, :3], velocity[row, i], A[i, :3])
            _add_cross(V[i, 3:], S[i, :3], velocity[row, i], A[i, 3:])
            _add_cross(V[i, :3], S[i, 3:], velocity[row, i], A[i, 3:])
            c = work[i, :3]
            for k in range(3):
                c[k] = p[i, k]
                for j in range(3):
                    c[k] += R[i, k, j] * (centre[i, j] - place[i, j])
            _force(R[i], mass[i], c, inertia[i], V[i], A[i], F[i], work[n])
        for i in range(n - 1, -1, -1):
            out[row, i] = 0.0
            for k in range(6):
                out[row, i] += S[i, k] * F[i, k]
            if parent[i] < n:
                for k in range(6):
                    F[parent[i], k] += F[i, k]


@bare_kernel
def _move(
    R: Array,
    p: Array,
    S: Array,
    axis: Array,
    place: Array,
    i: int,
    up: int,
    sliding: bool,
    q: float,
    z: Array,
) -> None:
    """Write R[i], p[i] and the joint's axis S (6,) at q; z is scratch."""
    for k in range(3):
        z[k] = 0.0
        p[i, k] = p[up, k]
        for j in range(3):
            z[k] += R[up, k, j] * axis[j]
            p[i, k] += R[up, k, j] * (place[i, j] - place[up, j])
        S[k] = 0.0 if sliding else z[k]
        S[3 + k] = z[k] if sliding else 0.0
    s, c = (0.0, 1.0) if sliding else (math.sin(q), math.cos(q))
    for j in range(3):  # Rodrigues' formula
        x, y, w = R[up, 0, j], R[up, 1, j], R[up, 2, j]
        along = (1.0 - c) * (z[0] * x + z[1] * y + z[2] * w)
        R[i, 0, j] = c * x + s * (z[1] * w - z[2] * y) + along * z[0]
        R[i, 1, j] = c * y + s * (z[2] * x - z[0] * w) + along * z[1]
        R[i, 2, j] = c * w + s * (z[0] * y - z[1] * x) + along * z[2]
    if sliding:
        for k in range(3):
            p[i, k] += q * z[k]
    else:
        _add_cross(p[i], S[:3], 1.0, S[3:])


@bare_kernel
def _force(
    R: Array, mass: float, c: Array, inertia: Array, V: Array, A: Array, F: Array, work: Array
) -> None:
    """Write the force F (6,) that moves a body with its centre at c; work (6,) is scratch.

    f = m (a + dw x c) + w x m (v + w x c), and the moment J dw + w x J w + c x f, J = R inertia R'.
    """
    spin, momentum = work[:3], work[3:]
    for k in range(3):
        momentum[k], F[3 + k] = mass * V[3 + k], mass * A[3 + k]
    _add_cross(V[:3], c, mass, momentum)
    _add_cross(A[:3], c, mass, F[3:])
    _add_cross(V[:3], momentum, 1.0, F[3:])
    _weigh(R, inertia, V[:3], spin)
    _weigh(R, inertia, A[:3], F[:3])
    _add_cross(V[:3], spin, 1.0, F[:3])
    _add_cross(c, F[3:], 1.0, F[:3])


@bare_kernel
def _weigh(R: Array, inertia: Array, x: Array, out: Array) -> None:
    """R inertia R' x, written to ``out`` (3,)."""
    a = R[0, 0] * x[0] + R[1, 0] * x[1] + R[2, 0] * x[2]
    b = R[0, 1] * x[0] + R[1, 1] * x[1] + R[2, 1] * x[2]
    c = R[0, 2] * x[0] + R[1, 2] * x[1] + R[2, 2] * x[2]
    u = inertia[0, 0] * a + inertia[0, 1] * b + inertia[0, 2] * c
    v = inertia[1, 0] * a + inertia[1, 1] * b + inertia[1, 2] * c
    w = inertia[2, 0] * a + inertia[2, 1] * b + inertia[2, 2] * c
    for k in range(3):
        out[k] = R[k, 0] * u + R[k, 1] * v + R[k, 2] * w


@bare_kernel
def _add_cross(a: Array, b: Array, share: float, out: Array) -> None:
    """Adds share a x b to ``out``; all (3,)."""
    out[0] += share * (a[1] * b[2] - a[2] * b[1])
    out[1] += share * (a[2] * b[0] - a[0] * b[2])
    out[2] += share * (a[0] * b[1] - a[1] * b[0])
