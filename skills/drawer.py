"""open(furniture, hand) and close(furniture, hand): a drawer is pulled or pushed by its handle."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from galley.domain.failure import Failure, FailureKind
from galley.domain.predicates import CLOSED
from galley.domain.scene.model import Binding, Handle
from galley.domain.state import State
from galley.motion.motion import Motion
from galley.skills.impossible.free_travel import free_travel
from galley.skills.impossible.refusals import handle_out_of_reach, no_such_region
from galley.skills.manipulation.contacts import operations
from galley.skills.manipulation.manipulation import Manipulation
from galley.skills.skill import BoundAction, Role, Skill, stance_of
from galley.skills.solving.context import PlanningContext
from galley.skills.solving.step import SkillStep, carry_out

NEEDED = 0.10  # m (or rad), a drawer that opens less can't be reached into
_SPARE = 0.005  # m (or rad), left before what stops a drawer


class _Handled(Skill):
    """Brings a drawer to a value by its handle."""

    parameters: ClassVar[tuple[str, ...]] = ("furniture", "hand")

    @abstractmethod
    def _value(self, context: PlanningContext, drawer: Binding, state: State) -> float | Failure:
        """Where (m or rad) the drawer is brought, or why it can't be."""

    def refine(
        self,
        context: PlanningContext,
        action: BoundAction,
        upcoming: tuple[BoundAction, ...],
        state: State,
        rng: np.random.Generator,
    ) -> tuple[Motion, ...] | Failure:
        """See ``Skill.refine``."""
        drawer = action.bindings[0]
        value = self._value(context, drawer, state)
        if isinstance(value, Failure):
            return value
        handle = handle_of(context, drawer)
        if stands_at(context, handle, state, value):
            return ()
        if self.role.opens is not None and makes_do(context, handle, state, rng):
            return ()
        step = SkillStep(lambda s, r: operations(context, s, handle, value, r), drawer)
        return carry_out(context, action, (step,), state, rng)

    def first_contacts(
        self, context: PlanningContext, action: BoundAction, state: State, rng: np.random.Generator
    ) -> Iterator[Manipulation]:
        """Pulls or pushes at the handle."""
        drawer = action.bindings[0]
        value = self._value(context, drawer, state)
        if isinstance(value, Failure):
            return iter(())
        return operations(context, state, handle_of(context, drawer), value, rng)

    def resumes(self, context: PlanningContext, action: BoundAction, state: State) -> bool:
        """However far the drawer is open, where the hand is empty."""
        return state.held is None and action.bindings[0].handle is not None


class Open(_Handled):
    """Opens a drawer, as far as it is to be opened or as far as its way is free."""

    role: ClassVar[Role] = Role(opens=0)
    standard_grasps: ClassVar[bool] = True

    def _value(self, context: PlanningContext, drawer: Binding, state: State) -> float | Failure:
        return opening_of(context, drawer, state)

    def impossible(
        self, context: PlanningContext, action: BoundAction, state: State
    ) -> Failure | None:
        """There must be a handle in reach, and no furniture in the drawer's way."""
        return cannot_open(context, action.bindings[0], state)


class Close(_Handled):
    """Closes a drawer."""

    role: ClassVar[Role] = Role(closes=0)

    def _value(self, context: PlanningContext, drawer: Binding, state: State) -> float | Failure:
        failed = cannot_close(context, drawer, state)
        return 0.0 if failed is None else failed

    def first_contacts(
        self, context: PlanningContext, action: BoundAction, state: State, rng: np.random.Generator
    ) -> Iterator[Manipulation]:
        """Pushes at the handle, whatever may stop the drawer: ``refine`` tells that best."""
        return operations(context, state, handle_of(context, action.bindings[0]), 0.0, rng)

    def impossible(
        self, context: PlanningContext, action: BoundAction, state: State
    ) -> Failure | None:
        """There must be a handle in reach."""
        return _handle_missing_or_far(context, action.bindings[0])


