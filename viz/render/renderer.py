"""A software renderer for triangle meshes: it needs one core, no graphics library, no display.

While the camera rests, the samples of the static furniture are kept with their depths, and only the
window around the moving bodies is redrawn over a copy of them. The light is diffuse: it comes from
two lamps and from the surroundings. Films and single pictures also have a room around the scene,
and shadows of the first lamp.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from galley.compiled.annotations import Float, Int
from galley.compiled.build import RENDERER, ensure
from galley.domain.frames import Array, inverse
from galley.domain.scene.model import Scene
from galley.robots.model import RobotModel
from galley.viz.render.meshes import Indices, Pixels, VisualMesh, joined, plain, simplified
from galley.viz.render.scene_meshes import SceneMeshes
from galley.viz.render.view import Camera, Image

LAMP = (0.50, 0.30, 0.81)  # direction to the first lamp, in the world
BACKGROUND = (0.86, 0.89, 0.92)
_AMBIENT = 0.10  # intensity of the light from the surroundings
_INTENSITY = 0.62  # of the first lamp
# The second lamp: its direction in the camera's frame, and its intensity.
_CAMERA_LAMP = ((0.12, 0.18, 1.0), 0.52)
_FARTHEST = 1e6  # m; a body beyond this is an error
_INVISIBLE = 2e-5  # m or rad: a fiftieth of a pixel at usual distances
_MOST_TEXELS = 400  # texels along a side of a texture: with more, a film would flicker
_PAD = 12  # pixels to redraw around a body that moved
_STEP = 64  # pixels; the window to redraw grows to multiples of this
_NEAREST = 0.1  # m from the camera, within which projected corners are unreliable
_LAMP_SIZE = 800  # pixels along a side of the lamp's picture
_CASTING = 1000  # triangles of each body in the lamp's picture
# The room around a scene, in films and single pictures only.
_SPACE = 2.5  # m from the stances and the robot to a wall
_TALL, _WIDE = 1.8, 1.5  # m; a solid taller and wider than this counts as the scene's own wall
_BESIDE = 0.05  # m; a wall closer than this to the edge of the scene is its boundary
_ROOM_HEIGHT = 2.7  # m, the least
_SKIRTING = 0.08  # m, height of the skirting board
_PROUD = 0.005  # m between a wall and its skirting board
_BELOW = 0.01  # m from the scene's floor down to the room's
_HUGE = 60.0  # m; the largest half side of the room, and of the lamp's picture
_WORK = 0.6  # m, height of the point at which the lamp's picture is centred
_REACH = 1.3  # m around items, stances and robot that the lamp's picture shows
_FAR = 100.0  # m from that point to the lamp
_FLOOR, _WALL, _FOOT = (0.66, 0.60, 0.53), (0.84, 0.82, 0.77), (0.93, 0.92, 0.89)
_CEILING = (0.97, 0.97, 0.96)
# The corners of a unit cube.
_SIGNS = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)])


@dataclass(frozen=True)
class _Group:
    """Bodies that are drawn together, as arrays in the order of the kernel's arguments.

    Attributes:
        bodies: the rows of these bodies among all bodies of the scene.
        points: points (n, 3), their normals (n, 3), and the end of each body's points (nb,).
        triangles: triangles (t, 3), colours (t, 3), textures (t,), texture coordinates (n, 2).
        textures: height, width and first texel of each texture (k, 3), and all texels (m, 3).
        seen: written by ``place``: points in the picture (n, 6), and their light (n, 2).
    """

    bodies: slice
    points: tuple[Float, Float, Int]
    triangles: tuple[Indices, Float, Indices, Float]
    textures: tuple[Int, Float]
    seen: tuple[Float, Float]


class _View:
    """The sample buffers of one camera.

    Attributes:
        size: width and height of the picture, pixels.
        camera: the camera of the samples; None before the first picture.
        near: 1 / z of each sample (4 h, w), float32, see ``raster_kernel``.
        color: the packed colour of each sample (4 h, w), uint32.
    """

    def __init__(self, kernel: Any, groups: tuple[_Group, ...], width: int, height: int) -> None:
        self._kernel, self.size = kernel, (width, height)
        self._static, self._moving = groups
        shape = (kernel.ROWS * height, width)
        r, g, b = (round(255 * part) for part in BACKGROUND)
        self._background = np.uint32(r | g << 8 | b << 16)
        self.camera: Camera | None = None
        self.near, self.color = np.zeros(shape, np.float32), np.zeros(shape, np.uint32)
        # The static furniture alone. It is only made when the camera rests, as copying it is slow.
        self._behind = (np.zeros(shape, np.float32), np.zeros(shape, np.uint32))
        self._behind_holds = False
        self._corner = np.zeros((4, 6))  # the kernel's working memory

    @property
    def lens(self) -> Float:
        """Focal length, and column and row of the picture's middle (3,), float32, pixels."""
        assert self.camera is not None
        width, height = self.size
        return np.array([self.camera.focal(height), 0.5 * width, 0.5 * height], dtype=np.float32)

    def update(self, poses: Array, camera: Camera, points: Array) -> Int:
        """Redraw the part of the picture that has changed since the last call.

        Args:
            poses: X_WB (nb, 4, 4) of all bodies.
            camera: the viewpoint.
            points: corners (k, 3) in the world of the boxes around all bodies that moved, before
                and after their motion.

        Returns:
            The window (4,) that was redrawn, pixels: left, top, right, bottom.
        """
        # A new camera: draw everything, and don't make the copy of the furniture yet.
        if self.camera is None or not camera.same(self.camera):
            self.camera, self._behind_holds = camera, False
            window = np.array([0, 0, *self.size])
            self._draw_static(poses, self.near, self.color)
        else:
            window = window_around(points, camera, *self.size)
            left, top, right, bottom = window
            if right <= left:
                return window
            if not self._behind_holds:
                self._draw_static(poses, *self._behind)
                self._behind_holds = True
            part = np.s_[self._kernel.ROWS * top : self._kernel.ROWS * bottom, left:right]
            self.near[part], self.color[part] = (buffer[part] for buffer in self._behind)
        self._draw(self._moving, window, poses, self.near, self.color)
        return window

    def _draw_static(self, poses: Array, near: Float, color: Any) -> None:
        """Draw the static furniture into empty buffers, over the whole picture."""
        near.fill(0.0)
        color.fill(self._background)
        self._draw(self._static, np.array([0, 0, *self.size]), poses, near, color)

    def _draw(self, group: _Group, window: Int, poses: Array, near: Float, color: Any) -> None:
        """Draw a group of bodies into sample buffers, within a window (4,)."""
        assert self.camera is not None
        X_CW = inverse(self.camera.X_WC)
        X_CB = np.ascontiguousarray((X_CW @ poses[group.bodies])[:, :3], dtype=np.float32)
        lamps = np.array(
            [
                [*_unit(X_CW[:3, :3] @ np.array(LAMP)), _INTENSITY],
                [*_unit(-np.array(_CAMERA_LAMP[0])), _CAMERA_LAMP[1]],
                [0.0, 0.0, 0.0, _AMBIENT],
            ],
            dtype=np.float32,
        )
        self._kernel.place(*group.points, X_CB, lamps, self.lens, *group.seen)
        seen, samples = (*group.seen, self.lens), (window, self._corner, near, color)
        self._kernel.draw(*group.triangles, *seen, *group.textures, *samples)


