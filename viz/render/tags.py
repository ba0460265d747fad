"""Labels on a picture: near what they name, with leader lines, without overlaps.

The font, also of captions, is DejaVu Sans Bold, which comes with matplotlib.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from PIL import Image as PilImage
from PIL import ImageDraw, ImageFont

from galley.domain.frames import Array

Color = tuple[int, int, int]
_DARK: Color = (24, 28, 34)
_FILE = "DejaVuSans-Bold.ttf"


@cache
def font_file() -> str:
    """Path of the font, without importing matplotlib; its bare name if it is missing."""
    spec = find_spec("matplotlib")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(place) / "mpl-data" / "fonts" / "ttf" / _FILE
        if path.is_file():
            return str(path)
    return _FILE  # Pillow looks in the system's font folders


@cache
def font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """The font at ``size`` pixels; Pillow's default if it is missing."""
    try:
        return ImageFont.truetype(font_file(), size)
    except OSError:
        return ImageFont.load_default()


@dataclass(frozen=True)
class Tag:
    """A label and the pixel (x, y) that it marks."""

    text: str
    anchor: tuple[float, float]
    color: Color


def place_tags(sizes: Array, anchors: Array, width: int, height: int) -> Array:
    """Place labels: their top left corners (k, 2), pixels.

    Greedy: each label goes where it overlaps least with earlier labels, anchors and the picture's
    edge, and is near its own anchor.

    Args:
        sizes: widths and heights (k, 2), pixels.
        anchors: pixels (k, 2).
        width, height: of the picture.
    """
    reach = float(sizes[:, 1].max()) if len(sizes) else 1.0
    clear = 0.6 * reach  # around anchors, which should stay visible
    angles = np.radians(np.arange(0.0, 360.0, 22.5))
    places = np.zeros((len(sizes), 2))
    done: list[int] = []
    for k in np.argsort(anchors[:, 1]).tolist():
        best = np.inf
        for ring in np.arange(1.5, 9.0, 0.9) * reach:
            for angle in angles:
                centre = anchors[k] + ring * np.array([1.6 * np.cos(angle), np.sin(angle)])
                corner = centre - 0.5 * sizes[k]
                cost = ring / reach
                cost += 60.0 * float(_overlap(corner, sizes[k], places[done], sizes[done]).sum())
                points = np.full((len(anchors), 2), 2.0 * clear)
                hidden = _overlap(corner, sizes[k], anchors - clear, points) > 0
                cost += 8.0 * float(hidden.sum())
                low, high = corner, corner + sizes[k]
                outside = np.maximum(4 - low, 0) + np.maximum(high - (width - 4, height - 4), 0)
                cost += 10.0 * float(outside.sum())
                if cost < best:
                    best, places[k] = cost, corner
        done.append(k)
    return places


def _overlap(corner: Array, size: Array, corners: Array, sizes: Array) -> Array:
    """Overlap (m,) of one box with others, as a share of its area, with a margin of 4 pixels."""
    low = np.maximum(corner - 4, corners)
    high = np.minimum(corner + size + 4, corners + sizes)
    side = np.maximum(high - low, 0.0)
    return np.asarray(side[:, 0] * side[:, 1] / (size[0] * size[1]))


def draw_tags(picture: PilImage.Image, tags: list[Tag], size: int) -> None:
    """Draw dots, leader lines and labels onto a picture, letters ``size`` pixels high."""
    draw = ImageDraw.Draw(picture)
    margin = round(0.45 * size)
    boxes = [draw.textbbox((0, 0), tag.text, font=font(size)) for tag in tags]
    extents = [[b[2] - b[0] + 2 * margin, 1.15 * size + margin] for b in boxes]
    sizes = np.array(extents).reshape(-1, 2)
    anchors = np.array([tag.anchor for tag in tags]).reshape(-1, 2)
    places = place_tags(sizes, anchors, picture.width, picture.height)
    for tag, place, extent in zip(tags, places, sizes, strict=True):
        end = np.clip(tag.anchor, place, place + extent)
        draw.line([tuple(tag.anchor), tuple(end)], fill=_DARK, width=max(3, size // 5))
        draw.line([tuple(tag.anchor), tuple(end)], fill=tag.color, width=max(1, size // 9))
    for tag, place, extent, box in zip(tags, places, sizes, boxes, strict=True):
        x, y = tag.anchor
        r = max(3, size // 4)
        draw.ellipse((x - r, y - r, x + r, y + r), fill=tag.color, outline=_DARK, width=2)
        corners = (*place, *(place + extent))
        draw.rounded_rectangle(corners, radius=margin, fill=_DARK, outline=tag.color, width=2)
        _, top, _, bottom = draw.textbbox((0, 0), "H", font=font(size))
        at = (place[0] + margin - box[0], place[1] + 0.5 * (extent[1] - top - bottom))
        draw.text(at, tag.text, font=font(size), fill=(255, 255, 255))
