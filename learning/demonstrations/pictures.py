"""An episode of demonstrations as a film of its pictures and as curves over time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from textwrap import shorten
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image as PilImage

from galley.domain.frames import Array
from galley.viz.figures import figure_file
from galley.viz.film.captions import Caption, draw_caption
from galley.viz.film.video import encoder
from galley.viz.render.view import Image

_COLUMNS = 2
_MOST_LINES = 24  # of a panel; of an array with more, evenly spread ones


def film_pictures(
    pictures: Mapping[str, Iterable[Image]],
    times: Array,
    texts: Sequence[str],
    path: Path | str,
    height: int = 480,
    speed: float = 1.0,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Film the pictures of all cameras side by side.

    Args:
        pictures: by name of the camera, T of them, each (h, w, 1 or 3).
        times: (T,) s. texts: (T) what to say in each picture, or empty.
        path: of the film, ``.mp4`` or ``.gif``.
        height: of the film, pixels; pictures are enlarged to it.
        speed: seconds of the episode per second of film.
        progress: called with pictures done, and their number.

    Raises:
        RuntimeError, BadInput, OSError: as ``video.encoder``.
    """
    height = height // 2 * 2
    step = float(np.median(np.diff(times))) if len(times) > 1 else 1.0
    with encoder(path, speed / step) as append:
        for k, (t, *row) in enumerate(zip(times, *pictures.values(), strict=True)):
            row = [_enlarged(*each, height) for each in zip(pictures, row, strict=True)]
            words = texts[k] if texts else ""
            append(draw_caption(np.concatenate(row, axis=1), Caption(words, clock=f"{t:.1f} s")))
            if progress is not None:
                progress(k + 1, len(times))


def _enlarged(name: str, picture: Image, height: int) -> Image:
    """A picture (h, w, 1 or 3) of the film's height, as sharp as it is, with its name."""
    h, w = picture.shape[:2]
    whole = PilImage.fromarray(np.broadcast_to(picture, (h, w, 3)).copy())
    size = (round(w * height / h / 2) * 2, height)
    return draw_caption(
        np.array(whole.resize(size, PilImage.Resampling.NEAREST)), Caption(title=name)
    )


def draw_curves(
    arrays: Mapping[str, Array],
    meanings: Mapping[str, str],
    times: Array,
    marks: Mapping[str, Sequence[str]],
    title: str,
    path: Path | str,
) -> None:
    """Draw every array over time as PNG, a panel each.

    Args:
        arrays: by name, (T, ...). meanings: what an array is, by name.
        times: (T,) s.
        marks: of an index among the arrays (T, 1): the texts that it counts; its changes are
            marked in every panel.
        title: of the figure. path: of the picture.

    Raises:
        BadInput: ``path`` can't be written.
    """
    curves = {name: each.reshape(len(each), -1) for name, each in arrays.items()}
    texts = {name: marks[name] for name in curves if name in marks}
    curves = {name: each for name, each in curves.items() if name not in texts}
    rows = -(-len(curves) // _COLUMNS)
    with figure_file(path, (14.0, 1.6 + 2.0 * rows + 0.6 * len(texts))) as figure:
        ratios = [0.35] * len(texts) + [1.0] * rows
        grid = figure.add_gridspec(len(ratios), _COLUMNS, height_ratios=ratios)
        ends: set[float] = set()
        for row, (name, words) in enumerate(texts.items()):
            strip = figure.add_subplot(grid[row, :])
            index = arrays[name].reshape(-1)
            ends |= set(_draw_strip(strip, name, index, words, times))
        for k, (name, values) in enumerate(curves.items()):
            axes = figure.add_subplot(grid[len(texts) + k // _COLUMNS, k % _COLUMNS])
            _draw_panel(axes, name, values, meanings.get(name, ""), times)
            for end in ends:
                axes.axvline(end, color="0.8", linewidth=0.6, zorder=0)
            if k >= len(curves) - _COLUMNS:
                axes.set_xlabel("time (s)", fontsize=8)
        figure.suptitle(title, fontsize=11)
        figure.tight_layout()


def _draw_strip(
    axes: Any, name: str, index: NDArray[Any], words: Sequence[str], times: Array
) -> list[float]:
    """Draw spans of an equal index with their texts; returns where one ends (s)."""
    changes = [0, *(np.flatnonzero(np.diff(index)) + 1).tolist(), len(index)]
    edges = [*times, times[-1]]
    whole = max(float(times[-1] - times[0]), 1e-9)
    for a, b in pairwise(changes):
        start, end, k = float(edges[a]), float(edges[b]), int(index[a])
        axes.axvspan(start, end, color=f"C{k % 10}", alpha=0.45, linewidth=0)
        text = words[k] if 0 <= k < len(words) else str(k)
        room = max(int(150 * (end - start) / whole), 3)
        axes.text(
            0.5 * (start + end),
            0.5,
            shorten(text, room, placeholder="…") if len(text) > room else text,
            ha="center",
            va="center",
            fontsize=8,
            clip_on=True,
        )
    axes.set_xlim(times[0], max(times[-1], times[0] + 1e-9))
    axes.set_yticks([])
    axes.tick_params(labelsize=7)
    axes.set_title(name, fontsize=9, loc="left")
    return [float(edges[at]) for at in changes[1:-1]]


def _draw_panel(axes: Any, name: str, values: Array, meaning: str, times: Array) -> None:
    from matplotlib import colormaps

    count = values.shape[1]
    shown = np.unique(np.linspace(0, count - 1, min(count, _MOST_LINES)).round().astype(int))
    whole = np.issubdtype(values.dtype, np.integer) or values.dtype == np.bool_
    for k in shown:
        how = {"drawstyle": "steps-post"} if whole else {}
        color = f"C{k}" if count <= 10 else colormaps["tab20"](k % 20)
        axes.plot(times, values[:, k], linewidth=1.0, color=color, label=str(k), **how)
    axes.set_xlim(times[0], max(times[-1], times[0] + 1e-9))
    axes.margins(y=0.08)
    axes.grid(alpha=0.25, linewidth=0.5)
    axes.tick_params(labelsize=7)
    head = axes.set_title(name, fontsize=9, loc="left")
    more = f"{len(shown)} of {count} components; " if len(shown) < count else ""
    if more or meaning:
        text = shorten(more + meaning, 96, placeholder=" …")
        axes.annotate(
            text, (1.0, 0.5), xycoords=head, xytext=(6, 0), textcoords="offset points",
            va="center", fontsize=7, color="0.35",
        )  # fmt: skip
    if 1 < count <= 12:
        axes.legend(fontsize=6, ncol=1, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
