"""Pushes of the closed hand: how items slide over their support, and the lines of the hand.

The outline of an item that is pushed is that of the shapes that the fingers meet.
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
    from galley.planar.pushing.straight import Push, Slider

STRONGEST = THRESHOLDS.stop_force - THRESHOLDS.push_excess  # N, of a push
_FORCE, _LEAST = 2.5, 12.0  # times the friction, and N at least, at which a push is stuck
_SPEED = 0.10  # m/s of the hand at most: an item slides on by a millimetre or two
_EARLY = 2.0  # times slower than at its fastest the hand is when it meets the item
_BACK = 0.02  # m, straight back after a push
_DRAWN, _BASES = 4096, 256  # base poses drawn, and looked at: the arm must reach from one
_BEYOND = 0.06  # m, what is nearer to the edge of a support may be in the way of what sticks out
INSIDE = 0.015  # m, of a centre of mass within the edge over which an item sticks out, at least
_FLAT = 0.1  # rad, an item that is turned by less lies on a face
_LEVEL = 0.001  # m, between the surfaces of one support
_HOLDS = 0.8  # of the friction between fingers and item, their overhang at most
_LIGHT = 0.25  # kg times friction: what takes less doesn't lift the hand, as measured
_SAME = 0.001  # m, by which what a raised hand meets may be narrower than what a low one does
_TURNED = np.linspace(-np.pi, np.pi, 73)
_WAYS = np.array([np.cos(_TURNED), np.sin(_TURNED)])
_BESIDE = 0.2  # m, what is nearer to an item may be in the hand's way


def surface_about(scene: Scene, region: Region) -> Region:
    """All surfaces of a region's body at its height: over them an item can be pushed.

    A region that is not of the scene stands for itself.
    """
    if all(r is not region for r in scene.regions):
        return region
    same = [r for r in scene.regions if (r.body, r.kind) == (region.body, "surface")]
    boxes = np.concatenate([r.boxes for r in same])
    level = np.abs(boxes[:, 0, 2] - region.boxes[0, 0, 2]) < _LEVEL
    return replace(region, boxes=frozen(boxes[level]))


@dataclass(frozen=True, eq=False)
class Pushed:
    """An item that is to be pushed.

    Attributes:
        context, state: the world. index: of the item. surface: that it is on, ``surface_about``.
        X_WB: pose of the surface's body. X_WI: of the item. pose: its x, y, yaw (3,), world.
        lying: its pose about its own middle, its underside at z = 0, unturned (4, 4).
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
    def of(cls, context: PlanningContext, state: State, index: int, region: Region) -> Pushed:
        """An item on the surface that a region is part of."""
        scene = context.scene
        X_WI = item_pose(scene, state, index, np.eye(4))
        pose = np.array([*X_WI[:2, 3], yaw_of(X_WI)])
        R = rotation_z(-pose[2]) @ X_WI[:3, :3]
        if np.abs(R - np.round(R)).max() < _FLAT:  # the same bytes after each look: no -0.0
            R = np.round(R) + 0.0
        half = float((corners(scene.items[index]) @ R[2]).max())
        surface, X_WB = surface_about(scene, region), scene.body_pose(region.body, state.scene_q)
        lying = transform(R, (0.0, 0.0, half))
        return cls(context, state, index, surface, X_WB, X_WI, pose, lying)

    @property
    def item(self) -> Item:
        """What is pushed."""
        return self.context.scene.items[self.index]

    @property
    def height(self) -> float:
        """Of the surface in the world, m."""
        return float(self.X_WB[2, 3] + self.surface.boxes[0, 0, 2])

    @property
    def rests(self) -> bool:
        """Whether it rests on the surface, its middle over it."""
        gap = self.X_WI[2, 3] - self.lying[2, 3] - self.height
        return bool(abs(gap) <= GAP and self.over(self.in_body(self.pose[None, None, :2]))[0] <= 0)

    @property
    def friction(self) -> float:
        """Coefficient between item and surface: the product of both."""
        return self.item.friction * self.context.scene.body(self.surface.body).friction

    @property
    def force(self) -> float:
        """N of friction while it slides."""
        return self.friction * self.item.mass * -float(self.context.scene.physics.gravity[2])

    @cached_property
    def outline(self) -> Array:
        """Convex outline (n, 2) of the whole item, unturned."""
        return footprints.outline_of(self.item, self.lying)

    @property
    def _top(self) -> float:
        return round(float(2.0 * self.lying[2, 3]), 6)

    @property
    def lowest(self) -> float:
        """Height (m) of the upright hand's fingertips over the surface."""
        return self.hand_room.pushers[0].height

    @cached_property
    def hand_room(self) -> HandRoom:
        """Where the hand has room beside it."""
        pads = self.item.friction * self.context.scene.physics.finger_friction
        lying = self.lying.tobytes()
        return _hand_room(self.context.robot, self.item, lying, self._top, pads, self.friction)

    @property
    def slider(self) -> Slider:
        """The item as the planner of pushes knows it."""
        return self.hand_room.slider

    def moved(self, pose: Array) -> State:
        """The state with the item at a pose (3,) on the surface."""
        X_WI = plane_poses(pose[None])[0] @ self.lying
        X_WI[2, 3] += self.height
        X_PI = placement_at(self.context.scene, frozen(X_WI), self.state.scene_q)
        return self.state.with_item(self.index, X_PI)

    def in_world(self, poses: Array) -> Array:
        """Poses (n, 3) of x, y, yaw in the frame of the surface's body, in the world."""
        xy = poses[:, :2] @ self.X_WB[:2, :2].T + self.X_WB[:2, 3]
        return np.column_stack([xy, poses[:, 2] + yaw_of(self.X_WB)])

    def in_body(self, points: Array) -> Array:
        """Points (..., 2) in the world, in the frame of the surface's body."""
        return np.asarray((points - self.X_WB[:2, 3]) @ self.X_WB[:2, :2])

    def outlines(self, poses: Array) -> Array:
        """Its outlines (n, k, 2) at poses (n, 3), in the frame of the surface's body."""
        return self.in_body(placed(self.outline, poses))

    def over(self, outlines: Array, region: Region | None = None) -> Array:
        """How far (m) outlines (n, k, 2) stick out of that box that holds most of them (n,)."""
        boxes, at = (region or self.surface).boxes[..., :2], outlines[:, :, None]
        out = np.maximum(boxes[:, 0] - at, at - boxes[:, 1])
        return np.asarray(out.max(axis=(1, 3)).min(axis=1))

    def clear(self, poses: Array, most: float = 0.0) -> NDArray[np.bool_]:
        """Whether the item at poses (n, 3) is on the surface, and nothing beside it.

        It may stick out, and be as near to others, as it is now; or stick out by ``most`` (m) as
        long as its centre of mass stays inside.
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
        """What stands on the surface, or beside it."""
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
        """Names of what stands so near that it may be in the way of the item or the hand."""
        here = self.outlines(self.pose[None])
        near = [gaps(here, footprint.outline[None])[0, 0] < _BESIDE for footprint in self.others]
        return tuple(f.name for f, is_near in zip(self.others, near, strict=True) if is_near)

    def bases(self, stance: Stance, rng: np.random.Generator) -> Array:
        """Base poses (n, 3) of a stance set where the robot is free with its arm folded.

        Those near the surface: the set may be much larger than what the arm reaches from.
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
        """Whether hand and arm may be where pushes start and end, (n, 2) each: (n,).

        The hand alone, pushing with one of its corners; and the arm, as far as it reaches from one
        of some base poses (m, 3), which may collide.

        Args:
            picks: which of the slider's pushes (n,).
        """
        self.context.effort.spend("pushes", len(starts))
        robot, grid, good = self.context.robot, self.slider.pushes, np.zeros(len(picks), dtype=bool)
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
        return reached(self.context.robot, self._top, round(self.height, 4))

    @property
    def in_reach(self) -> bool:
        """Whether the arm reaches down to it from anywhere."""
        return bool(self._reached.any())

    @cached_property
    def _obstacles(self) -> list[hand.ConvexPart]:
        low, high = self.surface.boxes[:, 0].min(axis=0), self.surface.boxes[:, 1].max(axis=0)
        up = np.array([0.0, 0.0, self.context.robot.spacing.lift])
        ends = np.array([low, high + up]) @ self.X_WB[:3, :3].T + self.X_WB[:3, 3]
        about = hand.hand_bounds(self.context.robot, ends)
        return hand.obstacles(self.context, self.state, (self.item.name,), about)

    def manipulations(
        self, push: Push, goal: Array, state: State, rng: np.random.Generator
    ) -> Iterator[Manipulation]:
        """Ways to carry out a push of the item from where it is: lower, push, back off, lift.

        Args:
            push: planned from the item's pose. goal: x, y, yaw (3,) of the pushes, world.
            state: with the item there.
            rng: unused, the upright hand comes first.
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
    """Kept, for its slider is rolled out when it is first used.

    Args:
        lying: pose (4, 4) of the item about its own middle. top: its height, m.
        pads, friction: of the item with the fingers, and with its support.
    """
    from galley.planar.geometry.polygon import Polygon
    from galley.planar.pushing.straight import Slider

    X = np.frombuffer(lying).reshape(4, 4)
    solids = [hand.convex_part(item.name, polyhedron(shape).moved(X)) for shape in item.solid]
    every = pushers(robot, top)
    outline = Polygon(footprints.outline_above(item, X, every[0].height))
    centre = inertial(item.shapes, X, item.mass)[0][:2]
    # It stands on its corners, as boxes do in PyBullet, and on feet.
    slider = Slider(outline, ROUNDING, pads, centre, outline.vertices)
    least = half_width(footprints.outline_of(item, X), slider.middle)
    met = [_extents(solids, pusher.height) for pusher in every]
    usable = [  # narrower above; tipped over; or it would slide down the fingers and lift the hand
        np.abs(extent - met[0]).max() < _SAME
        and friction * pusher.height <= least
        and (pusher.overhang <= _HOLDS * pads or friction * item.mass <= _LIGHT)
        for extent, pusher in zip(met, every, strict=True)
    ]
    return HandRoom(robot, slider, solids, every, np.array(usable))


def half_width(outline: Array, middle: Array) -> float:
    """Least distance (m) of a point (2,) from a tangent of the hull of points (n, 2)."""
    return float(((outline - middle) @ _WAYS).max(axis=0).min())


def _extents(solids: Sequence[hand.ConvexPart], height: float) -> Array:
    """How far (m) what is above a height extends along ``_WAYS``."""
    points = []
    for solid in (part.solid for part in solids):
        v = solid.vertices
        points += [v[v[:, 2] > height, :2], solid.section(height)]
    return np.asarray((np.concatenate(points) @ _WAYS).max(axis=0))
