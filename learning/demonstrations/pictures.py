"""Film of an episode's pictures, and curves of its arrays over time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from textwrap import shorten

import numpy as np
from numpy.typing import NDArray
from PIL import Image as PilImage

from galley.domain.frames import Array
from galley.planar.film import film
from galley.viz.figures import figure_file
from galley.viz.film.captions import Caption, draw_caption
from galley.viz.render.view import Image

_COLUMNS = 2
_MOST_LINES = 24  # of a panel; an array with more has evenly spread ones


def film_pictures(
    pictures: Mapping[str, NDArray[np.uint8]],
    times: Array,
    texts: Sequence[str],
    path: Path | str,
    height: int = 480,
    speed: float = 1.0,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Film the pictures of all cameras side by side.

    Args:
        pictures: (T, h, w, 1 or 3), by name of the camera.
        times: (T,), s.
        texts: T captions, one for each picture.
        path: of the film, ``.mp4`` or ``.gif``.
        height: of the film, pixels; pictures are enlarged to it.
        speed: seconds of the episode per second of film.
        progress: called with (pictures done, total).

    Raises:
        RuntimeError, BadInput, OSError: as ``video.encoder``.
    """
    height = height // 2 * 2
    step = float(np.median(np.diff(times))) if len(times) > 1 else 1.0

    def draw(k: int) -> Image:
        row = [_enlarged(name, shots[k], height) for name, shots in pictures.items()]
        caption = Caption(texts[k], clock=f"{times[k]:.1f} s")
        return draw_caption(np.concatenate(row, axis=1), caption)

    film(path, speed / step, range(len(times)), draw, progress)


def _enlarged(name: str, picture: Image, height: int) -> Image:
    """A picture (h, w, 1 or 3) enlarged to a height without smoothing, with its name."""
    h, w = picture.shape[:2]
    image = PilImage.fromarray(np.broadcast_to(picture, (h, w, 3)).copy())
    size = (round(w * height / h / 2) * 2, height)
    return draw_caption(
        np.array(image.resize(size, PilImage.Resampling.NEAREST)), Caption(title=name)
    )


def draw_curves(
    arrays: Mapping[str, Array],
    meanings: Mapping[str, str],
    times: Array,
    title: str,
    path: Path | str,
) -> None:
    """Draw each array over time in a panel, as a PNG; the title names arrays that never change.

    Args:
        arrays: (T, ...), by name.
        meanings: of arrays, by name. A meaning may begin with the names of the components, as in
            "x, y, heading (m, rad)": the legend has them.
        times: (T,), s.
        title: of the figure.
        path: of the picture.

    Raises:
        BadInput: ``path`` can't be written.
    """
    moving = {name: a for name, a in arrays.items() if (a != a[0]).any()} or arrays
    still = ", ".join(name for name in arrays if name not in moving) or "nothing"
    rows = -(-len(moving) // _COLUMNS)
    with figure_file(path, (14.0, 1.6 + 2.0 * rows)) as figure:
        for k, (name, array) in enumerate(moving.items()):
            axes, values = figure.add_subplot(rows, _COLUMNS, k + 1), array.reshape(len(array), -1)
            count = values.shape[1]
            shown = np.unique(np.linspace(0, count - 1, min(count, _MOST_LINES)).astype(int))
            style = "default" if values.dtype.kind == "f" else "steps-post"
            meaning = meanings.get(name, "")
            names = meaning[: max(meaning.find(" ("), 0)].split(", ")
            if not 1 < len(names) == count:
                names = [str(column) for column in range(count)]
            for column in shown:
                axes.plot(times, values[:, column], lw=1.0, label=names[column], drawstyle=style)
            axes.grid(alpha=0.25, linewidth=0.5)
            axes.tick_params(labelsize=7)
            more = f"{len(shown)} of {count} components; " if len(shown) < count else ""
            about = shorten(more + meaning.removeprefix(", ".join(names)), 96, placeholder=" …")
            axes.set_title(f"{name}   {about}", fontsize=8, loc="left")
            if 1 < count <= 12:
                axes.legend(fontsize=6, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
        figure.supxlabel("time (s)", fontsize=8)
        figure.suptitle(f"{title}; unchanged: {still}", fontsize=11)
        figure.tight_layout()
