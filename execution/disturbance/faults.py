"""Faults injected into a physics run, by ``--fault`` and by tests.

Items pushed aside or over, friction gone or far too much, a shoved base; and several of them at
once, from text.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from galley.domain.frames import Array, rotation_about, rotation_z, transform, wrap
from galley.domain.scene.model import Item, Scene
from galley.execution.disturbance.fault import IN_VAIN, Fault, parse_specs
from galley.execution.disturbance.noise import stream
from galley.execution.disturbance.standing import (
    BoxSet,
    boxes_of,
    collides,
    displaced,
    fits,
    furniture,
    overlaps,
    stands,
)
from galley.motion.effects import displacement
from galley.motion.motion import Motion
from galley.robots.panda.mobile import hand_pose

if TYPE_CHECKING:
    from galley.execution.physics.world import PhysicsWorld


NEAR = 0.12  # m from the grasp centre to an item's box at the end of a reach, at most
_DIRECTIONS = 16  # that are tried for room
_SOFT = 0.05  # share of a speed error that a push takes back within a step: boxes rock easily
_STIFF = 0.8  # share of a speed error that is taken back within a step: the arm moves meanwhile
_DRAWS = 300  # of a shove, until there is room for one
_MOST = 0.98  # share of the base's limits that it may use


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
            self.friction = world.ground_friction(self.index)
        since = t - self.begin
        if since >= self.DURATION:
            self._done(world, item)
            return
        speed, acceleration = bump(since + 0.5 * world.dt, self.DURATION, self.distance)
        speed -= float(world.item_velocity(self.index) @ self.way)
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
            if all(fits(scene, scene_q, item, X_WI, X, solids, around) for X in there):
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
        friction = world.ground_friction(self.index)
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


def _others(world: PhysicsWorld, index: int) -> BoxSet:
    """The boxes of all items but one, as they are now."""
    rest = [k for k in range(len(world.item_ids)) if k != index]
    return boxes_of([world.scene.items[k] for k in rest], [world.item_pose(k) for k in rest])


class Slippery(Fault):
    """Takes an item's friction away while it is carried, and gives it back once it has left.

    Two fingers hold a weight m g as long as mu N exceeds it, N being the sum of what both press
    with and mu the product of the pads' and the item's friction. The item gets 0.4 to 0.8 of what
    would just do, and never more than 0.1.
    """

    MOST = 0.1
    APART = 0.1  # s without contact with the hand, after which it has left it

    def waits_for(self, world: PhysicsWorld, motion: Motion) -> bool:
        """See ``Fault.waits_for``. The lift is left alone: carrying begins after it."""
        held = [a.name for a in motion.attachments if a.kind == "item"]
        return (
            bool(held)
            and self.target in ("", held[0])
            and motion.group != "fingers"
            and motion.phase.split()[-1] != "lift"
        )

    def start(self, world: PhysicsWorld, motion: Motion) -> None:
        """See ``Fault.start``."""
        held = next(a.name for a in motion.attachments if a.kind == "item")
        self.index = world.scene.item_index[held]
        self.begin = float(self.rng.uniform(0.2, 0.6)) * motion.trajectory.duration
        self.share = float(self.rng.uniform(0.4, 0.8))
        self.apart = 0.0

    def step(self, world: PhysicsWorld, motion: Motion, t: float) -> None:
        """See ``Fault.step``."""
        pressed = world.pressed(self.index)
        if self.struck:
            self.apart = 0.0 if pressed > 0.0 else self.apart + world.dt
            if self.apart > self.APART:
                world.set_item_friction(self.index, world.scene.items[self.index].friction)
                self.active = False
        elif t >= self.begin and pressed > 0.0:
            item = world.scene.items[self.index]
            pads = world.scene.physics.finger_friction
            enough = item.mass * gravity(world) / (pressed * max(pads, 1e-6))
            friction = min(self.MOST, self.share * enough)
            world.set_item_friction(self.index, friction)
            self.struck = True
            self.told = f"{item.name} became slippery (friction {friction:.3f}) {self.where}"

    def left(self, world: PhysicsWorld) -> None:
        """See ``Fault.left``. It stays at work until the item has left the hand."""
        self.active = self.struck


class Stuck(Fault):
    """Stops a drawer while it is pulled: its dry friction becomes more than any arm pulls with."""

    FORCE = 500.0  # N or N m

    def waits_for(self, world: PhysicsWorld, motion: Motion) -> bool:
        """See ``Fault.waits_for``."""
        names = [a.name for a in motion.attachments if a.kind == "joint"]
        if not names or self.target not in ("", names[0]):
            return False
        return self._travel(world, motion, names[0]) > 0.05

    def start(self, world: PhysicsWorld, motion: Motion) -> None:
        """See ``Fault.start``."""
        name = next(a.name for a in motion.attachments if a.kind == "joint")
        self.index = world.scene.joint_index[name]
        now = float(world.scene_q()[self.index])
        end = now + self._travel(world, motion, name)
        self.opening = now + float(self.rng.uniform(0.05, max(0.05, min(0.2, 0.8 * (end - now)))))

    def step(self, world: PhysicsWorld, motion: Motion, t: float) -> None:
        """See ``Fault.step``."""
        value = float(world.scene_q()[self.index])
        if self.struck or value < self.opening:
            return
        joint = world.scene.joints[self.index]
        world.set_joint_friction(self.index, self.FORCE)
        self.struck = True
        unit = "rad" if joint.kind == "revolute" else "m"
        self.told = f"{joint.name} got stuck, open by {value:.3f} {unit} {self.where}"

    def left(self, world: PhysicsWorld) -> None:
        """See ``Fault.left``. It lets go."""
        self.active = False
        if self.struck and self.spec.kind == "stuck":
            world.set_joint_friction(self.index, world.scene.joints[self.index].friction)

    def _travel(self, world: PhysicsWorld, motion: Motion, name: str) -> float:
        """How far (m or rad) the motion is to open the joint."""
        q = world.q()
        base = world.scene.robot.base
        start, end = q.copy(), q.copy()
        start[world.robot.slice(motion.group)] = motion.path.start
        end[world.robot.slice(motion.group)] = motion.path.end
        joint = world.scene.joint(name)
        return float(displacement(joint, hand_pose(start, base), hand_pose(end, base)))


class PushBase(Fault):
    """Shoves the base 3 to 8 cm and 1 to 5 degrees; it believes to stand where it was.

    Meanwhile the base's motors are off and a force and a torque on its chassis lead it, at half a
    sine wave of speed on top of what it was about to do, within its limits. Then its motors hold it
    where it is: all that they are told from then on is off by the shove.
    """

    DURATION = 1.0  # s
    SPARE = 0.05  # m that the chassis keeps from the furniture
    MASS, INERTIA = 90.0, 12.0  # kg, kg m^2 about the vertical, roughly: errors are taken back

    def waits_for(self, world: PhysicsWorld, motion: Motion) -> bool:
        """See ``Fault.waits_for``."""
        if self.target and self.target != ("drive" if _drives(motion) else "arm"):
            return False
        if motion.group == "fingers" or motion.trajectory.duration < 1.2 * self.DURATION:
            return False
        # Free motions only: fingers may touch what they hold, and nothing touches anything else.
        held = {a.name for a in motion.attachments if a.kind == "item"}
        joint = any(a.kind == "joint" for a in motion.attachments)
        return not joint and all(
            (a in held and b in world.robot.fingers) or (b in held and a in world.robot.fingers)
            for a, b in motion.allowed
        )

    def start(self, world: PhysicsWorld, motion: Motion) -> None:
        """See ``Fault.start``. Drawn again until there is room for it."""
        self.shove: Array | None = None
        spare = motion.trajectory.duration - self.DURATION
        for _ in range(_DRAWS):
            self.begin = float(self.rng.uniform(0.05, 0.95)) * spare
            angle = float(self.rng.uniform(0.0, 2.0 * np.pi))
            way = float(self.rng.uniform(0.03, 0.08)) * np.array([np.cos(angle), np.sin(angle)])
            turn = float(self.rng.choice([-1.0, 1.0]) * np.radians(self.rng.uniform(1.0, 5.0)))
            shove = np.array([*way, turn])
            if self._slow(world, motion, shove) and self._clear(world, motion, shove):
                self.shove = shove
                self.shift = np.array(world.base_shift)
                return
        self.told = "there was no room to shove the base"
        self.active = False

    def step(self, world: PhysicsWorld, motion: Motion, t: float) -> None:
        """See ``Fault.step``."""
        since = t - self.begin
        if since < 0.0 or self.shove is None:
            return
        if since >= self.DURATION:
            self._done(world, _going(motion, t) * world.dt)
            return
        world.base_limp = True
        v, a = bump(since + 0.5 * world.dt, self.DURATION, 1.0)
        now = world.joints()[1][:3]
        wanted = _going(motion, t) + v * self.shove
        needed = a * self.shove + _going(motion, t, 2) + _STIFF * (wanted - now) / world.dt
        self._push(world, needed)

    def left(self, world: PhysicsWorld) -> None:
        """See ``Fault.left``."""
        if world.base_limp:
            self._done(world, np.zeros(3))
        self.active = False

    def _done(self, world: PhysicsWorld, ahead: Array) -> None:
        """The motors are on again; they will be told to be ``ahead`` (3,) of the latest command."""
        world.base_shift = world.q()[:3] - world.command[:3] - ahead
        world.base_limp = False
        moved = world.base_shift - self.shift
        turned = np.degrees(abs(float(wrap(moved[2]))))
        self.struck, self.active = True, False
        how = f"{mm(moved[:2])} and {turned:.1f} degrees"
        self.told = f"the base was shoved by {how} {self.where}"

    def _push(self, world: PhysicsWorld, acceleration: Array) -> None:
        force = [*(self.MASS * acceleration[:2]).tolist(), 0.0]
        self.pushed("chassis", np.array(force))
        world.push_base(force, [0.0, 0.0, self.INERTIA * float(acceleration[2])])

    def _slow(self, world: PhysicsWorld, motion: Motion, shove: Array) -> bool:
        """Whether the base, shoved, keeps its limits of speed and acceleration."""
        base = world.scene.robot.base
        for since in np.linspace(0.0, self.DURATION, 41):
            v, a = bump(float(since), self.DURATION, 1.0)
            t = self.begin + float(since)
            if (np.abs(_going(motion, t) + v * shove) > _MOST * np.array(base.velocity)).any():
                return False
            rate = _going(motion, t, 2) + a * shove
            if (np.abs(rate) > _MOST * np.array(base.acceleration)).any():
                return False
        return True

    def _clear(self, world: PhysicsWorld, motion: Motion, shove: Array) -> bool:
        """Whether the chassis, where it will come to stand, is within limits and hits nothing."""
        base = world.scene.robot.base
        there = world.q()[:3] + shove
        if _drives(motion):
            there = motion.trajectory.end[:3] + world.base_shift + shove
        if (there < base.lower).any() or (there > base.upper).any():
            return False
        half = np.array([base.size[0], base.size[1], base.size[2] - base.ground_gap]) / 2.0
        middle = 0.5 * (base.size[2] + base.ground_gap)
        X = transform(rotation_z(float(there[2])), (there[0], there[1], middle))
        chassis = BoxSet(X[None], half[None] + [[self.SPARE, self.SPARE, 0.0]])
        return bool((overlaps(chassis, furniture(world.scene, world.scene_q())) < 0.0).all())


def _drives(motion: Motion) -> bool:
    return "base" in motion.group.split("+")


def _going(motion: Motion, t: float, order: int = 1) -> Array:
    """Speed (3,) that the base is to have at ``t``; its rate of change with ``order`` 2."""
    return np.asarray(motion.trajectory(t, order)[:3]) if _drives(motion) else np.zeros(3)


def bump(t: float, duration: float, distance: float) -> tuple[float, float]:
    """Speed and acceleration at ``t`` of a push over ``distance``: half a sine wave of speed.

    v = d pi / (2 T) sin(pi t / T), which integrates to d over T.
    """
    rate = np.pi / duration
    peak = 0.5 * distance * rate
    return float(peak * np.sin(rate * t)), float(peak * rate * np.cos(rate * t))


def reached(world: PhysicsWorld, motion: Motion) -> int | None:
    """The item that an empty hand is on its way to in a free motion, by its index."""
    if "arm" not in motion.group.split("+") or motion.attachments or motion.allowed:
        return None
    q = world.q()
    q[world.robot.slice(motion.group)] = motion.path.end
    X_WH = hand_pose(q, world.scene.robot.base)
    p_WT = X_WH[:3, :3] @ world.robot.p_HT + X_WH[:3, 3]
    away = []
    for index, item in enumerate(world.scene.items):
        X_WI = world.item_pose(index)
        p_IT = X_WI[:3, :3].T @ (p_WT - X_WI[:3, 3])
        away.append(float(np.linalg.norm(np.maximum(np.abs(p_IT) - item.size / 2.0, 0.0))))
    nearest = int(np.argmin(away)) if away else -1
    return nearest if away and away[nearest] <= NEAR else None


def gravity(world: PhysicsWorld) -> float:
    """m/s^2, a magnitude."""
    return float(np.linalg.norm(world.scene.physics.gravity))


def mm(way: Array) -> str:
    """The length of a way (k,), metres, in words."""
    return f"{1e3 * float(np.linalg.norm(way)):.0f} mm"


FAULTS: Mapping[str, type[Fault]] = MappingProxyType(
    {
        "nudge": Nudge,
        "topple": Topple,
        "slippery": Slippery,
        "stuck": Stuck,
        "stuck-for-good": Stuck,
        "push-base": PushBase,
    }
)


class InjectedFaults:
    """Several faults as one, for an executor that knows one.

    Attributes:
        each: the faults, in the order in which they were asked for.
    """

    def __init__(self, each: tuple[Fault, ...]) -> None:
        self.each = each

    def begins(self, world: PhysicsWorld, motion: Motion, name: str) -> None:
        """A motion begins; ``name`` is the log's."""
        for fault in self.each:
            fault.begins(world, motion, name)

    def steps(self, world: PhysicsWorld, motion: Motion, name: str, t: float) -> None:
        """The world is about to make a step, ``t`` seconds into a motion."""
        for fault in self.each:
            fault.steps(world, motion, name, t)

    def outside(self) -> dict[str, float]:
        """What was pushed from outside since this was asked last, and with how many N at most.

        For the log's contacts, with ``domain.log.OUTSIDE``: whoever judges a run should know of
        forces that nothing in the scene explains.
        """
        found: dict[str, float] = {}
        for fault in self.each:
            for name, force in fault.outside.items():
                found[name] = max(force, found.get(name, 0.0))
            fault.outside.clear()
        return found

    @property
    def told(self) -> tuple[str, ...]:
        """A sentence for each: what it did and when, or that it did not strike."""
        return tuple(
            fault.told if fault.struck else f"{fault.spec}{IN_VAIN}{fault.told or 'no occasion'}"
            for fault in self.each
        )


def parse_fault(text: str, scene: Scene, seed: int) -> InjectedFaults:
    """The faults that a text asks for: ``nudge:sugar_box``, ``topple,stuck:drawer@2``.

    Args:
        text: ``KIND[:NAME][@N]``, several with commas between; see ``fault``.
        scene: in which the names stand: an item, a drawer, or their PDDL objects.
        seed: of their times, strengths and directions.

    Raises:
        BadInput: in one line: what is wrong, and what there is.
    """
    specs = parse_specs(text)
    found = []
    for k, spec in enumerate(specs):
        rng: np.random.Generator = stream(seed, f"fault {k} {spec}")
        found.append(FAULTS[spec.kind](spec, scene, rng))
    return InjectedFaults(tuple(found))
