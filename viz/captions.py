"""Captions: a bar at the foot of each picture that says what is going on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PIL import Image as PilImage
from PIL import ImageDraw

from galley.viz.fonts import font
from galley.viz.picture import Image
from galley.viz.shots import action_numbers, split_line

Color = tuple[int, int, int]
_BAR: Color = (20, 24, 30)
_WHITE: Color = (250, 250, 250)
_GREY: Color = (176, 186, 198)
_ORANGE: Color = (250, 150, 40)
_OPACITY = 0.80


@dataclass(frozen=True)
class Caption:
    """What a picture's bar says; empty parts are left out.

    Attributes:
        action: such as ``3/8  place sugar countertop``.
        phase: such as ``approach``.
        clock: such as ``12.4 s``.
        badge: in a frame at the top right, such as ``2x speed``.
        title: at the top left.
    """

    action: str = ""
    phase: str = ""
    clock: str = ""
    badge: str = ""
    title: str = ""


def action_captions(lines: list[str]) -> list[tuple[str, str]]:
    """For each motion's line in a log: numbered action, and phase."""
    numbers = action_numbers(lines)
    count = numbers[-1] + 1 if numbers else 0
    parts = [split_line(line) for line in lines]
    return [
        (f"{n + 1}/{count}  {action}", phase)
        for n, (action, phase) in zip(numbers, parts, strict=True)
    ]


def speed_badge(speed: float) -> str:
    """``2x speed``, or nothing at real speed."""
    return "" if abs(speed - 1.0) < 1e-9 else f"{speed:g}x speed"


def caption_height(height: int) -> int:
    """Height of the bar for a picture of this height, pixels."""
    return max(28, round(0.075 * height))


def draw_caption(picture: Image, caption: Caption) -> Image:
    """A copy of a picture (h, w, 3) with its caption; all between bar and top strip is kept."""
    drawn = picture.copy()
    height = drawn.shape[0]
    bar = caption_height(height)
    if caption.action or caption.phase or caption.clock:
        _draw_bar(drawn[height - bar :], caption)
    size = round(0.50 * bar)
    margin = round(0.35 * bar)
    if caption.title:
        room = 0.70 if caption.badge else 0.92
        _draw_tag(drawn, caption.title, size, margin, room, left=True, color=_WHITE)
    if caption.badge:
        _draw_tag(drawn, caption.badge, size, margin, 0.22, left=False, color=_ORANGE)
    return drawn


def _darkened(region: Image) -> PilImage.Image:
    mixed = region * (1.0 - _OPACITY) + np.array(_BAR) * _OPACITY
    return PilImage.fromarray(mixed.astype(np.uint8))


def _draw_bar(region: Image, caption: Caption) -> None:
    """Draw into the picture's last rows: action left, phase after it, clock at the right end."""
    height, width = region.shape[:2]
    bar = _darkened(region)
    draw = ImageDraw.Draw(bar)
    margin = round(0.40 * height)
    size = round(0.50 * height)
    room = width - 4 * margin - _width(draw, caption.clock, size)
    room -= _width(draw, caption.phase, size)
    action = _fitted(draw, caption.action, size, room)
    _text(draw, margin, height, action, size, _WHITE)
    x = margin + _width(draw, action, size) + margin
    _text(draw, x, height, caption.phase, size, _ORANGE)
    x = width - margin - _width(draw, caption.clock, size)
    _text(draw, x, height, caption.clock, size, _GREY)
    region[:] = np.asarray(bar)


def _draw_tag(
    picture: Image, text: str, size: int, margin: int, room: float, left: bool, color: Color
) -> None:
    """Draw a text on a dark ground into an upper corner, over at most this share of the width."""
    probe = ImageDraw.Draw(PilImage.new("RGB", (4, 4)))
    text = _fitted(probe, text, size, room * picture.shape[1])
    width = round(_width(probe, text, size)) + 2 * margin
    height = round(1.7 * size)
    x = margin if left else picture.shape[1] - margin - width
    region = picture[margin : margin + height, x : x + width]
    tag = _darkened(region)
    _text(ImageDraw.Draw(tag), margin, height, text, size, color)
    region[:] = np.asarray(tag)


def _width(draw: ImageDraw.ImageDraw, text: str, size: int) -> float:
    return float(draw.textlength(text, font=font(size))) if text else 0.0


def _fitted(draw: ImageDraw.ImageDraw, text: str, size: int, room: float) -> str:
    """The text, its end replaced by dots if it is wider than ``room``."""
    if _width(draw, text, size) <= room:
        return text
    while text and _width(draw, text + "...", size) > room:
        text = text[:-1]
    return text.rstrip() + "..."


def _text(
    draw: ImageDraw.ImageDraw, x: float, height: int, text: str, size: int, color: Color
) -> None:
    """Write a line whose capital letters are centred in a strip of ``height``."""
    if text:
        _, top, _, bottom = draw.textbbox((0, 0), "H", font=font(size))
        place = (round(x), round(0.5 * (height - top - bottom)))
        draw.text(place, text, font=font(size), fill=color)
