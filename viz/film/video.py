"""Films a log: several threads draw the pictures, an encoder writes them to an H.264 file.

The rasteriser releases Python's global lock while it draws, so the threads run in parallel. They
share the meshes.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image as PilImage

from galley.domain.files import atomic_file
from galley.domain.frames import Array
from galley.domain.log import Log
from galley.domain.scene.model import Scene
from galley.robots.model import RobotModel
from galley.viz.film.camera import (
    acting,
    film_cameras,
    grasp_centres,
    hand_poses,
    link_origins,
    smoothed,
)
from galley.viz.film.captions import Caption, Plans, caption_height, draw_caption, film_captions
from galley.viz.film.frames import Frames, frame_times, resample
from galley.viz.render.renderer import Renderer
from galley.viz.render.view import Camera, Image, furniture_boxes, unit_vector, visible_from

CHUNK = 24  # consecutive frames that one worker draws, as neighbours share most of their pixels
_LOOKAHEAD = 2  # chunks that each worker may be ahead of the encoder
_SUFFIX = ".mp4"  # the partial file has it, too: the encoder chooses the format by the suffix
_GIF = ".gif"
_ENCODER_OPTIONS = ["-preset", "superfast", "-x264-params", "mbtree=1:rc-lookahead=10"]
"""A third faster than ``veryfast``, with files a fifth larger; ``superfast`` alone doubles them."""

DISTANCE = 0.65  # m from camera to hand
# The directions from the hand to the camera that are tried, rad.
_AZIMUTH = np.radians(np.tile(np.arange(-180.0, 180.0, 15.0), 5))
_ELEVATION = np.radians(np.repeat([5.0, 15.0, 25.0, 38.0, 52.0], 24))
_ROOM = 0.06  # m that the camera keeps from furniture
_FOV = float(np.radians(34.0))
_SAMPLES = 8  # frames that decide on a direction and on a corner
_VIEW = 2.5  # s of film after which the close-up may be from another direction
_AROUND = 1.0  # s of film before and after a contact for which the inset is shown
_FADE = 0.4  # s of film before and after that in which the inset fades
_GAP = 3.5  # s of film, the longest gap between two contacts in which the inset stays
_CALM = 0.6  # s of film over which the position of the hand is averaged
# Of the inset: its share of the picture's height, and its width over its height.
_HEIGHT, _SHAPE = 0.36, 4 / 3
_RIM = (240, 240, 240)
Progress = Callable[[int, int], None]
Append = Callable[[Image], None]
"""A function that takes the next picture (h, w, 3) of a film."""


@dataclass(frozen=True)
class VideoInfo:
    """A finished film.

    Attributes:
        path: the file of the film.
        frames: number of pictures.
        fps: pictures per second of film.
        width, height: the size of the pictures, pixels.
        duration_s: the duration of the film, s.
        seconds: the time that filming took, s.
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
        width, height: the size of the pictures, pixels; both even.
        speed: seconds of the run per second of film. A speed other than 1 is shown in the picture.
        title: the text at the top left, or empty.
        hold: seconds of film for which the last picture stays.
        camera: a fixed camera for the whole film; None: the camera follows the action.
        workers: threads that draw; None: one per core, at most 4.
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
class Inset:
    """The close-up of the hand in one picture.

    Attributes:
        camera: the camera of the close-up.
        left, top: the position of its top left corner in the picture, pixels.
        width, height: its size, pixels.
        opacity: in (0, 1]; with 1 the picture behind it is hidden.
    """

    camera: Camera
    left: int
    top: int
    width: int
    height: int
    opacity: float


