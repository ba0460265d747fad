"""Figures of certificates as SVG, drawn to scale. Colours are the style sheet's classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from markupsafe import Markup
from numpy.typing import ArrayLike

_WIDTH, _HEIGHT = 420.0, 230.0  # of a drawing, in its own units
_EDGE = 20.0  # at each side
_LETTER, _LINE = 7.2, 15.0  # width of a letter, rather more than less, and height of a line


@dataclass(frozen=True)
class Shape:
    """A circle, a point, a line or a polygon.

    Attributes:
        look: class of the style sheet.
        points: (n, 2) metres, y upwards: one for a circle or a dot, two for a line.
        label: what is written under the drawing, near below it.
        radius: of a circle, metres; 0 for a dot.
    """

    look: str
    points: ArrayLike
    label: str = ""
    radius: float = 0.0


def rectangle(look: str, x: float, y: float, width: float, height: float, label: str) -> Shape:
    """A rectangle whose lower left corner is at (x, y), metres."""
    corners = [(x, y), (x + width, y), (x + width, y + height), (x, y + height)]
    return Shape(look, corners, label)


def in_a_row(sides: Sequence[tuple[str, str, float, float]]) -> list[Shape]:
    """Rectangles (look, label, width, height in metres) on a floor, one beside the other."""
    gap = 0.08 * sum(width for _, _, width, _ in sides)
    ends = accumulate((width + gap for _, _, width, _ in sides), initial=0.0)
    return [
        rectangle(look, x, 0.0, width, height, label)
        for (look, label, width, height), x in zip(sides, ends, strict=False)
    ]


def to_scale(caption: str, shapes: Sequence[Shape]) -> Markup:
    """The shapes in one scale, with their labels."""
    reached = [np.asarray(s.points) + s.radius * np.array([[[-1]], [[1]]]) for s in shapes]
    every = np.concatenate([each.reshape(-1, 2) for each in reached])
    low, high = every.min(axis=0), every.max(axis=0)
    across, up = np.maximum(high - low, 1e-6)
    scale = float(min((_WIDTH - 2 * _EDGE) / across, _HEIGHT / up))
    bottom = _EDGE + scale * (high[1] - low[1])
    parts, lanes = [], [0.0]  # where the next label may begin in each line under the drawing
    for shape in shapes:
        at = (np.asarray(shape.points) - low) * (scale, -scale) + (_EDGE, bottom)
        parts.append(_drawn(shape, at, scale))
        if shape.label:
            width = _LETTER * len(shape.label)
            x = max(2.0, min(at[:, 0].mean() - 0.5 * width, _WIDTH - width))
            free = (k for k, end in enumerate(lanes) if end <= x)
            lane = next(free, len(lanes))
            lanes[lane : lane + 1] = [x + width + _LETTER]
            parts.append(_text(x, bottom + _LINE * (lane + 1), shape.label, shape.look))
    figure = (
        '<figure class="drawing"><svg viewBox="0 0 {:.0f} {:.0f}" role="img" aria-label="{}">{}'
        "</svg><figcaption>{}.</figcaption></figure>"
    )
    height, caption = bottom + _LINE * (len(lanes) + 1), f"Drawn to scale: {caption}"
    return Markup(figure).format(_WIDTH, height, caption, Markup("").join(parts), caption)


def _drawn(shape: Shape, at: np.ndarray, scale: float) -> Markup:
    """A shape at points (n, 2) of the drawing."""
    if len(at) == 1:
        look = shape.look if shape.radius else f"dot {shape.look}"
        circle = '<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="{:.1f}"/>'
        return Markup(circle).format(look, *at[0], scale * shape.radius or 6.0)
    if len(at) == 2:
        line = '<line class="{}" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>'
        return Markup(line).format(shape.look, *at.ravel())
    corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
    return Markup('<polygon class="{}" points="{}"/>').format(shape.look, corners)


def _text(x: float, y: float, text: str, look: str) -> Markup:
    strong = "start strong" if look in ("over", "gap") else "start"
    return Markup('<text class="{}" x="{:.1f}" y="{:.1f}">{}</text>').format(strong, x, y, text)
