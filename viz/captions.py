"""Captions: what is said about a run in each picture of its film."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from galley.domain.frames import Array
from galley.domain.log import Log
from galley.robots.model import RobotModel
from galley.viz.frames import Frames
from galley.viz.shots import action_numbers, split_line

TOLD = 1.2  # s for which a motion's end stays in the picture
_RECOVERY = re.compile(r"(recovery \d+):\s*")
_AS_PLANNED = ("grip", "contact")  # the guards that are meant to end motions


@dataclass(frozen=True)
class Caption:
    """What a picture says; empty parts are left out.

    Attributes:
        action: in the bar at the foot, left, such as ``3/8  place sugar countertop``.
        phase: after it, such as ``approach``.
        clock: at the bar's right end, such as ``12.4 s``.
        badge: in a frame at the top right, such as ``2x speed``.
        title: at the top left.
        mode: small, before the clock: ``physics`` or ``kinematic``.
        alert: on an orange ground at the top left, under the title: ``recovery 1``.
        event: just above the bar: how the last motion ended, ``close fingers: grip, 40 N``.
        expected: whether that was meant to end it (green), or something went wrong (red).
        force: in a gauge at the right, above the bar: newtons between a finger and what it
            touches; 0 for none.
    """

    action: str = ""
    phase: str = ""
    clock: str = ""
    badge: str = ""
    title: str = ""
    mode: str = ""
    alert: str = ""
    event: str = ""
    expected: bool = True
    force: int = 0


def recovery(line: str) -> tuple[str, str]:
    """What a log's line says of a recovery, and the line without it.

    ``"recovery 1: (pick sugar burner h1) | reach"`` gives ``recovery 1`` and the rest.
    """
    found = _RECOVERY.match(line)
    return (found.group(1), line[found.end() :]) if found else ("", line)


def action_captions(lines: list[str]) -> list[tuple[str, str]]:
    """For each motion's line in a log: numbered action, and phase."""
    numbers = action_numbers(lines)
    count = numbers[-1] + 1 if numbers else 0
    parts = [split_line(recovery(line)[1]) for line in lines]
    return [
        (f"{n + 1}/{count}  {action}", phase)
        for n, (action, phase) in zip(numbers, parts, strict=True)
    ]


def speed_badge(speed: float) -> str:
    """``2x speed``, or nothing at real speed."""
    return "" if abs(speed - 1.0) < 1e-9 else f"{speed:g}x speed"


def film_captions(
    log: Log, frames: Frames, robot: RobotModel, speed: float, title: str
) -> tuple[Caption, ...]:
    """The caption of each picture of a film.

    Args:
        log: what is filmed.
        frames: its pictures.
        robot: whose fingers' forces are shown, where the log has any.
        speed: seconds of log in a second of film.
        title: of the whole film, or empty.
    """
    lines = [str(line) for line in log.motions]
    texts, alerts = action_captions(lines), [recovery(line)[0] for line in lines]
    ends, last = _ends(log), _End(-np.inf, "", True)
    force = finger_force(log, robot)
    captions = []
    for t, motion in zip(frames.time, frames.motion, strict=True):
        action, phase = texts[motion] if 0 <= motion < len(texts) else ("", "")
        while ends and ends[0].time <= t:
            last = ends.pop(0)
        event = last.words if t < last.time + TOLD * max(1.0, speed) else ""
        now = min(int(np.searchsorted(log.time, t + 1e-9)), len(log.time)) - 1
        captions.append(
            Caption(
                action,
                phase,
                f"{t - frames.time[0]:.1f} s",
                speed_badge(speed),
                title,
                log.mode,
                alerts[motion] if 0 <= motion < len(alerts) else "",
                event,
                last.expected,
                round(float(force[max(now, 0)])),
            )
        )
    return tuple(captions)


@dataclass(frozen=True)
class _End:
    """When a motion was ended by a guard, s, what to say of it, and whether it was meant to be."""

    time: float
    words: str
    expected: bool


def _ends(log: Log) -> list[_End]:
    """The motions that were ended by a guard, in order."""
    found = []
    for k, why in enumerate(log.ends):
        samples = np.flatnonzero(log.motion == k)
        if str(why) and len(samples):
            phase = split_line(recovery(str(log.motions[k]))[1])[1]
            meant = str(why).startswith(_AS_PLANNED)
            found.append(_End(float(log.time[samples[-1]]), f"{phase}: {why}", meant))
    return sorted(found, key=lambda end: end.time)


def finger_force(log: Log, robot: RobotModel) -> Array:
    """The larger of the forces on the two fingers, from all that each touches (T,), N."""
    names = [str(name) for name in log.names]
    totals = [np.zeros(len(log.time))]
    force = np.nan_to_num(log.contact_force)
    for finger in robot.fingers:
        if finger in names:
            mine = (log.contact_pair == names.index(finger)).any(axis=1)
            total = np.zeros(len(log.time))
            np.add.at(total, log.contact_step[mine], force[mine])
            totals.append(total)
    return np.asarray(np.max(totals, axis=0))
