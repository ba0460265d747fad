"""The fault that shoves the base."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from galley.domain.frames import Array, rotation_z, transform, wrap
from galley.motion.motion import Motion
from galley.simulation.fault import Fault, bump, mm
from galley.simulation.standing import Boxes, furniture, overlaps
from galley.worlds.bullet import pybullet as pb

if TYPE_CHECKING:
    from galley.simulation.physics_world import PhysicsWorld

_STIFF = 0.8  # share of a speed error that is taken back within a step: the arm moves meanwhile
_DRAWS = 300  # of a shove, until there is room for one
_MOST = 0.98  # share of the base's limits that it may use


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
        link = world.loaded.link(world.robot_id, "chassis")
        force = [*(self.MASS * acceleration[:2]).tolist(), 0.0]
        at = pb.getLinkState(world.robot_id, link, physicsClientId=world.client)[0]
        self.pushed("chassis", np.array(force))
        frame, client = pb.WORLD_FRAME, world.client
        pb.applyExternalForce(world.robot_id, link, force, at, frame, physicsClientId=client)
        torque = [0.0, 0.0, self.INERTIA * float(acceleration[2])]
        pb.applyExternalTorque(world.robot_id, link, torque, frame, physicsClientId=client)

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
        chassis = Boxes(X[None], half[None] + [[self.SPARE, self.SPARE, 0.0]])
        return bool((overlaps(chassis, furniture(world.scene, world.scene_q())) < 0.0).all())


def _drives(motion: Motion) -> bool:
    return "base" in motion.group.split("+")


def _going(motion: Motion, t: float, order: int = 1) -> Array:
    """Speed (3,) that the base is to have at ``t``; its rate of change with ``order`` 2."""
    return np.asarray(motion.trajectory(t, order)[:3]) if _drives(motion) else np.zeros(3)
