"""Labelled pictures of a scene at its start, and at the end of a run.

- ``draw_scene``: on the left the room from the robot's side; on the right the room from above,
  without overhead furniture
- ``draw_end``: the final poses of robot, drawers and items
- ``draw_state``: one state, with the obstacles marked
- ``draw_robot``: a robot alone
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
from galley.robots.urdf_reader import read_tree
from galley.viz.render.renderer import Renderer
from galley.viz.render.scene_meshes import for_display
from galley.viz.render.tags import Color, Tag, draw_tags
from galley.viz.render.view import Camera, furniture_boxes, unit_vector, visible_from

_ITEM: Color = (255, 206, 84)
_REGION: Color = (88, 214, 141)
_STANCES: tuple[Color, ...] = ((93, 173, 226), (236, 112, 99), (187, 143, 206), (72, 201, 196))
_ROBOT: Color = (245, 130, 49)
_HANDLE: Color = (220, 120, 220)
_MARKED: Color = (230, 74, 25)
_OVERHEAD = 0.35  # m above the highest region; the view from above omits higher furniture
_WIDTH, _HEIGHT = 1280, 720  # pixels, of the picture of draw_end
_NEAREST = 1.3  # m from the camera to the marked items, and more for large ones
_SHARE = 0.45  # of a picture's side, from its middle, that the points to show may fill
_ABOVE = np.array([0.0, 0.0, 0.02])  # m, from a region's surface to the point to be seen
_OVERHEAD_SPACE = np.array([0.0, 0.0, 0.5])  # m to show above everything else
_TOP_FOV = float(np.radians(32.0))
State = tuple[Array, Array, Array]
"""Joints (n,), scene joints (nj,) and item poses (ni, 7), as in a log."""
_Named = tuple[str, Array, Color]  # a name, the points that it marks (m, in the world), its colour
_Solid = TypeVar("_Solid", Body, Item)


def draw_scene(
    scene: Scene, robot: RobotModel, path: Path | str, *, width: int = 1920, height: int = 900
) -> None:
    """Write a labelled picture of the scene at its start as PNG.

    Args:
        scene, robot: what to draw.
        path: the PNG file; it appears whole or not at all.
        width, height: the size of the whole picture, pixels.

    Raises:
        BadInput: ``path`` can't be written.
    """
    left = round(0.60 * width)
    low = without_overhead(scene)
    views = []
    for shown, size, camera_of in ((scene, left, front_camera), (low, width - left, top_camera)):
        camera = camera_of(shown, size, height)
        picture = _drawn(shown, robot, start_of(shown), camera, size, height)
        _outline(picture, shown, camera)
        _name(picture, _labels(shown), camera, max(11, round(height / 56)))
        views.append(picture)
    sheet = PilImage.fromarray(np.concatenate(views, axis=1))
    ImageDraw.Draw(sheet).line((left, 0, left, height), fill=(255, 255, 255), width=4)
    with atomic_file(path) as partial:
        sheet.save(partial, format="PNG")


def draw_robot(scene: Scene, robot: RobotModel, path: Path | str) -> None:
    """Write a picture of a robot alone as PNG, at the scene's start configuration.

    On the left is the robot as it looks, on the right its collision shapes.

    Raises:
        BadInput: ``path`` can't be written.
    """
    looks = (for_display(robot), for_display(robot, shapes=True))
    at, camera = start_of(scene), robot_camera(robot, scene.robot.q[None], scene.robot.q[2])
    views = [Renderer(scene, each, _HEIGHT, _HEIGHT).render(*at, camera) for each in looks]
    with atomic_file(path) as partial:
        PilImage.fromarray(np.concatenate(views, axis=1)).save(partial, format="PNG")


def robot_camera(robot: RobotModel, Q: Array, heading: float) -> Camera:
    """A camera to the left of a heading (rad) that shows the robot in configurations Q (m, n)."""
    tree, links = read_tree(robot.urdf, robot.joints), (*robot.links, robot.palm)
    points = np.array([tree.link_pose(link, q)[:3, 3] for q in Q for link in links])
    away = unit_vector(np.array(heading + 0.7), np.array(0.4))
    return _around(points.min(axis=0), points.max(axis=0), away)


def draw_end(scene: Scene, robot: RobotModel, states: Path | str, path: Path | str) -> None:
    """Write a picture of a run's final state as PNG, or of its start if nothing was executed.

    Args:
        scene, robot: the scene and the robot of the run.
        states: the file of the run's log; it need not exist.
        path: the PNG file; it appears whole or not at all.

    Raises:
        BadInput: ``path`` can't be written, or the log can't be read.
    """
    at = start_of(scene)
    if Path(states).is_file():
        log = Log.load(states)
        at = log.q[-1], log.scene_q[-1], log.items[-1]
    camera = front_camera(scene, _WIDTH, _HEIGHT)
    picture = _drawn(scene, robot, at, camera, _WIDTH, _HEIGHT)
    labels = [(i.label, pose[:3], _ITEM) for i, pose in zip(scene.items, at[2], strict=True)]
    _name(picture, labels, camera, 13)
    with atomic_file(path) as partial:
        picture.save(partial, format="PNG")


def draw_state(
    scene: Scene, robot: RobotModel, at: State, width: int, height: int, marked: Sequence[str] = ()
) -> PilImage.Image:
    """A picture of one state, from the direction in which most items and regions are visible.

    Args:
        scene, robot: what to draw.
        at: the state.
        width, height: the size of the picture, pixels.
        marked: names of bodies and items to colour and label as in the way. The camera moves close
            to them.
    """
    camera, named = front_camera(scene, width, height), []
    if marked:
        boxes = np.array([_bounds(scene, name, at) for name in marked])  # (k, 2, 3)
        away = camera.position - camera.target
        low, high = boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)
        camera = _around(low, high, away / np.linalg.norm(away))
        centres = zip(marked, boxes.mean(axis=1), strict=True)
        named = [(f"{name}: in the way", centre, _MARKED) for name, centre in centres]
    picture = _drawn(_colored(scene, marked), robot, at, camera, width, height)
    _name(picture, named, camera, max(13, round(height / 34)))
    return picture


def start_of(scene: Scene) -> State:
    """The state at the start of a scene: robot, scene joints and items as its file has them."""
    joints = np.array([joint.start for joint in scene.joints], dtype=np.float64)
    items = np.array([to_pose7(item.X_WI) for item in scene.items]).reshape(-1, 7)
    return scene.robot.q, joints, items


def _drawn(
    scene: Scene, robot: RobotModel, at: State, camera: Camera, width: int, height: int
) -> PilImage.Image:
    """A picture of one state, with a room around the scene and with shadows."""
    drawer = Renderer(scene, robot, width, height, staged=True)
    return PilImage.fromarray(drawer.render(*at, camera))


def _around(low: Array, high: Array, away: Array) -> Camera:
    """A camera that shows the box between two corners (3,), from the direction ``away`` (3,)."""
    middle = 0.5 * (low + high)
    distance = _NEAREST + 1.3 * float(np.linalg.norm(high - low))
    return Camera(middle + distance * away, middle)


def _colored(scene: Scene, names: Sequence[str]) -> Scene:
    """The scene with the named bodies and items in the colour that marks obstacles."""
    red, green, blue = (part / 255.0 for part in _MARKED)

    def painted(solid: _Solid) -> _Solid:
        if solid.name not in names:
            return solid
        color = (red, green, blue, 1.0)
        shapes = (replace(shape, color=color, texture=None) for shape in solid.shapes)
        return replace(solid, shapes=tuple(shapes))

    bodies, items = map(painted, scene.bodies), map(painted, scene.items)
    return replace(scene, bodies=tuple(bodies), items=tuple(items))


def _bounds(scene: Scene, name: str, at: State) -> Array:
    """Lower and upper corner (2, 3) of the box around a body or an item, in the world, metres."""
    if name in scene.item_index:
        X, shapes = from_pose7(at[2][scene.item_index[name]]), scene.item(name).shapes
    else:
        X, shapes = scene.body_pose(name, at[1]), scene.body(name).shapes
    boxes = np.array([shape.bounds(X) for shape in shapes])
    return np.stack([boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)])


def _heading(scene: Scene, point: Array) -> float:
    """The direction from a point (3,) to the robot's start, rad about the vertical."""
    back = scene.robot.q[:2] - point[:2]
    return float(np.arctan2(back[1], back[0])) if np.linalg.norm(back) > 0.1 else 0.0