class Renderer:
    """Draws pictures of one scene with one robot, all of one size.

    Args:
        scene, robot: what to draw.
        width, height: the size of the pictures, pixels.
        staged: whether to draw a room around the scene, and shadows.
    """

    def __init__(
        self, scene: Scene, robot: RobotModel, width: int, height: int, *, staged: bool = False
    ) -> None:
        ensure(RENDERER)
        from galley.viz.render import raster_kernel

        self._kernel = raster_kernel
        self._meshes = SceneMeshes(scene, robot)
        furniture, *moving = self._meshes.meshes
        room = [furniture, room_mesh(scene)] if staged else [furniture]
        self._corners = np.array([_corners(mesh) for mesh in self._meshes.meshes])
        self._groups = _group([joined(room)], slice(0, 1)), _group(moving, slice(1, None))
        self._view = _View(raster_kernel, self._groups, width, height)
        self._close: _View | None = None
        self._lamp: _View | None = None
        if staged:
            # The lamp's picture shows surfaces from behind, so that none shades itself.
            casting, *others = (_backs(mesh) for mesh in self._meshes.meshes)
            groups = _group([casting], slice(0, 1)), _group(others, slice(1, None))
            self._lamp = _View(raster_kernel, groups, _LAMP_SIZE, _LAMP_SIZE)
        self._lamp_camera = lamp_camera(scene)
        self._poses = np.full((len(self._meshes.meshes), 4, 4), _FARTHEST)
        self._picture: Image = np.zeros((height, width, 3), dtype=np.uint8)

    def render(self, q: Array, scene_q: Array, items: Array, camera: Camera) -> Image:
        """Draw the state in one row of a log.

        Args:
            q: robot configuration (n,).
            scene_q: scene joint values (nj,).
            items: item poses (ni, 7): x, y, z, qx, qy, qz, qw.
            camera: the viewpoint.

        Returns:
            A read-only picture (h, w, 3).

        Raises:
            ValueError: a pose is infinite or NaN.
        """
        poses = self._meshes.poses(q, scene_q, items)
        if not (np.abs(poses) < _FARTHEST).all():
            raise ValueError("a body is infinitely far away, or its pose is NaN")
        # In physics simulation bodies always vibrate a little: ignore motion that is invisible.
        moved = np.abs(poses - self._poses).max(axis=(1, 2)) > _INVISIBLE
        before, self._poses = self._poses, np.where(moved[:, None, None], poses, self._poses)
        X = np.concatenate([before[moved], self._poses[moved]])
        corners = np.concatenate([self._corners[moved]] * 2)
        points = (corners @ X[:, :3, :3].transpose(0, 2, 1) + X[:, None, :3, 3]).reshape(-1, 3)
        if self._lamp is not None:
            self._lamp.update(self._poses, self._lamp_camera, points)
            # A body's shadow changes, too: it reaches down to the floor, along the lamp's rays.
            on_floor = points - np.array(LAMP) * points[:, 2:].clip(0.0) / LAMP[2]
            points = np.concatenate([points, on_floor])
        window = self._view.update(self._poses, camera, points)
        if window[2] > window[0]:
            self._picture = self._finished(self._view, window, self._picture)
        return self._picture

    def close_up(self, camera: Camera, width: int, height: int) -> Image:
        """Draw the state of the last ``render`` from another viewpoint.

        Returns:
            A picture (height, width, 3).
        """
        if self._close is None or self._close.size != (width, height):
            self._close = _View(self._kernel, self._groups, width, height)
        self._close.camera = None  # so that everything is drawn
        window = self._close.update(self._poses, camera, np.zeros((0, 3)))
        return self._finished(self._close, window, np.zeros((height, width, 3), dtype=np.uint8))

    def forget(self) -> None:
        """Draw the next picture as if it were the first, without use of earlier samples."""
        self._poses = np.full_like(self._poses, _FARTHEST)

    def _finished(self, view: _View, window: Int, before: Image) -> Image:
        """A copy of a picture (h, w, 3) with a view's samples, with shadows, within a window."""
        lamp = self._lamp
        if lamp is not None and view.camera is not None:
            X_LC = inverse(self._lamp_camera.X_WC) @ view.camera.X_WC
            pose = np.ascontiguousarray(X_LC[:3], dtype=np.float32)
            self._kernel.shadow(
                window, pose, view.lens, lamp.lens, lamp.near, view.near, view.color
            )
        picture = before.copy()
        self._kernel.resolve(window, view.color, picture)
        picture.setflags(write=False)
        return picture


