"""A picture of how a run ended: where robot, drawers and items came to be, from both sides."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image as PilImage

from galley.domain.files import written_whole
from galley.domain.frames import Array, to_pose7
from galley.domain.log import Log
from galley.domain.scene.model import Scene
from galley.domain.scene.reader import load_scene
from galley.robots.panda.models import mobile_panda
from galley.scenarios.outcome import STATES
from galley.scenarios.scenario import Scenario
from galley.viz.render.renderer import Renderer
from galley.viz.render.tags import Tag, draw_tags
from galley.viz.render.view import Camera

_WIDTH, _HEIGHT = 960, 720  # of each of the two views
_TURN, _ELEVATION = np.radians(38.0), np.radians(38.0)
_NEAREST = 1.3  # m from the items
_COLOR = (255, 206, 84)


def draw_end(scenario: Scenario, folder: Path, path: Path) -> bool:
    """Write a picture of a run's last state as PNG; of the start where nothing was executed.

    Args:
        scenario: what was run.
        folder: the run's folder.
        path: of the PNG; it appears whole or not at all.

    Returns:
        Whether it shows the end of a run.

    Raises:
        BadInput: ``path`` can't be written, or scene or log can't be read.
    """
    scene = load_scene(scenario.scene)
    states = folder / STATES
    executed = states.is_file()
    if executed:
        log = Log.load(states)
        q, scene_q, items = log.q[-1], log.scene_q[-1], log.items[-1]
    else:
        q = scene.robot.q
        scene_q = np.array([joint.start for joint in scene.joints], dtype=np.float64)
        items = np.array([to_pose7(item.X_WI) for item in scene.items]).reshape(-1, 7)
    drawer = Renderer(scene, mobile_panda(scene.robot.base), _WIDTH, _HEIGHT)
    sheet = PilImage.new("RGB", (2 * _WIDTH, _HEIGHT))
    for k, camera in enumerate(_cameras(scene, items[:, :3])):
        view = PilImage.fromarray(drawer.still(q, scene_q, items, camera))
        draw_tags(view, _tags(scene, items[:, :3], camera), 13)
        sheet.paste(view, (k * _WIDTH, 0))
    with written_whole(path) as partial:
        sheet.save(partial, format="PNG")
    return executed


def _cameras(scene: Scene, items: Array) -> tuple[Camera, Camera]:
    """From the left and from the right of where the robot came from, on all items (k, 3)."""
    base = scene.robot.q[:2]
    if not len(items):
        items = np.array([[0.0, 0.0, 1.0]])
    low, high = items.min(axis=0), items.max(axis=0)
    middle = 0.5 * (low + high)
    back = base - middle[:2]
    heading = np.arctan2(back[1], back[0]) if np.linalg.norm(back) > 0.1 else 0.0
    # The whole spread within the view's smaller angle, with air around it.
    distance = _NEAREST + 1.3 * float(np.linalg.norm(high - low))
    flat, up = np.cos(_ELEVATION), np.sin(_ELEVATION)
    eyes = [
        middle + distance * np.array([flat * np.cos(way), flat * np.sin(way), up])
        for way in (heading + _TURN, heading - _TURN)
    ]
    return Camera(eyes[0], middle), Camera(eyes[1], middle)


def _tags(scene: Scene, items: Array, camera: Camera) -> list[Tag]:
    """The items' names."""
    if not len(items):
        return []
    pixels, depth = camera.project(items, _WIDTH, _HEIGHT)
    return [
        Tag(item.label, (float(x), float(y)), _COLOR)
        for item, (x, y), d in zip(scene.items, pixels, depth, strict=True)
        if d > 0 and 0 < x < _WIDTH and 0 < y < _HEIGHT
    ]
