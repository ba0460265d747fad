"""Pictures of a PyBulletWorld by Bullet's software renderer: slow, but it needs no OpenGL."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from galley.domain.frames import Array
from galley.worlds.bullet import pybullet as pb
from galley.worlds.pybullet_world import PyBulletWorld

_NEAR, _FAR = 0.05, 30.0  # m
_LIGHT_FROM = (2.0, 1.2, 2.6)  # a direction towards the light


class PyBulletCamera:
    """Takes pictures of a world as it stands.

    Args:
        world: what to look at; set its state before each picture.
        width, height: of the pictures, pixels.
    """

    def __init__(self, world: PyBulletWorld, width: int, height: int) -> None:
        self.world = world
        self.width = width
        self.height = height

    def picture(self, position: Array, target: Array, fov: float) -> NDArray[np.uint8]:
        """The view from ``position`` to ``target`` (3,), metres, world z up.

        Args:
            position: where the camera is.
            target: what is in the middle of the picture.
            fov: vertical field of view, radians.

        Returns:
            (height, width, 3) red, green, blue.
        """
        view = pb.computeViewMatrix(list(position), list(target), [0.0, 0.0, 1.0])
        projection = pb.computeProjectionMatrixFOV(
            float(np.degrees(fov)), self.width / self.height, _NEAR, _FAR
        )
        _, _, pixels, _, _ = pb.getCameraImage(
            self.width,
            self.height,
            view,
            projection,
            lightDirection=_LIGHT_FROM,
            lightAmbientCoeff=0.55,
            lightDiffuseCoeff=0.45,
            lightSpecularCoeff=0.0,
            shadow=0,
            flags=pb.ER_NO_SEGMENTATION_MASK,
            renderer=pb.ER_TINY_RENDERER,
            physicsClientId=self.world.client,
        )
        rgba = np.asarray(pixels, dtype=np.uint8).reshape(self.height, self.width, 4)
        return np.ascontiguousarray(rgba[..., :3])
