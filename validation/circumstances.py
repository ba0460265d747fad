"""What a log says of the circumstances: when something pushed from outside, or touched a finger,
and mishaps that were noticed.

An experiment may push an item or the base (an injected fault). The log then has contacts with
``outside``: a force that nothing in the scene explains. Whoever executes may notice that something
went wrong and plan anew: the names of motions then begin with the number of the recovery.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import numpy as np
from numpy.typing import NDArray

from galley.domain.log import OUTSIDE, Log
from galley.robots.model import RobotModel

_SHOVE = 0.05  # m/s^2 that the whole robot takes of a push that is one
_PAUSE = 6  # samples between two pushes
_RECOVERY = re.compile(r"recovery (\d+): ")


def pushed(log: Log, names: tuple[str, ...], least: float) -> NDArray[np.bool_]:
    """Samples (T,) in which something outside the scene pushes one of the named things.

    Args:
        least: newtons that it must press with, in the mean of a push; less explains nothing.
    """
    outside, ours = log.names == OUTSIDE, np.isin(log.names, names)
    a, b = log.contact_pair[:, 0], log.contact_pair[:, 1]
    theirs = np.flatnonzero((outside[a] & ours[b]) | (outside[b] & ours[a]))
    found = np.zeros(len(log.time), dtype=bool)
    if len(theirs):
        breaks = np.flatnonzero(np.diff(log.contact_step[theirs]) > _PAUSE) + 1
        for push in np.split(theirs, breaks):
            found[log.contact_step[push]] = log.contact_force[push].mean() >= least
    return found


def taken(log: Log) -> tuple[str, ...]:
    """What a verdict on this log takes from it because nothing else tells, with the reasons."""
    found = ["declared: which pairs may touch is what the motions were planned for"]
    if log.mode != "physics":
        return tuple(found)
    found += [
        "command: what motors were told stands nowhere else; it must be near the positions, not"
        " be them",
        "contact_force of the robot on furniture, as far as fingers can press: no weight and no"
        " motion tells how large it is",
        "torque of base and fingers, and of the arm while the hand is at something: the force there"
        " is in it",
    ]
    if (log.names == OUTSIDE).any():
        found.append(
            "contacts with 'outside': what pushes is not in the scene; those too weak for what they"
            " explain don't count"
        )
    if noticed(log).any():
        found.append("recoveries: the names of the motions tell that something was noticed")
    return tuple(found)


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
    masses = [float(mass.get("value", "0")) for mass in ET.fromstring(robot.urdf).iter("mass")]
    return ~spread(pushed(log, robot.links, _SHOVE * sum(masses)), window, window)


def handling(log: Log, robot: RobotModel, items: tuple[str, ...], window: int) -> NDArray[np.bool_]:
    """Samples (T,), and ``window`` to either side, in which the robot, or what it holds, is at
    something else: a contact says so."""
    links = np.isin(log.names, robot.links)[log.contact_pair]
    held = np.array([*items, ""])[log.held[log.contact_step]]
    ours = links | (log.names[log.contact_pair] == held[:, None])
    flags = np.zeros(len(log.time), dtype=bool)
    flags[log.contact_step[ours[:, 0] != ours[:, 1]]] = True
    return spread(flags, window, window)