@dataclass(frozen=True)
class FilmJob:
    """Everything that the pictures of a film depend on.

    Attributes:
        scene, robot: what to draw.
        frames: the states in the F pictures.
        cameras: a camera for each picture.
        captions: a caption for each picture, or empty for no captions.
        width, height: the size of the pictures, pixels.
        insets: for each picture a close-up of the hand or None, or empty for no close-ups.
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
        """The number of frames of the film."""
        return len(self.frames.time)


def film(
    log: Log,
    scene: Scene,
    robot: RobotModel,
    path: Path | str,
    options: FilmOptions | None = None,
    progress: Progress | None = None,
    plans: Plans = (),
) -> VideoInfo:
    """Film a run from beginning to end. The file appears whole or not at all.

    Args:
        log: the log of the run.
        scene, robot: the scene and the robot of the run.
        path: the file for the film, ending in ``.mp4`` or ``.gif``.
        options: size, speed and so on; the defaults of ``FilmOptions`` if omitted.
        progress: called with (pictures done, total number of pictures).
        plans: the actions of the plan and of each recovery's plan, which number the actions (see
            ``captions.action_captions``). Without them, only actions with motions are counted.

    Raises:
        ValueError: a side is odd or not positive, ``fps`` or ``speed`` is not positive, or
            ``hold`` is negative.
        RuntimeError: the scene could not be drawn, or the encoder failed.
    """
    options = options or FilmOptions()
    width, height, fps, speed = options.width, options.height, options.fps, options.speed
    if width % 2 or height % 2 or width <= 0 or height <= 0:
        raise ValueError(f"H.264 needs even sides, got {width} x {height}")
    start = time.monotonic()
    path = Path(path)
    frames = resample(log, robot, frame_times(log, fps, speed, options.hold))
    lines = [str(line) for line in log.motions]
    if options.camera is None:
        cameras = film_cameras(frames, lines, scene, robot, fps)
    else:
        cameras = (options.camera,) * len(frames.time)
    captions = film_captions(log, frames, scene, robot, speed, plans)
    titled = tuple(replace(caption, title=options.title) for caption in captions)
    job = FilmJob(scene, robot, frames, cameras, titled, width, height)
    pictures = draw_frames(replace(job, insets=film_insets(log, job, fps)), options.workers)
    with contextlib.closing(pictures), encoder(path, fps) as append:
        for k, picture in enumerate(pictures):
            append(picture)
            if progress is not None:
                progress(k + 1, job.count)
    elapsed = time.monotonic() - start
    return VideoInfo(path, job.count, fps, width, height, job.count / fps, elapsed)


def viewpoint(log: Log, scene: Scene, robot: RobotModel) -> Camera:
    """One camera for a whole short run: the first camera of its film."""
    fps = 25.0
    frames = resample(log, robot, frame_times(log, fps, 1.0, 0.0))
    lines = [str(line) for line in log.motions]
    return film_cameras(frames, lines, scene, robot, fps)[0]


def draw_frames(job: FilmJob, workers: int | None = None) -> Generator[Image, None, None]:
    """Draw all pictures (height, width, 3) of a film, in order. Close the generator to end early.

    Other pictures are drawn only after the caller has taken the first one. With the first picture
    imageio starts ffmpeg by a fork, which ends OpenBLAS's threads. A worker that multiplies
    matrices at that moment would wait for those threads forever.

    Args:
        job: what to draw.
        workers: threads; None: one per available core, at most 4.

    Raises:
        RuntimeError: drawing failed; the message has the worker's error.
    """
    chunks = [range(s, min(s + CHUNK, job.count)) for s in range(1, job.count, CHUNK)]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    count = max(1, min(workers or min(cores, 4), len(chunks)))
    mine, cancelled = threading.local(), threading.Event()

    def draw(numbers: range) -> list[Image]:
        """The pictures with these numbers, drawn by the thread's own renderer."""
        if not hasattr(mine, "renderer"):
            size = (job.width, job.height)
            mine.renderer = Renderer(job.scene, job.robot, *size, staged=True)
        mine.renderer.forget()  # so that pictures don't depend on which thread draws them
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
    """Picture ``k`` (height, width, 3), with its close-up and its caption."""
    frames, inset = job.frames, job.insets[k] if job.insets else None
    state = (frames.q[k], frames.scene_q[k], frames.items[k])
    picture = renderer.render(*state, job.cameras[k])
    if inset is not None:
        close = renderer.close_up(inset.camera, inset.width, inset.height)
        picture = draw_inset(picture, inset, close)
    return draw_caption(picture, job.captions[k]) if job.captions else picture


def _result(chunk: Future[list[Image]]) -> list[Image]:
    """Wait for a worker's pictures, and turn its error into a RuntimeError."""
    try:
        return chunk.result()
    except Exception as error:
        raise RuntimeError(f"drawing failed: {type(error).__name__}: {error}") from error


