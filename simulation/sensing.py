"""What is seen of a physics world: joints, what the hand holds, where everything else is."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from galley.domain.frames import frozen, inverse
from galley.domain.scene import HAND
from galley.domain.state import Placement, State, carrier
from galley.motion.thresholds import Thresholds
from galley.simulation.physics_world import PhysicsWorld, Touch
from galley.worlds.checker import Pair, pair


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
