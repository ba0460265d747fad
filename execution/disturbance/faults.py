"""Faults injected into a physics run, by ``--fault`` and by tests."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from galley.domain.scene.model import Scene
from galley.execution.disturbance.fault import IN_VAIN, Fault, parse_specs
from galley.execution.disturbance.fault_kinds import Nudge, PushBase, Slippery, Stuck, Topple
from galley.execution.disturbance.noise import stream
from galley.motion.motion import Motion

if TYPE_CHECKING:
    from galley.execution.physics.world import PhysicsWorld

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


class Faults:
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


def parse_fault(text: str, scene: Scene, seed: int) -> Faults:
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
    return Faults(tuple(found))
