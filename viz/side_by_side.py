"""Films two runs of the same robot in one scene: each by itself, and both side by side.

Every picture is drawn once, by two crews that work at the same time, and goes into two films. Side
by side both run on one clock; the one that is done stands still.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from galley.domain.frames import Array
from galley.domain.log import Log
from galley.domain.scene import Scene
from galley.robots.kinematics import hand_pose
from galley.robots.model import RobotModel
from galley.viz.caption_drawing import Color, draw_caption
from galley.viz.captions import Caption, speed_badge
from galley.viz.encoder import encoded
from galley.viz.film_crew import CrewError, FilmCrew
from galley.viz.film_job import FilmJob
from galley.viz.frames import frame_times, sample
from galley.viz.picture import Image
from galley.viz.renderer import choose_renderer
from galley.viz.trace import draw_trace
from galley.viz.video import Progress, VideoInfo
from galley.viz.view import Camera

logger = logging.getLogger(__name__)
_SEAM = 2  # pixels on either side of the line between the halves
_SEAM_COLOR = 235


@dataclass(frozen=True)
class Take:
    """One of the two runs.

    Attributes:
        log: the run. path: of the film of this run alone.
        title: such as ``RRT``. note: such as ``path 6.73 rad``.
        color: red, green, blue, of the track that the hand leaves.
        warning: such as ``COLLIDES``, or empty.
    """

    log: Log
    path: Path
    title: str
    note: str
    color: Color
    warning: str = ""


def film_side_by_side(
    takes: tuple[Take, Take],
    scene: Scene,
    robot: RobotModel,
    path: Path,
    camera: Camera,
    *,
    fps: float = 20.0,
    height: int = 720,
    speed: float = 1.0,
    hold: float = 1.5,
    renderer: str = "raster",
    workers: int | None = None,
    progress: Progress | None = None,
) -> VideoInfo:
    """Write three films of 16:9: each take's own, and ``path`` with the middle of both.

    Args:
        camera: for all of them; what matters should lie in the middle half of its picture.
        fps: pictures a second of film. height: pixels, even.
        speed: seconds of the runs in a second of film; other than 1 is marked in the picture.
        hold: seconds to stay on the last picture.
        renderer: preferred one, see ``open_renderer``.
        workers: processes that draw the longer take, the other has one; None for one a core.
        progress: called with (pictures drawn, pictures to draw).

    Returns:
        What was filmed side by side.

    Raises:
        RuntimeError: no renderer could draw the scene, or the encoder failed.
    """
    if height % 2 or height <= 0:
        raise ValueError(f"H.264 needs even sides, got a height of {height}")
    began = time.monotonic()
    width = height * 16 // 9 // 4 * 4  # so that half of it is even as well
    name, reason = choose_renderer(renderer)
    jobs = []
    for take in takes:
        frames = sample(take.log, robot, frame_times(take.log, fps, speed))
        cameras = (camera,) * len(frames.time)
        jobs.append(FilmJob(scene, robot, frames, cameras, (), width, height, name))
    still, badge = round(hold * fps), speed_badge(speed)
    try:
        _shoot(takes, jobs, path, fps, still, badge, workers, progress)
    except CrewError as error:
        if name != "vtk":
            raise
        reason = f"Drake's VTK renderer failed while filming ({error})"
        logger.warning("filming again with our own rasteriser: %s", reason)
        name = "raster"
        jobs = [replace(job, renderer=name) for job in jobs]
        _shoot(takes, jobs, path, fps, still, badge, workers, progress)
    count = max(job.count for job in jobs) + still
    spent = time.monotonic() - began
    return VideoInfo(path, count, fps, width, height, count / fps, name, reason, spent)


def _shoot(
    takes: tuple[Take, Take],
    jobs: list[FilmJob],
    path: Path,
    fps: float,
    still: int,
    badge: str,
    workers: int | None,
    progress: Progress | None,
) -> None:
    counts = [job.count for job in jobs]
    tracks = [_track(job) for job in jobs]
    with contextlib.ExitStack() as stack:
        crews = [
            stack.enter_context(FilmCrew(job, workers if i == np.argmax(counts) else 1))
            for i, job in enumerate(jobs)
        ]
        alone = [stack.enter_context(encoded(take.path, fps)) for take in takes]
        both = stack.enter_context(encoded(path, fps))
        sources: list[Iterator[Image]] = [crew.pictures() for crew in crews]
        pictures: list[Image] = [np.zeros((2, 4, 3), dtype=np.uint8)] * 2
        drawn = 0
        for k in range(max(counts) + still):
            halves = []
            for i, (take, job) in enumerate(zip(takes, jobs, strict=True)):
                if k < job.count:
                    picture, drawn = next(sources[i]), drawn + 1
                    track = tracks[i][: k + 1]
                    pictures[i] = draw_trace(picture, track, job.cameras[k], take.color)
                clock = _clock(job, k)
                if k < job.count + still:
                    title = f"{take.title}: {take.note}"
                    words = Caption(take.warning, "", clock, badge, title)
                    alone[i](draw_caption(pictures[i], words))
                words = Caption(take.note, take.warning, clock, badge if i else "", take.title)
                halves.append(draw_caption(middle(pictures[i]), words))
            both(joined(halves[0], halves[1]))
            if progress is not None:
                progress(drawn, sum(counts))


def _track(job: FilmJob) -> Array:
    """Where the grasp centre is in each picture (F, 3), m."""
    X_WH = [hand_pose(q, job.scene.robot.base) for q in job.frames.q]
    return np.array([X[:3, :3] @ job.robot.p_HT + X[:3, 3] for X in X_WH])


def _clock(job: FilmJob, k: int) -> str:
    """What the clock says in picture ``k``: the time running, or when it was done."""
    t = job.frames.time - job.frames.time[0]
    if k < job.count - 1:
        return f"{t[k]:.1f} s"
    return f"done after {t[-1]:.2f} s"


def middle(picture: Image) -> Image:
    """The middle half (h, w / 2, 3) of a picture (h, w, 3)."""
    quarter = picture.shape[1] // 4
    return picture[:, quarter : quarter + picture.shape[1] // 2]


def joined(left: Image, right: Image) -> Image:
    """Two pictures of one size side by side, a line between them."""
    both = np.concatenate([left, right], axis=1)
    seam = left.shape[1]
    both[:, seam - _SEAM : seam + _SEAM] = _SEAM_COLOR
    return both
