"""Figures as PNG files. matplotlib is imported when one is drawn, and never opens a window."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_DOTS = 110  # pixels an inch


@contextlib.contextmanager
def figure_file(path: Path, size: tuple[float, float]) -> Iterator[Any]:
    """A matplotlib Figure of ``size`` inches, saved to ``path`` at the end of the block.

    The file appears whole or not at all; no global state of matplotlib is touched.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, dpi=_DOTS)
    FigureCanvasAgg(figure)
    yield figure
    partial = path.with_name(f".{path.stem}.partial.png")
    try:
        figure.savefig(partial)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