@contextlib.contextmanager
def encoder(path: Path | str, fps: float) -> Iterator[Append]:
    """Encode a film; yields the function that takes the next picture.

    The film is an H.264 file with the index at the front, or an animated GIF if ``path`` ends in
    ``.gif``. It is written under another name and renamed at the end of the block. If the block
    raises, the file is removed.

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
            cause = next(iter(str(error).splitlines()), "") or type(error).__name__
            raise RuntimeError(f"the encoder failed: {cause}") from error


def _check_readable(film: Path) -> None:
    """Raise OSError if the film is incomplete: imageio ignores the exit status of its encoder.

    ffmpeg reads the packets but doesn't decode them, which takes milliseconds.
    """
    from imageio_ffmpeg import get_ffmpeg_exe

    command = [get_ffmpeg_exe(), "-v", "error", "-i", film, "-c", "copy", "-f", "null", "-"]
    read = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if read.returncode or read.stderr:
        raise OSError(f"the film is incomplete: {read.stderr.strip()}")


@contextlib.contextmanager
def _gif(path: Path, fps: float) -> Iterator[Append]:
    """Write a GIF with Pillow: on a full disk, imageio's writer writes again when collected."""
    pictures: list[PilImage.Image] = []
    palette = PilImage.Palette.ADAPTIVE  # as ``save`` chooses it, in a third of the memory
    yield lambda image: pictures.append(PilImage.fromarray(image).convert("P", palette=palette))
    first, *rest = pictures
    first.save(path, save_all=True, append_images=rest, duration=1e3 / fps, loop=0)


@contextlib.contextmanager
def _h264(path: Path, fps: float) -> Iterator[Append]:
    """Write an H.264 file with imageio, and check that it is complete."""
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
        # JAX warns of the fork that starts ffmpeg. The child runs another program at once: no harm.
        warnings.filterwarnings("ignore", r"os\.fork", RuntimeWarning)
        yield writer.append_data
    _check_readable(path)


def film_insets(log: Log, job: FilmJob, fps: float) -> tuple[Inset | None, ...]:
    """The inset of each frame, or None.

    An inset is shown while the hand, or the held item, is in contact with something else. Contacts
    that are close in time share an inset: an episode. It stays in one corner and fades in and out.
    The direction of its camera may change every few seconds.

    Args:
        log: the log of the run, with contacts.
        job: the film without insets.
        fps: pictures per second of film.
    """
    scene, robot, frames, size = job.scene, job.robot, job.frames, (job.width, job.height)
    times = log.time[log.contact_step[_touches(log, scene, robot)]]
    on = np.unique(np.searchsorted(frames.time, times).clip(max=len(frames.time) - 1))
    insets: list[Inset | None] = [None] * len(frames.motion)
    episodes = np.split(on, np.flatnonzero(np.diff(on) > _GAP * fps) + 1) if len(on) else []
    fade = max(1, round(_FADE * fps))
    around = round(_AROUND * fps)
    for hits in episodes:
        first, last = max(int(hits[0]) - around, 0), min(int(hits[-1]) + around, len(insets) - 1)
        rows = np.arange(max(first - fade, 0), min(last + fade + 1, len(insets)))
        centres = grasp_centres(robot, frames.q[rows])
        hands = smoothed(centres, max(1, round(_CALM * fps))).round(3)
        chosen = np.unique(np.linspace(first, last, _SAMPLES).round().astype(int))
        seen = [job.cameras[k].project(centres[[k - rows[0]]], *size)[0] for k in chosen]
        left, top = _corner(np.concatenate(seen), *size)
        direction = np.zeros(3)
        for part in np.array_split(rows, max(1, round(len(rows) / (_VIEW * fps)))):
            samples = np.unique(np.linspace(part[0], part[-1], _SAMPLES).round().astype(int))
            direction = _best_direction(frames, samples, scene, robot, direction)
            for k in part.tolist():
                away, hand = max(first - k, k - last, 0) / (fade + 1), hands[k - rows[0]]
                camera = Camera(hand + DISTANCE * direction, hand, _FOV)
                insets[k] = Inset(camera, left, top, *inset_size(job.height), 1.0 - away)
    return tuple(insets)


