"""A second opinion: planned motions looked at in Drake, whose collision code is not PyBullet's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from galley.domain.frames import to_pose7
from galley.domain.scene import Scene
from galley.domain.state import State, item_pose
from galley.motion.effects import after, effects
from galley.motion.motion import Motion
from galley.robots.kinematics import hand_pose
from galley.robots.model import RobotModel
from galley.worlds.checker import Contact
from galley.worlds.drake_world import DrakeWorld

STEP = {"fingers": 0.005}  # m or rad between two audited states, where it is not the default
DEFAULT_STEP = 0.05
DEPTH = 0.002  # m; less counts as touching (the two engines round meshes differently)
FREE = "free"


def audit(
    scene: Scene, robot: RobotModel, motions: tuple[Motion, ...], state: State
) -> tuple[Motion, ...]:
    """The motions with ``record.audit`` filled in: ``free``, or the worst undeclared pair.

    Args:
        state: in which the first motion begins.
    """
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
    worst: Contact | None = None
    for q in motion.path.resampled(STEP.get(motion.group, DEFAULT_STEP)).waypoints:
        at = model.at(q)
        X_WH = hand_pose(at.q, scene.robot.base)
        poses = [to_pose7(item_pose(scene, at, k, X_WH)) for k in range(len(scene.items))]
        world.set_arrays(at.q, at.scene_q, np.array(poses).reshape(-1, 7))
        for contact in world.contacts(0.0, motion.allowed):
            if contact.distance < -DEPTH and (worst is None or contact.distance < worst.distance):
                worst = contact
    return worst
