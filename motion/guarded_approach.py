"""Guarded approaches: how hard a contact will be, how slow to come for it, and how to notice it.

A hand comes along a direction n (a unit vector) at speed v. What it weighs there is its reflected
mass m, the operational-space inertia along n (Khatib 1987): for the joints' mass matrix M and the
Jacobian J of the touching point's velocity,

    m = 1 / (n^T J M^-1 J^T n)

An impact with restitution e against something that stays has the impulse J = m v (1 + e)
(Newton's law of impact). Its force depends on how stiff the contact is:

- a linear spring k under a constant push F0 (energy: m v^2 / 2 + F0 x = k x^2 / 2):
  F_peak = F0 + sqrt(F0^2 + k m v^2), which is v sqrt(k m) without a push;
- rigid bodies, as a simulator with time step dt has them, act within one step: the mean over it is
  F0 + J / dt.

This holds for joints that give way in the impact. Motors that hold their joints in step, as stiff
servos do and as those that a simulator solves as constraints together with the contact, don't let
them: the whole arm stops as one body. It weighs, for joint rates w that move the point at speed v,

    m = w^T M w / v^2

which is never less than the reflected mass, the least over all w (Gauss's principle). Until the
motors are told to stop they push besides, up to what their torques or the grip bear.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from galley.domain.frames import Array
from galley.domain.parameters import (
    DURATION,
    FORCE_LIMIT,
    MASS,
    RATIO,
    Quantity,
    check,
    parameter,
)

_SPEED = Quantity("m/s", 0.0)
_MOVING = Quantity("m/s", 0.0, above=True)
_STIFFNESS = Quantity("N/m", 0.0, above=True, infinite=True)


def reflected_mass(mass_matrix: Array, jacobian: Array, direction: Array) -> float:
    """What a mechanism weighs at a point along a direction, kg.

    Args:
        mass_matrix: M (n, n) of the joints that give way, kg m^2 (kg for prismatic ones).
        jacobian: J (3, n) of the point's velocity by theirs.
        direction: unit vector (3,), in the frame of J.

    Returns:
        The mass; ``inf`` where no joint moves the point in this direction.

    Raises:
        numpy.linalg.LinAlgError: M is singular.
    """
    along = jacobian.T @ direction
    mobility = float(along @ np.linalg.solve(mass_matrix, along))
    return 1.0 / mobility if mobility > 0.0 else math.inf


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


@dataclass(frozen=True)
class Approach:
    """A guarded approach to something that stays; see the module for the formulas.

    Attributes:
        mass: reflected, kg. speed: m/s. stiffness: of the contact, N/m, ``inf`` if rigid.
        push: N, with which the motors go on pushing.
        restitution: 0 to 1, of rigid bodies; a spring gives back everything.

    Raises:
        ValueError: a parameter is out of its bounds; the message names it and its value.
    """

    mass: float = parameter(1.0, MASS, "reflected mass")
    speed: float = parameter(0.02, _SPEED, "on contact")
    stiffness: float = parameter(math.inf, _STIFFNESS, "of the contact, inf if rigid")
    push: float = parameter(0.0, FORCE_LIMIT, "force with which the motors go on")
    restitution: float = parameter(0.0, RATIO, "parting over closing speed")

    def __post_init__(self) -> None:
        check(self)

    @property
    def impulse(self) -> float:
        """N s, of the impact itself."""
        bounce = self.restitution if math.isinf(self.stiffness) else 1.0
        return self.mass * self.speed * (1.0 + bounce)

    @property
    def peak_force(self) -> float:
        """N, the largest at any instant; ``inf`` for rigid bodies that move."""
        if math.isinf(self.stiffness):
            return math.inf if self.speed else self.push
        return self.push + math.sqrt(self.push**2 + self.stiffness * self.mass * self.speed**2)

    def mean_force(self, window: float) -> float:
        """N, the largest mean over ``window`` (s): about the peak, or of the whole contact."""
        window = DURATION.checked("window", window)
        if math.isinf(self.stiffness):
            return self.push + self.impulse / window
        swing = self.peak_force - self.push
        rate = math.sqrt(self.stiffness / self.mass)
        # The force of a spring is a sine about the push; from touch to peak it runs through
        lead = math.pi / 2.0 + math.asin(min(self.push / swing, 1.0)) if swing else math.pi
        half = 0.5 * rate * window
        if half >= lead:  # the whole contact
            return (self.impulse + self.push * 2.0 * lead / rate) / window
        return self.push + swing * math.sin(half) / half


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
