"""Audit: planned motions checked in Drake, whose collision code is independent of the kernel."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from galley.collision.checker import Contact
from galley.domain.scene.model import Scene
from galley.domain.state import State
from galley.motion.effects import after, effects
from galley.motion.motion import FREE, Motion
from galley.robots.model import RobotModel

if TYPE_CHECKING:
    from galley.collision.backends.drake_world import DrakeWorld

STEP = {"fingers": 0.005}  # m or rad between two audited states, by group
DEFAULT_STEP = 0.05
DEPTH = 0.002  # m; less counts as touching (engines round meshes differently)


def audit(
    scene: Scene, robot: RobotModel, motions: tuple[Motion, ...], state: State
) -> tuple[Motion, ...]:
    """The motions with ``record.audit`` filled in: ``free``, or the worst undeclared pair.

    Args:
        state: in which the first motion begins.
    """
    # Late: a run without a plan needs no Drake.
    from galley.collision.backends.drake_world import DrakeWorld

    found = []
    with DrakeWorld(scene, robot) as world:
        for motion in motions:
            worst = _worst(world, scene, robot, motion, state)
            verdict = FREE
            if worst is not None:
                verdict = f"{worst.a} and {worst.b} penetrate by {-1e3 * worst.distance:.1f} mm"
            found.append(replace(motion, record=replace(motion.record, audit=verdict)))
            state = after(scene, robot, motion, state)
    return tuple(found)


def _worst(
    world: DrakeWorld, scene: Scene, robot: RobotModel, motion: Motion, state: State
) -> Contact | None:
    model = effects(scene, robot, motion, state)
    states = motion.trajectory.resampled(STEP.get(motion.group, DEFAULT_STEP))[1]
    worst: Contact | None = None
    for positions in world.positions(*model.along(states)):
        world.set_positions(positions)
        for contact in world.contacts(0.0, motion.allowed):
            if contact.distance < -DEPTH and (worst is None or contact.distance < worst.distance):
                worst = contact
    return worst
