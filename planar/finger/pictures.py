"""Figure and film of a trace: positions and forces over time; finger and object in motion."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from galley.planar.film import WIDE, Canvas, film
from galley.planar.finger.model import Finger
from galley.planar.finger.trace import Epoch, Kind, Trace, TraceSamples
from galley.viz.figures import figure_file
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
_LABEL_GAP = 0.045  # share of the run: of two labels nearer than this the later is left out
_BODY, _WOOD = "#78aed6", "#cdaa7d"  # of finger and object in a film
_LONG = 0.16  # share of the width: length of the greatest force's arrow


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


def _positions(axis: Any, samples: TraceSamples) -> None:
    axis.plot(samples.time, samples.object_position, color=_OBJECT, lw=2.2, label="object")
    axis.plot(samples.time, samples.finger_position, color=_FINGER, lw=1.4, label="fingertip")
    axis.set_ylabel("position, m")


def _forces(axis: Any, samples: TraceSamples, finger: Finger) -> None:
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


def _sensor(axis: Any, samples: TraceSamples) -> None:
    time, constant, sensor = samples.time, samples.sensor_constant, samples.sensor
    axis.fill_between(time, constant, sensor, color=_IMPULSIVE, lw=0, label="impulsive: J / dt")
    axis.fill_between(time, 0.0, constant, color=_FELT, alpha=0.35, lw=0, label="constant")
    axis.plot(time, sensor, color=_FELT, lw=1.0, label="sensor")
    axis.set_ylabel("felt force, N")
    axis.set_ylim(bottom=0.0)


def _shade(axis: Any, samples: TraceSamples) -> None:
    for epoch, color in _SHADES.items():
        inside = np.concatenate([[False], samples.epoch == epoch.value, [False]])
        edges = np.flatnonzero(np.diff(inside.astype(np.int8)))
        ends = np.minimum(edges, len(samples.time) - 1)
        for k, (start, end) in enumerate(samples.time[ends].reshape(-1, 2)):
            label = EPOCH_NAMES[epoch] if k == 0 and axis.get_subplotspec().is_first_row() else None
            axis.axvspan(start, end, color=color, lw=0, zorder=0, label=label)


def _label_events(axis: Any, trace: Trace) -> None:
    """Write the names of events above the panel; of several close together only the first."""
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


class FingerCanvas:
    """Draws pictures of finger and object as bodies, with the forces on the finger as arrows.

    Attributes:
        low, high: positions at the left and right edge, m; they may be changed between pictures.

    Args:
        finger: parameters of finger and object.
        width, height: pixels.
        full: force of the longest arrow, N.
        hint: a line of text at the bottom.
        trace: a run, whose forces are drawn below with a line at the present time; None: no panel.
    """

    def __init__(
        self,
        finger: Finger,
        width: float,
        height: float,
        low: float,
        high: float,
        full: float,
        hint: str = "",
        trace: Trace | None = None,
    ) -> None:
        """Make the shapes, arrows and texts once; ``draw`` only moves them.

        First the axes on the floor, then the bodies, then arrows and texts of the forces, then the
        panel of the trace, if there is one.
        """
        from matplotlib.patches import FancyBboxPatch, Rectangle

        self.low, self.high, self._full = low, high, full
        self._canvas = Canvas(width, height)
        figure = self._canvas.figure
        floor = 0.12 if trace is None else 0.55
        axes = self._axes = figure.add_axes((0.0, floor, 1.0, 1.0 - floor), ylim=(0.0, 1.0))
        axes.spines[["left", "right", "top"]].set_visible(False)
        axes.yaxis.set_visible(False)
        axes.xaxis.set_major_formatter("{x:g} m")
        figure.text(0.5, 0.01, hint, ha="center", size=8)
        span = high - low
        # As wide as it is tall, unless it is a wall.
        side = 0.42 * (1.0 - floor) * height / width * span
        self._object = Rectangle((0.0, 0.0), 9.0 * span, 0.6)
        if not finger.wall:
            self._object = Rectangle((0.0, 0.0), side, 0.42)
        self._length = 0.13 * span
        shape = f"round,pad=0,rounding_size={0.06 * self._length}"
        self._finger = FancyBboxPatch((0.0, 0.13), self._length, 0.16, boxstyle=shape, fc=_BODY)
        self._pad = Rectangle((0.0, 0.15), 0.007 * span, 0.12)
        for patch in (self._object, self._finger, self._pad):
            axes.add_patch(patch).set_edgecolor("#144e7a")
        self._object.set(facecolor=_WOOD, edgecolor="#6e4822")
        style: dict[str, Any] = {"angles": "xy", "scale_units": "xy", "scale": 1.0}
        style |= {"width": 0.005, "minlength": 0.0}
        zero = np.zeros(2)
        self._arrows = axes.quiver(zero, (0.36, 0.06), zero, zero, color=(_FINGER, _FELT), **style)
        left: dict[str, Any] = {"transform": axes.transAxes, "va": "top"}
        self._applied = axes.text(0.02, 0.96, "", color=_FINGER, **left)
        self._felt = axes.text(0.02, 0.84, "", color=_FELT, **left)
        self._note = axes.text(0.98, 0.96, "", ha="right", **left)
        self._canvas.move(self._object, self._finger, self._pad, self._arrows)
        self._canvas.move(self._applied, self._felt, self._note)
        self._line: Any = None
        if trace is not None:
            self._add_panel(trace)

    def _add_panel(self, trace: Trace) -> None:
        """Add a panel with the applied and the felt force over the whole run."""
        axes = self._canvas.figure.add_axes((0.07, 0.12, 0.91, 0.3), xlim=(0.0, trace.end))
        samples = trace.samples(_RATE)
        axes.fill_between(samples.time, 0.0, samples.sensor, color=_FELT, alpha=0.4, lw=0)
        axes.plot(samples.time, samples.sensor, color=_FELT, lw=1.4, label="felt")
        axes.plot(samples.time, samples.applied_force, color=_FINGER, lw=1.6, label="applied")
        axes.set(xlabel="time, s", ylabel="force, N")
        axes.grid(alpha=0.25)
        axes.legend(loc="upper left", ncols=2, fontsize=8)
        self._line = axes.axvline(0.0, color="black")
        self._canvas.move(self._line)

    def draw(
        self, x_f: float, x_o: float, applied: float, felt: float, clock: float, note: str = ""
    ) -> Image:
        """A picture (height, width, 3).

        Args:
            x_f, x_o: positions of the fingertip and the object's face, m.
            applied, felt: forces, N.
            clock: present time, s.
            note: a line below the time, such as the epoch.
        """
        moved = self._axes.get_xlim() != (self.low, self.high)
        self._axes.set_xlim(self.low, self.high)
        self._object.set_x(x_o)
        self._finger.set_x(x_f - self._length)
        self._pad.set_x(x_f - self._pad.get_width())
        # The pad at the tip is the sensor: the more force it feels, the redder it is.
        share = min(felt / self._full, 1.0)
        self._pad.set_facecolor(
            tuple((1.0 - share) * np.full(3, 0.88) + share * np.array([0.84, 0.08, 0.08]))
        )
        forces = np.clip([applied, -felt], -1.2 * self._full, 1.2 * self._full)
        lengths = forces / self._full * _LONG * (self.high - self.low)
        push = x_f - self._length - max(lengths[0], 0.0)  # a push's arrow ends at the finger
        self._arrows.set_offsets([(push, 0.36), (x_f, 0.06)])
        self._arrows.set_UVC(lengths, np.zeros(2))
        self._applied.set_text(f"applied {applied:6.2f} N")
        self._felt.set_text(f"felt {felt:6.2f} N")
        self._note.set_text(f"{clock:.2f} s\n{note}")
        if self._line is not None:
            self._line.set_xdata([clock] * 2)
        return self._canvas.pixels(anew=moved)


def film_touch(
    trace: Trace,
    path: Path | str,
    fps: float = 25.0,
    height: int = 720,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Film a run in real time, with the forces of the whole run below.

    Args:
        trace: the run.
        path: ends in ``.mp4`` (H.264) or ``.gif``.
        fps: pictures per second.
        height: pixels; the width is 16:9.
        progress: called with (pictures done, total).

    Raises:
        RuntimeError: the encoder failed.
        BadInput: ``path`` can't be written.
    """
    count = max(2, round(trace.end * fps) + 1)
    samples = trace.at(np.minimum(np.arange(count) / fps, trace.end))
    low, high = float(samples.finger_position.min()), float(samples.object_position.max())
    span = max(high - low, 0.1) / (1.0 - 0.2 - 0.03 - 0.42 * 0.45 / WIDE)
    full = max(1e-9, float(np.abs(samples.applied_force).max()), float(samples.sensor.max()))
    low -= 0.2 * span
    stage = FingerCanvas(trace.finger, height * WIDE, height, low, low + span, full, trace=trace)
    columns = (
        samples.finger_position, samples.object_position, samples.applied_force, samples.sensor,
        samples.time,
    )  # fmt: skip

    def draw(k: int) -> Image:
        note = EPOCH_NAMES[Epoch(samples.epoch[k])]
        x_f, x_o, applied, felt, clock = (float(column[k]) for column in columns)
        return stage.draw(x_f, x_o, applied, felt, clock, note)

    film(path, fps, range(count), draw, progress)
