"""Films a log: its pictures drawn by several threads, and encoded into one H.264 file as they come.

The rasteriser lets Python's lock go while it draws: threads share what they read, and hand pictures
over without copying them.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from galley.domain.files import check_writable, written_whole
from galley.domain.log import Log
from galley.domain.scene.model import Scene
from galley.robots.model import RobotModel
from galley.viz.film.camera import film_cameras
from galley.viz.film.captions import Caption, draw_caption, film_captions
from galley.viz.film.frames import Frames, frame_times, sample
from galley.viz.render.renderer import Renderer
from galley.viz.render.view import Camera, Image

CHUNK = 24  # frames in a row that one worker draws: neighbours share most of their pixels
_AHEAD = 2  # chunks that each worker may be ahead of the encoder
_ENDING = ".mp4"  # of the unfinished file's name: the encoder chooses its format by it
_FAST = ["-preset", "superfast", "-x264-params", "mbtree=1:rc-lookahead=10"]
"""A third faster than ``veryfast`` with files a fifth larger; ``superfast`` alone doubles them."""

Progress = Callable[[int, int], None]
Append = Callable[[Image], None]
"""Takes the next picture (h, w, 3)."""


@dataclass(frozen=True)
class VideoInfo:
    """What was filmed.

    Attributes:
        path: the file. frames: number of pictures. fps: of film. duration_s: of film.
        seconds: how long filming took.
    """

    path: Path
    frames: int
    fps: float
    width: int
    height: int
    duration_s: float
    seconds: float


@dataclass(frozen=True)
class FilmJob:
    """Everything that a film's pictures depend on.

    Attributes:
        frames: what is shown, F frames. cameras: (F). captions: (F), or empty for none.
    """

    scene: Scene
    robot: RobotModel
    frames: Frames
    cameras: tuple[Camera, ...]
    captions: tuple[Caption, ...]
    width: int
    height: int

    @property
    def count(self) -> int:
        """Number of frames."""
        return len(self.frames.time)


def film(
    log: Log,
    scene: Scene,
    robot: RobotModel,
    path: Path | str,
    *,
    fps: float = 25.0,
    width: int = 1280,
    height: int = 720,
    speed: float = 1.0,
    title: str = "",
    hold: float = 1.0,
    camera: Camera | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> VideoInfo:
    """Film a run from beginning to end. The file appears whole or not at all.

    Args:
        log: the run.
        scene, robot: what it ran on.
        path: of the film, ending in ``.mp4``.
        fps: pictures a second of film.
        width, height: pixels, both even.
        speed: seconds of the run in a second of film; other than 1 is marked in the picture.
        title: at the top left, or empty.
        hold: seconds to stay on the last picture.
        camera: stays here for the whole film; None for a cameraman who follows the work.
        workers: threads that draw; None for one a core.
        progress: called with (pictures done, pictures in all).

    Raises:
        ValueError: an odd size, or a rate that is not positive.
        RuntimeError: the scene could not be drawn, or the encoder failed.
    """
    if width % 2 or height % 2 or width <= 0 or height <= 0:
        raise ValueError(f"H.264 needs even sides, got {width} x {height}")
    began = time.monotonic()
    path = Path(path)
    frames = sample(log, robot, frame_times(log, fps, speed, hold))
    lines = [str(line) for line in log.motions]
    cameras = (
        film_cameras(frames, lines, scene, robot, fps)
        if camera is None
        else (camera,) * len(frames.time)
    )
    words = film_captions(log, frames, robot, speed, title)
    job = FilmJob(scene, robot, frames, cameras, words, width, height)
    with contextlib.closing(drawn(job, workers)) as pictures, encoded(path, fps) as append:
        for k, picture in enumerate(pictures):
            append(picture)
            if progress is not None:
                progress(k + 1, job.count)
    spent = time.monotonic() - began
    return VideoInfo(path, job.count, fps, width, height, job.count / fps, spent)


def viewpoint(log: Log, scene: Scene, robot: RobotModel, fps: float = 25.0) -> Camera:
    """One camera from which a whole short run is seen well: where its film would begin."""
    frames = sample(log, robot, frame_times(log, fps, 1.0, 0.0))
    lines = [str(line) for line in log.motions]
    return film_cameras(frames, lines, scene, robot, fps)[0]


def drawn(job: FilmJob, workers: int | None = None) -> Generator[Image, None, None]:
    """All pictures (height, width, 3) of a film, in order. Close it to end early.

    Each worker has a renderer of its own and draws every so many chunks of the film, always the
    same ones: a film doesn't depend on which of them was faster.

    Args:
        job: what to draw.
        workers: threads; None for one a core that may be used, at most 4.

    Raises:
        RuntimeError: a worker raised; the message says what.
    """
    chunks = [range(s, min(s + CHUNK, job.count)) for s in range(0, job.count, CHUNK)]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    count = max(1, min(workers or min(cores, 4), len(chunks)))
    renderers: dict[int, Renderer] = {}
    given_up = threading.Event()

    def draw(worker: int, numbers: range) -> list[Image]:
        if worker not in renderers:
            renderers[worker] = Renderer(job.scene, job.robot, job.width, job.height)
        pictures = []
        for k in numbers:
            if given_up.is_set():
                break
            at = (job.frames.q[k], job.frames.scene_q[k], job.frames.items[k], job.cameras[k])
            picture = renderers[worker].render(*at)
            pictures.append(draw_caption(picture, job.captions[k]) if job.captions else picture)
        return pictures

    # A thread each, so that it is settled who draws what.
    pools = [ThreadPoolExecutor(1) for _ in range(count)]
    ahead = _AHEAD * count
    waiting: deque[Future[list[Image]]] = deque()
    try:
        for n in range(len(chunks) + ahead):
            if n < len(chunks):
                waiting.append(pools[n % count].submit(draw, n % count, chunks[n]))
            if n >= ahead:
                yield from _result(waiting.popleft())
    finally:
        given_up.set()
        for pool in pools:
            pool.shutdown(cancel_futures=True)


def _result(chunk: Future[list[Image]]) -> list[Image]:
    try:
        return chunk.result()
    except Exception as error:  # whatever it is
        raise RuntimeError(f"drawing failed: {type(error).__name__}: {error}") from error


@contextlib.contextmanager
def encoded(path: Path, fps: float) -> Iterator[Append]:
    """A film that any player shows, its index at the front of the file.

    Written under another name and renamed at the end of the block; removed if that raises.

    Raises:
        RuntimeError: the encoder failed.
        BadInput, OSError: ``path`` can't be written (``domain.files.write_fault``).
    """
    check_writable(path, _ENDING)  # ffmpeg would not say why
    with written_whole(path, _ENDING) as partial:
        try:
            with contextlib.closing(_writer(partial, fps)) as writer:
                yield writer.append_data
        except OSError as error:  # imageio's way of saying that ffmpeg has ended
            with open(partial, "ab") as probe:  # a full disk says so itself
                probe.write(bytes(1 << 16))
            # Beneath the first line stands ffmpeg's whole command.
            what = next(iter(str(error).splitlines()), "") or type(error).__name__
            raise RuntimeError(f"the encoder failed: {what}") from error


def _writer(path: Path, fps: float) -> Any:
    import imageio.v2 as imageio  # late: not every run is filmed

    return imageio.get_writer(
        str(path),
        format="FFMPEG",
        mode="I",
        fps=fps,
        codec="libx264",
        pixelformat="yuv420p",
        quality=None,
        macro_block_size=1,
        ffmpeg_log_level="error",
        output_params=[*_FAST, "-crf", "20", "-movflags", "+faststart"],
    )
