"""Scores of base poses for a hand pose.

    score = manipulability * margin^0.5 / (1 + drive), each factor in [0, 1]

with manipulability sqrt(det(J J^T)) (Yoshikawa 1985) as a share of the arm's greatest, and margin
the least distance of a joint to its limits as a share of half its range; ``drive`` is the cost of
the drive in metres. The score is a product, for a base that is useless in one respect is useless.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from galley.domain.frames import Array, as_pose, wrap
from galley.domain.scene.model import Stance
from galley.robots.model import RobotModel

TURN = 0.3  # m of travel that a turn of 1 rad counts as
ASTERN = 1.0  # m that a metre backwards counts more than a metre forward
SIDESTEP = 0.3  # m, a shorter drive may go in any direction


@dataclass(frozen=True)
class BasePlacement:
    """A base pose and why it is good.

    Attributes:
        base: the base pose (3,).
        arm: the best arm configuration there (n,).
        manipulability: that of the configuration, in [0, 1].
        margin: joint margin of the configuration, in [0, 1].
        drive: cost of the drive from the current base, metres.
        score: the score, in [0, 1]; higher is better.
    """

    base: Array
    arm: Array
    manipulability: float
    margin: float
    drive: float
    score: float

    def reason(self) -> str:
        """The score and its factors as a sentence for the report, without the full stop."""
        return (
            f"score {self.score:.2f}: manipulability {100 * self.manipulability:.0f}% of the arm's "
            f"greatest, joints {100 * self.margin:.0f}% of half their range from a limit, "
            f"{self.drive:.2f} m away"
        )


def score_bases(
    robot: RobotModel, X_WH: Array, bases: Array, start: Array, redundant: Array
) -> list[BasePlacement]:
    """The bases from which the arm reaches a hand pose, best first; collisions are not checked.

    Args:
        robot: a robot with inverse kinematics in closed form.
        X_WH: the hand pose (4, 4).
        bases: the base poses to compare (m, 3).
        start: the current base pose (3,).
        redundant: values of the redundant joint to try (k,).

    Raises:
        ValueError: X_WH is not a pose.
    """
    arms, terms = robot.kinematics.best_configurations(
        as_pose(X_WH, "a hand pose"), bases, redundant
    )
    value = terms[:, 0] * np.sqrt(terms[:, 1])
    reached = np.flatnonzero(value > 0.0)
    away = drive(bases[reached], start)
    score = value[reached] * (1.0 + away) ** -1.0
    return [
        BasePlacement(
            bases[reached[k]],
            arms[reached[k]],
            float(terms[reached[k], 0]),
            float(terms[reached[k], 1]),
            float(away[k]),
            float(score[k]),
        )
        for k in np.argsort(-score, kind="stable")
    ]


def drive(bases: Array, start: Array) -> Array:
    """Cost in metres of straight drives from ``start`` (3,) to bases (m, 3).

    A turn of 1 rad counts as 0.3 m. A metre forward counts once, sideways more, and backwards
    1 + ``ASTERN`` times; the heading is taken to turn evenly on the way.
    """
    apart = bases - start
    apart[:, 2] = wrap(apart[:, 2])
    course = np.arctan2(apart[:, 1], apart[:, 0])
    headings = start[2] + np.linspace(0.0, 1.0, 9)[:, None] * apart[:, 2]
    astern = 0.5 * (1.0 - np.cos(course - headings).mean(axis=0))
    way = np.hypot(apart[:, 0], apart[:, 1])
    return np.asarray(way * (1.0 + ASTERN * astern) + TURN * np.abs(apart[:, 2]))


def facing(bases: Array, start: Array, stance: Stance) -> Array:
    """Base poses (m, 3), turned to the heading of a straight drive from ``start`` (3,).

    Poses nearer than ``SIDESTEP`` stay as they are, and so do those for which the stance set
    doesn't contain that heading.
    """
    apart = bases[:, :2] - start[:2]
    turned = np.column_stack([bases[:, :2], np.arctan2(apart[:, 1], apart[:, 0])])
    allowed = np.array([stance.contains(pose) for pose in turned], dtype=np.bool_)
    allowed &= np.hypot(apart[:, 0], apart[:, 1]) > SIDESTEP
    return np.where(allowed[:, None], turned, bases)
