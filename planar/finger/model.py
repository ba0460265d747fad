"""The finger and the object that it touches: parameters and equations of motion.

All is in one dimension; x grows from the finger to the object. The fingertip is at x_f, the near
face of the object at x_o >= x_f. An applied force F_a pushes the finger:

    apart      m_f v_f' = F_a - D_f(v_f)       m_o v_o' = -s F_k - D_o(v_o)       s = sign of v_o
    pushing    (m_f + m_o) v' = F_a - D_f(v) - s F_k - D_o(v)
               compression N = s F_k + D_o(v) + m_o v' >= 0
    stuck      v = 0 exactly, N = F_a, while 0 <= F_a <= F_s

with drag D, static friction F_s and kinetic friction F_k. An impact at closing speed w keeps the
momentum of both and leaves them parting at e w (Newton's restitution), by the impulse

    J = m_f m_o / (m_f + m_o) (1 + e) w

A resting object may withstand an impact, as it withstands a push: spread over the contact time dt,
the impact is a force that adds to the finger's push. If static friction holds against both, the
object stays at rest like a wall; otherwise it moves off as if it were free:

    held   if  m_f (1 + e) w / dt + max(F_a - D_f(v_f), 0) <= F_s     J = m_f (1 + e) w

Each impact is judged by itself, even if the sensor still reads the one before it. In the rigid
limit, dt -> 0, any impact moves the object.
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

# Rounding must not part bodies that touch: a difference of forces counts as 0 up to this share of
# their sizes, plus this many newtons.
_ROUNDING = 1e-13
_NO_FORCE = 1e-15


@dataclass(frozen=True)
class Drag:
    """Drag as the sum of a linear and a quadratic law: ``linear v + quadratic v |v|``.

    Attributes:
        linear: N s/m.
        quadratic: N s^2/m^2.
    """

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

    The defaults are those of the original one-dimensional robot. It has no kinetic friction and no
    contact time; those two are Galley's.

    Attributes:
        finger_mass: kg.
        object_mass: kg; ``inf`` for a wall, which never moves.
        restitution: ratio of parting to closing speed in an impact, 0 to 1.
        static_friction: N, the largest push against which the object stays at rest.
        kinetic_friction: N, against the moving object; at most ``static_friction``.
        gap: from the fingertip to the object at the start, m.
        contact_time: dt, s: how long an impact lasts; the sensor reads J / dt meanwhile.
        finger_drag, object_drag: a ``Drag``, or a function of velocity (m/s) that returns a force
            (N) of the same sign; it is 0 at rest.

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
        """Reduced mass of finger and object, kg; the finger's mass if the object is a wall."""
        return self.finger_mass / (1.0 + self.finger_mass / self.object_mass)

    def finger_acceleration(self, force: float, velocity: float) -> float:
        """Acceleration of the separate finger, m/s^2, under an applied force (N)."""
        return (force - self.finger_drag(velocity)) / self.finger_mass

    def object_acceleration(self, velocity: float, sign: float) -> float:
        """Acceleration of the separate object, m/s^2; ``sign``: of its velocity, 0 at rest."""
        if sign == 0.0:
            return 0.0
        return -(sign * self.kinetic_friction + self.object_drag(velocity)) / self.object_mass

    def joint_acceleration(self, force: float, velocity: float, sign: float) -> float:
        """Acceleration of finger and object while pushing, m/s^2."""
        resistance = sign * self.kinetic_friction + self.object_drag(velocity)
        net = force - self.finger_drag(velocity) - resistance
        return net / (self.finger_mass + self.object_mass)

    def compression(self, force: float, velocity: float, sign: float) -> float:
        """Force between finger and object (N) while pushing; if it is negative, they part."""
        resistance = sign * self.kinetic_friction + self.object_drag(velocity)
        push = force - self.finger_drag(velocity)
        share = self.finger_mass / (self.finger_mass + self.object_mass)
        return share * resistance + (1.0 - share) * push

    def tension_margin(self, force: float, velocity: float, sign: float) -> float:
        """``compression`` plus an allowance for rounding; below 0 finger and object part."""
        terms = abs(force) + abs(self.finger_drag(velocity)) + abs(self.object_drag(velocity))
        allowance = _ROUNDING * (terms + self.kinetic_friction) + _NO_FORCE
        return self.compression(force, velocity, sign) + allowance

    def press_margin(self, force: float) -> float:
        """Push (N) at rest plus an allowance for rounding; below 0 the finger leaves."""
        return force + _NO_FORCE

    def slip_margin(self, force: float) -> float:
        """Static friction left at a push (N), plus an allowance; below 0 the object slips."""
        if self.wall:
            return math.inf
        return self.static_friction * (1.0 + _ROUNDING) - force + _NO_FORCE

    def impact(
        self, force: float, finger_velocity: float, object_velocity: float
    ) -> tuple[float, float, float]:
        """Impulse J (N s) of an impact, and the velocities (m/s) of finger and object after it.

        Args:
            force: applied to the finger, N.
            finger_velocity, object_velocity: before the impact, m/s; the first is larger.
        """
        closing = finger_velocity - object_velocity
        factor = 1.0 + self.restitution
        # First as if the object were a wall: if its friction holds against that, it is one.
        if object_velocity == 0.0:
            impulse = self.finger_mass * factor * closing
            push = max(force - self.finger_drag(finger_velocity), 0.0)
            if self.wall or impulse / self.contact_time + push <= self.static_friction:
                return impulse, -self.restitution * finger_velocity, 0.0
        impulse = self.reduced_mass * factor * closing
        after = object_velocity + impulse / self.object_mass
        # Computed from the object's, so that a plastic impact gives both exactly one velocity.
        return impulse, after - self.restitution * closing, after


def _check_law(name: str, law: DragLaw) -> None:
    """Refuse a drag that isn't a function of velocity, or isn't 0 at rest; raises ValueError."""
    if not callable(law):
        raise ValueError(f"{name} = {law!r}: must be a Drag or a function of velocity")
    if (force := law(0.0)) != 0.0:
        raise ValueError(f"{name} at 0 m/s is {force} N: must be 0")
