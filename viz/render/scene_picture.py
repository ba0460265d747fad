"""Labelled pictures of a scene at its start, and at the end of a run.

``draw_scene``: left, the room from the robot's side; right, from above, without overhead furniture.
``draw_end``: final poses of robot, drawers and items, from two sides.
``draw_state``: one state, with what is in the way marked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np
from PIL import Image as PilImage
from PIL import ImageDraw

from galley.domain.files import atomic_file
from galley.domain.frames import Array, from_pose7, to_pose7
from galley.domain.log import Log
from galley.domain.scene.model import WORLD, Body, Item, Scene
from galley.robots.model import RobotModel
from galley.viz.render.renderer import Renderer
from galley.viz.render.tags import Color, Tag, draw_tags
from galley.viz.render.view import Camera, furniture_boxes, unit_vector, visible_from

_ITEM: Color = (255, 206, 84)
_REGION: Color = (88, 214, 141)
_STANCES: tuple[Color, ...] = ((93, 173, 226), (236, 112, 99), (187, 143, 206), (72, 201, 196))
_ROBOT: Color = (245, 130, 49)
_HANDLE: Color = (220, 120, 220)
_MARKED: Color = (230, 74, 25)
_OVERHEAD = 0.35  # m above the highest region, from which on furniture is left out from above
_WIDTH, _HEIGHT = 960, 720  # of each of the two views in draw_end
_TURN, _ELEVATION = np.radians(38.0), np.radians(38.0)  # of those views
_NEAREST = 1.3  # m from the items
_Thing = TypeVar("_Thing", Body, Item)


def draw_scene(
    scene: Scene,
    robot: RobotModel,
    path: Path | str,
    *,
    width: int = 1920,
    height: int = 900,
) -> None:
    """Write a labelled picture of the scene at its start as PNG.

    Args:
        scene, robot: what to draw.
        path: of the picture; it appears whole or not at all.
        width, height: of the whole picture, pixels.

    Raises:
        BadInput: ``path`` can't be written.
    """
    left = round(0.60 * width)
    overview = _view(scene, robot, front_camera(scene, left, height), left, height)
    low = without_overhead(scene)
    camera = top_camera(low, width - left, height)
    above = _view(low, robot, camera, width - left, height)
    sheet = _beside(overview, above)
    ImageDraw.Draw(sheet).line((left, 0, left, height), fill=(255, 255, 255), width=4)
    with atomic_file(path) as partial:
        sheet.save(partial, format="PNG")


def draw_end(scene: Scene, robot: RobotModel, states: Path | str, path: Path | str) -> None:
    """Write a picture of a run's final state as PNG; of the start if nothing was executed.

    Args:
        scene, robot: what it ran on.
        states: the run's log, if there is one.
        path: of the picture; it appears whole or not at all.

    Raises:
        BadInput: ``path`` can't be written, or the log can't be read.
    """
    states = Path(states)
    if states.is_file():
        log = Log.load(states)
        q, scene_q, items = log.q[-1], log.scene_q[-1], log.items[-1]
    else:
        q, scene_q, items = scene.robot.q, _start(scene), _items(scene)
    drawer, views = Renderer(scene, robot, _WIDTH, _HEIGHT), []
    for camera in _from_both_sides(scene, items[:, :3]):
        view = PilImage.fromarray(drawer.render_still(q, scene_q, items, camera))
        named = [(each.label, at[:3], _ITEM) for each, at in zip(scene.items, items, strict=True)]
        draw_tags(view, _in_sight(named, camera, _WIDTH, _HEIGHT), 13)
        views.append(view)
    with atomic_file(path) as partial:
        _beside(*views).save(partial, format="PNG")


def draw_state(
    scene: Scene,
    robot: RobotModel,
    at: tuple[Array, Array, Array],
    width: int,
    height: int,
    marked: Sequence[str] = (),
) -> PilImage.Image:
    """A picture of one state, from where most items and regions are seen.

    Args:
        scene, robot: what to draw.
        at: joints (n,), scene joints (nj,) and item poses (ni, 7), as in a log.
        width, height: of the picture, pixels.
        marked: bodies and items to colour and name; the camera moves near to them.
    """
    camera, tags = front_camera(scene, width, height), []
    if marked:
        boxes = np.array([_bounds(scene, name, *at[1:]) for name in marked])  # (k, 2, 3)
        low, high = boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)
        middle, away = 0.5 * (low + high), camera.position - camera.target
        distance = _NEAREST + 1.3 * float(np.linalg.norm(high - low))
        camera = Camera(middle + distance * away / np.linalg.norm(away), middle)
        centres = zip(marked, boxes.mean(axis=1), strict=True)
        tags = [(f"{name}: in the way", centre, _MARKED) for name, centre in centres]
    drawer = Renderer(_colored(scene, marked), robot, width, height, staged=True)
    picture = PilImage.fromarray(drawer.render_still(*at, camera))
    draw_tags(picture, _in_sight(tags, camera, width, height), max(13, round(height / 34)))
    return picture


def start_of(scene: Scene) -> tuple[Array, Array, Array]:
    """Joints (n,), scene joints (nj,) and item poses (ni, 7) at the start."""
    return scene.robot.q, _start(scene), _items(scene)


def _colored(scene: Scene, names: Sequence[str]) -> Scene:
    """The scene with some bodies and items in the colour of what is in the way."""

    def painted(thing: _Thing) -> _Thing:
        if thing.name not in names:
            return thing
        red, green, blue = (part / 255.0 for part in _MARKED)
        color = (red, green, blue, 1.0)
        shapes = (replace(shape, color=color, texture=None) for shape in thing.shapes)
        return replace(thing, shapes=tuple(shapes))

    return replace(
        scene,
        bodies=tuple(painted(body) for body in scene.bodies),
        items=tuple(painted(item) for item in scene.items),
    )


def _bounds(scene: Scene, name: str, scene_q: Array, items: Array) -> Array:
    """Corners (2, 3) of a body's or an item's box in the world, metres."""
    if name in scene.item_index:
        pose = items[scene.item_index[name]]
        X, shapes = from_pose7(pose), scene.item(name).shapes
    else:
        X, shapes = scene.body_pose(name, scene_q), scene.body(name).shapes
    boxes = np.array([shape.bounds(X) for shape in shapes])
    return np.stack([boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)])


def _beside(left: PilImage.Image, right: PilImage.Image) -> PilImage.Image:
    """Two pictures of the same height side by side."""
    sheet = PilImage.new("RGB", (left.width + right.width, left.height))
    sheet.paste(left, (0, 0))
    sheet.paste(right, (left.width, 0))
    return sheet


def _from_both_sides(scene: Scene, items: Array) -> tuple[Camera, Camera]:
    """Cameras that see all items (k, 3), from the left and right of the robot's start."""
    if not len(items):
        items = np.array([[0.0, 0.0, 1.0]])
    low, high = items.min(axis=0), items.max(axis=0)
    middle = 0.5 * (low + high)
    heading = _heading(scene, middle)
    # All items within the smaller field of view, with a margin.
    distance = _NEAREST + 1.3 * float(np.linalg.norm(high - low))
    left, right = (
        Camera(middle + distance * unit_vector(heading + turn, _ELEVATION), middle)
        for turn in (_TURN, -_TURN)
    )
    return left, right


