"""Draws the labels of the kitchen's boxes: ``python bench/viz/box_labels.py FOLDER``.

Each picture holds six faces in a grid, as ``collision.backends.urdf`` lays them out. A face is
drawn in its true proportions and then squeezed into its cell, so that it comes out straight on the
box.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from galley.viz.render.tags import font_file

Color = tuple[int, int, int]
_CELL = 256  # pixels a side
_SCALE = 6000.0  # pixels a metre while drawing; larger than the cell, so that edges come out smooth


@dataclass(frozen=True)
class Label:
    """What a product's label shows: words and colours (red, green, blue, 0..255)."""

    word: str
    small: str
    ground: Color
    band: Color
    ink: Color
    motif: Callable[[ImageDraw.ImageDraw, float, float, float], None]


def draw_label(label: Label, size: tuple[float, float, float]) -> Image.Image:
    """The six faces of a box of ``size`` (x, y, z), metres, as one picture."""
    x, y, z = size
    faces = (
        _face(label, y, z, "side"),
        _face(label, y, z, "side"),
        _face(label, y, x, "lid"),
        _face(label, x, z, "front"),
        _face(label, x, z, "front"),
        _face(label, y, x, "plain"),
    )
    sheet = Image.new("RGB", (3 * _CELL, 2 * _CELL))
    for k, face in enumerate(faces):
        cell = face.resize((_CELL, _CELL), Image.LANCZOS)
        sheet.paste(cell, (k % 3 * _CELL, k // 3 * _CELL))
    return sheet


def _face(label: Label, width: float, height: float, kind: str) -> Image.Image:
    w, h = round(_SCALE * width), round(_SCALE * height)
    picture = Image.new("RGB", (w, h), label.ground)
    draw = ImageDraw.Draw(picture)
    edge = round(0.0015 * _SCALE)
    draw.rectangle((0, 0, w - 1, h - 1), outline=label.band, width=edge)
    if kind == "plain":
        return picture
    if kind == "front":
        top, bottom = round(0.14 * h), round(0.50 * h)
        draw.rectangle((0, top, w, bottom), fill=label.band)
        _word(picture, label.word, label.ink, (0.05 * w, top, 0.95 * w, bottom))
        _word(picture, label.small, label.band, (0.22 * w, 0.53 * h, 0.78 * w, 0.62 * h))
        label.motif(draw, 0.5 * w, 0.80 * h, 0.15 * min(w, h))
    else:  # narrow faces: the word runs along their longer side
        along = Image.new("RGB", (h, w) if h > w else (w, h), label.band)
        margin = round(0.12 * along.height)
        box = (margin, margin, along.width - margin, along.height - margin)
        _word(along, label.word, label.ink, box)
        turned = along.rotate(90, expand=True) if h > w else along
        inset = round(0.10 * min(w, h))
        picture.paste(turned.resize((w - 2 * inset, h - 2 * inset)), (inset, inset))
    return picture


def _word(
    picture: Image.Image, text: str, ink: Color, box: tuple[float, float, float, float]
) -> None:
    """Write a word as large as it fits into the middle of ``box`` (left, top, right, bottom)."""
    left, top, right, bottom = box
    draw = ImageDraw.Draw(picture)
    size = int(1.3 * (bottom - top))
    while size > 6:
        a, b, c, d = draw.textbbox((0, 0), text, font=ImageFont.truetype(font_file(), size))
        if c - a <= right - left and d - b <= 0.86 * (bottom - top):
            break
        size = int(0.95 * size)
    place = (0.5 * (left + right - a - c), 0.5 * (top + bottom - b - d))
    draw.text(place, text, font=ImageFont.truetype(font_file(), size), fill=ink)


def _cubes(draw: ImageDraw.ImageDraw, x: float, y: float, r: float) -> None:
    """Three sugar cubes, two below and one on top."""
    for dx, dy in ((-0.95, 0.35), (0.95, 0.35), (0.0, -0.75)):
        cx, cy, s = x + dx * r, y + dy * r, 0.78 * r
        front = [(cx - s, cy - 0.4 * s), (cx, cy), (cx, cy + s), (cx - s, cy + 0.6 * s)]
        side = [(cx + s, cy - 0.4 * s), (cx, cy), (cx, cy + s), (cx + s, cy + 0.6 * s)]
        lid = [(cx - s, cy - 0.4 * s), (cx, cy - 0.8 * s), (cx + s, cy - 0.4 * s), (cx, cy)]
        draw.polygon(front, fill=(226, 226, 232))
        draw.polygon(side, fill=(200, 202, 212))
        draw.polygon(lid, fill=(255, 255, 255))


def _slice(draw: ImageDraw.ImageDraw, x: float, y: float, r: float) -> None:
    """A slice of meat on a plate."""
    draw.ellipse((x - 2.4 * r, y - 0.9 * r, x + 2.4 * r, y + 1.1 * r), fill=(238, 238, 240))
    draw.ellipse((x - 1.9 * r, y - 0.7 * r, x + 1.9 * r, y + 0.8 * r), fill=(216, 220, 226))
    box = (x - 1.3 * r, y - 0.75 * r, x + 1.3 * r, y + 0.55 * r)
    draw.rounded_rectangle(box, radius=0.3 * r, fill=(206, 96, 98))
    box = (x - 1.15 * r, y - 0.62 * r, x + 1.15 * r, y + 0.35 * r)
    draw.rounded_rectangle(box, radius=0.25 * r, fill=(236, 142, 138))


LABELS = {
    "sugar_box.png": (
        Label("SUGAR", "pure cane", (246, 196, 36), (255, 250, 236), (18, 54, 128), _cubes),
        (0.089, 0.038, 0.175),
    ),
    "potted_meat_can.png": (
        Label("SPAM", "potted meat", (18, 44, 120), (250, 208, 40), (150, 22, 30), _slice),
        (0.097, 0.050, 0.082),
    ),
}


def write_labels(folder: Path) -> tuple[Path, ...]:
    """Write every label into ``folder``, with few colours so that the files stay small."""
    paths = []
    for name, (label, size) in LABELS.items():
        path = folder / name
        draw_label(label, size).quantize(128).save(path, optimize=True)
        paths.append(path)
    return tuple(paths)


if __name__ == "__main__":
    write_labels(Path(sys.argv[1]))
