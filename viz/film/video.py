"""Films a log: several threads draw the pictures, an encoder writes them to an H.264 file.

The rasteriser releases Python's lock while it draws, so threads run in parallel and share data.
"""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import IO

import numpy as np
from PIL import Image as PilImage

from galley.domain.files import atomic_file
from galley.domain.log import Log
from galley.domain.scene.model import Scene
from galley.robots.model import RobotModel
from galley.viz.film.camera import film_cameras
from galley.viz.film.captions import Caption, draw_caption, film_captions
from galley.viz.film.frames import Frames, frame_times, resample
from galley.viz.film.inset import Inset, draw_inset, film_insets
from galley.viz.render.renderer import Renderer
from galley.viz.render.view import Camera, Image

CHUNK = 24  # consecutive frames that one worker draws: neighbours share most of their pixels
_LOOKAHEAD = 2  # chunks that each worker may be ahead of the encoder
_SUFFIX = ".mp4"  # also of the partial file: the encoder chooses the format by it
_GIF = ".gif"
_ENCODER_OPTIONS = ["-vcodec", "libx264", "-pix_fmt", "yuv420p", "-preset", "superfast"]
_ENCODER_OPTIONS += ["-x264-params", "mbtree=1:rc-lookahead=10", "-crf", "20"]
_ENCODER_OPTIONS += ["-movflags", "+faststart"]
"""A third faster than ``veryfast``, files a fifth larger; ``superfast`` alone doubles them."""
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors that ffmpeg tells of in words only, as ``os.strerror`` does."""

Progress = Callable[[int, int], None]
Append = Callable[[Image], None]
"""Takes the next picture (h, w, 3)."""


@dataclass(frozen=True)
class VideoInfo:
    """A finished film.

    Attributes:
        path: the file. frames: number of pictures. fps: pictures per second of film.
        width, height: pixels. duration_s: of the film. seconds: how long filming took.
    """

    path: Path
    frames: int
    fps: float
    width: int
    height: int
    duration_s: float
    seconds: float


@dataclass(frozen=True)
class FilmOptions:
    """How a run is filmed.

    Attributes:
        fps: pictures per second of film.
        width, height: pixels, both even.
        speed: seconds of the run per second of film; other than 1 is marked in the picture.
        title: at the top left, or empty.
        hold: seconds to stay on the last picture.
        camera: fixed for the whole film; None: it follows the work.
        workers: threads that draw; None: one per core.
    """

    fps: float = 25.0
    width: int = 1280
    height: int = 720
    speed: float = 1.0
    title: str = ""
    hold: float = 1.0
    camera: Camera | None = None
    workers: int | None = None


@dataclass(frozen=True)
class FilmJob:
    """Everything that a film's pictures depend on.

    Attributes:
        frames: what is shown, F frames. cameras: (F). captions: (F), or empty for none.
        insets: close-ups of the hand (F), or empty for none.
    """

    scene: Scene
    robot: RobotModel
    frames: Frames
    cameras: tuple[Camera, ...]
    captions: tuple[Caption, ...]
    width: int
    height: int
    insets: tuple[Inset | None, ...] = ()

    @property
    def count(self) -> int:
        """Number of frames."""
        return len(self.frames.time)


def film(
    log: Log,
    scene: Scene,
    robot: RobotModel,
    path: Path | str,
    options: FilmOptions | None = None,
    progress: Progress | None = None,
    plans: Sequence[Sequence[str]] = (),
) -> VideoInfo:
    """Film a run from beginning to end. The file appears whole or not at all.

    Args:
        log: the run.
        scene, robot: what it ran on.
        path: of the film, ending in ``.mp4``.
        options: size, speed and so on; the defaults of ``FilmOptions`` if omitted.
        progress: called with (pictures done, total number of pictures).
        plans: the actions of the plan and of each recovery's, to number them by
            (``captions.action_captions``); without them, only those with motions are counted.

    Raises:
        ValueError: an odd size, or a rate that is not positive.
        RuntimeError: the scene could not be drawn, or the encoder failed.
    """
    options = options or FilmOptions()
    width, height, fps, speed = options.width, options.height, options.fps, options.speed
    if width % 2 or height % 2 or width <= 0 or height <= 0:
        raise ValueError(f"H.264 needs even sides, got {width} x {height}")
    start = time.monotonic()
    path = Path(path)
    frames = resample(log, robot, frame_times(log, fps, speed, options.hold))
    if options.camera is None:
        lines = [str(line) for line in log.motions]
        cameras = film_cameras(frames, lines, scene, robot, fps)
    else:
        cameras = (options.camera,) * len(frames.time)
    captions = film_captions(log, frames, scene, robot, speed, options.title, plans)
    lines = [str(line) for line in log.motions]
    insets = film_insets(frames, lines, cameras, scene, robot, fps, width, height)
    job = FilmJob(scene, robot, frames, cameras, captions, width, height, insets)
    pictures = draw_frames(job, options.workers)
    with contextlib.closing(pictures), encoder(path, fps) as append:
        for k, picture in enumerate(pictures):
            append(picture)
            if progress is not None:
                progress(k + 1, job.count)
    elapsed = time.monotonic() - start
    return VideoInfo(path, job.count, fps, width, height, job.count / fps, elapsed)


def viewpoint(log: Log, scene: Scene, robot: RobotModel, fps: float = 25.0) -> Camera:
    """One camera that sees a whole short run well: the first of its film."""
    frames = resample(log, robot, frame_times(log, fps, 1.0, 0.0))
    lines = [str(line) for line in log.motions]
    return film_cameras(frames, lines, scene, robot, fps)[0]


def draw_frames(job: FilmJob, workers: int | None = None) -> Generator[Image, None, None]:
    """Draw all pictures (height, width, 3) of a film, in order. Close the generator to end early.

    Each worker has its own renderer and always draws the same chunks of the film, so the result
    does not depend on which worker is faster. Until the first picture is taken nothing else is
    drawn: with it ffmpeg may be started by a fork, which ends OpenBLAS's threads, and a worker that
    multiplies matrices at that moment would wait for them forever.

    Args:
        job: what to draw.
        workers: threads; None: one per available core, at most 4.

    Raises:
        RuntimeError: a worker raised; the message says what.
    """
    chunks = [range(s, min(s + CHUNK, job.count)) for s in range(1, job.count, CHUNK)]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    count = max(1, min(workers or min(cores, 4), len(chunks)))
    renderers: dict[int, Renderer] = {}
    close_ups: dict[int, Renderer] = {}
    cancelled = threading.Event()

    def draw(worker: int, numbers: range) -> list[Image]:
        if worker not in renderers:
            renderers[worker] = Renderer(job.scene, job.robot, job.width, job.height, staged=True)
        pictures = []
        for k in numbers:
            if cancelled.is_set():
                break
            state = (job.frames.q[k], job.frames.scene_q[k], job.frames.items[k])
            picture = renderers[worker].render(*state, job.cameras[k])
            inset = job.insets[k] if job.insets else None
            if inset is not None:
                if worker not in close_ups:
                    size = (inset.width, inset.height)
                    close_ups[worker] = Renderer(job.scene, job.robot, *size, staged=True)
                close = close_ups[worker].render(*state, inset.camera)
                picture = draw_inset(picture, inset, close)
            pictures.append(draw_caption(picture, job.captions[k]) if job.captions else picture)
        return pictures

    # One thread per pool: each renderer belongs to one thread.
    pools = [ThreadPoolExecutor(1) for _ in range(count)]
    lookahead = _LOOKAHEAD * count
    pending: deque[Future[list[Image]]] = deque()
    try:
        yield from _result(pools[0].submit(draw, 0, range(min(1, job.count))))
        for n in range(len(chunks) + lookahead):
            if n < len(chunks):
                pending.append(pools[n % count].submit(draw, n % count, chunks[n]))
            if n >= lookahead:
                yield from _result(pending.popleft())
    finally:
        cancelled.set()
        for pool in pools:
            pool.shutdown(cancel_futures=True)


def _result(chunk: Future[list[Image]]) -> list[Image]:
    try:
        return chunk.result()
    except Exception as error:
        raise RuntimeError(f"drawing failed: {type(error).__name__}: {error}") from error


@contextlib.contextmanager
def encoder(path: Path | str, fps: float) -> Iterator[Append]:
    """Encode a film; yields the function that takes the next picture.

    An H.264 file, index at the front, or an animated GIF where ``path`` ends in ``.gif``. It is
    written under another name and renamed at the end of the block; if the block raises, it is
    removed.

    Raises:
        RuntimeError: the encoder failed.
        BadInput, OSError: ``path`` can't be written (``domain.files.write_fault``).
    """
    path = Path(path)
    suffix = _GIF if path.suffix.lower() == _GIF else _SUFFIX
    write = _gif if suffix == _GIF else _h264
    with atomic_file(path, suffix) as partial, write(partial, fps) as append:
        yield append


@contextlib.contextmanager
def _gif(path: Path, fps: float) -> Iterator[Append]:
    pictures: list[PilImage.Image] = []
    yield lambda picture: pictures.append(PilImage.fromarray(picture))
    first, *rest = pictures
    first.save(path, save_all=True, append_images=rest, duration=1e3 / fps, loop=0)


@contextlib.contextmanager
def _h264(path: Path, fps: float) -> Iterator[Append]:
    """Encode by ffmpeg, which starts with the first picture; a film counts if it ends well."""
    ffmpeg: subprocess.Popen[bytes] | None = None

    def append(picture: Image) -> None:
        nonlocal ffmpeg
        if ffmpeg is None:
            ffmpeg = _ffmpeg(path, fps, picture, said)
        assert ffmpeg.stdin is not None
        try:
            ffmpeg.stdin.write(np.ascontiguousarray(picture, dtype=np.uint8).data)
        except BrokenPipeError:
            _end(ffmpeg, said)

    with tempfile.TemporaryFile() as said:
        try:
            yield append
            if ffmpeg is not None:
                _end(ffmpeg, said)
        finally:
            if ffmpeg is not None:
                ffmpeg.kill()
                ffmpeg.communicate()


def _end(ffmpeg: subprocess.Popen[bytes], said: IO[bytes]) -> None:
    """Close its input, wait, and raise if it could not write the film to its end."""
    ffmpeg.communicate()
    if ffmpeg.returncode == 0:
        return
    said.seek(0)
    text = said.read().decode(errors="replace").strip()
    for number in _NO_ROOM:
        if os.strerror(number) in text:
            raise OSError(number, os.strerror(number))
    what = text.partition("\n")[0].rpartition("] ")[2]  # behind the part of ffmpeg that says it
    raise RuntimeError(f"the encoder failed: {what or f'status {ffmpeg.returncode}'}")


def _ffmpeg(path: Path, fps: float, picture: Image, said: IO[bytes]) -> subprocess.Popen[bytes]:
    """A process that encodes pictures like this one; in a group of its own, for Ctrl-C is ours."""
    from imageio_ffmpeg import get_ffmpeg_exe

    height, width, _ = picture.shape
    rate = str(Fraction(fps).limit_denominator())
    command = [get_ffmpeg_exe(), "-y", "-v", "error", "-f", "rawvideo", "-pix_fmt", "rgb24"]
    command += ["-s", f"{width}x{height}", "-r", rate, "-i", "-", *_ENCODER_OPTIONS, str(path)]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stderr=said, process_group=0, restore_signals=False
    )