def _heading(scene: Scene, place: Array) -> float:
    """Direction of the robot's start from a place (3,), rad about the vertical."""
    back = scene.robot.q[:2] - place[:2]
    return float(np.arctan2(back[1], back[0])) if np.linalg.norm(back) > 0.1 else 0.0


def _view(
    scene: Scene, robot: RobotModel, camera: Camera, width: int, height: int
) -> PilImage.Image:
    drawer = Renderer(scene, robot, width, height)
    at = start_of(scene)
    picture = PilImage.fromarray(drawer.render_still(*at, camera))
    _outline(picture, scene, camera)
    draw_tags(picture, _tags(scene, camera, width, height), max(11, round(height / 56)))
    return picture


def _start(scene: Scene) -> Array:
    return np.array([joint.start for joint in scene.joints], dtype=np.float64)


def _items(scene: Scene) -> Array:
    return np.array([to_pose7(item.X_WI) for item in scene.items]).reshape(-1, 7)


def _rectangles(scene: Scene) -> list[tuple[str, Array, Color]]:
    """Name, corners (4, 3) in the world and colour of every region's boxes and every stance."""
    found = []
    for region in scene.regions:
        X = scene.body_pose(region.body, _start(scene))
        for box in region.boxes:
            found.append((region.name, _corners(box) @ X[:3, :3].T + X[:3, 3], _REGION))
    for k, stance in enumerate(scene.stances):
        box = np.zeros((2, 3))
        box[:, :2] = stance.lower[:2], stance.upper[:2]
        box[:, 2] = 0.004
        color = _STANCES[k % len(_STANCES)]  # stances overlap: each has its own colour
        found.append((stance.name, _corners(box), color))
    return found


