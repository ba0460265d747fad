"""The specification of a fault, as ``--fault`` takes it, and the base class of all faults.

A fault waits for a motion that it applies to, acts during it, and reports what it did. Faults never
set a state: they apply external forces, change friction or switch motors off, and the physics does
the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from galley.domain.errors import BadInput, did_you_mean
from galley.domain.frames import Array
from galley.domain.scene.model import Scene
from galley.motion.motion import Motion

if TYPE_CHECKING:
    from galley.execution.physics.world import PhysicsWorld

FLAG = "--fault"
SYNTAX = "KIND[:NAME][@N]"
DID_NOT_STRIKE = " did not strike: "  # in the report of a fault that had no occasion

KINDS = {
    "nudge": "an item is pushed 2 to 4 cm aside while the hand approaches it",
    "topple": "an item is knocked over while the hand approaches it",
    "slippery": "an item loses its friction while it is carried, until it has left the hand",
    "stuck": "a drawer stops 5 to 20 cm open while it is pulled, and lets go afterwards",
    "stuck-for-good": "a drawer stops 5 to 20 cm open while it is pulled, for the rest of the run",
    "push-base": "the base is shoved 3 to 8 cm and 1 to 5 degrees during a motion of base or arm",
}
ITEM_KINDS = ("nudge", "topple", "slippery")
DRAWER_KINDS = ("stuck", "stuck-for-good")
BASE_TARGETS = ("drive", "arm")  # the motions during which push-base can strike


@dataclass(frozen=True)
class FaultSpec:
    """One requested fault.

    Attributes:
        kind: of ``KINDS``. name: of its target; empty: the first possible one.
        occurrence: it strikes in the N-th motion that it applies to, from 1.
    """

    kind: str
    name: str = ""
    occurrence: int = 1

    def __str__(self) -> str:
        text = self.kind + (f":{self.name}" if self.name else "")
        return text + (f"@{self.occurrence}" if self.occurrence != 1 else "")


def parse_specs(text: str) -> tuple[FaultSpec, ...]:
    """The faults in ``topple:sugar,stuck:drawer@2``.

    Raises:
        BadInput: the text is malformed.
    """
    return tuple(_spec(part.strip()) for part in text.split(","))


def _spec(text: str) -> FaultSpec:
    head, at, number = text.partition("@")
    kind, colon, name = (word.strip() for word in head.partition(":"))
    if kind not in KINDS:
        there = f"there are {', '.join(KINDS)}, as {SYNTAX}"
        raise BadInput.one(FLAG, f"no fault '{kind}'{did_you_mean(kind, tuple(KINDS))}; {there}")
    if colon and not name:
        raise BadInput.one(FLAG, f"'{text}' names nothing after the colon")
    if at and not (number.isascii() and number.isdigit() and int(number) >= 1):
        raise BadInput.one(FLAG, f"'{text}': after @ comes a whole number from 1")
    return FaultSpec(kind, name, int(number) if at else 1)


def target(spec: FaultSpec, scene: Scene) -> str:
    """The scene's name of the fault's target: an item, a scene joint, ``drive`` or ``arm``; empty
    if the specification names none.

    Raises:
        BadInput: there is no such target; the message lists those that there are.
    """
    if not spec.name:
        return ""
    if spec.kind in ITEM_KINDS:
        targets = {item.name: item.name for item in scene.items}
        targets |= {b.object: b.target for b in scene.bindings if b.kind == "item"}
    elif spec.kind in DRAWER_KINDS:
        targets = _drawers(scene)
    else:
        targets = {name: name for name in BASE_TARGETS}
    if spec.name not in targets:
        what = "an item" if spec.kind in ITEM_KINDS else "a drawer"
        what = what if spec.kind in ITEM_KINDS + DRAWER_KINDS else "drive or arm"
        hint = did_you_mean(spec.name, tuple(targets)) or f"; there are {', '.join(targets)}"
        raise BadInput.one(FLAG, f"{spec.kind} needs {what}, and there is no '{spec.name}'{hint}")
    return targets[spec.name]


def _drawers(scene: Scene) -> dict[str, str]:
    """The joint of a drawer or door by its PDDL object, body, handle or joint."""
    joints = {}
    for binding in scene.bindings:
        if binding.handle is not None:
            joints[binding.object] = scene.handle(binding.handle).joint
    joints |= {body.name: body.joint for body in scene.bodies if body.joint is not None}
    joints |= {handle.name: handle.joint for handle in scene.handles}
    return joints | {joint.name: joint.name for joint in scene.joints}


class Fault:
    """One fault. A subclass says which motions it applies to and what it does during them.

    Args:
        spec: which fault, of what, and when.
        scene: in which the target's name is looked up.
        rng: for its time, strength and direction.

    Attributes:
        struck: whether it has done what it does.
        report: what it did and when, one sentence; before that why not, or empty.
        when: the current time within the motion, in words.
        active: whether the fault acts before each step.
        external_forces: the largest force (N) from outside the scene on each body or link, by
            name, since ``InjectedFaults.external_forces`` was called last.

    Raises:
        BadInput: the target is not in the scene.
    """

    def __init__(self, spec: FaultSpec, scene: Scene, rng: np.random.Generator) -> None:
        self.spec = spec
        self.target = target(spec, scene)
        self.rng = rng
        self.struck = False
        self.report = ""
        self.when = ""
        self.active = False
        self.external_forces: dict[str, float] = {}
        self._occasions = 0

    def motion_begins(self, world: PhysicsWorld, motion: Motion) -> None:
        """Called before each motion."""
        if self.active:
            self._motion_over(world)
        if self.struck or self.active or not self._applies_to(world, motion):
            return
        self._occasions += 1
        if self._occasions == self.spec.occurrence:
            self.active = True
            self._prepare(world, motion)

    def before_step(self, world: PhysicsWorld, motion: Motion, name: str, t: float) -> None:
        """Called before each simulation step, ``t`` seconds into a motion."""
        if self.active:
            self.when = f"{t:.2f} s into '{name}'"
            self._act(world, motion, t)

    def record_force(self, name: str, force: Array) -> None:
        """Record an external force (3,), N, on the body or link called ``name``."""
        size = float(np.linalg.norm(force))
        self.external_forces[name] = max(self.external_forces.get(name, 0.0), size)

    def _applies_to(self, world: PhysicsWorld, motion: Motion) -> bool:
        """Whether the fault could strike in this motion."""
        raise NotImplementedError

    def _prepare(self, world: PhysicsWorld, motion: Motion) -> None:
        """Draw time and strength for this motion."""
        raise NotImplementedError

    def _act(self, world: PhysicsWorld, motion: Motion, t: float) -> None:
        """Act on the world before a step, while active."""
        raise NotImplementedError

    def _motion_over(self, world: PhysicsWorld) -> None:
        """End acting: the motion is over and the next one begins."""
        self.active = False
