"""Encodes pictures into H.264 as they come; a file appears whole or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import imageio.v2 as imageio

from galley.viz.picture import Image

Append = Callable[[Image], None]
"""Takes the next picture (h, w, 3)."""


@contextlib.contextmanager
def encoded(path: Path, fps: float) -> Iterator[Append]:
    """A film that any player shows, its index at the front of the file.

    Written under another name and renamed at the end of the block; removed if that raises.

    Raises:
        RuntimeError: the encoder failed.
    """
    partial = path.with_name(f".{path.stem}.partial.mp4")
    try:
        with contextlib.closing(
            imageio.get_writer(
                str(partial),
                format="FFMPEG",
                mode="I",
                fps=fps,
                codec="libx264",
                pixelformat="yuv420p",
                quality=None,
                macro_block_size=1,
                ffmpeg_log_level="error",
                output_params=["-preset", "veryfast", "-crf", "20", "-movflags", "+faststart"],
            )
        ) as writer:
            yield writer.append_data
        os.replace(partial, path)
    except OSError as error:  # imageio's way of saying that ffmpeg has ended
        raise RuntimeError(f"the encoder failed: {error}") from error
    finally:
        partial.unlink(missing_ok=True)
