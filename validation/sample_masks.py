"""Masks over a log's samples: external pushes, finger contacts; and motions before a recovery.

An injected fault may push an item or the base. The log then has contacts with ``outside``. If the
execution monitor noticed a mishap and replanned, the names of later motions begin with the number
of the recovery.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
from numpy.typing import NDArray

from galley.domain.log import OUTSIDE, Log
from galley.robots.model import RobotModel

_BASE_PUSH = 0.05  # m/s^2; a push on the base that accelerates the robot by less is ignored
_PAUSE = 6  # samples without contact between two pushes


def externally_pushed(log: Log, names: tuple[str, ...], least: float) -> NDArray[np.bool_]:
    """Samples (T,) in which something outside the scene pushes one of the named bodies.

    Args:
        least: smallest mean force (N) of a push that counts.
    """
    outside, ours = log.names == OUTSIDE, np.isin(log.names, names)
    a, b = log.contact_pair[:, 0], log.contact_pair[:, 1]
    theirs = np.flatnonzero((outside[a] & ours[b]) | (outside[b] & ours[a]))
    mask = np.zeros(len(log.time), dtype=bool)
    if len(theirs):
        breaks = np.flatnonzero(np.diff(log.contact_step[theirs]) > _PAUSE) + 1
        for push in np.split(theirs, breaks):
            mask[log.contact_step[push]] = log.contact_force[push].mean() >= least
    return mask


def dilated(flags: NDArray[np.bool_], before: int, after: int) -> NDArray[np.bool_]:
    """Samples (T,) up to ``before`` samples ahead of a flagged one, or ``after`` behind it."""
    count = np.concatenate([[0], np.cumsum(flags)])
    k = np.arange(len(flags))
    low, high = np.maximum(k - after, 0), np.minimum(k + before + 1, len(flags))
    dilated: NDArray[np.bool_] = count[high] > count[low]
    return dilated


def ends_in_recovery(log: Log) -> NDArray[np.bool_]:
    """Motions (m,) that ended in a recovery: their mishaps were noticed."""
    numbers = [part for part, _ in log.parts]
    return np.append(np.diff(numbers) > 0, False).astype(bool)


def samples_in(log: Log, seconds: float) -> int:
    """Number of sample periods in a window of ``seconds``, at least one."""
    return max(1, round(seconds / log.period))


def fingers_free(log: Log, robot: RobotModel, window: int) -> NDArray[np.bool_]:
    """Samples (T,) in whose motion, and ``window`` samples to either side, fingers touch nothing.

    A contact stops a finger at once, so limits and commands say nothing about its motion then.
    """
    may_touch = np.zeros(len(log.motions), dtype=bool)
    for k, a, b in log.declared:
        may_touch[int(k)] |= str(a) in robot.fingers or str(b) in robot.fingers
    busy = may_touch[log.motion]
    fingers = np.isin(log.names, robot.fingers)
    busy[log.contact_step[fingers[log.contact_pair].any(axis=1)]] = True
    return ~dilated(busy, window, window)


def base_unpushed(log: Log, robot: RobotModel, window: int) -> NDArray[np.bool_]:
    """Samples (T,), ``window`` to either side included, without an external push on the robot."""
    masses = [float(mass.get("value", "0")) for mass in ET.fromstring(robot.urdf).iter("mass")]
    return ~dilated(externally_pushed(log, robot.links, _BASE_PUSH * sum(masses)), window, window)


def in_contact(
    log: Log, robot: RobotModel, items: tuple[str, ...], window: int
) -> NDArray[np.bool_]:
    """Samples (T,), and ``window`` to either side, with a recorded contact of the robot or its held
    item with anything else."""
    links = np.isin(log.names, robot.links)[log.contact_pair]
    held = np.array([*items, ""])[log.held[log.contact_step]]
    ours = links | (log.names[log.contact_pair] == held[:, None])
    flags = np.zeros(len(log.time), dtype=bool)
    flags[log.contact_step[ours[:, 0] != ours[:, 1]]] = True
    return dilated(flags, window, window)
