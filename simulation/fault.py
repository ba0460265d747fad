"""What a fault is: it waits for its motion, strikes by forces, and tells what it did.

Faults never set a state. They push with external forces, change what surfaces and joints resist
with, or switch a motor off; what comes of it is up to the physics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from galley.domain.frames import Array
from galley.domain.scene import Scene
from galley.motion.motion import Motion
from galley.robots.kinematics import hand_pose
from galley.simulation.fault_spec import Spec, target
from galley.worlds.bullet import pybullet as pb

if TYPE_CHECKING:
    from galley.simulation.physics_world import PhysicsWorld

NEAR = 0.12  # m from the grasp centre to an item's box at the end of a reach, at most


class Fault:
    """One fault. A subclass says which motions it waits for and what it does in them.

    Args:
        spec: as it was asked for. scene: whose names it uses.
        rng: of its time, strength and direction.

    Attributes:
        struck: whether it has done what it does.
        told: what it did and when, one sentence; before that why not, or empty.
        where: the time within the motion under way, in words.
        active: whether it is at work: ``step`` is called.
        outside: N with which something that is not in the scene has pushed a body or link, by its
            name; the most since ``Faults.outside`` was asked.

    Raises:
        BadInput: its name is not in the scene.
    """

    def __init__(self, spec: Spec, scene: Scene, rng: np.random.Generator) -> None:
        self.spec = spec
        self.target = target(spec, scene)
        self.rng = rng
        self.struck = False
        self.told = ""
        self.where = ""
        self.active = False
        self.outside: dict[str, float] = {}
        self._met = 0

    def begins(self, world: PhysicsWorld, motion: Motion, name: str) -> None:
        """A motion begins."""
        if self.active:
            self.left(world)
        if self.struck or self.active or not self.waits_for(world, motion):
            return
        self._met += 1
        if self._met == self.spec.occurrence:
            self.active = True
            self.start(world, motion)

    def steps(self, world: PhysicsWorld, motion: Motion, name: str, t: float) -> None:
        """The world is about to make a step, ``t`` seconds into a motion."""
        if self.active:
            self.where = f"{t:.2f} s into '{name}'"
            self.step(world, motion, t)

    def push_item(self, world: PhysicsWorld, index: int, force: Array, point: Array) -> None:
        """A force (3,) in N on an item at a point (3,), both in the world, during the next step."""
        self.pushed(world.scene.items[index].name, force)
        pb.applyExternalForce(
            world.item_ids[index],
            -1,
            force.tolist(),
            point.tolist(),
            pb.WORLD_FRAME,
            physicsClientId=world.client,
        )

    def pushed(self, name: str, force: Array) -> None:
        """Remember a force (3,) from outside on what is called ``name``."""
        self.outside[name] = max(self.outside.get(name, 0.0), float(np.linalg.norm(force)))

    # -- of each kind ----------------------------------------------------------------------------

    def waits_for(self, world: PhysicsWorld, motion: Motion) -> bool:
        """Whether it could strike in this motion."""
        raise NotImplementedError

    def start(self, world: PhysicsWorld, motion: Motion) -> None:
        """Draw time and strength: this is the motion."""
        raise NotImplementedError

    def step(self, world: PhysicsWorld, motion: Motion, t: float) -> None:
        """Do what it does, before a step, while it is active."""
        raise NotImplementedError

    def left(self, world: PhysicsWorld) -> None:
        """The motion in which it was active is over, and another begins."""
        self.active = False


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


def ground_friction(world: PhysicsWorld, index: int) -> float:
    """The friction coefficient between an item and what it stands on; Bullet multiplies both.

    Where it touches nothing, with a surface as the scene has it by default.
    """
    body, client = world.item_ids[index], world.client
    own = _friction(body, -1, client)
    under = [
        _friction(point[2], point[4], client)
        for point in pb.getContactPoints(bodyA=body, physicsClientId=client)
        if point[2] != world.robot_id
    ]
    return own * (max(under) if under else world.scene.physics.friction)


def _friction(body: int, link: int, client: int) -> float:
    return float(pb.getDynamicsInfo(body, link, physicsClientId=client)[1])


def item_velocity(world: PhysicsWorld, index: int) -> Array:
    """Linear velocity (3,) of an item, m/s."""
    return np.array(pb.getBaseVelocity(world.item_ids[index], physicsClientId=world.client)[0])


def gravity(world: PhysicsWorld) -> float:
    """m/s^2, a magnitude."""
    return float(np.linalg.norm(world.scene.physics.gravity))


def mm(way: Array) -> str:
    """The length of a way (k,), metres, in words."""
    return f"{1e3 * float(np.linalg.norm(way)):.0f} mm"
