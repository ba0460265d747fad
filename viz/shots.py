"""Shots: a run cut into stretches that are each filmed from one place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from galley.domain.frames import Array
from galley.robots.model import RobotModel
from galley.viz.frames import Frames

_DRIVES = 0.05  # m or rad: a base that moves further than this is driving
_SHORTEST = 2.5  # s of film: shorter stretches join their neighbour, or the camera would hurry
SEPARATOR = " | "  # between action and phase in a log's lines


@dataclass(frozen=True)
class Shot:
    """Frames first..last (inclusive) of one action, all with the base driving, or none."""

    first: int
    last: int
    drives: bool

    @property
    def length(self) -> int:
        """Number of frames."""
        return self.last - self.first + 1

    def some(self, count: int) -> Array:
        """At most ``count`` frame numbers, evenly spread, ends included."""
        return np.unique(np.linspace(self.first, self.last, count).round().astype(int))


def split_line(line: str) -> tuple[str, str]:
    """Action and phase of a log's line: ``"pick sugar burner h1 | approach"``."""
    action, _, phase = line.partition(SEPARATOR)
    return action.strip(), phase.strip()


def action_numbers(lines: list[str]) -> list[int]:
    """For each motion's line, the number of its action: 0, 0, 0, 1, 1, ..."""
    numbers: list[int] = []
    for k, line in enumerate(lines):
        same = k > 0 and split_line(line)[0] == split_line(lines[k - 1])[0]
        numbers.append((numbers[-1] if same else numbers[-1] + 1) if numbers else 0)
    return numbers


def cut(frames: Frames, lines: list[str], robot: RobotModel, fps: float) -> tuple[Shot, ...]:
    """The shots of a film, in order, covering every frame.

    Args:
        frames: what the film shows.
        lines: of the log's motions.
        robot: whose base drives.
        fps: pictures a second of film.
    """
    base = frames.q[:, robot.slice("base")]
    actions = np.array(action_numbers(lines) or [0])
    starts = [0, *(np.flatnonzero(np.diff(frames.motion)) + 1), len(frames.motion)]
    shots: list[Shot] = []
    action = -1
    for start, end in zip(starts[:-1], starts[1:], strict=True):
        drives = bool(np.ptp(base[start:end], axis=0).max() > _DRIVES)
        now = int(actions[min(max(int(frames.motion[start]), 0), len(actions) - 1)])
        if shots and now == action and shots[-1].drives == drives:
            shots[-1] = Shot(shots[-1].first, end - 1, drives)
        else:
            shots.append(Shot(int(start), int(end) - 1, drives))
        action = now
    return _joined(shots, _SHORTEST * fps)


def _joined(shots: list[Shot], shortest: float) -> tuple[Shot, ...]:
    """The shots with each that is too short joined to the one before it, or after it."""
    kept: list[Shot] = []
    for shot in shots:
        if kept and (shot.length < shortest or kept[-1].length < shortest):
            longer = max(kept[-1], shot, key=lambda s: s.length)
            kept[-1] = Shot(kept[-1].first, shot.last, longer.drives)
        else:
            kept.append(shot)
    return tuple(kept)
