"""Faults that are injected into a run under physics, by the option ``--fault``.

A fault waits for a motion that it applies to, acts during it, and reports what it did. Faults never
set a state: they push items, change friction or let the base slip, and the physics does the rest.

Each kind of fault is a generator that advances by one ``yield`` before each simulation step.
``KINDS`` lists them with their possible targets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from galley.domain.errors import BadInput, did_you_mean
from galley.domain.frames import Array, rotation_z, transform, wrap
from galley.domain.scene.model import Scene
from galley.execution.disturbance.boxes import (
    BoxSet,
    displaced,
    is_free_placement,
    obstacles,
    overlaps,
)
from galley.execution.disturbance.noise import stream
from galley.execution.physics.intervention import (
    push_item,
    robot_normal_force,
    set_item_friction,
    support_friction,
)
from galley.motion.effects import displacement
from galley.motion.motion import Motion

if TYPE_CHECKING:
    from galley.execution.physics.world import PhysicsWorld

FLAG = "fault"
DID_NOT_STRIKE = " did not strike: "  # in the report of a fault that had no opportunity
NEAR = 0.12  # m, the largest distance from the grasp centre to an item that is approached
_PUSH_TIME, _PUSH_TIMEOUT = 0.8, 1.5  # s, the typical and the longest duration of a push
_NUDGE_SPEED = 0.06  # m/s
_NUDGE_GAIN = 12.0  # 1/s, the acceleration per error in that speed
_DIRECTIONS = 16  # in which a nudge searches for room
_BEYOND = np.radians(12.0)  # rad past its balance, from where a toppled item falls by itself
_SLIPPERY = 0.1  # largest friction coefficient of a slippery item
_RELEASED = 0.1  # s without contact, after which an item has left the hand
_JAM = 500.0  # N or N m, friction of a stuck drawer: more than any arm can pull
_CLEARANCE = 0.05  # m between the shoved chassis and furniture
_SHOVES = 300  # samples of a shove, of which the first with free space is taken
_SHORTEST = {"arm": 1.2, "drive": 2.0}  # s, so that the base keeps its limits while it is shoved


@dataclass(frozen=True)
class FaultSpec:
    """One requested fault.

    Attributes:
        kind: a key of ``KINDS``.
        name: name of its target; empty for the first possible one.
        occurrence: N, if it strikes in the N-th motion that it applies to, from 1.
    """

    kind: str
    name: str = ""
    occurrence: int = 1

    def __str__(self) -> str:
        text = self.kind + (f":{self.name}" if self.name else "")
        return text + (f"@{self.occurrence}" if self.occurrence != 1 else "")


class Fault:
    """One fault, which strikes once.

    Args:
        spec: the kind of fault, its target and its occurrence.
        scene: in which the target's name is looked up.
        rng: random generator for its time, strength and direction.

    Attributes:
        target: the scene's name of an item or joint, or ``drive`` or ``arm``; empty for any.
        struck: whether the fault has struck.
        report: one sentence on what it did and when; before that, why it did not strike, or empty.
        t: seconds into the current motion.
        over: whether that motion has ended.
        forces: the largest force (N) by which it pushed each item since the forces were last read.

    Raises:
        BadInput: the target is not in the scene; the message lists the possible targets.
    """

    def __init__(self, spec: FaultSpec, scene: Scene, rng: np.random.Generator) -> None:
        self.spec, self.rng, self.kind = spec, rng, KINDS[spec.kind]
        self.target = self.report = ""
        self.struck = self.over = False
        self.t = 0.0
        self.forces: dict[str, float] = {}
        self._acting: Iterator[None] | None = None
        self._occasions = 0
        if spec.name:
            names = self.kind.targets(scene)
            if spec.name not in names:
                there = did_you_mean(spec.name, tuple(names)) or f"; there are {', '.join(names)}"
                what = f"{spec.kind} needs {self.kind.needs}, and there is no '{spec.name}'{there}"
                raise BadInput.one(FLAG, what)
            self.target = names[spec.name]

    def motion_begins(self, world: PhysicsWorld, motion: Motion) -> None:
        """Activate the fault if it is to strike in this motion; called before each motion."""
        # A fault that is still active learns that its motion is over.
        self.over = True
        self._act()
        name = self.kind.occasion(world, motion)
        if not name or self.target not in ("", name) or self._acting is not None:
            return
        self._occasions += 1
        if self._occasions == self.spec.occurrence:
            self.over = False
            self._acting = self.kind.act(self, world, motion, name)

    def before_step(self, world: PhysicsWorld, motion: Motion, name: str, t: float) -> None:
        """Advance an active fault; called before each simulation step, ``t`` (s) into a motion."""
        self.t, self._when = t, f"{t:.2f} s into '{name}'"
        self._act()

    def _act(self) -> None:
        """Advance the generator by a step, and drop it when it has ended."""
        if self._acting is not None and next(self._acting, self) is self:
            self._acting = None

    def until(self, t: float) -> Iterator[None]:
        """Wait until ``t`` (s) into the motion, or until its end."""
        while self.t < t and not self.over:
            yield

    def strikes(self, what: str) -> None:
        """Record that the fault has struck; ``what`` it did becomes the report."""
        self.struck, self.report = True, f"{what} {self._when}"

    def push(self, world: PhysicsWorld, index: int, force: Array, point: Array) -> None:
        """Push an item with a force (3,), N, at a point (3,), m, both in the world."""
        name = world.scene.items[index].name
        self.forces[name] = max(float(np.linalg.norm(force)), self.forces.get(name, 0.0))
        push_item(world, index, force, point)


def nudge(fault: Fault, world: PhysicsWorld, motion: Motion, name: str) -> Iterator[None]:
    """Push an item 2 to 4 cm aside, at a constant speed.

    The force overcomes friction and brings the item to that speed. It acts low: a box that is
    pushed at its centre topples if the friction exceeds its width over its height. The speed is
    low: a box that slides on and is braked by friction topples, too.
    """
    index = world.scene.item_index[name]
    item, begin, distance = world.scene.items[index], _push_begins(fault, motion), 0.0
    wanted, angle = fault.rng.uniform((0.02, 0.0), (0.04, 2.0 * np.pi)).tolist()
    yield from fault.until(begin)
    angles = angle + 2.0 * np.pi / _DIRECTIONS * np.arange(_DIRECTIONS)
    directions = np.column_stack([np.cos(angles), np.sin(angles), 0.0 * angles])
    free = [d for d in directions if _has_room(world, index, 1.1 * wanted * d[:2])]
    if not free:
        fault.report = f"there was no room to nudge {name}"
    if fault.over or not free:
        return
    start, friction = world.item_pose(index), support_friction(world, index)
    while distance < wanted and fault.t < begin + _PUSH_TIMEOUT and not fault.over:
        slower = _NUDGE_SPEED - float(world.item_velocity(index)[0] @ free[0])
        size = item.mass * (friction * gravity(world) + _NUDGE_GAIN * slower)
        X_WI = world.item_pose(index)
        low = X_WI[:3, 3] - [0.0, 0.0, 0.48 * float(np.abs(X_WI[2, :3]) @ item.size)]
        fault.push(world, index, max(0.0, size) * free[0], low)
        yield
        distance = float(free[0] @ (world.item_pose(index) - start)[:3, 3])
    fault.strikes(f"{name} was pushed {1e3 * distance:.0f} mm aside")


def topple(fault: Fault, world: PhysicsWorld, motion: Motion, name: str) -> Iterator[None]:
    """Knock an item over.

    A horizontal force acts at the top of the item, across its narrower side. An item of mass m,
    with that side w and height h, tips above the force m g w / (2 h) and slides above mu m g. The
    force is 2.5 times the former, at most 0.9 times the latter, until the item leans beyond its
    balance.
    """
    index = world.scene.item_index[name]
    item, begin = world.scene.items[index], _push_begins(fault, motion)
    yield from fault.until(begin)
    X_WI = world.item_pose(index)
    upright = int(np.argmax(np.abs(X_WI[2, :3])))
    narrow = min({0, 1, 2} - {upright}, key=lambda axis: float(item.size[axis]))
    width, height = item.size[[narrow, upright]].tolist()
    direction = np.array([*X_WI[:2, narrow], 0.0]) * fault.rng.choice([-1.0, 1.0])
    if not _has_room(world, index, 0.5 * height * direction[:2]):
        direction = -direction
    share = min(1.25 * width / height, 0.9 * support_friction(world, index))
    top = np.where(np.arange(3) == upright, 0.5 * height * np.sign(X_WI[2, upright]), 0.0)
    fault.report = f"{name} did not fall over"
    while fault.t < begin + _PUSH_TIMEOUT and not fault.over:
        X_WI = world.item_pose(index)
        p_IQ = X_WI[:3, :3] @ top
        if np.arccos(2.0 * p_IQ[2] / height) > np.arctan2(width, height) + _BEYOND:
            fault.strikes(f"{name} was knocked over")
            return
        fault.push(world, index, share * item.mass * gravity(world) * direction, X_WI[:3, 3] + p_IQ)
        yield


def slippery(fault: Fault, world: PhysicsWorld, motion: Motion, name: str) -> Iterator[None]:
    """Lower an item's friction while it is carried, and restore it once it has left the hand.

    Two fingers hold the weight m g while mu N exceeds it, where N is the sum of their normal forces
    and mu the product of the pads' and the item's coefficients. The item gets 0.4 to 0.8 of the
    coefficient that would just hold it, and at most 0.1.
    """
    index = world.scene.item_index[name]
    item, pads = world.scene.items[index], max(world.scene.physics.finger_friction, 1e-6)
    begin, share = fault.rng.uniform((0.2, 0.4), (0.6, 0.8)).tolist()
    yield from fault.until(begin * motion.trajectory.duration)
    while not (force := robot_normal_force(world, index)) and not fault.over:
        yield
    if fault.over:
        return
    friction = min(_SLIPPERY, share * item.mass * gravity(world) / (force * pads))
    set_item_friction(world, index, friction)
    fault.strikes(f"{name} became slippery (friction {friction:.3f})")
    apart = 0.0
    while apart <= _RELEASED:
        yield
        apart = 0.0 if robot_normal_force(world, index) > 0.0 else apart + world.dt
    set_item_friction(world, index, item.friction)


def stuck(fault: Fault, world: PhysicsWorld, motion: Motion, name: str) -> Iterator[None]:
    """Jam a drawer or door while it is pulled open.

    ``stuck`` frees it after the motion, ``stuck-for-good`` never does.
    """
    index, joint = world.scene.joint_index[name], world.scene.joint(name)
    most = max(0.05, min(0.2, 0.8 * _travel(world, motion, name)))
    opening = float(world.scene_q()[index]) + float(fault.rng.uniform(0.05, most))
    while world.scene_q()[index] < opening and not fault.over:
        yield
    if fault.over:
        return
    world.set_joint_friction(index, _JAM)
    unit = "rad" if joint.kind == "revolute" else "m"
    fault.strikes(f"{name} got stuck, open by {world.scene_q()[index]:.3f} {unit}")
    if fault.spec.kind == "stuck":
        yield from fault.until(np.inf)
        world.set_joint_friction(index, joint.friction)


def push_base(fault: Fault, world: PhysicsWorld, motion: Motion, name: str) -> Iterator[None]:
    """Shove the base by 3 to 8 cm and 1 to 5 degrees, unnoticed by its odometry.

    Its wheels slip in the course of the motion: the motors follow the odometry, whose error grows
    smoothly to the shove. The error stays, so all later commands have it, too.
    """
    before, end = np.array(world.base_shift), world.q()[:3]
    if name == "drive":
        end = motion.trajectory.end[:3] + before
    for _ in range(_SHOVES):
        away, angle, turn = fault.rng.uniform((0.03, 0.0, 1.0), (0.08, 2.0 * np.pi, 5.0)).tolist()
        turn = np.radians(turn) * fault.rng.choice([-1.0, 1.0])
        shove = np.array([away * np.cos(angle), away * np.sin(angle), turn])
        if _base_fits(world, end + shove):
            break
    else:
        fault.report = "there was no room to shove the base"
        return
    while fault.t < 0.95 * motion.trajectory.duration and not fault.over:
        u = fault.t / (0.95 * motion.trajectory.duration)
        world.base_shift = before + shove * u * u * (3.0 - 2.0 * u)  # at rest at both ends
        yield
    moved = world.base_shift - before
    away, turn = 1e3 * np.hypot(*moved[:2]), np.degrees(abs(wrap(moved[2])))
    fault.strikes(f"the base was shoved by {away:.0f} mm and {turn:.1f} degrees")


def _push_begins(fault: Fault, motion: Motion) -> float:
    """A random time (s) into a motion at which a push begins; the push ends before the motion."""
    spare = max(0.0, motion.trajectory.duration - _PUSH_TIME - 0.1)
    return float(fault.rng.uniform(0.0, 1.0)) * spare


def _has_room(world: PhysicsWorld, index: int, offset: Array) -> bool:
    """Whether an item could stand at a position displaced by ``offset`` (2,), m."""
    scene, scene_q, X_WI = world.scene, world.scene_q(), world.item_pose(index)
    poses = [world.item_pose(k) for k in range(len(scene.items))]
    around, moved = obstacles(scene, scene_q, poses, {index}), displaced(X_WI, offset)
    return is_free_placement(scene, scene_q, scene.items[index], X_WI, moved, around)


def _base_fits(world: PhysicsWorld, pose: Array) -> bool:
    """Whether the base is within its limits at a pose (3,), and its chassis hits no furniture."""
    base = world.scene.robot.base
    half = np.array([base.size[0], base.size[1], base.size[2] - base.ground_gap]) / 2.0
    middle = 0.5 * (base.size[2] + base.ground_gap)
    X = transform(rotation_z(float(pose[2])), (pose[0], pose[1], middle))
    chassis = BoxSet(X[None], half[None] + [[_CLEARANCE, _CLEARANCE, 0.0]])
    free = overlaps(chassis, BoxSet(*world.scene.furniture_boxes(world.scene_q()))) < 0.0
    return bool((pose >= base.lower).all() and (pose <= base.upper).all() and free.all())


def gravity(world: PhysicsWorld) -> float:
    """The magnitude of gravity, m/s^2."""
    return float(np.linalg.norm(world.scene.physics.gravity))


# -- occasions: the possible target of a fault in a motion, or an empty text ----------------------


def approached_item(world: PhysicsWorld, motion: Motion) -> str:
    """The item that the empty hand approaches in a free motion."""
    if "arm" not in motion.group.split("+") or motion.attachments or motion.allowed:
        return ""
    Q = world.robot.with_groups(world.q(), **{motion.group: motion.path.end})
    X_WH = world.robot.kinematics.hand_pose(Q[0])
    p_WT, nearest = X_WH[:3, :3] @ world.robot.p_HT + X_WH[:3, 3], [(NEAR, "")]
    for index, item in enumerate(world.scene.items):
        X_WI = world.item_pose(index)
        p_IT = X_WI[:3, :3].T @ (p_WT - X_WI[:3, 3])
        away = np.linalg.norm(np.maximum(np.abs(p_IT) - item.size / 2.0, 0.0))
        nearest.append((float(away), item.name))
    return min(nearest)[1]


def carried_item(world: PhysicsWorld, motion: Motion) -> str:
    """The item that a motion carries in the hand, after the lift."""
    carries = motion.group != "fingers" and motion.phase.split()[-1] != "lift"
    held = [a.name for a in motion.attachments if a.kind == "item"]
    return held[0] if carries and held else ""


def pulled_drawer(world: PhysicsWorld, motion: Motion) -> str:
    """The joint of a drawer or door that the motion pulls open by at least 5 cm (0.05 rad)."""
    names = [a.name for a in motion.attachments if a.kind == "joint"]
    return names[0] if names and _travel(world, motion, names[0]) > 0.05 else ""


def _travel(world: PhysicsWorld, motion: Motion, name: str) -> float:
    """The displacement (m or rad) by which a motion opens a joint."""
    ends = {motion.group: motion.path.waypoints[[0, -1]]}
    hands = map(world.robot.kinematics.hand_pose, world.robot.with_groups(world.q(), **ends))
    return float(displacement(world.scene.joint(name), *hands))


def free_motion(world: PhysicsWorld, motion: Motion) -> str:
    """``drive`` or ``arm``, if the fingers touch nothing except an item that they hold."""
    name = "drive" if "base" in motion.group.split("+") else "arm"
    if motion.group == "fingers" or motion.trajectory.duration < _SHORTEST[name]:
        return ""
    touched = {body for pair in motion.allowed for body in pair} - set(world.robot.fingers)
    held = {a.name for a in motion.attachments if a.kind == "item"}
    return name if touched <= held and all(a.kind == "item" for a in motion.attachments) else ""


# -- targets: the scene's name of each target, by each of its names in the scene and in the task ---


def _items(scene: Scene) -> dict[str, str]:
    """Items by their own names, and by those of their PDDL objects."""
    named = {b.object: b.target for b in scene.bindings if b.kind == "item"}
    return {item.name: item.name for item in scene.items} | named


def _drawers(scene: Scene) -> dict[str, str]:
    """Joints by the name of a PDDL object, body, handle or joint."""
    handles = {handle.name: handle.joint for handle in scene.handles}
    joints = {b.object: handles[b.handle] for b in scene.bindings if b.handle is not None}
    joints |= {body.name: body.joint for body in scene.bodies if body.joint is not None}
    return joints | handles | {joint.name: joint.name for joint in scene.joints}


class FaultKind(NamedTuple):
    """A kind of fault.

    Attributes:
        needs: its targets, in words.
        targets: returns the scene's name of each possible target, by each of its names.
        occasion: returns the target that it may strike in a motion, or an empty text.
        act: the generator of the fault, for a target.
    """

    needs: str
    targets: Callable[[Scene], dict[str, str]]
    occasion: Callable[[PhysicsWorld, Motion], str]
    act: Callable[[Fault, PhysicsWorld, Motion, str], Iterator[None]]


KINDS = {
    "nudge": FaultKind("an item", _items, approached_item, nudge),
    "topple": FaultKind("an item", _items, approached_item, topple),
    "slippery": FaultKind("an item", _items, carried_item, slippery),
    "stuck": FaultKind("a drawer", _drawers, pulled_drawer, stuck),
    "stuck-for-good": FaultKind("a drawer", _drawers, pulled_drawer, stuck),
    "push-base": FaultKind(
        "drive or arm", lambda scene: {"drive": "drive", "arm": "arm"}, free_motion, push_base
    ),
}


class InjectedFaults:
    """Several faults, as ``PhysicsExecutor`` calls them.

    Attributes:
        faults: in the order in which they were requested.
    """

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        self.faults = faults

    def motion_begins(self, world: PhysicsWorld, motion: Motion) -> None:
        """Let each fault begin that is to strike in this motion; called before each motion."""
        for fault in self.faults:
            fault.motion_begins(world, motion)

    def before_step(self, world: PhysicsWorld, motion: Motion, name: str, t: float) -> None:
        """Advance each fault; called before each simulation step, ``t`` (s) into a motion.

        ``name`` is the motion's label in the log.
        """
        for fault in self.faults:
            fault.before_step(world, motion, name, t)

    def external_forces(self) -> dict[str, float]:
        """The largest external force (N) on each body, by name, since the last call.

        The log records them as contacts with ``domain.log.OUTSIDE``.
        """
        forces: dict[str, float] = {}
        for fault in self.faults:
            for name, force in fault.forces.items():
                forces[name] = max(force, forces.get(name, 0.0))
            fault.forces.clear()
        return forces

    @property
    def reports(self) -> tuple[str, ...]:
        """One sentence per fault: what it did and when, or that it did not strike."""
        return tuple(
            fault.report
            if fault.struck
            else f"{fault.spec}{DID_NOT_STRIKE}{fault.report or 'no suitable motion'}"
            for fault in self.faults
        )


def parse_fault(text: str, scene: Scene, seed: int) -> InjectedFaults:
    """The faults in a text such as ``topple:sugar,stuck:drawer@2``.

    The form is ``KIND[:NAME][@N]``, with commas between faults.

    Args:
        text: the value of the option ``--fault``.
        scene: in which the names are looked up: items, drawers, or their PDDL objects.
        seed: seed of times, strengths and directions.

    Raises:
        BadInput: the text is malformed; the message, of one line, lists the possible words.
    """
    specs = [_spec(part.strip()) for part in text.split(",")]
    return InjectedFaults(
        tuple(Fault(spec, scene, stream(seed, f"fault {k} {spec}")) for k, spec in enumerate(specs))
    )


def _spec(part: str) -> FaultSpec:
    head, at, number = part.partition("@")
    kind, colon, name = (word.strip() for word in head.partition(":"))
    if kind not in KINDS:
        there = f"there are {', '.join(KINDS)}, as KIND[:NAME][@N]"
        hint = did_you_mean(kind, tuple(KINDS))
        raise BadInput.one(FLAG, f"unknown fault '{kind}'{hint}; {there}")
    if colon and not name:
        raise BadInput.one(FLAG, f"'{part}' has no name after the colon")
    if at and not (number.isascii() and number.isdigit() and int(number) >= 1):
        raise BadInput.one(FLAG, f"'{part}': expected a whole number from 1 after @")
    return FaultSpec(kind, name, int(number) if at else 1)
