"""Compiled support friction of a body on a plane; see ``support``."""

from __future__ import annotations

import math

from galley.compiled.jit import entry, kernel


@entry("f8 f8 f8 f8 f8 f8 f8 f8 f8")
@kernel
def slowed(
    vx: float,
    vy: float,
    omega: float,
    mass: float,
    inertia: float,
    limit: float,
    length: float,
    still: float,
    dt: float,
) -> tuple[float, float, float]:
    """The velocity (m/s, rad/s) after ``dt`` (s) of support friction, by implicit Euler.

    Friction at the new velocity v' is -limit v' / s, with s = sqrt(|v'|^2 + (c w')^2 + still^2), so
    M (v' - v) = dt F(v') is an equation for s alone. Friction never reverses a motion, however long
    dt is, and with ``still`` = 0 a body comes to rest exactly.

    Args:
        vx, vy, omega: velocity of the centre of mass, m/s and rad/s.
        mass, inertia: kg, kg m^2.
        limit, length, still: see ``support.SupportFriction``; ``length`` is c.
        dt: s.
    """
    a = dt * limit / mass
    b = dt * limit * length * length / inertia
    straight, turn = vx * vx + vy * vy, length * length * omega * omega
    least = still * still
    # v' = v s / (s + a) and w' = w s / (s + b), so s is the root of r = 1 with
    #     r^2 = |v|^2 / (s + a)^2 + (c w)^2 / (s + b)^2 + still^2 / s^2.
    # Newton on 1 / r, nearly linear in s, climbs to it from below (More and Sorensen, 1983).
    # Without ``still`` there is no root if r <= 1 at s = 0.
    if limit <= 0.0:
        return vx, vy, omega
    if straight + turn == 0.0:  # at rest; below it would be 0 / 0 for a tiny limit
        return 0.0, 0.0, 0.0
    if least == 0.0 and straight / (a * a) + turn / (b * b) <= 1.0:
        return 0.0, 0.0, 0.0
    # A lower bound: no term alone exceeds r^2.
    s = max(still, math.sqrt(straight) - a, math.sqrt(turn) - b, 0.0)
    for _ in range(60):
        p, q = 1.0 / (s + a), 1.0 / (s + b)
        u, v = straight * p * p, turn * q * q
        square, fall = u + v, u * p + v * q
        if least > 0.0:
            w = least / (s * s)
            square, fall = square + w, fall + w / s
        step = square * (math.sqrt(square) - 1.0) / fall
        s += step
        if step <= 1e-8 * s:  # quadratic convergence: the next step would be within rounding
            break
    return vx * (s / (s + a)), vy * (s / (s + a)), omega * (s / (s + b))
