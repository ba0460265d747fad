"""Proof that a curve is free between its checked states, by conservative advancement.

Take two states of a straight joint-space edge, with clearances c_a and c_b to everything that does
not move along. They prove the whole edge free if no point of the robot travels further than
c_a + c_b between them: in every state in between, the point is then nearer to its position in one
of the two states than the clearance of that state. If the edge is too long for that, it is halved.
After B. Mirtich, "Impulse-based dynamic simulation" (1996), and F. Schwarzer, M. Saha,
J.-C. Latombe, "Exact collision checking of robot paths" (2002).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from galley.domain.frames import Array

CAP = 0.06  # m, clearances are measured up to this: to know larger ones would gain little
_FINEST = 1e-4  # m of travel: an edge this short that isn't proven counts as a hit


@dataclass(frozen=True)
class Certificate:
    """The result of a proof.

    Attributes:
        hit: parameter in [0, n - 1] of the first state that is too near; None if the path is proven
            free.
        clearance: least clearance measured, metres, at most CAP.
        states: number of states checked.
    """

    hit: float | None
    clearance: float
    states: int


def certify(
    points: Array,
    clearance: Callable[[float], float],
    travel: Callable[[Array, Array], float],
    required: float,
) -> Certificate:
    """Prove that every state of a polygonal path keeps more than ``required`` clearance.

    Args:
        points: the path's waypoints (n, k).
        clearance: takes a parameter s in [0, n - 1] (waypoint number plus share of the edge);
            returns that state's clearance in metres, at most CAP; negative in collision.
        travel: takes two configurations (k,); returns a bound (m) on how far any moving point
            travels between them.
        required: metres.

    Returns:
        The certificate. A path that can't be proven counts as a hit.
    """
    least, states = np.inf, 0

    def look(s: float) -> float:
        nonlocal least, states
        states += 1
        c = clearance(s)
        least = min(least, c)
        return c

    before = look(0.0)
    if before <= required:
        return Certificate(0.0, before, states)
    for k in range(len(points) - 1):
        after = look(float(k + 1))
        # Parts of the edge still to prove, the first one on top: so the first hit is returned.
        stack = [(0.0, before, 1.0, after, travel(points[k], points[k + 1]))]
        while stack:
            u, c_u, v, c_v, distance = stack.pop()
            if c_u <= required or c_v <= required:
                return Certificate(k + (u if c_u <= required else v), least, states)
            # Proven: no point can use up the spare clearance of both ends.
            if distance <= (c_u - required) + (c_v - required):
                continue
            # Too short to halve further: a state just at the limit can never be proven.
            if distance < _FINEST:
                return Certificate(k + u, least, states)
            middle = 0.5 * (u + v)
            c = look(k + middle)
            stack.append((middle, c, v, c_v, 0.5 * distance))
            stack.append((u, c_u, middle, c, 0.5 * distance))
        before = after
    return Certificate(None, float(least), states)


def configuration_at(points: Array, s: float) -> Array:
    """The configuration (k,) at parameter s in [0, n - 1] of a polygonal path."""
    k = min(int(s), len(points) - 2) if len(points) > 1 else 0
    if len(points) == 1:
        return np.asarray(points[0])
    return np.asarray(points[k] + (s - k) * (points[k + 1] - points[k]))
