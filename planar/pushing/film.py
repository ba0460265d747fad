"""Films of pushing: the table with goal, body, pusher, target and arm, and a caption."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike
from PIL import Image as PilImage
from PIL import ImageDraw

from galley.domain.frames import Array
from galley.planar.film import film
from galley.planar.pushing.arm import PushArm
from galley.planar.pushing.config import PushConfig
from galley.planar.pushing.picture import FLOOR, Painter, Picture, view_of
from galley.planar.pushing.rollout import SUCCESS, Rollout
from galley.planar.pushing.simulation import PushSimulation
from galley.viz.render.tags import Color, font

_INK: Color = (40, 46, 54)
_GREEN: Color = (34, 120, 60)
_SOON, _LATE = np.array([40.0, 80.0, 230.0]), np.array([230.0, 60.0, 50.0])
_STAGES = 4  # last stages of a prediction that are shown
_DOT = 0.004  # m, radius
_MARGIN = 0.03  # m, around the table and the arm
_BAND = 0.06  # share of the height below the table, for the caption
_HOLD = 1.0  # s on the last picture of each episode


@dataclass(frozen=True)
class Moment:
    """One moment of an episode, for a picture.

    Attributes:
        values: (11,), state of the table, see ``planar.pushing.simulation_kernel``.
        angles: (N,), joint angles of the arm, rad.
        target: (2,), of the pusher, m; None: it has no target.
        clock: time since the episode began, s.
        coverage: share of the goal that the body covers.
        stages: (k, T, 2), m, of a policy's prediction, see ``learning.policy.policy.Policy``.
    """

    values: Array
    angles: Array
    target: ArrayLike | None
    clock: float
    coverage: float
    stages: Array | None = None


class PushCanvas:
    """Draws pictures of one table, with a caption.

    Attributes:
        sim: simulation of the table.
        arm: the arm that holds the pusher.
        step: control step, s.
        view: the part of the plane that pictures show.

    Args:
        config: parameters of the simulation.
        height: pixels; the width follows, and both are even.
        points: (n, 2), m, to be in view, as the table and the arm's base are.
    """

    def __init__(self, config: PushConfig, height: int, points: ArrayLike = ()) -> None:
        self.sim, self.arm = PushSimulation(config), PushArm(config.arm)
        self.step = config.dt * config.substeps
        corners = np.array([(0.0, 0.0), (config.width, config.height), self.arm.base[:2]])
        seen = np.concatenate([corners, np.reshape(points, (-1, 2))])
        low, high = seen.min(axis=0) - _MARGIN, seen.max(axis=0) + _MARGIN
        high[1] += _BAND * (high[1] - low[1])
        height += height % 2
        width = round(height * (high[0] - low[0]) / (high[1] - low[1]) / 2.0) * 2
        self.view = view_of(low, high, width, height)
        self._painter = Painter(self.sim, self.view)
        self._captioned: tuple[tuple[str, ...], Picture] = (), self._painter.background[:0]

    def draw(self, moment: Moment, title: str) -> Picture:
        """The picture (h, w, 3) of a moment."""
        picture = self._painter.draw(moment.values, moment.angles, moment.target)
        if moment.stages is not None:
            self._show(picture, moment.stages)
        share = min(int(100.0 * moment.coverage), 100)  # rounded down: 95 only at success
        facts = f"{moment.clock:.1f} s   coverage {share} %"
        texts = title, facts, "   success" if moment.coverage > SUCCESS else ""
        if texts != self._captioned[0]:  # drawing text takes longer than painting
            self._captioned = texts, self._caption(*texts)
        strip = self._captioned[1]
        picture[-len(strip) :] = strip
        return picture

    def _show(self, picture: Picture, stages: Array) -> None:
        """Paint a prediction: the targets as dots in order of color, its earlier stages pale."""
        for k, points in enumerate(stages[-_STAGES:], _STAGES - len(stages[-_STAGES:]) + 1):
            for at, point in zip(np.linspace(0.0, 1.0, len(points)), points, strict=True):
                color = np.rint((1.0 - at) * _SOON + at * _LATE).astype(np.uint8)
                share = k / _STAGES
                self._painter.dot(
                    picture, point, _DOT * share, color, 0.9 if share == 1.0 else 0.25
                )

    def _caption(self, title: str, facts: str, success: str) -> Picture:
        """The pixels (h', w, 3) of the caption."""
        width, height = self.view.width, round(0.8 * _BAND * self.view.height)
        image = PilImage.new("RGB", (width, height), tuple(FLOOR.tolist()))
        pen, size = ImageDraw.Draw(image), max(self.view.height // 36, 9)
        # Sized for the longest text, so that letters keep their size through the film.
        most = font(size).getlength(f"{title}   000.0 s   coverage 100 %   success")
        letters = font(max(int(size * min(1.0, 0.95 * width / most)), 7))
        end, y = 0.98 * width, 0.4 * height
        pen.text((0.02 * width, y), title, _INK, letters, anchor="lm")
        pen.text((end, y), success, _GREEN, letters, anchor="rm")
        end -= letters.getlength("   success")
        pen.text((end, y), facts, _INK, letters, anchor="rm")
        return np.asarray(image)

    def between(self, before: Moment, after: Moment, share: float) -> Moment:
        """The moment at a share of the way between two; the arm's tip stays at the pusher."""
        values = before.values + share * (after.values - before.values)
        angles = before.angles + share * (after.angles - before.angles)
        angles = self.arm.ik(angles, values[:2])[0]
        if self.arm.collides(angles):  # no picture shows a configuration that the arm can't take
            angles = before.angles
        clock = before.clock + share * (after.clock - before.clock)
        return Moment(values, angles, after.target, clock, before.coverage, after.stages)


def film_rollouts(
    rollouts: Sequence[Rollout],
    path: Path | str,
    title: str,
    fps: float = 25.0,
    height: int = 640,
    speed: float = 1.0,
    progress: Callable[[int, int], None] | None = None,
    stages: Sequence[Sequence[Array]] | None = None,
) -> None:
    """Film episodes one after the other.

    Between control steps the motion is linear. Each episode's last picture stays for a second.

    Args:
        rollouts: episodes of one config.
        path: ends in ``.mp4`` (H.264) or ``.gif``.
        title: text at the lower left; each episode's seed is added.
        fps: pictures per second.
        height: pixels.
        speed: seconds of an episode per second of film; the picture says so if it isn't 1.
        progress: called with (pictures done, total).
        stages: a policy's predictions by episode and step; see ``Moment``.

    Raises:
        ValueError: there are no rollouts.
        RuntimeError: the encoder failed.
        BadInput: ``path`` can't be written.
    """
    if not rollouts:
        raise ValueError("rollouts = []: a film needs at least one")
    arm = PushArm(rollouts[0].config.arm)
    points = np.concatenate([arm.points(run.angles).reshape(-1, 2) for run in rollouts])
    stage = PushCanvas(rollouts[0].config, height, points)
    badge = "" if speed == 1.0 else f", {speed:g}x speed"
    frames: list[tuple[int, float]] = []  # index of an episode, and its time (s)
    moments: list[int] = []
    for episode, run in enumerate(rollouts):
        end = len(run.targets) * stage.step
        count = round(end / speed * fps) + 1
        frames += [(episode, min(k * speed / fps, end)) for k in range(count)]
        moments += range(len(frames) - count, len(frames))
        moments += [len(frames) - 1] * round(_HOLD * fps)

    def draw(k: int) -> Picture:
        episode, clock = frames[k]
        run, predicted = rollouts[episode], stages[episode] if stages else None
        text = f"{title}, seed {run.seed}{badge}"
        return stage.draw(moment_of(stage, run, clock, predicted), text)

    film(path, fps, moments, draw, progress)


def moment_of(
    stage: PushCanvas, rollout: Rollout, clock: float, predicted: Sequence[Array] | None = None
) -> Moment:
    """An episode at a time (s) since its start; ``predicted``: a policy's stages of each step."""
    last = len(rollout.targets)
    k = min(int(clock / stage.step + 1e-9), last)

    def at(row: int) -> Moment:
        before, values = max(row - 1, 0), rollout.states[row]
        target = rollout.targets[before] if last else None
        stages = predicted[before] if predicted else None
        coverage = float(values[10])
        return Moment(values, rollout.angles[row], target, row * stage.step, coverage, stages)

    share = clock / stage.step - k
    return at(k) if k == last or share < 1e-6 else stage.between(at(k), at(k + 1), share)
