"""Masks of a log: samples in which fingers may touch something, motions that led to a recovery."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from galley.domain.log import Log
from galley.robots.model import RobotModel


def samples_in(log: Log, seconds: float) -> int:
    """The number of sample periods in a window of ``seconds``, at least one."""
    return max(1, round(seconds / log.period))


def fingers_may_touch(log: Log, robot: RobotModel) -> NDArray[np.bool_]:
    """Which samples (T,) belong to a motion in which a finger may touch something.

    A contact stops a finger at once, so its acceleration and tracking are not checked then.
    """
    touching = np.zeros(len(log.motions), dtype=bool)
    for k, *names in log.declared.tolist():
        touching[int(k)] |= not set(robot.fingers).isdisjoint(names)
    return np.asarray(touching[log.motion])


def ends_in_recovery(log: Log) -> NDArray[np.bool_]:
    """Which motions (m,) ended with a deviation from which the execution monitor recovered.

    The labels of the motions from there on begin with the number of the recovery. A push that only
    needs a correction is no deviation in this sense.
    """
    numbers = [part for part, _ in log.parts]
    recovers = np.array([label.startswith("recovery") for label in log.motions.tolist()])
    return np.append((np.diff(numbers) > 0) & recovers[1:], False).astype(bool)
