"""The reachability field: every place and heading from which an arm reaches a set of hand poses.

Turning the arm about its foot's vertical changes joint 1 alone. So one solution of the inverse
kinematics answers for all headings at once, and the field holds the exact arc of headings that is
out of reach at each place of the foot instead of a sample of headings. What it takes on a grid is
the redundant joint.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from galley.domain.frames import Array, as_pose, frozen, wrap
from galley.robots.model import RobotModel
from galley.skills.base_placement.stances import bases_below

REDUNDANT = 12
"""Values of the redundant joint, evenly over its range."""


@dataclass(frozen=True)
class Field:
    """Where the arm's foot may stand.

    Attributes:
        x, y: of the foot, metres (n,), (m,).
        gap: middle and half of the width (rad) of the arc of headings that is out of reach
            (n, m, 2); a half of pi: no heading reaches; 0: all do.
        p_BA: the foot in the base's frame (2,), metres.
    """

    x: Array
    y: Array
    gap: Array
    p_BA: Array

    def share(self) -> Array:
        """The share of all headings that reach (n, m)."""
        return 1.0 - np.asarray(self.gap[..., 1]) / np.pi

    def reaches(self, heading: float) -> NDArray[np.bool_]:
        """Where the arm reaches with the base at a heading, rad (n, m)."""
        apart = np.abs(wrap(heading - self.gap[..., 0]))
        return np.asarray((apart >= self.gap[..., 1]) & (self.gap[..., 1] < np.pi))

    def bases(self, heading: float) -> Array:
        """Base poses (n, m, 3) at a heading, rad, with the foot on the grid."""
        return bases_below(self.x[:, None], self.y, wrap(np.array([heading])), self.p_BA)


def reachability_field(
    robot: RobotModel, hands: Array, x: Array, y: Array, redundant: int = REDUNDANT
) -> Field:
    """The field of the places from which the arm reaches any of several hand poses.

    Args:
        robot: with kinematics on a mobile base.
        hands: X_WH (g, 4, 4) or (4, 4).
        x, y: places of the arm's foot, metres (n,), (m,).
        redundant: number of values of the redundant joint.

    Raises:
        ValueError: no hand pose, one that is no pose, or not even one value of the redundant joint.
    """
    hands = as_pose(hands, "a hand pose").reshape(-1, 4, 4)
    if not len(hands):
        raise ValueError("a field needs a hand pose, got none")
    if redundant < 1:
        raise ValueError(f"a field needs a value of the redundant joint, got {redundant}")
    kinematics = robot.kinematics
    feet = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(-1, 2)
    gaps = kinematics.heading_gaps(hands, feet, np.linspace(*kinematics.redundant_range, redundant))
    return Field(
        frozen(x),
        frozen(y),
        frozen(gaps.reshape(len(x), len(y), 2)),
        frozen(kinematics.reach.p_BS[:2]),
    )


def square(center: Array, half: float, n: int) -> tuple[Array, Array]:
    """x (n,) and y (n,) of a square grid about ``center`` (>= 2,) that reaches ``half`` (m)."""
    if n < 2 or not half > 0.0:
        raise ValueError(f"a grid needs two lines and a positive half, got {n} and {half}")
    steps = np.linspace(-half, half, n)
    return center[0] + steps, center[1] + steps
