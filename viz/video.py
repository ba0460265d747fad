"""Films a log: one H.264 file, drawn by several processes and encoded as the pictures come."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from galley.domain.log import Log
from galley.domain.scene import Scene
from galley.robots.model import RobotModel
from galley.viz.camera import film_cameras
from galley.viz.captions import film_captions
from galley.viz.encoder import encoded
from galley.viz.film_crew import CrewError, FilmCrew
from galley.viz.film_job import FilmJob
from galley.viz.frames import frame_times, sample
from galley.viz.links import TreeLinks
from galley.viz.renderer import choose_renderer
from galley.viz.view import Camera

logger = logging.getLogger(__name__)
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class VideoInfo:
    """What was filmed.

    Attributes:
        path: the file. frames: number of pictures. fps: of film. duration_s: of film.
        renderer: ``raster``, ``vtk`` or ``tiny``. reason: why that one.
        seconds: how long filming took.
    """

    path: Path
    frames: int
    fps: float
    width: int
    height: int
    duration_s: float
    renderer: str
    reason: str
    seconds: float


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
    captions: bool = True,
    title: str = "",
    hold: float = 1.0,
    renderer: str = "raster",
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
        captions: draw action, phase and time.
        title: at the top left, or empty.
        hold: seconds to stay on the last picture.
        renderer: preferred one, see ``open_renderer``.
        camera: stays here for the whole film; None for a cameraman who follows the work.
        workers: processes that draw; None for one a core.
        progress: called with (pictures done, pictures in all).

    Returns:
        What was filmed, and with which renderer.

    Raises:
        ValueError: an odd size, an unknown renderer, or a rate that is not positive.
        RuntimeError: no renderer could draw the scene, or the encoder failed.
    """
    if width % 2 or height % 2 or width <= 0 or height <= 0:
        raise ValueError(f"H.264 needs even sides, got {width} x {height}")
    began = time.monotonic()
    path = Path(path)
    name, reason = choose_renderer(renderer)
    frames = sample(log, robot, frame_times(log, fps, speed, hold))
    lines = [str(line) for line in log.motions]
    if camera is not None:
        cameras: tuple[Camera, ...] = (camera,) * len(frames.time)
    else:
        cameras = film_cameras(frames, lines, scene, robot, TreeLinks(robot), fps)
    words = film_captions(log, frames, robot, speed, title) if captions or title else ()
    job = FilmJob(scene, robot, frames, cameras, words, width, height, name)
    try:
        _shoot(job, path, fps, workers, progress)
    except CrewError as error:
        if name != "vtk":
            raise
        reason = f"Drake's VTK renderer failed while filming ({error})"
        logger.warning("filming again with our own rasteriser: %s", reason)
        name = "raster"
        _shoot(replace(job, renderer=name), path, fps, workers, progress)
    return VideoInfo(
        path=path,
        frames=job.count,
        fps=fps,
        width=width,
        height=height,
        duration_s=job.count / fps,
        renderer=name,
        reason=reason,
        seconds=time.monotonic() - began,
    )


def viewpoint(log: Log, scene: Scene, robot: RobotModel, fps: float = 25.0) -> Camera:
    """One camera from which a whole short run is seen well: where its film would begin."""
    frames = sample(log, robot, frame_times(log, fps, 1.0, 0.0))
    lines = [str(line) for line in log.motions]
    return film_cameras(frames, lines, scene, robot, TreeLinks(robot), fps)[0]


def _shoot(
    job: FilmJob, path: Path, fps: float, workers: int | None, progress: Progress | None
) -> None:
    """Draw and encode all pictures of a job into ``path``."""
    with FilmCrew(job, workers) as crew, encoded(path, fps) as append:
        for k, picture in enumerate(crew.pictures()):
            append(picture)
            if progress is not None:
                progress(k + 1, job.count)