def _backs(mesh: VisualMesh) -> VisualMesh:
    """The mesh, simplified and turned inside out, for the lamp's picture."""
    mesh = simplified(mesh, _CASTING)
    return replace(mesh, triangles=mesh.triangles[:, ::-1])


def _unit(direction: Array) -> Array:
    """The vector (3,) divided by its length."""
    return direction / np.linalg.norm(direction)


def _corners(mesh: VisualMesh) -> Array:
    """Corners (8, 3) of a mesh's bounding box, in the body's frame; zeros for an empty mesh."""
    if not len(mesh.points):
        return np.zeros((8, 3))
    return np.asarray(mesh.points.min(axis=0) + _SIGNS * np.ptp(mesh.points, axis=0))


def _group(meshes: list[VisualMesh], bodies: slice) -> _Group:
    """The group of these meshes, which belong to the rows ``bodies`` of all bodies."""
    mesh = joined(meshes)
    textures = [_reduced(texture) for texture in mesh.textures]
    sizes = np.array([texture.shape[:2] for texture in textures], dtype=np.int64).reshape(-1, 2)
    firsts = np.cumsum([0, *sizes.prod(axis=1)])[:-1]
    texels = np.concatenate([np.zeros((0, 3), np.float32), *(t.reshape(-1, 3) for t in textures)])
    ends = np.cumsum([len(body.points) for body in meshes]).astype(np.int64)
    f4, i4 = (partial(np.ascontiguousarray, dtype=kind) for kind in (np.float32, np.int32))
    return _Group(
        bodies,
        (f4(mesh.points), f4(mesh.normals), ends),
        (i4(mesh.triangles), f4(255.0 * mesh.colors), i4(mesh.pictures), f4(mesh.uvs)),
        (np.column_stack([sizes, firsts]), texels),
        (np.zeros((len(mesh.points), 6), np.float32), np.zeros((len(mesh.points), 2), np.float32)),
    )


