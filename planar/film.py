"""Films drawn by Matplotlib: one figure, whose artists move from picture to picture."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from galley.viz.film.video import encoder
from galley.viz.render.view import Image

WIDE = 16.0 / 9.0  # width of a film over its height


class Canvas:
    """A Matplotlib figure that is drawn to pixels, fast if only few artists move.

    Attributes:
        figure: Matplotlib's figure.

    Args:
        width, height: pixels, rounded to even numbers for the encoder.
    """

    def __init__(self, width: float, height: float) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        size = np.array([2 * round(width / 2.0), 2 * round(height / 2.0)])
        dpi = height / 4.5  # so that letters have the same share of every film
        self.figure = Figure(figsize=tuple(size / dpi), dpi=dpi)
        self._canvas: Any = FigureCanvasAgg(self.figure)
        self._moving: list[Any] = []
        self._behind: Any = None

    def move(self, *artists: Any) -> None:
        """Mark artists as moving from picture to picture; all others are drawn once."""
        for artist in artists:
            artist.set_animated(True)
        self._moving += artists

    def pixels(self, anew: bool = False) -> Image:
        """The figure's pixels (h, w, 3) now; ``anew``: draw artists again that don't move."""
        if anew or self._behind is None:
            self._canvas.draw()
            self._behind = self._canvas.copy_from_bbox(self.figure.bbox)
        self._canvas.restore_region(self._behind)
        for artist in sorted(self._moving, key=lambda moving: moving.get_zorder()):
            self.figure.draw_artist(artist)
        return np.asarray(self._canvas.buffer_rgba())[:, :, :3].copy()


def film(
    path: Path | str,
    fps: float,
    moments: Iterable[int],
    draw: Callable[[int], Image],
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Write a film of pictures; a picture that repeats the last isn't drawn again.

    Args:
        path: ends in ``.mp4`` (H.264) or ``.gif``.
        fps: pictures per second.
        moments: numbers of the moments to show, one for each picture.
        draw: function from a moment's number to its picture (h, w, 3).
        progress: called with (pictures done, total).

    Raises:
        RuntimeError: the encoder failed.
        BadInput: ``path`` can't be written.
    """
    listed, last = list(moments), -1
    with encoder(path, fps) as append:
        for done, k in enumerate(listed, 1):
            if k != last:
                last, picture = k, draw(k)
            append(picture)
            if progress is not None:
                progress(done, len(listed))
