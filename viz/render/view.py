"""Camera: where a picture is taken from, and where a point of the world falls in it.

Frames: W the world; C the camera, x to the right of the picture, y down, z away from the viewer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from galley.domain.frames import Array, frozen, transform

Image = NDArray[np.uint8]
"""A picture (h, w, 3): red, green, blue, rows from the top."""

FOV = float(np.radians(42.0))


@dataclass(frozen=True)
class Camera:
    """A pinhole camera held level (the world's z is up in the picture).

    Attributes:
        position: p_WC (3,), metres.
        target: the point (3,) in the middle of the picture, metres; not straight above or below.
        fov: vertical field of view, radians.
    """

    position: Array
    target: Array
    fov: float = FOV

    def __post_init__(self) -> None:
        object.__setattr__(self, "position", frozen(self.position))
        object.__setattr__(self, "target", frozen(self.target))
        level = np.linalg.norm((self.target - self.position)[:2])
        if level < 1e-6:
            raise ValueError("a camera can't look straight up or down: 'up' would be undefined")

    @property
    def X_WC(self) -> Array:
        """Pose (4, 4) of the camera frame C in the world."""
        z = self.target - self.position
        z = z / np.linalg.norm(z)
        x = np.cross(z, (0.0, 0.0, 1.0))
        x /= np.linalg.norm(x)
        return transform(np.stack([x, np.cross(z, x), z], axis=1), self.position)

    def focal(self, height: int) -> float:
        """Focal length in pixels for a picture of this height."""
        return float(0.5 * height / np.tan(0.5 * self.fov))

    def same(self, other: Camera) -> bool:
        """Whether both take the same picture."""
        return bool(
            self.fov == other.fov
            and np.array_equal(self.position, other.position)
            and np.array_equal(self.target, other.target)
        )

    def project(self, points: Array, width: int, height: int) -> tuple[Array, Array]:
        """Where points of the world fall in a picture.

        Args:
            points: (k, 3), metres, world frame.
            width, height: of the picture, pixels.

        Returns:
            Pixels (k, 2) from the top left corner (NaN behind the camera), and depths (k,), metres.
        """
        X = self.X_WC
        p_C = (np.asarray(points, dtype=np.float64) - X[:3, 3]) @ X[:3, :3]
        depth = p_C[:, 2]
        ahead = np.where(depth > 1e-6, depth, np.nan)
        centre = np.array([0.5 * width, 0.5 * height])
        return centre + self.focal(height) * p_C[:, :2] / ahead[:, None], depth
