"""The reachability field: every place and heading from which an arm reaches a set of hand poses.

To turn the base about the vertical axis through the arm's foot changes joint 1 alone. So one
solution of the inverse kinematics settles all headings at once: at each place of the foot, the
field holds the exact arc of headings that is out of reach, instead of a sample of headings. Only
the redundant joint is sampled on a grid.
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
    """Where the arm's foot may stand, on a grid.

    Attributes:
        x: x of the foot in the world, metres (n,).
        y: y of the foot in the world, metres (m,).
        gap: middle and half width (rad) of the arc of headings that is out of reach (n, m, 2). With
            a half width of pi no heading reaches, with 0 all do.
        p_BA: the foot in the base's frame, metres (2,).
    """

    x: Array
    y: Array
    gap: Array
    p_BA: Array

    def share(self) -> Array:
        """The share of all headings at which the arm reaches (n, m)."""
        return 1.0 - np.asarray(self.gap[..., 1]) / np.pi

    def reaches(self, heading: float) -> NDArray[np.bool_]:
        """At which places the arm reaches with the base at a heading (rad): (n, m)."""
        apart = np.abs(wrap(heading - self.gap[..., 0]))
        return np.asarray((apart >= self.gap[..., 1]) & (self.gap[..., 1] < np.pi))

    def bases(self, heading: float) -> Array:
        """Base poses (n, m, 3) at a heading (rad), with the foot on the grid."""
        return bases_below(self.x[:, None], self.y, wrap(np.array([heading])), self.p_BA)


def reachability_field(
    robot: RobotModel, hands: Array, x: Array, y: Array, redundant: int = REDUNDANT
) -> Field:
    """The field of the places from which the arm reaches any of several hand poses.

    Args:
        robot: a robot on a mobile base.
        hands: X_WH (g, 4, 4) or (4, 4).
        x: x of the places of the arm's foot, metres (n,).
        y: y of these places, metres (m,).
        redundant: number of values of the redundant joint; more find more headings.

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
    """x (n,) and y (n,) of a square grid about ``center`` (>= 2,).

    Args:
        half: half of the side, m.
        n: lines in each direction, from 2.

    Raises:
        ValueError: the grid is too small.
    """
    if n < 2 or not half > 0.0:
        raise ValueError(f"a grid needs two lines and a positive half, got {n} and {half}")
    steps = np.linspace(-half, half, n)
    return center[0] + steps, center[1] + steps
