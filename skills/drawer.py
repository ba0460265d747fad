"""open(furniture, hand) and close(furniture, hand): pull or push a drawer or door by its handle.

How far a drawer or door can move before something stops it is computed with convex polyhedra within
the shapes (``free_travel``), without the robot. So every contact found is real.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import Array, transform
from galley.domain.predicates import CLOSED
from galley.domain.scene.model import Binding, Handle, Joint, Scene, Shape
from galley.domain.state import State, item_pose
from galley.motion.motion import Motion
from galley.skills.infeasibility.refusals import (
    handle_does_not_fit,
    handle_out_of_reach,
    no_such_region,
)
from galley.skills.manipulation.contacts import handle_manipulations
from galley.skills.manipulation.context import PlanningContext
from galley.skills.manipulation.manipulation import Manipulation
from galley.skills.manipulation.polyhedra import Polyhedron, first_contact, polyhedron, separation
from galley.skills.manipulation.step import SkillStep, carry_out
from galley.skills.skill import BoundAction, Role, Skill, stance_of

MIN_OPENING = 0.10  # m (or rad), the hand can't reach into a drawer that is open by less
_SPARE = 0.005  # m (or rad), left before the body that stops a drawer
_SLACK = 0.001  # m, overlap that is tolerated, as of a drawer in its slot
_DEEPER = 0.005  # m, test displacement: do shapes that overlap at the start get deeper?
_STOP = 1e-5  # m, a door nearer than this to something touches it


class _HandleSkill(Skill):
    """Moves a drawer or door to a joint value by its handle."""

    parameters: ClassVar[tuple[str, ...]] = ("furniture", "hand")

    @abstractmethod
    def _value(self, context: PlanningContext, drawer: Binding, state: State) -> float | Failure:
        """The joint value (m or rad) at the end, or why it can't be reached."""

    def refine(
        self,
        context: PlanningContext,
        action: BoundAction,
        upcoming: tuple[BoundAction, ...],
        state: State,
        rng: np.random.Generator,
    ) -> tuple[Motion, ...] | Failure:
        """Plan the Motions; none if the drawer is there already, or is half open and stuck."""
        drawer = action.bindings[0]
        value = self._value(context, drawer, state)
        if isinstance(value, Failure):
            return value
        handle = handle_of(context, drawer)
        if joint_is_at(context, handle, state, value):
            return ()
        if self.role.opens is not None and accepts_half_open(context, handle, state, rng):
            return ()
        step = SkillStep(lambda s, r: handle_manipulations(context, s, handle, value, r), drawer)
        return carry_out(context, action, (step,), state, rng)

    def first_contacts(
        self, context: PlanningContext, action: BoundAction, state: State, rng: np.random.Generator
    ) -> Iterator[Manipulation]:
        """Yield ways to pull or push at the handle; none if the drawer can't move that far."""
        drawer = action.bindings[0]
        value = self._value(context, drawer, state)
        if isinstance(value, Failure):
            return iter(())
        return handle_manipulations(context, state, handle_of(context, drawer), value, rng)

    def resumes(self, context: PlanningContext, action: BoundAction, state: State) -> bool:
        """True with an empty hand, however far the drawer is open."""
        return state.held is None and action.bindings[0].handle is not None


class Open(_HandleSkill):
    """Opens a drawer or door by its ``opening``, or less if something stops it before."""

    role: ClassVar[Role] = Role(opens=0)
    standard_grasps: ClassVar[bool] = True

    def _value(self, context: PlanningContext, drawer: Binding, state: State) -> float | Failure:
        return possible_opening(context, drawer, state)

    def impossible(
        self, context: PlanningContext, action: BoundAction, state: State
    ) -> Failure | None:
        """A refusal if the handle can't be grasped, or if furniture is in the drawer's way."""
        return cannot_open(context, action.bindings[0], state)


class Close(_HandleSkill):
    """Pushes a drawer or door shut by its handle."""

    role: ClassVar[Role] = Role(closes=0)

    def _value(self, context: PlanningContext, drawer: Binding, state: State) -> float | Failure:
        failed = cannot_close(context, drawer, state)
        return 0.0 if failed is None else failed

    def first_contacts(
        self, context: PlanningContext, action: BoundAction, state: State, rng: np.random.Generator
    ) -> Iterator[Manipulation]:
        """Yield ways to push; ``refine`` checks whether something stops the drawer."""
        return handle_manipulations(
            context, state, handle_of(context, action.bindings[0]), 0.0, rng
        )

    def impossible(
        self, context: PlanningContext, action: BoundAction, state: State
    ) -> Failure | None:
        """A refusal if the drawer has no handle, or if its handle can't be grasped or reached."""
        return _handle_unusable(context, action.bindings[0])


