"""Films a log: several threads draw the pictures, an encoder writes them to an H.264 file.

The rasteriser releases Python's lock while it draws, so threads run in parallel and share data.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from PIL import Image as PilImage

from galley.domain.files import atomic_file
from galley.domain.log import Log
from galley.domain.scene.model import Scene
from galley.robots.model import RobotModel
from galley.viz.film.camera import film_cameras
from galley.viz.film.captions import Caption, draw_caption, film_captions
from galley.viz.film.frames import Frames, frame_times, resample
from galley.viz.render.renderer import Renderer
from galley.viz.render.view import Camera, Image

CHUNK = 24  # consecutive frames that one worker draws: neighbours share most of their pixels
_LOOKAHEAD = 2  # chunks that each worker may be ahead of the encoder
_SUFFIX = ".mp4"  # also of the partial file: the encoder chooses the format by it
_GIF = ".gif"
_ENCODER_OPTIONS = ["-preset", "superfast", "-x264-params", "mbtree=1:rc-lookahead=10"]
"""A third faster than ``veryfast``, files a fifth larger; ``superfast`` alone doubles them."""

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
    job = FilmJob(scene, robot, frames, cameras, captions, width, height)
    pictures = draw_frames(job, options.workers)
    with contextlib.closing(pictures), encoder(path, fps) as append:
        for k, picture in enumerate(pictures):
            append(picture)
            if progress is not None:
                progress(k + 1, job.count)
    elapsed = time.monotonic() - start
    return VideoInfo(path, job.count, fps, width, height, job.count / fps, elapsed)


def viewpoint(log: Log, scene: Scene, robot: RobotModel) -> Camera:
    """One camera that sees a whole short run well: the first of its film."""
    fps = 25.0
    frames = resample(log, robot, frame_times(log, fps, 1.0, 0.0))
    lines = [str(line) for line in log.motions]
    return film_cameras(frames, lines, scene, robot, fps)[0]


def draw_frames(job: FilmJob, workers: int | None = None) -> Generator[Image, None, None]:
    """Draw all pictures (height, width, 3) of a film, in order. Close the generator to end early.

    Until the first picture is taken nothing else is drawn: with it imageio starts ffmpeg by a fork,
    which ends OpenBLAS's threads, and a worker that multiplies matrices at that moment would wait
    for them forever.

    Args:
        job: what to draw.
        workers: threads; None: one per available core, at most 4.

    Raises:
        RuntimeError: a worker raised; the message says what.
    """
    chunks = [range(s, min(s + CHUNK, job.count)) for s in range(1, job.count, CHUNK)]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    count = max(1, min(workers or min(cores, 4), len(chunks)))
    mine, cancelled = threading.local(), threading.Event()

    def draw(numbers: range) -> list[Image]:
        if not hasattr(mine, "renderer"):
            size = (job.width, job.height)
            mine.renderer = Renderer(job.scene, job.robot, *size, staged=True)
        mine.renderer.forget()  # that what is drawn does not depend on who draws it
        return [_picture(job, mine.renderer, k) for k in numbers if not cancelled.is_set()]

    pending: deque[Future[list[Image]]] = deque()
    with ThreadPoolExecutor(count) as pool:
        try:
            yield from _result(pool.submit(draw, range(min(1, job.count))))
            for chunk in chunks:
                pending.append(pool.submit(draw, chunk))
                if len(pending) > _LOOKAHEAD * count:
                    yield from _result(pending.popleft())
            while pending:
                yield from _result(pending.popleft())
        finally:
            cancelled.set()


def _picture(job: FilmJob, renderer: Renderer, k: int) -> Image:
    """The k-th picture (height, width, 3)."""
    frames = job.frames
    state = (frames.q[k], frames.scene_q[k], frames.items[k])
    picture = renderer.render(*state, job.cameras[k])
    return draw_caption(picture, job.captions[k]) if job.captions else picture


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
    with atomic_file(path, suffix) as partial:
        try:
            with (_gif if suffix == _GIF else _h264)(partial, fps) as append:
                yield append
        except OSError as error:  # imageio raises it when ffmpeg has ended
            with open(partial, "ab") as probe:  # raises by itself if the disk is full
                probe.write(bytes(1 << 16))
            # The lines after the first repeat ffmpeg's command.
            what = next(iter(str(error).splitlines()), "") or type(error).__name__
            raise RuntimeError(f"the encoder failed: {what}") from error


def _check_readable(film: Path) -> None:
    """Raise OSError unless ffmpeg finds a whole film: imageio ignores how its encoder ended.

    The packets are read, not decoded, which takes milliseconds.
    """
    from imageio_ffmpeg import get_ffmpeg_exe

    command = [get_ffmpeg_exe(), "-v", "error", "-i", film, "-c", "copy", "-f", "null", "-"]
    read = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if read.returncode or read.stderr:
        raise OSError(f"the film is incomplete: {read.stderr.strip()}")


@contextlib.contextmanager
def _gif(path: Path, fps: float) -> Iterator[Append]:
    """By Pillow alone: imageio's writer writes again when it is collected, after a full disk."""
    pictures: list[PilImage.Image] = []
    palette = PilImage.Palette.ADAPTIVE  # as ``save`` chooses it, in a third of the memory
    yield lambda each: pictures.append(PilImage.fromarray(each).convert("P", palette=palette))
    first, *rest = pictures
    first.save(path, save_all=True, append_images=rest, duration=1e3 / fps, loop=0)


@contextlib.contextmanager
def _h264(path: Path, fps: float) -> Iterator[Append]:
    import imageio.v2 as imageio  # slow to import, and not every run is filmed

    writer = imageio.get_writer(
        str(path),
        format="FFMPEG",
        mode="I",
        fps=fps,
        codec="libx264",
        pixelformat="yuv420p",
        quality=None,
        macro_block_size=1,
        ffmpeg_log_level="quiet",
        output_params=[*_ENCODER_OPTIONS, "-crf", "20", "-movflags", "+faststart"],
    )
    with contextlib.closing(writer), warnings.catch_warnings():
        # JAX warns of the fork that starts ffmpeg; it runs another program at once.
        warnings.filterwarnings("ignore", r"os\.fork", RuntimeWarning)
        yield writer.append_data
    _check_readable(path)
