"""Faults that push an item while the hand is on its way to it: aside, or over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from galley.domain.frames import Array, rotation_about, transform
from galley.domain.scene import Item
from galley.motion.motion import Motion
from galley.simulation.fault import (
    Fault,
    bump,
    gravity,
    ground_friction,
    item_velocity,
    mm,
    reached,
)
from galley.simulation.standing import (
    Boxes,
    boxes_of,
    collides,
    displaced,
    furniture,
    stands,
)

if TYPE_CHECKING:
    from galley.simulation.physics_world import PhysicsWorld

_DIRECTIONS = 16  # that are tried for room
_SOFT = 0.05  # share of a speed error that a push takes back within a step: boxes rock easily


class _OnItsWay(Fault):
    """Strikes an item that stands, while an empty hand is on its way to it."""

    DURATION = 0.7  # s, roughly: so that it is over when the motion is
    index = -1
    begin = 0.0  # s into the motion

    def waits_for(self, world: PhysicsWorld, motion: Motion) -> bool:
        """See ``Fault.waits_for``."""
        index = reached(world, motion)
        return index is not None and self.target in ("", world.scene.items[index].name)

    def start(self, world: PhysicsWorld, motion: Motion) -> None:
        """See ``Fault.start``."""
        index = reached(world, motion)
        assert index is not None
        self.index = index
        spare = max(0.0, motion.trajectory.duration - self.DURATION - 0.1)
        self.begin = float(self.rng.uniform(0.0, 1.0)) * spare


class Nudge(_OnItsWay):
    """Pushes an item 2 to 4 cm aside.

    The push is that of a finger low on the item which moves at half a sine wave of speed: with m
    the mass, mu the friction with the ground, a(t) the speed's derivative, the force is
    m (mu g + a(t)), and what the item is slower or faster than that is taken back. Low, because a
    box that is pushed at its centre topples wherever mu exceeds its width over its height; slow,
    because so does one that slides on and is braked by the ground.
    """

    def start(self, world: PhysicsWorld, motion: Motion) -> None:
        """See ``Fault.start``."""
        super().start(world, motion)
        self.distance = float(self.rng.uniform(0.02, 0.04))
        self.turn = float(self.rng.uniform(0.0, 2.0 * np.pi))
        self.way: Array | None = None

    def step(self, world: PhysicsWorld, motion: Motion, t: float) -> None:
        """See ``Fault.step``."""
        if t < self.begin:
            return
        item = world.scene.items[self.index]
        X_WI = world.item_pose(self.index)
        if self.way is None:
            self.way = self._room(world, item, X_WI)
            if self.way is None:
                self.told = f"there was no room to nudge {item.name} {self.where}"
                self.active = False
                return
            self.begin, self.X_0 = t, X_WI
            self.friction = ground_friction(world, self.index)
        since = t - self.begin
        if since >= self.DURATION:
            self._done(world, item)
            return
        speed, acceleration = bump(since + 0.5 * world.dt, self.DURATION, self.distance)
        speed -= float(item_velocity(world, self.index) @ self.way)
        needed = self.friction * gravity(world) + acceleration + _SOFT * speed / world.dt
        force = item.mass * max(0.0, needed) * self.way
        height = float(np.abs(X_WI[2, :3]) @ item.size)
        low = X_WI[:3, 3] - np.array([0.0, 0.0, 0.48 * height])
        self.push_item(world, self.index, force, low)

    def left(self, world: PhysicsWorld) -> None:
        """See ``Fault.left``."""
        if self.way is not None:
            self._done(world, world.scene.items[self.index])
        self.active = False

    def _done(self, world: PhysicsWorld, item: Item) -> None:
        moved = world.item_pose(self.index)[:2, 3] - self.X_0[:2, 3]
        self.struck, self.active = True, False
        self.told = f"{item.name} was pushed {mm(moved)} aside {self.where}"

    def _room(self, world: PhysicsWorld, item: Item, X_WI: Array) -> Array | None:
        """A way (3,) to go on which the item stays clear and on what carries it."""
        scene, scene_q = world.scene, world.scene_q()
        solids = furniture(scene, scene_q)
        around = solids.joined(_others(world, self.index))
        for k in range(_DIRECTIONS):
            angle = self.turn + 2.0 * np.pi * k / _DIRECTIONS
            way = np.array([np.cos(angle), np.sin(angle), 0.0])
            there = [displaced(X_WI, s * self.distance * way[:2]) for s in (0.5, 1.1)]
            if all(
                stands(scene, scene_q, item, X_WI, X, solids)
                and not collides(item, X_WI, X, around)
                for X in there
            ):
                return way
        return None


class Topple(_OnItsWay):
    """Knocks an item over.

    A horizontal force at the top of the item, across its narrower side: with m the mass, w that
    side and h the height, it tips from m g w / (2 h) on, and slides from mu m g on. It gets 2.5
    times the former, at most 0.9 times the latter, until it leans beyond its balance.
    """

    BEYOND = np.radians(12.0)  # rad past the balance, from where it falls by itself
    LONGEST = 1.5  # s

    def start(self, world: PhysicsWorld, motion: Motion) -> None:
        """See ``Fault.start``."""
        super().start(world, motion)
        self.sign = float(self.rng.choice([-1.0, 1.0]))
        self.force: Array | None = None

    def step(self, world: PhysicsWorld, motion: Motion, t: float) -> None:
        """See ``Fault.step``."""
        if t < self.begin:
            return
        item = world.scene.items[self.index]
        X_WI = world.item_pose(self.index)
        if self.force is None:
            self._aim(world, item, X_WI)
            self.begin = t
        if self.force is None:
            self.active = False
            return
        lean = float(np.arccos(np.clip(self.up_I @ X_WI[2, :3], -1.0, 1.0)))
        if lean > self.balance + self.BEYOND:
            self.struck, self.active = True, False
            self.told = f"{item.name} was knocked over {self.where}"
        elif t - self.begin > self.LONGEST:
            self.active = False
            self.told = f"{item.name} slid instead of falling over {self.where}"
        else:
            top = X_WI[:3, :3] @ (self.up_I * self.height / 2.0) + X_WI[:3, 3]
            self.push_item(world, self.index, self.force, top)

    def _aim(self, world: PhysicsWorld, item: Item, X_WI: Array) -> None:
        upright = int(np.argmax(np.abs(X_WI[2, :3])))
        self.up_I = np.zeros(3)
        self.up_I[upright] = np.sign(X_WI[2, upright])
        self.height = float(item.size[upright])
        flat = [k for k in range(3) if k != upright]
        narrow = min(flat, key=lambda k: float(item.size[k]))
        width = float(item.size[narrow])
        self.balance = float(np.arctan2(width, self.height))
        tips = width / (2.0 * self.height)
        friction = ground_friction(world, self.index)
        if 0.9 * friction < 1.1 * tips:
            self.told = f"{item.name} stood too firmly to be knocked over {self.where}"
            return
        way = np.array([*X_WI[:2, narrow], 0.0])
        way *= self.sign / np.linalg.norm(way)
        if not self._room(world, item, X_WI, way) and self._room(world, item, X_WI, -way):
            way = -way
        self.force = min(2.5 * tips, 0.9 * friction) * item.mass * gravity(world) * way

    def _room(self, world: PhysicsWorld, item: Item, X_WI: Array, way: Array) -> bool:
        """Whether it can lie on its side that way, clear of everything and not over an edge."""
        axis = np.cross([0.0, 0.0, 1.0], way)
        half = 0.5 * float(np.abs(way @ X_WI[:3, :3]) @ item.size)
        edge = X_WI[:3, 3] + half * way - np.array([0.0, 0.0, self.height / 2.0])
        R = rotation_about(axis, 0.5 * np.pi)
        lying = transform(R, edge - R @ edge) @ X_WI
        solids = furniture(world.scene, world.scene_q())
        around = solids.joined(_others(world, self.index))
        clear = not collides(item, X_WI, lying, around)
        on = displaced(X_WI, lying[:2, 3] - X_WI[:2, 3])
        return clear and stands(world.scene, world.scene_q(), item, X_WI, on, solids)


def _others(world: PhysicsWorld, index: int) -> Boxes:
    """The boxes of all items but one, as they are now."""
    rest = [k for k in range(len(world.item_ids)) if k != index]
    return boxes_of([world.scene.items[k] for k in rest], [world.item_pose(k) for k in rest])
