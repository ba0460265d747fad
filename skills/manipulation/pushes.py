"""Pushes of the closed hand: how items slide over their support, and the lines of the hand.

The hand points down or leans, its fingers closed, and pushes with a corner of their section, whose
sides are 45 degrees off the way: seen from above the item is pushed by a point, which is what
``planar.pushing`` predicts. Its outline is that of the shapes that the fingers meet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from galley.collision.backends.urdf import inertial
from galley.collision.checker import MARGIN, Pair, pairs
from galley.domain.frames import Array, frozen, rotation_about, rotation_z, transform
from galley.domain.predicates import GAP, corners
from galley.domain.scene.model import Item, Region, Scene, Stance
from galley.domain.state import State, item_pose, placement_at
from galley.motion.guarded_approach import fastest
from galley.motion.motion import Guard, Slide, plane_poses, yaw_of
from galley.motion.thresholds import THRESHOLDS
from galley.robots.model import RobotModel
from galley.skills.base_placement.stances import places, sample_headings
from galley.skills.manipulation import hand
from galley.skills.manipulation.contacts import LIFT, supporting_furniture
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
from galley.skills.placing import footprints
from galley.skills.placing.footprints import Footprint, gaps, padded, placed

if TYPE_CHECKING:
    from galley.planar.pushing.straight import Push, Slider

STRONGEST = THRESHOLDS.stop_force - THRESHOLDS.push_excess  # N, of a push
_FORCE, _LEAST = 2.5, 12.0  # times the friction, and N at least, at which a push is stuck
_SPEED = 0.10  # m/s of the hand at most: an item slides on by a millimetre or two
_EARLY = 2.0  # times slower than at its fastest the hand is when it meets the item
_OVER_SUPPORT, _OVER_ITEM = 0.006, 0.008  # m, of the fingertips, and of the palm
_BACK = 0.02  # m, straight back after a push
_TURNS, _FAR, _FARS = 24, 0.04, 33  # m; of places from which the arm may reach a hand
_TURN = 2.0 * np.pi / _TURNS
_REDUNDANT = 8  # values of the redundant joint tried at each
_DRAWN, _BASES = 4096, 256  # base poses drawn, and looked at: the arm must reach from one
_LEANS = np.radians([0.0, 25.0, -25.0, 45.0, -45.0])  # of the hand, so that the arm reaches farther
_QUADRANTS = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
_ROUNDING = 0.003  # m, radius of a corner of the fingers
_PRESSED = 0.003  # m that fingers may be predicted to be in the item
_LOOKED = 4  # every so many poses of a push the fingers' room is looked at
_BEYOND = 0.06  # m, what is nearer to the edge of a support may be in the way of what sticks out
INSIDE = 0.015  # m, of a centre of mass within the edge over which an item sticks out, at least
_FLAT = 0.1  # rad, an item that is turned by less lies on a face
_LEVEL = 0.001  # m, between the surfaces of one support
_BESIDE = 0.2  # m, what is nearer to an item may be in the hand's way


@dataclass(frozen=True, eq=False)
class Pusher:
    """The closed hand, upright or leaning by an angle about its y axis, and a corner that pushes.

    Attributes:
        X_UT: the grasp frame T in the upright one U, z downwards (4, 4).
        low: m along z of U, of the fingertips.
        corner: farthest point of the fingers in a quadrant, up to the item's top (2,), in U.
        quadrant: signs of x and y (2,).
    """

    X_UT: Array
    low: float
    corner: Array
    quadrant: Array

    def hands(self, points: Array, directions: Array, height: float) -> Array:
        """X_WT (n, 4, 4) with the tips at a height and the corner at points (n, 2), which it pushes
        along directions (n, 2)."""
        turn = np.array([1.0, -1.0])  # seen from above
        (x, y), (u, v) = self.corner * turn, self.quadrant * turn
        yaw = np.arctan2(directions[:, 1], directions[:, 0]) - np.arctan2(v, u)
        c, s = np.cos(yaw), np.sin(yaw)
        middle = points + _ROUNDING * directions - np.stack([c * x - s * y, s * x + c * y], axis=1)
        X = plane_poses(np.column_stack([middle, yaw])) @ np.diag([1.0, -1.0, -1.0, 1.0])
        X[:, 2, 3] = height + self.low
        return np.asarray(X @ self.X_UT)


@lru_cache(maxsize=8)
def _fingers(robot: RobotModel) -> tuple[hand.ConvexPart, ...]:
    return tuple(part for part in hand.hand_parts(robot, 0.0) if part.name in robot.fingers)


@lru_cache(maxsize=8)
def free_length(robot: RobotModel) -> float:
    """How far (m) the fingertips are below the palm."""
    ends = [
        (p.name in robot.fingers, p.solid.vertices[:, 2].max()) for p in hand.hand_parts(robot, 0.0)
    ]
    return float(max(z for own, z in ends if own) - max(z for own, z in ends if not own))


@lru_cache(maxsize=64)
def pushers(robot: RobotModel, rise: float) -> tuple[Pusher, ...]:
    """The ways to push what rises by so much (m) above the fingertips; upright ones first."""
    found = []
    for lean in _LEANS:
        X_UT = transform(rotation_about((0.0, 1.0, 0.0), lean))
        solids, points = [finger.solid.moved(X_UT) for finger in _fingers(robot)], list[Array]()
        low = max(float(each.vertices[:, 2].max()) for each in solids)
        z = low - min(rise, free_length(robot) - 1e-3)
        for each in solids:  # at the item's top, and what is below
            v = each.vertices
            points += [each.section(z), v[v[:, 2] > z, :2]]
        rim = np.concatenate(points)
        for signs in _QUADRANTS:
            found.append(Pusher(X_UT, low, rim[(rim @ signs).argmax()], signs))
    return tuple(found)


@lru_cache(maxsize=16)
def reached(robot: RobotModel, rise: float, height: float) -> NDArray[np.bool_]:
    """Whether the arm reaches (pushers, turns, distances), by inverse kinematics, base ahead.

    A push is turned against the way from the shoulder to its point, and is so far from the
    shoulder, seen from above: steps of ``_TURN`` and ``_FAR`` from 0.

    Args:
        rise: see ``pushers``. height: of the fingertips over the floor, m.
    """
    kinematics, far = robot.kinematics, _FAR * np.arange(_FARS)
    redundant = kinematics.redundant_values(_REDUNDANT, np.random.default_rng(0))
    found = np.zeros((len(pushers(robot, rise)), _TURNS, _FARS), dtype=bool)
    for pusher, table in zip(pushers(robot, rise), found, strict=True):
        X_WT = pusher.hands(np.zeros((1, 2)), np.array([[1.0, 0.0]]), height)[0]
        X_WH = X_WT @ transform(None, -robot.p_HT)
        for bearing, row in zip(-_TURN * np.arange(_TURNS), table, strict=True):
            way = np.array([np.cos(bearing), np.sin(bearing)])
            foot = rotation_z(bearing)[:2, :2] @ kinematics.reach.p_BS[:2]
            bases = np.column_stack([np.outer(-far, way) - foot, np.full(_FARS, bearing)])
            row[:] = kinematics.best_configurations(X_WH, bases, redundant)[1].min(axis=1) > 0.0
    return found


def reach_cells(turn: Array, far: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Indices in the table ``reached`` of turns (rad) and distances (m)."""
    cells = np.rint(np.asarray(turn) / _TURN).astype(np.int64) % _TURNS
    return cells, np.minimum(np.rint(np.asarray(far) / _FAR).astype(np.int64), _FARS - 1)