def _touches(log: Log, scene: Scene, robot: RobotModel) -> NDArray[np.bool_]:
    """Which contacts of a log (c,) are between the hand, or an item in it, and something else.

    Contacts with other parts of the robot don't count.
    """
    items = np.array([*(item.name for item in scene.items), ""])  # the last one: no item is held
    pairs, held = log.names[log.contact_pair], items[log.holds[log.contact_step]]  # (c, 2), (c, h)
    hands = [name for hand in robot.hands for name in (*hand.fingers, hand.palm)]
    own = np.isin(pairs, hands) | (pairs[:, :, None] == held[:, None]).any(axis=2)
    others = ~own & ~np.isin(pairs, robot.links)
    return np.asarray(own.any(axis=1) & others.any(axis=1))


def inset_size(height: int) -> tuple[int, int]:
    """The width and the height of the inset, pixels, in a picture of this height."""
    return round(_SHAPE * _HEIGHT * height), round(_HEIGHT * height)


def draw_inset(picture: Image, inset: Inset, close: Image) -> Image:
    """A copy of a picture (h, w, 3) with the close-up and the frame around it."""
    drawn = picture.copy()
    rim = max(1, round(inset.height / 120))
    framed = np.full((inset.height + 2 * rim, inset.width + 2 * rim, 3), _RIM, np.uint8)
    framed[rim:-rim, rim:-rim] = draw_caption(
        close, Caption(title="hand, close-up" if inset.height > 160 else "hand")
    )
    top, left = max(inset.top - rim, 0), max(inset.left - rim, 0)
    part = drawn[top : top + len(framed), left : left + framed.shape[1]]
    framed = framed[: part.shape[0], : part.shape[1]]
    # Blend with whole numbers: 256 is opaque, and 255 times 256 fits into 16 bits.
    share = np.uint16(round(256 * inset.opacity))
    part[:] = (part * (256 - share) + framed * share) >> 8
    return drawn


def _best_direction(
    frames: Frames, chosen: Array, scene: Scene, robot: RobotModel, before: Array
) -> Array:
    """The direction (3,) from the hand to the camera that shows the hand best in chosen frames.

    In the best direction nothing hides the hand, the camera sees the palm's broad side, so that
    both fingers and the item between them are visible, and it looks down a little. The direction
    ``before`` (3,) is kept if it is nearly as good.
    """
    directions = unit_vector(_AZIMUTH, _ELEVATION)
    merit = len(chosen) * (directions @ before - 0.5 * np.abs(_ELEVATION - np.radians(20.0)))
    robots = acting(robot, frames.q)
    for k, q in zip(chosen, frames.q[chosen], strict=True):
        robot = replace(robots[k], views={})
        hand, X_WH = grasp_centres(robot, q[None])[0], hand_poses(robot, q[None])[0]
        origins = link_origins(robot, q)
        eyes, room = hand + DISTANCE * directions, furniture_boxes(scene, frames.scene_q[k])
        merit += 2.0 * visible_from(eyes, hand, room, origins)
        merit -= 3.0 * (room.distance(eyes) < _ROOM)
        # From the side of the fingertips: from behind, the hand itself hides them.
        # Across the motion of the fingers, which is along y of the hand.
        merit -= np.abs(directions @ X_WH[:3, 1])
        merit -= 1.5 * np.maximum(-directions @ X_WH[:3, 2] - 0.3, 0.0)
    return np.asarray(directions[int(merit.argmax())])


def _corner(hands: Array, width: int, height: int) -> tuple[int, int]:
    """Left and top of the inset, pixels: the corner that is farthest from the hand.

    ``hands`` are the pixels (k, 2) of the hand in sample frames.
    """
    bar, (across, down) = caption_height(height), inset_size(height)
    margin, high = round(0.45 * bar), round(1.4 * bar)  # under the tags
    right, low = width - margin - across, height - 2 * bar - margin - down
    corners = np.array([[right, high], [margin, high], [right, low], [margin, low]]).clip(0)
    middles = corners + 0.5 * np.array([across, down])
    away = np.linalg.norm(np.nan_to_num(hands)[:, None] - middles, axis=2).min(axis=0)
    left, top = corners[int(away.argmax())]
    return int(left), int(top)