def _areas(scene: Scene) -> list[_Named]:
    """Name, corners (4, 3) in the world and colour of each box of the regions and each stance."""
    areas = []
    for region in scene.regions:
        X = scene.body_pose(region.body, start_of(scene)[1])
        for box in region.boxes:
            corners = _floor(box[0, :2], box[1, :2], box[0, 2]) @ X[:3, :3].T + X[:3, 3]
            areas.append((f"region {region.name}", corners, _REGION))
    for k, stance in enumerate(scene.stances):
        color = _STANCES[k % len(_STANCES)]  # stances overlap: each has its own colour
        corners = _floor(stance.lower[:2], stance.upper[:2], 0.004)
        areas.append((f"stance {stance.name}", corners, color))
    return areas


def _floor(low: Array, high: Array, z: float) -> Array:
    """The corners (4, 3) of a horizontal rectangle at height ``z``, in order around it, metres."""
    (x0, y0), (x1, y1) = low, high
    return np.array([[x0, y0, z], [x1, y0, z], [x1, y1, z], [x0, y1, z]])


def _extent(scene: Scene) -> Array:
    """Points (k, 3) in the world that the picture must show, with space for overhead furniture."""
    x, y, _ = scene.robot.q[:3]
    points = np.concatenate(
        [
            *(corners for _, corners, _ in _areas(scene)),
            *(item.X_WI[None, :3, 3] for item in scene.items),
            [[x, y, 0.0], [x, y, 1.3]],
        ]
    )
    low, high = points.min(axis=0), points.max(axis=0) + _OVERHEAD_SPACE
    return np.concatenate([points, [[low[0], low[1], high[2]], [low[0], high[1], high[2]]]])


