"""Pictures of contact in the plane: a film of bodies, contacts and forces, and plots over time.

All of it from the NumPy arrays of a ``PlanarRun``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image as PilImage
from PIL import ImageDraw

from galley.domain.frames import Array
from galley.planar.contact.record import ENDLESS, PlanarRun
from galley.viz.figures import figure_file
from galley.viz.film.video import encoder
from galley.viz.render.tags import Color, font

_OVERSAMPLE = 2  # bodies are drawn larger, then reduced, for smooth edges
_INK: Color = (40, 46, 54)
_PAPER: Color = (255, 255, 255)
_FIXED: Color = (214, 217, 221)
_BLUE: Color = (27, 108, 168)
_RED: Color = (198, 40, 40)
_ORANGE: Color = (240, 140, 0)
_FILLS: tuple[Color, ...] = ((150, 190, 220), (205, 170, 125), (165, 205, 150), (200, 170, 210))
_LINES = ("#1b6ca8", "#8a5a2b", "#3c8c3c", "#7d4f96")
_LONGEST = 0.2  # of the height: an arrow of the largest force
_FAINT = 0.01  # of the largest force: less isn't drawn
_MARGIN = 0.2  # of the picture, around what moves
_COLUMNS = ("x", "y", "angle")
_UNITS = (("N", "N", "N m"), ("m", "m", "rad"), ("m/s", "m/s", "rad/s"), ("m/s²", "m/s²", "rad/s²"))


def draw_planar(run: PlanarRun, path: Path | str, title: str) -> None:
    """Plot inputs, states, velocities, accelerations and gradients over time, as a PNG.

    Raises:
        BadInput: ``path`` can't be written.
    """
    ends, moves = run.time[1:], range(len(run.free))
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
    with figure_file(path, (12.0, 2.1 * len(rows) + 1.2)) as figure:
        axes = figure.subplots(len(rows), 3, sharex=True)
        for r, (what, time, values) in enumerate(rows):
            for c in range(3):
                axis = axes[r, c]
                for j in moves:
                    color = _LINES[j % len(_LINES)]
                    axis.plot(
                        time, values[:, j, c], color=color, lw=1.5, label=run.names[run.free[j]]
                    )
                axis.grid(alpha=0.25)
                name = ("force x", "force y", "torque")[c] if r == 0 else _COLUMNS[c]
                axis.set_ylabel(f"{name if r < 2 else what}, {units[r][c]}", fontsize=9)
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
    """Rounding errors of something that rests are drawn as a line, not as mountains."""
    spread = float(np.ptp(values))
    if spread < 1e-6:
        middle = float(values.mean())
        axis.set_ylim(middle - 1.0, middle + 1.0)


@dataclass(frozen=True)
class _Stage:
    """Draws the moments of a run into a picture whose view of the world is fixed.

    Attributes:
        run: what is drawn. width, height: pixels.
        corner: p_W (2,) of the picture's lower left, m. scale: pixels/m.
        contact, applied: N, of the longest arrow of a contact force and of an input.
    """

    run: PlanarRun
    width: int
    height: int
    corner: Array
    scale: float
    contact: float
    applied: float

    def draw(self, k: int, title: str, badge: str) -> PilImage.Image:
        """The picture at time k."""
        over = _OVERSAMPLE
        picture = PilImage.new("RGB", (over * self.width, over * self.height), _PAPER)
        pen = ImageDraw.Draw(picture)
        for j in sorted(range(len(self.run.names)), key=lambda j: j in self.run.free):
            self._body(pen, j, k)
        self._paths(pen, k)
        if self.run.target is not None:
            x, y = self._pixels(self.run.target)
            r = 0.02 * self.height * over
            for a, b in ((r, 0.0), (0.0, r)):
                pen.line((x - a, y - b, x + a, y + b), fill=_RED, width=2 * over)
        self._contacts(pen, k)
        self._inputs(pen, k)
        picture = picture.reduce(over)
        self._texts(ImageDraw.Draw(picture), k, title, badge)
        return picture

    def _pixels(self, p_W: Array) -> Array:
        """Points (..., 2) of the world in pixels of the larger picture."""
        p = (p_W - self.corner) * self.scale
        return np.stack([p[..., 0], self.height - p[..., 1]], axis=-1) * _OVERSAMPLE

    def _body(self, pen: ImageDraw.ImageDraw, j: int, k: int) -> None:
        x, y, angle = self.run.pose[k, j]
        turn = np.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])
        corners = self._pixels(self.run.outlines[j] @ turn + (x, y))
        is_free = j in self.run.free
        fill = _FILLS[self.run.free.index(j) % len(_FILLS)] if is_free else _FIXED
        flat = [tuple(corner) for corner in corners.tolist()]
        pen.polygon(flat, fill=fill)
        pen.line([*flat, flat[0]], fill=_INK, width=2 * _OVERSAMPLE)
        if is_free:  # a line from the centre, by which a disc is seen to turn
            reach = 0.7 * float(np.abs(self.run.outlines[j]).max())
            ends = np.array([[0.0, 0.0], [reach, 0.0]]) @ turn + (x, y)
            (x0, y0), (x1, y1) = self._pixels(ends).tolist()
            soft = _darker(fill)
            pen.line((x0, y0, x1, y1), fill=soft, width=2 * _OVERSAMPLE)
            r = 2.5 * _OVERSAMPLE
            pen.ellipse((x0 - r, y0 - r, x0 + r, y0 + r), fill=soft)

    def _paths(self, pen: ImageDraw.ImageDraw, k: int) -> None:
        """Where the centre of each free body has been."""
        for row, j in enumerate(self.run.free):
            path = self._pixels(self.run.pose[: k + 1, j, :2])
            if k > 0:
                soft = _darker(_FILLS[row % len(_FILLS)])
                pen.line([tuple(p) for p in path.tolist()], fill=soft, width=2 * _OVERSAMPLE)

    def _contacts(self, pen: ImageDraw.ImageDraw, k: int) -> None:
        """Virtual contacts that bear force as dots; of each pair the total force as an arrow."""
        size = np.linalg.norm(self.run.forces[k], axis=1)
        r = max(1.6, self.height / 230.0) * _OVERSAMPLE
        for first, second in dict.fromkeys(map(tuple, self.run.pairs.tolist())):
            mine = np.flatnonzero((self.run.pairs == (first, second)).all(axis=1))
            weight = size[mine]
            if weight.sum() < _FAINT * self.contact:
                continue
            place = weight @ self.run.points[k, mine] / weight.sum()
            force = self.run.forces[k, mine].sum(axis=0)
            if first not in self.run.free:
                force = -force
            self._arrow(pen, place, force / self.contact, _RED)
            for x, y in self._pixels(self.run.virtual[k, mine[weight > 0.01 * weight.max()]]):
                pen.ellipse((x - r, y - r, x + r, y + r), fill=_ORANGE, outline=_INK)

    def _inputs(self, pen: ImageDraw.ImageDraw, k: int) -> None:
        """The force of the step that ends at k: an arrow that ends at the centre of mass."""
        controls = self.run.controls[max(k - 1, 0)]
        for row, j in enumerate(self.run.free):
            centre, share = self.run.pose[k, j, :2], controls[row, :2] / self.applied
            self._arrow(pen, centre, share, _BLUE, ends=True)

    def _arrow(
        self,
        pen: ImageDraw.ImageDraw,
        place: Array,
        share: Array,
        color: Color,
        ends: bool = False,
    ) -> None:
        """An arrow that starts, or ends, at a point of the world; ``share`` (2,) of the longest."""
        size = float(np.linalg.norm(share))
        if size < _FAINT:
            return
        way = np.array([share[0], -share[1]]) / size
        side = np.array([-way[1], way[0]])
        length = _OVERSAMPLE * self.height * _LONGEST * min(size, 1.2)
        head = min(_OVERSAMPLE * 0.028 * self.height, 0.6 * length)
        begin = self._pixels(place) - (length * way if ends else 0.0)
        end = begin + length * way
        neck = end - head * way
        pen.line((*begin, *neck), fill=color, width=round(_OVERSAMPLE * self.height / 160))
        wings = (end, neck + 0.5 * head * side, neck - 0.5 * head * side)
        pen.polygon([tuple(p.tolist()) for p in wings], fill=color)

    def _texts(self, pen: ImageDraw.ImageDraw, k: int, title: str, badge: str) -> None:
        size = max(self.height // 26, 11)
        letters, line, left = font(size), 1.45 * size, 0.02 * self.width
        y = 0.03 * self.height
        room = 0.76 * self.width  # beside the clock
        small = min(1.0, room / max(float(letters.getlength(title)), 1.0))
        pen.text((left, y), title, _INK, font(max(int(small * size), 8)))
        clock = f"{self.run.time[k]:.2f} s{badge}"
        pen.text((0.98 * self.width, y), clock, _INK, letters, anchor="ra")
        reach = self.height * _LONGEST
        rows = [(f"contact force, this long: {self.contact:g} N", _RED)]
        if np.any(self.run.controls[..., :2]):
            rows.append((f"input, this long: {self.applied:g} N", _BLUE))
        for row, (what, color) in enumerate(rows, 1):
            middle = y + row * line + 0.5 * size
            pen.line((left, middle, left + reach, middle), fill=color, width=max(3, size // 5))
            pen.text((left + reach + 0.6 * size, y + row * line), what, color, letters)
        middle, r = y + (len(rows) + 1) * line + 0.55 * size, 0.25 * size
        dot = left + reach - 2 * r
        pen.ellipse((dot - r, middle - r, dot + r, middle + r), fill=_ORANGE, outline=_INK)
        place = (left + reach + 0.6 * size, y + (len(rows) + 1) * line)
        pen.text(place, "virtual contacts that bear force", _ORANGE, letters)
        self._ruler(pen, size)

    def _ruler(self, pen: ImageDraw.ImageDraw, size: int) -> None:
        """A bar of a round number of metres at the upper right, below the clock."""
        want = 0.12 * self.width / self.scale
        unit = 10.0 ** math.floor(math.log10(want))
        span = max(f * unit for f in (1.0, 2.0, 5.0) if f * unit <= want)
        right, y = 0.98 * self.width, 0.03 * self.height + 2.9 * size
        pen.line((right - span * self.scale, y, right, y), fill=_INK, width=3)
        pen.text((right, y - 0.3 * size), f"{span:g} m", _INK, font(size), anchor="rd")


def _darker(color: Color) -> Color:
    r, g, b = color
    return int(0.7 * r), int(0.7 * g), int(0.7 * b)


def film_planar(
    run: PlanarRun,
    path: Path | str,
    title: str,
    fps: float = 25.0,
    height: int = 540,
    speed: float = 1.0,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Film a run as H.264 or, by its suffix, GIF; the last picture stays for a second.

    Args:
        run: what is filmed. path: ends in ``.mp4`` or ``.gif``. title: at the top left.
        fps: pictures per second. height: pixels, 16:9.
        speed: seconds of the run per second of film; other than 1 is marked in the picture.
        progress: called with (pictures done, total).

    Raises:
        RuntimeError: the encoder failed.
        BadInput: ``path`` can't be written.
    """
    stage = _stage(run, round(height * 16 / 9 / 2) * 2, height - height % 2)
    badge = "" if speed == 1.0 else f"  ({speed:g}x speed)"
    end, hold = float(run.time[-1]), round(fps)
    moving = max(2, round(end / speed * fps) + 1)
    times = np.minimum(np.arange(moving + hold) * speed / fps, end)
    indices = np.abs(run.time[None] - times[:, None]).argmin(axis=1)
    last, picture = -1, np.zeros((0, 0, 3), dtype=np.uint8)
    with encoder(path, fps) as append:
        for done, k in enumerate(indices.tolist(), 1):
            if k != last:
                last, picture = k, np.asarray(stage.draw(k, title, badge))
            append(picture)
            if progress is not None:
                progress(done, len(indices))


