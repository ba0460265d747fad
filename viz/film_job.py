"""A film as a job that can be handed to another process, and the making of its pictures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from galley.domain.scene import Scene
from galley.robots.model import RobotModel
from galley.viz.caption_drawing import draw_caption
from galley.viz.captions import Caption
from galley.viz.frames import Frames
from galley.viz.picture import Image
from galley.viz.renderer import make_renderer
from galley.viz.view import Camera

CHUNK = 24  # frames in a row that one worker makes: neighbours share most of their pixels


@dataclass(frozen=True)
class FilmJob:
    """Everything that a film's pictures depend on; can be pickled.

    Attributes:
        frames: what is shown, F frames. cameras: (F). captions: (F), or empty for none.
        renderer: name of the renderer.
    """

    scene: Scene
    robot: RobotModel
    frames: Frames
    cameras: tuple[Camera, ...]
    captions: tuple[Caption, ...]
    width: int
    height: int
    renderer: str

    @property
    def count(self) -> int:
        """Number of frames."""
        return len(self.frames.time)

    def portable(self) -> FilmJob:
        """The same without the scene's line numbers, whose read-only mapping can't be pickled."""
        return replace(self, scene=replace(self.scene, places={}))


def turns(count: int, workers: int) -> list[tuple[int, range]]:
    """Whose turn it is: (worker, frames) for each chunk of a film of ``count`` frames, in order."""
    starts = range(0, count, CHUNK)
    return [(k % workers, range(s, min(s + CHUNK, count))) for k, s in enumerate(starts)]


def pictures(job: FilmJob, worker: int = 0, workers: int = 1) -> Iterator[Image]:
    """The pictures (height, width, 3) that are this worker's share, in order."""
    renderer = make_renderer(job.renderer, job.scene, job.robot, job.width, job.height)
    frames = job.frames
    try:
        for turn, numbers in turns(job.count, workers):
            if turn != worker:
                continue
            for k in numbers:
                camera = job.cameras[k]
                picture = renderer.render(frames.q[k], frames.scene_q[k], frames.items[k], camera)
                yield draw_caption(picture, job.captions[k]) if job.captions else picture
    finally:
        renderer.close()
