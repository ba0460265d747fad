"""Shots: a run cut into stretches that are each filmed from one place."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np

from galley.domain.frames import Array
from galley.robots.model import RobotModel
from galley.viz.frames import Frames

_DRIVES = 0.05  # m or rad: a base that moves further than this is driving
_SHORTEST = 2.5  # s of film in real time: shorter stretches join a neighbour, cameras don't hurry
SEPARATOR = " | "  # between action and phase in a log's lines


@dataclass(frozen=True)
class Shot:
    """Frames first..last (inclusive) of one step, all with the base driving, or none."""

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
    """Action and phase of a log's line: ``"(pick sugar burner h1) | approach"``."""
    action, _, phase = line.partition(SEPARATOR)
    return action.strip().removeprefix("(").removesuffix(")"), phase.strip()


def action_numbers(lines: list[str]) -> list[int]:
    """For each motion's line, the number of its action: 0, 0, 0, 1, 1, ..."""
    numbers: list[int] = []
    for k, line in enumerate(lines):
        same = k > 0 and split_line(line)[0] == split_line(lines[k - 1])[0]
        numbers.append((numbers[-1] if same else numbers[-1] + 1) if numbers else 0)
    return numbers


def _step_numbers(lines: list[str]) -> list[int]:
    """As ``action_numbers``, with the steps of a long action apart: ``open drawer: pull``."""
    parts = [split_line(line) for line in lines]
    steps = [
        f"{action} | {phase.partition(':')[0]}" if ":" in phase else action
        for action, phase in parts
    ]
    return [0, *accumulate(int(a != b) for a, b in pairwise(steps))] if steps else []


def cut(frames: Frames, lines: list[str], robot: RobotModel, fps: float) -> tuple[Shot, ...]:
    """The shots of a film, in order, covering every frame.

    Args:
        frames: what the film shows.
        lines: of the log's motions.
        robot: whose base drives.
        fps: pictures a second of film.
    """
    base = frames.q[:, robot.slice("base")]
    steps = _step_numbers(lines) or [0]
    starts = [0, *(np.flatnonzero(np.diff(frames.motion)) + 1), len(frames.motion)]
    shots: list[Shot] = []
    step = -1
    for start, end in pairwise(starts):
        drives = bool(np.ptp(base[start:end], axis=0).max() > _DRIVES)
        now = steps[min(max(int(frames.motion[start]), 0), len(steps) - 1)]
        if shots and now == step and shots[-1].drives == drives:
            shots[-1] = Shot(shots[-1].first, end - 1, drives)
        else:
            shots.append(Shot(int(start), int(end) - 1, drives))
        step = now
    # A film at four times the speed may cut twice as often: it tells four times as much a second.
    speed = max(1.0, fps * float(np.median(np.diff(frames.time)))) if len(frames.time) > 1 else 1.0
    return _joined(shots, _SHORTEST * fps / np.sqrt(speed))


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