def _reduced(texture: Pixels) -> Float:
    """A texture (h, w, 3), 0 to 1, halved until it has no more texels than a picture can show."""
    picture = texture.astype(np.float32) / 255.0
    while max(picture.shape) > _MOST_TEXELS:
        height, width = picture.shape[0] // 2, picture.shape[1] // 2
        even = picture[: 2 * height, : 2 * width]
        picture = even.reshape(height, 2, width, 2, 3).mean(axis=(1, 3))
    return picture


def window_around(points: Array, camera: Camera, width: int, height: int) -> Int:
    """The window of a picture that contains all points, with some space around them.

    Args:
        points: the points (k, 3), metres, in the world.
        camera: the camera of the picture.
        width, height: the size of the picture, pixels.

    Returns:
        Left, top, right and bottom (4,), pixels, ends excluded. Zeros if no point lies within the
        picture; the whole picture if the window would be most of it, or a point is too close to the
        camera to be projected.
    """
    full = np.array([0, 0, width, height])
    if not len(points):
        return np.zeros_like(full)
    pixels, depth = camera.project(points, width, height)
    if depth.min() < _NEAREST:
        return full
    first = np.floor((pixels.min(axis=0) - _PAD) / _STEP) * _STEP
    last = np.ceil((pixels.max(axis=0) + _PAD) / _STEP) * _STEP
    window = np.concatenate([first, last]).clip(0, [width, height] * 2).astype(np.int64)
    size = window[2:] - window[:2]
    if (size <= 0).any():
        return np.zeros_like(full)
    return window if size.prod() < 0.8 * width * height else full


