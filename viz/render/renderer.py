"""A software renderer for triangle meshes: one core, no graphics library, no display.

It is fast enough to film in real time: static furniture is drawn once per camera pose and kept with
its depths, and then only the window around moving bodies is redrawn over a copy of it. Light is
diffuse, from two lamps and the surroundings. Films also have contact shadows, single pictures
ambient occlusion.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from galley.compiled.build import RENDERER, ensure
from galley.domain.frames import Array, inverse
from galley.domain.scene.model import Scene
from galley.robots.model import RobotModel
from galley.viz.render.meshes import Pixels, VisualMesh, joined
from galley.viz.render.room import LAMP, Occluder, occluders, room_mesh
from galley.viz.render.scene_meshes import SceneMeshes
from galley.viz.render.view import Camera, Image

BACKGROUND = (0.86, 0.89, 0.92)
_AMBIENT = 0.10
_INTENSITY = 0.62  # of the lamp
_CAMERA_LAMP = ((0.12, 0.18, 1.0), 0.52)  # likewise, in the camera's frame
_FARTHEST = 1e6  # m
_INVISIBLE = 2e-5  # m or rad: a fiftieth of a pixel at usual distances
_LEVELS = 12  # halvings of a texture, at most
_PAD = 12  # pixels around what moved
_STEP = 64  # windows grow to multiples of this
_NEAREST = 0.1  # m from the camera, within which projected corners are unreliable

# Of ambient occlusion.
_RADIUS = 0.25  # m, beyond which nothing occludes
_BIAS = 0.08  # of the slope, ignored: depths are rounded, curves have facets
_STRENGTH = 1.5
_DARKEST = 0.3
_SAMPLES = 14  # per pixel, different for each pixel of a tile
_TILE = 4  # pixels a side
_TURNS = 5.0  # of the sampling spiral
_STRIP = 48  # rows at a time, which fit into the processor's cache


@dataclass(frozen=True)
class _Group:
    """Bodies that are drawn together, as arrays for the kernel."""

    bodies: slice
    points: Any
    normals: Any
    uvs: Any
    ends: Any
    triangles: Any
    colors: Any
    pictures: Any
    levels: Any
    texels: Any
    seen: Any
    lit: Any


class Renderer:
    """Draws pictures of one scene with one robot, all of one size.

    Args:
        scene, robot: what to draw.
        width, height: of the pictures, pixels.
        staged: whether there is a room around the scene, and contact shadows under items and robot.
    """

    def __init__(
        self, scene: Scene, robot: RobotModel, width: int, height: int, *, staged: bool = False
    ) -> None:
        ensure(RENDERER)
        from galley.viz.render import raster_kernel

        self.width = width
        self.height = height
        self._kernel = raster_kernel
        self._meshes = SceneMeshes(scene, robot)
        meshes, static = self._meshes.meshes, self._meshes.static
        first = joined([*meshes[:static], room_mesh(scene)]) if staged else joined(meshes[:static])
        self._static = _group((first,), slice(0, 1))
        self._moving = _group(meshes[static:], slice(static, len(meshes)))
        self._corners = np.array([_corners(mesh) for mesh in meshes])
        self._occluders = occluders(self._meshes, scene) if staged else ()
        # A body changes the picture as far as its shadows reach.
        corners = [[mine] for mine in self._corners]
        for each in self._occluders:
            corners[each.body].append(each.corners)
        self._reached = np.array([_box_corners(np.concatenate(mine)) for mine in corners])
        rows = raster_kernel.ROWS * height
        r, g, b = (round(255 * part) for part in BACKGROUND)
        self._background = np.uint32(r | g << 8 | b << 16)
        # Samples of the static furniture, and of the whole picture.
        self._behind = (np.zeros((rows, width), np.float32), np.zeros((rows, width), np.uint32))
        self._samples = (np.zeros((rows, width), np.float32), np.zeros((rows, width), np.uint32))
        self._corner = np.zeros((4, 6))  # the kernel's scratch
        self._light = np.ones((height, width), np.float32)  # that contact shadows leave
        self._behind_holds = False  # for the current camera
        self._camera: Camera | None = None
        self._poses = np.zeros((0, 4, 4))
        self._picture: Image = np.zeros((height, width, 3), dtype=np.uint8)

    def render(self, q: Array, scene_q: Array, items: Array, camera: Camera) -> Image:
        """Draw one row of a log: a read-only picture (h, w, 3).

        Args:
            q: robot configuration (n,).
            scene_q: scene joint values (nj,).
            items: item poses (ni, 7): x, y, z, qx, qy, qz, qw.
            camera: the viewpoint.

        Raises:
            ValueError: something is infinitely far away.
        """
        poses = self._meshes.poses(q, scene_q, items)
        if not (np.abs(poses) < _FARTHEST).all():
            raise ValueError("something is infinitely far away, or nobody knows where")
        rests = self._camera is not None and camera.same(self._camera)
        window = np.array([0, 0, self.width, self.height])
        if rests:
            # Under physics bodies always vibrate; invisible motion is ignored.
            moved = np.abs(poses - self._poses).max(axis=(1, 2)) > _INVISIBLE
            poses = np.where(moved[:, None, None], poses, self._poses)
            window = changed_window(
                self._reached[moved], self._poses[moved], poses[moved], camera, *window[2:]
            )
            if window[2] <= window[0]:
                return self._picture
        self._camera, self._poses = camera, poses
        self._draw(window, poses, camera, rests)
        return self._picture

    def render_still(self, q: Array, scene_q: Array, items: Array, camera: Camera) -> Image:
        """As ``render``, with ambient occlusion, which takes a second or two."""
        picture = self.render(q, scene_q, items, camera)
        kernel = self._kernel
        # One sample of each pixel, the one nearest to its centre.
        near = self._samples[0][kernel.ROWS // 2 :: kernel.ROWS]
        share = ambient_visibility(near, camera.focal(self.height))
        return np.asarray(np.round(picture * share[..., None]), dtype=np.uint8)

    def _draw(self, window: Any, poses: Array, camera: Camera, rests: bool) -> None:
        """Redraw a window, reusing the furniture while the camera rests."""
        kernel = self._kernel
        whole = np.array([0, 0, self.width, self.height])
        near, color = self._samples
        if not rests:  # not cached while the camera moves: copying is slow
            self._behind_holds = False
            kernel.wipe(near, color, self._background)
            self._draw_group(self._static, whole, poses, camera, near, color)
        else:
            if not self._behind_holds:
                kernel.wipe(*self._behind, self._background)
                self._draw_group(self._static, whole, poses, camera, *self._behind)
                self._behind_holds = True
            kernel.take_over(window, *self._behind, near, color)
        self._draw_group(self._moving, window, poses, camera, near, color)
        if self._occluders:
            left, top, right, bottom = window
            self._light[top:bottom, left:right] = 1.0
            for occluder in self._occluders:
                self._shade(occluder, window, poses, camera, near)
            kernel.darken(window, near, self._light, color)
        picture = self._picture.copy()
        kernel.resolve(window, color, picture)
        picture.setflags(write=False)
        self._picture = picture

    def _shade(
        self, occluder: Occluder, window: Any, poses: Array, camera: Camera, near: Any
    ) -> None:
        """Add the contact shadow of one shape."""
        X_WB = poses[occluder.body]
        pixels, depth = camera.project(
            occluder.corners @ X_WB[:3, :3].T + X_WB[:3, 3], self.width, self.height
        )
        part = window.copy()
        if depth.max() < _NEAREST:
            return
        if depth.min() >= _NEAREST:
            part[:2] = np.maximum(part[:2], np.floor(pixels.min(axis=0)).clip(-1e6, 1e6))
            part[2:] = np.minimum(part[2:], np.ceil(pixels.max(axis=0)).clip(-1e6, 1e6))
        X_SC = inverse(X_WB @ occluder.X_BS) @ camera.X_WC
        self._kernel.shade(
            part,
            np.ascontiguousarray(X_SC[:3], dtype=np.float32),
            occluder.shape.astype(np.float32),
            self._lens(camera),
            np.float32(occluder.radius),
            near,
            self._light,
        )

    def _lens(self, camera: Camera) -> Any:
        """Focal length and the picture's middle (3,), pixels."""
        lens = [camera.focal(self.height), 0.5 * self.width, 0.5 * self.height]
        return np.array(lens, dtype=np.float32)

    def _draw_group(
        self, group: _Group, window: Any, poses: Array, camera: Camera, near: Any, color: Any
    ) -> None:
        X_CW = inverse(camera.X_WC)
        X_CB = np.ascontiguousarray((X_CW @ poses[group.bodies])[:, :3], dtype=np.float32)
        lens = self._lens(camera)
        direction = -X_CW[:3, :3] @ np.array(LAMP)
        lamps = np.array(
            [
                [*_towards(direction), _INTENSITY],
                [*_towards(np.array(_CAMERA_LAMP[0])), _CAMERA_LAMP[1]],
                [0.0, 0.0, 0.0, _AMBIENT],
            ],
            dtype=np.float32,
        )
        self._kernel.place(
            group.points, group.normals, group.ends, X_CB, lamps, lens, group.seen, group.lit
        )
        self._kernel.draw(
            group.triangles,
            group.colors,
            group.pictures,
            group.uvs,
            group.seen,
            group.lit,
            lens,
            group.levels,
            group.texels,
            window,
            self._corner,
            near,
            color,
        )


