"""Labels on a picture. They are near the objects that they name, with leader lines.

Labels and captions use the font DejaVu Sans Bold, which comes with matplotlib.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from PIL import Image as PilImage
from PIL import ImageDraw, ImageFont

from galley.domain.frames import Array
from galley.robots.files import installed_file

Color = tuple[int, int, int]
_DARK: Color = (24, 28, 34)
_FILE = "DejaVuSans-Bold.ttf"


@cache
def font_file() -> str:
    """The path of the font file, found without importing matplotlib; its name if it is missing."""
    # If it gets a name only, Pillow looks in the system's font folders.
    return str(installed_file("matplotlib", f"mpl-data/fonts/ttf/{_FILE}") or _FILE)


@cache
def font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """The font at ``size`` pixels; Pillow's default font if it is missing."""
    try:
        return ImageFont.truetype(font_file(), size, layout_engine=ImageFont.Layout.BASIC)
    except OSError:
        return ImageFont.load_default(size)


Tag = tuple[str, tuple[float, float], Color]
"""A label, the pixel (x, y) that it marks, and its colour."""


def place_tags(sizes: Array, anchors: Array, width: int, height: int) -> Array:
    """Place labels near their anchors, with few overlaps.

    A greedy search, from the highest anchor down. Each label takes the candidate on rings around
    its anchor that overlaps least with earlier labels, with anchors and with the picture's edge;
    the distance to its anchor counts, too.

    Args:
        sizes: widths and heights (k, 2) of the labels, pixels.
        anchors: the pixels (k, 2) that the labels mark.
        width, height: the size of the picture, pixels.

    Returns:
        The top left corner of each label (k, 2), pixels.
    """
    reach = float(sizes[:, 1].max()) if len(sizes) else 1.0
    clear = 0.6 * reach  # pixels around each anchor that should stay visible
    rings, angles = np.meshgrid(np.arange(1.5, 9.0, 0.9), np.radians(np.arange(0.0, 360.0, 22.5)))
    around = np.stack([1.6 * np.cos(angles), np.sin(angles)], axis=-1) * rings[..., None]
    offsets, distances = reach * around.reshape(-1, 2), rings.ravel()
    frame, points = np.array([width - 4, height - 4]), np.full((len(anchors), 2), 2.0 * clear)
    places = np.zeros((len(sizes), 2))
    done: list[int] = []
    for k in np.argsort(anchors[:, 1]).tolist():
        corners = anchors[k] + offsets - 0.5 * sizes[k]  # (c, 2), of the candidates
        outside = np.maximum(4 - corners, 0) + np.maximum(corners + sizes[k] - frame, 0)
        hidden = _overlap(corners, sizes[k], anchors - clear, points) > 0
        covered = _overlap(corners, sizes[k], places[done], sizes[done])
        cost = distances + 60.0 * covered.sum(axis=1) + 8.0 * hidden.sum(axis=1)
        places[k] = corners[int((cost + 10.0 * outside.sum(axis=1)).argmin())]
        done.append(k)
    return places


def _overlap(corners: Array, size: Array, others: Array, sizes: Array) -> Array:
    """Overlap (c, m) of c boxes of one size with m others, as a share of a box's area.

    A margin of 4 pixels around each box counts, too.
    """
    low = np.maximum(corners[:, None] - 4, others)
    high = np.minimum(corners[:, None] + size + 4, others + sizes)
    return np.asarray(np.maximum(high - low, 0.0).prod(axis=2) / size.prod())


def draw_tags(picture: PilImage.Image, tags: list[Tag], size: int) -> None:
    """Draw dots, leader lines and labels onto a picture, letters ``size`` pixels high."""
    draw = ImageDraw.Draw(picture)
    margin = round(0.45 * size)
    boxes = [draw.textbbox((0, 0), text, font=font(size)) for text, _, _ in tags]
    extents = [[b[2] - b[0] + 2 * margin, 1.15 * size + margin] for b in boxes]
    sizes = np.array(extents).reshape(-1, 2)
    anchors = np.array([anchor for _, anchor, _ in tags]).reshape(-1, 2)
    places = place_tags(sizes, anchors, picture.width, picture.height)
    # All leader lines first, so that no line crosses a label.
    for (_, anchor, color), corner, extent in zip(tags, places, sizes, strict=True):
        end = np.clip(anchor, corner, corner + extent)
        draw.line([anchor, tuple(end)], fill=_DARK, width=max(3, size // 5))
        draw.line([anchor, tuple(end)], fill=color, width=max(1, size // 9))
    for (text, (x, y), color), corner, extent, box in zip(tags, places, sizes, boxes, strict=True):
        r = max(3, size // 4)
        draw.ellipse((x - r, y - r, x + r, y + r), fill=color, outline=_DARK, width=2)
        corners = (*corner, *(corner + extent))
        draw.rounded_rectangle(corners, radius=margin, fill=_DARK, outline=color, width=2)
        _, top, _, bottom = draw.textbbox((0, 0), "H", font=font(size))
        at = (corner[0] + margin - box[0], corner[1] + 0.5 * (extent[1] - top - bottom))
        draw.text(at, text, font=font(size), fill=(255, 255, 255))
