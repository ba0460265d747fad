"""Refuses scenes whose start is in collision or out of the joint limits."""

from __future__ import annotations

from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.domain.errors import BadInput, InputError
from galley.domain.scene.model import Scene
from galley.domain.state import initial_state

DEPTH = 0.002  # m; less is resting or leaning contact


def check_start(world: PyBulletWorld) -> None:
    """Raise BadInput if, at the start, an item or the robot is in collision or beyond its limits.

    Each fault names the two bodies, the depth, and the line of the item (or of the robot's start).
    """
    scene = world.scene
    world.set_state(initial_state(scene))
    errors = [*_names(world), *_limits(world)]
    for names, distance in deep_pairs(world):
        key, subject, other = _culprit(scene, names)
        what = f"at the start {subject} is {-1e3 * distance:.1f} mm deep in {other}"
        errors.append(scene.fault(key, what))
    if errors:
        raise BadInput(errors)


def deep_pairs(world: PyBulletWorld) -> list[tuple[tuple[str, str], float]]:
    """The names of what is in collision as it stands, each pair with its distance (m, negative)."""
    allowed = world.robot.allowed_self_collisions
    near = sorted(world.near_pairs(0.0).items())
    return [(p, distance) for p, distance in near if distance < -DEPTH and p not in allowed]


def _culprit(scene: Scene, names: tuple[str, str]) -> tuple[str, str, str]:
    """Key in the file, the body to blame (an item if there is one), and the other."""
    items = scene.item_index
    for subject, other in (names, names[::-1]):
        if subject in items:
            return f"items.{subject}", subject, other
    bodies = {body.name for body in scene.bodies}
    subject, other = names if names[0] not in bodies else names[::-1]
    return "robot.start", f"the robot's {subject}", other


def _names(world: PyBulletWorld) -> list[InputError]:
    """Faults of names: of bodies and items that a link has, of links that there are not."""
    scene = world.scene
    found = []
    for section, things in (("bodies", scene.bodies), ("items", scene.items)):
        for thing in things:
            if thing.name in world.robot.links:
                key = f"{section}.{thing.name}"
                found.append(scene.fault(key, "a link of the robot has this name too"))
    for body in scene.bodies:
        if unknown := [name for name in body.may_touch if name not in world.robot.links]:
            what = f"the robot has no link '{unknown[0]}', its links are {list(world.robot.links)}"
            found.append(scene.fault(f"bodies.{body.name}.may_touch", what))
    return found


def _limits(world: PyBulletWorld) -> list[InputError]:
    scene = world.scene
    found = []
    for group in world.robot.groups:
        q = scene.robot.q[world.robot.slice(group.name)]
        for j, joint in enumerate(group.joints):
            if not group.lower[j] - 1e-9 <= q[j] <= group.upper[j] + 1e-9:
                key = f"robot.start.{group.name}"
                what = (
                    f"{joint} starts at {q[j]:.4f} {group.units[j]}, outside "
                    f"[{group.lower[j]:.4f}, {group.upper[j]:.4f}]"
                )
                found.append(scene.fault(key, what))
    return found
