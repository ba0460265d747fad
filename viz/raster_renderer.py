"""Renderer of our own: compiled triangles on one core, no graphics library, no display.

What makes it fast enough to film a run while it lasts: furniture that never moves is drawn once for
each place of the camera and kept with its depths; after that, only the window that holds what moved
is drawn anew, over a copy of that. Light is diffuse, from two lamps and from all around.
"""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np

from galley.compiled.jit import first_use
from galley.domain.frames import Array, inverse
from galley.domain.scene import Scene
from galley.robots.model import RobotModel
from galley.viz.changed_window import Window, changed_window
from galley.viz.meshes import Mesh, Pixels, joined
from galley.viz.picture import Image
from galley.viz.scene_meshes import SceneMeshes
from galley.viz.view import Camera

RASTERISER = "the film's renderer"
BACKGROUND = (0.86, 0.89, 0.92)
_AMBIENT = 0.10
_LAMP = ((-0.62, -0.34, -0.70), 0.62)  # in the world: where its light goes, and how strong it is
_AT_CAMERA = ((0.12, 0.18, 1.0), 0.52)  # in the camera's frame
_one_at_a_time = threading.Lock()  # around what may have to compile
_FARTHEST = 1e6  # m
_UNSEEN = 2e-5  # m or rad: a fiftieth of a pixel, at the distance that films are taken from
_LEVELS = 12  # halvings of a texture, at most


@dataclass(frozen=True)
class _Group:
    """Bodies that are drawn together, as the kernel's arrays."""

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


class RasterRenderer:
    """See ``Renderer``.

    Args:
        scene, robot: what to draw.
        width, height: of the pictures, pixels.
    """

    name = "raster"

    def __init__(self, scene: Scene, robot: RobotModel, width: int, height: int) -> None:
        from galley.viz import raster_kernel  # late: Numba takes a while to load

        self.reason = ""
        self.width = width
        self.height = height
        self._kernel = raster_kernel
        self._meshes = SceneMeshes(scene, robot)
        meshes, still = self._meshes.meshes, self._meshes.still
        self._still = _group(meshes[:still], slice(0, still))
        self._moving = _group(meshes[still:], slice(still, len(meshes)))
        self._corners = np.array([_corners(mesh) for mesh in meshes])
        rows = raster_kernel.ROWS * height
        r, g, b = (round(255 * part) for part in BACKGROUND)
        self._background = np.uint32(r | g << 8 | b << 16)
        # The furniture's samples, and those of the whole picture.
        self._behind = (np.zeros((rows, width), np.float32), np.zeros((rows, width), np.uint32))
        self._samples = (np.zeros((rows, width), np.float32), np.zeros((rows, width), np.uint32))
        self._corner = np.zeros((4, 6))  # the kernel's scratch
        self._first = True
        self._behind_holds = False  # for the camera's place now
        self._camera: Camera | None = None
        self._poses = np.zeros((0, 4, 4))
        self._picture: Image = np.zeros((height, width, 3), dtype=np.uint8)

    def render(self, q: Array, scene_q: Array, items: Array, camera: Camera) -> Image:
        """See ``Renderer.render``."""
        poses = self._meshes.poses(q, scene_q, items)
        if not (np.abs(poses) < _FARTHEST).all():
            raise ValueError("something is infinitely far away, or nobody knows where")
        rests = self._camera is not None and camera.same(self._camera)
        window: Window | None = None
        if rests:
            # Physics never rests: what trembles below sight counts as where it was drawn last.
            moved = np.abs(poses - self._poses).max(axis=(1, 2)) > _UNSEEN
            poses = np.where(moved[:, None, None], poses, self._poses)
            window = changed_window(
                self._corners, self._poses, poses, camera, self.width, self.height, False
            )
            if window is not None and window.width <= 0:
                return self._picture
        self._camera, self._poses = camera, poses
        window = window or Window(0, 0, self.width, self.height)
        with _one_at_a_time if self._first else contextlib.nullcontext(), first_use(RASTERISER):
            self._draw(window, poses, camera, rests)
        self._first = False
        return self._picture

    def close(self) -> None:
        """See ``Renderer.close``."""

    def _draw(self, window: Window, poses: Array, camera: Camera, rests: bool) -> None:
        """Draw the window anew, from furniture that is kept while the camera rests."""
        kernel = self._kernel
        part = np.array([window.left, window.top, window.right, window.bottom])
        whole = np.array([0, 0, self.width, self.height])
        near, color = self._samples
        if not rests:  # kept only where it will be used: copying takes longer than one would think
            self._behind_holds = False
            kernel.wipe(near, color, self._background)
            self._draw_group(self._still, whole, poses, camera, near, color)
        else:
            if not self._behind_holds:
                kernel.wipe(*self._behind, self._background)
                self._draw_group(self._still, whole, poses, camera, *self._behind)
                self._behind_holds = True
            kernel.take_over(part, *self._behind, near, color)
        self._draw_group(self._moving, part, poses, camera, near, color)
        picture = self._picture.copy()
        kernel.resolve(part, color, picture)
        picture.setflags(write=False)
        self._picture = picture

    def _draw_group(
        self, group: _Group, window: Any, poses: Array, camera: Camera, near: Any, color: Any
    ) -> None:
        X_CW = inverse(camera.X_WC)
        X_CB = np.ascontiguousarray((X_CW @ poses[group.bodies])[:, :3], dtype=np.float32)
        lens = np.array([camera.focal(self.height), 0.5 * self.width, 0.5 * self.height])
        lens = lens.astype(np.float32)
        direction = X_CW[:3, :3] @ np.array(_LAMP[0])
        lamps = np.array(
            [
                [*_towards(direction), _LAMP[1]],
                [*_towards(np.array(_AT_CAMERA[0])), _AT_CAMERA[1]],
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
    """The unit vector (3,) towards a lamp whose light goes in a direction (3,)."""
    return -direction / np.linalg.norm(direction)


def _corners(mesh: Mesh) -> Array:
    """Corners (8, 3) of the box round a mesh."""
    signs = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)])
    if not len(mesh.points):
        return np.zeros((8, 3))
    low, high = mesh.points.min(axis=0), mesh.points.max(axis=0)
    return np.asarray(low + signs * (high - low))


def _group(meshes: tuple[Mesh, ...], bodies: slice) -> _Group:
    mesh = joined(meshes)
    levels, texels = _pyramids(mesh.textures)
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


def _pyramids(textures: tuple[Pixels, ...]) -> tuple[Any, Any]:
    """The kernel's table of textures, each at full size and halved again and again."""
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
