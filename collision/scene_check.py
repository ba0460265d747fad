"""Refuses scenes whose start is in collision or out of the joint limits."""

from __future__ import annotations

from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.domain.errors import BadInput, InputError
from galley.domain.scene.model import Scene
from galley.domain.state import initial_state

DEPTH = 0.002  # m; what is less deep is in contact, not in collision


def check_start(world: PyBulletWorld) -> None:
    """Raise BadInput if an item or the robot starts in collision, or a joint beyond its limits.

    Each fault names the two bodies, the depth, and the line of the item (or of the robot's start).
    """
    scene = world.scene
    world.set_state(initial_state(scene))
    errors = [*_names(world), *_limits(world)]
    for names, distance in deep_pairs(world):
        key, subject, other = _culprit(scene, names)
        fault = f"at the start {subject} is {-1e3 * distance:.1f} mm deep in {other}"
        errors.append(scene.fault(key, fault))
    if errors:
        raise BadInput(errors)


def deep_pairs(world: PyBulletWorld) -> list[tuple[tuple[str, str], float]]:
    """The pairs of names that are in collision as the world is set, with their distances.

    Distances are in metres, and negative. Pairs of the robot's links that it allows are left out.
    """
    allowed = world.robot.allowed_self_collisions
    near = sorted(world.near_pairs(0.0).items())
    return [(p, distance) for p, distance in near if distance < -DEPTH and p not in allowed]


def _culprit(scene: Scene, names: tuple[str, str]) -> tuple[str, str, str]:
    """The key of the fault in the scene file, and the two bodies of a collision.

    The first of them is to blame: an item if there is one, else the robot's link.
    """
    items = scene.item_index
    for subject, other in (names, names[::-1]):
        if subject in items:
            return f"items.{subject}", subject, other
    bodies = {body.name for body in scene.bodies}
    subject, other = names if names[0] not in bodies else names[::-1]
    return "robot.start", f"the robot's {subject}", other


def _names(world: PyBulletWorld) -> list[InputError]:
    """Faults of names: a body or item named like a link, and ``may_touch`` of an unknown link."""
    scene = world.scene
    faults = []
    for section, bodies in (("bodies", scene.bodies), ("items", scene.items)):
        for named in bodies:
            if named.name in world.robot.links:
                key = f"{section}.{named.name}"
                faults.append(scene.fault(key, "a link of the robot has this name too"))
    for body in scene.bodies:
        if unknown := [name for name in body.may_touch if name not in world.robot.links]:
            fault = f"the robot has no link '{unknown[0]}', its links are {list(world.robot.links)}"
            faults.append(scene.fault(f"bodies.{body.name}.may_touch", fault))
    return faults


def _limits(world: PyBulletWorld) -> list[InputError]:
    """A fault for each joint whose start is beyond its limits."""
    scene = world.scene
    faults = []
    for group in world.robot.groups:
        q = scene.robot.q[world.robot.slice(group.name)]
        for j, joint in enumerate(group.joints):
            if not group.lower[j] - 1e-9 <= q[j] <= group.upper[j] + 1e-9:
                key = f"robot.start.{group.name}"
                fault = (
                    f"{joint} starts at {q[j]:.4f} {group.units[j]}, outside "
                    f"[{group.lower[j]:.4f}, {group.upper[j]:.4f}]"
                )
                faults.append(scene.fault(key, fault))
    return faults
