"""Pushes of the closed hand: the item on its support, and the lines of the hand.

The planner of pushes (``planar.pushing``) knows an item by the outline of the shapes that the
fingers meet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from galley.collision.backends.urdf import inertial
from galley.collision.checker import Pair, pairs
from galley.domain.frames import Array, frozen, plane_poses, rotation_z, transform
from galley.domain.predicates import GAP, corners
from galley.domain.scene.model import Item, Region, Scene, Stance
from galley.domain.state import State, item_pose, placement_at
from galley.motion.guarded_approach import fastest
from galley.motion.motion import Guard, Slide, yaw_of
from galley.motion.thresholds import THRESHOLDS
from galley.robots.model import RobotModel
from galley.skills.base_placement.stances import places, sample_headings
from galley.skills.manipulation import hand
from galley.skills.manipulation.contacts import supports_of
from galley.skills.manipulation.context import PlanningContext
from galley.skills.manipulation.manipulation import (
    APPROACH_SPEED,
    LOWER_SPEED,
    Line,
    Manipulation,
    shifted,
    straight,
)
from galley.skills.manipulation.polyhedra import polyhedron
from galley.skills.manipulation.pushers import (
    ROUNDING,
    HandRoom,
    has_bit,
    pushers,
    reach_cells,
    reached,
)
from galley.skills.placing import footprints
from galley.skills.placing.footprints import Footprint, gaps, padded, placed

if TYPE_CHECKING:
    from galley.planar.pushing.straight import Slider, StraightPush

STRONGEST = THRESHOLDS.stop_force - THRESHOLDS.push_excess  # N, greatest force of a push
_FORCE, _LEAST = 2.5, 12.0  # a push is stuck at this times the friction, and at least this many N
_SPEED = 0.10  # m/s of the hand at most: then an item slides on by a millimetre or two
_EARLY = 2.0  # when the hand meets the item, it is this much slower than at its fastest
_BACK = 0.02  # m, straight back after a push
_DRAWN, _BASES = 4096, 256  # base poses drawn, and checked: the arm must reach from one of them
_BEYOND = 0.06  # m, things this near to the edge of a support may be in the way of an overhang
INSIDE = 0.015  # m, least distance of the centre of mass from the edge of an overhang
_FLAT = 0.1  # rad, an item that is tilted by less lies on a face
_LEVEL = 0.001  # m, greatest difference in height between the surfaces of one support
_HOLDS = 0.8  # greatest slope of leaning fingers, as a share of their friction with the item
_LIGHT = 0.25  # kg times friction, measured: a lighter item doesn't lift the hand
_SAME = 0.001  # m that the part which a raised hand meets may differ from that of a low hand
_TURNED = np.linspace(-np.pi, np.pi, 73)
_WAYS = np.array([np.cos(_TURNED), np.sin(_TURNED)])
_BESIDE = 0.2  # m, things nearer to an item than this may be in the hand's way


def surface_about(scene: Scene, region: Region) -> Region:
    """The whole support: all surfaces of a region's body at its height, as one region.

    A region that is not one of the scene's is returned as it is.
    """
    if all(r is not region for r in scene.regions):
        return region
    same = [r for r in scene.regions if (r.body, r.kind) == (region.body, "surface")]
    boxes = np.concatenate([r.boxes for r in same])
    level = np.abs(boxes[:, 0, 2] - region.boxes[0, 0, 2]) < _LEVEL
    return replace(region, boxes=frozen(boxes[level]))


@dataclass(frozen=True, eq=False)
class PushedItem:
    """An item that is to be pushed, on its surface.

    Attributes:
        context: the scene, the robot and its hand.
        state: where everything is.
        index: the item's index in the scene.
        surface: the surface that it is on, see ``surface_about``.
        X_WB: pose of the surface's body (4, 4).
        X_WI: pose of the item (4, 4).
        pose: x, y, yaw of the item in the world (3,).
        lying: its pose (4, 4) in a frame below its middle, with the underside at z = 0 and yaw 0.
    """

    context: PlanningContext
    state: State
    index: int
    surface: Region
    X_WB: Array
    X_WI: Array
    pose: Array
    lying: Array

    @classmethod
    def of(cls, context: PlanningContext, state: State, index: int, region: Region) -> PushedItem:
        """The item ``index`` on the surface to which a region belongs."""
        scene = context.scene
        X_WI = item_pose(scene, state, index, np.eye(4))
        pose = np.array([*X_WI[:2, 3], yaw_of(X_WI)])
        R = rotation_z(-pose[2]) @ X_WI[:3, :3]
        if np.abs(R - np.round(R)).max() < _FLAT:  # rounded, without -0.0: the key of a cache
            R = np.round(R) + 0.0
        half = float((corners(scene.items[index]) @ R[2]).max())
        surface, X_WB = surface_about(scene, region), scene.body_pose(region.body, state.scene_q)
        lying = transform(R, (0.0, 0.0, half))
        return cls(context, state, index, surface, X_WB, X_WI, pose, lying)

    @property
    def item(self) -> Item:
        """The item that is pushed."""
        return self.context.scene.items[self.index]

    @property
    def height(self) -> float:
        """Height of the surface in the world, m."""
        return float(self.X_WB[2, 3] + self.surface.boxes[0, 0, 2])

    @property
    def rests(self) -> bool:
        """Whether the item rests on the surface, with its middle over it."""
        gap = self.X_WI[2, 3] - self.lying[2, 3] - self.height
        return bool(abs(gap) <= GAP and self.over(self.in_body(self.pose[None, None, :2]))[0] <= 0)

    @property
    def friction(self) -> float:
        """Coefficient of friction between item and surface: the product of their own."""
        return self.item.friction * self.context.scene.body(self.surface.body).friction

    @property
    def force(self) -> float:
        """The force of friction while it slides, N."""
        return self.friction * self.item.mass * -float(self.context.scene.physics.gravity[2])

    @cached_property
    def outline(self) -> Array:
        """Convex outline (n, 2) of the whole item, unturned."""
        return footprints.outline_of(self.item, self.lying)

    @property
    def _top(self) -> float:
        """Height of the item's top over the surface, m."""
        return round(float(2.0 * self.lying[2, 3]), 6)

    @property
    def lowest(self) -> float:
        """Height of the upright hand's fingertips over the surface, m."""
        return self.hand_room.pushers[0].height

    @cached_property
    def hand_room(self) -> HandRoom:
        """In which pushes the hand has room beside the item."""
        pads = self.item.friction * self.context.scene.physics.finger_friction
        lying = self.lying.tobytes()
        return _hand_room(self.context.robot, self.item, lying, self._top, pads, self.friction)

    @property
    def slider(self) -> Slider:
        """The item as the planner of pushes (``planar.pushing``) knows it."""
        return self.hand_room.slider

    def moved(self, pose: Array) -> State:
        """The State with the item at a pose x, y, yaw (3,) on the surface, in the world."""
        X_WI = plane_poses(pose[None])[0] @ self.lying
        X_WI[2, 3] += self.height
        X_PI = placement_at(self.context.scene, frozen(X_WI), self.state.scene_q)
        return self.state.with_item(self.index, X_PI)

    def in_world(self, poses: Array) -> Array:
        """Transform poses x, y, yaw (n, 3) from the frame of the surface's body to the world."""
        xy = poses[:, :2] @ self.X_WB[:2, :2].T + self.X_WB[:2, 3]
        return np.column_stack([xy, poses[:, 2] + yaw_of(self.X_WB)])

    def in_body(self, points: Array) -> Array:
        """Transform points (..., 2) from the world to the frame of the surface's body."""
        return np.asarray((points - self.X_WB[:2, 3]) @ self.X_WB[:2, :2])

    def outlines(self, poses: Array) -> Array:
        """The item's outlines (n, k, 2) at poses (n, 3), in the frame of the surface's body."""
        return self.in_body(placed(self.outline, poses))

    def over(self, outlines: Array, region: Region | None = None) -> Array:
        """How far (m) outlines (n, k, 2) stick out of the surface's box that holds them best: (n,).

        Negative for an outline within a box. ``region`` is another region than the surface.
        """
        boxes, at = (region or self.surface).boxes[..., :2], outlines[:, :, None]
        out = np.maximum(boxes[:, 0] - at, at - boxes[:, 1])
        return np.asarray(out.max(axis=(1, 3)).min(axis=1))

    def clear(self, poses: Array, most: float = 0.0) -> NDArray[np.bool_]:
        """Whether the item at poses (n, 3) is on the surface, and clear of other things: (n,).

        It may stick out as far, and be as near to others, as it does now. It may also stick out by
        ``most`` (m), as long as its centre of mass stays inside.
        """
        both = self.outlines(np.vstack([poses, self.pose]))
        out = self.over(both)
        good = out[:-1] <= max(out[-1], most, 1e-9)
        if most > 0.0:
            middles = self.in_body(placed(self.slider.middle[None], poses))
            good &= self.over(middles) <= -INSIDE
        if self.others:
            near = gaps(both, padded([footprint.outline for footprint in self.others])).min(axis=1)
            good &= near[:-1] >= min(self.context.robot.spacing.margin, near[-1] - 1e-4)
        return np.asarray(good)

    @cached_property
    def others(self) -> list[Footprint]:
        """Footprints of the other items and furniture on the surface, or close beside it."""
        scene, about = self.context.scene, self.surface.boxes
        around = np.array([[about[:, 0].min(axis=0), about[:, 1].max(axis=0)]])
        around[0] += np.outer([-_BEYOND, _BEYOND], [1.0, 1.0, 0.0])
        region = replace(self.surface, boxes=frozen(around))
        items = (Footprint.from_item(scene, self.state, k, region) for k in range(len(scene.items)))
        top = float(2.0 * self.lying[2, 3])
        fixed = footprints.furniture_on(scene, self.state.scene_q, region, top)
        return [f for f in (*items, *fixed) if f is not None and f.name != self.item.name]

    @property
    def beside(self) -> tuple[str, ...]:
        """Names of the things so near that they may be in the way of the item or the hand."""
        here = self.outlines(self.pose[None])
        near = [gaps(here, footprint.outline[None])[0, 0] < _BESIDE for footprint in self.others]
        return tuple(f.name for f, is_near in zip(self.others, near, strict=True) if is_near)

    def bases(self, stance: Stance, rng: np.random.Generator) -> Array:
        """Base poses (n, 3) of a stance set where the robot is free with its arm folded.

        Only poses from which the arm might reach the surface: the set may be much larger.
        """
        context, (low, high) = self.context, places(stance, self.context.robot)
        drawn = np.column_stack(
            [rng.uniform(low, high, (_DRAWN, 2)), sample_headings(stance, _DRAWN, rng)]
        )
        p, boxes = self.in_body(drawn[:, None, :2]), self.surface.boxes[..., :2]
        apart = np.maximum(np.maximum(boxes[:, 0] - p, p - boxes[:, 1]), 0.0)
        away = np.hypot(apart[..., 0], apart[..., 1]).min(axis=1)
        near = drawn[away < context.robot.kinematics.reach.to_C][: 2 * _BASES]
        Q = context.robot.with_groups(self.state.q, base=near, arm=context.folded_arm)
        return np.asarray(near[context.checker(self.state).free_many(Q)][:_BASES])

    def room(
        self, starts: Array, ends: Array, picks: NDArray[np.int64], bases: Array
    ) -> NDArray[np.bool_]:
        """Whether pushes are possible for the hand, and in reach of the arm: (n,).

        The hand alone must be free of collision at the start, at the end and above the start, with
        one of its pushers. The arm must reach start and end from one of the base poses; whether it
        collides is not checked.

        Args:
            starts: x, y of the pusher where each push starts (n, 2), in the world.
            ends: the same where it ends.
            picks: indices of the slider's pushes (n,).
            bases: base poses (m, 3).
        """
        self.context.effort.spend("pushes", len(starts))
        robot, grid, good = self.context.robot, self.slider.pushes, np.zeros(len(picks), dtype=bool)
        # Look up in the table which pushers reach both ends, from any of the bases.
        unit = (ends - starts) / np.linalg.norm(ends - starts, axis=1)[:, None]
        shoulders = (plane_poses(bases) @ [*robot.kinematics.reach.p_BS, 1.0])[:, :2]
        way = np.stack([starts, ends])[:, :, None] - shoulders
        turn = np.arctan2(*unit.T[::-1])[:, None] - np.arctan2(way[..., 1], way[..., 0])
        cells = reach_cells(turn, np.hypot(way[..., 0], way[..., 1]))
        first, last = self._reached[cells]
        within = np.bitwise_or.reduce(first & last, axis=1)
        for k, pusher in enumerate(self.hand_room.pushers):
            rows = np.flatnonzero(~good & has_bit(within, k))
            rows = rows[self.hand_room.free(k, grid.push[picks[rows]], grid.end[picks[rows]])]
            at = starts[rows], ends[rows], starts[rows]
            X = np.stack([pusher.hands(points, unit[rows], self.height) for points in at])
            X[2, :, 2, 3] += robot.spacing.lift
            hit = hand.overlapping(robot, self._obstacles, "", X.reshape(-1, 4, 4), 0.0)
            good[rows[~hit.reshape(3, -1).any(axis=0)]] = True
        return good

    @property
    def _reached(self) -> NDArray[np.uint64]:
        """The table ``reached`` for this item's height and support."""
        return reached(self.context.robot, self._top, round(self.height, 4))

    @property
    def in_reach(self) -> bool:
        """Whether there is any place from which the arm reaches down to the item."""
        return bool(self._reached.any())

    @cached_property
    def _obstacles(self) -> list[hand.ConvexPart]:
        """The obstacles for the hand anywhere over the surface, without the item itself."""
        low, high = self.surface.boxes[:, 0].min(axis=0), self.surface.boxes[:, 1].max(axis=0)
        up = np.array([0.0, 0.0, self.context.robot.spacing.lift])
        ends = np.array([low, high + up]) @ self.X_WB[:3, :3].T + self.X_WB[:3, 3]
        about = hand.hand_bounds(self.context.robot, ends)
        return hand.obstacles(self.context, self.state, (self.item.name,), about)

    def manipulations(
        self, push: StraightPush, goal: Array, state: State, rng: np.random.Generator
    ) -> Iterator[Manipulation]:
        """Ways to carry out a push of the item from where it is: lower, push, back off, lift.

        They differ in the pusher, the upright hand first; endless if any pusher fits.

        Args:
            push: the push, planned from the item's pose.
            goal: x, y, yaw (3,) in the world to which all the pushes bring the item.
            state: the State with the item at its pose.
            rng: unused; here for the signature of ``Contacts``.
        """
        scene, robot, item = self.context.scene, self.context.robot, self.item
        direction, none = np.array([*push.direction, 0.0]), frozenset[Pair]()
        slide = Slide(item.name, direction, push.along, push.poses, goal)
        X_WI = slide.moved(self.X_WI, push.length * direction)
        after = state.with_item(self.index, placement_at(scene, frozen(X_WI), state.scene_q))
        grip = pairs(robot.fingers, (item.name,))
        under = self.surface.body, *supports_of(self.context, state, self.index)
        touch = grip | pairs((item.name,), under)
        guard = Guard(direction, float(np.clip(_FORCE * self.force, _LEAST, STRONGEST)))
        meets = fastest(guard.force, item.mass, THRESHOLDS.impact_window, self.force)
        speed, up = min(_SPEED, _EARLY * meets), np.array([0.0, 0.0, robot.spacing.lift])
        along = push.along[:, None] * push.direction + push.start
        way, room = push.direction[None], self.hand_room
        fine = []
        for pusher in (each for each, use in zip(room.pushers, room.usable, strict=True) if use):
            if room.fits(pusher, along[None], way, push.poses[None]).all():
                X_WT = pusher.hands(along[[0, -1]], np.repeat(way, 2, axis=0), self.height)
                fine.append(X_WT @ transform(None, -robot.p_HT))
        while fine:
            for begin, end in fine:
                off = shifted(end, -_BACK * direction)
                stops = shifted(begin, up), begin, end, off, shifted(off, up)
                legs = (straight(a, b, robot.spacing.step) for a, b in pairwise(stops))
                down, ahead, back, rise = legs
                lines = (
                    Line("lower", down, state, none, (), LOWER_SPEED),
                    Line("push", ahead, state, touch, (), speed, None, guard, slide),
                    Line("back off", back, after, grip, (), APPROACH_SPEED),
                    Line("lift", rise, after, grip, (), APPROACH_SPEED),
                )
                yield Manipulation(f"push {item.name}", lines, 0.0)


