"""Inverse dynamics of a tree of rigid bodies by the recursive Newton-Euler algorithm.

J. Luh, M. Walker, R. Paul, "On-line computational scheme for mechanical manipulators" (1980). All
vectors are in the world's axes; a body is what a joint carries up to the next joints.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from galley.compiled.jit import entry, kernel
from galley.domain.frames import Array

Vector = tuple[float, float, float]


@entry("i8:1 b1:1 f8:2 f8:2 f8:1 f8:2 f8:3 f8:1 f8:2 f8:2 f8:2 f8:2")
@kernel
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
    out: Array,
) -> None:
    """Joint torques (m, n), or forces of sliding joints, of a motion; written to ``out``.

    Args:
        parent: (n,) the joint that carries each, before it in the order; -1 for the world.
        sliding: (n,) whether it slides along its axis, or turns about it.
        axis, place: (n, 3) directions of the joints, and points on them, at zero positions.
        mass, centre, inertia: (n,) kg, (n, 3) m, (n, 3, 3) kg m^2 about the centre, of the bodies
            at zero positions.
        gravity: (3,) m/s^2.
        q, velocity, acceleration: (m, n).
    """
    n = len(parent)
    R = np.empty((n + 1, 3, 3))
    # The world's stand at n, and so at -1.
    p, z, w = np.zeros((n + 1, 3)), np.zeros((n + 1, 3)), np.zeros((n + 1, 3))
    dw, a = np.zeros((n + 1, 3)), np.zeros((n + 1, 3))
    force, moment = np.empty((n + 1, 3)), np.empty((n + 1, 3))
    R[n] = np.eye(3)
    none = np.zeros(3)
    for row in range(len(q)):
        force[:], moment[:] = 0.0, 0.0
        for i in range(n):
            up = parent[i]
            origin = place[up] if up >= 0 else none
            axis_i = _times(R[up], _vector(axis[i]))
            r = _times(R[up], _sum(_vector(place[i]), _vector(origin), -1.0))
            omega, alpha = _vector(w[up]), _vector(dw[up])
            rate = _sum((0.0, 0.0, 0.0), axis_i, velocity[row, i])
            if sliding[i]:
                r = _sum(r, axis_i, q[row, i])
            linear = _sum(_vector(a[up]), _carried(omega, alpha, r), 1.0)
            if sliding[i]:
                R[i] = R[up]
                linear = _sum(linear, _cross(omega, rate), 2.0)
                linear = _sum(linear, axis_i, acceleration[row, i])
            else:
                _turned(axis_i, q[row, i], R[up], R[i])
                alpha = _sum(_sum(alpha, axis_i, acceleration[row, i]), _cross(omega, rate), 1.0)
                omega = _sum(omega, rate, 1.0)
            _set(p[i], _sum(_vector(p[up]), r, 1.0))
            _set(z[i], axis_i)
            _set(w[i], omega)
            _set(dw[i], alpha)
            _set(a[i], linear)
            c = _times(R[i], _sum(_vector(centre[i]), _vector(place[i]), -1.0))
            linear = _sum(_sum(linear, _carried(omega, alpha, c), 1.0), _vector(gravity), -1.0)
            f = _sum((0.0, 0.0, 0.0), linear, mass[i])
            spin = _cross(omega, _weighed(R[i], inertia[i], omega))
            turn = _sum(_weighed(R[i], inertia[i], alpha), spin, 1.0)
            _set(force[i], f)
            _set(moment[i], _sum(turn, _cross(c, f), 1.0))
        for i in range(n - 1, -1, -1):
            up = parent[i]
            f, turn = _vector(force[i]), _vector(moment[i])
            along = f if sliding[i] else turn
            out[row, i] = z[i, 0] * along[0] + z[i, 1] * along[1] + z[i, 2] * along[2]
            if up >= 0:
                r = _sum(_vector(p[i]), _vector(p[up]), -1.0)
                _set(force[up], _sum(_vector(force[up]), f, 1.0))
                turn = _sum(turn, _cross(r, f), 1.0)
                _set(moment[up], _sum(_vector(moment[up]), turn, 1.0))


# Vectors are tuples in between: small arrays would be allocated each time.


@kernel
def _vector(row: Array) -> Vector:
    return row[0], row[1], row[2]


@kernel
def _set(row: Array, x: Vector) -> None:
    row[0], row[1], row[2] = x


@kernel
def _sum(a: Vector, b: Vector, share: float) -> Vector:
    """a + share b."""
    return a[0] + share * b[0], a[1] + share * b[1], a[2] + share * b[2]


@kernel
def _cross(a: Vector, b: Vector) -> Vector:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@kernel
def _carried(omega: Vector, alpha: Vector, r: Vector) -> Vector:
    """Acceleration of a body's point against another one, r from it: alpha x r + w x (w x r)."""
    return _sum(_cross(alpha, r), _cross(omega, _cross(omega, r)), 1.0)


@kernel
def _times(A: Array, x: Vector) -> Vector:
    return (
        A[0, 0] * x[0] + A[0, 1] * x[1] + A[0, 2] * x[2],
        A[1, 0] * x[0] + A[1, 1] * x[1] + A[1, 2] * x[2],
        A[2, 0] * x[0] + A[2, 1] * x[1] + A[2, 2] * x[2],
    )


@kernel
def _weighed(R: Array, inertia: Array, x: Vector) -> Vector:
    """R inertia R' x."""
    own = (
        R[0, 0] * x[0] + R[1, 0] * x[1] + R[2, 0] * x[2],
        R[0, 1] * x[0] + R[1, 1] * x[1] + R[2, 1] * x[2],
        R[0, 2] * x[0] + R[1, 2] * x[1] + R[2, 2] * x[2],
    )
    return _times(R, _times(inertia, own))


@kernel
def _turned(axis: Vector, angle: float, R: Array, out: Array) -> None:
    """R turned about a unit axis, by Rodrigues' formula."""
    s, c = np.sin(angle), np.cos(angle)
    for j in range(3):
        x = R[0, j], R[1, j], R[2, j]
        along = (axis[0] * x[0] + axis[1] * x[1] + axis[2] * x[2]) * (1.0 - c)
        x = _sum(_sum((c * x[0], c * x[1], c * x[2]), _cross(axis, x), s), axis, along)
        out[0, j], out[1, j], out[2, j] = x
