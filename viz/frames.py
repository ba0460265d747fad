"""Frames: a log resampled at the times of a film's pictures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from galley.domain.frames import Array
from galley.domain.log import Log
from galley.robots.model import RobotModel


@dataclass(frozen=True)
class Frames:
    """What each picture shows, F of them.

    Attributes:
        time: seconds of the log (F,).
        q: robot configurations (F, n).
        scene_q: scene joint values (F, nj).
        items: item poses in the world (F, ni, 7).
        motion: index of the motion under way (F,).
    """

    time: Array
    q: Array
    scene_q: Array
    items: Array
    motion: NDArray[np.int64]


def frame_times(log: Log, fps: float, speed: float = 1.0, hold: float = 0.0) -> Array:
    """Times (F,) in the log, seconds, of a film that shows all of it and then its end.

    Args:
        log: with at least one sample.
        fps: pictures a second of film.
        speed: seconds of log in a second of film.
        hold: seconds of film to stay on the last picture.
    """
    if fps <= 0 or speed <= 0 or hold < 0:
        raise ValueError(f"fps {fps} and speed {speed} must be positive, hold {hold} not negative")
    start, end = float(log.time[0]), float(log.time[-1])
    moving = int(np.ceil((end - start) / speed * fps - 1e-9)) + 1
    still = round(hold * fps)
    return np.asarray(np.minimum(start + np.arange(moving + still) * speed / fps, end))


def sample(log: Log, robot: RobotModel, times: Array) -> Frames:
    """The log at ``times`` (F,), seconds; times outside it give its ends.

    Joints are interpolated straight (headings along the shorter way round), item positions too,
    item orientations by slerp (K. Shoemake, Animating rotation with quaternion curves, 1985).
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
    started = np.where(u >= 1.0, after, before)  # the motion that the last sample belongs to
    return Frames(
        time=t,
        q=q[before] + u[:, None] * (q[after] - q[before]),
        scene_q=log.scene_q[before] + u[:, None] * (log.scene_q[after] - log.scene_q[before]),
        items=items,
        motion=np.asarray(log.motion[started], dtype=np.int64),
    )


def slerp(a: Array, b: Array, u: Array) -> Array:
    """Unit quaternions a share u of the way from a to b (..., 4), the shorter way round.

    Args:
        a, b: unit quaternions (..., 4).
        u: shares in [0, 1], (..., 1).
    """
    cosine = (a * b).sum(axis=-1, keepdims=True)
    b = np.where(cosine < 0, -b, b)
    angle = np.arccos(np.clip(np.abs(cosine), 0.0, 1.0))
    sine = np.sin(angle)
    near = sine < 1e-6  # too close for the quotient; there, straight is the same
    sine = np.where(near, 1.0, sine)
    wa = np.where(near, 1.0 - u, np.sin((1.0 - u) * angle) / sine)
    wb = np.where(near, u, np.sin(u * angle) / sine)
    mixed = wa * a + wb * b
    return np.asarray(mixed / np.linalg.norm(mixed, axis=-1, keepdims=True))