def _corners(box: Array) -> Array:
    """The corners (4, 3) of the floor of a box (2, 3), in order."""
    (x0, y0, z), (x1, y1, _) = box
    return np.array([[x0, y0, z], [x1, y0, z], [x1, y1, z], [x0, y1, z]])


def _extent(scene: Scene) -> Array:
    """Points (k, 3) that the picture must show."""
    points = [corners for _, corners, _ in _rectangles(scene)]
    points += [item.X_WI[None, :3, 3] for item in scene.items]
    x, y, _ = scene.robot.q[:3]
    points.append(np.array([[x, y, 0.0], [x, y, 1.3]]))
    heights = [p[:, 2].max() for p in points]
    top = np.concatenate(points).max(axis=0)
    low = np.concatenate(points).min(axis=0)
    high = max(heights) + 0.5  # space for overhead furniture
    points.append(np.array([[low[0], low[1], high], [low[0], top[1], high]]))
    return np.concatenate(points)


def front_camera(scene: Scene, width: int, height: int) -> Camera:
    """From behind the robot's start, from the direction that sees most items and regions."""
    points = _extent(scene)
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
    areas = _rectangles(scene)
    above = np.array([0.0, 0.0, 0.02])
    goals = [corners.mean(axis=0) + above for _, corners, c in areas if c == _REGION]
    goals += [item.X_WI[:3, 3] for item in scene.items]
    work = np.mean(goals, axis=0) if goals else middle
    heading = _heading(scene, work)
    boxes = furniture_boxes(scene, _start(scene))
    best, camera = -np.inf, None
    for turn in np.radians((35.0, -35.0, 50.0, -50.0, 20.0, -20.0)):
        for elevation in np.radians((32.0, 42.0)):
            eye = middle + 5.0 * unit_vector(heading + turn, elevation)
            seen = sum(
                float(visible_from(eye[None], goal, boxes, np.zeros((0, 3)))[0]) for goal in goals
            )
            if seen > best:
                best, camera = seen, Camera(eye, middle)
    assert camera is not None
    return _fitted(camera, points, width, height)


def top_camera(scene: Scene, width: int, height: int) -> Camera:
    """From straight above (all but a hair), the work at the top of the picture."""
    points = _extent(scene)
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
    camera = Camera(middle + np.array([0.05, 0.0, 6.0]), middle, fov=float(np.radians(32.0)))
    return _fitted(camera, points, width, height)


def _fitted(camera: Camera, points: Array, width: int, height: int) -> Camera:
    """The camera moved along its line of sight until all points lie within the picture."""
    away = camera.position - camera.target
    away = away / np.linalg.norm(away)
    for distance in np.arange(1.5, 40.0, 0.1):
        moved = Camera(camera.target + distance * away, camera.target, camera.fov)
        pixels, depth = moved.project(points, width, height)
        if depth.min() < 0.5:
            continue
        share = np.abs(pixels / (width, height) - 0.5)
        if share.max() < 0.45:
            return moved
    return moved


