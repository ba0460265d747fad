"""Films two runs of one robot in one scene: each by itself, and both side by side.

Every picture is drawn once and used in two films. A line shows the path of the hand so far. Side by
side, both runs share one clock; the run that ends first stands still.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image as PilImage
from PIL import ImageDraw

from galley.domain.frames import Array
from galley.domain.log import Log
from galley.domain.scene.model import Scene
from galley.robots.model import RobotModel
from galley.viz.film.camera import grasp_centres
from galley.viz.film.captions import Caption, draw_caption, speed_badge
from galley.viz.film.frames import frame_times, resample
from galley.viz.film.video import FilmJob, FilmOptions, Progress, VideoInfo, draw_frames, encoder
from galley.viz.render.tags import Color
from galley.viz.render.view import Camera, Image

_HOLD = 1.5  # s for which the last picture stays
_SEAM = 2  # pixels to either side of the line between the halves
_SEAM_COLOR = 235
_OVERSAMPLE = 2  # traces are drawn larger by this factor, then reduced, for smooth edges
_TRACE_WIDTH = 1 / 150  # of the picture's height
_RIM: Color = (20, 24, 30)


@dataclass(frozen=True)
class FilmedRun:
    """One of the two runs.

    Attributes:
        log: the log of the run.
        path: the file for the film of this run alone.
        title: the name of the run, such as ``RRT``.
        note: a remark, such as ``path 6.73 rad``.
        color: the colour of the hand's trace: red, green, blue.
        warning: a warning, such as ``COLLIDES``, or empty.
    """

    log: Log
    path: Path
    title: str
    note: str
    color: Color
    warning: str = ""


def film_side_by_side(
    takes: tuple[FilmedRun, FilmedRun],
    scene: Scene,
    robot: RobotModel,
    path: Path | str,
    camera: Camera,
    options: FilmOptions,
    progress: Progress | None = None,
) -> VideoInfo:
    """Write three films in 16:9: one of each take, and one with the middle halves of both.

    Args:
        takes: the two runs.
        scene, robot: the scene and the robot of both runs.
        path: the file for the film with both runs side by side.
        camera: the camera of all films. The action should be in the middle half of its picture.
        options: only ``fps``, ``height`` and ``speed`` are used.
        progress: called with (pictures drawn, pictures to draw).

    Returns:
        The film with both runs side by side.

    Raises:
        ValueError: the height is odd or not positive.
        RuntimeError: the scene could not be drawn, or the encoder failed.
    """
    path = Path(path)
    fps, height, speed = options.fps, options.height, options.speed
    if height % 2 or height <= 0:
        raise ValueError(f"H.264 needs even sides, got a height of {height}")
    start = time.monotonic()
    width = height * 16 // 9 // 4 * 4  # its half must be even as well
    jobs = []
    for take in takes:
        frames = resample(take.log, robot, frame_times(take.log, fps, speed))
        cameras = (camera,) * len(frames.time)
        jobs.append(FilmJob(scene, robot, frames, cameras, (), width, height))
    still, badge = round(_HOLD * fps), speed_badge(speed)
    longer = max(jobs, key=lambda job: job.count)
    count, total = longer.count + still, sum(job.count for job in jobs)
    traces = [grasp_centres(robot, job.frames.q) for job in jobs]
    with contextlib.ExitStack() as stack:
        sources = [
            stack.enter_context(contextlib.closing(draw_frames(job, None if job is longer else 1)))
            for job in jobs
        ]
        alone = [stack.enter_context(encoder(take.path, fps)) for take in takes]
        both = stack.enter_context(encoder(path, fps))
        pictures: list[Image] = [np.zeros((2, 4, 3), dtype=np.uint8)] * 2
        done = 0
        # After the last picture of a run, its picture stays until the film with both ends.
        for k in range(count):
            halves = []
            for i, (take, job) in enumerate(zip(takes, jobs, strict=True)):
                if k < job.count:
                    picture, done = next(sources[i]), done + 1
                    trace = traces[i][: k + 1]
                    pictures[i] = draw_trace(picture, trace, job.cameras[k], take.color)
                clock = _clock(job, k)
                if k < job.count + still:
                    title = f"{take.title}: {take.note}"
                    caption = Caption(take.warning, "", clock, badge, title)
                    alone[i](draw_caption(pictures[i], caption))
                caption = Caption(take.note, take.warning, clock, badge if i else "", take.title)
                halves.append(draw_caption(middle(pictures[i]), caption))
            both(joined(halves[0], halves[1]))
            if progress is not None:
                progress(done, total)
    elapsed = time.monotonic() - start
    return VideoInfo(path, count, fps, width, height, count / fps, elapsed)


def _clock(job: FilmJob, k: int) -> str:
    """The text of the clock in picture ``k``: the current time, or the duration of the run."""
    t = job.frames.time - job.frames.time[0]
    if k < job.count - 1:
        return f"{t[k]:.1f} s"
    return f"done after {t[-1]:.2f} s"


def middle(picture: Image) -> Image:
    """The middle half (h, w / 2, 3) of a picture (h, w, 3)."""
    quarter = picture.shape[1] // 4
    return picture[:, quarter : quarter + picture.shape[1] // 2]


def joined(left: Image, right: Image) -> Image:
    """Two pictures of one size side by side, with a line between them."""
    both = np.concatenate([left, right], axis=1)
    seam = left.shape[1]
    both[:, seam - _SEAM : seam + _SEAM] = _SEAM_COLOR
    return both


def draw_trace(picture: Image, points: Array, camera: Camera, color: Color) -> Image:
    """A copy of a picture (h, w, 3) with a line through points (k, 3), world frame, metres.

    The line is drawn over everything else in the picture.
    """
    height, width = picture.shape[:2]
    pixels, _ = camera.project(points, width, height)
    pixels = pixels[np.isfinite(pixels).all(axis=1)]
    if len(pixels) < 2:
        return picture
    # Drawn larger, then reduced, for smooth edges.
    size = (_OVERSAMPLE * width, _OVERSAMPLE * height)
    line, thick = [tuple(p) for p in _OVERSAMPLE * pixels], max(2.0, _TRACE_WIDTH * height)
    drawn = PilImage.fromarray(picture)
    for shade, broad in ((_RIM, 1.7 * thick), (color, thick)):
        mask = PilImage.new("L", size)
        ImageDraw.Draw(mask).line(line, fill=255, width=round(_OVERSAMPLE * broad), joint="curve")
        drawn.paste(shade, (0, 0), mask.resize((width, height), PilImage.Resampling.BOX))
    return np.asarray(drawn)
