"""Forces on the hand and on what it holds, and when they end a motion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from galley.domain.frames import Array
from galley.motion.motion import Motion
from galley.motion.thresholds import Thresholds
from galley.robots.model import RobotModel
from galley.simulation.physics_world import Touch
from galley.worlds.checker import Pair


def force_on(members: frozenset[str], touches: Mapping[Pair, Touch]) -> Array:
    """The force (3,), N, world frame, on some bodies together from all others."""
    total = np.zeros(3)
    for (a, b), touch in touches.items():
        if (a in members) == (b in members):
            continue
        total += touch.force if a in members else -touch.force
    return total


@dataclass(frozen=True)
class Watch:
    """Looks at one motion's forces.

    Attributes:
        motion: which.
        members: the hand, its fingers, and the item in it.
        robot_parts: the robot's links and the item in the hand. fingers: of the hand.
        limits: thresholds.
    """

    motion: Motion
    members: frozenset[str]
    robot_parts: frozenset[str]
    fingers: frozenset[str]
    limits: Thresholds

    @classmethod
    def over(cls, robot: RobotModel, motion: Motion, held: str | None, limits: Thresholds) -> Watch:
        """The watch over a motion, ``held`` being in the hand."""
        riding = frozenset({held} if held else ())
        members = frozenset({robot.palm, *robot.fingers}) | riding
        return cls(
            motion, members, frozenset(robot.links) | riding, frozenset(robot.fingers), limits
        )

    def resisting(self, touches: Mapping[Pair, Touch]) -> float:
        """N against the guard's direction; 0 where there is no guard."""
        guard = self.motion.guard
        if guard is None:
            return 0.0
        return float(-guard.direction @ force_on(self.members, touches))

    def met(self, touches: Mapping[Pair, Touch]) -> str:
        """What ended the motion, in words; empty while its guard is not met."""
        guard = self.motion.guard
        force = self.resisting(touches)
        return f"contact, {force:.0f} N" if guard is not None and force >= guard.force else ""

    def bumped(self, touches: Mapping[Pair, Touch], gripping: bool) -> str:
        """What the robot ran into, in words; empty while it is free to go on.

        Args:
            gripping: the fingers press on what they may touch, which is what they are for.
        """
        for (a, b), touch in touches.items():
            one, two = a in self.robot_parts, b in self.robot_parts
            if one == two or touch.normal < self.limits.stop_force:
                continue
            part, other = (a, b) if one else (b, a)
            if gripping and part in self.fingers and (a, b) in self.motion.allowed:
                continue
            return f"{part} met {other}, {touch.normal:.0f} N"
        return ""