def room_mesh(scene: Scene) -> VisualMesh:
    """Floor, walls and ceiling around a scene, each visible from inside only.

    On a side where the scene has its own wall, the room ends there; on other sides there is space
    for a camera.
    """
    low, high = _bounds(scene)
    size = high - low
    parts = []
    for axis, side in product(range(3), (0, 1)):
        inward = np.zeros(3)
        inward[axis] = 1.0 - 2.0 * side
        square = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
        shares = np.insert(square, axis, side, axis=1)
        corners = low + shares * size
        color = _WALL if axis < 2 else (_FLOOR, _CEILING)[side]
        parts.append(_rectangle(corners, inward).painted(color))
        if axis < 2:
            foot = corners + _PROUD * inward
            foot[:, 2] = np.minimum(foot[:, 2], low[2] + _BELOW + _SKIRTING)
            parts.append(_rectangle(foot, inward).painted(_FOOT))
    return joined(parts)


def _bounds(scene: Scene) -> tuple[Array, Array]:
    """The lower and the upper corner (3,) of the room, world frame, metres."""
    start = np.array([joint.start for joint in scene.joints])
    solids = [
        shape.bounds(scene.body_pose(body.name, start))
        for body in scene.bodies
        for shape in body.shapes
    ]
    solids += [shape.bounds(item.X_WI) for item in scene.items for shape in item.shapes]
    solids.append((scene.robot.q[[0, 1, 1]] * (1, 1, 0), scene.robot.q[[0, 1, 1]] * (1, 1, 0)))
    lower, upper = (np.array(corners) for corners in zip(*solids, strict=True))
    low, high = lower.min(axis=0), upper.max(axis=0)
    stood = [stance.lower[:2] for stance in scene.stances] + [scene.robot.q[:2]]
    space_low = np.min(stood, axis=0) - _SPACE
    space_high = np.max([stance.upper[:2] for stance in scene.stances] + stood, axis=0) + _SPACE
    tall = upper[:, 2] - lower[:, 2] > _TALL
    for axis in (0, 1):
        wide = tall & (upper[:, 1 - axis] - lower[:, 1 - axis] > _WIDE)
        if not (wide & (lower[:, axis] < low[axis] + _BESIDE)).any():  # no own wall
            low[axis] = min(low[axis], space_low[axis])
        if not (wide & (upper[:, axis] > high[axis] - _BESIDE)).any():
            high[axis] = max(high[axis], space_high[axis])
    low, high = np.maximum(low, -_HUGE), np.minimum(high, _HUGE)
    return np.array([*low[:2], -_BELOW]), np.array([*high[:2], max(_ROOM_HEIGHT, high[2])])


def _rectangle(corners: Array, inward: Array) -> VisualMesh:
    """The rectangle with these corners (4, 3), visible from the side to which ``inward`` points."""
    normal = np.cross(corners[1] - corners[0], corners[2] - corners[0])
    if normal @ inward < 0:
        corners = corners[::-1]
    # The normals lean towards the lamp. In a real room the walls light each other: none is black.
    leant = 0.8 * inward + 0.5 * np.array(LAMP)
    normals = np.tile(leant / np.linalg.norm(leant), (4, 1))
    return plain(corners, normals, [(0, 1, 2), (0, 2, 3)])


def lamp_camera(scene: Scene) -> Camera:
    """The first lamp as a camera far away; its picture shows all that the robot can reach."""
    points = [scene.robot.q[:2], *(item.X_WI[:2, 3] for item in scene.items)]
    points += [corner[:2] for stance in scene.stances for corner in (stance.lower, stance.upper)]
    low, high = np.min(points, axis=0), np.max(points, axis=0)
    middle = np.array([*(0.5 * (low + high)), _WORK])
    radius = min(0.5 * float(np.linalg.norm(high - low)) + _REACH, _HUGE)
    away = _FAR * np.array(LAMP) / np.linalg.norm(LAMP)
    return Camera(middle + away, middle, 2.0 * float(np.arctan(radius / _FAR)))