def still(run: PlanarRun, k: int, height: int, title: str) -> PilImage.Image:
    """The picture of a film at time k."""
    return _stage(run, round(height * 16 / 9 / 2) * 2, height - height % 2).draw(k, title, "")


def _stage(run: PlanarRun, width: int, height: int) -> _Stage:
    """A stage that holds all that moves, for the whole run, and the bodies of limited size."""
    points = []
    for outline, poses in zip(run.outlines, np.moveaxis(run.pose, 1, 0), strict=True):
        if np.abs(outline).max() < ENDLESS:
            x, y, angle = poses.T[:, :, None]
            u, v = outline.T
            points.append((x + np.cos(angle) * u - np.sin(angle) * v).ravel())
            points.append((y + np.sin(angle) * u + np.cos(angle) * v).ravel())
    low = np.array([min(each.min() for each in points[c::2]) for c in range(2)])
    high = np.array([max(each.max() for each in points[c::2]) for c in range(2)])
    scale = float(min(np.array([width, 0.78 * height]) * (1.0 - _MARGIN) / (high - low)))
    middle = (low + high) / 2.0 + (0.0, 0.1 * height / scale)  # below the texts
    corner = middle - np.array([width, height]) / scale / 2.0
    contact = [1e-9]
    for pair in dict.fromkeys(map(tuple, run.pairs.tolist())):
        mine = (run.pairs == pair).all(axis=1)
        total = np.linalg.norm(run.forces[:, mine].sum(axis=1), axis=1)
        # An impact is short and large: it may be cut off.
        contact.append(float(np.quantile(total, 0.95)))
    applied = float(np.linalg.norm(run.controls[..., :2], axis=-1).max(initial=1e-9))
    return _Stage(run, width, height, corner, scale, _round_up(max(contact)), _round_up(applied))


def _round_up(value: float) -> float:
    """To a round number."""
    unit = 10.0 ** math.floor(math.log10(value))
    steps = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0)
    return next(f * unit for f in steps if f * unit >= value * (1.0 - 1e-9))
