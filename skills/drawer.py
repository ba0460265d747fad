"""open(furniture, hand) and close(furniture, hand): pull or push a drawer by its handle."""

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
from galley.skills.infeasibility.free_travel import free_travel
from galley.skills.infeasibility.refusals import handle_out_of_reach, no_such_region
from galley.skills.manipulation.contacts import handle_manipulations
from galley.skills.manipulation.context import PlanningContext
from galley.skills.manipulation.manipulation import Manipulation
from galley.skills.manipulation.step import SkillStep, carry_out
from galley.skills.skill import BoundAction, Role, Skill, stance_of

MIN_OPENING = 0.10  # m (or rad), the hand can't reach into a drawer that opens less
_SPARE = 0.005  # m (or rad), left before the body that stops a drawer


class _HandleSkill(Skill):
    """Moves a drawer to a joint value by its handle."""

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
        """No Motions if the drawer is there already, or half open and stuck."""
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
        """Pulls or pushes at the handle."""
        drawer = action.bindings[0]
        value = self._value(context, drawer, state)
        if isinstance(value, Failure):
            return iter(())
        return handle_manipulations(context, state, handle_of(context, drawer), value, rng)

    def resumes(self, context: PlanningContext, action: BoundAction, state: State) -> bool:
        """With an empty hand, however far the drawer is open."""
        return state.held is None and action.bindings[0].handle is not None


class Open(_HandleSkill):
    """Opens a drawer by its ``opening``, or until something stops it."""

    role: ClassVar[Role] = Role(opens=0)
    standard_grasps: ClassVar[bool] = True

    def _value(self, context: PlanningContext, drawer: Binding, state: State) -> float | Failure:
        return possible_opening(context, drawer, state)

    def impossible(
        self, context: PlanningContext, action: BoundAction, state: State
    ) -> Failure | None:
        """The handle must be in reach, and no furniture in the drawer's way."""
        return cannot_open(context, action.bindings[0], state)


class Close(_HandleSkill):
    """Pushes a drawer shut."""

    role: ClassVar[Role] = Role(closes=0)

    def _value(self, context: PlanningContext, drawer: Binding, state: State) -> float | Failure:
        failed = cannot_close(context, drawer, state)
        return 0.0 if failed is None else failed

    def first_contacts(
        self, context: PlanningContext, action: BoundAction, state: State, rng: np.random.Generator
    ) -> Iterator[Manipulation]:
        """Ways to push; whether something stops the drawer is left to ``refine``."""
        return handle_manipulations(
            context, state, handle_of(context, action.bindings[0]), 0.0, rng
        )

    def impossible(
        self, context: PlanningContext, action: BoundAction, state: State
    ) -> Failure | None:
        """The handle must be in reach."""
        return _handle_missing_or_far(context, action.bindings[0])


def handle_of(context: PlanningContext, drawer: Binding) -> Handle:
    """The handle of furniture that passed ``impossible``."""
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

    After the second replanning, with probability 1/2.
    """
    again = context.recovery > 1 and half_open(context, handle, state)
    return again and bool(rng.random() < 0.5)


def intended_opening(context: PlanningContext, drawer: Binding) -> float:
    """Opening (m or rad) of the drawer if nothing is in its way."""
    return min(drawer.opening, context.scene.joint(handle_of(context, drawer).joint).upper)


def possible_opening(context: PlanningContext, drawer: Binding, state: State) -> float | Failure:
    """How far (m or rad) the drawer can be opened in ``state``, or which body or item blocks it."""
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
    failed = _handle_missing_or_far(context, drawer)
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