def surface_about(scene: Scene, region: Region) -> Region:
    """All surfaces of a region's body at its height: over them an item can be pushed.

    A region that is not of the scene stands for itself.
    """
    if all(each is not region for each in scene.regions):
        return region
    same = [each for each in scene.regions if (each.body, each.kind) == (region.body, "surface")]
    boxes = np.concatenate([each.boxes for each in same])
    level = np.abs(boxes[:, 0, 2] - region.boxes[0, 0, 2]) < _LEVEL
    return replace(region, boxes=frozen(boxes[level]))


@dataclass(frozen=True, eq=False)
class Pushed:
    """An item that is to be pushed.

    Attributes:
        context, state: the world. index: of the item. surface: that it is on, ``surface_about``.
        X_WB: pose of the surface's body. X_WI: of the item. pose: its x, y, yaw (3,), world.
        lying: its pose about its own middle, its underside at z = 0, unturned (4, 4).
        lowest: height of the fingertips over the surface, m.
    """

    context: PlanningContext
    state: State
    index: int
    surface: Region
    X_WB: Array
    X_WI: Array
    pose: Array
    lying: Array
    lowest: float

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
        lowest = max(_OVER_SUPPORT, 2.0 * half + _OVER_ITEM - free_length(context.robot))
        surface, X_WB = surface_about(scene, region), scene.body_pose(region.body, state.scene_q)
        lying = transform(R, (0.0, 0.0, half))
        return cls(context, state, index, surface, X_WB, X_WI, pose, lying, lowest)

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

    @cached_property
    def slider(self) -> Slider:
        """The item as the planner of pushes knows it."""
        pads = self.item.friction * self.context.scene.physics.finger_friction
        lying = self.lying.tobytes()
        return _slider(self.context.robot, self.item, lying, self.lowest, pads)

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
            near = gaps(both, padded([each.outline for each in self.others])).min(axis=1)
            good &= near[:-1] >= min(MARGIN, near[-1] - 1e-4)
        return np.asarray(good)

    @cached_property
    def others(self) -> list[Footprint]:
        """What stands on the surface, or beside it."""
        scene, about = self.context.scene, self.surface.boxes
        whole = np.array([[about[:, 0].min(axis=0), about[:, 1].max(axis=0)]])
        whole[0] += np.outer([-_BEYOND, _BEYOND], [1.0, 1.0, 0.0])
        region = replace(self.surface, boxes=frozen(whole))
        each = (Footprint.from_item(scene, self.state, k, region) for k in range(len(scene.items)))
        top = float(2.0 * self.lying[2, 3])
        fixed = footprints.furniture_on(scene, self.state.scene_q, region, top)
        return [f for f in (*each, *fixed) if f is not None and f.name != self.item.name]

    @property
    def beside(self) -> tuple[str, ...]:
        """Names of what stands so near that it may be in the way of the item or the hand."""
        here = self.outlines(self.pose[None])
        near = [gaps(here, each.outline[None])[0, 0] < _BESIDE for each in self.others]
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

    def room(self, starts: Array, ends: Array, poses: Array, bases: Array) -> NDArray[np.bool_]:
        """Whether hand and arm may be where pushes start and end, (n, 2) each: (n,).

        The hand alone, pushing with one of its corners; and the arm, as far as it reaches from one
        of some base poses (m, 3), which may collide.

        Args:
            poses: x, y, yaw (n, 3) of the item before each.
        """
        self.context.effort.spend("pushes", len(starts))
        robot, unit = self.context.robot, ends - starts
        unit = unit / np.linalg.norm(unit, axis=1)[:, None]
        shoulders = (plane_poses(bases) @ [*robot.kinematics.reach.p_BS, 1.0])[:, :2]
        way = np.stack([starts, ends])[:, :, None] - shoulders
        turn = np.arctan2(*unit.T[::-1])[:, None] - np.arctan2(way[..., 1], way[..., 0])
        turn, far = reach_cells(turn, np.hypot(way[..., 0], way[..., 1]))
        table = reached(robot, self._rise, round(self.height + self.lowest, 4))
        good = np.zeros(len(unit), dtype=bool)
        for k, pusher in enumerate(self.pushers):
            rows = np.flatnonzero(~good)
            rows = rows[table[k][turn[:, rows], far[:, rows]].all(axis=0).any(axis=1)]
            X = np.stack([self.hands(p[rows], unit[rows], pusher) for p in (starts, ends, starts)])
            apart = ~self._meets(X[0], poses[rows])
            rows, X = rows[apart], X[:, apart]
            X[2, :, 2, 3] += LIFT
            hit = hand.overlapping(robot, self._obstacles, "", X.reshape(-1, 4, 4), 0.0)
            good[rows[~hit.reshape(3, -1).any(axis=0)]] = True
        return good

    def _meets(self, X_WT: Array, poses: Array) -> NDArray[np.bool_]:
        """Whether the hand at X_WT (n, 4, 4) overlaps the item at poses (n, 3): (n,)."""
        X_IT = self._in_item(X_WT, poses)
        return hand.overlapping(self.context.robot, self._solids, "", X_IT, 0.0)

    def _in_item(self, X_WT: Array, poses: Array) -> Array:
        """X_WT (n, 4, 4) in the frame of the item that lies, unturned, at poses (n, 3)."""
        X_IT = np.linalg.inv(plane_poses(poses)) @ X_WT
        X_IT[:, 2, 3] -= self.height
        return np.asarray(X_IT)

    @cached_property
    def _solids(self) -> list[hand.ConvexPart]:
        return _solids(self.item, self.lying)

    @property
    def _rise(self) -> float:
        return float(2.0 * self.lying[2, 3]) - self.lowest

    @property
    def pushers(self) -> tuple[Pusher, ...]:
        """Ways to push it."""
        return pushers(self.context.robot, self._rise)

    def hands(self, points: Array, directions: Array, pusher: Pusher) -> Array:
        """X_WT (n, 4, 4) in pushes at points (n, 2) along directions (n, 2)."""
        return pusher.hands(points, directions, self.height + self.lowest)

    @cached_property
    def _obstacles(self) -> list[hand.ConvexPart]:
        low, high = self.surface.boxes[:, 0].min(axis=0), self.surface.boxes[:, 1].max(axis=0)
        up = np.array([0.0, 0.0, LIFT])
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
        under = self.surface.body, *supporting_furniture(self.context, state, self.index)
        touch = grip | pairs((item.name,), under)
        guard = Guard(direction, float(np.clip(_FORCE * self.force, _LEAST, STRONGEST)))
        meets = fastest(guard.force, item.mass, THRESHOLDS.impact_window, self.force)
        speed, up = min(_SPEED, _EARLY * meets), np.array([0.0, 0.0, LIFT])
        along = push.along[:, None] * push.direction + push.start
        ways = np.tile(push.direction, (len(along), 1))
        fine = []
        for pusher in self.pushers:
            X_WT = self.hands(along, ways, pusher)
            X_IT = self._in_item(X_WT, push.poses)
            pressed = _depths(robot, X_IT, self._solids).max()
            if pressed < _PRESSED and not self._meets(X_WT[:1], push.poses[:1])[0]:
                fine.append(X_WT[[0, -1]] @ transform(None, -robot.p_HT))
        while fine:
            for begin, end in fine:
                off = shifted(end, -_BACK * direction)
                down, back = straight(shifted(begin, up), begin), straight(end, off)
                lines = (
                    Line("lower", down, state, none, (), LOWER_SPEED),
                    Line("push", straight(begin, end), state, touch, (), speed, None, guard, slide),
                    Line("back off", back, after, grip, (), APPROACH_SPEED),
                    Line("lift", straight(off, shifted(off, up)), after, grip, (), APPROACH_SPEED),
                )
                yield Manipulation(f"push {item.name}", lines, 0.0)


