"""Renderer on Drake's VTK engine: good pictures without a display, by EGL."""

from __future__ import annotations

from typing import Any

import numpy as np
from pydrake.geometry import (
    ClippingRange,
    ColorRenderCamera,
    LightParameter,
    RenderCameraCore,
    RenderEngineVtkParams,
    Rgba,
    Role,
    SsaoParameter,
)
from pydrake.math import RigidTransform
from pydrake.systems.sensors import CameraInfo

from galley.domain.frames import Array
from galley.domain.scene import Scene
from galley.robots.model import RobotModel
from galley.viz.changed_window import Window, changed_window
from galley.viz.picture import Image
from galley.viz.view import Camera
from galley.worlds.drake_world import RENDERER, DrakeWorld, rigid_transform

BACKGROUND = (0.86, 0.89, 0.92)
_RIM = 4  # pixels at a window's edge that edge smoothing gets wrong
_CLIPPING = ClippingRange(0.05, 30.0)  # m


class VtkRenderer:
    """See ``Renderer``.

    Args:
        scene, robot: what to draw.
        width, height: of the pictures, pixels.
        fine: with darkened corners (screen-space ambient occlusion): for single pictures.
    """

    name = "vtk"

    def __init__(
        self, scene: Scene, robot: RobotModel, width: int, height: int, fine: bool = False
    ) -> None:
        self.reason = ""
        self.width = width
        self.height = height
        self._world = DrakeWorld(scene, robot, render=True, look=_look(fine))
        self._bodies, self._corners = self._boxes()
        # Ambient occlusion reaches outside of what moves: only whole pictures are right then.
        self._windows = not fine
        self._camera: Camera | None = None
        self._poses = np.zeros((0, 4, 4))
        self._picture: Image = np.zeros((height, width, 3), dtype=np.uint8)

    def render(self, q: Array, scene_q: Array, items: Array, camera: Camera) -> Image:
        """See ``Renderer.render``."""
        self._world.set_arrays(q, scene_q, items)
        poses = self._body_poses()
        window: Window | None = None
        if self._camera is not None and camera.same(self._camera):
            window = changed_window(
                self._corners, self._poses, poses, camera, self.width, self.height
            )
            if window is not None and not self._windows and window.width:
                window = None
        self._camera, self._poses = camera, poses
        if window is None:
            window = Window(0, 0, self.width, self.height)
        if window.width:
            part = self._draw(camera, window)
            if window.width == self.width and window.height == self.height:
                picture = part
            else:
                # Edge smoothing lacks the neighbours at the window's own edge: leave that out.
                picture = self._picture.copy()
                a, b = _inset(window.left, window.right, self.width)
                c, d = _inset(window.top, window.bottom, self.height)
                inner = part[c - window.top : d - window.top, a - window.left : b - window.left]
                picture[c:d, a:b] = inner
            picture.setflags(write=False)
            self._picture = picture
        return self._picture

    def close(self) -> None:
        """See ``Renderer.close``."""
        self._world.close()

    def _draw(self, camera: Camera, window: Window) -> Image:
        focal = camera.focal(self.height)
        lens = CameraInfo(
            width=window.width,
            height=window.height,
            focal_x=focal,
            focal_y=focal,
            center_x=0.5 * self.width - window.left,
            center_y=0.5 * self.height - window.top,
        )
        core = RenderCameraCore(RENDERER, lens, _CLIPPING, RigidTransform())
        query: Any = self._world.query_object()
        frame = self._world.scene_graph.world_frame_id()
        picture = query.RenderColorImage(
            ColorRenderCamera(core), frame, rigid_transform(camera.X_WC)
        )
        return np.ascontiguousarray(picture.data[..., :3], dtype=np.uint8)

    def _body_poses(self) -> Array:
        X = [body.EvalPoseInWorld(self._world.context).GetAsMatrix4() for body in self._bodies]
        return np.array(X, dtype=np.float64)

    def _boxes(self) -> tuple[list[Any], Array]:
        """Every body that can be seen, and the corners (nb, m, 3) of boxes round its shapes."""
        inspector = self._world.scene_graph.model_inspector()
        corners: dict[object, list[Array]] = {}
        bodies = {}
        signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
        for geometry in inspector.GetAllGeometryIds(Role.kPerception):
            frame = inspector.GetFrameId(geometry)
            box = inspector.GetObbInGeometryFrame(geometry)
            X_BO = (inspector.GetPoseInFrame(geometry) @ box.pose()).GetAsMatrix4()
            p_BQ = (signs * box.half_width()) @ X_BO[:3, :3].T + X_BO[:3, 3]
            corners.setdefault(frame, []).append(p_BQ)
            bodies[frame] = self._world.plant.GetBodyFromFrameId(frame)
        boxed = []
        for shapes in corners.values():  # one box round all shapes of a body
            points = np.concatenate(shapes)
            low, high = points.min(axis=0), points.max(axis=0)
            boxed.append(0.5 * (low + high) + 0.5 * signs * (high - low))
        return list(bodies.values()), np.array(boxed)


def _inset(first: int, last: int, size: int) -> tuple[int, int]:
    """A range of pixels without its outermost ones, unless they are the picture's own edge."""
    return (first + _RIM if first > 0 else 0), (last - _RIM if last < size else size)


def _look(fine: bool) -> RenderEngineVtkParams:
    """A lamp up in the room towards the kitchen, and a softer one at the camera. No shadows.

    Shadows would halve the speed, and the lamp at the camera would cast them too. The engine has no
    ambient light: what no lamp reaches is black. Hence the one at the camera.
    """
    lamps = [
        _lamp("world", (-0.62, -0.34, -0.70), 0.78 if fine else 0.66),
        _lamp("camera", (0.12, 0.18, 1.0), 0.62 if fine else 0.57),
    ]
    look = RenderEngineVtkParams(
        default_clear_color=np.array(BACKGROUND), default_diffuse=None, lights=lamps
    )
    if fine:
        look.ssao = SsaoParameter()
    return look


def _lamp(frame: str, direction: tuple[float, float, float], intensity: float) -> LightParameter:
    return LightParameter(
        type="directional",
        frame=frame,
        direction=np.array(direction),
        intensity=intensity,
        color=Rgba(1.0, 1.0, 1.0),
    )
