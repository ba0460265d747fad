"""Scored base poses for a hand pose.

    score = manipulability * margin^0.5 / (1 + drive), each factor in [0, 1]

with manipulability sqrt(det(J J^T)) (Yoshikawa 1985) as a share of the arm's greatest, and margin
the least distance of a joint to its limits as a share of half its range. A product: a base that is
useless in one respect is useless.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from galley.domain.frames import Array, as_pose, wrap
from galley.domain.scene.model import Stance
from galley.robots.model import RobotModel

TURN = 0.3  # m of travel that a turn of 1 rad counts as
ASTERN = 1.0  # m of a drive that a metre backwards counts as beyond the metre
SIDESTEP = 0.3  # m, a shorter drive may go any way


@dataclass(frozen=True)
class Placement:
    """A base pose and why it is good.

    Attributes:
        base: (3,). arm: the configuration there that is best (n,).
        manipulability, margin: of that configuration, in [0, 1].
        drive: from the current base, metres.
        score: in [0, 1].
    """

    base: Array
    arm: Array
    manipulability: float
    margin: float
    drive: float
    score: float

    def reason(self) -> str:
        """In a sentence without its full stop, for a report."""
        return (
            f"score {self.score:.2f}: manipulability {100 * self.manipulability:.0f}% of the arm's "
            f"greatest, joints {100 * self.margin:.0f}% of half their range from a limit, "
            f"{self.drive:.2f} m away"
        )


def score_bases(
    robot: RobotModel, X_WH: Array, bases: Array, start: Array, redundant: Array
) -> list[Placement]:
    """Those of the bases from which the arm reaches a hand pose, best first.

    Collisions are not looked at.

    Args:
        robot: with kinematics in closed form.
        X_WH: of its palm (4, 4).
        bases: (m, 3). start: the current base (3,).
        redundant: values of the redundant joint (k,).

    Raises:
        ValueError: X_WH is no pose.
    """
    arms, terms = robot.kinematics.best_configurations(
        as_pose(X_WH, "a hand pose"), bases, redundant
    )
    value = terms[:, 0] * np.sqrt(terms[:, 1])
    reached = np.flatnonzero(value > 0.0)
    away = drive(bases[reached], start)
    score = value[reached] * (1.0 + away) ** -1.0
    return [
        Placement(
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
    """Metres of a straight drive from ``start`` (3,) to bases (m, 3), facing forward or not.

    A turn of 1 rad counts 0.3 m, and the way up to 1 + ``ASTERN`` times: once forward, in the
    middle sideways, most backwards.
    """
    apart = bases - start
    apart[:, 2] = wrap(apart[:, 2])
    course = np.arctan2(apart[:, 1], apart[:, 0])
    headings = start[2] + np.linspace(0.0, 1.0, 9)[:, None] * apart[:, 2]
    astern = 0.5 * (1.0 - np.cos(course - headings).mean(axis=0))
    way = np.hypot(apart[:, 0], apart[:, 1])
    return np.asarray(way * (1.0 + ASTERN * astern) + TURN * np.abs(apart[:, 2]))


def facing(bases: Array, start: Array, stance: Stance) -> Array:
    """Base poses (m, 3), turned as a straight drive from ``start`` (3,) arrives there forward.

    Those within ``SIDESTEP``, or for which the stance set has no such heading, stay as they are.
    """
    apart = bases[:, :2] - start[:2]
    turned = np.column_stack([bases[:, :2], np.arctan2(apart[:, 1], apart[:, 0])])
    allowed = np.array([stance.contains(pose) for pose in turned], dtype=np.bool_)
    allowed &= np.hypot(apart[:, 0], apart[:, 1]) > SIDESTEP
    return np.where(allowed[:, None], turned, bases)