def _solids(item: Item, lying: Array) -> list[hand.ConvexPart]:
    return [hand.convex_part("", polyhedron(shape).moved(lying)) for shape in item.solid]


def _depths(robot: RobotModel, X_IT: Array, solids: Sequence[hand.ConvexPart]) -> Array:
    """How deep (m) the fingers at X_IT (n, 4, 4) are in an item of some parts: (n,)."""
    each = [hand.overlaps(finger, X_IT, solid) for finger in _fingers(robot) for solid in solids]
    return np.asarray(np.max(each, axis=0))


@lru_cache(maxsize=16)
def _slider(robot: RobotModel, item: Item, lying: bytes, lowest: float, pads: float) -> Slider:
    """Kept, for it is rolled out when it is first used."""
    from galley.planar.geometry.polygon import Polygon
    from galley.planar.pushing.straight import Slider

    X = np.frombuffer(lying).reshape(4, 4)
    upright, solids = pushers(robot, float(2.0 * X[2, 3]) - lowest)[:4], _solids(item, X)

    def fits(places: Array, along: Array, motions: Array) -> NDArray[np.bool_]:
        """Whether the fingers are in the item nowhere, up to each pose."""
        last, deep = motions.shape[1] - 1, []
        looked = np.append(np.arange(0, last, _LOOKED), last)
        points, ways = places[:, looked].reshape(-1, 2), np.repeat(along, len(looked), axis=0)
        X_WI = plane_poses(motions[:, looked].reshape(-1, 3))
        for pusher in upright:
            X_WT = pusher.hands(points, ways, lowest)
            deep.append(_depths(robot, np.linalg.inv(X_WI) @ X_WT, solids))
        fine = np.reshape(deep, (len(deep), -1, len(looked))) < _PRESSED
        good = np.asarray(np.logical_and.accumulate(fine, axis=2).any(axis=0))
        return np.asarray(good[:, np.searchsorted(looked, np.arange(last + 1))])

    outline = Polygon(footprints.outline_above(item, X, lowest))
    centre = inertial(item.shapes, X, item.mass)[0][:2]
    # It stands on its corners, as boxes do in PyBullet, and on feet.
    return Slider(outline, _ROUNDING, pads, centre, outline.vertices, fits)
