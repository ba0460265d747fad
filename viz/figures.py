"""Saves matplotlib figures as PNG files, without a display or global state."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from galley.domain.files import atomic_file


@contextlib.contextmanager
def figure_file(path: Path | str, size: tuple[float, float]) -> Iterator[Any]:
    """Yield a matplotlib Figure of ``size`` inches and save it at the end of the block.

    The file appears whole or not at all.

    Raises:
        BadInput: ``path`` can't be written.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, dpi=110)
    yield figure
    with atomic_file(path, ".png") as partial:
        figure.savefig(partial)
