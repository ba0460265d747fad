"""Resamples a log at the times of a film's pictures (frames) and cuts the film into shots.

A shot is a part of a run that is filmed from one viewpoint: one step of an action, or a part of it
in which the base either drives or rests.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from galley.domain.frames import Array
from galley.domain.log import Log
from galley.robots.model import RobotModel

_DRIVES = 0.05  # m or rad; if the base moves farther in a motion, it counts as driving
_SHORTEST = 2.5  # s, at real speed; shorter shots are merged with a neighbour
SEPARATOR = " | "  # between action and phase in the lines of a log


@dataclass(frozen=True)
class Frames:
    """The state in each of F pictures.

    Attributes:
        time: time in the log (F,), s.
        q: robot configurations (F, n).
        scene_q: scene joint values (F, nj).
        items: item poses in the world (F, ni, 7).
        motion: index of the current motion in the log (F,).
    """

    time: Array
    q: Array
    scene_q: Array
    items: Array
    motion: NDArray[np.int64]


def frame_times(log: Log, fps: float, speed: float = 1.0, hold: float = 0.0) -> Array:
    """The times (F,) in the log, s, of the pictures of a film of the whole log.

    Args:
        log: a log with at least one sample.
        fps: pictures per second of film.
        speed: seconds of log per second of film.
        hold: seconds of film for which the last picture stays at the end.

    Raises:
        ValueError: ``fps`` or ``speed`` is not positive, or ``hold`` is negative.
    """
    if fps <= 0 or speed <= 0 or hold < 0:
        raise ValueError(f"fps {fps} and speed {speed} must be positive, hold {hold} not negative")
    start, end = float(log.time[0]), float(log.time[-1])
    moving = int(np.ceil((end - start) / speed * fps - 1e-9)) + 1
    still = round(hold * fps)
    return np.asarray(np.minimum(start + np.arange(moving + still) * speed / fps, end))


def resample(log: Log, robot: RobotModel, times: Array) -> Frames:
    """Interpolate the log at ``times`` (F,), s, clipped to its duration.

    The interpolation is linear for joints and item positions (headings turn the shorter way round)
    and spherical for item orientations (K. Shoemake, Animating rotation with quaternion curves,
    1985).
    """
    t = np.clip(times, log.time[0], log.time[-1])
    after = np.clip(np.searchsorted(log.time, t, side="right"), 1, max(len(log.time) - 1, 1))
    before = after - 1
    after = np.minimum(after, len(log.time) - 1)  # for a log of one sample
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
        u: shares (..., 1) of the way from ``a`` to ``b``, in [0, 1].
    """
    # q and -q are the same rotation: take the one that is closer to a.
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
    """Consecutive frames that are filmed from one viewpoint: a step of an action.

    Attributes:
        first: the first frame.
        last: the last frame, which is part of the shot.
        drives: whether the base drives.
    """

    first: int
    last: int
    drives: bool

    @property
    def length(self) -> int:
        """The number of frames of the shot."""
        return self.last - self.first + 1

    def spread(self, count: int) -> Array:
        """At most ``count`` frame numbers, evenly spread from the first to the last."""
        return np.unique(np.linspace(self.first, self.last, count).round().astype(int))


def split_line(line: str) -> tuple[str, str]:
    """The action and the phase in a line of a log such as ``(pick sugar burner h1) | approach``."""
    action, _, phase = line.partition(SEPARATOR)
    return action.strip().removeprefix("(").removesuffix(")"), phase.strip()


def _step(line: str) -> str:
    """The step that a line of a log belongs to: the action, or a part of it (``open drawer``)."""
    action, phase = split_line(line)
    return f"{action} | {phase.partition(':')[0]}" if ":" in phase else action


def cut_shots(frames: Frames, lines: list[str], robot: RobotModel, fps: float) -> tuple[Shot, ...]:
    """Cut a film into shots, in order, covering every frame.

    Args:
        frames: the frames of the film.
        lines: the log's line of each motion.
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
    # The shortest shot allowed, in seconds of log, grows with the square root of the speed-up.
    speed = max(1.0, fps * float(np.median(np.diff(frames.time)))) if len(frames.time) > 1 else 1.0
    return _merged(shots, _SHORTEST * fps / np.sqrt(speed))


def _merged(shots: list[Shot], shortest: float) -> tuple[Shot, ...]:
    """The shots, with shots of fewer than ``shortest`` frames merged with the shot before or after.

    The longer of the two decides whether the base drives.
    """
    merged: list[Shot] = []
    for shot in shots:
        if merged and (shot.length < shortest or merged[-1].length < shortest):
            longer = max(merged[-1], shot, key=lambda s: s.length)
            merged[-1] = Shot(merged[-1].first, shot.last, longer.drives)
        else:
            merged.append(shot)
    return tuple(merged)