def front_camera(scene: Scene, width: int, height: int) -> Camera:
    """A camera behind the robot's start, in the direction that sees most items and regions."""
    points = _extent(scene)
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
    goals = [corners.mean(axis=0) + _ABOVE for _, corners, c in _areas(scene) if c == _REGION]
    goals += [item.X_WI[:3, 3] for item in scene.items]
    heading = _heading(scene, np.mean(goals, axis=0) if goals else middle)
    turns = np.radians((35.0, 35.0, -35.0, -35.0, 50.0, 50.0, -50.0, -50.0, 20.0, 20.0))
    elevations = np.radians((32.0, 42.0) * 5)
    eyes = middle + 5.0 * unit_vector(heading + turns, elevations)
    boxes = furniture_boxes(scene, start_of(scene)[1])
    seen = sum((visible_from(eyes, goal, boxes, np.zeros((0, 3))) for goal in goals), np.zeros(10))
    return _fitted(Camera(eyes[int(seen.argmax())], middle), points, width, height)


def top_camera(scene: Scene, width: int, height: int) -> Camera:
    """A camera above the scene; the work is at the top of the picture.

    It is 5 cm off the vertical, as a camera can't look straight along ``up``.
    """
    points = _extent(scene)
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
    camera = Camera(middle + np.array([0.05, 0.0, 6.0]), middle, fov=_TOP_FOV)
    return _fitted(camera, points, width, height)