def _towards(direction: Array) -> Array:
    """The unit vector (3,) towards a lamp that shines in a direction (3,)."""
    return -direction / np.linalg.norm(direction)


def _corners(mesh: VisualMesh) -> Array:
    """Corners (8, 3) of a mesh's bounding box."""
    return _box_corners(mesh.points) if len(mesh.points) else np.zeros((8, 3))


def _box_corners(points: Array) -> Array:
    """Corners (8, 3) of the bounding box of points (n, 3)."""
    signs = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)])
    low, high = points.min(axis=0), points.max(axis=0)
    return np.asarray(low + signs * (high - low))


def _group(meshes: tuple[VisualMesh, ...], bodies: slice) -> _Group:
    mesh = joined(meshes)
    levels, texels = _mipmaps(mesh.textures)
    return _Group(
        bodies,
        np.ascontiguousarray(mesh.points, dtype=np.float32),
        np.ascontiguousarray(mesh.normals, dtype=np.float32),
        np.ascontiguousarray(mesh.uvs, dtype=np.float32),
        np.cumsum([len(each.points) for each in meshes]).astype(np.int64),
        np.ascontiguousarray(mesh.triangles, dtype=np.int32),
        np.ascontiguousarray(255.0 * mesh.colors, dtype=np.float32),
        np.ascontiguousarray(mesh.pictures, dtype=np.int32),
        levels,
        texels,
        np.zeros((len(mesh.points), 6), dtype=np.float32),
        np.zeros(len(mesh.points), dtype=np.float32),
    )


