"""The fault that shoves the base."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from galley.domain.frames import Array, rotation_z, transform, wrap
from galley.motion.motion import Motion
from galley.simulation.fault import STIFF, Fault, bump, mm
from galley.simulation.standing import Boxes, furniture, overlaps
from galley.worlds.bullet import pybullet as pb

if TYPE_CHECKING:
    from galley.simulation.physics_world import PhysicsWorld

_DIRECTIONS = 16  # that are tried for room


class PushBase(Fault):
    """Shoves the base 3 to 8 cm and 1 to 5 degrees; it believes to stand where it was.

    Meanwhile the base's motors are off and a force and a torque on its chassis lead it, at half a
    sine wave of speed on top of what it was about to do. Then its motors hold it where it is: all
    that they are told from then on is off by the shove.
    """

    DURATION = 1.0  # s
    SPARE = 0.05  # m that the chassis keeps from the furniture
    MASS, INERTIA = 90.0, 12.0  # kg, kg m^2 about the vertical, roughly: errors are taken back

    def waits_for(self, world: PhysicsWorld, motion: Motion) -> bool:
        """See ``Fault.waits_for``."""
        drives = "base" in motion.group.split("+")
        if self.target and self.target != ("drive" if drives else "arm"):
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
        """See ``Fault.start``."""
        spare = motion.trajectory.duration - self.DURATION
        self.begin = float(self.rng.uniform(0.2, 0.8)) * spare
        self.distance = float(self.rng.uniform(0.03, 0.08))
        self.turn = np.radians(float(self.rng.uniform(1.0, 5.0)))
        self.side = float(self.rng.choice([-1.0, 1.0]))
        self.angle = float(self.rng.uniform(0.0, 2.0 * np.pi))
        self.way: Array | None = None

    def step(self, world: PhysicsWorld, motion: Motion, t: float) -> None:
        """See ``Fault.step``."""
        if t < self.begin:
            return
        chassis = world.loaded.link(world.robot_id, "chassis")
        if self.way is None:
            going = self._going(world, motion, t)
            self.way = self._room(world, motion, going)
            if self.way is None:
                self.told = f"there was no room to shove the base {self.where}"
                self.active = False
                return
            self.begin, self.side = t, -self.side if going[2] * self.side > 0 else self.side
        since = t - self.begin
        if since >= self.DURATION:
            self._done(world)
            return
        world.base_limp = True
        v, a = bump(since + 0.5 * world.dt, self.DURATION, 1.0)
        shove = np.array([*(self.distance * self.way[:2]), self.turn * self.side])
        now = world.joints()[1][:3]
        wanted = self._going(world, motion, t) + v * shove
        needed = a * shove + self._going(world, motion, t, 2) + STIFF * (wanted - now) / world.dt
        self._push(world, chassis, needed)

    def left(self, world: PhysicsWorld) -> None:
        """See ``Fault.left``."""
        if self.way is not None:
            self._done(world)
        self.active = False

    def _done(self, world: PhysicsWorld) -> None:
        before = np.array(world.base_shift)
        world.base_shift = world.q()[:3] - world.command[:3]
        world.base_limp = False
        moved = world.base_shift - before
        turned = np.degrees(abs(float(wrap(moved[2]))))
        self.struck, self.active = True, False
        how = f"{mm(moved[:2])} and {turned:.1f} degrees"
        self.told = f"the base was shoved by {how} {self.where}"

    def _going(self, world: PhysicsWorld, motion: Motion, t: float, order: int = 1) -> Array:
        """Speed (3,) that the base is to have at ``t``; its rate of change with ``order`` 2."""
        if "base" not in motion.group.split("+"):
            return np.zeros(3)
        return np.asarray(motion.trajectory(t, order)[:3])

    def _push(self, world: PhysicsWorld, link: int, acceleration: Array) -> None:
        force = [*(self.MASS * acceleration[:2]).tolist(), 0.0]
        at = pb.getLinkState(world.robot_id, link, physicsClientId=world.client)[0]
        frame, client = pb.WORLD_FRAME, world.client
        pb.applyExternalForce(world.robot_id, link, force, at, frame, physicsClientId=client)
        torque = [0.0, 0.0, self.INERTIA * float(acceleration[2])]
        pb.applyExternalTorque(world.robot_id, link, torque, frame, physicsClientId=client)

    def _room(self, world: PhysicsWorld, motion: Motion, going: Array) -> Array | None:
        """A way (3,) to be shoved, not ahead of where it goes, that keeps the chassis clear."""
        base = world.scene.robot.base
        solids = furniture(world.scene, world.scene_q())
        q = world.q()[:3]
        if "base" in motion.group.split("+"):
            q = np.asarray(motion.trajectory.end[:3])
        half = np.array([base.size[0], base.size[1], base.size[2] - base.ground_gap]) / 2.0
        middle = 0.5 * (base.size[2] + base.ground_gap)
        for k in range(_DIRECTIONS):
            angle = self.angle + 2.0 * np.pi * k / _DIRECTIONS
            way = np.array([np.cos(angle), np.sin(angle), 0.0])
            if way[:2] @ going[:2] > 1e-9:
                continue
            there = q + np.array([*(self.distance * way[:2]), 0.0])
            if (there < base.lower).any() or (there > base.upper).any():
                continue
            X = transform(rotation_z(there[2]), (there[0], there[1], middle))
            chassis = Boxes(X[None], half[None] + [[self.SPARE, self.SPARE, 0.0]])
            if (overlaps(chassis, solids) < 0.0).all():
                return way
        return None
