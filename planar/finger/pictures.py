"""Pictures of one-dimensional touch: three panels over time, and a film of finger and object."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image as PilImage
from PIL import ImageDraw

from galley.planar.finger.model import Finger
from galley.planar.finger.trace import Epoch, Kind, Samples, Trace
from galley.viz.figures import figure_file
from galley.viz.film.video import encoder
from galley.viz.render.tags import Color, font
from galley.viz.render.view import Image

_RATE = 1000.0  # Hz, of the lines in the figure
_FINGER, _OBJECT, _FELT = "#1b6ca8", "#8a5a2b", "#c62828"  # the finger, and what is applied to it
_IMPULSIVE = "#f0a202"
_SHADES = {Epoch.STUCK: "#dfe7ef", Epoch.PUSHING: "#e3f0dc"}
EPOCH_NAMES = {
    Epoch.SEPARATE: "separate",
    Epoch.STUCK: "touching, at rest",
    Epoch.PUSHING: "pushing",
}
_NAMES = {
    Kind.TOUCH: "touch",
    Kind.SLIP: "object slips",
    Kind.STOP: "object stops",
    Kind.PART: "parts",
    Kind.TURN: "finger turns",
    Kind.SETTLE: "bouncing ends",
}
_LABEL_GAP = 0.045  # share of the run between two labels of events; the later one is left out
_OVERSAMPLE = 2  # bodies are drawn larger, then reduced, for smooth edges
_INK: Color = (40, 46, 54)
_BLUE: Color = (27, 108, 168)
_RED: Color = (198, 40, 40)
_PAPER: Color = (255, 255, 255)


def draw_touch(trace: Trace, path: Path | str, title: str) -> None:
    """Draw positions, forces and the sensor's reading over time, events marked, as a PNG.

    Raises:
        BadInput: ``path`` can't be written.
    """
    with figure_file(path, (10.0, 8.2)) as figure:
        axes = figure.subplots(3, 1, sharex=True, height_ratios=(1.15, 1, 1))
        samples = trace.samples(_RATE)
        _positions(axes[0], samples)
        _forces(axes[1], samples, trace.finger)
        _sensor(axes[2], samples)
        for axis in axes:
            _shade(axis, samples)
            axis.grid(alpha=0.25)
            axis.legend(loc="upper left", framealpha=0.9, fontsize=9)
            for event in trace.events:
                if event.kind is not Kind.TURN:
                    axis.axvline(event.time, color="#555555", lw=0.6, alpha=0.6)
        _label_events(axes[0], trace)
        axes[2].set_xlabel("time, s")
        axes[2].set_xlim(0.0, trace.end)
        figure.suptitle(title, fontsize=12)
        figure.align_ylabels(axes)
        figure.tight_layout()


def _positions(axis: Any, samples: Samples) -> None:
    axis.plot(samples.time, samples.object_position, color=_OBJECT, lw=2.2, label="object")
    axis.plot(samples.time, samples.finger_position, color=_FINGER, lw=1.4, label="fingertip")
    axis.set_ylabel("position, m")


def _forces(axis: Any, samples: Samples, finger: Finger) -> None:
    drag = [finger.finger_drag(v) for v in samples.finger_velocity.tolist()]
    speed = samples.object_velocity
    resisting = np.array([finger.object_drag(v) for v in speed.tolist()])
    resisting += np.where(speed < 0.0, -1.0, 1.0) * finger.kinetic_friction
    moving = (speed != 0.0) | (samples.epoch == Epoch.PUSHING.value)
    friction = np.where(moving, resisting, samples.sensor_constant)
    axis.plot(samples.time, samples.applied_force, color=_FINGER, label="applied to the finger")
    axis.plot(samples.time, drag, color=_FINGER, ls="--", lw=1.2, label="drag on the finger")
    axis.plot(
        samples.time, friction, color=_OBJECT, lw=1.2, label="friction and drag on the object"
    )
    axis.set_ylabel("force, N")


def _sensor(axis: Any, samples: Samples) -> None:
    time, constant, sensor = samples.time, samples.sensor_constant, samples.sensor
    axis.fill_between(time, constant, sensor, color=_IMPULSIVE, lw=0, label="impulsive: J / dt")
    axis.fill_between(time, 0.0, constant, color=_FELT, alpha=0.35, lw=0, label="constant")
    axis.plot(time, sensor, color=_FELT, lw=1.0, label="sensor")
    axis.set_ylabel("felt force, N")
    axis.set_ylim(bottom=0.0)


def _shade(axis: Any, samples: Samples) -> None:
    for epoch, color in _SHADES.items():
        inside = np.concatenate([[False], samples.epoch == epoch.value, [False]])
        edges = np.flatnonzero(np.diff(inside.astype(np.int8)))
        ends = np.minimum(edges, len(samples.time) - 1)
        for k, (start, end) in enumerate(samples.time[ends].reshape(-1, 2)):
            label = EPOCH_NAMES[epoch] if k == 0 and axis.get_subplotspec().is_first_row() else None
            axis.axvspan(start, end, color=color, lw=0, zorder=0, label=label)


def _label_events(axis: Any, trace: Trace) -> None:
    """Names of events above the panel; where they crowd, of the first of each crowd."""
    texts: dict[float, str] = {}
    for event in trace.events:
        if event.kind is Kind.TURN:
            continue
        if event.time in texts:
            texts[event.time] += f", {_NAMES[event.kind]}"
        elif event.time - max(texts, default=-math.inf) >= _LABEL_GAP * trace.end:
            texts[event.time] = _NAMES[event.kind]
    for time, text in texts.items():
        axis.annotate(
            text,
            (time, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 3),
            textcoords="offset points",
            rotation=35,
            fontsize=9,
        )


@dataclass(frozen=True)
class Moment:
    """What a picture of finger and object shows.

    Attributes:
        x_f, x_o: m, of fingertip and object's face. applied, felt: N. clock: s.
        note: such as the epoch.
    """

    x_f: float
    x_o: float
    applied: float
    felt: float
    clock: float
    note: str = ""


@dataclass(frozen=True)
class Stage:
    """Draws finger and object as bodies, and the forces on the finger as arrows.

    Attributes:
        finger: its parameters.
        width, height: pixels.
        low, high: m, at the left and right edge.
        full: N, of an arrow of a sixth of the width.
        hint: a line at the bottom.
    """

    finger: Finger
    width: int
    height: int
    low: float
    high: float
    full: float
    hint: str = ""

    def draw(self, moment: Moment) -> PilImage.Image:
        """The picture of a moment, (height, width)."""
        k = _OVERSAMPLE
        picture = PilImage.new("RGB", (k * self.width, k * self.height), _PAPER)
        pen = ImageDraw.Draw(picture)
        floor = 0.84 * self.height
        self._ground(pen, floor)
        self._bodies(pen, moment, floor)
        picture = picture.reduce(k)
        self._texts(ImageDraw.Draw(picture), moment, floor)
        return picture

    def _x(self, position: float) -> float:
        return (position - self.low) / (self.high - self.low) * self.width

    def _marks(self) -> tuple[Any, float]:
        """Positions (m) of the scale's marks, and the distance between them."""
        span = self.high - self.low
        unit = 10.0 ** math.floor(math.log10(span / 12))
        step = next(f * unit for f in (1, 2, 5, 10, 20) if span / (f * unit) <= 12)
        return np.arange(math.ceil(self.low / step), math.floor(self.high / step) + 1) * step, step

    def _ground(self, pen: ImageDraw.ImageDraw, floor: float) -> None:
        k = _OVERSAMPLE
        pen.line((0, k * floor, k * self.width, k * floor), fill=_INK, width=2 * k)
        for mark in self._marks()[0]:
            x = k * self._x(float(mark))
            pen.line((x, k * floor, x, k * (floor + 6)), fill=_INK, width=k)

    def _bodies(self, pen: ImageDraw.ImageDraw, moment: Moment, floor: float) -> None:
        k, tip, face = _OVERSAMPLE, self._x(moment.x_f), self._x(moment.x_o)
        length, thick, size = 0.13 * self.width, 0.17 * self.height, 0.42 * self.height
        level = floor - 0.5 * size  # of the finger's axis: the middle of the object
        box = (k * face, k * (floor - size), k * (face + size), k * (floor - 2))
        if self.finger.wall:
            box = (k * face, k * 0.3 * self.height, k * max(self.width, face + 1), k * (floor - 2))
        pen.rectangle(box, fill=(205, 170, 125), outline=(110, 72, 34), width=2 * k)
        body = (k * (tip - length), k * (level - thick / 2), k * tip, k * (level + thick / 2))
        pen.rounded_rectangle(
            body, radius=k * thick * 0.48, fill=(120, 174, 214), outline=(20, 78, 122), width=2 * k
        )
        # The pad at the tip is the sensor: it reddens with what it feels.
        share = min(moment.felt / self.full, 1.0)
        pad = tuple(
            int(a + (b - a) * share) for a, b in zip((225, 225, 225), (214, 20, 20), strict=True)
        )
        pen.rounded_rectangle(
            (k * (tip - 7), k * (level - thick * 0.36), k * tip, k * (level + thick * 0.36)),
            radius=3 * k,
            fill=pad,
            outline=(20, 78, 122),
            width=k,
        )
        self._arrow(pen, tip - length, level - 0.95 * thick, moment.applied, _BLUE, True)
        self._arrow(pen, tip, level + 0.95 * thick, -moment.felt, _RED, False)

    def _arrow(
        self, pen: ImageDraw.ImageDraw, x: float, y: float, force: float, color: Color, to: bool
    ) -> None:
        """An arrow as long as the force. It starts at x, but a push, if ``to``, ends there."""
        if abs(force) < 1e-3 * self.full:
            return
        k, head, way = _OVERSAMPLE, 0.045 * self.height, math.copysign(1.0, force)
        length = max(min(abs(force) / self.full, 1.2) * 0.16 * self.width, head)
        start = x - length if to and way > 0 else x
        end = start + way * length
        pen.line((k * start, k * y, k * (end - way * head * 0.8), k * y), fill=color, width=5 * k)
        wing = 0.6 * head
        corners = [(end, y), (end - way * head, y - wing), (end - way * head, y + wing)]
        pen.polygon([(k * a, k * b) for a, b in corners], fill=color)

    def _texts(self, pen: ImageDraw.ImageDraw, moment: Moment, floor: float) -> None:
        size = max(self.height // 17, 11)
        step = self._marks()[1]
        for mark in self._marks()[0]:
            text = f"{mark:.{max(0, -math.floor(math.log10(step)))}f}"
            text += " m" if mark == self._marks()[0][-1] else ""
            pen.text((self._x(float(mark)), floor + 8), text, _INK, font(size - 3), anchor="ma")
        y, line = 0.05 * self.height, 1.4 * size
        left = 0.02 * self.width
        pen.text((left, y), f"applied {moment.applied:6.2f} N", _BLUE, font(size))
        pen.text((left, y + line), f"felt {moment.felt:6.2f} N", _RED, font(size))
        right = 0.98 * self.width
        pen.text((right, y), f"{moment.clock:.2f} s", _INK, font(size), anchor="ra")
        pen.text((right, y + line), moment.note, _INK, font(size), anchor="ra")
        bottom = (0.5 * self.width, 0.99 * self.height)
        pen.text(bottom, self.hint, _INK, font(size - 3), anchor="md")


def film_touch(
    trace: Trace,
    path: Path | str,
    fps: float = 25.0,
    height: int = 720,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Film a run in real time as H.264 or, by its suffix, GIF; below it the forces of
    the whole run, with a moving line.

    Args:
        trace: the run. path: ends in ``.mp4`` or ``.gif``. fps: pictures per second.
        height: pixels, 16:9. progress: called with (pictures done, total).

    Raises:
        RuntimeError: the encoder failed.
        BadInput: ``path`` can't be written.
    """
    width = round(height * 16 / 9 / 2) * 2
    height -= height % 2
    count = max(2, round(trace.end * fps) + 1)
    samples = trace.at(np.minimum(np.arange(count) / fps, trace.end))
    stage = _stage(trace, samples, width, round(height * 0.55))
    panel, x_of = _panel(trace, width, height - stage.height)
    with encoder(path, fps) as append:
        for k in range(count):
            append(_frame(stage, panel, x_of, samples, k))
            if progress is not None:
                progress(k + 1, count)


def _frame(
    stage: Stage, panel: PilImage.Image, x_of: Callable[[float], float], samples: Samples, k: int
) -> Image:
    moment = Moment(
        float(samples.finger_position[k]),
        float(samples.object_position[k]),
        float(samples.applied_force[k]),
        float(samples.sensor[k]),
        float(samples.time[k]),
        EPOCH_NAMES[Epoch(samples.epoch[k])],
    )
    picture = PilImage.new("RGB", (stage.width, stage.height + panel.height), _PAPER)
    picture.paste(stage.draw(moment), (0, 0))
    picture.paste(panel, (0, stage.height))
    x = x_of(moment.clock)
    pen = ImageDraw.Draw(picture)
    pen.line(
        (x, stage.height + 0.12 * panel.height, x, picture.height - 0.2 * panel.height),
        fill=_INK,
        width=2,
    )
    return np.asarray(picture)


def _stage(trace: Trace, samples: Samples, width: int, height: int) -> Stage:
    """A stage that holds the whole run, finger and object at full length."""
    low, high = float(samples.finger_position.min()), float(samples.object_position.max())
    span = max(high - low, 0.1) / (1.0 - 0.2 - 0.03 - 0.42 * height / width)
    full = max(1e-9, float(np.abs(samples.applied_force).max()), float(samples.sensor.max()))
    low -= 0.2 * span
    return Stage(trace.finger, width, height, low, low + span, full)


def _panel(
    trace: Trace, width: int, height: int
) -> tuple[PilImage.Image, Callable[[float], float]]:
    """Applied and felt force over the whole run, and the pixel column of a time (s)."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    dpi = height / 3.0
    figure = Figure(figsize=(width / dpi, height / dpi), dpi=dpi)
    canvas: Any = FigureCanvasAgg(figure)
    left, across = 0.07, 0.91  # shares of the width
    axis = figure.add_axes((left, 0.2, across, 0.68))
    samples = trace.samples(_RATE)
    axis.fill_between(samples.time, 0.0, samples.sensor, color=_FELT, alpha=0.4, lw=0)
    axis.plot(samples.time, samples.sensor, color=_FELT, lw=1.4, label="felt")
    axis.plot(samples.time, samples.applied_force, color=_FINGER, lw=1.6, label="applied")
    axis.set_xlim(0.0, trace.end)
    axis.set_xlabel("time, s")
    axis.set_ylabel("force, N")
    axis.grid(alpha=0.25)
    axis.legend(loc="lower right", bbox_to_anchor=(1.0, 0.98), ncols=2, frameon=False)
    canvas.draw()
    image = PilImage.fromarray(np.asarray(canvas.buffer_rgba())[:, :, :3].copy())
    return image.resize((width, height)), lambda t: (left + across * t / trace.end) * width
