"""The finger and the object it touches: parameters, and the forces between them.

One dimension, x grows from the finger to the object. The finger's tip is at x_f, the near face of
the object at x_o >= x_f. An applied force F_a pushes the finger:

    apart      m_f v_f' = F_a - D_f(v_f)       m_o v_o' = -s F_k - D_o(v_o)       s = sign of v_o
    pushing    (m_f + m_o) v' = F_a - D_f(v) - s F_k - D_o(v)
               compression N = s F_k + D_o(v) + m_o v' >= 0
    stuck      v = 0 exactly, N = F_a, while 0 <= F_a <= F_s

with drag D, static friction F_s and kinetic friction F_k. An impact at closing speed w keeps the
momentum of both and leaves them parting at e w (Newton's restitution), by the impulse

    J = m_f m_o / (m_f + m_o) (1 + e) w

A resting object can hold out: friction bears an impact as it bears a push. Spread over the contact
time dt, the impact is a force on top of the push of the finger. The object stays, as a wall would,
if it bears both, and else it moves off freely:

    held   if  m_f (1 + e) w / dt + max(F_a - D_f(v_f), 0) <= F_s     J = m_f (1 + e) w

Each impact is judged by itself, also where the sensor still reads the one before it. dt -> 0 is the
rigid limit, in which any impact moves the object.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from galley.domain.parameters import (
    DURATION,
    FORCE_LIMIT,
    GAP,
    LINEAR_DRAG,
    MASS,
    MASS_OR_WALL,
    QUADRATIC_DRAG,
    RATIO,
    check,
    parameter,
)

DragLaw = Callable[[float], float]
"""Drag force (N) at a velocity (m/s); it has the sign of the velocity, and is 0 at rest."""

# Rounding must not tear apart what touches: forces are 0 up to this share of what they are the
# difference of, plus this many newtons.
_ROUNDING = 1e-13
_NO_FORCE = 1e-15


@dataclass(frozen=True)
class Drag:
    """Drag as the sum of a linear and a quadratic law: ``linear v + quadratic v |v|``."""

    linear: float = parameter(0.0, LINEAR_DRAG, "drag per speed")
    quadratic: float = parameter(0.0, QUADRATIC_DRAG, "drag per speed squared")

    def __post_init__(self) -> None:
        check(self)

    def __call__(self, velocity: float) -> float:
        """Force (N) at a velocity (m/s)."""
        return (self.linear + self.quadratic * abs(velocity)) * velocity


@dataclass(frozen=True)
class Finger:
    """A finger with a force sensor at its tip, and the object in front of it.

    The defaults are the original one-dimensional robot's; it gives neither kinetic friction nor
    contact time, which are ours.

    Attributes:
        finger_mass: kg.
        object_mass: kg; ``inf`` for a wall, which never moves.
        restitution: ratio of parting to closing speed in an impact, 0 to 1.
        static_friction: N, the largest force that the resting object bears.
        kinetic_friction: N, against the moving object; at most ``static_friction``.
        gap: m from the fingertip to the object at the start.
        contact_time: s, dt: how long an impact lasts in the sensor's reading, J / dt.
        finger_drag, object_drag: a ``Drag``, or any function of velocity (m/s) that returns a force
            (N) of the same sign, which goes to 0 with the speed.

    Raises:
        ValueError: a parameter is out of its bounds; the message names it and its value.
    """

    finger_mass: float = parameter(1.0, MASS, "mass of the finger")
    object_mass: float = parameter(1.0, MASS_OR_WALL, "mass of the object, inf for a wall")
    restitution: float = parameter(0.5, RATIO, "ratio of parting to closing speed in an impact")
    static_friction: float = parameter(1.0, FORCE_LIMIT, "force from which on the object moves")
    kinetic_friction: float = parameter(0.5, FORCE_LIMIT, "friction of the moving object")
    gap: float = parameter(1.5, GAP, "gap from the fingertip to the object at the start")
    contact_time: float = parameter(0.1, DURATION, "duration of an impact, in the sensor's reading")
    finger_drag: DragLaw = field(default=Drag(quadratic=1.0))
    object_drag: DragLaw = field(default=Drag(linear=0.02))

    def __post_init__(self) -> None:
        check(self)
        if self.kinetic_friction > self.static_friction:
            raise ValueError(
                f"kinetic_friction = {self.kinetic_friction:g} N: must not exceed static_friction "
                f"= {self.static_friction:g} N"
            )
        for name in ("finger_drag", "object_drag"):
            _check_law(name, getattr(self, name))

    @property
    def wall(self) -> bool:
        """Whether the object never moves."""
        return math.isinf(self.object_mass)

    @property
    def reduced_mass(self) -> float:
        """Of finger and object, kg; the finger's own before a wall."""
        return self.finger_mass / (1.0 + self.finger_mass / self.object_mass)

    def finger_acceleration(self, force: float, velocity: float) -> float:
        """Of the finger by itself, m/s^2, under an applied force (N)."""
        return (force - self.finger_drag(velocity)) / self.finger_mass

    def object_acceleration(self, velocity: float, sign: float) -> float:
        """Of the moving object by itself, m/s^2; ``sign`` of its velocity, 0 at rest."""
        if sign == 0.0:
            return 0.0
        return -(sign * self.kinetic_friction + self.object_drag(velocity)) / self.object_mass

    def joint_acceleration(self, force: float, velocity: float, sign: float) -> float:
        """Of finger and object in motion together, m/s^2."""
        resistance = sign * self.kinetic_friction + self.object_drag(velocity)
        net = force - self.finger_drag(velocity) - resistance
        return net / (self.finger_mass + self.object_mass)

    def compression(self, force: float, velocity: float, sign: float) -> float:
        """Force between finger and object (N) in motion together; negative: they part."""
        resistance = sign * self.kinetic_friction + self.object_drag(velocity)
        push = force - self.finger_drag(velocity)
        share = self.finger_mass / (self.finger_mass + self.object_mass)
        return share * resistance + (1.0 - share) * push

    def tension_margin(self, force: float, velocity: float, sign: float) -> float:
        """``compression`` with an allowance for rounding: finger and object part below 0."""
        terms = abs(force) + abs(self.finger_drag(velocity)) + abs(self.object_drag(velocity))
        allowance = _ROUNDING * (terms + self.kinetic_friction) + _NO_FORCE
        return self.compression(force, velocity, sign) + allowance

    def press_margin(self, force: float) -> float:
        """Push (N) on what touches at rest, with an allowance; the finger leaves it below 0."""
        return force + _NO_FORCE

    def slip_margin(self, force: float) -> float:
        """Push (N) that a resting object still bears, with an allowance; it slips below 0."""
        if self.wall:
            return math.inf
        return self.static_friction * (1.0 + _ROUNDING) - force + _NO_FORCE

    def impact(
        self, force: float, finger_velocity: float, object_velocity: float
    ) -> tuple[float, float, float]:
        """An impact: impulse J (N s), and the velocities (m/s) of finger and object after it.

        Args:
            force: applied (N).
            finger_velocity, object_velocity: before it (m/s), closing in.
        """
        closing = finger_velocity - object_velocity
        factor = 1.0 + self.restitution
        if object_velocity == 0.0:
            impulse = self.finger_mass * factor * closing
            push = max(force - self.finger_drag(finger_velocity), 0.0)
            if self.wall or impulse / self.contact_time + push <= self.static_friction:
                return impulse, -self.restitution * finger_velocity, 0.0
        impulse = self.reduced_mass * factor * closing
        after = object_velocity + impulse / self.object_mass
        # From the object's, so that a plastic impact leaves both with the same velocity.
        return impulse, after - self.restitution * closing, after


def _check_law(name: str, law: DragLaw) -> None:
    """Refuse what is no function of velocity, or pushes at rest, where nothing would hold it."""
    if not callable(law):
        raise ValueError(f"{name} = {law!r}: must be a Drag or a function of velocity")
    if (force := law(0.0)) != 0.0:
        raise ValueError(f"{name} at 0 m/s is {force} N: must be 0")