def handle_of(context: PlanningContext, drawer: Binding) -> Handle:
    """The handle of furniture that ``impossible`` did not refuse."""
    assert drawer.handle is not None, "impossible() has refused this already"
    return context.scene.handle(drawer.handle)


def joint_is_at(context: PlanningContext, handle: Handle, state: State, value: float) -> bool:
    """Whether the handle's joint is at a value (m or rad), within ``CLOSED``."""
    now = float(state.scene_q[context.scene.joint_index[handle.joint]])
    return abs(now - value) <= CLOSED


def half_open(context: PlanningContext, handle: Handle, state: State) -> bool:
    """Whether the joint is open far enough for the hand to reach in."""
    return float(state.scene_q[context.scene.joint_index[handle.joint]]) >= MIN_OPENING


def accepts_half_open(
    context: PlanningContext, handle: Handle, state: State, rng: np.random.Generator
) -> bool:
    """Whether to treat a half open drawer as open, since it may be stuck.

    True with probability 1/2 from the second replanning on.
    """
    again = context.recovery > 1 and half_open(context, handle, state)
    return again and bool(rng.random() < 0.5)


def intended_opening(context: PlanningContext, drawer: Binding) -> float:
    """How far (m or rad) the drawer is opened if nothing is in its way."""
    return min(drawer.opening, context.scene.joint(handle_of(context, drawer).joint).upper)


def possible_opening(context: PlanningContext, drawer: Binding, state: State) -> float | Failure:
    """How far (m or rad) the drawer can be opened in ``state``, or a Failure with the blocker."""
    handle, most = handle_of(context, drawer), intended_opening(context, drawer)
    least = min(MIN_OPENING, most)
    free, blocker = free_travel(context, state, handle.joint, True, most + _SPARE)
    if blocker is None:
        return most
    opening = min(most, free - _SPARE)
    if opening < least:
        return _blocked(drawer, handle, free, blocker, least + _SPARE)
    return opening


def cannot_open(context: PlanningContext, drawer: Binding, state: State) -> Failure | None:
    """A certified Failure if the drawer can't be opened wherever the items stand, else None.

    Only fixed furniture counts as a blocker.
    """
    failed = _handle_unusable(context, drawer)
    if failed is not None:
        return failed
    handle = handle_of(context, drawer)
    joints = [context.scene.body(name).joint for name in context.scene.chain(handle.body)]
    if any(joint not in (None, handle.joint) for joint in joints):
        return None  # it is mounted on another drawer or door, which can be anywhere
    least = min(MIN_OPENING, intended_opening(context, drawer))
    scene_q = np.array(state.scene_q)
    scene_q[context.scene.joint_index[handle.joint]] = 0.0
    shut = state.with_scene(scene_q)
    free, blocker = free_travel(context, shut, handle.joint, False, least + _SPARE)
    return None if blocker is None else _blocked(drawer, handle, free, blocker, least + _SPARE)


def cannot_close(context: PlanningContext, drawer: Binding, state: State) -> Failure | None:
    """A Failure if something stops the drawer from closing in ``state``, else None."""
    handle = handle_of(context, drawer)
    now = float(state.scene_q[context.scene.joint_index[handle.joint]])
    left, blocker = free_travel(context, state, handle.joint, True, 0.0)
    if blocker is None or abs(left) <= CLOSED:
        return None
    return _blocked(drawer, handle, now - left, blocker, now, "closes")


def _handle_unusable(context: PlanningContext, drawer: Binding) -> Failure | None:
    """A refusal if there is no handle, or if it doesn't fit the hand or is out of reach."""
    if drawer.handle is None:
        return no_such_region(drawer.object, "handle to open or close it by")
    handle = handle_of(context, drawer)
    return handle_does_not_fit(handle, context.robot.gripper) or handle_out_of_reach(
        context, handle, stance_of(context, drawer)
    )


def _blocked(
    drawer: Binding, handle: Handle, free: float, blocker: str, needed: float, does: str = "opens"
) -> Failure:
    """The Failure of a drawer that a body or item stops, with a certificate.

    Args:
        free: joint value (m or rad) up to which it can move.
        blocker: name of the body or item.
        needed: joint value that it must reach.
        does: ``opens`` or ``closes``, for the message.
    """
    return Failure(
        FailureKind.BLOCKED,
        f"{drawer.object} {does} by only {max(free, 0.0):.3f} m before it meets {blocker}; "
        f"{needed:.3f} m are needed",
        (blocker,),
        {"opening_m": free, "needed_m": needed},
        {
            "kind": "swept-drawer",
            "joint": handle.joint,
            "blocker": blocker,
            "free_m": free,
            "needed_m": needed,
        },
    )


