"""The closed hand as a pusher: how it leans, how high it is, where it reaches and has room.

The hand points down or leans, with its fingers closed. It pushes with a corner of their section,
whose sides are at 45 degrees to the direction of the push. So seen from above a point pushes the
item, which is the case that ``planar.pushing`` predicts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from galley.domain.frames import Array, plane_poses, rotation_about, rotation_z, transform
from galley.robots.model import RobotModel
from galley.skills.manipulation import hand

if TYPE_CHECKING:
    from galley.planar.pushing.straight import Slider

ROUNDING = 0.003  # m, radius of a corner of the fingers
_OVER_SUPPORT, _OVER_ITEM = 0.006, 0.008  # m: fingertips over the support, palm over the item
_GRIPS = 0.01  # m of an item's height that the fingers of a leaning hand must meet
_TURNS, _FAR, _FARS = 24, 0.04, 33  # table ``reached``: turns, step (m) and number of distances
_TURN = 2.0 * np.pi / _TURNS
_REDUNDANT = 8  # values of the redundant joint tried at each entry of the table
_LEANS = np.radians([0.0, 25.0, -25.0, 45.0, -45.0])  # of the hand, so that the arm reaches farther
_QUADRANTS = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
_PRESSED = 0.003  # m that the fingers may be in the item during a push, as predicted
_LOOKED = 4  # the hand's room is checked at every fourth pose of a push


@dataclass(frozen=True, eq=False)
class Pusher:
    """The closed hand, upright or leaning about its y axis, and the corner that pushes.

    Attributes:
        X_UT: the grasp frame T (4, 4) in the frame U of the upright hand, whose z points down.
        low: z of the fingertips in U, m.
        height: height of the fingertips over the support, m.
        corner: x, y in U of the fingers' farthest point in the quadrant, below the item's top (2,).
        quadrant: the signs of x and y of the corner (2,).
    """

    X_UT: Array
    low: float
    height: float
    corner: Array
    quadrant: Array

    @property
    def overhang(self) -> float:
        """Slope of the fingers over the item: forwards per upwards; negative if they lean back."""
        up = -self.X_UT[:3, 2]
        return float(up[:2] @ self.quadrant / np.linalg.norm(self.quadrant) / -up[2])

    def hands(self, points: Array, directions: Array, support: float) -> Array:
        """Grasp frames X_WT (n, 4, 4) of the pushing hand.

        Args:
            points: x, y of the pushing corner (n, 2), in the world.
            directions: unit vectors of the pushes (n, 2).
            support: height of the support, m.
        """
        turn = np.array([1.0, -1.0])  # seen from above
        (x, y), (u, v) = self.corner * turn, self.quadrant * turn
        yaw = np.arctan2(directions[:, 1], directions[:, 0]) - np.arctan2(v, u)
        c, s = np.cos(yaw), np.sin(yaw)
        middle = points + ROUNDING * directions - np.stack([c * x - s * y, s * x + c * y], axis=1)
        X = plane_poses(np.column_stack([middle, yaw])) @ np.diag([1.0, -1.0, -1.0, 1.0])
        X[:, 2, 3] = support + self.height + self.low
        return np.asarray(X @ self.X_UT)


@lru_cache(maxsize=8)
def _fingers(robot: RobotModel) -> tuple[hand.ConvexPart, ...]:
    """The parts of the closed fingers, in the frame T."""
    return tuple(part for part in hand.hand_parts(robot, 0.0) if part.name in robot.fingers)


def _lowest(parts: Sequence[hand.ConvexPart], X_UT: Array) -> float:
    """z in U (m), which points down, of the lowest point of some parts in the frame T."""
    return float(max((part.solid.vertices @ X_UT[2, :3]).max() for part in parts))


@lru_cache(maxsize=64)
def pushers(robot: RobotModel, top: float) -> tuple[Pusher, ...]:
    """The pushers for an item with its top at a height (m), the upright ones first.

    Each is as low as the support allows, and as the palm allows, which passes over the item. Leans
    at which the fingers would then hardly meet the item are left out.
    """
    fingers, ways = _fingers(robot), list[Pusher]()
    others = [part for part in hand.hand_parts(robot, 0.0) if part not in fingers]
    for lean in _LEANS:
        X_UT = transform(rotation_about((0.0, 1.0, 0.0), lean))
        low = _lowest(fingers, X_UT)
        length = low - _lowest(others, X_UT)
        height = max(_OVER_SUPPORT, top + _OVER_ITEM - length)
        if ways and top - height < _GRIPS:
            continue
        z = low - min(top - height, length - 1e-3)  # at the item's top, and what is below
        solids = [finger.solid.moved(X_UT) for finger in fingers]
        points = [v[v[:, 2] > z, :2] for v in (solid.vertices for solid in solids)]
        rim = np.concatenate(points + [solid.section(z) for solid in solids])
        for signs in _QUADRANTS:
            ways.append(Pusher(X_UT, low, height, rim[(rim @ signs).argmax()], signs))
    return tuple(ways)


@lru_cache(maxsize=16)
def reached(robot: RobotModel, top: float, support: float) -> NDArray[np.uint64]:
    """A table (turns, distances) of the pushers that the arm reaches, by inverse kinematics.

    Rows: the angle between the push and the direction from the shoulder to its point, in steps of
    ``_TURN``. Columns: the distance from the shoulder to that point, seen from above, in steps of
    ``_FAR``. The base faces the point. Bit k of an entry stands for pusher k.

    Args:
        top: height of the item's top over the support, m.
        support: height of the support over the floor, m.
    """
    kinematics, far = robot.kinematics, _FAR * np.arange(_FARS)
    redundant = kinematics.redundant_values(_REDUNDANT, np.random.default_rng(0))
    table = np.zeros((_TURNS, _FARS), dtype=np.uint64)
    for k, pusher in enumerate(pushers(robot, top)):
        X_WT = pusher.hands(np.zeros((1, 2)), np.array([[1.0, 0.0]]), support)[0]
        X_WH = X_WT @ transform(None, -robot.p_HT)
        for bearing, row in zip(-_TURN * np.arange(_TURNS), table, strict=True):
            way = np.array([np.cos(bearing), np.sin(bearing)])
            foot = rotation_z(bearing)[:2, :2] @ kinematics.reach.p_BS[:2]
            bases = np.column_stack([np.outer(-far, way) - foot, np.full(_FARS, bearing)])
            good = kinematics.best_configurations(X_WH, bases, redundant)[1].min(axis=1) > 0.0
            row |= good.astype(np.uint64) << np.uint64(k)
    return table


def reach_cells(turn: Array, far: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Indices in the table ``reached`` of turns (rad) and distances (m)."""
    cells = np.rint(np.asarray(turn) / _TURN).astype(np.int64) % _TURNS
    return cells, np.minimum(np.rint(np.asarray(far) / _FAR).astype(np.int64), _FARS - 1)


