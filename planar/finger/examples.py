"""The two demonstrations: bounce off the object and push it; press it, then push it."""

from __future__ import annotations

from dataclasses import dataclass

from galley.planar.finger.force import Profile
from galley.planar.finger.model import Finger

# Ten times the finger's mass. Held by friction, it is like a wall for a slow finger.
_HEAVY = Finger(object_mass=10.0, static_friction=10.0, kinetic_friction=4.0)
_SOFT = Finger(object_mass=10.0, static_friction=10.0, kinetic_friction=4.0, restitution=0.2)


@dataclass(frozen=True)
class Example:
    """A finger, the force on it, and the duration of the run.

    Attributes:
        finger: parameters of finger and object.
        force: applied to the finger, N over s.
        t_end: duration, s.
        about: what happens, in one line.
    """

    finger: Finger
    force: Profile
    t_end: float
    about: str


EXAMPLES = {
    "wall": Example(
        _HEAVY,
        Profile.of([(0, 1), (1, 1), (1, 0), (4.6, 0), (4.6, 11), (8, 11), (8, 0)]),
        10.0,
        "coast, bounce off the resting object, come back and push it; then fall behind",
    ),
    "push": Example(
        _SOFT,
        Profile.of([(0, 0.5), (5, 0.5), (5, 14), (8, 14), (8, 0)]),
        10.0,
        "press the object without moving it, push it; then fall behind",
    ),
}