def free_travel(
    context: PlanningContext, state: State, joint: str, include_items: bool, to: float
) -> tuple[float, str | None]:
    """The joint value (m or rad) at the first contact, and the body or item in contact.

    Shapes that touch in ``state`` (a drawer in its slot) count only if they get deeper. The result
    is exact for drawers. For doors it is found by conservative advancement (Mirtich, 1996), so that
    nothing thin is missed.

    Args:
        context: the scene.
        state: where everything is.
        joint: the name of the joint.
        include_items: whether items, and other drawers and doors as they stand, count; else only
            fixed bodies do.
        to: the target value.

    Returns:
        ``to`` and None if nothing is in the way; else the value at first contact, and the name of
        the body or item hit, or of the item in the drawer that hits it.
    """
    scene = context.scene
    moving_joint = scene.joint(joint)
    start = float(state.scene_q[scene.joint_index[joint]])
    moving, still = parts(scene, state, joint, include_items)
    if abs(to - start) < 1e-12 or not moving or not still:
        return to, None
    meets = _slide if moving_joint.kind == "prismatic" else _turn
    way, blocker = meets(moving, still, moving_joint, to - start)
    if blocker is None:
        return to, None
    return start + way, blocker


@dataclass(frozen=True, eq=False)
class MovingPart:
    """A shape of a body or item in the world; its polyhedron is made lazily.

    Attributes:
        name: name of the body or item.
        shape: the shape, in the frame of the body or item.
        X: pose of that frame in the world (4, 4).
        cargo: the name again if it is an item, else empty.
    """

    name: str
    shape: Shape
    X: Array
    cargo: str = ""

    @cached_property
    def solid(self) -> Polyhedron:
        """The polyhedron within the shape, in the world."""
        return polyhedron(self.shape).moved(self.X)

    @cached_property
    def box(self) -> tuple[Array, Array]:
        """Lowest and highest corner (3,) of a box around the shape, in the world."""
        return self.shape.bounds(self.X)


def parts(
    scene: Scene, state: State, joint: str, include_items: bool
) -> tuple[list[MovingPart], list[MovingPart]]:
    """The shapes that move with a joint, and those that don't: all of them for an empty name.

    Args:
        include_items: whether items, and other drawers and doors, are among them.
    """
    moved = frozenset(scene.moved_by(joint))
    moving: list[MovingPart] = []
    still: list[MovingPart] = []
    for body in scene.bodies:
        own = body.name in moved
        if own or include_items or not scene.carried(body.name):
            X = scene.body_pose(body.name, state.scene_q)
            (moving if own else still).extend(_solid(body.name, body.shapes, X))
    if include_items:
        in_hands = state.in_hands
        for k, item in enumerate(scene.items):
            placed = state.items[k]
            if k not in in_hands:
                X = item_pose(scene, state, k, np.eye(4))
                side = moving if placed.parent in moved else still
                side.extend(_solid(item.name, item.shapes, X, item.name))
    return moving, still


def _solid(name: str, shapes: Iterable[Shape], X: Array, cargo: str = "") -> list[MovingPart]:
    """A part for each solid shape of a body or item at X (4, 4)."""
    return [MovingPart(name, shape, X, cargo) for shape in shapes if shape.collision]


def _in_box(parts: list[MovingPart], low: Array, high: Array) -> list[MovingPart]:
    """The parts whose bounding boxes overlap a box with these corners (3,)."""
    return [p for p in parts if (p.box[0] <= high).all() and (p.box[1] >= low).all()]


def _slide(
    moving: list[MovingPart], still: list[MovingPart], joint: Joint, way: float
) -> tuple[float, str | None]:
    """Travel (m, signed) of sliding parts up to the first contact, and what they hit."""
    u = joint.axis * np.sign(way)
    nearest, blocker = abs(way), None
    for part in moving:
        # Only what the part's box sweeps over can be hit.
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
    moving: list[MovingPart], still: list[MovingPart], joint: Joint, way: float
) -> tuple[float, str | None]:
    """Rotation (rad, signed) of turning parts up to the first contact, and what they hit.

    Conservative advancement: the gap divided by the radius is an angle that is surely free.
    """
    sign = float(np.sign(way))
    nearest, blocker = abs(way), None
    for part in moving:
        along = (part.solid.vertices - joint.pivot) @ joint.axis
        arms = part.solid.vertices - joint.pivot - np.outer(along, joint.axis)
        radius = max(float(np.linalg.norm(arms, axis=1).max()), 1e-6)
        # Only what the turning part's cylinder meets can be hit.
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
