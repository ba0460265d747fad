"""Steps a physics world: motors hold or follow, contacts are looked at, samples are logged.

And what is seen of it then: joints, what the hand holds, where everything else is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from galley.domain.frames import Array, frozen, inverse, to_pose7
from galley.domain.log import OUTSIDE
from galley.domain.scene.model import HAND
from galley.domain.state import Placement, State, carrier
from galley.execution.executor import LOG_PERIOD, Recorder, Sample
from galley.execution.physics.world import PhysicsWorld, Touch
from galley.motion.motion import Motion
from galley.motion.thresholds import Thresholds
from galley.worlds.checker import Pair, pair

CLOSING_SPEED = 0.05  # m/s of each finger while it looks for something to press on
FINER = 4  # steps for one while the fingers grip: what is held creeps in proportion to the step


class Fault(Protocol):
    """Something that goes wrong on purpose (``execution.disturbance.faults``)."""

    def begins(self, world: PhysicsWorld, motion: Motion, name: str) -> None:
        """A motion is about to begin."""
        ...

    def steps(self, world: PhysicsWorld, motion: Motion, name: str, t: float) -> None:
        """A step of the simulation is about to be made, ``t`` seconds into the motion."""
        ...

    def outside(self) -> dict[str, float]:
        """What it has pushed since this was asked last, by name, and with how many N at most."""
        ...


class Stepper:
    """A world, what its motors are told, and the log that comes of it.

    Attributes:
        hold: where each joint is to be now (n,); the base as it believes to stand.
        gripping: the fingers press with their force, whatever ``hold`` says of them.
        touches: contacts at the latest sample. held: index of the item in the hand then, or None.
        motion, name: under way.
        t: seconds since it began.
    """

    def __init__(
        self, world: PhysicsWorld, recorder: Recorder, limits: Thresholds, fault: Fault | None
    ) -> None:
        self.world, self.recorder, self.limits, self.fault = world, recorder, limits, fault
        self.hold = world.q()
        self.gripping = False
        self.touches: dict[Pair, Touch] = {}
        self.held: int | None = None
        self.motion: Motion | None = None
        self.name = ""
        self.t = 0.0
        self._still = np.zeros(world.robot.size)
        self._fingers = world.robot.slice("fingers")
        self._step = world.dt
        self._stride = max(1, round(LOG_PERIOD / world.dt))
        self._count = 0

    def begin(self, motion: Motion, name: str) -> None:
        """A motion begins."""
        self.recorder.begin(name, motion.allowed)
        self.motion, self.name, self.t = motion, name, 0.0
        if not self.recorder.samples:
            self.sample()
        if self.fault is not None:
            self.fault.begins(self.world, motion, name)

    def grip(self, gripping: bool) -> None:
        """Press with the fingers from now on, or let them be where ``hold`` says.

        Takes effect between two samples: call it when ``step`` has returned True, or before any.
        """
        self.gripping = gripping
        parts = FINER if gripping else 1
        self.world.set_step(self._step / parts)
        self._stride = max(1, round(LOG_PERIOD / self.world.dt))

    def step(self, velocities: Array | None = None) -> bool:
        """One step of the simulation; True where a sample was taken after it.

        Args:
            velocities: at which the joints move at ``hold`` (n,); None: they stand.
        """
        world = self.world
        if self.fault is not None and self.motion is not None:
            self.fault.steps(world, self.motion, self.name, self.t)
        rates = self._still if velocities is None else velocities
        count = self._fingers.start if self.gripping else world.robot.size
        world.drive(range(count), self.hold[:count], rates[:count])
        if self.gripping:
            world.press(-CLOSING_SPEED, world.scene.physics.finger_force)
        world.step()
        self.t += world.dt
        self._count += 1
        if self._count < self._stride:
            return False
        self._count = 0
        self.sample()
        return True

    def look(self, velocities: Array | None = None) -> None:
        """Steps until the next sample has been taken."""
        while not self.step(velocities):
            pass

    def wait(self, seconds: float) -> None:
        """Stand still for so long, and until the sample after that."""
        until = self.t + seconds
        self.look()
        while self.t < until:
            self.look()

    def sample(self) -> None:
        """Look at contacts and log the world as it is."""
        world = self.world
        self.touches = world.touches()
        self.held = held_item(world, self.touches, self.limits) if self.gripping else None
        q, velocity, torque = world.joints()
        command = np.array(self.hold)
        command[:3] += world.base_shift  # where the motors hold it, whatever it believes
        if self.gripping:  # told a force, not a place
            command[self._fingers] = q[self._fingers]
        items = [to_pose7(world.item_pose(k)) for k in range(len(world.item_ids))]
        self.recorder.sample(
            Sample(
                q,
                velocity,
                command,
                torque,
                world.scene_q(),
                np.array(items).reshape(-1, 7),
                self.held,
            )
        )
        for (a, b), touch in self.touches.items():
            self.recorder.contact(a, b, touch.distance, touch.normal)
        if self.fault is not None:
            for name, force in self.fault.outside().items():
                self.recorder.contact(OUTSIDE, name, 0.0, force)


def gripped(
    world: PhysicsWorld, touches: Mapping[Pair, Touch], limits: Thresholds
) -> tuple[str, ...]:
    """Names of what all fingers press on at once, strongest first."""
    pressed: dict[str, float] = {}
    fingers = world.robot.fingers
    for name in {n for key in touches for n in key if n not in world.robot.links}:
        forces = [touches[key].normal for f in fingers if (key := pair(f, name)) in touches]
        if len(forces) == len(fingers) and min(forces) >= limits.held_force:
            pressed[name] = min(forces)
    return tuple(sorted(pressed, key=lambda name: (-pressed[name], name)))


def held_item(world: PhysicsWorld, touches: Mapping[Pair, Touch], limits: Thresholds) -> int | None:
    """Index of the item between the fingers, or None."""
    index = world.scene.item_index
    return next((index[name] for name in gripped(world, touches, limits) if name in index), None)


def seen_state(world: PhysicsWorld, held: int | None) -> State:
    """The State as a perfect eye sees it; ``held`` is the index of the item in the hand."""
    scene = world.scene
    scene_q = frozen(world.scene_q())
    X_WH = world.hand_pose()
    placements = []
    for index in range(len(scene.items)):
        X_WI = world.item_pose(index)
        if index == held:
            placements.append(Placement(HAND, frozen(inverse(X_WH) @ X_WI)))
            continue
        parent = carrier(scene, X_WI, scene_q)
        placements.append(Placement(parent, frozen(scene.in_parent(X_WI, parent, scene_q))))
    group = world.robot.groups
    low = np.concatenate([g.lower for g in group])
    high = np.concatenate([g.upper for g in group])
    # A motor that holds a joint at its limit may be a hair beyond it; planners want it within.
    return State(frozen(np.clip(world.q(), low, high)), scene_q, tuple(placements))
