"""How far a drawer or door can move before something stops it, the robot left out.

Shapes are approximated by convex polyhedra within them, so every contact found is real.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from galley.domain.frames import Array, transform
from galley.domain.scene.model import HAND, Joint, Scene, Shape
from galley.domain.state import State, item_pose
from galley.skills.manipulation.context import PlanningContext
from galley.skills.manipulation.polyhedra import Polyhedron, first_contact, polyhedron, separation

_SLACK = 0.001  # m, overlap that is tolerated: a drawer in its slot
_DEEPER = 0.005  # m, test displacement: do shapes that overlap at the start get deeper?
_STOP = 1e-5  # m, a door nearer than this to something touches it


def free_travel(
    context: PlanningContext, state: State, joint: str, include_items: bool, to: float
) -> tuple[float, str | None]:
    """The joint value (m or rad) at the first contact, and what is in contact.

    Shapes that touch in ``state`` (a drawer in its slot) count only if they get deeper. Exact for
    drawers; conservative advancement (Mirtich, 1996) for doors, so that nothing thin is missed.

    Args:
        context, state: the world.
        joint: the name of the joint.
        include_items: also check items, and other drawers and doors as they stand; else only fixed
            bodies.
        to: the target value.

    Returns:
        ``to`` and None if nothing is in the way; else the value at first contact, and the name of
        the body or item hit, or of the item in the drawer that hits it.
    """
    scene = context.scene
    moving_joint = scene.joint(joint)
    start = float(state.scene_q[scene.joint_index[joint]])
    moving, still = _parts(scene, state, joint, include_items)
    if abs(to - start) < 1e-12 or not moving or not still:
        return to, None
    meets = _slide if moving_joint.kind == "prismatic" else _turn
    way, blocker = meets(moving, still, moving_joint, to - start)
    if blocker is None:
        return to, None
    return start + way, blocker


@dataclass(frozen=True, eq=False)
class _MovingPart:
    """A shape of a body or item in the world; its polyhedron is made lazily."""

    name: str
    shape: Shape
    X: Array
    cargo: str = ""  # its name, if it is an item in the drawer

    @cached_property
    def solid(self) -> Polyhedron:
        return polyhedron(self.shape).moved(self.X)

    @cached_property
    def box(self) -> tuple[Array, Array]:
        """Lowest and highest corner (3,) of a box around it."""
        return self.shape.bounds(self.X)


def _parts(
    scene: Scene, state: State, joint: str, include_items: bool
) -> tuple[list[_MovingPart], list[_MovingPart]]:
    """The shapes that move with the joint, and those that don't."""
    moved = frozenset(scene.moved_by(joint))
    moving: list[_MovingPart] = []
    still: list[_MovingPart] = []
    for body in scene.bodies:
        own = body.name in moved
        if own or include_items or not scene.carried(body.name):
            X = scene.body_pose(body.name, state.scene_q)
            (moving if own else still).extend(_solid(body.name, body.shapes, X))
    if include_items:
        for k, item in enumerate(scene.items):
            placed = state.items[k]
            if placed.parent != HAND:
                X = item_pose(scene, state, k, np.eye(4))
                is_cargo = placed.parent in moved
                parts = _solid(item.name, item.shapes, X)
                if is_cargo:
                    moving += [replace(part, cargo=item.name) for part in parts]
                else:
                    still += parts
    return moving, still


def _solid(name: str, shapes: Iterable[Shape], X: Array) -> list[_MovingPart]:
    return [_MovingPart(name, shape, X) for shape in shapes if shape.collision]


def _in_box(parts: list[_MovingPart], low: Array, high: Array) -> list[_MovingPart]:
    """The parts whose bounding boxes overlap a box."""
    return [p for p in parts if (p.box[0] <= high).all() and (p.box[1] >= low).all()]


def _slide(
    moving: list[_MovingPart], still: list[_MovingPart], joint: Joint, way: float
) -> tuple[float, str | None]:
    """Travel (m, signed) of sliding parts until the first contact, and with what."""
    u = joint.axis * np.sign(way)
    nearest, blocker = abs(way), None
    for part in moving:
        low, high = part.box
        reached = u * nearest
        for other in _in_box(still, low + np.minimum(reached, 0), high + np.maximum(reached, 0)):
            met = first_contact(part.solid, other.solid, u, _SLACK)
            if met == 0.0 and not _deeper(part.solid, other.solid, u):
                continue
            if met < nearest:
                nearest, blocker = met, part.cargo or other.name
    return nearest * float(np.sign(way)), blocker


def _deeper(part: Polyhedron, other: Polyhedron, u: Array) -> bool:
    """Whether two shapes that touch penetrate deeper along u (3,)."""
    pushed = part.moved(transform(None, _DEEPER * u))
    return separation(pushed, other) < separation(part, other) - _SLACK


def _turn(
    moving: list[_MovingPart], still: list[_MovingPart], joint: Joint, way: float
) -> tuple[float, str | None]:
    """Rotation (rad, signed) of turning parts until the first contact, and with what."""
    sign = float(np.sign(way))
    nearest, blocker = abs(way), None
    for part in moving:
        along = (part.solid.vertices - joint.pivot) @ joint.axis
        arms = part.solid.vertices - joint.pivot - np.outer(along, joint.axis)
        radius = max(float(np.linalg.norm(arms, axis=1).max()), 1e-6)
        middles = joint.pivot + np.outer([along.min(), along.max()], joint.axis)
        low, high = middles.min(axis=0) - radius, middles.max(axis=0) + radius
        for other in _in_box(still, low, high):
            # Shapes that overlap at the start may stay as deep.
            passes = max(_SLACK, _SLACK - separation(part.solid, other.solid))
            turned = 0.0
            while turned < nearest:
                at = part.solid.moved(joint.motion(sign * turned))
                gap = separation(at, other.solid) + passes
                if gap < _STOP:
                    nearest, blocker = turned, part.cargo or other.name
                    break
                turned += gap / radius
    return nearest * sign, blocker
