"""How far joints are from where they were told to be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from galley.domain.log import Log
from galley.robots.model import RobotModel
from galley.validation.limits import base_left_alone, fingers_free
from galley.validation.tolerances import Tolerances
from galley.validation.verdict import Violation


@dataclass(frozen=True)
class Tracked:
    """Largest errors of the arm (rad) and of the base's position (m), and the violations."""

    arm: float
    base: float
    violations: tuple[Violation, ...]


def tracked(robot: RobotModel, log: Log, tolerances: Tolerances) -> Tracked:
    """Commands against positions.

    Fingers count only while they may touch nothing, the base while nothing outside pushes it.
    """
    error = np.abs(log.command - log.q)
    bounds = {
        "arm": (tolerances.tracking_arm,) * robot.group("arm").size,
        "base": (tolerances.tracking_base, tolerances.tracking_base, tolerances.tracking_heading),
        "fingers": (tolerances.tracking_fingers,) * robot.group("fingers").size,
    }
    error[~fingers_free(log, robot, 0), robot.slice("fingers")] = 0.0
    error[~base_left_alone(log, robot, 1), robot.slice("base")] = 0.0
    found = []
    for name, bound in bounds.items():
        group, off = robot.group(name), error[:, robot.slice(name)]
        for j, joint in enumerate(group.joints):
            over = off[:, j] > bound[j]
            if over.any():
                k = int(np.argmax(over))
                what = (
                    f"{joint} is up to {off[:, j].max():.4f} {group.units[j]} from where it was"
                    " told to be"
                )
                found.append(Violation(float(log.time[k]), what, "tracking"))
    base = error[:, robot.slice("base")]
    return Tracked(
        arm=float(error[:, robot.slice("arm")].max(initial=0.0)),
        base=float(np.hypot(base[:, 0], base[:, 1]).max(initial=0.0)),
        violations=tuple(found),
    )