@lru_cache(maxsize=16)
def _hand_room(
    robot: RobotModel, item: Item, lying: bytes, top: float, pads: float, friction: float
) -> HandRoom:
    """The ``HandRoom`` of an item; cached, for its slider is simulated when it is first used.

    Args:
        lying: bytes of ``PushedItem.lying`` (4, 4).
        top: height of the item's top over its support, m.
        pads: coefficient of friction between item and fingers.
        friction: the same between item and support.
    """
    from galley.planar.geometry.polygon import SimplePolygon
    from galley.planar.pushing.straight import Slider

    X = np.frombuffer(lying).reshape(4, 4)
    solids = [hand.convex_part(item.name, polyhedron(shape).moved(X)) for shape in item.solid]
    every = pushers(robot, top)
    outline = SimplePolygon(footprints.outline_above(item, X, every[0].height))
    centre = inertial(item.shapes, X, item.mass)[0][:2]
    # The item stands on its corners, as boxes do in PyBullet, and as items do on feet.
    slider = Slider(outline, ROUNDING, pads, centre, outline.vertices)
    least = half_width(footprints.outline_of(item, X), slider.middle)
    met = [_extents(solids, pusher.height) for pusher in every]
    # Not usable: where the item is narrower higher up; where it would tip over; where it would
    # slide down the leaning fingers and lift the hand.
    usable = [
        np.abs(extent - met[0]).max() < _SAME
        and friction * pusher.height <= least
        and (pusher.overhang <= _HOLDS * pads or friction * item.mass <= _LIGHT)
        for extent, pusher in zip(met, every, strict=True)
    ]
    return HandRoom(robot, slider, solids, every, np.array(usable))


def half_width(outline: Array, middle: Array) -> float:
    """Least distance (m) of a point within the hull of points (n, 2) from a tangent to it."""
    return float(((outline - middle) @ _WAYS).max(axis=0).min())


def _extents(solids: Sequence[hand.ConvexPart], height: float) -> Array:
    """How far (m) the part of some solids above a height extends along each of ``_WAYS``."""
    points = []
    for solid in (part.solid for part in solids):
        v = solid.vertices
        points += [v[v[:, 2] > height, :2], solid.section(height)]
    return np.asarray((np.concatenate(points) @ _WAYS).max(axis=0))