def handle_of(context: PlanningContext, drawer: Binding) -> Handle:
    """The handle of a piece of furniture that has one."""
    assert drawer.handle is not None, "impossible() has refused this already"
    return context.scene.handle(drawer.handle)


def stands_at(context: PlanningContext, handle: Handle, state: State, value: float) -> bool:
    """Whether the handle's joint is at a value (m or rad) already, as near as counts as closed."""
    now = float(state.scene_q[context.scene.joint_index[handle.joint]])
    return abs(now - value) <= CLOSED


def half_open(context: PlanningContext, handle: Handle, state: State) -> bool:
    """Whether the handle's joint is open far enough to be reached into at all."""
    return float(state.scene_q[context.scene.joint_index[handle.joint]]) >= NEEDED


def makes_do(
    context: PlanningContext, handle: Handle, state: State, rng: np.random.Generator
) -> bool:
    """Whether a half open drawer is taken for open: it may be stuck.

    In one of two tries, once a run has been planned anew before: then it has been pulled again.
    """
    again = context.recovery > 1 and half_open(context, handle, state)
    return again and bool(rng.random() < 0.5)


def wanted(context: PlanningContext, drawer: Binding) -> float:
    """How far (m or rad) the drawer is opened where nothing is in its way."""
    return min(drawer.opening, context.scene.joint(handle_of(context, drawer).joint).upper)


def opening_of(context: PlanningContext, drawer: Binding, state: State) -> float | Failure:
    """How far (m or rad) the drawer can be opened in ``state``, or what doesn't let it.

    Furniture and items that stand there stop it alike; the Failure names what does.
    """
    handle, most = handle_of(context, drawer), wanted(context, drawer)
    least = min(NEEDED, most)
    free, blocker = free_travel(context, state, handle.joint, True, most + _SPARE)
    if blocker is None:
        return most
    opening = min(most, free - _SPARE)
    if opening < least:
        return _blocked(drawer, handle, free, blocker, least + _SPARE)
    return opening


def cannot_open(context: PlanningContext, drawer: Binding, state: State) -> Failure | None:
    """A certified Failure if the drawer can't be opened wherever the items stand, else None.

    Only what never moves counts of ``state``.
    """
    failed = _handle_missing_or_far(context, drawer)
    if failed is not None:
        return failed
    handle = handle_of(context, drawer)
    joints = [context.scene.body(name).joint for name in context.scene.chain(handle.body)]
    if any(joint not in (None, handle.joint) for joint in joints):
        return None  # it rides on another drawer or door: nothing holds wherever that is
    least = min(NEEDED, wanted(context, drawer))
    scene_q = np.array(state.scene_q)
    scene_q[context.scene.joint_index[handle.joint]] = 0.0
    shut = state.with_scene(scene_q)
    free, blocker = free_travel(context, shut, handle.joint, False, least + _SPARE)
    return None if blocker is None else _blocked(drawer, handle, free, blocker, least + _SPARE)


def cannot_close(context: PlanningContext, drawer: Binding, state: State) -> Failure | None:
    """A Failure if something stops the drawer on its way shut as ``state`` has it, else None."""
    handle = handle_of(context, drawer)
    now = float(state.scene_q[context.scene.joint_index[handle.joint]])
    left, blocker = free_travel(context, state, handle.joint, True, 0.0)
    if blocker is None or abs(left) <= CLOSED:
        return None
    return _blocked(drawer, handle, now - left, blocker, now, "closes")


def _handle_missing_or_far(context: PlanningContext, drawer: Binding) -> Failure | None:
    if drawer.handle is None:
        return no_such_region(drawer.object, "handle to open or close it by")
    return handle_out_of_reach(context, handle_of(context, drawer), stance_of(context, drawer))


def _blocked(
    drawer: Binding, handle: Handle, free: float, blocker: str, needed: float, does: str = "opens"
) -> Failure:
    return Failure(
        FailureKind.BLOCKED,
        f"{drawer.object} {does} by {max(free, 0.0):.3f} m only, then it meets {blocker}; "
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
