"""Pictures, and what every renderer does: the interface, apart from the engines behind it."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from galley.domain.frames import Array
from galley.viz.view import Camera

Image = NDArray[np.uint8]


class Renderer(Protocol):
    """Makes pictures of one scene with one robot, all of the same size.

    Attributes:
        name: ``raster``, ``vtk`` or ``tiny``.
        reason: why this one was chosen, in a sentence.
    """

    name: str
    reason: str

    def render(self, q: Array, scene_q: Array, items: Array, camera: Camera) -> Image:
        """The picture (h, w, 3), for one row of a log. It may be read-only: copy before drawing.

        Args:
            q: robot configuration (n,).
            scene_q: scene joint values (nj,).
            items: item poses (ni, 7): x, y, z, qx, qy, qz, qw.
            camera: where from.
        """
        ...

    def close(self) -> None:
        """Give back what the renderer holds."""
        ...
