"""Figures of certificates as SVG, drawn to scale. Colours are the style sheet's classes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from galley.domain.frames import Array

_WIDTH, _HEIGHT = 420.0, 240.0  # of a drawing, in its own units
_EDGE = 34.0  # room for labels at each side
_LABEL = 190.0  # for a label beside a point
_LETTER = 7.0  # width of a letter, rather more than less


def boxes(
    one: tuple[str, float, float], other: tuple[str, float, float], across: bool = False
) -> Markup:
    """A thing beside the room for it: two rectangles (name, width, height in metres).

    What the thing has too much of is marked.

    Args:
        one: the thing. other: the room.
        across: compare the widths instead of the heights.
    """
    (name, w, h), (room, room_w, room_h) = one, other
    scale = min((_WIDTH - 4 * _EDGE) / (w + room_w), (_HEIGHT - 2 * _EDGE) / max(h, room_h))
    floor, x, x_room = max(h, room_h) * scale + _EDGE, 1.4 * _EDGE, 2.7 * _EDGE + w * scale
    parts = [
        _rect(x, floor - h * scale, w * scale, h * scale, "thing"),
        _rect(x_room, floor - room_h * scale, room_w * scale, room_h * scale, "room"),
    ]
    if across:
        over, left = w - room_w, x + room_w * scale
        parts.append(_rect(left, floor - h * scale, over * scale, h * scale, "over"))
        marked = _text(left, floor - h * scale - 8, f"{_mm(over)} too wide", "start strong")
    else:
        over = h - room_h
        parts.append(_rect(x, floor - h * scale, w * scale, over * scale, "over"))
        y = floor - room_h * scale
        parts.append(_line(x - 8, y, x_room + room_w * scale, y, "level"))
        marked = _text(x, floor - h * scale - 8, f"{_mm(over)} too high", "start strong")
    middle, middle_room = x + w * scale / 2, x_room + room_w * scale / 2
    parts += [
        marked,
        _text(max(middle, 2 * _EDGE), floor + 16, f"{name}: {_mm(w if across else h)}", "middle"),
        _text(middle_room, floor + 34, f"{room}: {_mm(room_w if across else room_h)}", "middle"),
    ]
    what = "wide" if across else "high"
    return _svg(
        f"Drawn to scale: {name} is {_mm(w if across else h)} {what}, {room} has "
        f"{_mm(room_w if across else room_h)}",
        parts,
        floor + _EDGE + 8,
    )


def bars(rows: Sequence[tuple[str, float]], unit: str, caption: str) -> Markup:
    """Quantities of the same unit as bars under each other."""
    most = max(value for _, value in rows) or 1.0
    parts = []
    for k, (name, value) in enumerate(rows):
        y = 30.0 + 62.0 * k
        shown = _mm(value) if unit == "m" else f"{value:.3g} {unit}"
        parts += [
            _text(10, y, f"{name}: {shown}", "start"),
            _rect(10, y + 8, max((_WIDTH - 20) * value / most, 1.5), 22, ("thing", "room")[k % 2]),
        ]
    return _svg(f"Drawn to scale: {caption}", parts, height=20.0 + 62.0 * len(rows))


def reach(
    shoulder: Array, point: Array, arm: float, hand: float, target: str, short: float
) -> Markup:
    """The reach that is missing, seen from the side: along the line from shoulder to target.

    Args:
        shoulder: horizontal place along that line and height (2,), where the base can come nearest.
        point: the same of the target (2,). Metres.
        arm: most from the shoulder to the hand's origin. hand: most from there to the target.
        short: metres missing.
    """
    away = point - shoulder
    tip = shoulder + away / np.linalg.norm(away) * (arm + hand)
    points = np.array([shoulder, point, tip, [shoulder[0], 0.0], [point[0], 0.0]])
    low, high = points.min(axis=0) - 0.15, points.max(axis=0) + 0.15
    scale = min((_WIDTH - _LABEL) / (high[0] - low[0]), (280.0 - _EDGE) / (high[1] - low[1]))
    height = (high[1] - low[1]) * scale + _EDGE
    left = min(60.0, _WIDTH - _LABEL - (high[0] - low[0]) * scale)

    def at(p: Array) -> tuple[float, float]:
        return left + (p[0] - low[0]) * scale, height - (p[1] - low[1]) * scale

    start, end, reached = at(shoulder), at(point), at(tip)
    floor = at(np.array([shoulder[0], 0.0]))[1]
    near, far = at(shoulder + away / np.linalg.norm(away) * arm), reached
    parts = [
        _line(0, floor, _WIDTH, floor, "floor"),
        _line(start[0], floor, *start, "base"),
        _line(*start, *near, "arm"),
        _line(*near, *far, "hand"),
        _line(*far, *end, "gap"),
        _dot(*start, "base"),
        _dot(*end, "target"),
        _text(start[0] + 12, start[1] + 4, f"shoulder, {shoulder[1]:.2f} m high"),
        _text(end[0] + 12, end[1] - 6, f"{target}, {point[1]:.2f} m high"),
        *(
            _text((a[0] + b[0]) / 2 + 12, (a[1] + b[1]) / 2 + 6, words, look)
            for a, b, words, look in (
                (start, near, f"arm: at most {arm:.2f} m", "start"),
                (near, far, f"hand and grasp: at most {hand:.2f} m", "start"),
                (far, end, f"missing: {short:.2f} m", "start strong"),
            )
        ),
    ]
    return _svg(f"Drawn to scale: the hand stays {short:.2f} m away from {target}", parts, height)


def from_above(
    things: Sequence[tuple[str, Array]],
    circles: Sequence[tuple[str, Array, float]],
    caption: str,
) -> Markup:
    """Outlines (n, 2) and circles (name, centre (2,), radius) in metres, seen from above."""
    points = [outline for _, outline in things]
    points += [np.array([c - r, c + r]) for _, c, r in circles]
    low, high = np.concatenate(points).min(axis=0), np.concatenate(points).max(axis=0)
    scale = min((_WIDTH - 2 * _EDGE) / (high[0] - low[0]), 240.0 / (high[1] - low[1]))
    height = (high[1] - low[1]) * scale + 2 * _EDGE
    middle = (_WIDTH - (high[0] - low[0]) * scale) / 2
    parts = []
    for name, outline in things:
        at = (outline - low) * (scale, -scale) + (middle, height - _EDGE)
        corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
        parts.append(Markup('<polygon class="room" points="{}"/>').format(corners))
        x, y = at.mean(axis=0)
        parts.append(_text(x, y, name, "middle"))
    for name, centre, radius in circles:
        x, y = (centre - low) * (scale, -scale) + (middle, height - _EDGE)
        circle = '<circle class="thing" cx="{:.1f}" cy="{:.1f}" r="{:.1f}"/>'
        parts.append(Markup(circle).format(x, y, radius * scale))
        parts.append(_text(x, y, name, "middle"))
    return _svg(f"Drawn to scale, from above: {caption}", parts, height)


def rectangles(
    rooms: Sequence[tuple[str, Sequence[float]]],
    things: Sequence[tuple[str, Sequence[float]]],
    caption: str,
) -> Markup:
    """Rectangles (name, sides in metres) to one scale: rooms in a row, things in one below."""
    gap = 12.0
    rows = [sorted(row, key=lambda each: -each[1][0]) for row in (rooms, things) if row]
    scale = min(
        min((_WIDTH - gap * (len(row) + 1)) / sum(s[0] for _, s in row) for row in rows),
        220.0 / sum(max(s[1] for _, s in row) for row in rows),
    )
    parts: list[Markup] = []
    y = 8.0
    for row, look in zip(rows, ("room", "thing"), strict=False):
        x = gap
        tall = max(sides[1] for _, sides in row) * scale
        ends: list[float] = []  # of each line of labels, where the next may begin
        for name, (w, h) in row:
            parts.append(_rect(x, y + tall - h * scale, w * scale, h * scale, look))
            label = f"{name}: {_mm(w)} x {_mm(h)}"
            at = _inside(x, label)
            line = next((k for k, end in enumerate(ends) if end <= at), len(ends))
            ends[line : line + 1] = [at + 0.9 * _LETTER * len(label) + gap]  # small letters
            parts.append(_text(at, y + tall + 14 + 14 * line, label, "start small"))
            x += w * scale + gap
        y += tall + 26.0 + 14 * len(ends)
    return _svg(f"Drawn to scale: {caption}", parts, y)


def _svg(caption: str, parts: Sequence[Markup], height: float = _HEIGHT) -> Markup:
    figure = (
        '<figure class="drawing"><svg viewBox="0 0 {:.0f} {:.0f}" role="img" aria-label="{}">{}'
        "</svg><figcaption>{}.</figcaption></figure>"
    )
    return Markup(figure).format(_WIDTH, height, caption, Markup("").join(parts), caption)


def _rect(x: float, y: float, w: float, h: float, look: str) -> Markup:
    rect = '<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>'
    return Markup(rect).format(look, x, y, w, h)


def _line(x1: float, y1: float, x2: float, y2: float, look: str) -> Markup:
    line = '<line class="{}" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>'
    return Markup(line).format(look, x1, y1, x2, y2)


def _dot(x: float, y: float, look: str) -> Markup:
    return Markup('<circle class="dot {}" cx="{:.1f}" cy="{:.1f}" r="6"/>').format(look, x, y)


def _text(x: float, y: float, text: str, look: str = "start") -> Markup:
    x = _inside(x, text, 0.5 if "middle" in look else 0.0)
    return Markup('<text class="{}" x="{:.1f}" y="{:.1f}">{}</text>').format(look, x, y, text)


def _inside(x: float, text: str, share: float = 0.0) -> float:
    """x, or near it, so that the text stays in the drawing; ``share`` of it is left of x."""
    width = _LETTER * len(text)
    return max(share * width, min(x, _WIDTH - (1.0 - share) * width))


def _mm(metres: float) -> str:
    return f"{1e3 * metres:.0f} mm"