def has_bit(masks: NDArray[np.uint64], k: int) -> NDArray[np.bool_]:
    """Whether bit k of each mask is set."""
    return np.asarray(masks >> np.uint64(k) & np.uint64(1), dtype=bool)


class HandRoom:
    """In which pushes the fingers have room beside the item; each is checked only once.

    The palm always has room, for it passes over the item.

    Args:
        slider: the item as the planner of pushes knows it.
        solids: the item's convex parts, its underside at z = 0.
        every: the pushers.
        usable: which of them may be used.
    """

    def __init__(
        self, robot: RobotModel, slider: Slider, solids: Sequence[hand.ConvexPart],
        every: Sequence[Pusher], usable: NDArray[np.bool_],
    ) -> None:  # fmt: skip
        self.slider, self.pushers, self.usable = slider, every, usable
        self._robot, self._solids = robot, solids
        self._free: dict[int, NDArray[np.bool_]] = {}
        self._known: dict[int, NDArray[np.bool_]] = {}

    def fits(self, pusher: Pusher, points: Array, along: Array, poses: Array) -> NDArray[np.bool_]:
        """Whether the fingers have room along pushes: for each push and place (r, p).

        They must be outside the item at the start, and hardly in it at each place.

        Args:
            points: places of the pusher (r, p, 2).
            along: directions of the pushes (r, 2).
            poses: poses of the item at these times (r, p, 3).
        """
        shape = points.shape[:2]
        X_WT = pusher.hands(points.reshape(-1, 2), np.repeat(along, shape[1], axis=0), 0.0)
        X_IT = np.linalg.inv(plane_poses(poses.reshape(-1, 3))) @ X_WT
        deep = [hand.overlaps(f, X_IT, s) for f in _fingers(self._robot) for s in self._solids]
        deepest = np.max(deep, axis=0).reshape(shape)
        return np.asarray((deepest < _PRESSED) & (deepest[:, :1] == 0.0))

    def free(self, k: int, push: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether pusher k has room in pushes of the slider up to some of their poses: (n,).

        Args:
            push: indices of the pushes (n,).
            end: index of the last pose of each (n,).
        """
        if not self.usable[k]:
            return np.zeros(len(push), dtype=bool)
        grid = self.slider.pushes
        if k not in self._free:
            self._known[k] = np.zeros(len(grid.starts), dtype=bool)
            self._free[k] = np.zeros(grid.motions.shape[:2], dtype=bool)
        new = np.unique(push[~self._known[k][push]])
        if len(new):
            self._known[k][new], last = True, grid.motions.shape[1] - 1
            looked = np.append(np.arange(0, last, _LOOKED), last)
            points, poses = grid.centres(new, looked), grid.motions[new][:, looked]
            fits = self.fits(self.pushers[k], points, grid.along[new], poses)
            good = np.logical_and.accumulate(fits, axis=1)
            self._free[k][new] = good[:, np.searchsorted(looked, np.arange(last + 1))]
        return self._free[k][push, end]
