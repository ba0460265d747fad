"""What a scene file says besides the things in it: the robot's start, and the physics."""

from __future__ import annotations

from dataclasses import dataclass

from galley.domain.base_spec import MobileBaseSpec
from galley.domain.frames import Array


@dataclass(frozen=True)
class RobotSpec:
    """The robot and its configuration at the start.

    Attributes:
        model: ``mobile_panda``.
        q: start configuration: base (3), arm (7), fingers (2).
    """

    name: str
    model: str
    base: MobileBaseSpec
    q: Array


@dataclass(frozen=True)
class Physics:
    """gravity: (3,) m/s^2. friction, restitution: defaults of surfaces. time_step: s.
    finger_force: N. finger_friction: of the finger pads."""

    gravity: Array
    friction: float
    restitution: float
    time_step: float
    finger_force: float
    finger_friction: float