def without_overhead(scene: Scene) -> Scene:
    """The scene without bodies that hang over all regions, and what they carry."""
    start = _start(scene)
    tops = [corners[:, 2].max() for _, corners, c in _rectangles(scene) if c == _REGION]
    limit = (max(tops) if tops else 1.0) + _OVERHEAD
    high = set()
    for body in scene.bodies:
        X_WB = scene.body_pose(body.name, start)
        lows = [shape.bounds(X_WB)[0][2] for shape in body.shapes]
        if lows and min(lows) > limit:
            high.add(body.name)
    kept = tuple(b for b in scene.bodies if not high & set(scene.chain(b.name)))
    names = {b.name for b in kept} | {WORLD}
    joints = {b.joint for b in kept}
    return replace(
        scene,
        bodies=kept,
        joints=tuple(j for j in scene.joints if j.name in joints),
        regions=tuple(r for r in scene.regions if r.body in names),
        handles=tuple(h for h in scene.handles if h.body in names),
    )


def _outline(picture: PilImage.Image, scene: Scene, camera: Camera) -> None:
    """Lay regions and stances over the picture as tinted areas."""
    draw = ImageDraw.Draw(picture)
    for _, corners, color in _rectangles(scene):
        pixels, depth = camera.project(corners, *picture.size)
        if depth.min() > 0:
            shape = [(float(x), float(y)) for x, y in pixels]
            # A veil for each: where areas overlap, both colours show.
            veil = PilImage.new("L", picture.size, 0)
            ImageDraw.Draw(veil).polygon(shape, fill=46)
            picture.paste(color, (0, 0), veil)
            draw.line([*shape, shape[0]], fill=color, width=3)


def _tags(scene: Scene, camera: Camera, width: int, height: int) -> list[Tag]:
    """A tag for every PDDL object, with what it stands for; and one for the robot."""
    objects: dict[str, list[str]] = {}
    for binding in scene.bindings:
        for name in {binding.target, binding.region, binding.handle} - {None}:
            objects.setdefault(str(name), []).append(binding.object)
    named: list[tuple[str, Array, Color]] = []
    seen = set()
    for name, corners, color in _rectangles(scene):
        kind = "region" if color == _REGION else "stance"
        if (name, kind) not in seen:
            seen.add((name, kind))
            named.append((f"{kind} {name}", corners.mean(axis=0), color))
    for item in scene.items:
        named.append((f"{item.name}", item.X_WI[:3, 3] + (0, 0, 0.3 * item.size[2]), _ITEM))
    for handle in scene.handles:
        X = scene.body_pose(handle.body, _start(scene))
        named.append((f"handle {handle.name}", X[:3, :3] @ handle.point + X[:3, 3], _HANDLE))
    x, y, _ = scene.robot.q[:3]
    named.append((f"robot {scene.robot.name}", np.array([x, y, 0.42]), _ROBOT))
    labelled = []
    for text, point, color in named:
        name = text.split()[-1]
        extra = [owner for owner in objects.get(name, []) if owner != name]
        labelled.append((f"{', '.join(extra)}: {text}" if extra else text, point, color))
    return _in_sight(labelled, camera, width, height)


def _in_sight(
    named: Sequence[tuple[str, Array, Color]], camera: Camera, width: int, height: int
) -> list[Tag]:
    """Tags for names at points (3,) of the world, of those that lie in the picture."""
    points = np.array([point for _, point, _ in named]).reshape(-1, 3)
    pixels, depth = camera.project(points, width, height)
    return [
        Tag(text, (float(pixel[0]), float(pixel[1])), color)
        for (text, _, color), pixel, d in zip(named, pixels, depth, strict=True)
        if d > 0 and (pixel > 0).all() and (pixel < (width, height)).all()
    ]