def _fitted(camera: Camera, points: Array, width: int, height: int) -> Camera:
    """The camera, moved along its line of sight until points (k, 3) just fit into the picture."""
    X_WC = camera.X_WC
    right, down, ahead = ((points - camera.position) @ X_WC[:3, :3]).T
    focal = camera.focal(height) / _SHARE
    needed = np.maximum(focal * np.abs(right) / width, focal * np.abs(down) / height)
    back = float((np.maximum(needed, 0.5) - ahead).max())
    return replace(camera, position=camera.position - back * X_WC[:3, 2])


def without_overhead(scene: Scene) -> Scene:
    """The scene without bodies that hang above all regions, or that are attached to such bodies."""
    start = start_of(scene)[1]
    tops = [corners[:, 2].max() for _, corners, c in _areas(scene) if c == _REGION]
    limit = max(tops, default=1.0) + _OVERHEAD
    high = set()
    for body in scene.bodies:
        X_WB = scene.body_pose(body.name, start)
        if min((shape.bounds(X_WB)[0][2] for shape in body.shapes), default=0.0) > limit:
            high.add(body.name)
    low = tuple(b for b in scene.bodies if not high & set(scene.chain(b.name)))
    names, joints = {b.name for b in low} | {WORLD}, {b.joint for b in low}
    return replace(
        scene,
        bodies=low,
        joints=tuple(j for j in scene.joints if j.name in joints),
        regions=tuple(r for r in scene.regions if r.body in names),
        handles=tuple(h for h in scene.handles if h.body in names),
    )


def _outline(picture: PilImage.Image, scene: Scene, camera: Camera) -> None:
    """Draw regions and stances onto the picture, as translucent areas with an outline."""
    draw = ImageDraw.Draw(picture, "RGBA")
    for _, corners, color in _areas(scene):
        pixels, depth = camera.project(corners, *picture.size)
        if depth.min() > 0:
            shape = [(float(x), float(y)) for x, y in pixels]
            draw.polygon(shape, fill=(*color, 46))
            draw.line([*shape, shape[0]], fill=color, width=3)


def _labels(scene: Scene) -> list[_Named]:
    """A label for each object of the scene: the PDDL objects bound to it, then its own name."""
    x, y, _ = scene.robot.q[:3]
    centres = {text: (text, at.mean(axis=0), color) for text, at, color in reversed(_areas(scene))}
    named = list(centres.values())[::-1]
    for item in scene.items:
        named.append((item.name, item.X_WI[:3, 3] + (0, 0, 0.3 * item.size[2]), _ITEM))
    for handle in scene.handles:
        X = scene.body_pose(handle.body, start_of(scene)[1])
        named.append((f"handle {handle.name}", X[:3, :3] @ handle.point + X[:3, 3], _HANDLE))
    named.append((f"robot {scene.robot.name}", np.array([x, y, 0.42]), _ROBOT))
    objects: dict[str, set[str]] = {}
    for binding in scene.bindings:
        for entry in (binding.target, binding.region, binding.handle):
            objects.setdefault(str(entry), set()).add(binding.object)
    labelled = []
    for text, point, color in named:
        name = text.split()[-1]
        owners = sorted(objects.get(name, set()) - {name})
        labelled.append((": ".join(filter(None, [", ".join(owners), text])), point, color))
    return labelled


def _name(picture: PilImage.Image, named: Sequence[_Named], camera: Camera, size: int) -> None:
    """Label points of the world on the picture; points outside the picture are left out."""
    points = np.array([point for _, point, _ in named]).reshape(-1, 3)
    pixels, depth = camera.project(points, *picture.size)
    tags: list[Tag] = [
        (text, (float(pixel[0]), float(pixel[1])), color)
        for (text, _, color), pixel, d in zip(named, pixels, depth, strict=True)
        if d > 0 and (pixel > 0).all() and (pixel < picture.size).all()
    ]
    draw_tags(picture, tags, size)
