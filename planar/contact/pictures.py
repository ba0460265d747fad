"""Pictures of contact in the plane: a film of bodies, contacts and forces, and plots over time.

They are made from the NumPy arrays of a ``PlanarRun``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from galley.domain.frames import Array
from galley.planar.contact.record import ENDLESS, PlanarRun
from galley.planar.film import WIDE, Canvas, film
from galley.viz.figures import figure_file
from galley.viz.render.view import Image

_INK, _BLUE, _RED, _ORANGE = "#282e36", "#1b6ca8", "#c62828", "#f08c00"
_FIXED = "#d6d9dd"
_FILLS = ("#96bedc", "#cdaa7d", "#a5cd96", "#d2aad2")
_LINES = ("#1b6ca8", "#8a5a2b", "#3c8c3c", "#7d4f96")
_LONGEST = 0.2  # share of the height: length of the largest force's arrow
_FAINT = 0.01  # share of the largest force below which a force isn't drawn
_PLACE = (0.06, 0.07, 0.93, 0.78)  # of the world in a film: left, bottom, width, height
_STILL = 1e-6  # in the unit of the curve: a smaller change is a rounding error
_COLUMNS = ("x", "y", "angle")
_UNITS = (("N", "N", "N m"), ("m", "m", "rad"), ("m/s", "m/s", "rad/s"), ("m/s²", "m/s²", "rad/s²"))


def draw_planar(run: PlanarRun, path: Path | str, title: str) -> None:
    """Plot inputs, states, velocities, accelerations and gradients over time, as a PNG.

    Of x, y and rotation only those that change have a column.

    Raises:
        BadInput: ``path`` can't be written.
    """
    ends, names = run.time[1:], [run.names[j] for j in run.free]
    rows: list[tuple[str, Array, Array]] = [
        ("input", ends, run.controls),
        ("state", run.time, run.pose[:, run.free]),
        ("velocity", run.time, run.velocity[:, run.free]),
        ("acceleration", ends, run.acceleration[:, run.free]),
    ]
    units = [list(row) for row in _UNITS]
    if run.gradient is not None:
        rows.append(("gradient", ends, run.gradient))
        units.append([f"{run.cost_unit}/N", f"{run.cost_unit}/N", f"{run.cost_unit}/(N m)"])
    most = [np.abs(v - v[0] * (kind == "state")).max(axis=(0, 1)) for kind, _, v in rows]
    shown = [c for c in range(3) if max(row[c] for row in most) >= _STILL] or range(3)
    with figure_file(path, (12.0, 2.1 * len(rows) + 1.2)) as figure:
        axes = figure.subplots(len(rows), len(shown), sharex=True, squeeze=False)
        for r, (kind, time, values) in enumerate(rows):
            for axis, c in zip(axes[r], shown, strict=True):
                axis.set_prop_cycle(color=_LINES)
                for body, curve in zip(names, values[..., c].T, strict=True):
                    axis.plot(time, curve, lw=1.5, label=body)
                axis.grid(alpha=0.25)
                name = ("force x", "force y", "torque")[c] if r == 0 else _COLUMNS[c]
                axis.set_ylabel(f"{name if r < 2 else kind}, {units[r][c]}", fontsize=9)
                axis.tick_params(labelsize=8)
                _no_noise(axis, values[:, :, c])
                if r == 0:
                    axis.set_title(("x", "y", "rotation")[c], fontsize=11)
        for axis in axes[-1]:
            axis.set_xlabel("time, s")
        axes[0, 0].legend(loc="best", fontsize=9, framealpha=0.9)
        caption = f"\ngradient: d ({run.cost}) / d input, by the force of each step" * (
            run.gradient is not None
        )
        figure.suptitle(title + caption, fontsize=11)
        figure.align_ylabels(axes)
        figure.tight_layout()


def _no_noise(axis: Any, values: Array) -> None:
    """Widen the range of a curve at rest, so that its rounding errors show as a straight line."""
    spread = float(np.ptp(values))
    if spread < _STILL:
        middle = float(values.mean())
        axis.set_ylim(middle - 1.0, middle + 1.0)


class ContactCanvas:
    """Draws pictures of a run; the view shows all moving bodies during the whole run.

    Args:
        run: the run.
        height: pixels; the width is 16:9.
        title: text at the top left.
        badge: text after the time, such as the film's speed.
    """

    def __init__(self, run: PlanarRun, height: int, title: str, badge: str = "") -> None:
        """Make the axes, bodies, paths, arrows and texts once; ``draw`` only moves them.

        Arrows of contact forces and of inputs each have a scale of their own: that of the run's
        largest, rounded up.
        """
        from matplotlib.patches import Polygon

        self._run, self._badge = run, badge
        self._canvas = Canvas(height * WIDE, height)
        figure = self._canvas.figure
        axes = figure.add_axes(_PLACE, xlabel="m")
        axes.grid(alpha=0.25)
        low, high = _seen(run, _PLACE[2] * WIDE / _PLACE[3])
        axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
        self._arrow = _LONGEST * float(high[1] - low[1])  # m
        self._pairs = [np.array(pair) for pair in dict.fromkeys(map(tuple, run.pairs.tolist()))]
        totals = [np.linalg.norm(self._force(slice(None), p), axis=1) for p in self._pairs]
        # An impact is short and large: its arrow may be cut off.
        self._contact = _round_up(max([1e-9, *(float(np.quantile(t, 0.95)) for t in totals)]))
        applied = np.linalg.norm(run.controls[..., :2], axis=-1).max(initial=1e-9)
        self._applied = _round_up(float(applied))
        self._bodies: list[tuple[int, Any]] = []
        for j in sorted(range(len(run.names)), key=lambda j: j in run.free):
            row = run.free.index(j) if j in run.free else -1
            fill = _FILLS[row % len(_FILLS)] if row >= 0 else _FIXED
            patch = Polygon(run.outlines[j], fc=fill, ec=_INK, lw=1.5)
            self._bodies.append((j, axes.add_patch(patch)))
        line: dict[str, Any] = {"color": _INK, "lw": 1.0, "alpha": 0.6}
        self._marks = [axes.plot([], [], marker=".", **line)[0] for _ in run.free]
        self._paths = [axes.plot([], [], **line)[0] for _ in run.free]
        arrow: dict[str, Any] = {"angles": "xy", "scale_units": "xy", "scale": 1.0}
        arrow |= {"width": 0.004, "minlength": 0.0, "zorder": 5}
        none = np.zeros((2, len(self._pairs)))
        self._forces = axes.quiver(*none, *none, color=_RED, **arrow)
        none = np.zeros((2, len(run.free)))
        self._inputs = axes.quiver(*none, *none, color=_BLUE, **arrow)
        self._dots = axes.plot([], [], "o", color=_ORANGE, mec=_INK, ms=5)[0]
        if run.target is not None:
            axes.plot(*run.target, "+", color=_RED, ms=16, mew=2)
        figure.text(0.02, 0.95, title, size=11)
        legend = [(f"contact force, longest: {self._contact:g} N", _RED)]
        if np.any(run.controls[..., :2]):
            legend.append((f"input, longest: {self._applied:g} N", _BLUE))
        legend.append(("virtual contacts under force", _ORANGE))
        for k, (text, color) in enumerate(legend):
            figure.text(0.02 + 0.32 * k, 0.89, text, color=color, size=9)
        self._clock = figure.text(0.98, 0.95, "", ha="right", size=11)
        self._canvas.move(*(patch for _, patch in self._bodies), *self._paths, *self._marks)
        self._canvas.move(self._inputs, self._forces, self._dots, self._clock)

    def _force(self, k: Any, pair: Array) -> Array:
        """Contact force (..., 2) of a pair at times k, N, on the first of its free bodies."""
        mine = (self._run.pairs == pair).all(axis=1)
        total: Array = self._run.forces[k][..., mine, :].sum(axis=-2)
        return total if pair[0] in self._run.free else -total

    def draw(self, k: int) -> Image:
        """The picture (h, w, 3) at the k-th time of the run."""
        run = self._run
        for j, patch in self._bodies:
            patch.set_xy(_placed(run.outlines[j], run.pose[k, j]))
        for row, j in enumerate(run.free):
            # A line from the centre shows how a disc turns.
            ends = np.array([[0.0, 0.0], [0.7 * np.abs(run.outlines[j]).max(), 0.0]])
            self._marks[row].set_data(*_placed(ends, run.pose[k, j]).T)
            self._paths[row].set_data(*run.pose[: k + 1, j, :2].T)
        self._draw_contacts(k)
        controls = run.controls[max(k - 1, 0), :, :2] / self._applied * self._arrow
        self._inputs.set_offsets(run.pose[k, list(run.free), :2] - controls)
        self._inputs.set_UVC(*controls.T)
        self._clock.set_text(f"{run.time[k]:.2f} s{self._badge}")
        return self._canvas.pixels()

    def _draw_contacts(self, k: int) -> None:
        """Draw virtual contacts under force as dots, and each pair's total force as an arrow."""
        run, size = self._run, np.linalg.norm(self._run.forces[k], axis=1)
        places, forces, dots = [np.zeros((0, 2))], [np.zeros((0, 2))], [np.zeros((0, 2))]
        for pair in self._pairs:
            mine = np.flatnonzero((run.pairs == pair).all(axis=1))
            weight, force = size[mine], self._force(k, pair)
            if weight.sum() < _FAINT * self._contact:
                weight, force = np.ones(len(mine)), np.zeros(2)
            else:
                dots.append(run.virtual[k, mine[weight > 0.01 * weight.max()]])
            places.append(weight @ run.points[k, mine][None] / weight.sum())
            forces.append(force[None] / self._contact * self._arrow)
        self._forces.set_offsets(np.concatenate(places))
        self._forces.set_UVC(*np.concatenate(forces).T)
        self._dots.set_data(*np.concatenate(dots).T)


