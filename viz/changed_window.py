"""Which part of the picture can have changed since the last one, seen by a camera at rest.

Software rendering pays by the pixel. While the arm works before a camera that does not move, most
of the picture stays as it was: only the window that holds what moved is drawn anew.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from galley.domain.frames import Array
from galley.viz.view import Camera

_PAD = 12  # pixels round what moved: smoothing of edges reaches a little further than the shape
_STEP = 64  # windows come in few sizes, as a new size makes the engine build new buffers
_NEAREST = 0.1  # m; closer to the camera than this, a projected corner says little


@dataclass(frozen=True)
class Window:
    """A part of a picture: columns left..right and rows top..bottom, ends excluded, pixels."""

    left: int
    top: int
    right: int
    bottom: int

    @property
    def width(self) -> int:
        """Columns."""
        return self.right - self.left

    @property
    def height(self) -> int:
        """Rows."""
        return self.bottom - self.top


def changed_window(
    corners: Array,
    before: Array,
    after: Array,
    camera: Camera,
    width: int,
    height: int,
    centred: bool = True,
) -> Window | None:
    """The window outside of which the two pictures are the same.

    Args:
        corners: corners (nb, m, 3) of boxes round each body, in the body's frame, metres.
        before, after: the bodies' poses X_WB (nb, 4, 4).
        camera: of both pictures.
        width, height: of the picture, pixels.
        centred: the window is to hold the picture's centre, as Drake's cameras want it.

    Returns:
        The window; an empty one (width 0) if nothing moved within the picture; None if it would be
        most of the picture.
    """
    moved = np.abs(before - after).max(axis=(1, 2)) > 1e-9
    if not moved.any():
        return Window(0, 0, 0, 0)
    X = np.concatenate([before[moved], after[moved]])
    p_BQ = np.concatenate([corners[moved]] * 2)
    p_WQ = p_BQ @ X[:, :3, :3].transpose(0, 2, 1) + X[:, None, :3, 3]
    pixels, depth = camera.project(p_WQ.reshape(-1, 3), width, height)
    if depth.min() < _NEAREST:
        return None
    low, high = pixels.min(axis=0) - _PAD, pixels.max(axis=0) + _PAD
    if centred:
        low = np.minimum(low, (width / 2 - 1, height / 2 - 1))
        high = np.maximum(high, (width / 2 + 1, height / 2 + 1))
    left, right = _rounded(low[0], high[0], width)
    top, bottom = _rounded(low[1], high[1], height)
    window = Window(left, top, right, bottom)
    if window.width <= 0 or window.height <= 0:
        return Window(0, 0, 0, 0)
    return window if window.width * window.height < 0.8 * width * height else None


def _rounded(low: float, high: float, size: int) -> tuple[int, int]:
    """The range, within 0..size, grown outwards to multiples of the step."""
    first = min(max(0, int(np.floor(low / _STEP)) * _STEP), size)
    last = max(0, min(size, int(np.ceil(high / _STEP)) * _STEP))
    return first, last
