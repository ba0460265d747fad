"""Guarded approaches: how hard a contact will be, how slow to come for it, and how to notice it.

A hand comes along a direction at speed v. An impact with restitution e against something that stays
has the impulse J = m v (1 + e) (Newton's law of impact). Rigid bodies, as a simulator with time
step dt has them, act within one step: under a push F0 the mean over it is F0 + J / dt.

The mass m is that of the whole arm where motors hold its joints in step, as stiff servos do and as
those that a simulator solves as constraints together with the contact. For joint rates w that move
the touching point at speed v, and the joints' mass matrix M,

    m = w^T M w / v^2

Joints that give way make it lighter, down to the operational-space inertia along the direction
(Khatib 1987; Gauss's principle). Until the motors are told to stop they push besides, up to what
their torques or the grip bear.
"""

from __future__ import annotations

import math
from statistics import NormalDist

from galley.domain.frames import Array
from galley.domain.parameters import DURATION, FORCE_LIMIT, MASS, RATIO, Quantity

_MOVING = Quantity("m/s", 0.0, above=True)


def driven_mass(mass_matrix: Array, rates: Array, speed: float) -> float:
    """What a mechanism whose motors hold its joints in step weighs, kg.

    Args:
        mass_matrix: M (n, n), kg m^2 (kg for prismatic joints).
        rates: of the joints (n,), rad/s or m/s. speed: of the touching point then, m/s.

    Raises:
        ValueError: ``speed`` is not more than 0.
    """
    speed = _MOVING.checked("speed", speed)
    return float(rates @ mass_matrix @ rates) / speed**2


def fastest(
    limit: float, mass: float, window: float, push: float = 0.0, restitution: float = 0.0
) -> float:
    """The speed (m/s) at which a rigid impact keeps to a mean force over a window; 0 if none does.

    Args:
        limit: N. mass: reflected, kg. window: s. push: N. restitution: 0 to 1.

    Raises:
        ValueError: a value is out of its bounds.
    """
    room = FORCE_LIMIT.checked("limit", limit) - FORCE_LIMIT.checked("push", push)
    mass, window = MASS.checked("mass", mass), DURATION.checked("window", window)
    bounce = RATIO.checked("restitution", restitution)
    return max(room, 0.0) * window / (mass * (1.0 + bounce))


def threshold(drag: float, noise: float, false_alarms: float, steps: int) -> float:
    """The force (N) that tells contact from drag and noise.

    Args:
        drag: N, the largest that motion itself makes the sensor read.
        noise: N, standard deviation of its Gaussian white noise.
        false_alarms: probability of any during an approach of ``steps`` readings.

    Raises:
        ValueError: a value is out of its bounds.
    """
    if not steps >= 1 or not 0.0 < false_alarms < 1.0:
        raise ValueError(f"steps = {steps}, false_alarms = {false_alarms}: must be >= 1, in (0, 1)")
    drag, noise = FORCE_LIMIT.checked("drag", drag), FORCE_LIMIT.checked("noise", noise)
    each = -math.expm1(math.log1p(-false_alarms) / steps)  # of one reading
    return drag - noise * NormalDist().inv_cdf(each)
