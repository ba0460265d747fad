"""Pictures of tables: goal, body and pusher, optionally arm and target; in compiled code.

x runs to the right and y downwards, and the colours are gym-pusht's. Pictures are anti-aliased:
each pixel is mixed by the exact share of it that is covered. Bodies have outlines if these are at
least a pixel wide.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from galley.compiled.build import PUSHING, ensure
from galley.domain.frames import Array
from galley.planar.pushing.arm import PushArm
from galley.planar.pushing.config import PushConfig
from galley.planar.pushing.simulation import PushSimulation, PushState

Picture = NDArray[np.uint8]
"""A picture (h, w, 3), or n pictures (n, h, w, 3)."""

SIZE = 96  # pixels, of observations
_LINE = 0.002  # m, width of outlines
_LINK, _JOINT, _BASE = 0.012, 0.009, 0.016  # m: width of the links, radii
_CROSS = 0.008  # m, half of the target's cross
_ROUND = 48  # vertices of a disc


def _colors(*colors: tuple[int, int, int]) -> Picture:
    return np.array(colors, dtype=np.uint8)


BODY, BODY_LINE, PUSHER, PUSHER_RIM = _colors(
    (143, 163, 184), (119, 136, 153), (78, 126, 255), (65, 105, 225)
)
_PAINTED = np.array([BODY, BODY_LINE, PUSHER, PUSHER_RIM])
TABLE, FLOOR, EDGE, GOAL, GOAL_LINE = _colors(
    (255, 255, 255), (232, 234, 237), (168, 173, 180), (144, 238, 144), (46, 139, 87)
)
LINK, JOINT, TARGET = _colors((240, 150, 60), (70, 74, 82), (198, 40, 40))


@dataclass(frozen=True)
class PictureArea:
    """The part of the plane that a picture shows.

    Attributes:
        width, height: of the picture, pixels.
        left, top: x and y of the upper left corner, m.
        scale: pixels/m.
    """

    width: int
    height: int
    left: float
    top: float
    scale: float

    def pixels(self, p_W: ArrayLike) -> Array:
        """Points (..., 2), m, of the world in pixels."""
        return (np.asarray(p_W, dtype=np.float64) - (self.left, self.top)) * self.scale

    def place(self, pixel: ArrayLike) -> Array:
        """The points (..., 2), m, of the world that pixels (..., 2) show."""
        return np.asarray(pixel, dtype=np.float64) / self.scale + (self.left, self.top)


def view_of(low: ArrayLike, high: ArrayLike, width: int, height: int) -> PictureArea:
    """The closest view of the rectangle between two corners (2,), m, which is in the middle.

    Raises:
        ValueError: a size (pixels) below 1.
    """
    if min(width, height) < 1:
        raise ValueError(f"a picture of {width} x {height} pixels: both must be at least 1")
    low, high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    size = np.array([width, height])
    scale = float((size / (high - low)).min())
    left, top = (low + high) / 2.0 - size / scale / 2.0
    return PictureArea(width, height, float(left), float(top), scale)


def table_view(config: PushConfig, size: int = SIZE) -> PictureArea:
    """The view of a table in a square picture of a side in pixels."""
    return view_of((0.0, 0.0), (config.width, config.height), size, size)


class Painter:
    """Paints the tables of one simulation.

    Attributes:
        view: the part of the plane that its pictures show.
        background: (h, w, 3), the table with the goal.

    Args:
        sim: the simulation.
        view: None: the table in 96 x 96 pixels.
    """

    def __init__(self, sim: PushSimulation, view: PictureArea | None = None) -> None:
        from galley.planar.pushing import picture_kernel

        ensure(PUSHING)
        self._kernel, config = picture_kernel, sim.config
        self.view = view or table_view(config)
        self._arm, self._goal = PushArm(config.arm), self.view.pixels(sim.goal.vertices)
        self._outline = np.array(sim.body.vertices)
        view, line = self.view, _LINE * self.view.scale
        self._line = line if line >= 1.0 else 0.0
        self._rim = _disc(config.pusher_radius)
        self._disc = self._rim * max(0.0, 1.0 - self._line / view.scale / config.pusher_radius)
        self._numbers = np.array([view.left, view.top, view.scale, self._line])
        self.background = np.empty((view.height, view.width, 3), dtype=np.uint8)
        self.background[:] = FLOOR
        w, h = config.width, config.height
        table = view.pixels([(0.0, 0.0), (w, 0.0), (w, h), (0.0, h)])
        self._fill(self.background, table, TABLE)
        self._stroke(self.background, table, EDGE, 4)
        self._fill(self.background, self._goal, GOAL)

    def __deepcopy__(self, memo: object) -> Painter:
        """Itself: nothing in it changes."""
        return self

    def observe(self, state: PushState) -> Picture:
        """Pictures (n, h, w, 3) of n tables: goal, body, pusher."""
        shape = (state.values.shape[1], *self.background.shape)
        pictures = np.empty(shape, dtype=np.uint8)
        self._kernel.paint(
            state.values, self._outline, self._rim, self._disc, self._numbers, _PAINTED,
            self.background, pictures,
        )  # fmt: skip
        return pictures

    def draw(
        self, values: Array, angles: ArrayLike | None = None, target: ArrayLike | None = None
    ) -> Picture:
        """A picture (h, w, 3) for people: the goal's outline shows through the body.

        Args:
            values: (11,), state of one table, see ``simulation_kernel``.
            angles: (N,), of the arm above the table, rad; None: no arm.
            target: (2,), of the pusher, m, shown as a cross; None: no cross.
        """
        picture: Picture = self.observe(PushState(np.array(values)[:, None]))[0]
        self._stroke(picture, self._goal, GOAL_LINE, len(self._goal), opacity=0.7)
        if angles is not None:
            self._hang(picture, self._arm.points(angles))
        if target is not None:
            to = np.asarray(target, dtype=np.float64)
            for way in ((_CROSS, 0.0), (0.0, _CROSS)):
                ends = self.view.pixels([to - way, to + way])
                self._stroke(picture, ends, TARGET, width=1.5 * _LINE * self.view.scale)
        return picture

    def dot(
        self, picture: Picture, point: ArrayLike, radius: float, color: Picture, opacity: float
    ) -> None:
        """Paint a disc at a point (2,), m, with a radius (m), over a picture."""
        points = self.view.pixels(np.asarray(point) + _disc(radius))
        self._kernel.fill(picture, np.ascontiguousarray(points), color, opacity)

    def _hang(self, picture: Picture, points: Array) -> None:
        """Paint the arm with joints ``points`` (N + 1, 2), m; its links are transparent."""
        p, scale = self.view.pixels(points), self.view.scale
        self._stroke(picture, p, LINK, len(p) - 1, _LINK * scale, 0.75)
        for k, joint in enumerate(p):
            radius = _BASE if k == 0 else _JOINT
            self._fill(picture, joint + scale * _disc(radius), JOINT)
            if k < len(p) - 1:
                self._fill(picture, joint + scale * _disc(0.5 * radius), LINK)

    def _fill(self, picture: Picture, points: Array, color: Picture) -> None:
        self._kernel.fill(picture, np.ascontiguousarray(points), color, 1.0)

    def _stroke(
        self,
        picture: Picture,
        points: Array,
        color: Picture,
        segments: int = 1,
        width: float | None = None,
        opacity: float = 1.0,
    ) -> None:
        points = np.ascontiguousarray(points)
        width = self._line if width is None else width
        self._kernel.stroke(picture, points, segments, width, color, opacity)


def _disc(radius: float) -> Array:
    """A regular polygon (m, 2) about the origin, m, with the area of a disc of this radius (m)."""
    turn = 2.0 * np.pi / _ROUND
    angle = turn * np.arange(_ROUND)
    reach = radius * np.sqrt(turn / np.sin(turn))
    return np.asarray(reach * np.stack([np.cos(angle), np.sin(angle)], axis=1))
