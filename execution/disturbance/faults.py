"""The kinds of faults, and several of them at once as ``--fault`` names them.

Items are pushed aside or knocked over, friction vanishes or jams a drawer, the base is shoved.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from galley.domain.frames import Array, rotation_about, rotation_z, transform, wrap
from galley.domain.scene.model import Item, Scene
from galley.execution.disturbance.box_placement import (
    BoxSet,
    collides,
    displaced,
    furniture_boxes,
    is_free_placement,
    is_supported,
    item_boxes,
    overlaps,
)
from galley.execution.disturbance.fault import DID_NOT_STRIKE, Fault, parse_specs
from galley.execution.disturbance.noise import stream
from galley.execution.physics.intervention import (
    push_base,
    push_item,
    robot_normal_force,
    set_item_friction,
    support_friction,
)
from galley.motion.effects import displacement
from galley.motion.motion import Motion
from galley.robots.panda.mobile import hand_pose

if TYPE_CHECKING:
    from galley.execution.physics.world import PhysicsWorld


NEAR = 0.12  # m from the grasp centre to the item's box at the end of a reach, at most
_DIRECTIONS = 16  # tried for free space
_ITEM_GAIN = 0.05  # share of a speed error corrected within a step: boxes rock easily
_BASE_GAIN = 0.8  # likewise for the base: the arm moves meanwhile
_DRAWS = 300  # of a shove, until there is free space for one
_LIMIT_SHARE = 0.98  # of the base's limits that a shove may use


class _ApproachFault(Fault):
    """Strikes an item while the empty hand approaches it."""

    DURATION = 0.7  # s, roughly: it should be over before the motion is
    index = -1
    begin = 0.0  # s into the motion

    def _applies_to(self, world: PhysicsWorld, motion: Motion) -> bool:
        index = approached_item(world, motion)
        return index is not None and self.target in ("", world.scene.items[index].name)

    def _prepare(self, world: PhysicsWorld, motion: Motion) -> None:
        index = approached_item(world, motion)
        assert index is not None
        self.index = index
        spare = max(0.0, motion.trajectory.duration - self.DURATION - 0.1)
        self.begin = float(self.rng.uniform(0.0, 1.0)) * spare

    def _push(self, world: PhysicsWorld, force: Array, point: Array) -> None:
        """Apply and record a force (3,), N, at a point (3,), m, both in the world."""
        self.record_force(world.scene.items[self.index].name, force)
        push_item(world, self.index, force, point)


class Nudge(_ApproachFault):
    """Pushes an item 2 to 4 cm aside.

    The push follows a half-sine speed profile, like that of a finger low on the item: with mass m,
    support friction mu and acceleration a(t), the force is m (mu g + a(t)) plus feedback on the
    speed error. It acts low, because a box pushed at its centre topples if mu exceeds its width
    over its height, and is slow, because a box that slides on and is braked by friction does too.
    """

    def _prepare(self, world: PhysicsWorld, motion: Motion) -> None:
        super()._prepare(world, motion)
        self.distance = float(self.rng.uniform(0.02, 0.04))
        self.first_angle = float(self.rng.uniform(0.0, 2.0 * np.pi))
        self.direction: Array | None = None

    def _act(self, world: PhysicsWorld, motion: Motion, t: float) -> None:
        if t < self.begin:
            return
        item = world.scene.items[self.index]
        X_WI = world.item_pose(self.index)
        if self.direction is None:
            self.direction = self._free_direction(world, item, X_WI)
            if self.direction is None:
                self.report = f"there was no room to nudge {item.name} {self.when}"
                self.active = False
                return
            self.begin, self.X_0 = t, X_WI
            self.friction = support_friction(world, self.index)
        since = t - self.begin
        if since >= self.DURATION:
            self._finish(world, item)
            return
        speed, acceleration = push_profile(since + 0.5 * world.dt, self.DURATION, self.distance)
        error = speed - float(world.item_velocity(self.index)[0] @ self.direction)
        needed = self.friction * gravity(world) + acceleration + _ITEM_GAIN * error / world.dt
        force = item.mass * max(0.0, needed) * self.direction
        height = float(np.abs(X_WI[2, :3]) @ item.size)
        low = X_WI[:3, 3] - np.array([0.0, 0.0, 0.48 * height])
        self._push(world, force, low)

    def _motion_over(self, world: PhysicsWorld) -> None:
        if self.direction is not None:
            self._finish(world, world.scene.items[self.index])
        self.active = False

    def _finish(self, world: PhysicsWorld, item: Item) -> None:
        moved = world.item_pose(self.index)[:2, 3] - self.X_0[:2, 3]
        self.struck, self.active = True, False
        self.report = f"{item.name} was pushed {in_millimetres(moved)} aside {self.when}"

    def _free_direction(self, world: PhysicsWorld, item: Item, X_WI: Array) -> Array | None:
        """A direction (3,) in which the item can slide, supported and clear of all else."""
        scene, scene_q = world.scene, world.scene_q()
        solids = furniture_boxes(scene, scene_q)
        obstacles = solids.joined(_others(world, self.index))
        for k in range(_DIRECTIONS):
            angle = self.first_angle + 2.0 * np.pi * k / _DIRECTIONS
            direction = np.array([np.cos(angle), np.sin(angle), 0.0])
            poses = [displaced(X_WI, s * self.distance * direction[:2]) for s in (0.5, 1.1)]
            if all(
                is_free_placement(scene, scene_q, item, X_WI, X, solids, obstacles) for X in poses
            ):
                return direction
        return None


class Topple(_ApproachFault):
    """Knocks an item over.

    A horizontal force acts at the top of the item, across its narrower side. With mass m, that side
    w and height h, the item tips above m g w / (2 h) and slides above mu m g. The force is 2.5
    times the former, at most 0.9 times the latter, until the item leans beyond its balance.
    """

    BEYOND = np.radians(12.0)  # rad past the balance, from where it falls by itself
    TIMEOUT = 1.5  # s

    def _prepare(self, world: PhysicsWorld, motion: Motion) -> None:
        super()._prepare(world, motion)
        self.sign = float(self.rng.choice([-1.0, 1.0]))
        self.force: Array | None = None

    def _act(self, world: PhysicsWorld, motion: Motion, t: float) -> None:
        if t < self.begin:
            return
        item = world.scene.items[self.index]
        X_WI = world.item_pose(self.index)
        if self.force is None:
            self._prepare_push(world, item, X_WI)
            self.begin = t
        if self.force is None:
            self.active = False
            return
        lean = float(np.arccos(np.clip(self.up_I @ X_WI[2, :3], -1.0, 1.0)))
        if lean > self.balance + self.BEYOND:
            self.struck, self.active = True, False
            self.report = f"{item.name} was knocked over {self.when}"
        elif t - self.begin > self.TIMEOUT:
            self.active = False
            self.report = f"{item.name} slid instead of falling over {self.when}"
        else:
            top = X_WI[:3, :3] @ (self.up_I * self.height / 2.0) + X_WI[:3, 3]
            self._push(world, self.force, top)

    def _prepare_push(self, world: PhysicsWorld, item: Item, X_WI: Array) -> None:
        upright = int(np.argmax(np.abs(X_WI[2, :3])))
        self.up_I = np.zeros(3)
        self.up_I[upright] = np.sign(X_WI[2, upright])
        self.height = float(item.size[upright])
        flat = [k for k in range(3) if k != upright]
        narrow = min(flat, key=lambda k: float(item.size[k]))
        width = float(item.size[narrow])
        self.balance = float(np.arctan2(width, self.height))
        tipping = width / (2.0 * self.height)
        friction = support_friction(world, self.index)
        if 0.9 * friction < 1.1 * tipping:
            self.report = f"{item.name} stood too firmly to be knocked over {self.when}"
            return
        direction = np.array([*X_WI[:2, narrow], 0.0])
        direction *= self.sign / np.linalg.norm(direction)
        if not self._can_fall(world, item, X_WI, direction) and self._can_fall(
            world, item, X_WI, -direction
        ):
            direction = -direction
        self.force = min(2.5 * tipping, 0.9 * friction) * item.mass * gravity(world) * direction

    def _can_fall(self, world: PhysicsWorld, item: Item, X_WI: Array, direction: Array) -> bool:
        """Whether the item can lie on that side, supported and clear of all else."""
        axis = np.cross([0.0, 0.0, 1.0], direction)
        half = 0.5 * float(np.abs(direction @ X_WI[:3, :3]) @ item.size)
        edge = X_WI[:3, 3] + half * direction - np.array([0.0, 0.0, self.height / 2.0])
        R = rotation_about(axis, 0.5 * np.pi)
        lying = transform(R, edge - R @ edge) @ X_WI
        solids = furniture_boxes(world.scene, world.scene_q())
        obstacles = solids.joined(_others(world, self.index))
        clear = not collides(item, X_WI, lying, obstacles)
        beside = displaced(X_WI, lying[:2, 3] - X_WI[:2, 3])
        return clear and is_supported(world.scene, world.scene_q(), item, X_WI, beside, solids)


def _others(world: PhysicsWorld, index: int) -> BoxSet:
    """The boxes of all items but one, as they are now."""
    rest = [k for k in range(len(world.item_ids)) if k != index]
    return item_boxes([world.scene.items[k] for k in rest], [world.item_pose(k) for k in rest])


class Slippery(Fault):
    """Lowers an item's friction while it is carried, and restores it once it has left the hand.

    Two fingers hold the weight m g while mu N exceeds it, where N is the sum of their normal forces
    and mu the product of the pads' and the item's coefficients. The item gets 0.4 to 0.8 of the
    coefficient that would just hold it, at most 0.1.
    """

    MAX_FRICTION = 0.1
    RELEASED = 0.1  # s without contact, after which the item has left the hand

    def _applies_to(self, world: PhysicsWorld, motion: Motion) -> bool:
        """Carrying begins after the lift."""
        held = [a.name for a in motion.attachments if a.kind == "item"]
        return (
            bool(held)
            and self.target in ("", held[0])
            and motion.group != "fingers"
            and motion.phase.split()[-1] != "lift"
        )

    def _prepare(self, world: PhysicsWorld, motion: Motion) -> None:
        held = next(a.name for a in motion.attachments if a.kind == "item")
        self.index = world.scene.item_index[held]
        self.begin = float(self.rng.uniform(0.2, 0.6)) * motion.trajectory.duration
        self.share = float(self.rng.uniform(0.4, 0.8))
        self.without_contact = 0.0

    def _act(self, world: PhysicsWorld, motion: Motion, t: float) -> None:
        normal_force = robot_normal_force(world, self.index)
        if self.struck:
            self.without_contact = 0.0 if normal_force > 0.0 else self.without_contact + world.dt
            if self.without_contact > self.RELEASED:
                set_item_friction(world, self.index, world.scene.items[self.index].friction)
                self.active = False
        elif t >= self.begin and normal_force > 0.0:
            item = world.scene.items[self.index]
            pads = world.scene.physics.finger_friction
            holding = item.mass * gravity(world) / (normal_force * max(pads, 1e-6))
            friction = min(self.MAX_FRICTION, self.share * holding)
            set_item_friction(world, self.index, friction)
            self.struck = True
            self.report = f"{item.name} became slippery (friction {friction:.3f}) {self.when}"

    def _motion_over(self, world: PhysicsWorld) -> None:
        """The fault stays active until the item has left the hand."""
        self.active = self.struck


class Stuck(Fault):
    """Jams a drawer while it is pulled: its dry friction exceeds what any arm can pull."""

    FORCE = 500.0  # N or N m

    def _applies_to(self, world: PhysicsWorld, motion: Motion) -> bool:
        names = [a.name for a in motion.attachments if a.kind == "joint"]
        if not names or self.target not in ("", names[0]):
            return False
        return self._travel(world, motion, names[0]) > 0.05

    def _prepare(self, world: PhysicsWorld, motion: Motion) -> None:
        name = next(a.name for a in motion.attachments if a.kind == "joint")
        self.index = world.scene.joint_index[name]
        now = float(world.scene_q()[self.index])
        end = now + self._travel(world, motion, name)
        self.opening = now + float(self.rng.uniform(0.05, max(0.05, min(0.2, 0.8 * (end - now)))))

    def _act(self, world: PhysicsWorld, motion: Motion, t: float) -> None:
        value = float(world.scene_q()[self.index])
        if self.struck or value < self.opening:
            return
        joint = world.scene.joints[self.index]
        world.set_joint_friction(self.index, self.FORCE)
        self.struck = True
        unit = "rad" if joint.kind == "revolute" else "m"
        self.report = f"{joint.name} got stuck, open by {value:.3f} {unit} {self.when}"

    def _motion_over(self, world: PhysicsWorld) -> None:
        """Release the drawer, unless it is stuck for good."""
        self.active = False
        if self.struck and self.spec.kind == "stuck":
            world.set_joint_friction(self.index, world.scene.joints[self.index].friction)

    def _travel(self, world: PhysicsWorld, motion: Motion, name: str) -> float:
        """How far (m or rad) the motion opens the joint."""
        q = world.q()
        base = world.scene.robot.base
        start, end = q.copy(), q.copy()
        start[world.robot.slice(motion.group)] = motion.path.start
        end[world.robot.slice(motion.group)] = motion.path.end
        joint = world.scene.joint(name)
        return float(displacement(joint, hand_pose(start, base), hand_pose(end, base)))


class PushBase(Fault):
    """Shoves the base 3 to 8 cm and 1 to 5 degrees, unnoticed by its odometry.

    For a second the base's motors are off, and a force and a torque on the chassis add a half-sine
    speed profile to its planned motion, within its limits. Then the motors hold the base where it
    is, and all later commands are off by the shove.
    """

    DURATION = 1.0  # s
    CLEARANCE = 0.05  # m between chassis and furniture
    MASS, INERTIA = 90.0, 12.0  # kg, kg m^2 about the vertical, roughly: there is feedback

    def _applies_to(self, world: PhysicsWorld, motion: Motion) -> bool:
        if self.target and self.target != ("drive" if _moves_base(motion) else "arm"):
            return False
        if motion.group == "fingers" or motion.trajectory.duration < 1.2 * self.DURATION:
            return False
        # Free motions only: the sole contacts are those of the fingers with what they hold.
        held = {a.name for a in motion.attachments if a.kind == "item"}
        joint = any(a.kind == "joint" for a in motion.attachments)
        return not joint and all(
            (a in held and b in world.robot.fingers) or (b in held and a in world.robot.fingers)
            for a, b in motion.allowed
        )

    def _prepare(self, world: PhysicsWorld, motion: Motion) -> None:
        """Draw shoves until there is free space for one."""
        self.shove: Array | None = None
        spare = motion.trajectory.duration - self.DURATION
        for _ in range(_DRAWS):
            self.begin = float(self.rng.uniform(0.05, 0.95)) * spare
            angle = float(self.rng.uniform(0.0, 2.0 * np.pi))
            offset = float(self.rng.uniform(0.03, 0.08)) * np.array([np.cos(angle), np.sin(angle)])
            turn = float(self.rng.choice([-1.0, 1.0]) * np.radians(self.rng.uniform(1.0, 5.0)))
            shove = np.array([*offset, turn])
            if self._within_limits(world, motion, shove) and self._is_clear(world, motion, shove):
                self.shove = shove
                self.shift = np.array(world.base_shift)
                return
        self.report = "there was no room to shove the base"
        self.active = False

    def _act(self, world: PhysicsWorld, motion: Motion, t: float) -> None:
        since = t - self.begin
        if since < 0.0 or self.shove is None:
            return
        if since >= self.DURATION:
            self._finish(world, _planned_rate(motion, t) * world.dt)
            return
        world.base_motors_off = True
        v, a = push_profile(since + 0.5 * world.dt, self.DURATION, 1.0)
        now = world.joint_states().velocity[:3]
        desired = _planned_rate(motion, t) + v * self.shove
        needed = (
            a * self.shove + _planned_rate(motion, t, 2) + _BASE_GAIN * (desired - now) / world.dt
        )
        force = [*(self.MASS * needed[:2]).tolist(), 0.0]
        self.record_force("chassis", np.array(force))
        push_base(world, force, [0.0, 0.0, self.INERTIA * float(needed[2])])

    def _motion_over(self, world: PhysicsWorld) -> None:
        if world.base_motors_off:
            self._finish(world, np.zeros(3))
        self.active = False

    def _finish(self, world: PhysicsWorld, ahead: Array) -> None:
        """Switch the motors on; their next command is ``ahead`` (3,) of the latest one."""
        world.base_shift = world.q()[:3] - world.command[:3] - ahead
        world.base_motors_off = False
        moved = world.base_shift - self.shift
        turned = np.degrees(abs(float(wrap(moved[2]))))
        self.struck, self.active = True, False
        how = f"{in_millimetres(moved[:2])} and {turned:.1f} degrees"
        self.report = f"the base was shoved by {how} {self.when}"

    def _within_limits(self, world: PhysicsWorld, motion: Motion, shove: Array) -> bool:
        """Whether the shoved base keeps its speed and acceleration limits."""
        base = world.scene.robot.base
        for since in np.linspace(0.0, self.DURATION, 41):
            v, a = push_profile(float(since), self.DURATION, 1.0)
            t = self.begin + float(since)
            if (
                np.abs(_planned_rate(motion, t) + v * shove)
                > _LIMIT_SHARE * np.array(base.velocity)
            ).any():
                return False
            rate = _planned_rate(motion, t, 2) + a * shove
            if (np.abs(rate) > _LIMIT_SHARE * np.array(base.acceleration)).any():
                return False
        return True

    def _is_clear(self, world: PhysicsWorld, motion: Motion, shove: Array) -> bool:
        """Whether the chassis is within its limits and hits nothing after the shove."""
        base = world.scene.robot.base
        end = world.q()[:3] + shove
        if _moves_base(motion):
            end = motion.trajectory.end[:3] + world.base_shift + shove
        if (end < base.lower).any() or (end > base.upper).any():
            return False
        half = np.array([base.size[0], base.size[1], base.size[2] - base.ground_gap]) / 2.0
        middle = 0.5 * (base.size[2] + base.ground_gap)
        X = transform(rotation_z(float(end[2])), (end[0], end[1], middle))
        chassis = BoxSet(X[None], half[None] + [[self.CLEARANCE, self.CLEARANCE, 0.0]])
        return bool((overlaps(chassis, furniture_boxes(world.scene, world.scene_q())) < 0.0).all())


def _moves_base(motion: Motion) -> bool:
    return "base" in motion.group.split("+")


def _planned_rate(motion: Motion, t: float, order: int = 1) -> Array:
    """Planned velocity (3,) of the base at ``t``; with ``order`` 2 its acceleration."""
    return np.asarray(motion.trajectory(t, order)[:3]) if _moves_base(motion) else np.zeros(3)


def push_profile(t: float, duration: float, distance: float) -> tuple[float, float]:
    """Speed and acceleration at ``t`` of a push over ``distance``, with a half-sine speed.

    v = d pi / (2 T) sin(pi t / T), which integrates to d over T.
    """
    rate = np.pi / duration
    peak = 0.5 * distance * rate
    return float(peak * np.sin(rate * t)), float(peak * rate * np.cos(rate * t))


def approached_item(world: PhysicsWorld, motion: Motion) -> int | None:
    """Index of the item that the empty hand approaches in a free motion, or None."""
    if "arm" not in motion.group.split("+") or motion.attachments or motion.allowed:
        return None
    q = world.q()
    q[world.robot.slice(motion.group)] = motion.path.end
    X_WH = hand_pose(q, world.scene.robot.base)
    p_WT = X_WH[:3, :3] @ world.robot.p_HT + X_WH[:3, 3]
    distances = []
    for index, item in enumerate(world.scene.items):
        X_WI = world.item_pose(index)
        p_IT = X_WI[:3, :3].T @ (p_WT - X_WI[:3, 3])
        distances.append(float(np.linalg.norm(np.maximum(np.abs(p_IT) - item.size / 2.0, 0.0))))
    nearest = int(np.argmin(distances)) if distances else -1
    return nearest if distances and distances[nearest] <= NEAR else None


def gravity(world: PhysicsWorld) -> float:
    """Magnitude, m/s^2."""
    return float(np.linalg.norm(world.scene.physics.gravity))


def in_millimetres(vector: Array) -> str:
    """The length of a vector (k,), metres, in words."""
    return f"{1e3 * float(np.linalg.norm(vector)):.0f} mm"


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
    """Several faults as one ``FaultInjector``.

    Attributes:
        faults: in the order in which they were requested.
    """

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        self.faults = faults

    def motion_begins(self, world: PhysicsWorld, motion: Motion) -> None:
        for fault in self.faults:
            fault.motion_begins(world, motion)

    def before_step(self, world: PhysicsWorld, motion: Motion, name: str, t: float) -> None:
        """See ``FaultInjector.before_step``; ``name`` is the motion's line in the log."""
        for fault in self.faults:
            fault.before_step(world, motion, name, t)

    def external_forces(self) -> dict[str, float]:
        """The largest external force (N) on each body, by name, since the last call.

        The log records them as contacts with ``domain.log.OUTSIDE``, so that validation can tell
        them from motion without a cause.
        """
        forces: dict[str, float] = {}
        for fault in self.faults:
            for name, force in fault.external_forces.items():
                forces[name] = max(force, forces.get(name, 0.0))
            fault.external_forces.clear()
        return forces

    @property
    def reports(self) -> tuple[str, ...]:
        """One sentence per fault: what it did and when, or that it did not strike."""
        return tuple(
            fault.report
            if fault.struck
            else f"{fault.spec}{DID_NOT_STRIKE}{fault.report or 'no occasion'}"
            for fault in self.faults
        )


def parse_fault(text: str, scene: Scene, seed: int) -> InjectedFaults:
    """The faults in a text such as ``nudge:sugar_box`` or ``topple,stuck:drawer@2``.

    Args:
        text: ``KIND[:NAME][@N]``, several separated by commas; see ``fault``.
        scene: in which the names are looked up: items, drawers, or their PDDL objects.
        seed: for times, strengths and directions.

    Raises:
        BadInput: one line that says what is wrong and what there is.
    """
    return InjectedFaults(
        tuple(
            FAULTS[spec.kind](spec, scene, stream(seed, f"fault {k} {spec}"))
            for k, spec in enumerate(parse_specs(text))
        )
    )
