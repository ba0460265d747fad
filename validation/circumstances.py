"""What a log says of the circumstances: when something pushed from outside, or touched a finger,
and mishaps that were noticed.

An experiment may push an item or the base (an injected fault). The log then has contacts with
``outside``: a force that nothing in the scene explains. Whoever executes may notice that something
went wrong and plan anew: the names of motions then begin with the number of the recovery.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from galley.domain.log import OUTSIDE, Log
from galley.robots.model import RobotModel

_RECOVERY = re.compile(r"recovery (\d+): ")


def pushed(log: Log, names: tuple[str, ...]) -> NDArray[np.bool_]:
    """Samples (T,) in which something outside the scene pushes one of the named things."""
    found = np.zeros(len(log.time), dtype=bool)
    outside, ours = log.names == OUTSIDE, np.isin(log.names, names)
    a, b = log.contact_pair[:, 0], log.contact_pair[:, 1]
    found[log.contact_step[(outside[a] & ours[b]) | (outside[b] & ours[a])]] = True
    return found


def spread(flags: NDArray[np.bool_], before: int, after: int) -> NDArray[np.bool_]:
    """Samples (T,) with a flag within ``before`` samples ahead of them or ``after`` behind."""
    count = np.concatenate([[0], np.cumsum(flags)])
    k = np.arange(len(flags))
    low, high = np.maximum(k - after, 0), np.minimum(k + before + 1, len(flags))
    found: NDArray[np.bool_] = count[high] > count[low]
    return found


def noticed(log: Log) -> NDArray[np.bool_]:
    """Motions (m,) after which was planned anew: what went wrong in them did not go unnoticed."""
    numbers = [
        int(match.group(1)) if (match := _RECOVERY.match(str(name))) else 0 for name in log.motions
    ]
    return np.append(np.diff(numbers) > 0, False).astype(bool)


def over_window(log: Log, seconds: float) -> int:
    """How many periods a window of ``seconds`` has, at least one."""
    return max(1, round(seconds / log.period))


def fingers_free(log: Log, robot: RobotModel, window: int) -> NDArray[np.bool_]:
    """Samples (T,) in whose motion, and ``window`` samples to either side, fingers touch nothing.

    What a finger closes on stops it; no limit and no command says when.
    """
    may = np.zeros(len(log.motions), dtype=bool)
    for k, a, b in log.declared:
        may[int(k)] |= str(a) in robot.fingers or str(b) in robot.fingers
    busy = may[log.motion]
    fingers = np.isin(log.names, robot.fingers)
    busy[log.contact_step[fingers[log.contact_pair].any(axis=1)]] = True
    return ~spread(busy, window, window)


def base_left_alone(log: Log, robot: RobotModel, window: int) -> NDArray[np.bool_]:
    """Samples (T,) around which nothing outside the scene pushes the robot."""
    return ~spread(pushed(log, robot.links), window, window)
