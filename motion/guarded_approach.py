"""Guarded approaches: the force of an impact, a safe speed of approach, and detecting contact.

A hand moves along a direction at speed v. An impact with restitution e against a fixed body has the
impulse J = m v (1 + e) (Newton's law of impact). Rigid bodies in a simulator with time step dt act
within one step: under a push F0 the mean force over the step is F0 + J / dt.

The mass m is that of the whole arm if motors hold its joints in step. Stiff servos do so, and so do
motors that a simulator solves as constraints together with the contact. For joint rates w that move
the touching point at speed v, and the joints' mass matrix M,

    m = w^T M w / v^2

Joints that give way make the mass smaller, down to the operational-space inertia along the
direction (Khatib 1987; Gauss's principle). Until the motors stop they push as well, up to the limit
of their torques or of the grip.
"""

from __future__ import annotations

import math
from statistics import NormalDist

from galley.domain.frames import Array
from galley.domain.parameters import DURATION, FORCE_LIMIT, MASS, RATIO, Quantity

_MOVING = Quantity("m/s", 0.0, above=True)


def driven_mass(mass_matrix: Array, rates: Array, speed: float) -> float:
    """The effective mass (kg) of an arm in an impact, if its motors hold the joints in step.

    Args:
        mass_matrix: M (n, n), kg m^2 (kg for prismatic joints).
        rates: velocities of the joints (n,), rad/s or m/s.
        speed: speed of the touching point at these rates, m/s.

    Raises:
        ValueError: ``speed`` is not more than 0.
    """
    speed = _MOVING.checked("speed", speed)
    return float(rates @ mass_matrix @ rates) / speed**2


def fastest(
    limit: float, mass: float, window: float, push: float = 0.0, restitution: float = 0.0
) -> float:
    """The highest speed (m/s) at which an impact's mean force keeps a limit; 0 if none does.

    Args:
        limit: mean force over the window that must not be exceeded, N.
        mass: effective mass of the arm (``driven_mass``), kg.
        window: time over which the force is averaged, s.
        push: force with which the motors push besides, N.
        restitution: of the impact, 0 (no rebound) to 1.

    Raises:
        ValueError: a value is out of its bounds.
    """
    room = FORCE_LIMIT.checked("limit", limit) - FORCE_LIMIT.checked("push", push)
    mass, window = MASS.checked("mass", mass), DURATION.checked("window", window)
    bounce = RATIO.checked("restitution", restitution)
    return max(room, 0.0) * window / (mass * (1.0 + bounce))


def threshold(drag: float, noise: float, false_alarms: float, steps: int) -> float:
    """The force (N) from which a reading counts as contact rather than as drag or noise.

    Args:
        drag: the largest force that motion itself makes the sensor read, N.
        noise: standard deviation of the sensor's Gaussian white noise, N.
        false_alarms: probability of at least one false alarm during an approach.
        steps: readings of the sensor during an approach.

    Raises:
        ValueError: a value is out of its bounds.
    """
    if not steps >= 1 or not 0.0 < false_alarms < 1.0:
        raise ValueError(f"steps = {steps}, false_alarms = {false_alarms}: must be >= 1, in (0, 1)")
    drag, noise = FORCE_LIMIT.checked("drag", drag), FORCE_LIMIT.checked("noise", noise)
    # The probability for one reading, 1 - (1 - p)^(1 / steps), without cancellation.
    single = -math.expm1(math.log1p(-false_alarms) / steps)
    return drag - noise * NormalDist().inv_cdf(single)