def _placed(points: Array, pose: Array) -> Array:
    """World positions (..., n, 2) of points (n, 2) in a body's frame at poses (..., 3), m."""
    x, y, angle = (pose[..., c, None] for c in range(3))
    c, s = np.cos(angle), np.sin(angle)
    u, v = points.T
    return np.stack([x + c * u - s * v, y + s * u + c * v], axis=-1)


def _seen(run: PlanarRun, wide: float) -> tuple[Array, Array]:
    """Lower and upper corner (2,), m, of the view of a run; ``wide``: its width per height."""
    points = [
        _placed(outline, run.pose[:, j]).reshape(-1, 2)
        for j, outline in enumerate(run.outlines)
        if np.abs(outline).max() < ENDLESS
    ]
    low, high = (f(np.concatenate(points), axis=0) for f in (np.min, np.max))
    tall = 1.2 * max((high[0] - low[0]) / wide, high[1] - low[1])
    half, middle = 0.5 * tall * np.array([wide, 1.0]), 0.5 * (low + high)
    return middle - half, middle + half


def film_planar(
    run: PlanarRun,
    path: Path | str,
    title: str,
    fps: float = 25.0,
    height: int = 540,
    speed: float = 1.0,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Film a run; the last picture stays for a second.

    Args:
        run: what is filmed.
        path: ends in ``.mp4`` (H.264) or ``.gif``.
        title: text at the top left.
        fps: pictures per second.
        height: pixels; the width is 16:9.
        speed: seconds of the run per second of film; the picture says so if it isn't 1.
        progress: called with (pictures done, total).

    Raises:
        RuntimeError: the encoder failed.
        BadInput: ``path`` can't be written.
    """
    stage = ContactCanvas(run, height, title, "" if speed == 1.0 else f"  ({speed:g}x speed)")
    end, hold = float(run.time[-1]), round(fps)
    moving = max(2, round(end / speed * fps) + 1)
    times = np.minimum(np.arange(moving + hold) * speed / fps, end)
    moments = np.abs(run.time[None] - times[:, None]).argmin(axis=1)
    film(path, fps, moments.tolist(), stage.draw, progress)


def _round_up(value: float) -> float:
    """The next round number that is at least a positive value."""
    unit = 10.0 ** math.floor(math.log10(value))
    steps = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0)
    return next(f * unit for f in steps if f * unit >= value * (1.0 - 1e-9))
