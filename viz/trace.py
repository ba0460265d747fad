"""The track of a point, drawn into pictures as it goes."""

from __future__ import annotations

import numpy as np
from PIL import Image as PilImage
from PIL import ImageDraw

from galley.domain.frames import Array
from galley.viz.caption_drawing import Color
from galley.viz.picture import Image
from galley.viz.view import Camera

_FINE = 2  # drawn so many times larger, then reduced: smooth edges
_WIDTH = 1 / 150  # of the picture's height
_RIM: Color = (20, 24, 30)


def draw_trace(picture: Image, points: Array, camera: Camera, color: Color) -> Image:
    """A copy of a picture (h, w, 3) with the line through points (k, 3), metres, world frame.

    It lies over everything: what would hide it does not.
    """
    height, width = picture.shape[:2]
    pixels, _ = camera.project(points, width, height)
    pixels = pixels[np.isfinite(pixels).all(axis=1)]
    if len(pixels) < 2:
        return picture
    thick = max(2.0, _WIDTH * height)
    low = np.floor(pixels.min(axis=0) - 2 * thick).astype(int).clip(0, (width, height))
    high = np.ceil(pixels.max(axis=0) + 2 * thick).astype(int).clip(0, (width, height))
    if (high - low < 1).any():
        return picture  # all of it lies outside
    size = (int(high[0] - low[0]), int(high[1] - low[1]))
    line = [tuple(p) for p in _FINE * (pixels - low)]
    drawn = picture.copy()
    region = drawn[low[1] : high[1], low[0] : high[0]].astype(np.float64)
    for shade, broad in ((_RIM, 1.7 * thick), (color, thick)):
        mask = PilImage.new("L", (_FINE * size[0], _FINE * size[1]))
        ImageDraw.Draw(mask).line(line, fill=255, width=round(_FINE * broad), joint="curve")
        share = np.asarray(mask.resize(size, PilImage.Resampling.BOX))[..., None] / 255.0
        region += share * (np.array(shade) - region)
    drawn[low[1] : high[1], low[0] : high[0]] = region.round().astype(np.uint8)
    return drawn
