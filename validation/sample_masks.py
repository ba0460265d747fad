"""What a log says of its samples: windows of time, fingers that may touch, motions that failed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from galley.domain.log import Log
from galley.robots.model import RobotModel


def samples_in(log: Log, seconds: float) -> int:
    """Number of sample periods in a window of ``seconds``, at least one."""
    return max(1, round(seconds / log.period))


def fingers_may_touch(log: Log, robot: RobotModel) -> NDArray[np.bool_]:
    """Samples (T,) of motions in which a finger may touch something.

    A contact stops a finger at once, so limits and commands say nothing about its motion then.
    """
    touching = np.zeros(len(log.motions), dtype=bool)
    for k, *names in log.declared.tolist():
        touching[int(k)] |= not set(robot.fingers).isdisjoint(names)
    return np.asarray(touching[log.motion])


def ends_in_recovery(log: Log) -> NDArray[np.bool_]:
    """Motions (m,) after which the execution monitor noticed a mishap and planned anew.

    The names of the motions from there on begin with the number of the recovery. A push that is
    corrected was no mishap.
    """
    numbers = [part for part, _ in log.parts]
    recovers = np.array([label.startswith("recovery") for label in log.motions.tolist()])
    return np.append((np.diff(numbers) > 0) & recovers[1:], False).astype(bool)
