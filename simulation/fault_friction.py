"""Faults of friction: an item that gets slippery, a drawer that gets stuck."""

from __future__ import annotations

from typing import TYPE_CHECKING

from galley.motion.effects import displacement
from galley.motion.motion import Motion
from galley.robots.kinematics import hand_pose
from galley.simulation.fault import Fault, gravity
from galley.worlds.bullet import pybullet as pb

if TYPE_CHECKING:
    from galley.simulation.physics_world import PhysicsWorld


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
        pressed = self._pressed(world)
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

    def _pressed(self, world: PhysicsWorld) -> float:
        """N with which the robot presses on the item, over all contacts."""
        points = pb.getContactPoints(
            bodyA=world.robot_id, bodyB=world.item_ids[self.index], physicsClientId=world.client
        )
        return float(sum(point[9] for point in points))


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
