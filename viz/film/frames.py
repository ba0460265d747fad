"""Resamples a log at the times of a film's pictures (frames) and cuts the film into shots.

A shot is a part of a run that is filmed from one viewpoint: one step of an action, with the base
either driving or not.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from galley.domain.frames import Array
from galley.domain.log import Log
from galley.robots.model import RobotModel

_DRIVES = 0.05  # m or rad, from which on the base counts as driving
_SHORTEST = 2.5  # s, at real speed; shorter shots are merged with a neighbour
SEPARATOR = " | "  # between action and phase in a log's lines


@dataclass(frozen=True)
class Frames:
    """The state in each of F pictures.

    Attributes:
        time: seconds of the log (F,).
        q: robot configurations (F, n).
        scene_q: scene joint values (F, nj).
        items: item poses in the world (F, ni, 7).
        motion: index of the current motion (F,).
    """

    time: Array
    q: Array
    scene_q: Array
    items: Array
    motion: NDArray[np.int64]


def frame_times(log: Log, fps: float, speed: float = 1.0, hold: float = 0.0) -> Array:
    """Times (F,) in the log, seconds, of a film of all of it that then holds the last picture.

    Args:
        log: with at least one sample.
        fps: pictures per second of film.
        speed: seconds of log per second of film.
        hold: seconds of film to stay on the last picture.
    """
    if fps <= 0 or speed <= 0 or hold < 0:
        raise ValueError(f"fps {fps} and speed {speed} must be positive, hold {hold} not negative")
    start, end = float(log.time[0]), float(log.time[-1])
    moving = int(np.ceil((end - start) / speed * fps - 1e-9)) + 1
    still = round(hold * fps)
    return np.asarray(np.minimum(start + np.arange(moving + still) * speed / fps, end))


def resample(log: Log, robot: RobotModel, times: Array) -> Frames:
    """Interpolate the log at ``times`` (F,), seconds, clipped to its duration.

    Joints and item positions are interpolated linearly (headings the shorter way round), item
    orientations by slerp (K. Shoemake, Animating rotation with quaternion curves, 1985).
    """
    t = np.clip(times, log.time[0], log.time[-1])
    after = np.clip(np.searchsorted(log.time, t, side="right"), 1, max(len(log.time) - 1, 1))
    before = after - 1
    after = np.minimum(after, len(log.time) - 1)  # a log of one sample
    span = log.time[after] - log.time[before]
    u = np.where(span > 0, (t - log.time[before]) / np.where(span > 0, span, 1.0), 0.0)
    q = log.q.copy()
    base = robot.slice("base")
    for k, unit in enumerate(robot.group("base").units):
        if unit == "rad":
            q[:, base.start + k] = np.unwrap(q[:, base.start + k])
    items = np.empty((len(t), *log.items.shape[1:]))
    v = u[:, None, None]
    p0, p1 = log.items[before, :, :3], log.items[after, :, :3]
    items[..., :3] = p0 + v * (p1 - p0)
    items[..., 3:] = slerp(log.items[before, :, 3:], log.items[after, :, 3:], v)
    started = np.where(u >= 1.0, after, before)  # the motion of the latest sample
    return Frames(
        time=t,
        q=q[before] + u[:, None] * (q[after] - q[before]),
        scene_q=log.scene_q[before] + u[:, None] * (log.scene_q[after] - log.scene_q[before]),
        items=items,
        motion=np.asarray(log.motion[started], dtype=np.int64),
    )


def slerp(a: Array, b: Array, u: Array) -> Array:
    """Spherical linear interpolation between unit quaternions, the shorter way round.

    Args:
        a, b: unit quaternions (..., 4).
        u: shares in [0, 1], (..., 1).
    """
    cosine = (a * b).sum(axis=-1, keepdims=True)
    b = np.where(cosine < 0, -b, b)
    angle = np.arccos(np.clip(np.abs(cosine), 0.0, 1.0))
    sine = np.sin(angle)
    near = sine < 1e-6  # nearly equal: linear interpolation is exact enough
    sine = np.where(near, 1.0, sine)
    wa = np.where(near, 1.0 - u, np.sin((1.0 - u) * angle) / sine)
    wb = np.where(near, u, np.sin(u * angle) / sine)
    mixed = wa * a + wb * b
    return np.asarray(mixed / np.linalg.norm(mixed, axis=-1, keepdims=True))


@dataclass(frozen=True)
class Shot:
    """The frames of one step of an action, first to last inclusive; ``drives``: the base moves."""

    first: int
    last: int
    drives: bool

    @property
    def length(self) -> int:
        """The number of frames of the shot."""
        return self.last - self.first + 1

    def spread(self, count: int) -> Array:
        """At most ``count`` evenly spread frame numbers, ends included."""
        return np.unique(np.linspace(self.first, self.last, count).round().astype(int))


def split_line(line: str) -> tuple[str, str]:
    """Action and phase of a log's line: ``"(pick sugar burner h1) | approach"``."""
    action, _, phase = line.partition(SEPARATOR)
    return action.strip().removeprefix("(").removesuffix(")"), phase.strip()


def _step(line: str) -> str:
    """The step of an action that a log's line belongs to: an action, or ``open drawer`` in it."""
    action, phase = split_line(line)
    return f"{action} | {phase.partition(':')[0]}" if ":" in phase else action


def cut_shots(frames: Frames, lines: list[str], robot: RobotModel, fps: float) -> tuple[Shot, ...]:
    """Cut a film into shots, in order, covering every frame.

    Args:
        frames: of the film.
        lines: of the log's motions.
        robot: the robot.
        fps: pictures per second of film.
    """
    base = frames.q[:, robot.slice("base")]
    steps = [*map(_step, lines)] or [""]
    starts = [0, *(np.flatnonzero(np.diff(frames.motion)) + 1), len(frames.motion)]
    shots: list[Shot] = []
    step = None
    for start, end in pairwise(starts):
        drives = bool(np.ptp(base[start:end], axis=0).max() > _DRIVES)
        now = steps[min(max(int(frames.motion[start]), 0), len(steps) - 1)]
        if shots and now == step and shots[-1].drives == drives:
            shots[-1] = Shot(shots[-1].first, end - 1, drives)
        else:
            shots.append(Shot(int(start), int(end) - 1, drives))
        step = now
    # The minimum shot length grows with the square root of the speed-up.
    speed = max(1.0, fps * float(np.median(np.diff(frames.time)))) if len(frames.time) > 1 else 1.0
    return _merged(shots, _SHORTEST * fps / np.sqrt(speed))


def _merged(shots: list[Shot], shortest: float) -> tuple[Shot, ...]:
    """The shots, each too short one merged with a neighbour."""
    kept: list[Shot] = []
    for shot in shots:
        if kept and (shot.length < shortest or kept[-1].length < shortest):
            longer = max(kept[-1], shot, key=lambda s: s.length)
            kept[-1] = Shot(kept[-1].first, shot.last, longer.drives)
        else:
            kept.append(shot)
    return tuple(kept)
