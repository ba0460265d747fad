"""Compiled: the friction between a body and the plane that it lies on; see ``support``."""

from __future__ import annotations

import math

from galley.compiled.jit import entry, kernel


@kernel
def support_wrench(
    vx: float, vy: float, omega: float, limit: float, length: float, still: float
) -> tuple[float, float, float]:
    """Force (N) and torque (N m) of support friction on a body with a velocity (m/s, rad/s).

    Args:
        vx, vy, omega: of the centre of mass.
        limit: N, friction against pure translation.
        length: m, the characteristic length.
        still: m/s, the speed below which friction falls off to 0.
    """
    turn = length * omega
    speed = math.sqrt(vx * vx + vy * vy + turn * turn + still * still)
    share = -limit / max(speed, 1e-300)
    return share * vx, share * vy, share * length * turn


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

    Friction at the new velocity v' is -limit v' / s, with s = sqrt(|v'|^2 + (c w')^2 + still^2):
    M (v' - v) = dt F(v'), an equation for s alone. It never turns a motion round, for any dt, and
    with ``still`` = 0 a body comes to rest exactly.
    """
    a = dt * limit / mass
    b = dt * limit * length * length / inertia
    straight, turn = vx * vx + vy * vy, length * length * omega * omega
    least = still * still
    # Both components in units of s: v' = v s / (s + a), w' = w s / (s + b). A positive s is a root
    # of g(s) = |v|^2 / (s + a)^2 + (c w)^2 / (s + b)^2 + still^2 / s^2 - 1, which is convex and
    # falls, so that Newton climbs to it from below. Without ``still`` there is none if g(0) <= 0.
    if limit <= 0.0:
        return vx, vy, omega
    if least == 0.0 and straight / (a * a) + turn / (b * b) <= 1.0:
        return 0.0, 0.0, 0.0
    # Lower bounds: each term alone stays below the sum.
    s = max(still, math.sqrt(straight) - a, math.sqrt(turn) - b, 0.0)
    for _ in range(60):
        p, q = s + a, s + b
        g = straight / (p * p) + turn / (q * q) - 1.0
        slope = -2.0 * (straight / (p * p * p) + turn / (q * q * q))
        if least > 0.0:
            g += least / (s * s)
            slope -= 2.0 * least / (s * s * s)
        step = -g / slope
        s += step
        if step <= 1e-15 * s:
            break
    return vx * (s / (s + a)), vy * (s / (s + a)), omega * (s / (s + b))
