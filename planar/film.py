"""Films that Matplotlib draws: one figure, whose artists move from picture to picture."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from galley.viz.film.video import encoder
from galley.viz.render.view import Image

WIDE = 16.0 / 9.0  # width of a film over its height


class Canvas:
    """A Matplotlib figure as pixels.

    Attributes:
        figure: of Matplotlib.

    Args:
        width, height: pixels; made even, as the encoder wants them.
    """

    def __init__(self, width: float, height: float) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        size = np.array([2 * round(width / 2.0), 2 * round(height / 2.0)])
        dpi = height / 4.5  # so that letters are as large in every film
        self.figure = Figure(figsize=tuple(size / dpi), dpi=dpi)
        self._canvas: Any = FigureCanvasAgg(self.figure)
        self._moving: list[Any] = []
        self._behind: Any = None

    def move(self, *artists: Any) -> None:
        """Artists that change from picture to picture; all others are drawn once."""
        for each in artists:
            each.set_animated(True)
        self._moving += artists

    def pixels(self, anew: bool = False) -> Image:
        """What the figure shows now (h, w, 3); ``anew``: what stood still has changed too."""
        if anew or self._behind is None:
            self._canvas.draw()
            self._behind = self._canvas.copy_from_bbox(self.figure.bbox)
        self._canvas.restore_region(self._behind)
        for artist in sorted(self._moving, key=lambda each: each.get_zorder()):
            self.figure.draw_artist(artist)
        return np.asarray(self._canvas.buffer_rgba())[:, :, :3].copy()


def film(
    path: Path | str,
    fps: float,
    moments: Iterable[int],
    draw: Callable[[int], Image],
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Film moments as H.264 or, by its suffix, GIF; one that comes again in turn is drawn once.

    Args:
        path: ends in ``.mp4`` or ``.gif``. fps: pictures per second.
        moments: numbers of what is drawn. draw: the picture (h, w, 3) of a moment.
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
