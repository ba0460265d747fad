"""Sheets of close-up pictures of the hand, to inspect contacts.

    python bench/viz/contact_sheets.py RUN FOLDER [--scene FILE]

writes a sheet into FOLDER for each motion of a stored run that grasps, lifts, lowers, pulls, pushes
or lets go: four pictures, at its start, in the middle, at its end and half a second later. The
camera follows the hand, all four from one direction.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image as PilImage

from galley.domain.files import atomic_file
from galley.domain.log import Log
from galley.domain.scene.model import Scene
from galley.domain.scene.reader import load_scene
from galley.domain.shipped import KITCHEN
from galley.robots.model import RobotModel
from galley.robots.panda.models import mobile_panda
from galley.viz.film.captions import draw_caption, film_captions, split_recovery
from galley.viz.film.frames import resample, split_line
from galley.viz.film.inset import CONTACTS, DISTANCE, close_cameras, in_contact
from galley.viz.render.renderer import Renderer
from galley.viz.render.view import Camera

_AFTER = 0.5  # s after a motion's end, at which its outcome is looked at


def contact_sheets(
    log: Log,
    scene: Scene,
    robot: RobotModel,
    folder: Path,
    phases: Sequence[str] = CONTACTS,
    distance: float = DISTANCE,
    width: int = 480,
    height: int = 400,
) -> tuple[Path, ...]:
    """A sheet for each motion in whose phase one of these words stands.

    Four pictures each: at the motion's start, in the middle, at its end, and half a second later.

    Args:
        log, scene, robot: the run.
        folder: an existing one; sheets are called ``07_close_fingers.png``, by motion.
        phases: words.
        distance, width, height: see ``stills``.

    Returns:
        The files, in the order of the motions.
    """
    files = []
    drawer: Renderer | None = None
    for k, line in enumerate(log.motions):
        phase = split_line(split_recovery(str(line))[1])[1]
        samples = np.flatnonzero(log.motion == k)
        if not len(samples) or not in_contact(str(line), phases):
            continue
        start, end = float(log.time[samples[0]]), float(log.time[samples[-1]])
        times = (start, 0.5 * (start + end), end, end + _AFTER)
        name = "".join(c if c.isalnum() else "_" for c in phase)
        path = folder / f"{k:02d}_{name}.png"
        drawer = drawer or Renderer(scene, robot, width, height)
        stills(
            log,
            scene,
            robot,
            times,
            path,
            distance=distance,
            width=width,
            height=height,
            drawer=drawer,
        )
        files.append(path)
    return tuple(files)


def stills(
    log: Log,
    scene: Scene,
    robot: RobotModel,
    times: Sequence[float],
    path: Path,
    *,
    distance: float = DISTANCE,
    width: int = 480,
    height: int = 400,
    columns: int = 4,
    camera: Camera | None = None,
    drawer: Renderer | None = None,
) -> tuple[Camera, ...]:
    """Write one PNG with a picture of the hand at each of these times.

    Args:
        log, scene, robot: the run.
        times: seconds; those beyond the log give its ends.
        path: of the file, which appears whole or not at all.
        distance: from camera to grasp centre, m.
        width, height: of each picture, pixels.
        columns: pictures in a row.
        camera: takes all of them; None for one that follows the hand, from where it sees it best.
        drawer: a renderer for pictures of this size; None to make one.

    Returns:
        The camera of each picture.
    """
    frames = resample(log, robot, np.array(times, dtype=np.float64))
    if camera is not None:
        cameras: tuple[Camera, ...] = (camera,) * len(frames.time)
    else:
        cameras = close_cameras(frames.q, frames.scene_q, scene, robot, distance)
    words = film_captions(log, frames, scene, robot, 1.0, "")
    used = drawer or Renderer(scene, robot, width, height)
    pictures = []
    for k, (t, view) in enumerate(zip(frames.time, cameras, strict=True)):
        picture = used.render(frames.q[k], frames.scene_q[k], frames.items[k], view)
        # There is no room for the action: the phase and the time say which motion this is.
        caption = replace(
            words[k], action=words[k].phase, pddl="", phase="", mode="", clock=f"{t:.2f} s"
        )
        pictures.append(draw_caption(picture, caption))
    rows = -(-len(pictures) // columns)
    sheet = np.full((rows * height, columns * width, 3), 255, dtype=np.uint8)
    for k, picture in enumerate(pictures):
        top, left = k // columns * picture.shape[0], k % columns * picture.shape[1]
        sheet[top : top + picture.shape[0], left : left + picture.shape[1]] = picture
    with atomic_file(path, ".png") as partial:
        PilImage.fromarray(sheet).save(partial)
    return cameras


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--scene", type=Path, default=KITCHEN / "kitchen.yaml")
    arguments = parser.parse_args()
    log, scene = Log.load(arguments.run / "states.npz"), load_scene(arguments.scene)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for path in contact_sheets(log, scene, mobile_panda(scene.robot.base), arguments.folder):
        print(path)


if __name__ == "__main__":
    main()
