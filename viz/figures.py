"""Figures as PNG files. matplotlib is imported when one is drawn, and never opens a window."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from galley.domain.files import written_whole

_DOTS = 110  # pixels an inch


@contextlib.contextmanager
def figure_file(path: Path, size: tuple[float, float]) -> Iterator[Any]:
    """A matplotlib Figure of ``size`` inches, saved to ``path`` at the end of the block.

    The file appears whole or not at all; no global state of matplotlib is touched.

    Raises:
        BadInput: ``path`` can't be written.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, dpi=_DOTS)
    FigureCanvasAgg(figure)
    yield figure
    with written_whole(path, ".png") as partial:
        figure.savefig(partial)
