"""What a fault is: it waits for its motion, strikes by forces, and tells what it did.

What ``--fault`` says of it comes first: which fault, of what, and when.

Faults never set a state. They push with external forces, change what surfaces and joints resist
with, or switch a motor off; what comes of it is up to the physics.
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
IN_VAIN = " did not strike: "  # stands in what is told of a fault that had no occasion

KINDS = {
    "nudge": "an item is pushed 2 to 4 cm aside while the hand is on its way to it",
    "topple": "an item is knocked over while the hand is on its way to it",
    "slippery": "an item loses its friction while it is carried, until it has left the hand",
    "stuck": "a drawer stops 5 to 20 cm open while it is pulled, and lets go afterwards",
    "stuck-for-good": "a drawer stops 5 to 20 cm open while it is pulled, for the rest of the run",
    "push-base": "the base is shoved 3 to 8 cm and 1 to 5 degrees during a motion of base or arm",
}
OF_ITEMS = ("nudge", "topple", "slippery")
OF_DRAWERS = ("stuck", "stuck-for-good")
DURING = ("drive", "arm")  # the names that push-base knows


@dataclass(frozen=True)
class Spec:
    """One fault as it was asked for.

    Attributes:
        kind: of ``KINDS``. name: as it was written, or empty: the first that comes.
        occurrence: it strikes at the N-th motion that it could strike at, from 1.
    """

    kind: str
    name: str = ""
    occurrence: int = 1

    def __str__(self) -> str:
        text = self.kind + (f":{self.name}" if self.name else "")
        return text + (f"@{self.occurrence}" if self.occurrence != 1 else "")


def parse_specs(text: str) -> tuple[Spec, ...]:
    """The faults in ``topple:sugar,stuck:drawer@2``.

    Raises:
        BadInput: in one line.
    """
    return tuple(_spec(part.strip()) for part in text.split(","))


def _spec(text: str) -> Spec:
    head, at, number = text.partition("@")
    kind, colon, name = (word.strip() for word in head.partition(":"))
    if kind not in KINDS:
        there = f"there are {', '.join(KINDS)}, as {SYNTAX}"
        raise BadInput.one(FLAG, f"no fault '{kind}'{did_you_mean(kind, tuple(KINDS))}; {there}")
    if colon and not name:
        raise BadInput.one(FLAG, f"'{text}' names nothing after the colon")
    if at and not (number.isascii() and number.isdigit() and int(number) >= 1):
        raise BadInput.one(FLAG, f"'{text}': after @ comes a whole number from 1")
    return Spec(kind, name, int(number) if at else 1)


def target(spec: Spec, scene: Scene) -> str:
    """The scene's own name of what a fault strikes: an item or a scene joint; ``drive`` or
    ``arm``; empty where none was named.

    Raises:
        BadInput: nothing is called so; the line says what there is.
    """
    if not spec.name:
        return ""
    if spec.kind in OF_ITEMS:
        known = {item.name: item.name for item in scene.items}
        known |= {b.object: b.target for b in scene.bindings if b.kind == "item"}
    elif spec.kind in OF_DRAWERS:
        known = _drawers(scene)
    else:
        known = {name: name for name in DURING}
    if spec.name not in known:
        what = "an item" if spec.kind in OF_ITEMS else "a drawer"
        what = what if spec.kind in OF_ITEMS + OF_DRAWERS else "drive or arm"
        hint = did_you_mean(spec.name, tuple(known)) or f"; there are {', '.join(known)}"
        raise BadInput.one(FLAG, f"{spec.kind} needs {what}, and there is no '{spec.name}'{hint}")
    return known[spec.name]


def _drawers(scene: Scene) -> dict[str, str]:
    """The joint of everything that names a drawer or a door: object, body, handle or joint."""
    known = {}
    for binding in scene.bindings:
        if binding.handle is not None:
            known[binding.object] = scene.handle(binding.handle).joint
    known |= {body.name: body.joint for body in scene.bodies if body.joint is not None}
    known |= {handle.name: handle.joint for handle in scene.handles}
    return known | {joint.name: joint.name for joint in scene.joints}


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
        world.push_item(index, force, point)

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