def _mipmaps(textures: tuple[Pixels, ...]) -> tuple[Any, Any]:
    """Mipmaps of all textures, as the kernel's tables."""
    levels = np.zeros((max(len(textures), 1), _LEVELS, 3), dtype=np.int64)
    texels = [np.zeros((1, 3), dtype=np.float32)]
    count = 1
    for k, texture in enumerate(textures):
        picture = texture.astype(np.float32) / 255.0
        for level in range(_LEVELS):
            height, width = picture.shape[:2]
            levels[k, level] = width, height, count
            texels.append(picture.reshape(-1, 3))
            count += width * height
            if min(width, height) < 2:
                break
            even = picture[: height // 2 * 2, : width // 2 * 2]
            picture = even.reshape(height // 2, 2, width // 2, 2, 3).mean(axis=(1, 3))
    return levels, np.ascontiguousarray(np.concatenate(texels))


def changed_window(
    corners: Array, before: Array, after: Array, camera: Camera, width: int, height: int
) -> NDArray[np.int64]:
    """The window outside which two pictures are equal: left, top, right, bottom, pixels.

    Args:
        corners: (nb, m, 3), of the bounding box of each body that moved, in its frame, metres.
        before, after: the bodies' poses X_WB (nb, 4, 4).
        camera: of both pictures.
        width, height: of the picture, pixels.

    Returns:
        (4,), ends excluded; zeros if nothing moved within the picture; the whole picture if it
        would be most of it.
    """
    whole = np.array([0, 0, width, height])
    if not len(corners):
        return np.zeros_like(whole)
    X = np.concatenate([before, after])
    p_BQ = np.concatenate([corners] * 2)
    p_WQ = p_BQ @ X[:, :3, :3].transpose(0, 2, 1) + X[:, None, :3, 3]
    pixels, depth = camera.project(p_WQ.reshape(-1, 3), width, height)
    if depth.min() < _NEAREST:
        return whole
    first = np.floor((pixels.min(axis=0) - _PAD) / _STEP) * _STEP
    last = np.ceil((pixels.max(axis=0) + _PAD) / _STEP) * _STEP
    window = np.concatenate([first, last]).clip(0, [width, height] * 2).astype(np.int64)
    size = window[2:] - window[:2]
    if (size <= 0).any():
        return np.zeros_like(whole)
    return window if size.prod() < 0.8 * width * height else whole


# -- ambient occlusion -----------------------------------------------------------------------------
#
# From the depths alone, after L. Bavoil, M. Sainz, R. Dimitrov, Image-space horizon-based ambient
# occlusion, 2008: neighbours within a radius occlude a point by their slope over its tangent plane,
# the nearer the more.


def ambient_visibility(near: Any, focal: float) -> Array:
    """Share (h, w) of ambient light that reaches each pixel, in (0, 1], float32.

    Args:
        near: (h, w) float32, 1 / z in 1 / m; 0 for the background.
        focal: the picture's focal length, pixels.
    """
    height, width = near.shape
    x = ((np.arange(width) + 0.5 - 0.5 * width) / focal).astype(np.float32)
    y = ((np.arange(height) + 0.5 - 0.5 * height) / focal).astype(np.float32)[:, None]
    z = 1.0 / np.maximum(near, np.float32(1e-3))
    points = np.stack([z * x, z * y, z])  # in the camera's frame
    normals = _normals(near, x, y, focal)
    rows, columns = np.arange(height)[:, None], np.arange(width)[None]
    # The spiral's angle differs between the pixels of a tile, so that its mean has no pattern.
    turn = (rows % _TILE * _TILE + (columns + 2 * rows) % _TILE) * np.float32(2 * np.pi / _TILE**2)
    hidden = np.zeros((height, width), dtype=np.float32)
    for top in range(0, height, _STRIP):
        part = slice(top, top + _STRIP)
        radius = np.minimum(_RADIUS * focal * near[part], 0.5 * width)  # pixels
        for k in range(_SAMPLES):
            share = (k + 0.5) / _SAMPLES
            angle = turn[part] + np.float32(2.0 * np.pi * _TURNS * share)
            u = (columns + share * radius * np.cos(angle) + 0.5).astype(np.int32)
            v = (rows[part] + share * radius * np.sin(angle) + 0.5).astype(np.int32)
            at = v.clip(0, height - 1) * width + u.clip(0, width - 1)
            away = points.reshape(3, -1)[:, at] - points[:, part]
            square = np.maximum((away * away).sum(axis=0), np.float32(1e-9))
            steep = (away * normals[:, part]).sum(axis=0) / np.sqrt(square) - _BIAS
            hidden[part] += np.maximum(steep, 0.0) * np.maximum(1.0 - square / _RADIUS**2, 0.0)
    share = 1.0 - 2.0 * _STRENGTH / _SAMPLES * _tile_mean(hidden, z)
    return np.asarray(np.maximum(share, _DARKEST))


def _tile_mean(values: Any, z: Any) -> Any:
    """The mean (h, w) over a tile around each pixel, of pixels at a similar depth."""
    before = (_TILE - 1) // 2
    ends = (before, _TILE - 1 - before)
    padded, depths = (np.pad(each, (ends, ends), mode="edge") for each in (values, z))
    height, width = values.shape
    total, count = np.zeros_like(values), np.zeros_like(values)
    for i in range(_TILE):
        for j in range(_TILE):
            at = (slice(i, i + height), slice(j, j + width))
            alike = np.abs(depths[at] - z) < 0.03 * z
            total += alike * padded[at]
            count += alike
    return total / count


def _normals(near: Any, x: Any, y: Any, focal: float) -> Any:
    """Unit normals (3, h, w) towards the camera, its frame.

    On a plane 1 / z is linear in the picture, so its slopes give the normal. Of the backward and
    forward difference at each pixel, the smaller one doesn't cross an edge.
    """
    slopes = []
    for axis in (1, 0):
        step = np.diff(near, axis=axis)
        ends = [(0, 0), (0, 0)]
        ends[axis] = (1, 0)
        before = np.pad(step, ends, mode="edge")
        ends[axis] = (0, 1)
        after = np.pad(step, ends, mode="edge")
        slopes.append(np.where(np.abs(before) < np.abs(after), before, after))
    across, down = focal * slopes[0], focal * slopes[1]
    normals = -np.stack([across, down, near - x * across - y * down])
    return normals / np.maximum(np.sqrt((normals * normals).sum(axis=0)), 1e-9)
